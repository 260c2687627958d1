"""sktime's forecaster around an InformerRegressor."""

import warnings

import numpy as np
import pandas as pd
import pytest
from flat_parameters import with_parts

from skinformer import InformerRegressor

pytest.importorskip("sktime")
from skinformer.beside.sktime import InformerForecaster

SMALL = {
    "seq_len": 12, "pred_len": 4, "d_model": 8, "n_heads": 2, "max_iter": 1, "random_state": 0
}  # fmt: skip


def _rows(n=130):
    rng = np.random.default_rng(0)
    days = pd.period_range("2024-01-01", periods=n, freq="D")
    X = pd.DataFrame({"price": rng.normal(size=n)}, days)
    return pd.Series(np.sin(np.arange(n) / 3) - X["price"], days, name="load"), X


@pytest.fixture
def forecaster():
    y, X = _rows()
    return InformerForecaster(InformerRegressor(**with_parts(**SMALL))).fit(
        y[:100], X[:100]
    )


def test_it_forecasts_what_the_regressor_does(forecaster):
    """An adapter adds nothing: X is known ahead, y the target."""
    y, X = _rows()
    model = InformerRegressor("load", **with_parts(known_future=["price"], **SMALL))
    rows = X.assign(load=y)
    model.fit(rows[:100])
    expected = model.forecast(rows[["price"]][100:106])["load"]
    forecast = forecaster.predict(fh=[1, 2, 6], X=X[100:106])
    np.testing.assert_array_equal(forecast, expected.iloc[[0, 1, 5]])
    assert forecast.index.equals(expected.index[[0, 1, 5]])
    interval = forecaster.predict_interval(fh=[1, 6], X=X[100:106], coverage=[0.8, 0.5])
    assert (interval["load", 0.8, "lower"] < interval["load", 0.5, "lower"]).all()


def test_update_skips_the_rows_it_knows(forecaster):
    """The windows of sktime's splitters overlap."""
    y, X = _rows()
    forecaster.update(y[80:110], X[80:110])
    assert forecaster.cutoff[0] == y.index[109]
    first = forecaster.predict(fh=[1], X=X[110:111])
    forecaster.update(y[80:110], X[80:110])
    np.testing.assert_array_equal(forecaster.predict(fh=[1], X=X[110:111]), first)
    once = InformerForecaster(InformerRegressor(**with_parts(**SMALL))).fit(
        y[:100], X[:100]
    )
    once.update(y[100:110], X[100:110])
    np.testing.assert_array_equal(once.predict(fh=[1], X=X[110:111]), first)


def test_rows_of_the_past_are_forecast_with_their_covariates(forecaster):
    """No rows before the cutoff are handed on by sktime."""
    _, X = _rows()
    forecast = forecaster.predict(fh=[-3, 0, 1], X=X[96:101])
    rows = X[:100].assign(load=np.nan)
    inside = forecaster.regressor_.predict(rows)
    np.testing.assert_array_equal(forecast[:2], inside[[96, 99], 0])


def test_a_panel_is_updated_series_by_series():
    """Each from its own end; rows that all of them know are skipped."""
    y, _ = _rows()
    both = pd.concat({"a": y, "b": 2 * y}, names=["site", "day"]).to_frame()
    both.index = both.index.set_levels(both.index.levels[1].to_timestamp(), level=1)
    model = InformerForecaster(InformerRegressor(**with_parts(**SMALL)))
    early = both.groupby(level=0).head(100)
    model.fit(early)
    model.update(both.groupby(level=0).head(110))
    ends = model.regressor_.make_future_frame(1).index.get_level_values(1)
    assert set(ends) == {y.index[110].to_timestamp()}
    assert len(model.predict(fh=[1, 2])) == 4


def test_the_example_forecasts_and_updates(run_example):
    """As told."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", FutureWarning)  # of sktime 1.3's defaults
        names = run_example("sktime_forecaster.py")
    assert len(names["interval"]) == 2
