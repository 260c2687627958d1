"""Fit the members of an ensemble, weigh them by validation rows, and fit them to all rows."""

from __future__ import annotations

from collections.abc import Callable, Collection
from dataclasses import replace
from functools import cached_property, partial
from typing import Any

import numpy as np

from skinformer.classes.fit import ClassFit
from skinformer.ensemble import weighing
from skinformer.ensemble.challengers import (
    Challenger,
    joint_weights,
    predict_points,
    weigh_challengers,
)
from skinformer.ensemble.classes import Classes, fit_class_base, weigh_classes
from skinformer.ensemble.classical import Classical
from skinformer.ensemble.ensemble import Ensemble
from skinformer.ensemble.fitting import FitBatches, FitRows
from skinformer.ensemble.member import NETWORK, RIDGES, Member
from skinformer.ensemble.network import Network, network_of
from skinformer.ensemble.own import OwnRidges
from skinformer.ensemble.ridges import Ridges
from skinformer.ensemble.settings import FitSettings
from skinformer.ensemble.tabular import Tabular
from skinformer.ensemble.trial import NetworkTrial
from skinformer.ensemble.user_forecaster import MOST_WEIGHED, UserForecaster
from skinformer.ensemble.windows import RowBuffer, Windows
from skinformer.model.corrected import Corrected
from skinformer.model.informer import Informer
from skinformer.ridge.linear_fit import LinearFits
from skinformer.threads import run_in_background
from skinformer.timeline.arrays import Float32Array, Float64Array, IntArray
from skinformer.timeline.scaling import Scaler
from skinformer.timeline.windows import Origins, spread_places

#: Members beside ridges and network: one more is a line here.
MEMBERS: tuple[type[Member], ...] = (Classical, OwnRidges, Tabular)
#: All that files hold.
ALL_KINDS = (*MEMBERS, Classes, Ridges, Network, UserForecaster)

