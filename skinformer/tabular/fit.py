"""Fit regressors to pairs of an origin and a step ahead, and forecast windows by them."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from skinformer.budget import current_share
from skinformer.tabular.anchored import Anchored, Sight, find_zeros
from skinformer.tabular.features import (
    LEVEL,
    Columns,
    FeatureMaker,
    Pairs,
    find_seasons,
)
from skinformer.tabular.regressors import default_regressors, ready
from skinformer.tabular.screening import unhelpful_columns
from skinformer.threads import at_once
from skinformer.timeline.arrays import (
    BoolArray,
    Float32Array,
    Float64Array,
    Floats,
    IntArray,
)
from skinformer.timeline.bounds import find_bounds
from skinformer.timeline.clock import Clock
from skinformer.timeline.cycle import CalendarEffect
from skinformer.timeline.timeline import Timeline, first_known

#: Pairs that a regressor learns from at most: bounds the cost, whatever the rows.
MOST_PAIRS = 60_000
#: The same of small trees, see `default_regressors`: more give them no more (notes/drivers.md).
MOST_PAIRS_OF_SMALL = 30_000
#: Pairs of each row and target, with different steps ahead, where they are fewer.
PAIRS_PER_ROW = 2


@dataclass(frozen=True)
class TabularFit:
    """Regressors on the features of each step ahead; their mean is the forecast.

    name: what they are called among forecasters.
    zero: (n_targets,), see `find_zeros`.
    """

    maker: FeatureMaker
    members: tuple[Anchored, ...]
    name: str
    zero: Float64Array

    @property
    def look_back(self) -> int:
        """Rows before an origin that are read, where the series holds them."""
        return self.maker.look_back

    def forecast(
        self,
        values: Floats,
        begin: IntArray,
        origins: IntArray,
        steps: IntArray,
        clock: Clock,
    ) -> Float32Array:
        """Forecast windows, standardised, (n, pred_len, n_targets); one does not depend on others.

        begin: the first row of each window's series.
        origins, steps: the row of each window's first forecast step, and its step on the clock.
        """
        pred_len = self.maker.columns.pred_len
        n_targets = self.maker.columns.n_targets
        y_pred = np.empty((len(origins), pred_len, n_targets), dtype=np.float32)
        n_windows = max(1, 8192 // (pred_len * n_targets))
        for start in range(0, len(origins), n_windows):
            chunk = slice(start, start + n_windows)
            pairs = Pairs.of_windows(
                origins[chunk], begin[chunk], steps[chunk], pred_len, n_targets
            )
            features = self.maker.make(values, pairs, clock)
            zero = self.zero[pairs.target]
            forecasts = [member.predict(features, zero) for member in self.members]
            y_pred[chunk] = np.mean(forecasts, axis=0).reshape(-1, pred_len, n_targets)
        return y_pred


def fit_tabular(
    timeline: Timeline,
    columns: Columns,
    *,
    missing: BoolArray | None = None,
    regressor: Any = None,
    random_state: int = 0,
    plain: tuple[int, ...] | None = None,
    quick: bool = False,
    calendar: CalendarEffect | None = None,
    of_mean: bool = False,
    zero: Float64Array | None = None,
) -> TabularFit:
    """Fit one regressor for all steps ahead, all targets and all series.

    missing: (n_rows, n_targets), where truths were missing; None for nowhere.
    regressor: any regressor of scikit-learn, which is cloned; None for boosted trees.
    random_state: of the pairs that are drawn, and of the regressor where it has one.
    plain: columns known ahead that tell little, by their numbers among those that vary, where they
    are known from an earlier fit; None finds them.
    quick: whether boosted trees are fewer, see `default_regressors`; a `regressor` is as it is.
    calendar: what is usual, see `FeatureMaker`; found on these truths at most.
    of_mean: whether trees of absolute errors, which forecast medians, are raised to means.
    zero: (n_targets,), the zero of the targets' units, standardised; None where none is shared by
    all series, or logarithms are taken.

    Cost: at most 60,000 pairs, of small trees 30,000, whatever the rows. Memory: their features,
    some 50 of the target and eight of each column known ahead, 8 bytes each, twice. If no truth is
    left to learn, it is a ValueError.
    """
    # 1. Draw the pairs of an origin and a step ahead, and make their features.
    maker = _make_maker(timeline, columns, plain, calendar)
    simple = sees_past_alone(columns.n_known, timeline.n_series)
    n_most = MOST_PAIRS_OF_SMALL if simple and regressor is None else MOST_PAIRS
    pairs = _draw_training_pairs(timeline, maker, missing, random_state, n_most)
    zeros = _find_zeros(timeline, columns.n_targets, missing, zero)
    training = _make_training(timeline, maker, pairs, zeros)
    errors = _anchor_errors(maker, training)
    closest = int(np.argmin(errors))

    # 2. Make fewer features of the columns known ahead that do not help.
    if plain is None:
        distance = training.distance_from(Sight(closest))
        plain = unhelpful_columns(maker, training.features, distance, training.steps)
        maker = replace(maker, plain=plain)
        if plain:
            training = _make_training(timeline, maker, pairs, zeros)

    # 3. Fit the regressors, each to the distances from its level.
    if regressor is not None:
        plans = [_RegressorPlan(Sight(closest), regressor)]
    else:
        plans = _plan_trees(
            maker, training, errors, simple=simple, quick=quick, of_mean=of_mean
        )
    return TabularFit(
        maker, _fit_members(training, plans, random_state), name_of(regressor), zeros
    )


def sees_past_alone(n_known: int, n_series: int) -> bool:
    """Return whether trees see nothing but one table's past and calendar.

    Columns that are known ahead take them longer to learn, and so do many series.
    """
    return n_known == 0 and n_series == 1


class _TrainingPairs(NamedTuple):
    """What regressors learn from.

    features: of each pair, (n, n_features).
    y, weights: the truth of each pair and its weight, (n,); None weighs all alike.
    steps: the step of each origin on the clock, (n,).
    zero: that of the target of each pair, (n,), see `find_zeros`.
    """

    features: Float64Array
    y: Float64Array
    weights: Float64Array | None
    steps: IntArray
    zero: Float64Array

    def distance_from(self, sight: Sight) -> Float64Array:
        """Return the distance of each truth from its level."""
        return self.y - sight.levels(self.features, self.zero)

    def weighted_by(self, unit: Float64Array) -> Float64Array | None:
        """Return the weight of each pair beside units; None where all are alike."""
        if (unit == 1).all():
            return self.weights
        return unit if self.weights is None else unit * self.weights


class _RegressorPlan(NamedTuple):
    """How one regressor is fitted.

    sight: how it sees pairs.
    n_unseen: how many of the last features are left out.
    of_mean: whether its forecasts are raised to means.
    """

    sight: Sight
    model: Any
    n_unseen: int = 0
    of_mean: bool = False


def _fit_members(
    training: _TrainingPairs, plans: list[_RegressorPlan], random_state: int
) -> tuple[Anchored, ...]:
    """Fit regressors beside each other."""
    fits = [partial(_fit_member, training, plan, random_state) for plan in plans]
    return tuple(at_once(fits))


def _fit_member(
    training: _TrainingPairs, plan: _RegressorPlan, random_state: int
) -> Anchored:
    """Fit one regressor to the distances from its level, in its unit."""
    sight = plan.sight
    level = sight.levels(training.features, training.zero)
    unit = sight.units(training.features, training.zero)
    seen = sight.seen(training.features, level, unit)
    distance = (training.y - level) / unit
    # An error counts for its size in the units of the target.
    is_squared = getattr(plan.model, "loss", None) == "squared_error"
    weights = training.weighted_by(unit**2 if is_squared else unit)
    regressor = ready(plan.model, random_state).fit(
        seen, distance, weights, n_unseen=plan.n_unseen
    )
    if plan.of_mean:
        regressor.raise_to_mean(seen, distance, training.weighted_by(unit))
    return Anchored(sight, regressor)


def _make_maker(
    timeline: Timeline,
    columns: Columns,
    plain: tuple[int, ...] | None,
    calendar: CalendarEffect | None,
) -> FeatureMaker:
    """Choose the features: seasons, and bounds of what counts as known."""
    low, high = find_bounds(timeline.values, columns.n_targets)
    return FeatureMaker(
        columns,
        find_seasons(timeline.clock, np.diff(timeline.first_row)),
        low,
        high,
        plain or (),
        calendar,
    )


def _draw_training_pairs(
    timeline: Timeline,
    maker: FeatureMaker,
    missing: BoolArray | None,
    random_state: int,
    n_most: int,
) -> Pairs:
    """Draw pairs among all truths that may be learnt; raise where none is left."""
    begin = first_known(missing, timeline.first_row)
    end = timeline.first_row[1:]
    usable = _usable(timeline, maker, begin, end, missing)
    if not len(usable):
        raise ValueError("no actual value is left to learn from: pass more rows.")
    return draw_pairs(
        timeline,
        maker.columns,
        begin,
        usable,
        random_state,
        # Pairs and trees are both cut.
        current_share().of(n_most, least=5000, power=0.5),
    )


def _usable(
    timeline: Timeline,
    maker: FeatureMaker,
    begin: IntArray,
    end: IntArray,
    missing: BoolArray | None,
) -> IntArray:
    """List the truths to learn, as numbers of row and target: row * n_targets + target."""
    # Deviations from the mean beyond which a truth is a new regime or a typing error: squared
    # errors would know nothing else.
    farthest = 100.0
    # Truths at the very beginning, where no season is known yet, say little of later ones.
    context = (timeline.first_row[1:] - begin) // 4
    longest_season = max(maker.seasons, default=0)
    first = begin + np.clip(context, 1, longest_season + maker.columns.pred_len)
    rows = np.arange(len(timeline.values))
    series = timeline.series
    inside = (rows >= first[series]) & (rows < end[series])
    n_targets = maker.columns.n_targets
    usable = np.abs(timeline.values[:, :n_targets]) < farthest
    usable &= inside[:, None] & timeline.observed(n_targets)
    if missing is not None:
        usable &= ~missing
    return np.flatnonzero(usable)


def draw_pairs(
    timeline: Timeline,
    sizes: Columns,
    begin: IntArray,
    usable: IntArray,
    seed: int,
    n_most: int,
) -> Pairs:
    """Draw truths, spread over all, and how far ahead of its origin each of them is.

    Two pairs of each truth, or ``n_most`` where that is fewer.

    begin: the first row of each series where something is known.
    usable: numbers of the truths that may be learnt, of all targets row by row.
    """
    generator = np.random.default_rng(seed)
    n_pairs = min(n_most, PAIRS_PER_ROW * len(usable))
    truths_per_pair = len(usable) / max(n_pairs, 1)
    spread = (np.arange(n_pairs) + generator.random(n_pairs)) * truths_per_pair
    row, target = np.divmod(usable[spread.astype(int)], sizes.n_targets)
    start = begin[timeline.series_of(row)]
    farthest_ahead = np.minimum(sizes.pred_len, row - start)
    ahead = (generator.random(n_pairs) * farthest_ahead).astype(int)
    origin = row - ahead
    return Pairs(origin, ahead, target, start, timeline.steps_of(origin))


def _find_zeros(
    timeline: Timeline,
    n_targets: int,
    missing: BoolArray | None,
    zero: Float64Array | None,
) -> Float64Array:
    """Return the zeros of targets that multiply."""
    if zero is None:
        return np.full(n_targets, np.nan)
    y = timeline.values[:, :n_targets].astype(float)
    if missing is not None:
        y = np.where(missing, np.nan, y)
    return find_zeros(y, zero)


def _make_training(
    timeline: Timeline, maker: FeatureMaker, pairs: Pairs, zeros: Float64Array
) -> _TrainingPairs:
    """Make the features of pairs, and read their truths."""
    rows = pairs.origin + pairs.ahead
    y = timeline.values[rows, pairs.target].astype(float)
    weights = None
    if timeline.weight is not None:
        weights = timeline.weight[rows, pairs.target].astype(float)
    return _TrainingPairs(
        maker.make(timeline.values, pairs, timeline.clock),
        y,
        weights,
        pairs.step,
        zeros[pairs.target],
    )


def _anchor_errors(maker: FeatureMaker, training: _TrainingPairs) -> Float64Array:
    """Return the mean absolute error of each level to start from."""
    anchors = range(maker.n_anchors)
    distances = [training.distance_from(Sight(anchor)) for anchor in anchors]
    return np.abs(distances).mean(axis=1)


def _plan_trees(
    maker: FeatureMaker,
    training: _TrainingPairs,
    errors: Float64Array,
    *,
    simple: bool,
    quick: bool,
    of_mean: bool,
) -> list[_RegressorPlan]:
    """Choose the level that each of the boosted trees learns distances from, and its features.

    errors: of each level to start from, see `_anchor_errors`.
    simple, quick: see `default_regressors`.
    """
    medians, means = default_regressors(simple=simple, quick=quick)
    closest = int(np.argmin(errors))
    steady = None if _stays(training) else LEVEL
    # Where the last value errs by less than this share of what the mean of four seasons errs, both
    # regressors learn distances from it: .07 to .16 on walks and prices, .27 to .85 elsewhere. A
    # price was forecast with 1.67 times the error of its last value without.
    if closest == 0 and errors[0] < 0.2 * errors[LEVEL]:
        steady = closest
    # One that sees what is usual, and one that is not led by it when nothing is usual
    # (notes/drivers.md). This one sees no level: trees that do expect each to return to
    # what it was in training, and err most where it drifts.
    of_medians = _RegressorPlan(
        _steady_sight(maker, training, steady), medians, of_mean=of_mean
    )
    of_means = _RegressorPlan(
        Sight(closest, maker.n_own), means, n_unseen=maker.n_of_effect
    )
    return [of_medians, of_means]


def _steady_sight(
    maker: FeatureMaker, training: _TrainingPairs, anchor: int | None
) -> Sight:
    """Return how the first of the boosted trees see pairs: where targets multiply, as multiples."""
    if maker.recent_mean is None or np.isnan(training.zero).all():
        return Sight(anchor)
    return Sight(anchor, maker.n_own, maker.recent_mean)


def name_of(regressor: Any) -> str:
    """Name a regressor as users know it: its class, of a Pipeline that of the last step."""
    if regressor is None:
        return "trees"
    return type(getattr(regressor, "_final_estimator", regressor)).__name__


def _stays(training: _TrainingPairs) -> bool:
    """Return whether earlier truths had the level of late ones, so that it was learnt.

    Trees forecast no value that they have not seen. The level of the latest pairs, the last tenth,
    has to lie within what was usual before, or what is learnt is the distance from it.
    """
    level = Sight(LEVEL).levels(training.features, training.zero)
    late = training.steps >= np.quantile(training.steps, 0.9)
    if late.all():
        return False
    low, high = np.quantile(level[~late], (0.05, 0.95))
    return low <= level[late].mean() <= high
