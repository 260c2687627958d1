"""What the estimators share: `fit` as a table of contents, and forecasts for any head."""

from __future__ import annotations

from contextlib import AbstractContextManager
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any, Self

import numpy as np
import pandas as pd
from sklearn.utils import check_random_state
from torch.nn import Module

from skinformer.cleaning.outliers import Outlier, OutlierBounds, find_outliers
from skinformer.cleaning.units import UnitChange, in_last_unit
from skinformer.cleaning.volatility import rescale_by_volatility
from skinformer.ensemble.building import limit_epochs, model_sizes
from skinformer.ensemble.classical import choose_members
from skinformer.ensemble.fitting import (
    FitBatches,
    FitRows,
    cut_windows,
    find_split,
    window_batches,
)
from skinformer.ensemble.head import Head
from skinformer.ensemble.members import EnsembleFit
from skinformer.ensemble.network import module_of, network_of
from skinformer.ensemble.out_of_fold import N_FOLDS, OutOfFoldPath
from skinformer.ensemble.predicting import PREDICTION_CHUNK
from skinformer.ensemble.ridges import linear_fit, start_module, times_of
from skinformer.ensemble.settings import FitSettings
from skinformer.estimators.bases import (
    BaseEstimator,
    CallbackSupportMixin,
    with_callbacks,
)
from skinformer.estimators.callbacks import FitTasks, training_course
from skinformer.estimators.exporting import ExportMixin
from skinformer.estimators.fingerprint import fingerprint
from skinformer.estimators.parts import (
    PART_CONSTRAINTS,
    nested_in_members,
    open_members,
    open_parts,
)
from skinformer.estimators.persisting import PersistentMixin
from skinformer.estimators.progress import Progress
from skinformer.estimators.reading import fitted_rows, reading_settings
from skinformer.estimators.settings import non_default_network_params, read_settings
from skinformer.estimators.state import FittedState
from skinformer.estimators.target_scale import fit_scale, with_smearing_factor
from skinformer.intervals.calibration import Calibration
from skinformer.model.corrected import Corrected
from skinformer.model.informer import Informer
from skinformer.model.optimizer_groups import parameter_groups
from skinformer.reading.labels import NumberReader
from skinformer.reading.prediction import read_prediction, read_update, read_y_true
from skinformer.reading.training import read_training
from skinformer.rolling import future
from skinformer.rolling.blocks import Observed, RequestedSteps
from skinformer.rolling.forecaster import StepForecaster
from skinformer.rolling.placement import Placement, after_history
from skinformer.stopwatch import Stopwatch, running, stopwatch, timed
from skinformer.threads import threads_for
from skinformer.timeline.arrays import BoolArray, Float64Array, IntArray
from skinformer.timeline.clock import join_series
from skinformer.timeline.closed import Closed
from skinformer.timeline.timeline import Table, build_timeline, runs
from skinformer.timeline.windows import origins_between
from skinformer.training.memory import is_gpu_out_of_memory
from skinformer.training.record import TrainingRecord
from skinformer.training.trainer import train
from skinformer.validation import truth as checks
from skinformer.validation.arguments import check_fitted, check_horizon
from skinformer.validation.index import check_same_index
from skinformer.validation.parameters import (
    CONSTRAINTS,
    warn_of_cpu,
    warn_of_idle_network,
)
from skinformer.validation.rows import (
    check_after_context,
    check_follows,
    warn_of_closed,
)


