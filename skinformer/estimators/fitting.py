"""A fit, step by step: `run_fit` is the way of the data, from raw rows to weighted members."""

from __future__ import annotations

from contextlib import AbstractContextManager
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from sklearn.utils import check_random_state
from torch.nn import Module

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
from skinformer.ensemble.members import EnsembleFit, network_of
from skinformer.ensemble.out_of_fold import N_FOLDS, OutOfFoldPath
from skinformer.ensemble.predicting import PREDICTION_CHUNK
from skinformer.ensemble.ridges import linear_fit, start_module, times_of
from skinformer.ensemble.settings import FitSettings
from skinformer.estimators.bases import with_callbacks
from skinformer.estimators.callbacks import FitTasks, callback_data, training_course
from skinformer.estimators.cleaning import clean_training_rows
from skinformer.estimators.fingerprint import fingerprint
from skinformer.estimators.progress import Progress
from skinformer.estimators.reading import reading_settings
from skinformer.estimators.settings import non_default_network_params, read_settings
from skinformer.estimators.target_scale import fit_scale, with_smearing_factor
from skinformer.intervals.calibration import Calibration
from skinformer.model.optimizer_groups import parameter_groups
from skinformer.reading.training import read_training
from skinformer.ridge.linear_fit import LinearFits
from skinformer.stopwatch import Stopwatch, running, stopwatch, timed
from skinformer.threads import threads_for
from skinformer.timeline.arrays import BoolArray, IntArray
from skinformer.timeline.closed import Closed
from skinformer.timeline.scaling import Scaler
from skinformer.timeline.timeline import Table, Timeline, build_timeline
from skinformer.timeline.windows import Origins
from skinformer.training.memory import is_gpu_out_of_memory
from skinformer.training.record import TrainingRecord
from skinformer.training.trainer import train
from skinformer.validation.parameters import warn_of_cpu, warn_of_idle_network
from skinformer.validation.rows import warn_of_closed

if TYPE_CHECKING:
    from skinformer.estimators.base import BaseInformer


@with_callbacks
def run_fit(
    model: BaseInformer,
    X: Any,
    y: Any,
    sample_weight: Any,
    *,
    device: str,
    earlier: BaseInformer | None,
) -> None:
    """Fit a model without fitted state; a warm start goes on from the weights of an earlier one."""
    # 1. Rows: read, cleaned, split and standardised.
    with timed("reading"):
        settings = read_parameters(model, X, y, device=device)
        table = read_rows(model, X, y, sample_weight, settings)
        table = clean_training_rows(model, table, settings)
        settings = choose_by_rows(settings, table, max_iter=model.max_iter)
        split = find_validation_rows(model, table, settings)
        model.scaler_ = fit_scaler(model, table, settings, split)
        model.timeline_ = standardise(table, model.scaler_, settings)
        model.sizes_ = model_sizes(settings, model.roles_, model.timeline_)
    missing = table.missing
    del table  # the timeline holds the rows from here on, in half the memory
    tasks = FitTasks(
        model,
        callback_data(model, X, y, sample_weight),
        before=None if earlier is None else earlier.history_,
        n_epochs=settings.trainer.max_iter,
    )
    with tasks.fit():
        # 2. Members: fitted to the rows before the validation split.
        with tasks.stage("ridges"):
            members = start_members(model, settings, split, missing, earlier)
            model.ensemble_ = members.start
            model.calibration_ = Calibration.of(model.timeline_, split, settings)
            batches = members.batches.with_share(members.fit_challengers())
        record = train_network(model, members, batches, settings, tasks)
        # 3. Weights: by the errors of the validation rows; then members are fitted to all rows.
        with tasks.stage("weights"), timed("weights"):
            model.scaler_ = fit_back_transform(model, members)
            model.ensemble_ = members.finish(model.scaler_)
        vars(model).update(training_course(record, tasks.before))
        # 4. History: complete, for forecasts to start from; intervals are found when asked for.
        if missing is not None:
            with timed("filling"):
                model._forecaster.fill_missing(missing)
        warn_of_ignored_network(model)
        model.fit_times_ = running().table()


