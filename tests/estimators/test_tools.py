"""Every tool of scikit-learn in the contract's list, each on dated frames."""

import re
import warnings
from functools import partial

import numpy as np
import pandas as pd
import pytest
from sklearn.compose import (
    ColumnTransformer,
    TransformedTargetRegressor,
    make_column_transformer,
)
from sklearn.ensemble import HistGradientBoostingRegressor, VotingRegressor
from sklearn.experimental import enable_halving_search_cv  # noqa: F401
from sklearn.feature_selection import SequentialFeatureSelector
from sklearn.frozen import FrozenEstimator
from sklearn.inspection import partial_dependence, permutation_importance
from sklearn.linear_model import LinearRegression
from sklearn.metrics import make_scorer, mean_absolute_error
from sklearn.model_selection import (
    GridSearchCV,
    HalvingGridSearchCV,
    RandomizedSearchCV,
    TimeSeriesSplit,
    cross_val_score,
    cross_validate,
    learning_curve,
    validation_curve,
)
from sklearn.multioutput import MultiOutputRegressor
from sklearn.pipeline import FeatureUnion, Pipeline, make_pipeline
from sklearn.preprocessing import FunctionTransformer, MinMaxScaler, StandardScaler

from skinformer import TimeIndex
from skinformer.evaluation import ForecastScorer, skip_missing

N = 96
SPLITS = {
    "plain": {"n_splits": 3},
    "test_size": {"n_splits": 3, "test_size": 7},
    "gap": {"n_splits": 2, "gap": 5, "test_size": 8},
    "max_train_size": {"n_splits": 3, "max_train_size": 30},
}


@pytest.fixture(scope="session")
def small(small):
    """Fit the network alone: scikit-learn's tools see one estimator, whoever forecasts in it."""
    return partial(small, members=["network"])


@pytest.fixture(scope="module")
def df(frame):
    """Give 96 hours without past-only columns: nothing has to be held over a gap."""
    return frame(N)[["price", "load"]]


@pytest.fixture(scope="module")
def both(small):
    """Make a regressor whose target is X's column 'load'; the price is known ahead."""

    def make(**changes):
        return small(**{"target": "load", "known_future": ["price"], **changes})

    return make


def scaled(estimator, **steps):
    return make_pipeline(StandardScaler(), estimator).set_output(transform="pandas")


# --- each tool in one line -------------------------------------------------------------------


def grid_search(est, X, y):
    search = GridSearchCV(
        est, {"network__d_model": [4, 8]}, cv=TimeSeriesSplit(2), error_score="raise"
    )
    return search.fit(X, y).predict(X)


def grid_search_with_two_scorers(est, X, y):
    scoring = ["r2", "neg_mean_absolute_error"]
    search = GridSearchCV(
        est,
        {"network__dropout": [0.0, 0.2]},
        cv=TimeSeriesSplit(2),
        scoring=scoring,
        refit="r2",
    )
    search.fit(X, y)
    return search.cv_results_["mean_test_neg_mean_absolute_error"]


def randomized_search(est, X, y):
    search = RandomizedSearchCV(
        est,
        {"training__learning_rate": [1e-3, 1e-2]},
        n_iter=2,
        cv=TimeSeriesSplit(2),
        random_state=0,
    )
    return search.fit(X, y).predict(X)


def halving_search(est, X, y):
    search = HalvingGridSearchCV(
        est,
        {"network__dropout": [0.0, 0.1, 0.2]},
        resource="training__max_iter",
        max_resources=4,
        min_resources=1,
        cv=TimeSeriesSplit(2),
        error_score="raise",
    )
    return search.fit(X, y).predict(X)


def a_pipeline_in_a_search(est, X, y):
    pipe = Pipeline([("scale", StandardScaler()), ("model", est)]).set_output(
        transform="pandas"
    )
    # A new step knows nothing of the pipe's.
    other = MinMaxScaler().set_output(transform="pandas")
    grid = [{"model__network__d_model": [4, 8]}, {"scale": [other]}]
    search = GridSearchCV(pipe, grid, cv=TimeSeriesSplit(2), error_score="raise")
    return search.fit(X, y).predict(X)


def cross_val_scores(est, X, y):
    return cross_val_score(est, X, y, cv=TimeSeriesSplit(3), error_score="raise")


