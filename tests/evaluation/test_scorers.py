"""Scorers call the estimator themselves, also in Pipelines and searches, and leave out gaps."""

import pickle
import re

import numpy as np
import pandas as pd
import pytest
from flat_parameters import with_parts
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.linear_model import LinearRegression
from sklearn.model_selection import GridSearchCV, TimeSeriesSplit, cross_validate
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from skinformer import InformerRegressor
from skinformer.evaluation import (
    ForecastScorer,
    interval_coverage,
    mase,
    pinball_loss,
    smape,
    wape,
    winkler_score,
)

HOURS = pd.date_range("2024-01-01", periods=160, freq="h")


@pytest.fixture(scope="module")
def frame():
    rng = np.random.default_rng(0)
    load = 50 + 10 * np.sin(HOURS.hour * 2 * np.pi / 24) + rng.normal(size=160)
    return pd.DataFrame({"temp": rng.normal(size=160), "load": load}, index=HOURS)


def informer(**params):
    sizes = {"seq_len": 24, "pred_len": 6, "d_model": 8, "n_heads": 2, "max_iter": 1}
    return InformerRegressor(
        **with_parts(**{"target": "load", **sizes, "random_state": 0, **params})
    )


class Ranged(LinearRegression):
    """A regressor with intervals around its forecasts."""

    def predict_interval(self, X, coverage=0.9):
        point = self.predict(X)
        return np.stack([point - coverage, point + coverage], axis=-1)

    def predict_quantiles(self, X, levels):
        return self.predict(X)[..., None] + np.asarray(levels)


class Doubled(TransformerMixin, BaseEstimator):
    """Two times X."""

    def fit(self, X, y=None):
        self.fitted_ = True
        return self

    def transform(self, X):
        return 2 * X


@pytest.fixture(scope="module")
def ranged():
    X = np.random.default_rng(0).normal(size=(60, 2))
    y = X[:, 0] + np.random.default_rng(1).normal(size=60)
    return make_pipeline(Doubled(), Ranged()).fit(X, y), X, y


@pytest.mark.parametrize("name", ["neg_winkler", "neg_crps"])
def test_ranges_are_scored_through_searches(ranged, name):
    """A search has no predict_interval, and its best Pipeline changes the rows of its last step."""
    pipeline, X, y = ranged
    search = GridSearchCV(pipeline, {"ranged__fit_intercept": [True]}, cv=2).fit(X, y)
    scorer = ForecastScorer(name)
    assert scorer(search, X, y) == pytest.approx(scorer(pipeline, X, y))
    assert scorer(search, X, y) == pytest.approx(scorer(pipeline[-1], 2 * X, y))


def test_scorers_of_ranges_equal_their_scores(ranged):
    """Losses are turned round, as scikit-learn wants the higher to be the better."""
    pipeline, X, y = ranged
    y = y.copy()
    y[:5] = np.nan
    interval = pipeline[-1].predict_interval(2 * X, 0.8)
    scores = {
        "coverage": interval_coverage(y, interval),
        "neg_coverage_error": -abs(interval_coverage(y, interval) - 0.8),
        "neg_width": -1.6,
        "neg_winkler": -winkler_score(y, interval, coverage=0.8),
    }
    for name, expected in scores.items():
        assert ForecastScorer(name, coverage=0.8)(pipeline, X, y) == pytest.approx(
            expected
        )
    quantiles = pipeline[-1].predict_quantiles(2 * X, [0.3, 0.6])
    scorer = ForecastScorer("neg_pinball", levels=[0.3, 0.6])
    expected = -pinball_loss(y, quantiles, levels=[0.3, 0.6])
    assert scorer(pipeline, X, y) == pytest.approx(expected)


def test_weights_reach_the_score(ranged):
    """A scorer that dropped them would say nothing."""
    pipeline, X, y = ranged
    weight = (np.arange(60) < 30).astype(float)
    for name in ("neg_wape", "neg_wql", "neg_winkler", "coverage"):
        weighted = ForecastScorer(name)(pipeline, X, y, sample_weight=weight)
        assert weighted == pytest.approx(ForecastScorer(name)(pipeline, X[:30], y[:30]))


def test_points_are_scored_of_any_regressor(frame):
    """The scores of points ask for predict alone."""
    later, y = frame[120:], frame["load"][120:].copy()
    y.iloc[3] = np.nan
    model = LinearRegression().fit(frame[["temp"]][:120], frame["load"][:120])
    point = model.predict(later[["temp"]])
    known = y.notna().to_numpy()
    assert ForecastScorer("neg_smape")(model, later[["temp"]], y) == -smape(
        y[known], point[known]
    )
    scorer = ForecastScorer("neg_mase", season=24, y_train=frame["load"])
    expected = mase(y, point, y_train=frame["load"][:120], season=24)
    assert scorer(model, later[["temp"]], y) == -expected


def test_truths_may_be_lists(frame):
    """Their index is a method, which was taken for labels."""
    X, y = frame[["temp"]][:60].to_numpy(), frame["load"].to_numpy()
    model = LinearRegression().fit(X, y[:60])
    scorer = ForecastScorer("neg_mase", y_train=y[:40].tolist())
    expected = -mase(y[40:60], model.predict(X[40:]), y_train=y[:40])
    assert scorer(model, X[40:], y[40:60].tolist()) == pytest.approx(expected)
    assert scorer(model, X[40:], frame["load"][40:60]) == pytest.approx(expected)