def read_parameters(model: BaseInformer, X: Any, y: Any, *, device: str) -> FitSettings:
    """Check the parameters, and resolve those that go by the device or by others."""
    model._validate_params()
    model.reader_ = model._make_reader(X, y)
    model.head_ = model._make_head()
    settings = read_settings(model, model.head_, requested=device)
    model.device_ = str(settings.device)
    model.attention_ = settings.network.attention
    model.precision_ = settings.trainer.precision
    return settings


def read_rows(
    model: BaseInformer, X: Any, y: Any, sample_weight: Any, settings: FitSettings
) -> Table:
    """Read the rows into a table of numbers, columns in their roles, rows on a clock."""
    reader = model.reader_
    whole_windows = not (settings.classical or settings.needs_no_split)
    rows = read_training(
        model,
        reader.encode_rows(X),
        reader.encode_y(y),
        sample_weight,
        reading_settings(model, whole=whole_windows),
    )
    model.roles_ = rows.roles
    model.series_ = rows.series
    model._training_digest_ = rows.digest
    return reader.one_hot(rows.table)


def choose_by_rows(
    settings: FitSettings, table: Table, *, max_iter: int | None
) -> FitSettings:
    """Choose the members that suit the length of the series, and the epochs if left open."""
    settings = choose_members(settings, table)
    if max_iter is None:
        settings = limit_epochs(settings, table.first_row)
    return settings


def find_validation_rows(
    model: BaseInformer, table: Table, settings: FitSettings
) -> IntArray | None:
    """Find the row where each series' validation split begins; None for no validation."""
    if settings.needs_no_split:
        return None
    return find_split(table, settings, model.series_)


def fit_scaler(
    model: BaseInformer, table: Table, settings: FitSettings, split: IntArray | None
) -> Scaler:
    """Find how columns are standardised, by the rows before the validation split."""
    scaler = fit_scale(table, settings, model.roles_, split, model.series_)
    scaler = rescale_by_volatility(scaler, table, split)
    return model.reader_.adapt_scaler(scaler)


def standardise(table: Table, scaler: Scaler, settings: FitSettings) -> Timeline:
    """Standardise the rows, and warn of steps that are never observed."""
    fill = "missing" not in settings.embeddings
    timeline = build_timeline(table, scaler, fill_covariates=fill)
    warn_of_closed(Closed.of(timeline))
    return timeline


def start_members(
    model: BaseInformer,
    settings: FitSettings,
    split: IntArray | None,
    missing: BoolArray | None,
    earlier: BaseInformer | None,
) -> EnsembleFit:
    """Fit the ridges, and build the network that corrects them.

    missing: (n_rows, n_targets), where truths were missing; None for nowhere.
    """
    timeline = model.timeline_
    sizes = model.sizes_
    seed = int(check_random_state(model.random_state).randint(2**31 - 1))
    windows = cut_windows(timeline, sizes, split)
    rows = FitRows(timeline, sizes, model.scaler_, split, windows[1], missing, seed)
    linear = None
    out_of_fold = None
    if settings.linear_path:
        linear = _fit_ridges(rows, windows, settings)
        calendars = (linear.before.calendar, linear.final.calendar)
        rows = replace(rows, calendars=calendars)
        if linear.folds:  # none where rows are too few to leave some out
            times = partial(times_of, timeline, split)
            out_of_fold = OutOfFoldPath(linear, times, settings.device)
    weights = None if earlier is None else earlier.module_
    module = start_module(settings, sizes, linear, weights, seed=seed)
    module = module.to(settings.device).eval()
    batches = window_batches(
        timeline, sizes, settings, windows, seed=seed, out_of_fold=out_of_fold
    )
    return EnsembleFit(module, linear, rows, batches, settings)


