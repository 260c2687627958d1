"""Trees that learn from numbers of bins are those that scikit-learn fits to values."""

import numpy as np
import pytest
from sklearn.ensemble import (
    HistGradientBoostingClassifier,
    HistGradientBoostingRegressor,
)
from sklearn.ensemble._hist_gradient_boosting import binning
from sklearn.utils import stats

from skinformer.tabular.binning import bin_features, can_bin
from skinformer.tabular.regressors import ready

#: Earlier versions of scikit-learn bin features without weights.
weighs_bins = pytest.mark.skipif(
    not hasattr(binning, "_weighted_percentile"), reason="bins without weights"
)


def features_of(n, seed=0):
    """Return features with holes, ties, few values and many zeros."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 5))
    X[:, 1] = np.round(X[:, 1])
    X[:, 2] = np.round(X[:, 2], 1)
    X[:, 3] = np.maximum(X[:, 3], 0)
    X[rng.random(X.shape) < 0.1] = np.nan
    return X


@weighs_bins
@pytest.mark.parametrize("loss", ["absolute_error", "squared_error"])
@pytest.mark.parametrize("whole", [False, True])
def test_forecasts_are_those_of_values_bit_for_bit(loss, whole):
    """Whole weights reach the borders exactly."""
    rng = np.random.default_rng(1)
    X = features_of(3000)
    y = np.nan_to_num(X[:, 0]) + np.nan_to_num(X[:, 1]) + rng.normal(size=len(X))
    weights = rng.integers(0, 4, len(X)) if whole else rng.random(len(X))
    model = HistGradientBoostingRegressor(
        loss=loss, max_iter=15, max_bins=63, max_features=0.6, early_stopping=False
    )
    plain = model.set_params(random_state=0).fit(X, y, sample_weight=weights)
    fast = ready(model, 0).fit(X, y, weights.astype(float))
    later = features_of(2000, seed=2)
    np.testing.assert_array_equal(fast.predict(later), plain.predict(later))


@weighs_bins
def test_probabilities_are_those_of_values():
    rng = np.random.default_rng(3)
    X = features_of(1000)
    y = (np.nan_to_num(X[:, 0]) + rng.normal(size=len(X)) > 0).astype(int)
    weights = np.where(y == 1, 3.0, 1.0)
    model = HistGradientBoostingClassifier(
        max_iter=10, early_stopping=False, random_state=0
    )
    plain = model.fit(X, y, sample_weight=weights)
    fast = ready(model, 0).fit(X, y, weights)
    np.testing.assert_array_equal(fast.probabilities(X), plain.predict_proba(X))


@weighs_bins
def test_weighted_features_are_sorted_once(monkeypatch):
    """scikit-learn sorts each of them anew for each bin, which took half of a fit."""
    calls = []
    found = stats._weighted_percentile
    monkeypatch.setattr(
        binning,
        "_weighted_percentile",
        lambda *args, **options: calls.append(1) or found(*args, **options),
    )
    X = features_of(1000)
    model = HistGradientBoostingRegressor(max_iter=2, early_stopping=False)
    ready(model, 0).fit(X, np.nan_to_num(X[:, 0]), np.linspace(1, 2, len(X)))
    assert calls == []


def test_bins_without_a_row_are_none():
    """Zero has no say in borders; its rows have a bin all the same."""
    values = np.array([[0.0], [1.0], [2.0], [3.0], [np.nan]])
    bins = bin_features(values, np.array([1.0, 0.0, 1.0, 1.0, 1.0]), 10)
    assert bins.borders[0].tolist() == [1.0, 2.5]
    np.testing.assert_array_equal(bins.numbers[:, 0], [0, 0, 1, 2, np.nan])


def test_what_draws_rows_or_splits_categories_is_fitted_as_it_is():
    boosted = HistGradientBoostingRegressor(early_stopping=False)
    assert can_bin(boosted, 1000)
    assert not can_bin(boosted, 200_001)
    assert not can_bin(HistGradientBoostingRegressor(early_stopping=True), 1000)
    assert not can_bin(
        HistGradientBoostingRegressor(early_stopping=False, categorical_features=[0]), 9
    )
