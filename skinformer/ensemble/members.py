"""Fit the members of an ensemble, weigh them by validation rows, and fit them to all rows."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from functools import cached_property, partial
from typing import TypeAlias

import numpy as np

from skinformer.classes.fit import ClassFit
from skinformer.ensemble import weighing
from skinformer.ensemble.challengers import predict_points, weigh_challengers
from skinformer.ensemble.classes import Classes, fit_class_base, weigh_classes
from skinformer.ensemble.classical import Classical
from skinformer.ensemble.ensemble import Ensemble
from skinformer.ensemble.fitting import FitBatches, FitRows
from skinformer.ensemble.member import CLASSICAL, NETWORK, RIDGES, TREES, Member
from skinformer.ensemble.network import NetworkMember, network_of
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
from skinformer.ridge.linear_path import LinearPath
from skinformer.threads import run_in_background
from skinformer.timeline.arrays import Float32Array, Float64Array
from skinformer.timeline.scaling import Scaler
from skinformer.timeline.windows import Origins, spread_places
from skinformer.validation.forecasters import warn_of_unjudged

#: Members beside ridges and network, by the names that users choose: one more is a line here.
MEMBERS: dict[str, type[Member]] = {
    CLASSICAL: Classical,
    OwnRidges.name: OwnRidges,
    TREES: Tabular,
}
#: Names of the members that forecast numbers, and of those that forecast classes. The first is
#: there but for a network, classical forecasters or forecasters of the user's alone.
NAMES = (RIDGES, *MEMBERS, NETWORK)
CLASS_NAMES = (Classes.name, TREES, NETWORK)
#: All that files hold.
ALL_KINDS = (*MEMBERS.values(), Classes, Ridges, NetworkMember, UserForecaster)

_MemberFit: TypeAlias = Callable[..., Member]

#: What classical forecasters of short series count more, as a log, where they are judged by fits to
#: three quarters of the rows. Without, a weaker forecaster beside them (fracast) cost M1 yearly and
#: quarterly, tourism quarterly and CIF 1.7, .4, 1.0 and 1.3 %; with it .7, .2, .2 and .3 %.
_CLASSICAL_PRIOR = 1.0


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
        if isinstance(module, Corrected):
            self.ridges = Ridges(module.path)
            base = RIDGES
        self.network = NetworkMember(network_of(module), base, tuple(self.head.groups))
        #: Members of a long table beside ridges and network, and the weights of these and ridges.
        self.challengers: list[Member] = []
        self.weights: dict[str, Float64Array] = {RIDGES: np.ones((1, 1))}
        #: What fits members to all rows, begun when their weights were known.
        self._background_refits: dict[str, Callable[[], Member]] = {}
        self.class_fit: ClassFit | None = None
        self.start = self._ensemble_of([], {NETWORK: 1.0})

    def fit_challengers(self) -> float:
        """Fit all that is weighed before the network is trained; return what is left to this.

        What a network can take off squared errors goes by the square of its share.
        """
        members = self.settings.members
        if not self.settings.classifies:
            self._weigh_challengers()
            self._begin_refits()
            return float((self.weights[RIDGES] ** 2).mean())
        if self.rows.split is None or Classes.name not in members:
            return 1.0
        self.class_fit = fit_class_base(self.rows, self.settings, before_split=True)
        # Half of the logits beside trees that forecast classes.
        return 0.25 if TREES in members else 1.0

    @cached_property
    def trial(self) -> NetworkTrial | None:
        """What ends a training that is not worth while; None where all of it is done."""
        # Several quantiles may be worth it where the point among them gains nothing.
        if self.head.outputs or not self._is_long_table:
            return None
        validation = self.batches.validation
        assert isinstance(self.module, Corrected)
        assert validation is not None
        return NetworkTrial(self.module, validation, self.rows, self.settings)

    def _weigh_challengers(self) -> None:
        """Weigh members beside the ridges of a long table, by stretches of the split."""
        if self.ridges is None or not self._is_long_table:
            return
        sizes = self.rows.sizes
        n_most = max(20_000 // (sizes.pred_len * sizes.n_targets), 32)
        found = weigh_challengers(
            self.ridges,
            self._kinds,
            self._validation_windows(n_most),
            self.rows,
            self.settings,
        )
        if found is None:
            self._warn_of_unjudged(RIDGES)
            return
        self.challengers = found.challengers
        self.weights = found.weights

    def _begin_refits(self) -> None:
        """Fit built-in members to all rows while the network is trained, if it is."""
        settings = self.settings
        if not settings.refits_on_all or NETWORK not in settings.members:
            return
        for member in self.challengers:
            # What a user gave has another name.
            if member.name in settings.members and self.weights[member.name].any():
                self._background_refits[member.name] = run_in_background(
                    partial(member.refit_on_all, self.rows, settings)
                )

    def finish(self, scaler: Scaler) -> Ensemble:
        """Weigh all members by the first scheme that suits, and fit them to all rows.

        scaler: the final one.

        Classes: logs of probabilities. The network without a base: nothing to weigh. A long table:
        by stretches of the split, to the advantage of ridges, whose blend was chosen by it, too.
        Other ridges: series by series. Without a split a trained network, if there is one, has all
        weight; else users' forecasters and classical ones are weighed by the last rows if there
        are no ridges; else classical forecasters have all weight, or ridges without these.
        """
        for wait in self._background_refits.values():
            wait()  # threads of theirs beside threads of what follows would wait for each other
        self.rows = replace(self.rows, scaler=scaler)
        settings = self.settings
        if settings.classifies:
            return self._weigh_classes()
        if self.ridges is None and not settings.needs_no_split:
            return self.start
        if self._is_long_table:
            return self._refit_ensemble(self._weigh_by_stretches())
        if self.ridges is not None and self._is_weighed:
            return self._refit_ensemble(self._weigh_by_series(self.ridges))
        if NETWORK in settings.members:
            self._warn_of_unjudged(NETWORK)
            return self._refit_ensemble(self.start)
        self_judged = [
            kind.from_rows
            for kind in self._kinds.values()
            if kind.scored_by_rolling_origins
        ]
        if self.ridges is None and settings.forecasters:
            return self._weigh_by_last_rows(self_judged + self._user_fits)
        return self._trust_first(self._fit_all(self_judged, self.rows))

    @property
    def _is_weighed(self) -> bool:
        """Whether there are rows to weigh by, and members that forecast the same thing."""
        return self.batches.validation is not None and self.head.allows_ridges

    @property
    def _is_long_table(self) -> bool:
        """Whether ridges are weighed beside others by stretches of one long table."""
        has_classical = CLASSICAL in self.settings.members
        by_series = has_classical or self.rows.timeline.n_series > 1
        return self._is_weighed and self.ridges is not None and not by_series

    @property
    def _kinds(self) -> dict[str, type[Member]]:
        """Return the built-in members beside ridges and network that take part, by name."""
        members = self.settings.members
        return {name: kind for name, kind in MEMBERS.items() if name in members}

    @property
    def _user_fits(self) -> list[_MemberFit]:
        """Return what fits each forecaster of the user's."""
        return [
            partial(UserForecaster.from_source, each)
            for each in self.settings.forecasters
        ]

    def _weigh_classes(self) -> Ensemble:
        n_most = max(40_000 // self.rows.sizes.pred_len, 32)
        base, share, temperature = weigh_classes(
            self.network,
            self.class_fit,
            self._validation_windows(n_most),
            self.rows,
            self.settings,
        )
        others: list[Member] = [] if base is None else [base]
        ensemble = self._ensemble_of(others, {Classes.name: 1 - share, NETWORK: share})
        return replace(ensemble, temperature=temperature)

    def _validation_windows(self, n_most: int) -> Windows:
        """Choose windows of the validation split, spread over it."""
        return Windows(self._buffer, self.rows.validation_origins.thinned(n_most))

    def _fit_all(
        self,
        fits: Iterable[_MemberFit],
        rows: FitRows,
        *,
        before_split: bool = False,
    ) -> list[Member]:
        return [fit(rows, self.settings, before_split=before_split) for fit in fits]

    def _trust_first(self, members: list[Member]) -> Ensemble:
        """Trust the first of some members alone, or ridges where there are none."""
        name = members[0].name if members else RIDGES
        self._warn_of_unjudged(name)
        return self._ensemble_of(members[:1], {name: 1.0})

    def _warn_of_unjudged(self, trusted: str) -> None:
        """Warn of forecasters of the user's that no rows can judge, but for a trusted one."""
        names = [each.name for each in self.settings.forecasters]
        warn_of_unjudged([name for name in names if name != trusted])

    def _weigh_by_last_rows(self, fits: list[_MemberFit]) -> Ensemble:
        """Weigh classical and users' forecasters by the last rows of each series.

        One alone has all weight, and so has the first where no series is long enough.
        """
        members = self._fit_all(fits, self.rows)
        weights = self._last_row_weights(fits) if len(fits) > 1 else None
        if weights is None:
            last_rows = self.rows.timeline.first_row[1:] - 1
            for member in members:
                member.check_seconds(Windows(self._buffer, last_rows))
            return self._trust_first(members)
        members = [member for member in members if weights[member.name].any()]
        return self._ensemble_of(members, weights)

    def _last_row_weights(
        self, fits: list[_MemberFit]
    ) -> dict[str, Float64Array] | None:
        """Weigh members that are fitted without the last rows by these.

        They are a quarter of a series' rows, one to four forecasts long. None where no series holds
        three forecasts.
        """
        timeline = self.rows.timeline
        pred_len = self.rows.sizes.pred_len
        n_rows = np.diff(timeline.first_row)
        n_last = np.clip(n_rows // 4, pred_len, 4 * pred_len)
        end = timeline.first_row[1:]
        split = np.where(n_rows >= 3 * pred_len, end - n_last, end)
        last_origins = Origins(split, end - pred_len)
        if not last_origins.count:
            return None
        members, windows = self._fit_before_split(
            fits, replace(self.rows, split=split), last_origins
        )
        # One or few windows of a series say nothing of joint errors.
        return self._series_weights(
            members,
            windows,
            prior={CLASSICAL: _CLASSICAL_PRIOR},
            joint=False,
        )

    def _fit_before_split(
        self,
        fits: list[_MemberFit],
        rows: FitRows,
        origins: Origins,
    ) -> tuple[list[Member], Windows]:
        """Fit members, and choose the windows they are weighed by: few for a user's forecaster.

        At least one a series.
        """
        members = self._fit_all(fits, rows, before_split=True)
        windows = Windows(self._buffer, weighing.series_origins(origins))
        if self.settings.forecasters:
            n_most = max(MOST_WEIGHED, rows.timeline.n_series)
            windows = windows.take(spread_places(len(windows), n_most))
        for member in members:
            member.check_seconds(windows)
        return members, windows

    def _series_weights(
        self,
        members: list[Member],
        windows: Windows,
        *,
        prior: Mapping[str, float],
        joint: bool = True,
    ) -> dict[str, Float64Array]:
        """Weigh members by the errors of each series in windows, see `weigh_series`.

        members: one that corrects another comes after it.
        prior: log weights to begin with, by name; 0 for others.
        """
        forecasts: dict[str, Float32Array] = {}
        for member in members:
            base = forecasts.get(member.base or "")
            forecasts[member.name] = predict_points(member, windows, self.head, base)
        y, y_weight = weighing.truths_of(self.rows, windows.origins)
        weights = weighing.weigh_series(
            list(forecasts.values()),
            y,
            y_weight,
            windows.series,
            n_series=self.rows.timeline.n_series,
            prior=np.array([prior.get(name, 0.0) for name in forecasts]),
            joint=joint,
        )
        weights[-1] *= [member.forecasts_new for member in members]
        weights = weighing.without_negligible(
            weights / weights.sum(axis=-1, keepdims=True)
        )
        return {name: weights[:, None, :, i] for i, name in enumerate(forecasts)}

    def _weigh_by_series(self, ridges: Ridges) -> Ensemble:
        """Weigh all members by the errors of each series."""
        rows = self.rows
        of_kinds = [kind.from_rows for kind in self._kinds.values()]
        others, windows = self._fit_before_split(
            of_kinds + self._user_fits, rows, rows.validation_origins
        )
        members = [*others, ridges]
        if NETWORK in self.settings.members:
            members.append(self.network)
        of_windows = weighing.prior_of_windows(
            max(self.batches.training.origins.count, 1), rows.sizes.seq_len
        )
        prior = {RIDGES: of_windows, NETWORK: of_windows}
        weights = self._series_weights(members, windows, prior=prior)
        return self._ensemble_of(others, weights)

    def _weigh_by_stretches(self) -> Ensemble:
        """Weigh the network beside ridges; challengers have been weighed beside both."""
        share = 0.0
        validation = self.batches.validation
        if NETWORK in self.settings.members:
            assert isinstance(self.module, Corrected)
            assert validation is not None
            share = weighing.network_share(
                self.module,
                validation,
                steps=self.rows.timeline.steps_of(validation.draw()),
                head=self.head,
            )
        ensemble = self._ensemble_of(self.challengers, self.weights)
        return ensemble.with_network_share(share)

    def _ensemble_of(
        self, others: list[Member], weights: Mapping[str, Float64Array | float]
    ) -> Ensemble:
        """Put members before ridges and network, see `Ensemble.combine`."""
        ridges = [] if self.ridges is None else [self.ridges]
        return Ensemble.combine(
            [*others, *ridges, self.network],
            weights,
            n_series=self.rows.timeline.n_series,
            n_targets=self.rows.sizes.n_targets,
        )

    def _refit_ensemble(self, ensemble: Ensemble) -> Ensemble:
        """Leave out members without weight, and fit the others to the validation split, too."""
        members = {}
        before_split = {}
        weights = []
        for name, member in ensemble.members.items():
            weight = ensemble.weights_of(name)
            counts = weight.any() or name in (RIDGES, NETWORK)
            if not counts and not self._knows_end_alone(member):
                continue
            members[name] = self._refit_member(member)
            weights.append(weight)
            if members[name] is not member and not member.needs_refit:
                before_split[name] = member
        return Ensemble(members, np.stack(weights, axis=-1), before_split)

    def _knows_end_alone(self, member: Member) -> bool:
        """Return whether series end behind a step or a collapse, which classical ones know alone.

        They may err most in the collapse itself, and then have no weight.
        """
        if not isinstance(member, Classical):
            return False
        last_rows = self.rows.timeline.first_row[1:] - 1
        return member.after_steps(Windows(self._buffer, last_rows)) is not None

    def _refit_member(self, member: Member) -> Member:
        linear = self.linear
        if member is self.ridges and linear is not None:
            if linear.before is linear.final:
                return member
            path = LinearPath(linear.final).to(self.settings.device)
            return Ridges(path.eval())
        if member is self.network or not self.settings.refits_on_all:
            return member
        if member.name in self._background_refits:
            return self._background_refits[member.name]()
        return member.refit_on_all(self.rows, self.settings)

    @cached_property
    def _buffer(self) -> RowBuffer:
        timeline = self.rows.timeline
        return RowBuffer(
            self.rows.as_segments(),
            np.arange(timeline.n_series),
            timeline.clock,
            self.rows.sizes,
            self.settings.device,
            self.batches.training.source,
        )
