"""Fit the members of an ensemble before a cut-off, weigh them behind it, fit them to all rows."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import cached_property, partial
from math import ceil
from typing import TypeAlias

import numpy as np

from skinformer.budget import Budget, current_budget
from skinformer.classes.fit import ClassFit
from skinformer.ensemble.classes import Classes, fit_class_base
from skinformer.ensemble.classical import Classical
from skinformer.ensemble.ensemble import Ensemble
from skinformer.ensemble.fitting import FitBatches, FitRows
from skinformer.ensemble.member import Member
from skinformer.ensemble.members import MEMBERS
from skinformer.ensemble.names import CLASSICAL, NETWORK, RIDGES, TREES
from skinformer.ensemble.network import NetworkMember, network_of
from skinformer.ensemble.ridges import Ridges
from skinformer.ensemble.settings import FitSettings
from skinformer.ensemble.user_forecaster import MOST_WEIGHED, UserForecaster
from skinformer.ensemble.windows import RowBuffer, Windows
from skinformer.judging import weights as weighing
from skinformer.judging.classes import weigh_classes
from skinformer.judging.costs import REFITS, words_of_cuts
from skinformer.judging.cutoffs import cut_last_rows, series_origins
from skinformer.judging.leaderboard import NOTHING_COMPARES, Standings
from skinformer.judging.plan import (
    NO_TWO_FORECASTS,
    Plan,
    Scheme,
    choose_scheme,
    doubt_of,
    part_of_trees,
    plan_trees,
)
from skinformer.judging.proof import Proof
from skinformer.judging.trial import NetworkTrial
from skinformer.model.corrected import Corrected
from skinformer.model.informer import Informer
from skinformer.ridge.linear_fit import LinearFits
from skinformer.ridge.linear_path import LinearPath
from skinformer.stopwatch import timed
from skinformer.threads import has_background, run_in_background
from skinformer.timeline.arrays import Float64Array
from skinformer.timeline.scaling import Scaler
from skinformer.timeline.windows import Origins, spread_places
from skinformer.validation.forecasters import warn_of_unjudged

#: What fits a member to rows, as `Member.from_rows` does.
MemberFit: TypeAlias = Callable[[FitRows, FitSettings], Member]

#: What classical forecasters of short series count more, as a log, where they are judged by fits to
#: three quarters of the rows. Without, a weaker forecaster beside them (fracast) cost M1 yearly and
#: quarterly, tourism quarterly and CIF 1.7, .4, 1.0 and 1.3 %; with it .7, .2, .2 and .3 %.
_CLASSICAL_PRIOR = 1.0
#: The power of the effort by which cut-offs are fewer: of few, luck makes weights.
_CUT_OFFS = 0.5


class EnsembleFit:
    """An ensemble while it is fitted; `start` is what forecasts during training.

    Members are fitted before the validation split, predict it, get weights by their errors, and
    those with a weight are fitted again to all rows.

    module: the network, with the ridges that it corrects if there are any; in evaluation mode.
    linear: ridges for training, fitted before the validation split, and final ones.
    rows: with `batches`, all that there is to learn from.
    plan: who takes part.
    """

    def __init__(
        self,
        module: Informer | Corrected,
        linear: LinearFits | None,
        rows: FitRows,
        batches: FitBatches,
        plan: Plan,
    ) -> None:
        self.module = module
        self.linear = linear
        self.rows = rows
        self.batches = batches
        self.plan = plan
        self.head = plan.settings.head
        self.ridges: Ridges | None = None
        base = None
        if isinstance(module, Corrected):
            self.ridges = Ridges(module.path)
            base = RIDGES
        self.network = NetworkMember(network_of(module), base, tuple(self.head.groups))
        self.scheme = choose_scheme(
            self.settings,
            n_series=rows.timeline.n_series,
            has_split=batches.validation is not None,
        )
        #: What all members forecast at the cut-offs that weigh them; None where nothing does.
        self.proof: Proof | None = None
        #: What the ridges of a long table and the members beside them count without the network.
        self.weights: dict[str, Float64Array] = {RIDGES: np.ones((1, 1))}
        #: What fits members to all rows, begun when their weights were known.
        self._background_refits: dict[str, Callable[[], Member]] = {}
        self.class_fit: ClassFit | None = None
        self.budget: Budget = current_budget()
        self.start = self._ensemble_of([], {NETWORK: 1.0})

    @property
    def settings(self) -> FitSettings:
        """What the fit is told, with the members that take part."""
        return self.plan.settings

    def may_begin(self, name: str) -> bool:
        """Return whether a member takes part, and still fits into the seconds that are left."""
        if name in self.settings.members and not self.budget.takes(name):
            self.plan = self.plan.without(self.budget.left_out[name], name)
        return name in self.settings.members

    def fit_challengers(self) -> float:
        """Fit all that is weighed before the network is trained; return what is left to this.

        What a network can take off squared errors goes by the square of its share.
        """
        members = self.settings.members
        if not self.settings.classifies:
            if self.scheme is Scheme.BY_STEP:
                self._weigh_challengers()
                self._begin_refits()
            return float((self.weights[RIDGES] ** 2).mean())
        if self.rows.split is None or Classes.name not in members:
            return 1.0
        with self.budget.part(Classes.name):
            self.class_fit = fit_class_base(self.rows.before_cutoff(), self.settings)
        # Half of the logits beside trees that forecast classes.
        return 0.25 if TREES in members else 1.0

    @cached_property
    def trial(self) -> NetworkTrial | None:
        """What ends a training that is not worth while; None where all of it is done."""
        is_weighed = self.scheme in (Scheme.BY_STEP, Scheme.BY_SERIES)
        is_table = self.rows.timeline.n_series == 1
        # Several quantiles may be worth it where the point among them gains nothing.
        if self.head.outputs or not (is_weighed and is_table):
            return None
        validation = self.batches.validation
        assert isinstance(self.module, Corrected)
        assert validation is not None
        return NetworkTrial(self.module, validation, self.rows, self.settings)

    def _weigh_challengers(self) -> None:
        """Weigh members beside the ridges of a long table, by stretches of the split."""
        assert self.ridges is not None
        sizes = self.rows.sizes
        proof = self._begin_proof(self._windows_of_table())
        proof.add(self.ridges)
        stretches = proof.stretches
        if stretches is None:
            self.plan = self.plan.without(NO_TWO_FORECASTS, *self._kinds)
            self._warn_of_unjudged(RIDGES)
            return
        last_value = self.ridges.blend.get("last", 0.0)
        self.plan = plan_trees(
            self.plan,
            has_known=sizes.n_known > 0,
            n_forecasts=proof.n_forecasts,
            last_value=last_value,
        )
        self._prove(proof, self._fits, self.rows.before_cutoff())
        challengers = proof.others
        if challengers:
            doubts = [
                doubt_of(
                    each, sizes, last_value=last_value, n_forecasts=proof.n_forecasts
                )
                for each in challengers
            ]
            weights = weighing.weigh_steps(proof, stretches, doubts)
            self.weights = proof.by_name(weights)

    def _windows_of_table(self) -> Windows:
        """Choose windows to weigh by for a table, few where the user's forecasters take part."""
        sizes = self.rows.sizes
        n_most = max(20_000 // (sizes.pred_len * sizes.n_targets), 32)
        if self.settings.forecasters:
            n_most = min(n_most, MOST_WEIGHED)
        return self._validation_windows(ceil(self.budget.effort**_CUT_OFFS * n_most))

    def _begin_refits(self) -> None:
        """Fit built-in members to all rows while the network is trained, if both can be."""
        settings = self.settings
        if not settings.refits_on_all or NETWORK not in settings.members:
            return
        if not has_background():
            return  # they are fitted behind it, in seconds that are kept for them
        assert self.proof is not None
        for member in self.proof.others:
            # What a user gave has another name.
            counts = member.name in settings.members and self.weights[member.name].any()
            if counts and self.budget.affords_again(member.part):
                self._background_refits[member.name] = run_in_background(
                    partial(self._refit_again, member)
                )
        self.budget.done(REFITS)

    def finish(self, scaler: Scaler) -> tuple[Ensemble, Standings]:
        """Weigh all members as the scheme says, and fit those with a weight to all rows.

        scaler: the final one.
        """
        for wait in self._background_refits.values():
            wait()  # threads of theirs beside threads of what follows would wait for each other
        self.rows = replace(self.rows, scaler=scaler)
        ensemble = self._weigh_and_refit()
        self.budget.done(REFITS)
        reasons = self.plan.reasons
        if self.scheme is Scheme.ONE_ALONE:
            reasons = dict.fromkeys(self.settings.members, NOTHING_COMPARES) | reasons
        # The network is there, untrained, where the user did not name it.
        if NETWORK in ensemble.members and NETWORK not in self.settings.members:
            reasons = {NETWORK: "it is not in members"} | reasons
        standings = Standings.of(
            reasons, self.proof, ensemble, words_of_cuts(self.budget)
        )
        return ensemble, standings

    def _weigh_and_refit(self) -> Ensemble:
        """Put the members together that count, fitted to all rows."""
        match self.scheme:
            case Scheme.CLASSES:
                return self._weigh_classes()
            case Scheme.BY_STEP:
                return self._refit_ensemble(self._weigh_by_steps())
            case Scheme.BY_SERIES:
                return self._refit_ensemble(self._weigh_by_series())
            case Scheme.BY_LAST_ROWS:
                return self._weigh_by_last_rows()
            case Scheme.ONE_ALONE:
                return self._trust_one()

    @property
    def _kinds(self) -> dict[str, type[Member]]:
        """Return the built-in members beside ridges and network that take part, by name."""
        members = self.settings.members
        return {name: kind for name, kind in MEMBERS.items() if name in members}

    @property
    def _user_fits(self) -> dict[str, MemberFit]:
        """Return what fits each forecaster of the user's, by name."""
        return {
            each.name: partial(UserForecaster.from_source, each)
            for each in self.settings.forecasters
        }

    @property
    def _fits(self) -> dict[str, MemberFit]:
        """Return what fits each member beside ridges and network, the user's last, by name."""
        kinds = self._kinds
        return {name: kinds[name].from_rows for name in kinds} | self._user_fits

    def _weigh_classes(self) -> Ensemble:
        n_most = max(40_000 // self.rows.sizes.pred_len, 32)
        windows = self._validation_windows(n_most)
        base, share, temperature = weigh_classes(
            self.network, self.class_fit, windows, self.rows, self.settings
        )
        reasons = {}
        if len(windows) and share == 0.0 and NETWORK in self.settings.members:
            reasons[NETWORK] = (
                "it does not lower the log loss in all periods of the validation rows"
            )
        if base is not None and share == 1.0:
            reasons[Classes.name] = (
                "the log loss on the validation rows is lowest by the network alone"
            )
        self.plan = replace(self.plan, reasons=self.plan.reasons | reasons)
        others: list[Member] = [] if base is None else [base]
        ensemble = self._ensemble_of(others, {Classes.name: 1 - share, NETWORK: share})
        return replace(ensemble, temperature=temperature)

    def _validation_windows(self, n_most: int) -> Windows:
        """Choose windows of the validation split, spread over it."""
        return Windows(self._buffer, self.rows.validation_origins.thinned(n_most))

    def _begin_proof(self, windows: Windows) -> Proof:
        """Begin the proof by which members are weighed, at cut-offs."""
        self.proof = Proof.at(windows, self.rows, self.head)
        return self.proof

    def _trust_one(self) -> Ensemble:
        """Trust one member alone: a trained network, classical forecasters, else ridges."""
        settings = self.settings
        if NETWORK in settings.members:
            self._warn_of_unjudged(NETWORK)
            self._prove_network()
            return self._refit_ensemble(self.start)
        # Of all others these alone are judged by the rows that they are fitted to.
        if CLASSICAL in settings.members:
            with self.budget.part(CLASSICAL):
                return self._trust_first([Classical.from_rows(self.rows, settings)])
        return self._trust_first([])

    def _prove_network(self) -> None:
        """Let a trusted network, and the ridges that it corrects, forecast the split for ranges."""
        if self.ridges is None or self.batches.validation is None:
            return
        n_most = 256
        proof = self._begin_proof(self._validation_windows(n_most))
        proof.add(self.ridges)
        proof.add(self.network)

    def _trust_first(self, members: list[Member]) -> Ensemble:
        """Trust the first of some members alone, or ridges where there are none."""
        name = members[0].name if members else RIDGES
        self._warn_of_unjudged(name)
        return self._ensemble_of(members[:1], {name: 1.0})

    def _warn_of_unjudged(self, trusted: str) -> None:
        """Warn of forecasters of the user's that no rows can judge, but for a trusted one."""
        names = [each.name for each in self.settings.forecasters]
        warn_of_unjudged([name for name in names if name != trusted])

    def _weigh_by_last_rows(self) -> Ensemble:
        """Weigh classical and users' forecasters by the last rows of each series.

        One alone has all weight, and so has the first where no series is long enough.
        """
        fits = self._user_fits
        if CLASSICAL in self.settings.members:
            fits = {CLASSICAL: Classical.from_rows} | fits
        members = []
        for name, fit in fits.items():
            with self.budget.part(name):
                members.append(fit(self.rows, self.settings))
        weights = self._last_row_weights(fits) if len(fits) > 1 else None
        if weights is None:
            last_rows = self.rows.timeline.first_row[1:] - 1
            for member in members:
                member.check_seconds(Windows(self._buffer, last_rows))
            return self._trust_first(members)
        members = [member for member in members if weights[member.name].any()]
        return self._ensemble_of(members, weights)

    def _last_row_weights(
        self, fits: Mapping[str, MemberFit]
    ) -> dict[str, Float64Array] | None:
        """Weigh members, fitted without the last rows, by these; None where they are too few."""
        split, origins = cut_last_rows(self.rows.timeline, self.rows.sizes.pred_len)
        if not origins.count:
            return None
        proof = self._begin_proof(self._windows_of_series(origins))
        self._prove(proof, fits, replace(self.rows, split=split).before_cutoff())
        # One or few windows of a series say nothing of joint errors.
        return self._series_weights(
            proof, prior={CLASSICAL: _CLASSICAL_PRIOR}, joint=False
        )

    def _windows_of_series(self, origins: Origins) -> Windows:
        """Choose windows to weigh by for each series, few where the user's forecasters take part.

        There is at least one for each series.
        """
        windows = Windows(self._buffer, series_origins(origins))
        n_most = MOST_WEIGHED if self.settings.forecasters else len(windows)
        n_most = ceil(self.budget.effort**_CUT_OFFS * n_most)
        n_most = max(n_most, self.rows.timeline.n_series)
        return windows.take(spread_places(len(windows), n_most))

    def _prove(
        self, proof: Proof, fits: Mapping[str, MemberFit], before: FitRows
    ) -> None:
        """Fit members to the rows before the cut-offs, and let them forecast these."""
        for name, fit in fits.items():
            if name in self._kinds and not self.may_begin(name):
                continue
            with self.budget.part(name):
                member = fit(before, self.settings)
                with timed(member.name):
                    member.check_seconds(proof.windows)
                    proof.add(member)

    def _series_weights(
        self,
        proof: Proof,
        *,
        prior: Mapping[str, float],
        parts: Mapping[str, float] | None = None,
        joint: bool = True,
    ) -> dict[str, Float64Array]:
        """Weigh members by the errors of each series in what they proved, see `weigh_series`."""
        weights = weighing.weigh_series(
            proof,
            n_series=self.rows.timeline.n_series,
            prior=prior,
            parts=parts,
            joint=joint,
        )
        weights[-1] *= [member.forecasts_new for member in proof.members.values()]
        weights = weights / weights.sum(axis=-1, keepdims=True)
        return proof.by_name(weighing.without_negligible(weights))

    def _weigh_by_series(self) -> Ensemble:
        """Weigh all members by the errors of each series."""
        rows = self.rows
        assert self.ridges is not None
        proof = self._begin_proof(self._windows_of_series(rows.validation_origins))
        n_forecasts = proof.n_forecasts * rows.timeline.n_series
        has_known = rows.sizes.n_known > 0
        self.plan = plan_trees(self.plan, has_known=has_known, n_forecasts=n_forecasts)
        self._prove(proof, self._fits, rows.before_cutoff())
        proof.add(self.ridges)
        if NETWORK in self.settings.members:
            proof.add(self.network)
        of_windows = weighing.prior_of_windows(
            max(self.batches.training.origins.count, 1), rows.sizes.seq_len
        )
        prior = {RIDGES: of_windows, NETWORK: of_windows}
        parts = {
            member.name: part_of_trees(member, rows.sizes, n_forecasts=n_forecasts)
            for member in proof.others
            if member.part == TREES
        }
        weights = self._series_weights(proof, prior=prior, parts=parts)
        return self._ensemble_of(proof.others, weights)

    def _weigh_by_steps(self) -> Ensemble:
        """Weigh the network beside ridges; challengers have been weighed beside both."""
        assert self.proof is not None
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
            self.proof.add(self.network)
        ensemble = self._ensemble_of(self.proof.others, self.weights)
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
        self.budget.done(REFITS)
        members = {}
        weights = []
        for name, member in ensemble.members.items():
            weight = ensemble.weights_of(name)
            counts = weight.any() or name in (RIDGES, NETWORK)
            if not counts and not self._knows_end_alone(member):
                continue
            members[name] = self._refit_member(member)
            weights.append(weight)
        return Ensemble(members, np.stack(weights, axis=-1))

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
        if not self.budget.affords_again(member.part):
            return member
        return self._refit_again(member)

    def _refit_again(self, member: Member) -> Member:
        """Fit a member to all rows, as far as it was fitted before."""
        with self.budget.again(member.part):
            return member.refitted(self.rows, self.settings)

    @cached_property
    def _buffer(self) -> RowBuffer:
        source = self.batches.training.source
        return self.rows.as_buffer(self.settings.device, source)
