"""Fit the members of an ensemble, weigh them by validation rows, and fit them to all rows."""

from __future__ import annotations

from collections.abc import Callable, Collection
from dataclasses import replace
from functools import cached_property, partial
from typing import Any, cast

import numpy as np

from skinformer.classes.fit import ClassFit
from skinformer.ensemble import weighing
from skinformer.ensemble.batches import WindowBatches
from skinformer.ensemble.classes import (
    Classes,
    fit_class_base,
    held_out_origins,
    weigh_classes,
)
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
from skinformer.ensemble.windows import RowBuffer, Rows, Windows
from skinformer.model.corrected import Corrected
from skinformer.model.informer import Informer
from skinformer.ridge.linear_fit import LinearFits
from skinformer.selection import MOST_STRETCHES, cut_stretches
from skinformer.stopwatch import timed
from skinformer.threads import run_in_background
from skinformer.timeline.arrays import Float32Array, Float64Array, IntArray
from skinformer.timeline.scaling import Scaler
from skinformer.timeline.timeline import first_known
from skinformer.timeline.windows import Origins, spread_places
from skinformer.training.record import TrainingRecord
from skinformer.training.stopping import copy_state

#: Members beside ridges and network: one more is a line here.
MEMBERS: tuple[type[Member], ...] = (Classical, OwnRidges, Tabular)
#: All that files hold.
ALL_KINDS: tuple[type[Member], ...] = (
    *MEMBERS,
    Classes,
    Ridges,
    Network,
    UserForecaster,
)

#: What classical forecasters of short series count more, as a log, where they are judged by fits to
#: three quarters of the rows. Without, a weaker forecaster beside them (fracast) cost M1 yearly and
#: quarterly, tourism quarterly and CIF 1.7, .4, 1.0 and 1.3 %; with it .7, .2, .2 and .3 %.
_FITTED_TO_FEWER = 1.0
#: Standard errors by which a challenger has to gain on ridges where it sees no more than these do:
#: without, trees' errors on ETTh2 were 1.074 of those (docs/laboratory/drivers.md).
_MARGIN = 1.0
#: Windows of a network's trial, and how many times as many make one worth while.
TRIAL, WORTH_A_TRIAL = 1000, 10
#: Weight in the logits that a network is trained for beside trees that forecast classes.
_EXPECTED = 0.5


