"""Fit regressors to pairs of an origin and a step ahead, and forecast windows by them."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import partial
from typing import Any, NamedTuple

import numpy as np

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
#: Pairs of each row and target, with different steps ahead, where they are fewer.
PAIRS_PER_ROW = 2


class Anchored(NamedTuple):
    """A fitted regressor, and the level that its forecasts are distances from.

    anchor: number of the feature; None for the training mean, which is 0.
    """

    anchor: int | None
    regressor: Any

    def predict(self, features: Float64Array) -> Float64Array:
        """Forecast pairs, (n,), standardised."""
        level = _level(features, self.anchor)
        distance: Float64Array = self.regressor.predict(features)
        return level + distance


@dataclass(frozen=True)
class TabularFit:
    """Regressors on the features of each step ahead; their mean is the forecast.

    name: what they are called among forecasters.
    """

    maker: FeatureMaker
    members: tuple[Anchored, ...]
    name: str

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
            windows = origins[chunk], begin[chunk], steps[chunk]
            pairs = Pairs.of_windows(*windows, pred_len, n_targets)
            features = self.maker.make(values, pairs, clock)
            forecasts = [member.predict(features) for member in self.members]
            y_pred[chunk] = np.mean(forecasts, axis=0).reshape(-1, pred_len, n_targets)
        return y_pred


def fit_tabular(
    timeline: Timeline,
    columns: Columns,
    *,
    missing: BoolArray | None = None,
    stop: IntArray | None = None,
    regressor: Any = None,
    random_state: int = 0,
    plain: tuple[int, ...] | None = None,
    quick: bool = False,
    calendar: CalendarEffect | None = None,
    of_mean: bool = False,
) -> TabularFit:
    """Fit one regressor for all steps ahead, all targets and all series.

    missing: (n_rows, n_targets), where truths were missing; None for nowhere.
    stop: the row of each series from which on no truth is read; None for its end.
    regressor: any regressor of scikit-learn, which is cloned; None for boosted trees.
    random_state: of the pairs that are drawn, and of the regressor where it has one.
    plain: columns known ahead that tell little, by their numbers among those that vary, where they
    are known from an earlier fit; None finds them.
    quick: whether boosted trees are fewer, see `default_regressors`; a `regressor` is as it is.
    calendar: what is usual, see `FeatureMaker`; found on these truths at most.
    of_mean: whether trees of absolute errors, which forecast medians, are raised to means.

    Cost: at most 60,000 pairs, whatever the rows. Memory: their features, some 50 of the target and
    eight of each column known ahead, 8 bytes each, twice. If no truth is left to learn, it is a
    ValueError.
    """
    # 1. Draw the pairs of an origin and a step ahead, and make their features.
    maker = _make_maker(timeline, columns, plain or (), calendar)
    pairs = _draw_training_pairs(
        timeline,
        maker,
        missing,
        stop,
        random_state,
    )
    training = _make_training(timeline, maker, pairs)

    # 2. Make fewer features of the columns known ahead that do not help.
    if plain is None:
        plain = _find_plain(maker, training)
        maker = replace(maker, plain=plain)
        if plain:
            training = _make_training(timeline, maker, pairs)

    # 3. Fit the regressors, each to the distances from its level.
    if regressor is not None:
        plans = [_Plan(_closest_anchor(maker, training), regressor)]
    else:
        # Columns that are known ahead take trees longer to learn, and so do many series.
        simple = columns.n_known == 0 and timeline.n_series == 1
        models = default_regressors(simple=simple, quick=quick)
        plans = _plan_trees(maker, training, models, of_mean=of_mean)
    members = _fit_members(training, plans, random_state)
    return TabularFit(maker, members, _name(regressor))


class _Training(NamedTuple):
    """What regressors learn from.

    features: of each pair, (n, n_features).
    y, weights: the truth of each pair and its weight, (n,); None weighs all alike.
    steps: the step of each origin on the clock, (n,).
    """

    features: Float64Array
    y: Float64Array
    weights: Float64Array | None
    steps: IntArray

    def distance_from(self, anchor: int | None) -> Float64Array:
        """Return the distance of each truth from its level."""
        return self.y - _level(self.features, anchor)


class _Plan(NamedTuple):
    """How one regressor is fitted.

    anchor: the level that it learns distances from, see `Anchored`.
    unseen: features that are left out.
    of_mean: whether its forecasts are raised to means.
    """

    anchor: int | None
    model: Any
    unseen: slice = slice(0)
    of_mean: bool = False


def _find_plain(maker: FeatureMaker, training: _Training) -> tuple[int, ...]:
    """Find columns known ahead that explain nothing of the distance from the closest anchor."""
    distance = training.distance_from(_closest_anchor(maker, training))
    return unhelpful_columns(maker, training.features, distance, training.steps)


def _fit_members(
    training: _Training,
    plans: list[_Plan],
    random_state: int,
) -> tuple[Anchored, ...]:
    """Fit regressors beside each other."""
    fits = [partial(_fit_member, training, plan, random_state) for plan in plans]
    return tuple(at_once(fits))


def _fit_member(
    training: _Training,
    plan: _Plan,
    random_state: int,
) -> Anchored:
    """Fit one regressor to the distances from its level."""
    distance = training.distance_from(plan.anchor)
    regressor = ready(plan.model, random_state)
    regressor.fit(training.features, distance, training.weights, unseen=plan.unseen)
    if plan.of_mean:
        regressor.raise_to_mean(training.features, distance, training.weights)
    return Anchored(plan.anchor, regressor)


def _make_maker(
    timeline: Timeline,
    columns: Columns,
    plain: tuple[int, ...],
    calendar: CalendarEffect | None,
) -> FeatureMaker:
    """Choose the features: seasons, and bounds of what counts as known."""
    low, high = find_bounds(timeline.values, columns.n_targets)
    return FeatureMaker(
        columns=columns,
        seasons=find_seasons(timeline.clock, np.diff(timeline.first_row)),
        low=low,
        high=high,
        plain=plain,
        calendar=calendar,
    )


def _draw_training_pairs(
    timeline: Timeline,
    maker: FeatureMaker,
    missing: BoolArray | None,
    stop: IntArray | None,
    random_state: int,
) -> Pairs:
    """Draw pairs among all truths that may be learnt; raise where none is left."""
    begin = first_known(missing, timeline.first_row)
    end = timeline.first_row[1:]
    if stop is not None:
        end = np.minimum(stop, end)
    usable = _usable(
        timeline,
        maker,
        begin,
        end,
        missing,
    )
    if not len(usable):
        raise ValueError(
            "no truth is left to learn from: give more rows, or a later stop."
        )
    return draw_pairs(
        timeline,
        maker.columns,
        begin,
        usable,
        random_state,
        MOST_PAIRS,
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
    n_targets = maker.columns.n_targets
    # Truths at the very beginning, where no season is known yet, say little of later ones.
    context = (timeline.first_row[1:] - begin) // 4
    longest_season = max(maker.seasons, default=0)
    first = begin + np.clip(context, 1, longest_season + maker.columns.pred_len)
    rows = np.arange(len(timeline.values))
    after_context = rows >= first[timeline.series]
    before_end = rows < end[timeline.series]
    inside = after_context & before_end
    usable = np.repeat(inside[:, None], n_targets, axis=1)
    if missing is not None:
        usable &= ~missing
    if timeline.weight is not None:
        usable &= timeline.weight > 0
    usable &= np.abs(timeline.values[:, :n_targets]) < farthest
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
    chosen = usable[spread.astype(int)]
    row, target = np.divmod(chosen, sizes.n_targets)
    start = begin[timeline.series_of(row)]
    farthest_ahead = np.minimum(sizes.pred_len, row - start)
    ahead = (generator.random(n_pairs) * farthest_ahead).astype(int)
    origin = row - ahead
    return Pairs(
        origin,
        ahead,
        target,
        start,
        timeline.steps_of(origin),
    )


def _level(features: Float64Array, anchor: int | None) -> Float64Array:
    """Return the level that forecasts are distances from, 0 where nothing is known."""
    if anchor is None:
        return np.zeros(len(features))
    last = features[:, 0]
    level = features[:, anchor]
    level = np.where(np.isnan(level), last, level)
    return np.nan_to_num(level, copy=False)


def _make_training(
    timeline: Timeline,
    maker: FeatureMaker,
    pairs: Pairs,
) -> _Training:
    """Make the features of pairs, and read their truths."""
    features = maker.make(timeline.values, pairs, timeline.clock)
    rows = pairs.origin + pairs.ahead
    y = timeline.values[rows, pairs.target].astype(float)
    weights = None
    if timeline.weight is not None:
        weights = timeline.weight[rows, pairs.target].astype(float)
    return _Training(features, y, weights, pairs.step)


def _closest_anchor(maker: FeatureMaker, training: _Training) -> int:
    """Choose the level that is closest to the truth."""
    errors = [_mean_error(training, anchor) for anchor in range(maker.n_anchors)]
    return int(np.argmin(errors))


def _mean_error(training: _Training, anchor: int) -> float:
    """Return the mean absolute error of a level."""
    return float(np.abs(training.distance_from(anchor)).mean())


def _plan_trees(
    maker: FeatureMaker,
    training: _Training,
    models: tuple[Any, Any],
    *,
    of_mean: bool,
) -> list[_Plan]:
    """Choose the level that each of the boosted trees learns distances from, and its features."""
    medians, means = models
    closest = _closest_anchor(maker, training)
    level = _level(training.features, LEVEL)
    steady = None if _stays(level, training.steps) else LEVEL
    # Where the last value errs by less than this share of what the mean of four seasons errs, both
    # regressors learn distances from it: .07 to .16 on walks and prices, .27 to .85 elsewhere. A
    # price was forecast with 1.67 times the error of its last value without.
    much_closer = 0.2 * _mean_error(training, LEVEL)
    if closest == 0 and _mean_error(training, 0) < much_closer:
        steady = closest
    # One that sees what is usual, and one that is not led by it when nothing is usual
    # (docs/laboratory/drivers.md).
    of_medians = _Plan(steady, medians, of_mean=of_mean)
    of_means = _Plan(closest, means, unseen=maker.of_effect)
    return [of_medians, of_means]


def _name(regressor: Any) -> str:
    """Name a regressor as users know it: its class, of a Pipeline that of the last step."""
    if regressor is None:
        return "trees"
    return type(getattr(regressor, "_final_estimator", regressor)).__name__


def _stays(level: Float64Array, steps: IntArray) -> bool:
    """Return whether earlier truths had the level of late ones, so that it was learnt.

    Trees forecast no value that they have not seen. The level of the latest pairs, the last tenth,
    has to lie within what was usual before, or what is learnt is the distance from it.
    """
    late = steps >= np.quantile(steps, 0.9)
    if late.all():
        return False
    low, high = np.quantile(level[~late], (0.05, 0.95))
    return bool(low <= level[late].mean() <= high)
