"""The yardsticks say what a person with a ruler would say."""

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.model_selection import TimeSeriesSplit, cross_val_score
from sklearn.utils.estimator_checks import (
    check_param_validation,
    parametrize_with_checks,
)

from skinformer.evaluation import SeasonalNaive

PLACE_IS_TIME = "a plain array has no clock: a row's place is its time"
EXPECTED_TO_FAIL = {
    "check_methods_subset_invariance": PLACE_IS_TIME,
    "check_methods_sample_order_invariance": PLACE_IS_TIME,
}


@parametrize_with_checks(
    [SeasonalNaive(season=3)], expected_failed_checks=lambda _: EXPECTED_TO_FAIL
)
def test_every_check_of_scikit_learn_holds_but_two(estimator, check):
    """A yardstick that breaks in a search measures nothing."""
    check(estimator)


@pytest.mark.parametrize("season", [0, -1, 1.5, "week"])
def test_a_season_is_a_positive_whole_number(frame, season):
    """Named before any row is read."""
    check_param_validation("SeasonalNaive", SeasonalNaive())
    with pytest.raises(
        ValueError, match="The 'season' parameter of SeasonalNaive must be an int"
    ):
        SeasonalNaive(season=season).fit(frame)


@pytest.fixture
def frame():
    hours = pd.date_range("2024-01-01", periods=40, freq="h")
    rng = np.random.default_rng(0)
    return pd.DataFrame(rng.normal(size=(40, 2)), columns=["a", "b"], index=hours)


@pytest.mark.parametrize("season", [1, 5, 24])
def test_observed_rows_are_forecast_from_one_season_before(frame, season):
    """Where X holds the truth, each row's own value must not be its forecast."""
    model = SeasonalNaive(season=season, target="a").fit(frame[:30])
    expected = frame["a"].shift(season).to_numpy()[30:]
    np.testing.assert_array_equal(model.predict(frame[30:]), expected)


@pytest.mark.parametrize("season", [1, 3])
def test_hidden_rows_repeat_the_last_season(frame, season):
    """A naive loop says what a forecast longer than the season is."""
    hidden = frame[30:].copy()
    hidden.loc[hidden.index[2:], "a"] = np.nan
    expected = [*frame["a"].iloc[:32]]
    for _ in range(8):
        expected.append(expected[-season])
    model = SeasonalNaive(season=season, target="a").fit(frame[:30])
    np.testing.assert_array_equal(model.predict(hidden)[2:], expected[32:])


def naive_forecast(known, step, season, mean):
    """Go back season by season until a value is known."""
    step -= season
    while step >= 0:
        if not np.isnan(known.get(step, np.nan)):
            return known[step]
        step -= season
    return mean


@pytest.mark.parametrize("season", [1, 2, 3, 7])
def test_after_a_gap_the_season_goes_on(frame, season):
    """Counted from the gap's end, Tuesday would be forecast by a Monday."""
    train, later = frame[:20], frame[25:]
    known = dict(enumerate(train["a"])) | dict(enumerate(later["a"], start=25))
    expected = [
        naive_forecast(known, step, season, train["a"].mean()) for step in range(25, 40)
    ]
    predicted = SeasonalNaive(season=season, target="a").fit(train).predict(later)
    np.testing.assert_array_equal(predicted, expected)


def test_the_season_after_a_gap_is_what_a_person_says():
    """On 1, 2, 3 with two phases step 6 is an odd one, like 3 … and 2."""
    X = pd.DataFrame({"n": [1.0, 2, 3]}, index=pd.RangeIndex(3))
    later = pd.DataFrame({"n": [np.nan, np.nan]}, index=pd.RangeIndex(6, 8))
    assert SeasonalNaive(season=2).fit(X).predict(later).tolist() == [3, 2]


def test_missing_training_rows_are_stepped_over(frame):
    """A gap in the last season is filled by the season before."""
    runs = frame.copy()
    runs.iloc[[27, 28], 0] = np.nan
    known = dict(enumerate(runs["a"][:30]))
    later = runs[30:].assign(a=np.nan)
    expected = [naive_forecast(known, step, 4, np.nan) for step in range(30, 40)]
    model = SeasonalNaive(season=4, target="a").fit(runs[:30])
    np.testing.assert_array_equal(model.predict(later), expected)
    shuffled = later.sample(frac=1, random_state=0)
    by_label = pd.Series(model.predict(shuffled), shuffled.index)
    np.testing.assert_array_equal(by_label[later.index], expected)


def test_rows_before_the_first_season_are_the_training_mean(frame):
    """Nothing is known before them, and an error of NaN would end a comparison."""
    model = SeasonalNaive(season=5, target="a").fit(frame)
    in_sample = model.predict(frame)
    np.testing.assert_allclose(in_sample[:5], frame["a"].mean())
    np.testing.assert_array_equal(in_sample[5:], frame["a"].to_numpy()[:-5])
    assert model.predict(frame[10:12]).tolist() == frame["a"].iloc[5:7].tolist()


