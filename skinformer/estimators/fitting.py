"""A fit, step by step: `Fit.run` is the way of the data, from raw rows to weighted members."""

from __future__ import annotations

from contextlib import AbstractContextManager
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.utils import check_random_state
from torch.nn import Module

from skinformer.bounds.closed import Closed
from skinformer.budget import Budget, Share
from skinformer.budget import running as running_budget
from skinformer.cleaning.months import find_month_effects
from skinformer.cleaning.scales import comparable_scales
from skinformer.cleaning.seasons import name_seasons
from skinformer.ensemble.building import limit_epochs, model_sizes
from skinformer.ensemble.fitting import FitBatches, FitRows, window_batches
from skinformer.ensemble.head import PointHead
from skinformer.ensemble.names import CLASSICAL, NETWORK, RIDGES, TREES
from skinformer.ensemble.network import module_of, network_of
from skinformer.ensemble.out_of_fold import OutOfFoldPath
from skinformer.ensemble.predicting import PREDICTION_CHUNK
from skinformer.ensemble.ridges import linear_fit, start_module
from skinformer.ensemble.settings import FitSettings
from skinformer.estimators.bases import with_callbacks
from skinformer.estimators.callbacks import FitTasks, callback_data, training_course
from skinformer.estimators.cleaning import clean_training_rows
from skinformer.estimators.fingerprint import fingerprint
from skinformer.estimators.fittable import FittableInformer
from skinformer.estimators.parts import Network, Training
from skinformer.estimators.progress import Progress
from skinformer.estimators.reading import reading_settings
from skinformer.estimators.settings import non_default_network_params, read_settings
from skinformer.estimators.target_transform import fit_scale, with_smearing_factor
from skinformer.intervals.calibration import Calibration
from skinformer.judging.costs import FILLING, fit_costs
from skinformer.judging.cutoffs import cut_windows, find_split
from skinformer.judging.fit import EnsembleFit
from skinformer.judging.leaderboard import Standings
from skinformer.judging.plan import Plan, plan_members
from skinformer.judging.proof import Proved
from skinformer.model.optimizer_groups import parameter_groups
from skinformer.reading.layout import read_layout
from skinformer.reading.training import read_training
from skinformer.stopwatch import running, stopwatch, timed
from skinformer.threads import limited, threads_for
from skinformer.timeline.arrays import BoolArray, IntArray
from skinformer.timeline.seen_range import SeenRange
from skinformer.timeline.timeline import Table, build_timeline
from skinformer.training.memory import is_gpu_out_of_memory
from skinformer.training.record import TrainingRecord
from skinformer.training.trainer import train
from skinformer.validation.labels import Labels
from skinformer.validation.parameters import (
    warn_of_cpu,
    warn_of_idle_loss,
    warn_of_idle_network,
    warn_of_seconds,
)
from skinformer.validation.rows import warn_of_closed