def cross_val_scores_by_a_named_scorer(est, X, y):
    cv = TimeSeriesSplit(3)
    return cross_val_score(
        est, X, y, cv=cv, scoring="neg_mean_absolute_error", error_score="raise"
    )


def cross_validate_all(est, X, y):
    scores = cross_validate(
        est,
        X,
        y,
        cv=TimeSeriesSplit(3),
        scoring=["r2", "neg_root_mean_squared_error"],
        return_train_score=True,
        return_estimator=True,
        error_score="raise",
    )
    return np.concatenate(
        [scores[k] for k in sorted(scores) if k.startswith(("test", "train"))]
    )


def two_processes(est, X, y):
    return cross_val_score(
        est, X, y, cv=TimeSeriesSplit(2), n_jobs=2, error_score="raise"
    )


def a_validation_curve(est, X, y):
    return np.concatenate(
        validation_curve(
            est,
            X,
            y,
            param_name="network__d_model",
            param_range=[4, 8],
            cv=TimeSeriesSplit(2),
        )
    )


def a_transformed_target(est, X, y):
    wrapped = TransformedTargetRegressor(est, transformer=StandardScaler())
    return cross_val_score(wrapped, X, y, cv=TimeSeriesSplit(2), error_score="raise")


def a_vote(est, X, y):
    vote = VotingRegressor([("one", est), ("two", est)])
    np.testing.assert_allclose(vote.fit(X, y).predict(X), est.fit(X, y).predict(X))
    return vote.predict(X)


def importance_by_permutation(est, X, y):
    result = permutation_importance(est.fit(X, y), X, y, n_repeats=2, random_state=0)
    assert (result.importances_mean != 0).all()
    return result.importances_mean


def a_partial_dependence(est, X, y):
    result = partial_dependence(est.fit(X, y), X, ["price"], grid_resolution=3)
    return result["average"]


def a_frozen_estimator(est, X, y):
    frozen = FrozenEstimator(est.fit(X[:60], y[:60]))
    before = frozen.predict(X)
    np.testing.assert_array_equal(frozen.fit(X, y).predict(X), before)
    return before


def a_frozen_step_of_a_pipeline(est, X, y):
    frozen = FrozenEstimator(est.fit(X[:60], y[:60]))
    return make_pipeline("passthrough", frozen).fit(X, y).predict(X)


def a_column_transformer(est, X, y):
    columns = ColumnTransformer(
        [("scale", StandardScaler(), ["price"])],
        remainder="passthrough",
        verbose_feature_names_out=False,
    )
    pipe = make_pipeline(columns, est).set_output(transform="pandas")
    return cross_val_score(pipe, X, y, cv=TimeSeriesSplit(2), error_score="raise")


def a_feature_union(est, X, y):
    def square(X):
        return (X[["price"]] ** 2).rename(columns={"price": "price_squared"})

    union = FeatureUnion(
        [("same", FunctionTransformer()), ("square", FunctionTransformer(square))],
        verbose_feature_names_out=False,
    ).set_output(transform="pandas")
    pipe = Pipeline([("union", union), ("model", est)])
    return cross_val_score(pipe, X, y, cv=TimeSeriesSplit(2), error_score="raise")


TOOLS = [
    grid_search,
    grid_search_with_two_scorers,
    randomized_search,
    halving_search,
    a_pipeline_in_a_search,
    cross_val_scores,
    cross_val_scores_by_a_named_scorer,
    cross_validate_all,
    a_validation_curve,
    a_transformed_target,
    a_vote,
    importance_by_permutation,
    a_partial_dependence,
    a_frozen_estimator,
    a_frozen_step_of_a_pipeline,
    a_column_transformer,
    a_feature_union,
]


#: Tools that score, clone, fit side by side, send to processes and shuffle columns.
WITH_ALL = [
    grid_search,
    cross_validate_all,
    a_vote,
    two_processes,
    importance_by_permutation,
]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("tool", "members"),
    [*((tool, ["network"]) for tool in TOOLS), *((tool, "auto") for tool in WITH_ALL)],
    ids=lambda value: getattr(value, "__name__", f"members={value}"),
)
def test_a_tool_of_scikit_learn_works_in_both_mode(tool, members, both, df):
    """Every tool that takes X and y takes a frame and its own column."""
    result = np.asarray(tool(both(members=members), df, df["load"]), dtype=float)
    assert result.size
    assert np.isfinite(result).all()