def test_without_training_rows_there_is_no_scale(frame):
    """The message says what to type."""
    model = LinearRegression().fit(frame[["temp"]], frame["load"])
    message = (
        "LinearRegression does not keep its training rows, which are needed to scale "
        "errors. Pass them as y_train, such as y_train=df['load']; rows from the "
        "first row of X on are left out."
    )
    with pytest.raises(ValueError, match=f"^{re.escape(message)}$"):
        ForecastScorer("neg_rmsse")(model, frame[["temp"]], frame["load"])


@pytest.mark.slow
def test_an_informer_brings_its_own_scale_and_truth(frame):
    """In cross-validation nobody else knows the training rows of a fold."""
    scaler = StandardScaler().set_output(transform="pandas")
    model = make_pipeline(scaler, informer()).fit(frame[:120], frame["load"][:120])
    later = frame[120:]
    expected = -mase(
        later["load"], model.predict(later), y_train=frame["load"][:120], season=24
    )
    scorer = ForecastScorer("neg_mase", season=24)
    assert scorer(model, later, later["load"]) == pytest.approx(expected, rel=1e-5)


@pytest.mark.slow
def test_the_truth_is_taken_from_x_as_the_estimator_sees_it(frame):
    """Fitted on scaled rows alone, forecasts are scaled: compared with raw ones they are lost."""
    scaler = StandardScaler().set_output(transform="pandas")
    model = make_pipeline(scaler, informer()).fit(frame[:120])
    scaled = model[0].transform(frame[120:])["load"]
    expected = -wape(scaled, model.predict(frame[120:]))
    assert ForecastScorer("neg_wape")(model, frame[120:]) == pytest.approx(expected)


@pytest.mark.slow
def test_scorers_serve_cross_validation_and_searches(frame):
    """Several at once, pickled to other processes, with gaps in the truth."""
    runs = frame.copy()
    runs.loc[runs.index[-3:], "load"] = np.nan
    scoring = {name: ForecastScorer(name) for name in ("neg_mase", "neg_wape")}
    cv = TimeSeriesSplit(2, test_size=12)
    model = informer(members=["ridges"])
    result = cross_validate(model, runs, runs["load"], cv=cv, scoring=scoring)
    assert np.isfinite(result["test_neg_mase"]).all()
    grid = {"seq_len": [12, 24]}
    scorer = ForecastScorer("neg_rmsse")
    search = GridSearchCV(model, grid, cv=cv, scoring=scorer, refit=False)
    search.fit(runs, runs["load"])
    assert search.best_score_ == search.cv_results_["mean_test_score"].max()
    assert pickle.loads(pickle.dumps(scoring["neg_mase"])) == scoring["neg_mase"]


def panel():
    rng = np.random.default_rng(0)
    parts = {
        name: pd.DataFrame({"load": size * rng.random(60)}, HOURS[:60])
        for name, size in {"a": 1.0, "b": 1e3}.items()
    }
    return pd.concat(parts, names=["site", "hour"])


@pytest.mark.filterwarnings("ignore:parameters of the network:UserWarning")
def test_panels_are_scaled_series_by_series():
    """Behind the scorer as in the score itself: names of series lead to their training rows."""
    rows = panel()
    train = rows.groupby(level=0).head(50)
    later = rows.drop(train.index)
    model = informer().fit(train)
    expected = -mase(
        later["load"], model.predict(later), y_train=train["load"], season=24
    )
    scorer = ForecastScorer("neg_mase", season=24)
    assert scorer(model, later) == pytest.approx(expected, rel=1e-5)


@pytest.mark.filterwarnings("ignore:parameters of the network:UserWarning")
@pytest.mark.parametrize("transform", [None, "log"])
def test_the_scale_is_that_of_all_that_fit_and_update_saw(transform):
    """Also where logarithms are taken, whose forecasts are raised to means, and with gaps."""
    rows = panel() + 0.1
    rows.iloc[[3, 42], 0] = np.nan
    train, seen = rows.groupby(level=0).head(40), rows.groupby(level=0).head(50)
    model = (
        informer(target_transform=transform).fit(train).update(seen.drop(train.index))
    )
    later = rows.drop(seen.index)
    expected = -mase(
        later["load"], model.predict(later), y_train=seen["load"], season=24
    )
    assert ForecastScorer("neg_mase", season=24)(model, later) == pytest.approx(
        expected, rel=1e-4
    )


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (
            lambda: ForecastScorer("coverage")(
                LinearRegression(), np.ones((1, 1)), np.ones(1)
            ),
            TypeError,
            "LinearRegression has no predict_interval: it makes point forecasts only. "
            "Pass an InformerRegressor, a Pipeline that ends in one, or a search over "
            "either.",
        ),
        (
            lambda: ForecastScorer("neg_wape")(LinearRegression(), [[1.0]]),
            ValueError,
            "y=None needs an InformerRegressor, which knows its target; LinearRegression does "
            "not. Pass the actual values, such as y=X['load'].",
        ),
        (
            lambda: ForecastScorer("mase"),
            ValueError,
            "score='mase' must be one of ['coverage', 'neg_coverage_error', 'neg_crps', "
            "'neg_mase', 'neg_pinball', 'neg_rmsse', 'neg_smape', 'neg_wape', 'neg_width', "
            "'neg_winkler', 'neg_wql'].",
        ),
    ],
)
def test_what_cannot_be_scored_is_refused(call, error, message):
    """When the scorer is made or first used, not after an hour of folds."""
    with pytest.raises(error, match=f"^{re.escape(message)}$"):
        call()
