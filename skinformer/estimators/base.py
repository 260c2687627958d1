"""What the estimators share: `fit` as a table of contents, and forecasts of steps."""

from __future__ import annotations

import copy
from typing import Any, Self

import numpy as np
import torch
from sklearn.utils import check_random_state

from skinformer import validation
from skinformer.estimators.bases import BaseEstimator, CallbackSupportMixin, with_callbacks
from skinformer.estimators.batches import (
    WindowBatches,
    needs_steps,
    window_source,
)
from skinformer.estimators.building import (
    build_module,
    model_sizes,
    resolve_attention,
    resolve_device,
    trainer_settings,
)
from skinformer.estimators.callbacks import EpochTasks, training_course
from skinformer.estimators.fingerprint import fingerprint
from skinformer.estimators.forecaster import StepForecaster
from skinformer.estimators.hybrid import choose_trust, linear_fit, linear_module, load_linear
from skinformer.estimators.reading import reading_settings
from skinformer.model.corrected import Corrected
from skinformer.model.informer import Informer
from skinformer.model.optimizer_groups import parameter_groups
from skinformer.model.patches import n_patches
from skinformer.reading.prediction import read_truth_of
from skinformer.reading.training import read_training
from skinformer.ridge.fit import LinearFit
from skinformer.timeline.arrays import BoolArray
from skinformer.timeline.calendar import FIELDS
from skinformer.timeline.scaling import fit_scaler
from skinformer.timeline.split import series_with_truth, training_rows, validation_start
from skinformer.timeline.timeline import Table, build_timeline
from skinformer.timeline.windows import Origins
from skinformer.training.precision import resolve_precision
from skinformer.training.trainer import train

__all__ = ["BaseInformer"]