FEATURE_TOOLS = [
    grid_search,
    cross_validate_all,
    a_validation_curve,
    a_transformed_target,
    a_vote,
    a_partial_dependence,
    a_frozen_estimator,
]


@pytest.mark.slow
@pytest.mark.parametrize("tool", FEATURE_TOOLS, ids=lambda tool: tool.__name__)
def test_a_tool_of_scikit_learn_works_in_features_mode(tool, small, df):
    """Ordinary regression: features in X, the truth in y."""
    result = np.asarray(tool(small(), df[["price"]], df["load"]), dtype=float)
    assert np.isfinite(result).all()


@pytest.mark.slow
@pytest.mark.parametrize("tool", [cross_val_scores, cross_validate_all, grid_search])
def test_a_tool_of_scikit_learn_works_on_plain_arrays(tool, small, df):
    """Folds of an array carry no place: the training fold is known, the test fold follows."""
    result = np.asarray(tool(small(), df[["price"]].to_numpy(), df["load"].to_numpy()))
    assert np.isfinite(result).all()


def test_frame_mode_needs_no_y_in_a_search(small, df):
    """Without y the estimator's own score is used: X holds the truth."""
    cv = TimeSeriesSplit(2)
    scores = cross_val_score(small(), df[["load"]], cv=cv, error_score="raise")
    search = GridSearchCV(
        small(), {"network__d_model": [4, 8]}, cv=cv, error_score="raise"
    )
    assert np.isfinite(scores).all()
    assert np.isfinite(search.fit(df[["load"]]).cv_results_["mean_test_score"]).all()


@pytest.mark.slow
@pytest.mark.parametrize("split", SPLITS)
def test_every_kind_of_time_series_split_scores_each_row_from_before_it(
    split, small, df
):
    """A test fold is forecast from its training fold, whatever lies between or was cut off."""
    X = df[["load"]]
    cv = TimeSeriesSplit(**SPLITS[split])
    scores = cross_val_score(
        small(target="load"), X, X["load"], cv=cv, scoring="neg_mean_absolute_error"
    )
    by_hand = []
    for train, test in cv.split(X):
        estimator = small().fit(X.iloc[train])
        by_hand.append(
            -np.abs(estimator.predict(X.iloc[test]) - X["load"].iloc[test]).mean()
        )
    np.testing.assert_allclose(scores, by_hand, rtol=1e-5)


@pytest.mark.filterwarnings("ignore:X begins .* steps after the history:UserWarning")
def test_a_learning_curve_forecasts_over_the_rows_it_leaves_out(small, df):
    """learning_curve trains on the oldest rows: the rest up to the test fold is a gap."""
    cv = TimeSeriesSplit(2, test_size=16)
    sizes, train, test = learning_curve(
        small(), df[["load"]], None, train_sizes=[0.8, 1.0], cv=cv, error_score="raise"
    )
    assert np.isfinite(train).all()
    assert np.isfinite(test).all()
    assert len(sizes) == 2


def test_several_outputs_are_fitted_one_by_one(small, frame):
    """MultiOutputRegressor hands one column of y as a nameless array: features mode."""
    df = frame(60)
    wrapped = MultiOutputRegressor(small()).fit(df[["price"]], df[["load", "flow"]])
    forecasts = wrapped.predict(df[["price"]])
    assert forecasts.shape == (60, 2)
    alone = small().fit(df[["price"]], df["flow"]).predict(df[["price"]])
    np.testing.assert_array_equal(forecasts[:, 1], alone)


def test_features_are_selected_in_turn(small, frame):
    """The selector turns X into an array: folds follow one another by number."""
    df = frame(60)
    selector = SequentialFeatureSelector(
        small(), n_features_to_select=1, cv=TimeSeriesSplit(2), direction="forward"
    )
    selector.fit(df[["flow", "price"]], df["load"].to_numpy())
    assert selector.get_support().sum() == 1


def test_a_pipeline_with_a_scaler_gives_the_same_as_without(both, df):
    """The estimator standardises by itself; a scaler before it must not change the result."""
    piped = scaled(both()).fit(df[:60], df["load"][:60])
    plain = both().fit(df[:60], df["load"][:60])
    np.testing.assert_allclose(piped.predict(df), plain.predict(df), rtol=1e-3)


