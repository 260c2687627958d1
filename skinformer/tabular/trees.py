"""Boosted trees as plain arrays, and scikit-learn's regressor again from these.

What is touched of scikit-learn's private state is named here and nowhere else: the list
``_predictors``, the ``nodes`` of each tree, and ``_baseline_prediction``. All else of the regressor
that comes back was made by a fit of the installed version.
"""

from __future__ import annotations

from typing import Any, NamedTuple, TypeAlias

import numpy as np
from sklearn.ensemble import HistGradientBoostingClassifier, HistGradientBoostingRegressor

from skinformer.timeline.arrays import AnyArray, Float64Array, IntArray

Boosted: TypeAlias = HistGradientBoostingRegressor | HistGradientBoostingClassifier

_MOST_FEATURES = 1 << 16


class Trees(NamedTuple):
    """Boosted trees, one after the other, as far as forecasts go through them.

    parameters, n_features: of the regressor.
    baseline: what the trees' values are added to.
    sizes: (n_trees,), nodes of each tree.
    leaf: (n_nodes,), which nodes are leaves.
    value: (n_leaves,), what is added there.
    feature: (n_splits,), the column that a split looks at.
    threshold: (n_splits,), number of the value, in `thresholds`, up to which a row goes left.
    missing_left: (n_splits,), whether it does for NaN.
    right: (n_splits,), the node to the right, counted from the tree's first; to the left lies the
    next.
    thresholds: ascending.
    """

    parameters: dict[str, Any]
    n_features: int
    baseline: Float64Array
    sizes: AnyArray
    leaf: AnyArray
    value: Float64Array
    feature: AnyArray
    threshold: AnyArray
    missing_left: AnyArray
    right: AnyArray
    thresholds: Float64Array


def to_arrays(boosted: Boosted) -> Trees | None:
    """Write the trees of a regressor or classifier as arrays; None where they split categories."""
    trees = []
    for trees_of_turn in boosted._predictors:
        trees += [tree.nodes for tree in trees_of_turn]
    nodes = np.concatenate(trees)
    sizes = np.array([len(tree) for tree in trees], dtype=np.int64)
    leaf = nodes["is_leaf"].astype(bool)
    splits = nodes[~leaf]
    next_node = _number_in_tree(sizes)[~leaf] + 1
    categorical = boosted.is_categorical_ is not None or splits["is_categorical"].any()
    if categorical or (splits["left"] != next_node).any():
        return None
    thresholds, threshold = np.unique(splits["num_threshold"], return_inverse=True)
    return Trees(
        parameters=boosted.get_params(),
        n_features=int(boosted.n_features_in_),
        baseline=boosted._baseline_prediction,
        sizes=sizes,
        leaf=leaf,
        value=nodes["value"][leaf],
        feature=splits["feature_idx"].astype(np.uint16),
        threshold=_narrow(threshold, len(thresholds)),
        missing_left=splits["missing_go_to_left"].astype(bool),
        right=_narrow(splits["right"], int(sizes.max())),
        thresholds=thresholds,
    )


def from_arrays(trees: Trees) -> HistGradientBoostingRegressor:
    """Make the regressor of trees; it forecasts as the one it came from, bit for bit.

    It is a ValueError if a path through the trees leaves them or does not end: scikit-learn's
    compiled code follows them without looking.
    """
    _check(trees)
    stub = HistGradientBoostingRegressor(
        loss=trees.parameters["loss"],
        quantile=trees.parameters["quantile"],
        max_iter=1,
        early_stopping=False,
        random_state=0,
    )
    # Two rows leave a tree of one leaf: all but the trees is then what this version makes it.
    stub.fit(np.zeros((2, trees.n_features)), np.ones(2))
    return _with_trees(stub, trees)