class EnsembleFit:
    """An ensemble while it is fitted; `start` is what forecasts during training.

    Members are fitted before the validation split, predict it, get weights by their errors, and
    those with a weight are fitted again to all rows.

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
        self.module = module
        self.linear = linear
        self.rows = rows
        self.batches = batches
        self.settings = settings
        self.head = settings.head
        self.ridges: Ridges | None = None
        self.network = Network(network_of(module), groups=tuple(settings.head.groups))
        if linear is not None and isinstance(module, Corrected):
            self.ridges = Ridges(module.path)
            self.network = replace(self.network, base=RIDGES)
        #: Members of a long table beside ridges and network, and the weight of each, (pred_len,),
        #: beside all before it.
        self.challengers: list[tuple[Member, Float64Array]] = []
        #: What fits members to all rows, begun when their weights were known.
        self._refits: dict[str, Callable[[], Member]] = {}
        self.class_fit: ClassFit | None = None
        self.start = self._ensemble_of([], {NETWORK: 1.0})

    # --- before and during the training of the network ---------------------------------------

    def fit_challengers(self) -> float:
        """Fit all that is weighed before the network is trained; return what is left to this.

        What a network can take off squared errors goes by the square of its share.
        """
        if not self.settings.classifies:
            self._weigh_challengers()
            self._begin_refits()
            left = [1 - weight for _, weight in self.challengers]
            return float((np.prod(left, axis=0) ** 2).mean()) if left else 1.0
        if self.rows.split is None or not self.settings.class_base:
            return 1.0
        self.class_fit = fit_class_base(self.rows, self.settings, before_split=True)
        return (1 - _EXPECTED) ** 2 if self.settings.regressor is not None else 1.0

    def trial_training(
        self, batches: FitBatches, train: Callable[..., TrainingRecord]
    ) -> TrainingRecord | None:
        """Train the network of a long table for a moment, and report if it is not worth more.

        batches: of the training that is planned; `train` takes batches and settings.

        If it is, all is as before. Few periods of the split say nothing of a trial: WTH, 720 steps
        ahead, has four, and was 1.1 % worse (docs/laboratory/performance.md).
        """
        training, held_out = batches
        n_planned = self.settings.trainer.max_iter * training.n_drawn
        if n_planned < WORTH_A_TRIAL * TRIAL or held_out is None:
            return None
        if not self._has_enough_periods(held_out, MOST_STRETCHES):
            return None
        weights_before = copy_state(self.module)
        shuffling_before = training.get_state()
        held_out = held_out.with_max_windows(TRIAL)
        record = train(
            training=training.with_max_windows(TRIAL),
            validation=held_out,
            settings=replace(self.settings.trainer, max_iter=1),
        )
        if self._gains_little(held_out) or record.stopped == "interrupted":
            return record
        self.module.load_state_dict(weights_before)
        training.set_state(shuffling_before)
        return None

    def should_stop(self, record: TrainingRecord) -> bool:
        """Return whether training ends after its first epoch, for as little as after a trial.

        A whole epoch tells more than a trial: half of the periods do.
        """
        held_out = self.batches.validation
        if record.n_iter != 1 or held_out is None:
            return False
        if not self._has_enough_periods(held_out, MOST_STRETCHES // 2):
            return False
        return self._gains_little(held_out.with_max_windows(TRIAL))

    def _has_enough_periods(self, held_out: WindowBatches, n_least: int) -> bool:
        """Return whether the split holds enough forecasts for little gain to mean none.

        Several quantiles may be worth their training where the point among them gains nothing.
        """
        if not self._is_long_table or self.head.outputs:
            return False
        steps = self.rows.timeline.steps_of(held_out.draw())
        periods = cut_stretches(steps, self.rows.sizes.pred_len, n_most=MOST_STRETCHES)
        return periods is None or bool(periods.max() + 1 >= n_least)

    def _gains_little(self, held_out: WindowBatches) -> bool:
        """Return whether the network likely takes less than half a percent off ridges' loss."""
        return bool(self._compare_network(weighing.network_gain, held_out) < 0.005)

    def _weigh_challengers(self) -> None:
        """Weigh members beside the ridges of a long table, by periods of the split."""
        fits = self._fits if self._is_long_table else []
        if not fits or self.ridges is None:
            return
        rows = self.rows
        pred_len = rows.sizes.pred_len
        n_most = 20_000 // (pred_len * rows.sizes.n_targets)
        windows = Windows(self._buffer, rows.held_out.thinned(max(n_most, 32)))
        periods = cut_stretches(windows.steps, pred_len, n_most=MOST_STRETCHES)
        if periods is None:
            return
        is_complete = bool(periods.max() + 1 == MOST_STRETCHES)
        margin = self._margin(is_complete=is_complete)
        if margin is None and not self._user_fits:
            return
        y_pred = self._predict(self.ridges, windows)
        for kind in self._kinds if margin is not None else []:
            with timed("trees"):
                y_pred = self._weigh_challenger(
                    kind.from_rows, y_pred, windows, periods, margin or 0.0
                )
        if self._user_fits:
            few = self._few(windows)
            windows, y_pred, periods = windows.take(few), y_pred[few], periods[few]
        for fit in self._user_fits:
            y_pred = self._weigh_challenger(fit, y_pred, windows, periods, _MARGIN)

    def _weigh_challenger(
        self,
        fit: Callable[..., Member],
        y_pred: Float32Array,
        windows: Windows,
        periods: IntArray,
        margin: float,
    ) -> Float32Array:
        """Fit a member, weigh it beside those before it, and return their joint forecast.

        y_pred: joint forecast of those before it.
        margin: standard errors by which it has to gain on them.
        """
        member = fit(self.rows, self.settings, before_split=True)
        self._check_seconds([member], windows)
        own = self._predict_points(member, windows)
        weight = weighing.weigh_steps(
            (y_pred, own), self.rows, windows.origins, periods, self.head, margin=margin
        )
        self.challengers.append((member, weight))
        return y_pred + weight[:, None].astype(np.float32) * (own - y_pred)

    def _margin(self, *, is_complete: bool) -> float | None:
        """Return by how many standard errors a member has to gain on ridges; None: it is not asked.

        is_complete: whether the split has all periods. Trees that see no more than ridges do need
        them: what few long forecasts say of a level holds for their season alone, and cost 26 % on
        ETTh1, 336 steps ahead (docs/laboratory/drivers.md).
        """
        assert self.ridges is not None
        # Weight of the last value among ridges: .38 to .75 on walks and prices, 0 to .13 on hours
        # of weather, streets and loads.
        is_random_walk = self.ridges.blend.get("last", 0.0) > 1 / 3
        has_known = self.rows.sizes.n_known > 0
        sees_more = has_known or not isinstance(self.settings.regressor, str)
        if not sees_more and (is_random_walk or not is_complete):
            return None
        return 0.0 if has_known and not is_random_walk else _MARGIN

    def _begin_refits(self) -> None:
        """Fit trees to all rows while the network is trained, if it is; not what a user gave."""
        is_built_in = isinstance(self.settings.regressor, str)
        if not (self._refits_members and self.settings.train_network and is_built_in):
            return
        for member, weight in self.challengers:
            if weight.any() and isinstance(member, Tabular):
                self._refits[member.name] = run_in_background(self._refit(member))

    # --- after the training of the network ----------------------------------------------------

    def finish(self, scaler: Scaler) -> Ensemble:
        """Weigh all members by the validation split, and fit them to it, too.

        scaler: the final one.

        A panel and short tables are weighed series by series, a long table by periods of the
        split. Ridges have an advantage: it is one of four by which their blend was chosen.
        """
        for refit in self._refits.values():
            refit()  # threads of theirs beside threads of what follows would wait for each other
        self.rows = replace(self.rows, scaler=scaler)
        if self.settings.classifies:
            return self._weigh_classes()
        if self.ridges is None and not self.settings.needs_no_split:
            return self.start
        if self.ridges is None or not self._is_weighed:
            return self._choose_unweighed()
        ensemble = (
            self._weigh_by_period() if self._is_long_table else self._weigh_by_series()
        )
        return self._fit_to_all(ensemble)

    @property
    def _has_split(self) -> bool:
        return self.rows.split is not None and self.batches.validation is not None

    @property
    def _is_weighed(self) -> bool:
        """Whether there are rows to weigh by, and members that forecast the same thing."""
        return self._has_split and self.head.allows_ridges

    @property
    def _is_long_table(self) -> bool:
        """Whether ridges are weighed beside others by periods of one long table."""
        by_series = self.settings.classical or self.rows.timeline.n_series > 1
        return self._is_weighed and self.ridges is not None and not by_series

    @property
    def _refits_members(self) -> bool:
        return self.settings.early_stopping is not True

    @property
    def _kinds(self) -> list[type[Member]]:
        return [kind for kind in MEMBERS if kind.takes_part(self.settings)]

    @property
    def _user_fits(self) -> list[Callable[..., Member]]:
        """Return what fits each forecaster of the user's."""
        return [
            partial(UserForecaster.from_source, each)
            for each in self.settings.forecasters
        ]

    @property
    def _fits(self) -> list[Callable[..., Member]]:
        """Return what fits each member beside ridges and network."""
        return [kind.from_rows for kind in self._kinds] + self._user_fits

    def _refit(self, member: Member) -> Callable[[], Member]:
        return partial(
            member.from_rows,
            self.rows,
            self.settings,
            earlier=member,
            before_split=False,
        )

    def _few(self, windows: Windows) -> IntArray:
        """Choose 256 windows, or one a series, where forecasters of the user's take part."""
        return spread_places(len(windows), max(256, self.rows.timeline.n_series))

    def _check_seconds(self, members: list[Member], windows: Windows) -> None:
        """Raise if a forecaster of the user's takes too long for windows and a forecast."""
        n_asked = (
            len(windows) + self.rows.timeline.n_series
        ) * self.rows.sizes.n_targets
        for member in members:
            if isinstance(member, UserForecaster):
                member.check_seconds(windows, n_asked)

    def _weigh_classes(self) -> Ensemble:
        windows = None
        logits = None
        if self._has_split:
            windows = Windows(self._buffer, held_out_origins(self.rows))
            logits = self._predict(self.network, windows)
        return weigh_classes(
            self.network, self.class_fit, windows, self.rows, self.settings, logits
        )

    def _choose_unweighed(self) -> Ensemble:
        """Choose without validation: a trained network, else what is judged by its own rows."""
        if self.settings.train_network:
            return self._fit_to_all(self.start)
        fits = [
            kind.from_rows for kind in self._kinds if kind.scored_by_rolling_origins
        ]
        user_fits = self._user_fits if self.ridges is None else []
        fits += user_fits
        members = [fit(self.rows, self.settings, before_split=False) for fit in fits]
        weights: dict[str, Any] = {members[0].name if members else RIDGES: 1.0}
        if user_fits:
            self._check_seconds(
                members, Windows(self._buffer, self.rows.timeline.first_row[1:] - 1)
            )
        if user_fits and len(fits) > 1:
            weights = self._weigh_by_last_rows(fits) or weights
        members = [each for each in members if np.any(weights.get(each.name, 0.0))]
        ensemble = self._ensemble_of(members, weights)
        return replace(ensemble, members=ensemble.members | self._final_ridges())

    def _weigh_by_last_rows(
        self, fits: list[Callable[..., Member]]
    ) -> dict[str, Any] | None:
        """Weigh members by the last rows of each series, to which they were not fitted.

        These are a quarter of its rows, one to four forecasts long. None where no series holds
        three forecasts.
        """
        timeline = self.rows.timeline
        pred_len = self.rows.sizes.pred_len
        n_rows = np.diff(timeline.first_row)
        n_held_out = np.clip(n_rows // 4, pred_len, 4 * pred_len)
        end = timeline.first_row[1:]
        split = np.where(n_rows >= 3 * pred_len, end - n_held_out, end)
        held_out = Origins(split, end - pred_len)
        if not held_out.count:
            return None
        windows = Windows(self._buffer, weighing.series_origins(held_out))
        members, windows = self._fit_before_split(
            fits, replace(self.rows, split=split), windows
        )
        forecasts = {
            member.name: self._predict_points(member, windows) for member in members
        }
        fitted_to_fewer = [isinstance(member, Classical) for member in members]
        prior = np.where(fitted_to_fewer, _FITTED_TO_FEWER, 0.0)
        # One or few windows of a series say nothing of joint errors.
        return self._series_weights(forecasts, windows, prior=prior, joint=False)

    def _fit_before_split(
        self, fits: list[Callable[..., Member]], rows: FitRows, windows: Windows
    ) -> tuple[list[Member], Windows]:
        """Fit members, and choose the windows they are weighed by: few for a user's forecaster."""
        members = [fit(rows, self.settings, before_split=True) for fit in fits]
        if self._user_fits:
            windows = windows.take(self._few(windows))
            self._check_seconds(members, windows)
        return members, windows

    def _series_weights(
        self,
        forecasts: dict[str, Float32Array],
        windows: Windows,
        *,
        prior: Float64Array | None = None,
        joint: bool = True,
        only_known: Collection[str] = (),
    ) -> dict[str, Any]:
        """Weigh forecasts of windows by the errors of each series, see `weigh_series`.

        only_known: names of those that do not forecast series that the fit did not hold.
        """
        y, y_weight = weighing.truths_of(self.rows, windows.origins)
        weights = weighing.weigh_series(
            list(forecasts.values()),
            y,
            y_weight,
            windows.series,
            n_series=self.rows.timeline.n_series,
            prior=prior,
            joint=joint,
        )
        weights[-1] *= [name not in only_known for name in forecasts]
        weights = weighing.without_negligible(
            weights / weights.sum(axis=-1, keepdims=True)
        )
        return {name: weights[:, None, :, i] for i, name in enumerate(forecasts)}

    def _weigh_by_series(self) -> Ensemble:
        """Weigh all members by the errors of each series."""
        assert self.ridges is not None
        windows = Windows(self._buffer, weighing.series_origins(self.rows.held_out))
        members, windows = self._fit_before_split(self._fits, self.rows, windows)
        forecasts = {
            member.name: self._predict_points(member, windows) for member in members
        }
        forecasts[RIDGES] = self._predict(self.ridges, windows)
        if self.settings.train_network:
            forecasts[NETWORK] = self._predict_points(
                self.network, windows, forecasts[RIDGES]
            )
        n_windows = max(self.batches.training.origins.count, 1)
        of_windows = weighing.prior_of_windows(n_windows, self.rows.sizes.seq_len)
        prior = np.array(
            [of_windows * (name in (RIDGES, NETWORK)) for name in forecasts]
        )
        only_known = {member.name for member in members if not member.forecasts_new}
        weights = self._series_weights(
            forecasts, windows, prior=prior, only_known=only_known
        )
        return self._ensemble_of(members, weights)

    def _weigh_by_period(self) -> Ensemble:
        """Weigh the network beside ridges; challengers have been weighed beside both."""
        share = 0.0
        if self.settings.train_network and self.batches.validation is not None:
            share = self._compare_network(
                weighing.network_share, self.batches.validation
            )
        weights: dict[str, Any] = {}
        left = np.ones((1, 1))
        for member, weight in reversed(self.challengers):
            weights[member.name] = left * weight[:, None]
            left = left * (1 - weight[:, None])
        weights[RIDGES] = left * (1 - share)
        weights[NETWORK] = left * share
        return self._ensemble_of([member for member, _ in self.challengers], weights)

    def _compare_network(
        self, rule: Callable[..., float], held_out: WindowBatches
    ) -> float:
        """Compare the network with its ridges by a rule of `weighing`."""
        assert isinstance(self.module, Corrected)
        steps = self.rows.timeline.steps_of(held_out.draw())
        return rule(self.module, held_out, steps=steps, head=self.head)

    def _ensemble_of(self, others: list[Member], weights: dict[str, Any]) -> Ensemble:
        """Put members before ridges and network."""
        members = [
            *others,
            *([] if self.ridges is None else [self.ridges]),
            self.network,
        ]
        n_series = self.rows.timeline.n_series
        n_targets = self.rows.sizes.n_targets
        return Ensemble.of(members, weights, n_series=n_series, n_targets=n_targets)

    def _final_ridges(self) -> dict[str, Member]:
        if self.linear is None or self.linear.before is self.linear.final:
            return {}
        return {RIDGES: Ridges.of(self.linear.final, self.settings.device)}

    def _fit_to_all(self, ensemble: Ensemble) -> Ensemble:
        """Leave out members without weight, and fit the others to the validation split, too."""
        ridges = self._final_ridges()
        members: dict[str, Member] = {}
        held_out: dict[str, Member] = {}
        for name, member in ensemble.members.items():
            if name in (RIDGES, NETWORK):
                members[name] = ridges.get(name, member)
            elif not ensemble.weights_of(name).any():
                continue
            elif self._refits_members:
                refit = self._refits.get(name) or self._refit(member)
                members[name] = refit()
            else:
                members[name] = member
            if members[name] is not member and not member.fits_again:
                held_out[name] = member
        places = [list(ensemble.members).index(name) for name in members]
        return Ensemble(members, ensemble.weights[..., places], held_out)

    @cached_property
    def _buffer(self) -> RowBuffer:
        timeline = self.rows.timeline
        rows = Rows(
            timeline.values,
            timeline.series,
            timeline.steps,
            first_known(self.rows.missing, timeline.first_row),
            None if timeline.weight is None else timeline.weight > 0,
        )
        return RowBuffer(
            rows,
            np.arange(timeline.n_series),
            timeline.clock,
            self.rows.sizes,
            self.settings.device,
            self.batches.training.source,
        )

    def _predict(
        self, member: Member, windows: Windows, base: Float32Array | None = None
    ) -> Float32Array:
        sizes = self.rows.sizes
        n_linear = sizes.seq_len * sizes.pred_len * self.rows.timeline.values.shape[1]
        with prediction_threads(member.largest_product, n_linear):
            return member.forecast(windows, base)

    def _predict_points(
        self, member: Member, windows: Windows, base: Float32Array | None = None
    ) -> Float32Array:
        """Forecast the one value by which members are compared, (n, pred_len, n_targets)."""
        y_pred = self._predict(member, windows, base)
        return y_pred if y_pred.ndim == 3 else self.head.point(y_pred)


def network_of(module: Informer | Corrected) -> Informer:
    """Return the network of a module, without what it corrects."""
    return module.network if isinstance(module, Corrected) else module


def module_of(ensemble: Ensemble) -> Informer | Corrected:
    """Return the network, with the ridges that it corrects if there are any, as a torch module."""
    ridges, network = (
        cast(Any, ensemble.members.get(name)) for name in (RIDGES, NETWORK)
    )
    if ridges is None:
        return cast(Informer, network.network)
    return Corrected(ridges.path, network.network).train(network.network.training)