#: What classical forecasters of short series count more, as a log, where they are judged by fits to
#: three quarters of the rows. Without, a weaker forecaster beside them (fracast) cost M1 yearly and
#: quarterly, tourism quarterly and CIF 1.7, .4, 1.0 and 1.3 %; with it .7, .2, .2 and .3 %.
_FITTED_TO_FEWER = 1.0


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
        base = None
        if linear is not None and isinstance(module, Corrected):
            self.ridges = Ridges(module.path)
            base = RIDGES
        groups = tuple(settings.head.groups)
        self.network = Network(network_of(module), base, groups)
        #: Members of a long table beside ridges and network.
        self.challengers: list[Challenger] = []
        #: What fits members to all rows, begun when their weights were known.
        self._refits: dict[str, Callable[[], Member]] = {}
        self.class_fit: ClassFit | None = None
        self.start = self._ensemble_of([], {NETWORK: 1.0})

    def fit_challengers(self) -> float:
        """Fit all that is weighed before the network is trained; return what is left to this.

        What a network can take off squared errors goes by the square of its share.
        """
        if not self.settings.classifies:
            self._weigh_challengers()
            self._begin_refits()
            left = joint_weights(self.challengers, network_share=1.0)[NETWORK]
            return float((left**2).mean())
        if self.rows.split is None or not self.settings.class_base:
            return 1.0
        self.class_fit = fit_class_base(self.rows, self.settings, before_split=True)
        # Half of the logits beside trees that forecast classes.
        return 0.25 if self.settings.regressor is not None else 1.0

    @cached_property
    def trial(self) -> NetworkTrial | None:
        """What ends a training that is not worth while; None where all of it is done."""
        validation = self.batches.validation
        # Several quantiles may be worth it where the point among them gains nothing.
        if validation is None or self.head.outputs or not self._is_long_table:
            return None
        assert isinstance(self.module, Corrected)
        return NetworkTrial(self.module, validation, self.rows, self.settings)

    def _weigh_challengers(self) -> None:
        """Weigh members beside the ridges of a long table, by periods of the split."""
        if self.ridges is None or not self._is_long_table:
            return
        sizes = self.rows.sizes
        n_most = max(20_000 // (sizes.pred_len * sizes.n_targets), 32)
        self.challengers = weigh_challengers(
            self.ridges,
            [kind.from_rows for kind in self._kinds],
            self._user_fits,
            Windows(self._buffer, self.rows.validation_origins.thinned(n_most)),
            self.rows,
            self.settings,
        )

    def _begin_refits(self) -> None:
        """Fit trees to all rows while the network is trained, if it is; not what a user gave."""
        is_built_in = isinstance(self.settings.regressor, str)
        if not (self._refits_members and self.settings.train_network and is_built_in):
            return
        for member, weight in self.challengers:
            if weight.any() and isinstance(member, Tabular):
                refit = partial(self._refit, member)
                self._refits[member.name] = run_in_background(refit)

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
    def _is_weighed(self) -> bool:
        """Whether there are rows to weigh by, and members that forecast the same thing."""
        return self.batches.validation is not None and self.head.allows_ridges

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

    def _refit(self, member: Member) -> Member:
        """Fit a member to all rows."""
        rows = self.rows
        settings = self.settings
        return member.from_rows(rows, settings, earlier=member, before_split=False)

    def _few(self, windows: Windows) -> IntArray:
        """Choose windows, at least one a series, where forecasters of the user's take part."""
        n_most = max(MOST_WEIGHED, self.rows.timeline.n_series)
        return spread_places(len(windows), n_most)

    def _check_seconds(self, members: list[Member], windows: Windows) -> None:
        """Raise if a member takes too long for windows and a forecast."""
        for member in members:
            member.check_seconds(windows)

    def _weigh_classes(self) -> Ensemble:
        windows = None
        logits = None
        if self.batches.validation is not None:
            n_most = max(40_000 // self.rows.sizes.pred_len, 32)
            origins = self.rows.validation_origins.thinned(n_most)
            windows = Windows(self._buffer, origins)
            logits = self._predict_points(self.network, windows)
        return weigh_classes(
            self.network,
            self.class_fit,
            windows,
            self.rows,
            self.settings,
            logits,
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
        judged = None
        if user_fits and len(fits) > 1:
            judged = self._weigh_by_last_rows(fits)
        if user_fits and judged is None:
            last_rows = self.rows.timeline.first_row[1:] - 1
            self._check_seconds(members, Windows(self._buffer, last_rows))
        weights = judged or weights
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
        self,
        fits: list[Callable[..., Member]],
        rows: FitRows,
        windows: Windows,
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
        windows = Windows(
            self._buffer, weighing.series_origins(self.rows.validation_origins)
        )
        members, windows = self._fit_before_split(self._fits, self.rows, windows)
        forecasts = {
            member.name: self._predict_points(member, windows) for member in members
        }
        forecasts[RIDGES] = self._predict_points(self.ridges, windows)
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
        validation = self.batches.validation
        if self.settings.train_network and validation is not None:
            assert isinstance(self.module, Corrected)
            steps = self.rows.timeline.steps_of(validation.draw())
            share = weighing.network_share(
                self.module, validation, steps=steps, head=self.head
            )
        weights = joint_weights(self.challengers, network_share=share)
        members = [challenger.member for challenger in self.challengers]
        return self._ensemble_of(members, weights)

    def _ensemble_of(self, others: list[Member], weights: dict[str, Any]) -> Ensemble:
        """Put members before ridges and network."""
        members = list(others)
        if self.ridges is not None:
            members.append(self.ridges)
        members.append(self.network)
        return self.rows.make_ensemble(members, weights)

    def _final_ridges(self) -> dict[str, Member]:
        if self.linear is None or self.linear.before is self.linear.final:
            return {}
        return {RIDGES: Ridges.of(self.linear.final, self.settings.device)}

    def _fit_to_all(self, ensemble: Ensemble) -> Ensemble:
        """Leave out members without weight, and fit the others to the validation split, too."""
        members: dict[str, Member] = {}
        before_split: dict[str, Member] = {}
        places = []
        for place, (name, member) in enumerate(ensemble.members.items()):
            has_weight = ensemble.weights[..., place].any()
            if not has_weight and name not in (RIDGES, NETWORK):
                continue
            members[name] = self._fitted_to_all(member)
            places.append(place)
            if members[name] is not member and not member.fits_again:
                before_split[name] = member
        return Ensemble(members, ensemble.weights[..., places], before_split)

    def _fitted_to_all(self, member: Member) -> Member:
        if member.name == RIDGES:
            return self._final_ridges().get(RIDGES, member)
        if member.name == NETWORK or not self._refits_members:
            return member
        if member.name in self._refits:
            return self._refits[member.name]()
        return self._refit(member)

    @cached_property
    def _buffer(self) -> RowBuffer:
        source = self.batches.training.source
        return self.rows.make_buffer(self.settings.device, source)

    def _predict_points(
        self,
        member: Member,
        windows: Windows,
        base: Float32Array | None = None,
    ) -> Float32Array:
        """Forecast the one value by which members are compared, (n, pred_len, n_targets)."""
        return predict_points(member, windows, self.head, base)