def classifier_from_arrays(trees: Trees, classes: IntArray) -> HistGradientBoostingClassifier:
    """Make the classifier of trees, as `from_arrays` does; classes are ascending.

    It is a ValueError, too, if there are other classes than trees.
    """
    _check(trees)
    if classes.dtype != np.int64 or len(classes) < 2 or (np.diff(classes) <= 0).any():
        raise ValueError("classes ascend")
    stub = HistGradientBoostingClassifier(max_iter=1, early_stopping=False, random_state=0)
    stub.fit(np.zeros((len(classes), trees.n_features)), classes)
    return _with_trees(stub, trees)


def _with_trees(stub: Any, trees: Trees) -> Any:
    """Put the trees into a stub, which was fitted to nothing."""
    if trees.baseline.shape != stub._baseline_prediction.shape:
        raise ValueError("there is one tree a turn for each baseline")
    n_each = len(stub._predictors[0])
    if len(trees.sizes) % n_each:
        raise ValueError("a turn lacks a tree")
    tree = stub._predictors[0][0]
    nodes = _nodes(trees, tree.nodes.dtype)
    binned = tree.binned_left_cat_bitsets
    raw = tree.raw_left_cat_bitsets
    parts = np.split(nodes, np.cumsum(trees.sizes)[:-1])
    predictors = [type(tree)(part, binned, raw) for part in parts]
    stub._predictors = []
    for first in range(0, len(predictors), n_each):
        stub._predictors.append(predictors[first : first + n_each])
    stub._baseline_prediction = trees.baseline
    return stub.set_params(**trees.parameters)


def _nodes(trees: Trees, layout: Any) -> AnyArray:
    """Lay the nodes out as scikit-learn does; what no forecast reads is 0."""
    nodes = np.zeros(len(trees.leaf), dtype=layout)
    split = ~trees.leaf
    nodes["is_leaf"] = trees.leaf
    nodes["value"][trees.leaf] = trees.value
    nodes["feature_idx"][split] = trees.feature
    nodes["num_threshold"][split] = trees.thresholds[trees.threshold]
    nodes["missing_go_to_left"][split] = trees.missing_left
    nodes["left"][split] = _number_in_tree(trees.sizes)[split] + 1
    nodes["right"][split] = trees.right
    return nodes


def _number_in_tree(sizes: IntArray) -> IntArray:
    """Count each node from its tree's first."""
    end = np.cumsum(sizes)
    first: IntArray = np.repeat(end - sizes, sizes)
    return np.arange(len(first)) - first


def _check(trees: Trees) -> None:
    """Raise unless every way goes on to later nodes of its tree, and ends."""
    if not (_has_nodes(trees) and _has_leaves_and_splits(trees)):
        raise ValueError("trees have other sizes than they say")
    split = ~trees.leaf
    left = _number_in_tree(trees.sizes)[split] + 1
    end = np.repeat(trees.sizes, trees.sizes)[split]
    inside = (left < trees.right) & (trees.right < end)
    if not inside.all() or (trees.feature >= trees.n_features).any():
        raise ValueError("a way through the trees leaves them")


def _has_nodes(trees: Trees) -> bool:
    """Return whether there are as many nodes as the trees' sizes add up to."""
    n_nodes = len(trees.leaf)
    return bool(
        0 < trees.n_features <= _MOST_FEATURES
        and trees.sizes.dtype == np.int64
        and 0 < trees.sizes.min() <= trees.sizes.max() <= n_nodes
        and trees.sizes.sum() == n_nodes
    )


def _has_leaves_and_splits(trees: Trees) -> bool:
    """Return whether there is a value of each leaf, and all that belongs to each split."""
    if trees.leaf.dtype != bool or len(trees.value) != trees.leaf.sum():
        return False
    numbers = (trees.feature, trees.threshold, trees.right)
    if any(part.dtype.kind != "u" for part in numbers):
        return False
    n_splits = len(trees.leaf) - len(trees.value)
    return all(len(part) == n_splits for part in (*numbers, trees.missing_left))


def _narrow(numbers: AnyArray, end: int) -> AnyArray:
    """Store numbers below an end in as few bytes as they need."""
    return numbers.astype(np.uint16 if end <= 1 << 16 else np.uint32)