class Fit:
    """A fit in steps, which `run` takes one after another; results stand on the model.

    model: without fitted state.
    device: "auto", or one of torch's.
    earlier: whose weights a warm start goes on from.
    budget: seconds that it may take.
    """

    labels: Labels
    settings: FitSettings
    plan: Plan
    tasks: FitTasks

    def __init__(
        self,
        model: FittableInformer,
        *,
        device: str,
        earlier: FittableInformer | None,
        budget: Budget,
    ) -> None:
        self.model = model
        self.device = device
        self.earlier = earlier
        self.budget = budget

    def run(self, X: Any, y: Any, sample_weight: Any) -> None:
        """Fit the model: the way of the data, from raw rows to weighted members."""
        # 1. Rows: read, cleaned, split and standardised.
        with timed("reading"):
            X, y, sample_weight = self.read_labels(X, y, sample_weight)
            self.read_parameters(X, y)
            table = self.read_rows(X, y, sample_weight)
            table = name_seasons(
                table, self.settings.seasons, search=not self.settings.classifies
            )
            table = clean_training_rows(self.model, table, self.settings)
            table = self.take_months_off(table)
            self.choose_by_rows(table)
            split = find_split(table, self.settings, self.model.series_)
            self.standardise(table, split)
        missing = table.missing
        del table  # from here on the timeline holds the rows, in half the memory
        data = callback_data(self.model, X, y, sample_weight)
        with self.begin_tasks(data):
            # 2. Rows before the validation split: ridges, trees and users' forecasters of a long
            # table, with their weights, and the network, as far as these leave anything to it.
            members, batches = self.fit_ridges_and_challengers(split, missing)
            record = self.train_network(members, batches)
            # 3. Rows before the split: all other members of panels and short tables. Weights, by
            # errors on the split; then those that count are fitted to all rows.
            self.fit_and_weigh_members(members)
            # 4. Forecasts: from a complete history; their intervals are found later.
            self.keep_course(record)
            self.fill_history(missing)
            self.keep_range()
            self.model.fit_times_ = running().table()
            self.warn_of_seconds()

    def read_labels(self, X: Any, y: Any, sample_weight: Any) -> tuple[Any, Any, Any]:
        """Move columns that label the rows to the index."""
        model = self.model
        layout, *labelled = read_layout(
            X, y, sample_weight, time=model.time, series=model.series
        )
        model.layout_ = layout
        self.labels = layout.labels_in(X)
        return tuple(labelled)

    def read_parameters(self, X: Any, y: Any) -> None:
        """Resolve the parameters that go by the device or by others."""
        model = self.model
        model.reader_ = model._make_reader(X, y)
        model.head_ = model._make_head()
        self.settings = read_settings(model, model.head_, requested=self.device)
        model.device_ = str(self.settings.device)
        model.attention_ = self.settings.network.attention
        model.precision_ = self.settings.trainer.precision

    def read_rows(self, X: Any, y: Any, sample_weight: Any) -> Table:
        """Read the rows into a table of numbers, columns in their roles, rows on a clock."""
        model = self.model
        reader = model.reader_
        settings = self.settings
        has_short_windows = CLASSICAL in settings.members or settings.needs_no_split
        rows = read_training(
            model,
            reader.encode_rows(X),
            reader.encode_y(y),
            sample_weight,
            reading_settings(model, self.labels, whole=not has_short_windows),
        )
        model.roles_ = rows.roles
        model.series_ = rows.series
        model._training_digest_ = rows.digest
        model._may_skip_ = rows.may_skip
        model._closed_dates_ = rows.closed_dates
        return reader.one_hot(rows.table)

    def take_months_off(self, table: Table) -> Table:
        """Make sums over months of different days comparable."""
        months = find_month_effects(table)
        self.model._months_ = months
        return months.taken_off(table)

    def choose_by_rows(self, table: Table) -> None:
        """Choose the members that suit the length of the series, and epochs left open."""
        self.plan = plan_members(self.settings, table)
        if Training.of(self.model.training).max_iter is None:
            limited = limit_epochs(self.plan.settings, table.first_row)
            self.plan = replace(self.plan, settings=limited)
        self.plan_seconds(table)
        self.settings = self.plan.settings

    def plan_seconds(self, table: Table) -> None:
        """Estimate what the parts of the fit cost, where somebody limits or watches its seconds."""
        if self.budget.is_limited or self.model.verbose:
            n_known = len(self.model.roles_.known)
            self.budget.plan(fit_costs(self.plan.settings, table, n_known))

    def standardise(self, table: Table, split: IntArray | None) -> None:
        """Standardise the rows, by those before the validation split."""
        model = self.model
        scaler = fit_scale(table, self.settings, model.roles_, split, model.series_)
        window_len = self.settings.seq_len + self.settings.pred_len
        scaler = comparable_scales(scaler, table, split, window_len)
        scaler = model.reader_.adapt_scaler(scaler)
        timeline = build_timeline(
            table, scaler, fill_covariates="missing" not in self.settings.embeddings
        )
        if not model._may_skip_:  # of rows that are not there the fit has told
            warn_of_closed(Closed.of(timeline))
        model.scaler_ = scaler
        model.timeline_ = timeline
        model.sizes_ = model_sizes(self.settings, model.roles_, timeline)

    def begin_tasks(self, data: dict[str, Any]) -> AbstractContextManager[None]:
        """Begin the task of callbacks that a fit is, with the data that they get."""
        self.tasks = FitTasks(
            self.model,
            data,
            None if self.earlier is None else self.earlier.history_,
            self.settings.trainer.max_iter,
        )
        return self.tasks.fit()

    def fit_ridges_and_challengers(
        self, split: IntArray | None, missing: BoolArray | None
    ) -> tuple[EnsembleFit, FitBatches]:
        """Fit all that is fitted before the network; return it, and what this is trained on.

        These are the ridges, and of a long table trees and users' forecasters, which are weighed
        beside them; of classes all forecasters but the network.

        missing: (n_rows, n_targets), where truths were missing; None for nowhere.
        """
        model = self.model
        with self.tasks.stage("ridges"):
            members = self._start_members(split, missing)
            model.ensemble_ = members.start
            model._standings_ = Standings.of(self.plan.reasons, None, members.start, {})
            model.calibration_ = Calibration.prepare(
                model.timeline_, split, self.settings
            )
            return members, members.batches.with_share(members.fit_challengers())

    def _start_members(
        self, split: IntArray | None, missing: BoolArray | None
    ) -> EnsembleFit:
        """Fit the ridges, and build the network that corrects them."""
        model = self.model
        settings = self.settings
        timeline = model.timeline_
        sizes = model.sizes_
        seed = self._draw_seed()
        training, validation = cut_windows(timeline, sizes, split)
        rows = FitRows(timeline, sizes, model.scaler_, split, validation, missing, seed)
        linear = None
        out_of_fold = None
        if RIDGES in settings.members:
            with self.budget.part(RIDGES):
                linear = linear_fit(
                    rows,
                    training,
                    refit=settings.early_stopping == "auto",
                    of_mean=settings.head.of_mean,
                )
            rows = replace(
                rows, calendars=(linear.before.calendar, linear.final.calendar)
            )
            # Where rows are too few, the network corrects ridges that have seen them.
            if linear.folds:
                out_of_fold = OutOfFoldPath(linear, rows.times_of, settings.device)
        module = start_module(
            settings,
            sizes,
            linear,
            None if self.earlier is None else module_of(self.earlier.ensemble_),
            seed=seed,
        )
        return EnsembleFit(
            module.to(settings.device).eval(),
            linear,
            rows,
            window_batches(rows, training, settings, out_of_fold),
            self.plan,
        )

    def _draw_seed(self) -> int:
        random_state = check_random_state(self.model.random_state)
        return int(random_state.randint(2**31 - 1))

    @timed("network")
    def train_network(
        self, members: EnsembleFit, batches: FitBatches
    ) -> TrainingRecord:
        """Train the network, as long as it is worth it."""
        module = members.module
        # By as many windows as a prediction: in a small network a larger batch is no larger work.
        n_windows = min(self.settings.batch_size, PREDICTION_CHUNK)
        with self.tasks.training(), threads_for(n_windows * module.largest_product):
            if not members.may_begin(NETWORK):
                return TrainingRecord()
            with self.budget.part(NETWORK) as share:
                return self._train(members, batches.with_effort(share), share)

    def _train(
        self, members: EnsembleFit, batches: FitBatches, share: Share
    ) -> TrainingRecord:
        """Train the network, after a trial where there is one.

        share: what it may have of its windows and epochs.
        """
        module = members.module
        run = partial(train, module, groups=parameter_groups(module))
        checkpoint = self.settings.checkpoint
        trainer = self.settings.trainer
        trainer = replace(trainer, max_iter=share.of(trainer.max_iter, power=0.5))
        trial = members.trial
        if checkpoint is None and trial is not None:
            record = trial.train(batches, run)
            if record is not None:
                self.tasks.end_epoch(record)
                return record
        return run(
            **batches._asdict(),
            settings=trainer,
            on_epoch=partial(self._end_epoch, members),
            checkpoint=checkpoint,
            fingerprint={} if checkpoint is None else fingerprint(self.model),
        )

    def _end_epoch(
        self, members: EnsembleFit, record: TrainingRecord, *_: Module
    ) -> bool:
        """End an epoch; return whether it was the last one."""
        trial = members.trial
        if trial is not None and trial.should_stop(record):
            record.stopped = record.stopped or "no gain"
        return self.tasks.end_epoch(record) or bool(record.stopped)

    def fit_and_weigh_members(self, members: EnsembleFit) -> None:
        """Fit the members that are not fitted yet, weigh all, and fit those that count to all rows.

        Of panels and short tables classical forecasters, ridges of each series, trees and users'
        forecasters are fitted here; of a long table the network's weight alone is found.
        """
        model = self.model
        with self.tasks.stage("weights"), timed("weights"):
            if model.sizes_.n_series:
                network_of(members.module).embed_unseen()
            model.scaler_ = with_smearing_factor(
                model.scaler_,
                members.module,
                members.batches.validation,
                timeline=model.timeline_,
                head=model.head_,
            )
            model.ensemble_, model._standings_ = members.finish(model.scaler_)
            model.calibration_ = replace(
                model.calibration_, proved=Proved.of(members.proof, model.ensemble_)
            )
            for line in model._standings_.lines(model.ensemble_):
                running().write(line)
        self.warn_of_means_alone()

    def warn_of_means_alone(self) -> None:
        """Warn if the members that the user chose are ridges alone, and the loss asks for no mean.

        Behind a transformer of the target means become what it makes of them: of logarithms,
        medians.
        """
        model = self.model
        head = self.settings.head
        if not isinstance(head, PointHead) or head.of_mean:
            return
        if isinstance(model.members, str) or model.target_transform is not None:
            return
        ensemble = model.ensemble_
        forecasting = [
            name for name in ensemble.members if ensemble.weights_of(name).any()
        ]
        if forecasting == [RIDGES]:
            warn_of_idle_loss(head.loss)

    def keep_course(self, record: TrainingRecord) -> None:
        """Keep the losses of epochs, and warn if the network that the user chose has no weight."""
        model = self.model
        vars(model).update(training_course(record, self.tasks.before))
        params = [] if model.ensemble_.trust else non_default_network_params(model)
        if params:
            warn_of_idle_network(params, trained=len(model.history_) > 0)

    def warn_of_seconds(self) -> None:
        """Warn if the fit took longer than the user allows."""
        budget = self.budget
        if budget.is_limited and budget.passed > 1.2 * budget.max_seconds:
            warn_of_seconds(budget.max_seconds, budget.passed, list(budget.efforts))

    def fill_history(self, missing: BoolArray | None) -> None:
        """Put forecasts in for the missing actual values, from which later forecasts start."""
        if missing is None:
            return
        model = self.model
        with timed("filling"), self.budget.part(FILLING) as share:
            model._forecaster.fill_missing(self._last_missing(missing, share))

    def _last_missing(self, missing: BoolArray, share: Share) -> BoolArray:
        """Keep the missing actual values of the last rows, where seconds are limited."""
        if share.effort == 1:
            return missing
        timeline = self.model.timeline_
        n_rows = np.diff(timeline.first_row)
        first_kept = timeline.first_row[1:] - np.ceil(share.effort * n_rows)
        is_kept = np.arange(len(missing)) >= first_kept[timeline.series]
        return missing & is_kept[:, None]

    def keep_range(self) -> None:
        """Keep the range of the targets where trees forecast, which know nothing beyond it."""
        model = self.model
        if self.settings.classifies or not model.ensemble_.weights_of(TREES).any():
            return
        sizes = model.sizes_
        vars(model)["_seen_range_"] = SeenRange.of(
            model.timeline_, sizes.n_targets, sizes.season
        )


