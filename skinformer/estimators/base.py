"""What the estimators share: `fit` as a table of contents, and forecasts of steps."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd
import torch
from sklearn.base import BaseEstimator
from sklearn.callback import CallbackSupportMixin, with_callbacks
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted

from skinformer.estimators import validation
from skinformer.estimators.batches import WindowBatches, predict_windows, window_source
from skinformer.estimators.building import (
    build_module,
    model_sizes,
    resolve_device,
    trainer_settings,
)
from skinformer.estimators.callbacks import EpochTasks
from skinformer.estimators.placement import Placement, place_rows
from skinformer.estimators.reading import read_prediction, read_training, read_truth_of
from skinformer.estimators.rolling import Observed, roll
from skinformer.model.roles import parameter_roles
from skinformer.timeline.calendar import FIELDS
from skinformer.timeline.clock import RowClock
from skinformer.timeline.digest import content_digest
from skinformer.timeline.scaling import fit_scaler
from skinformer.timeline.split import training_rows, validation_start
from skinformer.timeline.timeline import Table, Timeline, build_timeline
from skinformer.timeline.windows import origins_between
from skinformer.training.record import EpochRow, TrainingRecord
from skinformer.training.trainer import train

__all__ = ["BaseInformer"]

Rows = npt.NDArray[np.int64]


class BaseInformer(CallbackSupportMixin, BaseEstimator):
    """An Informer over a timeline; subclasses say what its forecasts mean."""

    _parameter_constraints = validation.CONSTRAINTS
    # The documentation is not published anywhere yet: the link is relative to the project.
    _doc_link_module = "skinformer"
    _doc_link_template = "docs/api.md#{anchor}"

    def _doc_link_url_param_generator(self) -> dict[str, str]:
        return {"anchor": type(self).__name__.lower()}

    @with_callbacks
    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Any:
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
        """
        self._validate_params()
        validation.check_sizes(self, list(FIELDS))
        table, self.roles_ = read_training(self, X, y, sample_weight)
        labelled = isinstance(X, pd.DataFrame | pd.Series)
        self._training_digest = b"" if labelled else content_digest(X)
        tail = self._validation_start(table)
        static = table.static_columns()
        self.scaler_ = fit_scaler(table.columns, *training_rows(table, tail), static=static)
        fill = not self.null_embedding
        self.timeline_ = build_timeline(table, self.scaler_, fill_covariates=fill)
        self.sizes_ = model_sizes(self, self.roles_, self.timeline_)
        self.device_ = str(resolve_device(self.device))
        data = {"X": X, "y": y, "metadata": None}
        if y is None:
            data["y"] = lambda: read_truth_of(self, X, None).squeeze(1)
        if sample_weight is not None:
            data["metadata"] = {"sample_weight": sample_weight}
        self._train(tail, data)
        return self

    def _train(self, tail: int | None, data: dict[str, Any]) -> None:
        """Build the module and train it, leaving torch's global generator alone."""
        seed = int(check_random_state(self.random_state).randint(2**31 - 1))
        earlier = getattr(self, "module_", None) if self.warm_start else None
        devices = [self.device_] if self.device_.startswith("cuda") else []
        context = self._init_callback_context(max_subtasks=self.max_iter)
        with torch.random.fork_rng(devices=devices):
            torch.manual_seed(seed)
            module = build_module(self, self.sizes_, seed=seed)
            if earlier is not None:
                validation.check_same_weights(earlier.state_dict(), module.state_dict())
                module.load_state_dict(earlier.state_dict())
            self.module_ = module.to(self.device_)
            training, held_out = self._batches(tail, seed)
            with EpochTasks(self, context, data) as on_epoch:
                record = train(
                    self.module_,
                    training=training,
                    validation=held_out,
                    settings=trainer_settings(self),
                    roles=parameter_roles(self.module_),
                    on_epoch=on_epoch,
                    checkpoint=None,
                    fingerprint={},
                )
        if self.sizes_.n_series:
            self.module_.embed_unseen()
        self._keep(record, warm=earlier is not None)

    def _keep(self, record: TrainingRecord, *, warm: bool) -> None:
        """Note the course of the training; a warm start continues the table."""
        rows = pd.DataFrame(record.rows, columns=list(EpochRow._fields))
        before = [self.history_] if warm else []
        self.history_: pd.DataFrame = pd.concat([*before, rows], ignore_index=True)
        self.loss_curve_ = self.history_["loss"].tolist()
        validated = bool(self.history_["validation_loss"].notna().any())
        # In standardised units the loss is the unexplained share of the variance.
        self.validation_scores_ = (
            (1 - self.history_["validation_loss"]).tolist() if validated else None
        )
        self.n_iter_ = len(self.history_)
        self.best_loss_ = record.best_loss

    def _validation_start(self, table: Table) -> int | None:
        """Find the step where the validation tail begins; None for no validation."""
        first_row = table.first_row
        longest = int(np.diff(first_row).max())
        enough = longest >= self.seq_len + 2 * self.pred_len
        if self.early_stopping is False or (self.early_stopping == "auto" and not enough):
            return None
        first_step = table.steps[first_row[:-1]]
        tail = validation_start(
            first_step,
            first_step + np.diff(first_row),
            seq_len=self.seq_len,
            pred_len=self.pred_len,
            fraction=self.validation_fraction,
        )
        if table.weight is not None:
            counted = table.steps[(table.weight > 0).any(axis=1)]
            both_sides = bool((counted < tail).any() and (counted >= tail).any())
            validation.check_both_sides(both_sides or self.early_stopping == "auto")
            return tail if both_sides else None
        return tail

    def _batches(self, tail: int | None, seed: int) -> tuple[WindowBatches, WindowBatches | None]:
        """Make the training batches, and those of the validation tail if there is one."""
        timeline = self.timeline_
        row_steps = _steps(timeline)
        series = np.repeat(np.arange(timeline.n_series), np.diff(timeline.first_row))
        source = window_source(
            timeline.values,
            row_steps,
            series,
            timeline.clock,
            sizes=self.sizes_,
            device=self.device_,
        )
        weight = None if timeline.weight is None else torch.from_numpy(timeline.weight)
        shared: dict[str, Any] = {
            "weight": weight if weight is None else weight.to(self.device_),
            "n_targets": self.sizes_.n_targets,
            "batch_size": self.batch_size,
        }
        first, end = timeline.first_row[:-1], timeline.first_row[1:]
        stop = end if tail is None else first + np.clip(tail - timeline.first_step, 0, end - first)
        earliest = first + self.seq_len
        inside = origins_between(earliest, stop - self.pred_len)
        training = WindowBatches(source, inside, seed=seed, **shared)
        if tail is None:
            return training, None
        held_out = origins_between(np.maximum(earliest, stop), end - self.pred_len)
        return training, WindowBatches(source, held_out, seed=None, **shared)

    def _observe(self, X: Any) -> tuple[Table, Observed]:
        """Read rows at prediction and standardise them."""
        check_is_fitted(self)
        table = read_prediction(self, X)
        known = self.timeline_.n_series
        scaler = self.scaler_.with_unseen() if (table.series >= known).any() else self.scaler_
        values = scaler.transform(table.columns, np.minimum(table.series, known))
        if not (table.clock.dated or isinstance(table.clock, RowClock)):
            self._refuse_reset_rows(table, values)
        return table, Observed(values, table.series, table.steps)

    def _refuse_reset_rows(self, table: Table, values: npt.NDArray[np.float32]) -> None:
        timeline = self.timeline_
        series = np.minimum(table.series, timeline.n_series - 1)
        place = table.steps - timeline.first_step[series]
        length = np.diff(timeline.first_row)[series]
        inside = (place >= 0) & (place < length) & (table.series < timeline.n_series)
        rows = (timeline.first_row[series] + place)[inside]
        stored, given = timeline.values[rows], values[inside]
        differs = np.abs(given - stored) > 1e-4 * (1 + np.abs(stored))  # NaN compares as equal
        if timeline.weight is not None:  # a missing truth was filled: any value is as good
            differs[:, : table.n_targets] &= timeline.weight[rows] > 0
        end = timeline.clock.labels(timeline.end_step.max(keepdims=True))[0]
        validation.check_not_reset(differs.any(axis=1), end, timeline.clock.freq)

    def _place(self, table: Table) -> Placement:
        has_history = self.roles_.mode != "features"
        place = place_rows(table, self.timeline_, seq_len=self.seq_len, has_history=has_history)
        if not has_history:
            validation.check_after_history(not place.stored.all())
        return place

    def _forecast_steps(
        self, observed: Observed, series: Rows, steps: Rows, place: Placement, clock: Any
    ) -> npt.NDArray[np.float64]:
        """Forecast steps in the targets' units, shape (n, n_targets)."""
        sizes = self.sizes_

        def forecast(
            values: Any, row_steps: Rows, row_series: Rows, origins: Rows
        ) -> npt.NDArray[np.float32]:
            source = window_source(
                values, row_steps, row_series, clock, sizes=sizes, device=self.device_
            )
            return predict_windows(self.module_, source, origins)

        result = roll(
            observed,
            series,
            steps,
            history=self.timeline_,
            place=place,
            n_targets=sizes.n_targets,
            n_past=sizes.n_past,
            n_static=sizes.n_static,
            hold=not self.null_embedding,
            seq_len=sizes.seq_len,
            pred_len=sizes.pred_len,
            forecast=forecast,
        )
        if result.held.past:
            names = self.roles_.past
            validation.warn_of_held_values("past-only columns", names, result.held.past)
        if result.held.known:
            names = self.roles_.known
            validation.warn_of_held_values("columns known ahead", names, result.held.known)
        scaler = self.scaler_.with_unseen()
        return scaler.inverse(result.values, np.minimum(series, self.timeline_.n_series))


def _steps(timeline: Timeline) -> Rows:
    """Give the step of each row of a timeline."""
    lengths = np.diff(timeline.first_row)
    offset = np.repeat(timeline.first_step - timeline.first_row[:-1], lengths)
    return np.arange(len(offset)) + offset
