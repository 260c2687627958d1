"""The logistic map equals scikit-learn's."""

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression
from sklearn.preprocessing import StandardScaler

from skinformer.classes import logistic


@pytest.fixture
def data():
    rng = np.random.default_rng(0)
    features = rng.normal(size=(600, 5)) * [1, 10, 0.1, 1, 1] + 3
    scores = StandardScaler().fit_transform(features) @ rng.normal(size=(5, 3))
    truth = (scores + rng.gumbel(size=scores.shape)).argmax(axis=1)
    return features, truth, rng.random(600)


def fit(features, truth, weight, **changes):
    late = np.arange(len(truth)) >= 400
    options = {"n_free": 0, "late": late} | changes
    return logistic.fit_logistic(features, np.eye(3)[truth], weight, **options)


@pytest.mark.filterwarnings("ignore:scipy.optimize:DeprecationWarning")
def test_its_minimum_is_that_of_scikit_learn(data):
    """The same penalty, 3 without early truths to choose it by, the same weights, another way."""
    features, truth, weight = data
    ready = StandardScaler().fit_transform(features)
    other = LogisticRegression(C=1 / 3, tol=1e-9, max_iter=1000).fit(
        ready, truth, weight
    )
    found = fit(*data, late=np.ones(600, dtype=bool)).probabilities(features)
    np.testing.assert_allclose(found, other.predict_proba(ready), atol=1e-3)


def test_noise_is_penalised_and_signal_is_not(data):
    """The penalty is chosen by late truths."""
    features, truth, weight = data
    rng = np.random.default_rng(1)
    noise = rng.normal(size=(600, 200))
    loss = {}
    for name, seen in (("signal", features), ("noise", noise)):
        called = fit(seen, truth, weight).probabilities(seen)
        loss[name] = -np.log(called[np.arange(600), truth]).mean()
    assert loss["signal"] < 0.85 < loss["noise"]


def test_what_is_a_forecast_by_itself_is_hardly_penalised(data):
    """With all slopes held back the blend of simple forecasts is left."""
    features, truth, weight = data
    few = features, truth, weight / 1000  # truths, beside a penalty of 3
    late = np.ones(600, dtype=bool)
    plain, free = fit(*few, late=late), fit(*few, late=late, n_free=5)
    assert np.abs(free.slope).sum() > 5 * np.abs(plain.slope).sum()


def test_a_row_is_forecast_alike_whatever_others_are_asked_for(data):
    """A matrix product would round by its shape; NaN is the mean."""
    features = data[0].copy()
    features[3, 2] = np.nan
    found = fit(features, *data[1:])
    whole = found.probabilities(features)
    for row in (0, 3, 599):
        np.testing.assert_array_equal(
            found.probabilities(features[row : row + 1])[0], whole[row]
        )
