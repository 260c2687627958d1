"""The members of a fit: who takes part, and what each is worth."""

from __future__ import annotations

from collections.abc import Callable, Collection
from contextlib import AbstractContextManager
from dataclasses import replace
from functools import cached_property, partial
from typing import Any, cast

import numpy as np

from skinformer.classes.fit import ClassFit
from skinformer.ensemble import weighing
from skinformer.ensemble.batches import WindowBatches
from skinformer.ensemble.classes import Classes, fit_class_base, held_out_origins, weigh_classes
from skinformer.ensemble.classical import Classical
from skinformer.ensemble.ensemble import Ensemble
from skinformer.ensemble.fitting import FitBatches, FitRows
from skinformer.ensemble.member import NETWORK, RIDGES, Member
from skinformer.ensemble.network import Network
from skinformer.ensemble.own import OwnRidges
from skinformer.ensemble.predicting import prediction_threads
from skinformer.ensemble.ridges import Ridges
from skinformer.ensemble.settings import FitSettings
from skinformer.ensemble.tabular import Tabular
from skinformer.ensemble.user_forecaster import UserForecaster
from skinformer.ensemble.windows import Canvas, Rows, Windows
from skinformer.model.corrected import Corrected
from skinformer.model.informer import Informer
from skinformer.ridge.linear_fit import LinearFits
from skinformer.selection import MOST_STRETCHES, cut_stretches
from skinformer.stopwatch import timed
from skinformer.threads import begin
from skinformer.timeline.arrays import Float32Array, Float64Array, IntArray
from skinformer.timeline.scaling import Scaler
from skinformer.timeline.timeline import first_known
from skinformer.timeline.windows import Origins, spread_places
from skinformer.training.record import TrainingRecord
from skinformer.training.stopping import copy_state

#: Members beside ridges and network: one more is a line here.
MEMBERS: tuple[type[Member], ...] = (Classical, OwnRidges, Tabular)
#: All that files hold.
ALL_KINDS: tuple[type[Member], ...] = (*MEMBERS, Classes, Ridges, Network, UserForecaster)

#: Values that are forecast to weigh a challenger on a long table.
_MOST_VALUES = 20_000
#: Windows by which all are weighed where a forecaster of the user's is among them, or one of each
#: series: such a one may take its time.
_MOST_OF_USER = 256
#: What classical forecasters of short series count more, as a log, where they are judged by fits to
#: three quarters of the rows: of fracast beside them four panels lost .4 to 1.7 %
#: (docs/forecasters.md).
_FITTED_TO_FEWER = 1.0
#: Standard errors by which a challenger has to gain on ridges where it sees no more than these do:
#: without, trees' errors on ETTh2 were 1.074 of those (docs/laboratory/drivers.md).
_MARGIN = 1.0
#: Weight of the last value among ridges from which on a series wanders: .38 to .75 on walks and
#: prices, 0 to .13 on hours of weather, streets and loads.
_WANDERS = 1 / 3
#: Windows of a network's trial, how many times as many make one worth while, and the part of the
#: ridges' loss that it has to take off.
TRIAL, WORTH_A_TRIAL, _PROMISING = 1000, 10, 0.005
#: Weight in the logits that a network is trained for beside trees that forecast classes.
_EXPECTED = 0.5


