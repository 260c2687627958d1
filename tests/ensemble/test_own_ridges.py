"""Ridges of each series, as a member of a fit."""

import numpy as np
import pandas as pd
import pytest

import skinformer
from skinformer import InformerRegressor
from skinformer.evaluation import forecast_parts

SIZES = {
    "seq_len": 24,
    "pred_len": 6,
    "random_state": 0,
    "members": ["ridges", "own_ridges"],
}


def panel(n_series=6, n_rows=300, level=20.0, season=24) -> pd.DataFrame:
    """Hours of streets: a day's wave of a phase and size of its own."""
    rng, t = np.random.default_rng(0), np.arange(n_rows)
    times = pd.date_range("2024-01-01", periods=n_rows, freq="h")
    parts = {
        name: pd.DataFrame(
            {
                "y": 10**i * (level + 5 * np.sin(2 * np.pi * (t + 3 * i) / season))
                + 10**i * rng.normal(size=n_rows)
            },
            index=times,
        )
        for i, name in enumerate("abcdefgh"[:n_series])
    }
    return pd.concat(parts, names=["series", "time"])


@pytest.fixture(scope="module")
def fitted() -> InformerRegressor:
    return InformerRegressor("y", **SIZES).fit(panel())


def test_they_take_part_in_panels_and_not_in_one_series(fitted):
    assert fitted.series_blend_["own_ridges"].gt(0).all()
    assert fitted.ensemble_.look_back == 48 == 2 * SIZES["seq_len"]
    one = InformerRegressor("y", **SIZES).fit(panel().loc["a"])
    assert "own_ridges" not in one.series_blend_
    without = InformerRegressor("y", **SIZES | {"members": ["ridges"]}).fit(panel())
    assert "own_ridges" not in without.series_blend_


def test_units_of_a_series_change_nothing(fitted):
    forecast = fitted.forecast()["y"]
    other = panel()
    other.loc["b", "y"] = 1e3 * other.loc["b", "y"].to_numpy()
    found = InformerRegressor("y", **SIZES).fit(other).forecast()["y"]
    np.testing.assert_allclose(found["b"], 1e3 * forecast["b"], rtol=1e-3)
    np.testing.assert_allclose(found["c"], forecast["c"], rtol=1e-3)


def test_no_forecast_sees_later_rows(fitted):
    """Of windows in the middle of the rows, when all later ones are turned over."""
    X = panel(n_rows=420)
    times = X.index.get_level_values("time")
    late = times >= times.unique()[360]
    turned = X.copy()
    for name in "abcdef":
        of_series = late & (X.index.get_level_values("series") == name)
        turned.loc[of_series, "y"] = X.loc[of_series, "y"].to_numpy()[::-1]
    asked = (times >= times.unique()[354]) & ~late
    both = [
        pd.Series(fitted.predict(each), index=X.index)[asked] for each in (X, turned)
    ]
    assert both[0].notna().all()
    pd.testing.assert_series_equal(*both)


@pytest.mark.slow
def test_files_updates_and_new_series(fitted, tmp_path):
    forecast = fitted.forecast(coverage=0.8)
    fitted.save(tmp_path / "model")
    loaded = skinformer.load(tmp_path / "model")
    pd.testing.assert_frame_equal(loaded.forecast(coverage=0.8), forecast)
    later = panel(n_rows=310).groupby(level="series").tail(10)
    loaded.update(later)
    assert loaded.forecast().notna().all(axis=None)
    new = panel(n_rows=120, n_series=1).rename({"a": "new"}, level="series")
    ahead = pd.DataFrame({"y": np.nan}, index=panel(n_rows=126, n_series=1).index[-6:])
    ahead = ahead.rename({"a": "new"}, level="series")
    found = loaded.predict(pd.concat([new, ahead]))[-6:]
    truth = panel(n_rows=126, n_series=1)["y"].to_numpy()[-6:]
    assert np.abs(found - truth).mean() < 3.0
    with pytest.raises(ValueError, match="own_ridges"):
        loaded.export_program()


def test_missing_rows_are_no_obstacle():
    X = panel()
    X.iloc[::17] = np.nan
    model = InformerRegressor("y", **SIZES).fit(X)
    assert model.series_blend_["own_ridges"].gt(0).all()
    found = forecast_parts(model)
    assert found.loc[found["part"] == "own_ridges", "forecast"].notna().all()


@pytest.mark.slow
def test_weeks_are_forecast_by_the_year_before():
    """A year has more rows than a window; classical forecasters see it, and their ridges two."""
    rng, t = np.random.default_rng(0), np.arange(160)
    times = pd.date_range("2020-01-05", periods=160, freq="W")
    parts = {
        name: pd.DataFrame(
            {"y": 10 + 3 * np.sin(2 * np.pi * t / 52 + i) + 0.3 * rng.normal(size=160)},
            index=times,
        )
        for i, name in enumerate("abcdef")
    }
    X = pd.concat(
        {name: part[:-6] for name, part in parts.items()}, names=["series", "time"]
    )
    truth = np.concatenate([part["y"].to_numpy()[-6:] for part in parts.values()])
    model = InformerRegressor("y", seq_len=48, pred_len=6, random_state=0).fit(X)
    sizes = model.ensemble_.members["classical"].fit.candidates.sizes
    assert (sizes.seasons, sizes.ridge_rows) == ((52,), 104)
    assert np.abs(model.forecast()["y"] - truth).mean() < 0.6