def fit_copy(model: FittableInformer, *given: Any) -> FittableInformer:
    """Fit a copy without fitted state, on the CPU where "auto" finds too small a GPU.

    given: X, y and sample_weight.
    """
    model._validate_params()
    try:
        return _fit_copy_on(Network.of(model.network).device, model, given)
    except RuntimeError as error:
        if not _may_fit_on_cpu(model, error):
            raise
        warn_of_cpu(str(error))
    # Behind the error, whose frames hold what filled the GPU.
    return _fit_copy_on("cpu", model, given)


def _fit_copy_on(
    device: str, model: FittableInformer, given: tuple[Any, ...]
) -> FittableInformer:
    copy = type(model).__new__(type(model))
    for name, value in vars(model).items():
        if not name.endswith("_"):
            setattr(copy, name, value)
    warm_start = Training.of(model.training).warm_start
    goes_on = warm_start and hasattr(model, "ensemble_")
    budget = Budget(model.max_seconds)
    fit = Fit(copy, device=device, earlier=model if goes_on else None, budget=budget)
    watch = stopwatch()
    if model.verbose:
        # It writes what it measures.
        watch = Progress(type(model).__name__, budget).looked_at()
    with watch, limited(model.n_jobs), running_budget(budget):
        _run(copy, fit, given)
    return copy


@with_callbacks
def _run(
    model: FittableInformer,  # noqa: ARG001
    fit: Fit,
    given: tuple[Any, ...],
) -> None:
    """Run the fit of a model, whose callbacks are torn down whatever happens."""
    fit.run(*given)


def _may_fit_on_cpu(model: FittableInformer, error: RuntimeError) -> bool:
    """Whether a fit that a GPU had no memory for begins anew on the CPU.

    Not where it has written a checkpoint, whose epochs would be lost.
    """
    training = Training.of(model.training)
    has_begun = training.checkpoint is not None and Path(training.checkpoint).exists()
    is_auto = Network.of(model.network).device == "auto"
    is_free = is_auto and training.precision != "fp16"
    return is_free and not has_begun and is_gpu_out_of_memory(error)
