"""Which columns known ahead tell anything, so that noise is not looked at from eight sides."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np
from sklearn.ensemble import HistGradientBoostingRegressor

from skinformer.tabular.features import FeatureMaker
from skinformer.threads import at_once, threads_for
from skinformer.timeline.arrays import BoolArray, Float64Array, IntArray

_MOST_PAIRS = 15_000
_LEAST_PAIRS = 1000  # with fewer, what helps cannot be told from luck
_LEARNT = 2 / 3  # of the pairs, the earliest; the others judge
#: Share by which the squared error of the others has to be lower than with the column's features
#: in a random order: a column of noise alone can lower it by 1 % by luck (laboratory/drivers.md).
_LEAST_GAIN = 0.015


def unhelpful_columns(
    maker: FeatureMaker, features: Float64Array, truth: Float64Array, steps: IntArray
) -> tuple[int, ...]:
    """Find the columns known ahead that explain nothing of what the target's own past leaves.

    truth: distances of pairs from the closest anchor.
    steps: when each pair was.

    The result counts the columns known ahead that vary. Cost: two small fits for each.
    """
    groups = maker.known_features(features.shape[1])
    if not groups or len(truth) < _LEAST_PAIRS:
        return ()
    some = slice(None, None, -(-len(truth) // _MOST_PAIRS))
    features, truth, steps = features[some], truth[some], steps[some]
    late = steps >= np.quantile(steps, _LEARNT)
    own = np.arange(groups[0][0])
    left = truth - _forecast(features[:, own], truth, ~late, n_trees=40)
    when = own[maker.n_own :]
    shuffled = np.random.default_rng(0).permutation(len(left))

    def error(group: IntArray, order: Any) -> float:
        return _error(np.hstack([features[:, when], features[order][:, group]]), left, late)

    works = [partial(error, group, order) for order in (slice(None), shuffled) for group in groups]
    seen, other = np.reshape(at_once(works), (2, -1))
    return tuple(np.flatnonzero(~(seen < (1 - _LEAST_GAIN) * other)).tolist())


def _error(features: Float64Array, truth: Float64Array, late: BoolArray) -> float:
    error = truth - _forecast(features, truth, ~late, n_trees=30)
    return float((error[late] ** 2).mean())


def _forecast(
    features: Float64Array, truth: Float64Array, learnt: BoolArray, *, n_trees: int
) -> Float64Array:
    known = np.flatnonzero(~np.isnan(features[learnt]).all(axis=0))
    trees = HistGradientBoostingRegressor(
        max_iter=n_trees, max_leaf_nodes=15, early_stopping=False, random_state=0
    )
    with threads_for(0):
        fitted = trees.fit(features[learnt][:, known], truth[learnt])
        forecast: Float64Array = fitted.predict(features[:, known])
    return forecast
