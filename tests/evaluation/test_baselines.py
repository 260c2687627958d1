"""The yardsticks say what a person with a ruler would say."""

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone

from skinformer.evaluation import SeasonalNaive


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


def test_list_of_targets_gives_columns(frame):
    """One column must stay a column, as for InformerRegressor."""
    assert SeasonalNaive(target=["b"]).fit(frame).predict(frame).shape == (40, 1)
    assert SeasonalNaive(target=["a", "b"]).fit(frame).predict(frame).shape == (40, 2)


def test_default_target_is_the_last_column(frame):
    """The same default as InformerRegressor's."""
    default, named = SeasonalNaive().fit(frame[:30]), SeasonalNaive(target="b").fit(frame[:30])
    np.testing.assert_array_equal(default.predict(frame[30:]), named.predict(frame[30:]))


def test_clones(frame):
    """It stands in the place of an estimator in anyone's loop."""
    assert clone(SeasonalNaive(season=7, target="a")).get_params() == {"season": 7, "target": "a"}
