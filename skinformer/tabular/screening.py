"""Find columns known ahead that explain nothing, so that noise has one feature for eight."""

from __future__ import annotations

import math
from functools import partial

import numpy as np
from sklearn.ensemble import HistGradientBoostingRegressor

from skinformer.budget import current_share
from skinformer.tabular.features import FeatureMaker
from skinformer.threads import at_once, threads_for
from skinformer.timeline.arrays import BoolArray, Float64Array, IntArray


def unhelpful_columns(
    maker: FeatureMaker, features: Float64Array, y: Float64Array, steps: IntArray
) -> tuple[int, ...]:
    """Find the columns known ahead that explain nothing of what the target's own past leaves.

    y: distances of pairs from the closest anchor.
    steps: when each pair was.

    The result counts the columns known ahead that vary. Cost: two small fits for each.
    """
    # With fewer, what helps cannot be told from luck.
    n_least = 1000
    groups = maker.known_positions(features.shape[1])
    if not groups or len(y) < n_least:
        return ()
    n_most = current_share().of(15_000, least=3000)
    some = slice(None, None, math.ceil(len(y) / n_most))
    # The earliest two thirds are learnt, the others judge.
    late = steps[some] >= np.quantile(steps[some], 2 / 3)
    helpful = _are_helpful(groups, maker.n_own, features[some], y[some], late)
    return tuple(np.flatnonzero(~helpful).tolist())


def _are_helpful(
    groups: list[IntArray],
    n_own: int,
    features: Float64Array,
    y: Float64Array,
    late: BoolArray,
) -> BoolArray:
    """Return whether late pairs are forecast better by each column, learnt from the others."""
    # 1. What trees leave that see no column known ahead.
    n_before = groups[0][0]
    past = features[:, :n_before]
    residuals = y - _forecast(past, y, ~late, n_trees=40)

    # 2. What each column explains of it, beside the time, in its own order and in a random one.
    time = features[:, n_own:n_before]
    shuffled = np.random.default_rng(0).permutation(features)
    error = partial(_late_error, time, residuals, late)
    fits = [partial(error, features, group) for group in groups]
    fits += [partial(error, shuffled, group) for group in groups]
    own_order, random_order = np.reshape(at_once(fits), (2, -1))
    # A column of noise alone can lower the error by 1 % by luck (notes/drivers.md).
    least_gain = 0.015
    return own_order < (1 - least_gain) * random_order


def _late_error(
    time: Float64Array,
    residuals: Float64Array,
    late: BoolArray,
    features: Float64Array,
    group: IntArray,
) -> float:
    """Return the mean squared error of late pairs by trees that see one group of features."""
    seen = np.hstack([time, features[:, group]])
    error = residuals - _forecast(seen, residuals, ~late, n_trees=30)
    return (error[late] ** 2).mean()


def _forecast(
    features: Float64Array, y: Float64Array, learnt: BoolArray, *, n_trees: int
) -> Float64Array:
    """Forecast all pairs by trees that are fitted to some of them."""
    unknown = np.isnan(features[learnt]).all(axis=0)
    seen = features[:, ~unknown]
    trees = HistGradientBoostingRegressor(
        max_iter=n_trees, max_leaf_nodes=15, early_stopping=False, random_state=0
    )
    with threads_for(0):
        trees.fit(seen[learnt], y[learnt])
        return trees.predict(seen)