def test_a_pipeline_without_pandas_output_works_on_features(small, df):
    """StandardScaler gives an array: its rows follow the training rows by number."""
    arrays = df[["price"]].to_numpy()
    pipe = make_pipeline(StandardScaler(), small()).fit(
        arrays[:60], df["load"].to_numpy()[:60]
    )
    plain = small().fit(arrays[:60], df["load"].to_numpy()[:60])
    np.testing.assert_allclose(
        pipe.predict(arrays[60:]), plain.predict(arrays[60:]), rtol=1e-3
    )
    np.testing.assert_allclose(
        pipe.predict(arrays[:60]), plain.predict(arrays[:60]), rtol=1e-3
    )


def test_a_pipeline_without_pandas_output_takes_the_clock_of_y(small, df):
    """Y keeps its dates; the rows of X that lost theirs follow, and a warning says so."""
    pipe = make_pipeline(StandardScaler(), small()).fit(
        df[["price"]][:60], df["load"][:60]
    )
    assert pipe[-1].timeline_.clock.dated
    with pytest.warns(
        UserWarning, match="follow the training data, from 2024-01-03 12:00:00"
    ):
        later = pipe.predict(df[["price"]][60:])
    kept = scaled(small()).fit(df[["price"]][:60], df["load"][:60])
    np.testing.assert_allclose(later, kept.predict(df[["price"]][60:]), rtol=1e-6)
    np.testing.assert_allclose(
        pipe.predict(df[["price"]][:60]), kept.predict(df[["price"]][:60]), rtol=1e-6
    )


def test_a_pipeline_without_pandas_output_in_frame_mode_does_not_warn(small, df):
    """All rows are arrays from the first: no index is lost on the way."""
    pipe = make_pipeline(StandardScaler(), small(target=1, members="auto"))
    pipe.fit(df[:60])
    assert np.isfinite(pipe.predict(df[:60])).all()
    assert np.isfinite(pipe.predict(df[60:])).all()


def test_scores_leave_out_rows_whose_truth_is_missing(both, df):
    """A NaN in the truth must not make the score NaN, and must not count as anything."""
    estimator = both().fit(df[:60], df["load"][:60])
    runs = df[60:].copy()
    runs.iloc[[-1, -2], 1] = np.nan
    whole = estimator.predict(runs)
    truth = df["load"][60:]
    residual = ((whole - truth) ** 2)[:-2].sum()
    expected = 1 - residual / ((truth[:-2] - truth[:-2].mean()) ** 2).sum()
    assert estimator.score(runs, runs["load"]) == pytest.approx(expected)
    assert estimator.score(runs) == pytest.approx(expected)


def test_score_weighs_rows(both, df):
    """A weight of zero leaves the row out, also beside a missing truth."""
    estimator = both().fit(df[:60], df["load"][:60])
    weight = np.ones(36)
    weight[20:] = 0
    assert estimator.score(
        df[60:], df["load"][60:], sample_weight=weight
    ) == pytest.approx(estimator.score(df[60:80], df["load"][60:80]))
    runs = df["load"][60:].copy()
    runs.iloc[:3] = np.nan
    weight[:3] = 7
    assert np.isfinite(estimator.score(df[60:], runs, sample_weight=weight))


def test_score_without_any_truth_is_refused_in_features_mode(small, df):
    """There is nothing to compare with."""
    estimator = small().fit(df[["price"]][:60], df["load"][:60])
    with pytest.raises(ValueError, match="no actual values") as caught:
        estimator.score(df[["price"]])
    assert str(caught.value) == (
        "score(X) without y has no actual values: X holds features only. Pass score(X, y)."
    )


def test_score_refuses_a_truth_with_another_index(both, df):
    """Rows belong together by their labels, in score as in fit."""
    estimator = both().fit(df[:60], df["load"][:60])
    with pytest.raises(ValueError, match="X and y have different indexes"):
        estimator.score(df[60:80], df["load"][61:81])