def test_series_of_a_panel_do_not_mix(frame):
    """Each goes on by itself, wherever it ends; a new one has its own rows alone."""
    parts = {"a": frame[:30], "b": frame[:21] * 100}
    train = pd.concat(parts, names=["site", "time"])
    later = pd.concat(
        {"b": frame[25:30] * np.nan, "a": frame[30:33] * np.nan, "c": frame[3:6]}
    )
    predicted = SeasonalNaive(season=4).fit(train).predict(later)
    for rows, part, start in (
        (slice(5), parts["b"], 25),
        (slice(5, 8), parts["a"], 30),
    ):
        known = dict(enumerate(part["b"]))
        n = len(predicted[rows])
        expected = [
            naive_forecast(known, step, 4, np.nan) for step in range(start, start + n)
        ]
        np.testing.assert_array_equal(predicted[rows], expected)
    np.testing.assert_allclose(predicted[8:], train["b"].mean())


def test_rows_between_the_training_steps_are_a_timeline_of_their_own(frame):
    """Half past is no hour of the training rows; the season is that of X."""
    half = frame[30:].shift(freq="30min")
    predicted = SeasonalNaive(season=4, target="a").fit(frame[:30]).predict(half)
    np.testing.assert_array_equal(predicted[4:], frame["a"].to_numpy()[30:-4])
    np.testing.assert_allclose(predicted[:4], frame["a"][:30].mean())


def test_an_array_follows_the_training_array(frame):
    """As everywhere in scikit-learn, rows without labels have only their order."""
    X = frame.to_numpy()
    model = SeasonalNaive(season=3).fit(X[:30])
    named = SeasonalNaive(season=3).fit(frame[:30])
    np.testing.assert_array_equal(model.predict(X[30:]), named.predict(frame[30:]))
    np.testing.assert_array_equal(model.predict(X[:30]), named.predict(frame[:30]))
    first, last = (
        SeasonalNaive(target=0).fit(X[:30]),
        SeasonalNaive(target="a").fit(frame[:30]),
    )
    np.testing.assert_array_equal(first.predict(X[30:]), last.predict(frame[30:]))


def test_y_is_the_truth_where_x_does_not_hold_it(frame):
    """Else the last feature would be forecast in y's place."""
    model = SeasonalNaive(season=3).fit(frame[["b"]][:30], frame["a"][:30])
    expected = SeasonalNaive(season=3, target="a").fit(frame[:30])
    hidden = frame[30:].assign(a=np.nan)
    np.testing.assert_array_equal(
        model.predict(frame[["b"]][30:]), expected.predict(hidden)
    )
    assert model.targets_ == []
    by_name = SeasonalNaive(season=3).fit(frame[:30], frame["a"][:30])
    assert by_name.targets_ == [0]
    np.testing.assert_array_equal(
        by_name.predict(frame[30:]), expected.predict(frame[30:])
    )
    two = SeasonalNaive().fit(frame[["b"]].to_numpy(), frame.to_numpy())
    assert two.predict(frame[["b"]].to_numpy()).shape == (40, 2)


def test_a_misspelt_target_is_refused(frame):
    """With y, too, as y's name says which column is meant."""
    sentence = (
        r"^target='aa' is not a column of X: the columns are \['a', 'b'\]\. Name one of them; "
        r"verbose_feature_names_out=False keeps a ColumnTransformer from prefixing names\.$"
    )
    for y in (None, frame["a"]):
        with pytest.raises(ValueError, match=sentence):
            SeasonalNaive(target="aa").fit(frame, y)


def test_it_is_cross_validated(frame):
    """Beside a model, by the same call."""
    wave = frame.assign(a=np.sin(np.arange(40) * np.pi / 2))
    scores = cross_val_score(
        SeasonalNaive(season=4, target="a"), wave, wave["a"], cv=TimeSeriesSplit(3)
    )
    np.testing.assert_allclose(scores, 1)


def test_list_of_targets_gives_columns(frame):
    """One column must stay a column, as for InformerRegressor."""
    assert SeasonalNaive(target=["b"]).fit(frame).predict(frame).shape == (40, 1)
    assert SeasonalNaive(target=["a", "b"]).fit(frame).predict(frame).shape == (40, 2)


def test_default_target_is_the_last_column(frame):
    """The same default as InformerRegressor's."""
    default, named = (
        SeasonalNaive().fit(frame[:30]),
        SeasonalNaive(target="b").fit(frame[:30]),
    )
    np.testing.assert_array_equal(
        default.predict(frame[30:]), named.predict(frame[30:])
    )


def test_clones(frame):
    """It stands in the place of an estimator in anyone's loop."""
    assert clone(SeasonalNaive(season=7, target="a")).get_params() == {
        "season": 7,
        "target": "a",
    }
