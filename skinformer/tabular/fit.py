"""Fit regressors to pairs of an origin and a step ahead, and forecast windows by them."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from skinformer.tabular.features import LEVEL, Columns, FeatureMaker, Pairs, find_seasons
from skinformer.tabular.regressors import default_regressors, ready
from skinformer.tabular.screening import unhelpful_columns
from skinformer.threads import at_once
from skinformer.timeline.arrays import BoolArray, Float32Array, Float64Array, Floats, IntArray
from skinformer.timeline.bounds import find_bounds
from skinformer.timeline.clock import Clock
from skinformer.timeline.cycle import CalendarEffect
from skinformer.timeline.timeline import Timeline, first_known

#: Pairs that a regressor learns from at most: bounds the cost, whatever the rows.
MOST_PAIRS = 60_000
#: Pairs of each row and target, with different steps ahead, where they are fewer.
PAIRS_PER_ROW = 2
#: Trees forecast no value that they have not seen. The level of the latest pairs, from this share
#: on, has to lie within what was usual before, or what is learnt is the distance from it.
_LATE, _USUAL = 0.9, (0.05, 0.95)
#: Where the last value errs by less than this share of what the mean of four seasons errs, both
#: regressors learn distances from it: .07 to .16 on walks and prices, .27 to .85 elsewhere. A price
#: was forecast with 1.67 times the error of its last value without.
_MUCH_CLOSER = 0.2
#: Deviations from the mean beyond which a truth is a new regime or a typing error: squared errors
#: would know nothing else.
_FARTHEST = 100.0
_CHUNK = 8192  # pairs whose features are made at a time


class Anchored(NamedTuple):
    """A fitted regressor, and the level that its forecasts are distances from.

    anchor: number of the feature; None for the training mean, which is 0.
    """

    anchor: int | None
    regressor: Any


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
        self, values: Floats, begin: IntArray, origins: IntArray, steps: IntArray, clock: Clock
    ) -> Float32Array:
        """Forecast windows, standardised, (n, pred_len, n_targets); one does not depend on others.

        begin: the first row of each window's series.
        origins, steps: the row of each window's first forecast step, and its step on the clock.
        """
        n_targets, pred_len = self.maker.columns.n_targets, self.maker.columns.pred_len
        out = np.empty((len(origins), pred_len, n_targets), dtype=np.float32)
        size = max(1, _CHUNK // (pred_len * n_targets))
        for start in range(0, len(origins), size):
            part = slice(start, start + size)
            shape = out[part].shape
            window, ahead, target = (index.ravel() for index in np.indices(shape))
            origin = origins[part][window]
            pairs = Pairs(origin, ahead, target, begin[part][window], steps[part][window])
            out[part] = self._forecast(self.maker.make(values, pairs, clock)).reshape(shape)
        return out

    def _forecast(self, features: Float64Array) -> Float64Array:
        each = [_level(features, m.anchor) + m.regressor.predict(features) for m in self.members]
        return np.asarray(np.mean(each, axis=0))


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
    seasons = find_seasons(timeline.clock, np.diff(timeline.first_row))
    bounds = find_bounds(timeline.values, columns.n_targets)
    maker = FeatureMaker(columns, seasons, *bounds, plain=plain or (), calendar=calendar)
    begin = first_known(missing, timeline.first_row)
    end = timeline.first_row[1:] if stop is None else np.minimum(stop, timeline.first_row[1:])
    usable = _usable(timeline, maker, begin, end, missing)
    if not len(usable):
        raise ValueError("no truth is left to learn from: give more rows, or a later stop.")
    pairs = draw_pairs(timeline, columns, begin, usable, random_state, MOST_PAIRS)
    features = _make_all(maker, timeline, pairs)
    rows = pairs.origin + pairs.ahead
    truth = timeline.values[rows, pairs.target].astype(np.float64)
    if plain is None:
        distance = truth - _level(features, _closest_anchor(maker, features, truth))
        maker = replace(maker, plain=unhelpful_columns(maker, features, distance, pairs.step))
        if maker.plain:
            features = _make_all(maker, timeline, pairs)
    weight = None
    if timeline.weight is not None:
        weight = timeline.weight[rows, pairs.target].astype(np.float64)
    # Columns that are known ahead take trees longer to learn, and so do many series.
    simple = columns.n_known == 0 and timeline.n_series == 1
    models = default_regressors(simple=simple, quick=quick) if regressor is None else (regressor,)

    def fitted(anchor: int | None, model: Any, unseen: slice) -> Anchored:
        distance, chosen = truth - _level(features, anchor), ready(model, random_state)
        chosen.fit(features, distance, weight, unseen=unseen)
        if of_mean and getattr(model, "loss", None) == "absolute_error" and regressor is None:
            chosen.raise_to_mean(features, distance, weight)
        return Anchored(anchor, chosen)

    plan = _plan(maker, features, truth, pairs.step, models)
    members = at_once([partial(fitted, *each) for each in plan])
    return TabularFit(maker, tuple(members), _name(regressor))


def _usable(
    timeline: Timeline, maker: FeatureMaker, low: IntArray, end: IntArray, missing: BoolArray | None
) -> IntArray:
    """List the truths to learn, as numbers of row and target: row * n_targets + target."""
    columns, longest = maker.columns, max(maker.seasons, default=0)
    # Truths at the very beginning, where no season is known yet, say little of later ones.
    context = (timeline.first_row[1:] - low) // 4
    low = low + np.clip(context, 1, longest + columns.pred_len)
    rows = np.arange(len(timeline.values))
    series = timeline.series
    fit = (rows >= low[series]) & (rows < end[series])
    truths = np.repeat(fit[:, None], columns.n_targets, axis=1)
    if missing is not None:
        truths &= ~missing
    if timeline.weight is not None:
        truths &= timeline.weight > 0
    truths &= np.abs(timeline.values[:, : columns.n_targets]) < _FARTHEST
    return np.flatnonzero(truths)


def draw_pairs(
    timeline: Timeline, sizes: Columns, begin: IntArray, usable: IntArray, seed: int, n_most: int
) -> Pairs:
    """Draw truths, spread over all, and how far ahead of its origin each of them is.

    Two pairs of each truth, or ``n_most`` where that is fewer.

    begin: the first row of each series where something is known.
    usable: numbers of the truths that may be learnt, of all targets row by row.
    """
    generator = np.random.default_rng(seed)
    n_pairs = min(n_most, PAIRS_PER_ROW * len(usable))
    spread = (np.arange(n_pairs) + generator.random(n_pairs)) * (len(usable) / max(n_pairs, 1))
    row, target = np.divmod(usable[spread.astype(np.int64)], sizes.n_targets)
    start = begin[timeline.series_of(row)]
    ahead = (generator.random(n_pairs) * np.minimum(sizes.pred_len, row - start)).astype(np.int64)
    origin = row - ahead
    return Pairs(origin, ahead, target, start, timeline.steps_of(origin))


def _level(features: Float64Array, anchor: int | None) -> Float64Array:
    """Return the level that forecasts are distances from, 0 where nothing is known."""
    if anchor is None:
        return np.zeros(len(features))
    level = np.where(np.isnan(features[:, anchor]), features[:, 0], features[:, anchor])
    return np.nan_to_num(level, copy=False)


def _make_all(maker: FeatureMaker, timeline: Timeline, pairs: Pairs) -> Float64Array:
    parts = (slice(start, start + _CHUNK) for start in range(0, len(pairs.origin), _CHUNK))
    made = [maker.make(timeline.values, pairs.take(part), timeline.clock) for part in parts]
    return np.concatenate(made)


def _closest_anchor(maker: FeatureMaker, features: Float64Array, truth: Float64Array) -> int:
    """Choose the level that is closest to the truth."""
    error = [np.abs(truth - _level(features, j)).mean() for j in range(maker.n_anchors)]
    return int(np.argmin(error))


def _plan(
    maker: FeatureMaker, features: Float64Array, truth: Float64Array, steps: IntArray, models: Any
) -> list[tuple[int | None, Any, slice]]:
    """Choose the level that each regressor learns distances from, and what it does not see."""
    closest, nothing = _closest_anchor(maker, features, truth), slice(0)
    if len(models) == 1:
        return [(closest, models[0], nothing)]
    level = _level(features, LEVEL)
    steady = None if _stays(level, steps) else LEVEL
    last, mean = (np.abs(truth - each).mean() for each in (_level(features, 0), level))
    if closest == 0 and last < _MUCH_CLOSER * mean:
        steady = closest
    medians, means = models
    # One that sees what is usual, and one that is not led by it when nothing is usual
    # (docs/laboratory/drivers.md).
    return [(steady, medians, nothing), (closest, means, maker.of_effect)]


def _name(regressor: Any) -> str:
    """Name a regressor as users know it: its class, of a Pipeline that of the last step."""
    if regressor is None:
        return "trees"
    return type(getattr(regressor, "_final_estimator", regressor)).__name__


def _stays(level: Float64Array, steps: IntArray) -> bool:
    """Return whether earlier truths had the level of late ones, so that it was learnt."""
    late = steps >= np.quantile(steps, _LATE)
    if late.all():
        return False
    low, high = np.quantile(level[~late], _USUAL)
    return bool(low <= level[late].mean() <= high)
