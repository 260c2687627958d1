"""Boosted trees as plain arrays, and scikit-learn's regressor again from these.

What is touched of scikit-learn's private state is named here and nowhere else: the list
``_predictors``, the ``nodes`` of each tree, and ``_baseline_prediction``. All else of the regressor
that comes back was made by a fit of the installed version.
"""

from __future__ import annotations

from itertools import chain
from typing import Any, NamedTuple, TypeAlias

import numpy as np
from sklearn.ensemble import (
    HistGradientBoostingClassifier,
    HistGradientBoostingRegressor,
)

from skinformer.timeline.arrays import AnyArray, Float64Array, IntArray
from skinformer.timeline.windows import origins_between

Boosted: TypeAlias = HistGradientBoostingRegressor | HistGradientBoostingClassifier


class Trees(NamedTuple):
    """Boosted trees, one after the other, as far as forecasts go through them.

    parameters, n_features: of the regressor.
    baseline: what the trees' values are added to.
    sizes: (n_trees,), nodes of each tree.

    Of each node, (n_nodes,), each split directly before what lies to its left:
    leaf: whether it is one.
    value: what a leaf adds, or the number up to which a split's rows go left.
    feature: the column that a split looks at.
    missing_left: whether NaN goes left.
    right: the node to the right, counted from the tree's first.
    """

    parameters: dict[str, Any]
    n_features: int
    baseline: Float64Array
    sizes: AnyArray
    leaf: AnyArray
    value: Float64Array
    feature: AnyArray
    missing_left: AnyArray
    right: AnyArray


def to_arrays(boosted: Boosted) -> Trees | None:
    """Write the trees of a regressor or classifier as arrays; None where they split categories."""
    trees = [tree.nodes for tree in chain.from_iterable(boosted._predictors)]
    nodes = np.concatenate(trees)
    sizes = np.array([len(tree) for tree in trees], dtype=int)
    leaf = nodes["is_leaf"].astype(bool)
    is_next = nodes["left"] == _number_in_tree(sizes) + 1
    if boosted.is_categorical_ is not None or not (leaf | is_next).all():
        return None
    return Trees(
        parameters=boosted.get_params(),
        n_features=boosted.n_features_in_,
        baseline=boosted._baseline_prediction,
        sizes=sizes,
        leaf=leaf,
        value=np.where(leaf, nodes["value"], nodes["num_threshold"]),
        feature=nodes["feature_idx"].astype(np.uint16),
        missing_left=nodes["missing_go_to_left"].astype(bool),
        right=nodes["right"].astype(np.uint32),
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


def classifier_from_arrays(
    trees: Trees, classes: IntArray
) -> HistGradientBoostingClassifier:
    """Make the classifier of trees, as `from_arrays` does; classes are ascending.

    It is a ValueError, too, if there are other classes than trees.
    """
    _check(trees)
    if classes.dtype != np.int64 or len(classes) < 2 or (np.diff(classes) <= 0).any():
        raise ValueError("classes ascend")
    stub = HistGradientBoostingClassifier(
        max_iter=1, early_stopping=False, random_state=0
    )
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
    nodes = _to_nodes(trees, tree.nodes.dtype)
    predictors = [
        type(tree)(part, tree.binned_left_cat_bitsets, tree.raw_left_cat_bitsets)
        for part in np.split(nodes, np.cumsum(trees.sizes)[:-1])
    ]
    turns = range(0, len(predictors), n_each)
    stub._predictors = [predictors[first : first + n_each] for first in turns]
    stub._baseline_prediction = trees.baseline
    return stub.set_params(**trees.parameters)


def _to_nodes(trees: Trees, dtype: np.dtype[Any]) -> AnyArray:
    """Return all trees' nodes as scikit-learn has them; what no forecast reads is 0."""
    nodes = np.zeros(len(trees.leaf), dtype=dtype)
    nodes["is_leaf"] = trees.leaf
    nodes["value"] = trees.value
    nodes["num_threshold"] = trees.value
    nodes["feature_idx"] = trees.feature
    nodes["missing_go_to_left"] = trees.missing_left
    nodes["left"] = _number_in_tree(trees.sizes) + 1
    nodes["right"] = trees.right
    return nodes


def _number_in_tree(sizes: IntArray) -> IntArray:
    """Count each node from its tree's first."""
    return origins_between(np.zeros_like(sizes), sizes - 1)


def _check(trees: Trees) -> None:
    """Raise unless every way goes on to later nodes of its tree, and ends."""
    n_nodes = len(trees.leaf)
    sizes = trees.sizes
    of_nodes = trees.value, trees.feature, trees.missing_left, trees.right
    is_whole = (
        all(len(part) == n_nodes for part in of_nodes)
        and trees.feature.dtype.kind == trees.right.dtype.kind == "u"
        and trees.leaf.dtype == bool
        and sizes.dtype == np.int64
        and 0 < sizes.min() <= sizes.max() <= n_nodes == sizes.sum()
        and 0 < trees.n_features <= 1 << 16
    )
    if not is_whole:
        raise ValueError("trees have other sizes than they say")
    left = _number_in_tree(sizes) + 1
    goes_on = (left < trees.right) & (trees.right < np.repeat(sizes, sizes))
    has_feature = trees.feature < trees.n_features
    if not (trees.leaf | (goes_on & has_feature)).all():
        raise ValueError("a way through the trees leaves them")