@timed("linear path")
def _fit_ridges(
    rows: FitRows, windows: tuple[Origins, Origins], settings: FitSettings
) -> LinearFits:
    return linear_fit(
        rows.timeline,
        rows.sizes,
        windows,
        missing=rows.missing,
        split=rows.split,
        refit=settings.early_stopping == "auto",
        n_folds=N_FOLDS,
    )


@timed("network")
def train_network(
    model: BaseInformer,
    members: EnsembleFit,
    batches: FitBatches,
    settings: FitSettings,
    tasks: FitTasks,
) -> TrainingRecord:
    """Train the network as long as it is worth it, and notify callbacks of its epochs."""
    module = members.module
    run = partial(train, module, groups=parameter_groups(module))
    # By as many windows as a prediction: in a small network a larger batch is no larger work.
    n_windows = min(settings.batch_size, PREDICTION_CHUNK)
    with tasks.training(), threads_for(n_windows * module.largest_product):
        if not settings.train_network:
            return TrainingRecord()
        if settings.checkpoint is None:
            record = members.trial_training(batches, run)
            if record is not None:
                tasks.end_epoch(record)
                return record

        def end_epoch(record: TrainingRecord, _: Module) -> bool:
            if members.should_stop(record):
                record.stopped = record.stopped or "no gain"
            return tasks.end_epoch(record) or bool(record.stopped)

        return run(
            training=batches.training,
            validation=batches.validation,
            settings=settings.trainer,
            on_epoch=end_epoch,
            checkpoint=settings.checkpoint,
            fingerprint={} if settings.checkpoint is None else fingerprint(model),
        )


def fit_back_transform(model: BaseInformer, members: EnsembleFit) -> Scaler:
    """Find the factors that make means of forecast logarithms, with a network for new series."""
    if model.sizes_.n_series:
        network_of(members.module).embed_unseen()
    return with_smearing_factor(
        model.scaler_,
        members.module,
        members.batches.validation,
        timeline=model.timeline_,
        head=model.head_,
    )


def warn_of_ignored_network(model: BaseInformer) -> None:
    """Warn if the network has no weight, though the user chose parameters of it."""
    if model.trust_:
        return
    params = non_default_network_params(model)
    if params:
        warn_of_idle_network(params, trained=len(model.history_) > 0)


def fit_copy(model: BaseInformer, X: Any, y: Any, sample_weight: Any) -> BaseInformer:
    """Fit a copy without fitted state, on the CPU where "auto" finds too small a GPU."""
    try:
        return _fit_copy_on(model.device, model, X, y, sample_weight)
    except RuntimeError as error:
        if not _may_fit_on_cpu(model, error):
            raise
        warn_of_cpu(str(error))
    # Behind the error, whose frames hold what filled the GPU.
    return _fit_copy_on("cpu", model, X, y, sample_weight)


def _fit_copy_on(
    device: str, model: BaseInformer, X: Any, y: Any, sample_weight: Any
) -> BaseInformer:
    copy = type(model).__new__(type(model))
    for name, value in vars(model).items():
        if not name.endswith("_"):
            setattr(copy, name, value)
    goes_on = model.warm_start and hasattr(model, "ensemble_")
    with _watch(model):
        run_fit(
            copy, X, y, sample_weight, device=device, earlier=model if goes_on else None
        )
    return copy


def _may_fit_on_cpu(model: BaseInformer, error: RuntimeError) -> bool:
    """Whether a fit that a GPU had no memory for begins anew on the CPU.

    Not where it has written a checkpoint, whose epochs would be lost.
    """
    has_begun = model.checkpoint is not None and Path(model.checkpoint).exists()
    is_free = model.device == "auto" and model.precision != "fp16"
    return is_free and not has_begun and is_gpu_out_of_memory(error)


def _watch(model: BaseInformer) -> AbstractContextManager[Stopwatch]:
    """Return a watch for a fit, which writes what it measures if that is wanted."""
    if model.verbose:
        return Progress(type(model).__name__).looked_at()
    return stopwatch(Stopwatch())