def test_searches_can_be_scored_on_later_rows(both, df):
    """A fitted search is itself a forecaster."""
    search = GridSearchCV(both(), {"network__d_model": [4, 8]}, cv=TimeSeriesSplit(2))
    search.fit(df[:60], df["load"][:60])
    assert search.predict(df[60:]).shape == (N - 60,)
    assert np.isfinite(search.score(df[60:], df["load"][60:]))
    pd.testing.assert_index_equal(
        search.best_estimator_.make_future_frame(2).index, df.index[60:62]
    )


DROP_LOAD = make_column_transformer(("drop", ["load"]), remainder="passthrough")


@pytest.mark.parametrize("target", ["load", None])
@pytest.mark.parametrize(
    "member",
    [
        LinearRegression(),
        HistGradientBoostingRegressor(),
        GridSearchCV(LinearRegression(), {"fit_intercept": [True, False]}),
        TransformedTargetRegressor(LinearRegression()),
    ],
    ids=["linear", "boosting", "search", "transformed"],
)
def test_a_vote_beside_who_would_see_the_truth_is_refused(small, frame, target, member):
    """The target in X is history for one, and the answer for the other."""
    df = frame(80)
    vote = VotingRegressor([("one", small(target=target)), ("other", member)])
    kind = type(member).__name__
    if kind in ("GridSearchCV", "TransformedTargetRegressor"):
        kind = "LinearRegression"
    message = (
        f"X contains the target 'load', and the ensemble also passes it to its member 'other': "
        f"{kind} would use the actual value as a feature. Pass it the other columns only, "
        "make_pipeline("
        "make_column_transformer(('drop', ['load']), remainder='passthrough'), "
    )
    with pytest.raises(ValueError, match=f"^{re.escape(message)}"):
        vote.fit(df, df["load"])


@pytest.mark.parametrize("name", ["features", "pipeline", "forecasters", "search"])
def test_a_vote_in_which_nobody_sees_the_truth_is_taken(small, frame, name):
    """Features without the target, a member that drops it, and forecasters alone."""
    df = frame(80)
    X = df[["price"]] if name == "features" else df
    other = {
        "features": LinearRegression(),
        "pipeline": make_pipeline(DROP_LOAD, LinearRegression()),
        "forecasters": small(target="load", seq_len=6),
        "search": GridSearchCV(
            small(target="load"), {"pred_len": [2]}, cv=TimeSeriesSplit(2)
        ),
    }[name]
    vote = VotingRegressor([("one", small(target="load")), ("other", other)])
    assert np.isfinite(vote.fit(X[:70], df["load"][:70]).predict(X[70:])).all()


def test_a_transformed_target_is_told_of_target_transform(small, frame):
    """The estimator transforms its target's history, too."""
    df = frame(80)
    for target in ("load", None):
        wrapped = TransformedTargetRegressor(
            small(target=target), func=np.log, inverse_func=np.exp
        )
        with pytest.raises(ValueError, match=r"in place of a TransformedTargetRegressor "
                           r"pass y as it is and target_transform='log'"):  # fmt: skip
            wrapped.fit(df, df["load"])


def test_a_frame_that_has_no_index_is_warned_of(small, frame):
    """Nobody saw that the calendar was missing."""
    polars = pytest.importorskip("polars")
    df = frame(60)
    rows = polars.DataFrame({name: df[name].to_list() for name in df})
    with pytest.warns(
        UserWarning, match=r"^a frame of polars has no index: its rows are"
    ):
        small(target="load").fit(rows)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        features = rows.drop("load")
        small().fit(features, df["load"])
        timed = rows.with_columns(polars.Series("hour", df.index.to_list()))
        make_pipeline(TimeIndex("hour"), small(target="load")).fit(timed)


def test_folds_with_missing_truths_have_a_score_by_default(small, frame):
    """Metrics of scikit-learn refuse them: skip_missing leaves them out."""
    df = frame(80)
    df.iloc[[45, 65], df.columns.get_loc("load")] = np.nan
    cv = TimeSeriesSplit(2, test_size=20)
    mae = make_scorer(skip_missing(mean_absolute_error), greater_is_better=False)
    for scoring in (None, mae, ForecastScorer("neg_wape")):
        scores = cross_val_score(
            small(target="load"),
            df,
            df["load"],
            cv=cv,
            scoring=scoring,
            error_score="raise",
        )
        assert np.isfinite(scores).all()