class BaseInformer(
    PersistentMixin, ExportMixin, CallbackSupportMixin, BaseEstimator, FittedState
):
    """An Informer over a timeline; subclasses say by their head what its forecasts mean."""

    _parameter_constraints = CONSTRAINTS | PART_CONSTRAINTS

    def _make_head(self) -> Head:
        """Describe what the outputs of the network mean."""
        raise NotImplementedError

    def _make_reader(self, X: Any, y: Any) -> NumberReader:  # noqa: ARG002
        """Describe how truths are read."""
        return NumberReader()

    def set_params(self, **params: Any) -> Self:
        """
        Set parameters by name, those of parts by ``block__norm``.

        Those of an estimator among members go by its class in lower case, such as
        ``members__ridge__alpha``.

        Parameters
        ----------
        **params : dict
            Names and values. A part that is named, as by ``block="note"``, becomes a `Block` of
            the same values once one of them is set.

        Returns
        -------
        self
            With these parameters; forecasts change with the next fit.
        """
        return super().set_params(
            **open_parts(self, open_members(self.members, params))
        )

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """
        Return parameters by name.

        Parameters
        ----------
        deep : bool, default=True
            Whether those of parts, such as ``block__norm``, and of an estimator among members,
            such as ``members__ridge__alpha``, are among them.

        Returns
        -------
        dict
            Values by name.
        """
        nested = nested_in_members(self.members) if deep else {}
        return super().get_params(deep) | nested

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

        Warns
        -----
        UserWarning
            If what was passed is likely not what was meant: outliers, units, series too short to
            learn from, or last steps, as many as a forecast or more, that hold no truth.

        Notes
        -----
        A fit that raises, or that Ctrl-C ends before its first epoch has, leaves the estimator as
        it was.
        """
        try:
            draft = self._fitted_draft(X, y, sample_weight, device=self.device)
        except RuntimeError as error:
            if not self._may_fit_on_cpu(error):
                raise
            warn_of_cpu(str(error))
            draft = None
        if draft is None:  # behind the error, whose frames hold what filled the GPU
            draft = self._fitted_draft(X, y, sample_weight, device="cpu")
        self.__dict__ = (
            draft.__dict__
        )  # the one place where fitted state changes: all at once
        return self

    def _fitted_draft(self, X: Any, y: Any, sample_weight: Any, *, device: str) -> Self:
        """Return another estimator with the same parameters, fitted on a device."""
        draft = self._unfitted()
        earlier = self if self.warm_start else None
        with self._watch():
            draft._fit(X, y, sample_weight, earlier=earlier, device=device)
        return draft

    def _may_fit_on_cpu(self, error: RuntimeError) -> bool:
        """Whether a fit that a GPU had no memory for begins anew on the CPU.

        Not where it has written a checkpoint, whose epochs would be lost.
        """
        begun = self.checkpoint is not None and Path(self.checkpoint).exists()
        chosen_here = self.device == "auto" and self.precision != "fp16"
        return chosen_here and not begun and is_gpu_out_of_memory(error)

    def _watch(self) -> AbstractContextManager[Stopwatch]:
        """Return a watch for a fit, which writes what it measures if that is wanted."""
        if self.verbose:
            return Progress(type(self).__name__).looked_at()
        return stopwatch(Stopwatch())

    def _unfitted(self) -> Self:
        """Return an estimator with the same parameters and settings, and no fitted state."""
        draft = type(self).__new__(type(self))
        draft.__dict__ = {k: v for k, v in vars(self).items() if not k.endswith("_")}
        return draft

    def predict(self, X: Any) -> Any:
        """
        Forecast each row of X at its own time.

        Rows are forecast in blocks of `pred_len` steps whose borders lie whole blocks from the
        end of the history, each block from the rows before it. So the order of rows does not
        matter, and no row is forecast from itself or from later ones.

        Parameters
        ----------
        X : DataFrame, Series or array-like of shape (n_samples, n_features)
            Rows like those of `fit`. A missing target is a step to be forecast; an observed one
            becomes history for later blocks. Columns that are not known ahead may be left out.
            Rows of an array without index follow the training rows, unless they are the
            training array itself.

        Returns
        -------
        ndarray of float64, shape (n_samples,) or (n_samples, n_targets)
            Forecasts in y's (else the target column's) units.

        Raises
        ------
        TypeError, ValueError
            If the rows cannot be placed in time; the message says what to type instead.

        Warns
        -----
        UserWarning
            If rows without an index follow a dated history or come one by one, if rows lie far
            after the history, before it or off its steps, or if values that a later block needs
            are missing and were held.
        """
        check_fitted(self)
        values = self._points(self._requested_rows(X))
        return self.reader_.decode(values, one_dimensional=self.roles_.one_dimensional)

    def _points(self, requested: RequestedSteps) -> Float64Array:
        """Return the values that are forecast, (n, n_targets)."""
        raise NotImplementedError

    def _outputs(self, X: Any) -> Float64Array:
        """Return what the head says of each row, (n, n_targets, *outputs), in the truth's units."""
        return self._forecaster.forecast(self._requested_rows(X))

    def _requested_rows(self, X: Any) -> RequestedSteps:
        """Place the rows of X."""
        forecaster, table = self._forecaster, self._read_prediction(X)
        check_after_context(table, self.timeline_, self.timeline_.forecast_from)
        place, observed = forecaster.place(table, forecaster.observe(table))
        observed = observed.without(table.outliers)
        return RequestedSteps(
            observed, observed.segment, table.steps, place, table.clock
        )

    def _read_prediction(self, X: Any) -> Table:
        """Read rows to forecast."""
        rows = self.reader_.encode_rows(X)
        table = self.reader_.one_hot(read_prediction(self, rows, fitted_rows(self)))
        cleaned = self._outlier_bounds_.clean(table, self.timeline_)
        return self._warn_of_outliers(*cleaned)

    def _warn_of_outliers(
        self, table: Table, bounds: OutlierBounds, outliers: list[Outlier]
    ) -> Table:
        """Warn of the outliers of rows, if there are any: names the first one."""
        if outliers:
            first = outliers[0]
            checks.warn_of_outliers(
                len(outliers),
                first,
                *self._named(table, first),
                missing=first.column < table.n_targets,
                least=self._least_target(table, bounds, outliers),
            )
        return table

    def _least_target(
        self, table: Table, bounds: OutlierBounds, outliers: list[Outlier]
    ) -> float:
        """Find the least target of rows, their outliers and, as to its sign, the history."""
        n = table.n_targets
        columns = [column for column in table.columns[:n] if column is not None]
        given = [
            float(np.nanmin(column.astype(np.float64), initial=np.inf))
            for column in columns
        ]
        given += [outlier.value for outlier in outliers if outlier.column < n]
        scale = self.scaler_.targets if hasattr(self, "scaler_") else None
        if scale is not None:  # these rows come after a fit
            given.append(
                float(scale.floor.min() if (scale.floor < 0).any() else bounds.least(n))
            )
        return min(given, default=-np.inf)  # of classes nothing is known

    def _named(self, table: Table, place: Outlier | UnitChange) -> tuple[Any, str]:
        """Return the name of a column, and when and in which series something is there."""
        names, roles, i = self.series_, self.roles_, table.series[place.row]
        column = (*roles.targets, *roles.past, *roles.known)[
            place.column - len(table.columns)
        ]
        label = str(table.clock.labels(table.steps[[place.row]])[0])
        return column, label if names is None else f"{label} of series {names[i]!r}"

    def _requested_ahead(self, X: Any, horizon: int | None) -> RequestedSteps:
        """Place the steps after the history, or after that of X."""
        if horizon is not None:
            check_horizon(horizon)
        if X is None:
            observed = future.nothing_observed(self.timeline_)
            place = after_history(self.timeline_)
            clock = self.timeline_.clock
            names = self.series_
            series = np.arange(self.timeline_.n_series)
        else:
            table, observed, place = self._place_later_rows(X)
            clock = table.clock
            names = table.names
            series = np.unique(observed.segment)
        lengths = future.steps_of_rows(observed, place, self.sizes_.pred_len)
        n_steps = np.zeros_like(lengths)
        n_steps[series] = lengths[series] if horizon is None else int(horizon)
        future.check_known_ahead(
            observed,
            place,
            n_steps,
            clock=clock,
            roles=self.roles_,
            sizes=self.sizes_,
            names=names,
        )
        segment = np.repeat(np.arange(len(n_steps)), n_steps)
        steps = origins_between(place.anchor, place.anchor + n_steps - 1)
        labels = join_series(names, place.series[segment], clock.labels(steps))
        return RequestedSteps(observed, segment, steps, place, clock, labels)

    def _place_later_rows(self, X: Any) -> tuple[Table, Observed, Placement]:
        """Read later history, and place forecasts behind it."""
        forecaster = self._forecaster
        table = self._read_prediction(X)
        table, observed = future.without_early(
            table, forecaster.observe(table), self.timeline_
        )
        check_after_context(table, self.timeline_, self.timeline_.first_step)
        place, observed = forecaster.place(table, observed)
        place = future.after_observed(place, observed, self.sizes_.n_targets)
        observed = observed.without(table.outliers)
        return table, future.without_later(observed, place, self.sizes_), place

    def score(self, X: Any, y: Any = None, sample_weight: Any = None) -> float:
        """
        Score `predict`; rows whose truth is missing are left out.

        Parameters
        ----------
        X : DataFrame, Series or array-like of shape (n_samples, n_features)
            Rows to forecast.
        y : array-like of shape (n_samples,) or (n_samples, n_targets), default=None
            The truth; None takes it from X's target column(s).
        sample_weight : array-like of shape (n_samples,), default=None
            Weight of each row.

        Returns
        -------
        float
            The higher, the better; `InformerRegressor` gives the R².
        """
        check_fitted(self)
        check_same_index(X, sample_weight, "sample_weight")
        reader = self.reader_
        rows = X if y is not None else reader.encode_rows(X, unseen=-1.0)
        truth = read_y_true(self, rows, reader.encode_y(y, unseen=-1.0), self.roles_)
        forecast = self._points(self._requested_rows(X))
        present = ~np.isnan(truth).any(axis=1)
        checks.check_any_truth(present)
        weight = checks.score_weight(sample_weight, len(truth))[present]
        return self.head_.score(truth[present], forecast[present], weight)

    def update(self, X: Any, y: Any = None) -> Self:
        """
        Append later history without training.

        Parameters
        ----------
        X : DataFrame, Series or array-like of shape (n_samples, n_features)
            Rows that follow the history directly.
        y : array-like of shape (n_samples,) or (n_samples, n_targets), default=None
            Their truth, where X does not hold it.

        Returns
        -------
        self
            Forecasts now start after these rows.

        Raises
        ------
        ValueError
            If rows are missing between the history and X, or within X.
        """
        check_fitted(self)
        reader = self.reader_
        table = read_update(
            self, reader.encode_rows(X), reader.encode_y(y), fitted_rows(self)
        )
        cleaned = self._outlier_bounds_.clean(reader.one_hot(table), self.timeline_)
        table = self._warn_of_outliers(*cleaned).without_outliers()
        table = table.take(np.lexsort((table.steps, table.series)))
        first_row = runs(table.series, self.timeline_.n_series)
        expected = np.repeat(
            self.timeline_.end_step - first_row[:-1], np.diff(first_row)
        )
        expected += np.arange(len(expected))
        check_follows(table, expected, self.timeline_.clock, self.series_)
        timeline = self._forecaster.appended(table)
        scaler = self.scaler_.updated(table.columns, first_row)
        self.__dict__.update(
            scaler_=scaler, timeline_=timeline, _outlier_bounds_=cleaned[1]
        )
        return self

    def make_future_frame(self, horizon: int | None = None) -> pd.DataFrame:
        """
        Make rows for the steps after the history: fill in what is known, then `predict`.

        Parameters
        ----------
        horizon : int, default=None
            Steps, at least 1; None is `pred_len`.

        Returns
        -------
        DataFrame of shape (horizon, n_features)
            X's columns in their order, all missing, with the timestamps to come.
        """
        check_fitted(self)
        if horizon is not None:
            check_horizon(horizon)
        steps = int(self.sizes_.pred_len if horizon is None else horizon)
        end, n_series = self.timeline_.end_step, self.timeline_.n_series
        labels = self.timeline_.clock.labels((end[:, None] + np.arange(steps)).ravel())
        labels = join_series(
            self.series_, np.repeat(np.arange(n_series), steps), labels
        )
        return pd.DataFrame(np.nan, index=labels, columns=self.roles_.column_labels)

    @with_callbacks
    def _fit(
        self,
        X: Any,
        y: Any,
        sample_weight: Any,
        *,
        earlier: BaseInformer | None,
        device: str,
    ) -> None:
        """Fit an estimator that has no fitted state; a warm start goes on from an earlier one."""
        self._validate_params()
        settings, split, missing = self._read(X, y, sample_weight, device=device)
        data = self._callback_data(X, y, sample_weight)
        earlier = earlier if hasattr(earlier, "ensemble_") else None
        before = None if earlier is None else earlier.history_
        tasks = FitTasks(self, data, before, settings.trainer.max_iter)
        with tasks.fit():
            self._train(settings, split, missing, tasks, earlier)
            if missing is not None:
                with timed("filling"):
                    self._forecaster.fill_missing(missing)
            if not self.trust_ and (idle := non_default_network_params(self)):
                warn_of_idle_network(idle, trained=len(self.history_) > 0)
            self.fit_times_ = running().table()

    @timed("reading")
    def _read(
        self, X: Any, y: Any, sample_weight: Any, *, device: str
    ) -> tuple[FitSettings, IntArray | None, BoolArray | None]:
        """Read parameters and rows; return where validation begins, and what is missing, too."""
        self.reader_ = self._make_reader(X, y)
        self.head_ = self._make_head()
        settings = read_settings(self, self.head_, requested=device)
        self.device_ = str(settings.device)
        self.attention_ = settings.network.attention
        self.precision_ = settings.trainer.precision
        table, self.roles_, self.series_, self._training_digest_ = read_training(
            self,
            self.reader_.encode_rows(X),
            self.reader_.encode_y(y),
            sample_weight,
            reading_settings(
                self, whole=not (settings.classical or settings.needs_no_split)
            ),
        )
        table = self._clean(self.reader_.one_hot(table), settings)
        settings = choose_members(settings, table)
        if self.max_iter is None:
            settings = limit_epochs(settings, table.first_row)
        split = None
        if not settings.needs_no_split:
            split = find_split(table, settings, self.series_)
        scaler = fit_scale(table, settings, self.roles_, split, self.series_)
        self.scaler_ = self.reader_.adapt_scaler(
            rescale_by_volatility(scaler, table, split)
        )
        fill = "missing" not in settings.embeddings
        self.timeline_ = build_timeline(table, self.scaler_, fill_covariates=fill)
        warn_of_closed(Closed.of(self.timeline_))
        self.sizes_ = model_sizes(settings, self.roles_, self.timeline_)
        return settings, split, table.missing

    def _clean(self, table: Table, settings: FitSettings) -> Table:
        """Put training rows into one unit, mark their outliers, and warn of both."""
        # Whoever transforms targets knows their range.
        targets = self.head_.in_units and settings.target_transform is None
        table, changes = in_last_unit(table, targets=targets)
        for change in changes[:1]:
            checks.warn_of_other_unit(
                len(changes), change.factor, *self._named(table, change)
            )
        table, self._outlier_bounds_, outliers = find_outliers(table, targets=targets)
        return self._warn_of_outliers(table, self._outlier_bounds_, outliers)

    def _train(
        self,
        settings: FitSettings,
        split: IntArray | None,
        missing: BoolArray | None,
        tasks: FitTasks,
        earlier: BaseInformer | None,
    ) -> None:
        """Build the module, train it, and weigh it beside all others."""
        with tasks.stage("ridges"):
            fit = self._start(settings, split, missing, earlier)
            batches = fit.batches.with_share(fit.fit_challengers())
        record = self._train_module(fit, batches, settings, tasks)
        with tasks.stage("weights"), timed("weights"):
            if self.sizes_.n_series:
                network_of(fit.module).embed_unseen()
            self.scaler_ = with_smearing_factor(
                self.scaler_,
                fit.module,
                fit.batches.validation,
                timeline=self.timeline_,
                head=self.head_,
            )
            self.ensemble_ = fit.finish(self.scaler_)
        self.__dict__.update(training_course(record, tasks.before))

    def _start(
        self,
        settings: FitSettings,
        split: IntArray | None,
        missing: BoolArray | None,
        earlier: BaseInformer | None,
    ) -> EnsembleFit:
        """Fit the ridges, and build what is trained."""
        seed = int(check_random_state(self.random_state).randint(2**31 - 1))
        timeline = self.timeline_
        sizes = self.sizes_
        windows = cut_windows(timeline, sizes, split)
        rows = FitRows(timeline, sizes, self.scaler_, split, windows[1], missing, seed)
        linear = None
        out_of_fold = (
            None  # where there are no ridges, or too few rows to fit them apart
        )
        if settings.linear_path:
            with timed("linear path"):
                linear = linear_fit(
                    timeline,
                    sizes,
                    windows,
                    missing=missing,
                    split=split,
                    refit=settings.early_stopping == "auto",
                    n_folds=N_FOLDS,
                )
            calendars = linear.before.calendar, linear.final.calendar
            rows = replace(rows, calendars=calendars)
            if linear.folds:
                times = partial(times_of, timeline, split)
                out_of_fold = OutOfFoldPath(linear, times, settings.device)
        weights = None if earlier is None else earlier.module_
        module = start_module(settings, sizes, linear, weights, seed=seed)
        module = module.to(settings.device).eval()
        batches = window_batches(
            timeline, sizes, settings, windows, seed=seed, out_of_fold=out_of_fold
        )
        fit = EnsembleFit(module, linear, rows, batches, settings)
        self.ensemble_ = fit.start
        self.calibration_ = Calibration.of(timeline, split, settings)
        return fit

    @timed("network")
    def _train_module(
        self,
        fit: EnsembleFit,
        epoch: FitBatches,
        settings: FitSettings,
        tasks: FitTasks,
    ) -> TrainingRecord:
        """Train the network, if it is worth it, and tell callbacks of its epochs."""
        module = fit.module
        # By as many windows as a prediction: in a small network a larger batch is no larger work.
        n_windows = min(settings.batch_size, PREDICTION_CHUNK)
        with (
            tasks.training() as on_epoch,
            threads_for(n_windows * module.largest_product),
        ):
            if not settings.train_network:
                return TrainingRecord()
            run = partial(train, module, groups=parameter_groups(module))
            if settings.checkpoint is None and fit.trial is not None:
                record = fit.trial.train(epoch, run)
                if record is not None:
                    on_epoch(record, module)
                    return record

            def end_epoch(record: TrainingRecord, module: Module) -> bool:
                if fit.trial is not None and fit.trial.should_stop(record):
                    record.stopped = record.stopped or "no gain"
                return on_epoch(record, module) or bool(record.stopped)

            return run(
                **epoch._asdict(),
                settings=settings.trainer,
                on_epoch=end_epoch,
                checkpoint=settings.checkpoint,
                fingerprint={} if settings.checkpoint is None else fingerprint(self),
            )

    @property
    def module_(self) -> Informer | Corrected:
        """The network, with the ridges that it corrects if there are any."""
        return module_of(self.ensemble_)

    @property
    def trust_(self) -> float:
        """Mean weight of the network in the forecasts of the fitted series."""
        return self.ensemble_.trust

    @property
    def base_blend_(self) -> dict[str, float]:
        """Mean weights of all that is fitted without the network."""
        return self.ensemble_.base_blend

    @property
    def series_blend_(self) -> pd.DataFrame:
        """Weights of the forecasters that count somewhere, a row for each series and target."""
        return self.ensemble_.series_blend(self.series_, self.roles_.target_labels)

    @property
    def weak_covariates_(self) -> list[Any]:
        """Columns known ahead of which trees see no more than the value at the step."""
        members = self.ensemble_.members.values()
        plain = sorted({i for member in members for i in member.plain_columns})
        return [self.roles_.known[i] for i in plain]

    @property
    def _forecaster(self) -> StepForecaster:
        """What the fit found, put together to forecast."""
        return StepForecaster(
            history=self.timeline_,
            scaler=self.scaler_,
            roles=self.roles_,
            sizes=self.sizes_,
            device=self.device_,
            head=self.head_,
            ensemble=self.ensemble_,
        )

    def _callback_data(self, X: Any, y: Any, sample_weight: Any) -> dict[str, Any]:
        """Pass to callbacks what scorers take: rows, their truth and their weights."""
        weights = None if sample_weight is None else {"sample_weight": sample_weight}
        if y is not None or not getattr(self, "_skl_callbacks", None):
            return {"X": X, "y": y, "metadata": weights}
        truth = read_y_true(self, self.reader_.encode_rows(X), None, self.roles_)
        present = ~np.isnan(truth).any(axis=1)
        if hasattr(X, "loc") and weights is None and not present.all():
            X, truth = X.loc[present], truth[present]  # scorers take no missing truth
        return {
            "X": X,
            "y": self.reader_.decode(
                truth, one_dimensional=self.roles_.one_dimensional
            ),
            "metadata": weights,
        }