class EnsembleFit:
    """An ensemble while it is fitted; `start` is what forecasts during training.

    module: the network, with the ridges that it corrects if there are any; in evaluation mode.
    linear: ridges for training, fitted before the validation split, and final ones.
    rows: with `batches`, all that there is to learn from.
    """

    def __init__(
        self,
        module: Informer | Corrected,
        linear: LinearFits | None,
        rows: FitRows,
        batches: FitBatches,
        settings: FitSettings,
    ) -> None:
        self.module, self.linear, self.rows = module, linear, rows
        self.batches, self.settings, self.head = batches, settings, settings.head
        groups = tuple(settings.head.groups)
        self.ridges: Ridges | None = None
        self.network = Network(network_of(module), groups=groups)
        if linear is not None and isinstance(module, Corrected):
            self.ridges = Ridges(module.path)
            self.network = replace(self.network, base=RIDGES)
        #: Members that were weighed beside ridges, each by its share in what those before it leave.
        self.rivals: list[tuple[Member, Float64Array]] = []
        #: What fits those who count to all rows, from when their weights are known.
        self._refits: dict[str, Callable[[], Member]] = {}
        self.class_fit: ClassFit | None = None
        self.start = self._of([], {NETWORK: 1.0})

    def weigh_rivals(self) -> float:
        """Fit who competes with the network before it is trained; tell what is left to this.

        What a network can take off squared errors goes by the square of its share.
        """
        if not self.settings.classifies:
            shares = [1 - share for _, share in self._weigh_rivals()]
            self._begin_refits()
            return float((np.prod(shares, axis=0) ** 2).mean()) if shares else 1.0
        if self.rows.split is None or not self.settings.class_base:
            return 1.0
        self.class_fit = fit_class_base(self.rows, self.settings, before_split=True)
        return (1 - _EXPECTED) ** 2 if self.settings.regressor is not None else 1.0

    def tried(
        self, batches: FitBatches, train: Callable[..., TrainingRecord]
    ) -> TrainingRecord | None:
        """Train the network of a long table for a moment, and report if it is not worth more.

        batches: of the training that is planned; `train` takes batches and settings.

        If it is, all is as before. Few stretches of the split say nothing of a trial: WTH, 720
        steps ahead, has four, and was 1.1 % worse (docs/laboratory/performance.md).
        """
        trainer, training, held_out = self.settings.trainer, *batches
        planned = trainer.max_iter * training.n_drawn
        if planned < WORTH_A_TRIAL * TRIAL or not self._has_stretches or held_out is None:
            return None
        if not self._tells(held_out, MOST_STRETCHES):
            return None
        before, drawn = copy_state(self.module), training.get_state()
        held_out, trainer = held_out.eased(TRIAL), replace(trainer, max_iter=1)
        record = train(training=training.eased(TRIAL), validation=held_out, settings=trainer)
        if self._is_hopeless(held_out) or record.stopped == "interrupted":
            return record
        self.module.load_state_dict(before)
        training.set_state(drawn)
        return None

    def gives_up(self, record: TrainingRecord) -> bool:
        """Return whether training ends after its first epoch, for as little as after a trial.

        A whole epoch tells more than a trial: half of the stretches do.
        """
        held_out = self.batches.validation
        if record.n_iter != 1 or not self._has_stretches or held_out is None:
            return False
        return self._tells(held_out, MOST_STRETCHES // 2) and self._is_hopeless(
            held_out.eased(TRIAL)
        )

    def _tells(self, held_out: WindowBatches, n_least: int) -> bool:
        """Return whether the split holds enough forecasts for little gain to mean none.

        Several quantiles may be worth their training where the point among them gains nothing.
        """
        if self.head.outputs:
            return False
        steps, pred_len = self.rows.timeline.steps_of(held_out.draw()), self.rows.sizes.pred_len
        stretches = cut_stretches(steps, pred_len, n_most=MOST_STRETCHES)
        return stretches is None or bool(stretches.max() + 1 >= n_least)

    def _is_hopeless(self, held_out: WindowBatches) -> bool:
        gain = self._judged(weighing.network_gain, held_out)
        return bool(gain < _PROMISING)

    def finish(self, scaler: Scaler) -> Ensemble:
        """Weigh all who were fitted before the validation split by it, and fit them to it, too.

        scaler: the final one.

        A panel and short tables are weighed series by series, a long table by stretches of the
        split. Ridges have an advantage: it is one of four by which their blend was chosen.
        """
        for refit in self._refits.values():
            refit()  # threads of theirs beside threads of what follows would wait for each other
        self.rows = replace(self.rows, scaler=scaler)
        settings = self.settings
        if settings.classifies:
            return self._classes()
        if self.ridges is None and not settings.judges_itself:
            return self.start
        if self.ridges is None or not self._is_weighed:
            return self._unweighed()
        found = self._by_stretches() if self._has_stretches else self._by_series()
        return self._fitted_to_all(found)

    @property
    def _has_split(self) -> bool:
        return self.rows.split is not None and self.batches.validation is not None

    @property
    def _is_weighed(self) -> bool:
        """Whether there are rows to weigh by, and members that forecast the same thing."""
        return self._has_split and self.head.on_path

    @property
    def _has_stretches(self) -> bool:
        """Whether ridges are weighed beside others by stretches of one long table."""
        by_series = self.settings.classical or self.rows.timeline.n_series > 1
        return self._is_weighed and self.ridges is not None and not by_series

    @property
    def _kinds(self) -> list[type[Member]]:
        return [kind for kind in MEMBERS if kind.takes_part(self.settings)]

    @property
    def _user_fits(self) -> list[Callable[..., Member]]:
        """Return what fits each forecaster of the user's."""
        return [partial(UserForecaster.of_source, each) for each in self.settings.forecasters]

    def _few(self, at: Windows) -> IntArray:
        """Choose the windows that forecasters of the user's are asked for, at least 256."""
        return spread_places(len(at), max(_MOST_OF_USER, self.rows.timeline.n_series))

    def _check_seconds(self, members: list[Member], at: Windows) -> None:
        """Raise if a forecaster of the user's takes too long for windows and a forecast."""
        n_asked = (len(at) + self.rows.timeline.n_series) * self.rows.sizes.n_targets
        for member in members:
            if isinstance(member, UserForecaster):
                member.check_seconds(at, n_asked)

    def _weigh_rivals(self) -> list[tuple[Member, Float64Array]]:
        """Weigh members beside the ridges of a long table, by stretches of the split."""
        rows, pred_len = self.rows, self.rows.sizes.pred_len
        if self.ridges is None or not self._has_stretches:
            return []
        if not self._kinds and not self._user_fits:
            return []
        most = _MOST_VALUES // (pred_len * rows.sizes.n_targets)
        at = Windows(self._canvas, rows.held_out.thinned(max(most, 32)))
        stretches = cut_stretches(at.steps, pred_len, n_most=MOST_STRETCHES)
        if stretches is None:
            return []
        margin = self._margin(complete=bool(stretches.max() + 1 == MOST_STRETCHES))
        kinds = self._kinds if margin is not None else []
        if not kinds and not self._user_fits:
            return []
        with timed("trees"):
            found = self._forecast(self.ridges, at)
            for kind in kinds:
                found = self._weigh_rival(kind.of_rows, found, at, stretches, margin or 0.0)
        if self._user_fits:
            few = self._few(at)
            at, found, stretches = at.take(few), found[few], stretches[few]
        for fit in self._user_fits:
            found = self._weigh_rival(fit, found, at, stretches, _MARGIN)
        return self.rivals

    def _weigh_rival(
        self,
        fit: Callable[..., Member],
        found: Float32Array,
        at: Windows,
        stretches: IntArray,
        margin: float,
    ) -> Float32Array:
        """Fit a member, weigh it beside those before it, and return what all forecast together.

        found: what those forecast of the windows.
        margin: standard errors by which it has to gain on them.
        """
        member = fit(self.rows, self.settings, before_split=True)
        self._check_seconds([member], at)
        forecast = self._points(member, at)
        share = weighing.weigh_steps(
            (found, forecast), self.rows, at.origins, stretches, self.head, margin=margin
        )
        self.rivals.append((member, share))
        return found + share[:, None].astype(np.float32) * (forecast - found)

    def _margin(self, *, complete: bool) -> float | None:
        """Return by how many standard errors a member has to gain on ridges; None: it is not asked.

        complete: whether the split has all stretches. Trees that see no more than ridges do need
        them: what few long forecasts say of a level holds for their season alone, and cost 26 % on
        ETTh1, 336 steps ahead (docs/laboratory/drivers.md).
        """
        assert self.ridges is not None
        wanders = self.ridges.blend.get("last", 0.0) > _WANDERS
        drivers = self.rows.sizes.n_known > 0
        sees_more = drivers or not isinstance(self.settings.regressor, str)
        if not sees_more and (wanders or not complete):
            return None
        return 0.0 if drivers and not wanders else _MARGIN

    def _begin_refits(self) -> None:
        """Fit trees to all rows while the network is trained, if it is; not what a user gave."""
        refit = self.settings.early_stopping is not True and self.settings.train_network
        ours = isinstance(self.settings.regressor, str)
        for member, share in self.rivals:
            if refit and share.any() and ours and isinstance(member, Tabular):
                self._refits[member.name] = begin(self._refit(member))

    def _refit(self, member: Member) -> Callable[[], Member]:
        return partial(member.of_rows, self.rows, self.settings, earlier=member, before_split=False)

    def _classes(self) -> Ensemble:
        at = None
        if self._has_split:
            at = Windows(self._canvas, held_out_origins(self.rows))
        logits = None if at is None else self._forecast(self.network, at)
        return weigh_classes(self.network, logits, self.class_fit, at, self.rows, self.settings)

    def _unweighed(self) -> Ensemble:
        """Choose where nothing tells members apart: who judges himself, but a trained network."""
        if self.settings.train_network:
            return self._fitted_to_all(self.start)
        fits = [kind.of_rows for kind in self._kinds if kind.judges_itself]
        if self.ridges is None:
            fits += self._user_fits
        members = [fit(self.rows, self.settings, before_split=False) for fit in fits]
        weights: dict[str, Any] = {members[0].name if members else RIDGES: 1.0}
        if self.ridges is None and self._user_fits:
            weights = self._by_last_rows(fits) or weights
        members = [each for each in members if np.any(weights.get(each.name, 0.0))]
        chosen = self._of(members, weights)
        return replace(chosen, members=chosen.members | self._final_ridges())

    def _by_last_rows(self, fits: list[Callable[..., Member]]) -> dict[str, Any] | None:
        """Weigh members by the last rows of each series, to which they were not fitted.

        These are a quarter of its rows, one to four forecasts long. None where no series holds
        three forecasts.
        """
        timeline, pred_len = self.rows.timeline, self.rows.sizes.pred_len
        end = timeline.first_row[1:]
        n_rows = np.diff(timeline.first_row)
        is_long = n_rows >= 3 * pred_len
        split = np.where(is_long, end - np.clip(n_rows // 4, pred_len, 4 * pred_len), end)
        held_out = Origins(split, end - pred_len)
        if not held_out.count:
            return None
        rows = replace(self.rows, split=split)
        members = [fit(rows, self.settings, before_split=True) for fit in fits]
        at = Windows(self._canvas, weighing.series_origins(held_out))
        at = at.take(self._few(at))
        self._check_seconds(members, at)
        forecasts = {member.name: self._points(member, at) for member in members}
        fitted_to_fewer = [isinstance(member, Classical) for member in members]
        prior = np.where(fitted_to_fewer, _FITTED_TO_FEWER, 0.0)
        # One window of a series, or few: errors of a joint forecast prove nothing.
        return self._series_weights(forecasts, at, prior=prior, joint=False)

    def _series_weights(
        self,
        forecasts: dict[str, Float32Array],
        at: Windows,
        *,
        prior: Float64Array | None = None,
        joint: bool = True,
        only_known: Collection[str] = (),
    ) -> dict[str, Any]:
        """Weigh forecasts of windows by the errors of each series, see `weigh_series`.

        only_known: names of those that do not forecast series that the fit did not hold.
        """
        truths = weighing.truths_of(self.rows, at.origins)
        n_series = self.rows.timeline.n_series
        weights = weighing.weigh_series(
            list(forecasts.values()),
            *truths,
            at.series,
            n_series=n_series,
            prior=prior,
            joint=joint,
        )
        weights[-1] *= [name not in only_known for name in forecasts]
        weights = weighing.without_negligible(weights / weights.sum(axis=-1, keepdims=True))
        return {name: weights[:, None, :, i] for i, name in enumerate(forecasts)}

    def _by_series(self) -> Ensemble:
        """Weigh all by the errors of each series."""
        rows = self.rows
        at = Windows(self._canvas, weighing.series_origins(rows.held_out))
        fits = [kind.of_rows for kind in self._kinds] + self._user_fits
        members = [fit(rows, self.settings, before_split=True) for fit in fits]
        if self._user_fits:
            at = at.take(self._few(at))
            self._check_seconds(members, at)
        forecasts = {member.name: self._points(member, at) for member in members}
        assert self.ridges is not None
        forecasts[RIDGES] = self._forecast(self.ridges, at)
        if self.settings.train_network:
            forecasts[NETWORK] = self._points(self.network, at, forecasts[RIDGES])
        n_windows = max(self.batches.training.origins.count, 1)
        of_windows = weighing.prior_of_windows(n_windows, rows.sizes.seq_len)
        prior = np.array([of_windows * (name in (RIDGES, NETWORK)) for name in forecasts])
        know_series = {member.name for member in members if not member.forecasts_new}
        weights = self._series_weights(forecasts, at, prior=prior, only_known=know_series)
        return self._of(members, weights)

    def _by_stretches(self) -> Ensemble:
        """Weigh the network beside ridges, and both beside challengers, who were weighed before."""
        trained = self.settings.train_network
        trust = self._judged(weighing.network_share, self.batches.validation) if trained else 0.0
        weights, left = {}, np.ones((1, 1))
        for member, share in reversed(self.rivals):
            weights[member.name] = left * share[:, None]
            left = left * (1 - share[:, None])
        weights |= {RIDGES: left * (1 - trust), NETWORK: left * trust}
        return self._of([member for member, _ in self.rivals], weights)

    def _judged(self, rule: Callable[..., float], held_out: WindowBatches | None) -> float:
        """Judge the network beside its ridges by a rule of `weighing`."""
        assert held_out is not None
        assert isinstance(self.module, Corrected)
        steps = self.rows.timeline.steps_of(held_out.draw())
        return rule(self.module, held_out, steps=steps, head=self.head)

    def _of(self, others: list[Member], weights: dict[str, Any]) -> Ensemble:
        """Put members before ridges and network."""
        members = [*others, *([] if self.ridges is None else [self.ridges]), self.network]
        n_series, n_targets = self.rows.timeline.n_series, self.rows.sizes.n_targets
        return Ensemble.of(members, weights, n_series=n_series, n_targets=n_targets)

    def _final_ridges(self) -> dict[str, Member]:
        if self.linear is None or self.linear.before is self.linear.final:
            return {}
        return {RIDGES: Ridges.of(self.linear.final, self.settings.device)}

    def _fitted_to_all(self, ensemble: Ensemble) -> Ensemble:
        """Leave out who does not count, and fit the others to the validation split, too."""
        refit, ridges = self.settings.early_stopping is not True, self._final_ridges()
        members: dict[str, Member] = {}
        for name, member in ensemble.members.items():
            if name in (RIDGES, NETWORK):
                members[name] = ridges.get(name, member)
            elif ensemble.weights_of(name).any():
                fit = self._refits.get(name) or self._refit(member)
                members[name] = fit() if refit else member
        places = [list(ensemble.members).index(name) for name in members]
        before = {name: ensemble.members[name] for name in members}
        changed = (name for name in members if members[name] is not before[name])
        held_out = {name: before[name] for name in changed if not before[name].fits_again}
        return Ensemble(members, ensemble.weights[..., places], held_out)

    @cached_property
    def _canvas(self) -> Canvas:
        timeline = self.rows.timeline
        begin = first_known(self.rows.missing, timeline.first_row)
        known = None if timeline.weight is None else timeline.weight > 0
        rows = Rows(timeline.values, timeline.series, timeline.steps, begin, known)
        source = self.batches.training.source
        numbers = np.arange(timeline.n_series)
        return Canvas(rows, numbers, timeline.clock, self.rows.sizes, self.settings.device, source)

    def _threads(self, largest_product: int) -> AbstractContextManager[object]:
        sizes, values = self.rows.sizes, self.rows.timeline.values
        return prediction_threads(largest_product, sizes.seq_len * sizes.pred_len * values.shape[1])

    def _forecast(
        self, member: Member, at: Windows, base: Float32Array | None = None
    ) -> Float32Array:
        with self._threads(member.largest_product):
            return member.forecast(at, base)

    def _points(
        self, member: Member, at: Windows, base: Float32Array | None = None
    ) -> Float32Array:
        """Forecast the one value by which members are compared, (n, pred_len, n_targets)."""
        forecast = self._forecast(member, at, base)
        return forecast if forecast.ndim == 3 else self.head.point(forecast)


def network_of(module: Informer | Corrected) -> Informer:
    """Return the network of a module, without what it corrects."""
    return module.network if isinstance(module, Corrected) else module


def module_of(ensemble: Ensemble) -> Informer | Corrected:
    """Return the network, with the ridges that it corrects if there are any, as a torch module."""
    ridges, network = (cast(Any, ensemble.members.get(name)) for name in (RIDGES, NETWORK))
    if ridges is None:
        return cast(Informer, network.network)
    return Corrected(ridges.path, network.network).train(network.network.training)
