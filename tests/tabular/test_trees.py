"""Trees as arrays: the same forecasts, and no way that leads out of them."""

import numpy as np
import pytest
from sklearn.ensemble import (
    HistGradientBoostingClassifier,
    HistGradientBoostingRegressor,
)

from skinformer.tabular.trees import classifier_from_arrays, from_arrays, to_arrays


@pytest.fixture(scope="module")
def table():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(600, 5))
    X[rng.random(X.shape) < 0.1] = np.nan
    return X, np.exp(np.nan_to_num(X[:, 0])) + rng.random(600)


@pytest.mark.parametrize(
    "loss", ["squared_error", "absolute_error", "poisson", "quantile"]
)
def test_trees_forecast_the_same(loss, table):
    """To the last bit, NaN and the link of a loss included."""
    level = 0.3 if loss == "quantile" else None
    fitted = HistGradientBoostingRegressor(
        loss=loss, quantile=level, max_iter=30, random_state=0
    )
    again = from_arrays(to_arrays(fitted.fit(*table)))
    np.testing.assert_array_equal(again.predict(table[0]), fitted.predict(table[0]))
    assert again.get_params() == fitted.get_params()


@pytest.mark.parametrize("n_classes", [2, 3])
def test_trees_of_classes_tell_the_same(n_classes, table):
    """Two classes have one tree a turn, more have one each."""
    X, y = table
    labels = np.digitize(y, np.quantile(y, np.arange(1, n_classes) / n_classes)) * 2
    fitted = HistGradientBoostingClassifier(max_iter=10, random_state=0).fit(X, labels)
    again = classifier_from_arrays(to_arrays(fitted), fitted.classes_)
    np.testing.assert_array_equal(again.predict_proba(X), fitted.predict_proba(X))
    np.testing.assert_array_equal(again.predict(X), fitted.predict(X))
    with pytest.raises(ValueError, match="one tree a turn"):
        classifier_from_arrays(to_arrays(fitted), np.arange(n_classes + 2))
    with pytest.raises(ValueError, match="classes ascend"):
        classifier_from_arrays(to_arrays(fitted), fitted.classes_[::-1])


def test_a_turn_without_one_of_its_trees_is_refused(table):
    """The classes after it would be told by the trees of others."""
    trees = to_arrays(
        HistGradientBoostingClassifier(max_iter=2).fit(table[0], np.arange(600) % 3)
    )
    cut = trees.sizes[-1]
    of_nodes = ("leaf", "value", "feature", "missing_left", "right")
    fewer = {name: getattr(trees, name)[:-cut] for name in of_nodes}
    trees = trees._replace(sizes=trees.sizes[:-1], **fewer)
    with pytest.raises(ValueError, match="a turn lacks a tree"):
        classifier_from_arrays(trees, np.arange(3))


def test_making_trees_draws_from_no_global_generator(table):
    """The stub that is grafted on is a fit, too."""
    trees = to_arrays(HistGradientBoostingRegressor(max_iter=2).fit(*table))
    before = np.random.get_state()[1].copy()  # noqa: NPY002
    from_arrays(trees)
    assert (np.random.get_state()[1] == before).all()  # noqa: NPY002


def test_trees_over_categories_are_left_alone(table):
    """They have no arrays here."""
    X = np.nan_to_num(table[0]).round()
    fitted = HistGradientBoostingRegressor(categorical_features=[0], max_iter=2)
    X[:, 0] = np.abs(X[:, 0])
    assert to_arrays(fitted.fit(X, table[1])) is None


FORGERIES = {
    "a way back": lambda t: t._replace(right=t.right * 0),
    "a way out": lambda t: t._replace(right=t.right + 60_000),
    "another column": lambda t: t._replace(feature=t.feature + 5),
    "a column before the first": lambda t: t._replace(
        feature=t.feature.astype(np.int16) - 9
    ),
    "numbers between nodes": lambda t: t._replace(right=t.right + 0.5),
    "a last split": lambda t: t._replace(leaf=~t.leaf),
    "other sizes": lambda t: t._replace(sizes=t.sizes + 1),
    "no tree": lambda t: t._replace(sizes=t.sizes[:0]),
    "fewer leaves": lambda t: t._replace(value=t.value[1:]),
    "more columns than any": lambda t: t._replace(n_features=10**12),
}


@pytest.mark.parametrize("forge", FORGERIES)
def test_forged_trees_are_refused(forge, table):
    """Compiled code follows them without looking."""
    trees = to_arrays(HistGradientBoostingRegressor(max_iter=5).fit(*table))
    with pytest.raises((ValueError, IndexError)):
        from_arrays(FORGERIES[forge](trees))