class BaseInformer(StepForecaster, CallbackSupportMixin, BaseEstimator):
    """An Informer over a timeline; subclasses say what its forecasts mean."""

    _parameter_constraints = validation.CONSTRAINTS

    def __getstate__(self) -> dict[str, Any]:
        """Pickle the network from the CPU, so that it can be loaded where there is no GPU."""
        state: dict[str, Any] = super().__getstate__()
        if state.get("device_", "cpu") != "cpu":
            state = {**state, "module_": copy.deepcopy(state["module_"]).cpu()}
        return state

    def __setstate__(self, state: dict[str, Any]) -> None:
        """Put the network back where it was, if that place exists here."""
        super().__setstate__(state)
        if getattr(self, "device_", "cpu") != "cpu":
            self.device_ = self.device_ if torch.cuda.is_available() else "cpu"
            self.module_ = self.module_.to(self.device_)

    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:
        """
        Train on the rows of a timeline.

        Parameters
        ----------
        X : DataFrame, Series or array-like of shape (n_samples, n_features)
            Consecutive rows in time order. The clock is X's index (dates, periods or
            integers), else y's index, else the row number. Rows of several series carry a
            two-level index (series, time).
        y : array-like of shape (n_samples,) or (n_samples, n_targets), default=None
            The truth. None: it is the `target` column of X. With y, a `target` (or y's name)
            among X's columns means the same series in two scales; otherwise X holds features
            that are known ahead. NaN is a missing truth.
        sample_weight : array-like of shape (n_samples,), default=None
            Weight of each row's truth in the loss, and of nothing else.

        Returns
        -------
        self
            Fitted.

        Raises
        ------
        TypeError, ValueError
            If the input is unfit; the message says what to type instead.
        FloatingPointError
            If training diverges.

        Notes
        -----
        A fit that raises, or that Ctrl-C ends before its first epoch has, leaves the estimator as
        it was.
        """
        draft = self._unfitted()
        draft._fit(X, y, sample_weight, earlier=self if self.warm_start else None)
        self.__dict__ = draft.__dict__  # the one place where fitted state changes: all at once
        return self

    def _unfitted(self) -> Self:
        """Give an estimator with the same parameters and settings, and no fitted state."""
        draft = type(self).__new__(type(self))
        draft.__dict__ = {k: v for k, v in vars(self).items() if not k.endswith("_")}
        return draft

    @with_callbacks
    def _fit(self, X: Any, y: Any, sample_weight: Any, *, earlier: BaseInformer | None) -> None:
        """Fit an estimator that has no fitted state; a warm start goes on from an earlier one."""
        self._validate_params()
        validation.check_sizes(self, list(FIELDS))
        table, self.roles_, self.series_, self._training_digest_ = read_training(
            self, X, y, sample_weight, reading_settings(self)
        )
        tail = self._validation_start(table)
        static = table.static_columns()
        rows = training_rows(table, tail, seq_len=self.seq_len)
        self.scaler_ = fit_scaler(table.columns, *rows, static=static)
        fill = "missing" not in self.embeddings
        self.timeline_ = build_timeline(table, self.scaler_, fill_covariates=fill)
        self.sizes_ = model_sizes(self, self.roles_, self.timeline_)
        device = resolve_device(self.device)
        self.device_ = str(device)
        self.attention_ = resolve_attention(
            self.attention,
            n_tokens=n_patches(self.seq_len, self.sizes_.patch_len),
            device=device,
        )
        self.precision_ = resolve_precision(self.precision, device=device, d_model=self.d_model)
        missing = table.missing
        del table  # PERF: its steps are eight bytes a row
        earlier = earlier if hasattr(earlier, "module_") else None
        self._train(tail, missing, self._callback_data(X, y, sample_weight), earlier)
        if missing is not None:
            self._fill_missing(missing)

    def _callback_data(self, X: Any, y: Any, sample_weight: Any) -> dict[str, Any]:
        """Give callbacks what scorers take: rows, their truth and their weights."""
        weights = None if sample_weight is None else {"sample_weight": sample_weight}
        if y is not None or not getattr(self, "_skl_callbacks", None):
            return {"X": X, "y": y, "metadata": weights}
        truth = read_truth_of(self, X, None, self.roles_)
        present = ~np.isnan(truth).any(axis=1)
        if hasattr(X, "loc") and weights is None and not present.all():
            X, truth = X.loc[present], truth[present]  # scorers take no missing truth
        return {
            "X": X,
            "y": truth[:, 0] if self.roles_.one_dimensional else truth,
            "metadata": weights,
        }

    def _train(
        self,
        tail: int | None,
        missing: BoolArray | None,
        data: dict[str, Any],
        earlier: BaseInformer | None,
    ) -> None:
        """Build the module and train it."""
        seed = int(check_random_state(self.random_state).randint(2**31 - 1))
        context = self._init_callback_context(max_subtasks=self.max_iter)
        inside, held_out = self._origins(tail)
        linear = None
        if self.linear_path:
            linear = linear_fit(
                self.timeline_,
                self.sizes_,
                inside,
                held_out,
                missing=missing,
                tail=tail,
                refit=self.early_stopping == "auto",
            )
        self.module_ = self._build(linear, earlier, seed).to(self.device_)
        training, validating = self._batches(inside, held_out, seed)
        before = None if earlier is None else earlier.history_
        with EpochTasks(self, context, data, before) as on_epoch:
            record = train(
                self.module_,
                training=training,
                validation=validating,
                settings=trainer_settings(self),
                groups=parameter_groups(self.module_),
                on_epoch=on_epoch,
                checkpoint=self.checkpoint,
                fingerprint={} if self.checkpoint is None else fingerprint(self),
            )
        if self.sizes_.n_series:
            self._network.embed_unseen()
        self.trust_: float = 1.0
        self.linear_blend_: dict[str, float] = {}
        if linear is not None and isinstance(self.module_, Corrected):
            self._join(self.module_, linear, validating)
        self.__dict__.update(training_course(record.rows, before))
        self.best_loss_ = record.best_loss

    def _build(
        self,
        linear: tuple[LinearFit, LinearFit] | None,
        earlier: BaseInformer | None,
        seed: int,
    ) -> Informer | Corrected:
        """Build the module, with the weights of an earlier one after a warm start."""
        path = linear_module(self.sizes_, linear[0]) if linear is not None else None
        module = build_module(self, self.sizes_, path=path, seed=seed)
        if earlier is not None:
            weights = earlier.module_.state_dict()
            validation.check_same_weights(weights, module.state_dict())
            module.load_state_dict(weights)
            if linear is not None and isinstance(module, Corrected):
                # The earlier module brought its path and its trust: both have to be found anew.
                load_linear(module.path, linear[0])
                module.trust.fill_(1.0)
        return module

    @property
    def _network(self) -> Informer:
        """The network, without what it corrects."""
        return self.module_.network if isinstance(self.module_, Corrected) else self.module_

    def _join(
        self,
        module: Corrected,
        linear: tuple[LinearFit, LinearFit],
        validating: WindowBatches | None,
    ) -> None:
        """Trust the network as far as it proved itself, and take the final linear path."""
        loss = self.loss
        # A quantile has no path to fall back to: ridges forecast means.
        if validating is not None and isinstance(loss, str):
            steps = self.timeline_.steps_of(validating.draw())
            self.trust_ = choose_trust(module, validating, steps=steps, loss=loss)
        module.trust.fill_(self.trust_)
        load_linear(module.path, linear[1])
        self.linear_blend_ = linear[1].blend

    def _validation_start(self, table: Table) -> int | None:
        """Find the step where the validation tail begins; None for no validation."""
        first_row = table.first_row
        longest = int(np.diff(first_row).max())
        sizes = {"seq_len": self.seq_len, "pred_len": self.pred_len}
        tail = None
        if self.early_stopping is not False and longest >= self.seq_len + 2 * self.pred_len:
            tail = validation_start(table, **sizes, fraction=self.validation_fraction)
        trained, watched, silent = series_with_truth(table, tail, **sizes)
        if not (tail is not None and trained.any() and watched.any()):
            validation.check_both_sides(self.early_stopping is not True)
            tail, (trained, _, silent) = None, series_with_truth(table, None, **sizes)
        validation.warn_of_idle_series(self, trained, silent)
        return tail

    def _origins(self, tail: int | None) -> tuple[Origins, Origins]:
        """Find the windows to train on, and those of the validation tail."""
        timeline = self.timeline_
        first, end = timeline.first_row[:-1], timeline.first_row[1:]
        stop = end if tail is None else first + np.clip(tail - timeline.first_step, 0, end - first)
        earliest = first + self.seq_len
        inside = Origins(earliest, stop - self.pred_len)
        return inside, Origins(np.maximum(earliest, stop), end - self.pred_len)

    def _batches(
        self, inside: Origins, held_out: Origins, seed: int
    ) -> tuple[WindowBatches, WindowBatches | None]:
        """Make the training batches, and those of the validation tail if there is one."""
        timeline = self.timeline_
        source = window_source(
            timeline.values,
            timeline.steps if needs_steps(self.sizes_) else None,
            timeline.series if self.sizes_.n_series else None,
            timeline.clock,
            sizes=self.sizes_,
            device=self.device_,
        )
        weight = None if timeline.weight is None else torch.from_numpy(timeline.weight)
        shared: dict[str, Any] = {
            "weight": weight if weight is None else weight.to(self.device_),
            "n_targets": self.sizes_.n_targets,
            "batch_size": self.micro_batch_size or self.batch_size,
            "max_windows": self.max_windows,
        }
        training = WindowBatches(source, inside, seed=seed, **shared)
        if not held_out.count:
            return training, None
        return training, WindowBatches(source, held_out, seed=None, **shared)
