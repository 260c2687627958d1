"""Where forecasts are fed back, levels go about as far as they ever went in as many rows."""

import numpy as np
import pandas as pd
import pytest

from skinformer import InformerRegressor
from skinformer.bounds.level_changes import LevelChanges, Recursion
from skinformer.timeline.clock import RowClock
from skinformer.timeline.timeline import Timeline

PRED = 4


def changes_of(*series):
    """Make it of series of one target."""
    values = np.concatenate([np.asarray(y, dtype=np.float32) for y in series])
    first_row = np.cumsum([0, *map(len, series)])
    history = Timeline(
        values[:, None],
        None,
        first_row,
        np.zeros(len(series), dtype=np.int64),
        RowClock(),
    )
    return LevelChanges(history, 1, PRED)


def hill(n=40):
    """Rise by one a row, and fall as fast."""
    return np.minimum(np.arange(n), np.arange(n)[::-1]).astype(float)


def test_levels_of_a_line_go_on_as_they_went():
    """Also over more horizons than were seen; a fall hides no rise."""
    changes = changes_of(hill())
    for n_horizons in (1, 2, 3, 4):
        expected = 1.25 * PRED * n_horizons
        assert changes.most(n_horizons)[0, 0] == pytest.approx(expected)
    # From row 0 to the middle they rose by 16 at most, and never farther apart.
    assert changes.most(8)[0, 0] == pytest.approx(changes.most(5)[0, 0])
    assert changes.most(18)[0, 0] == pytest.approx(2 * changes.most(9)[0, 0])


def test_each_series_has_a_bound_of_its_own_and_new_ones_have_none():
    changes = changes_of(hill(), 3 * hill())
    one, three, new = changes.most(2)[:, 0]
    assert three == pytest.approx(3 * one)
    assert np.isinf(new)


@pytest.mark.parametrize(
    "rows",
    [np.arange(40.0), np.cumsum(hill()), hill()[: 2 * PRED - 1], []],
    ids=["rising", "total", "short", "none"],
)
def test_what_says_nothing_of_how_far_it_goes_bounds_nothing(rows):
    assert np.isinf(changes_of(rows, hill()).most(2)[0, 0])


def kept(level, n_fed_back):
    """Return forecasts around a level behind so many fed back rows, behind a level of 10."""
    shape = np.array([1.0, -1, 2, -2], dtype=np.float32)
    points = (level + shape)[None, :, None].astype(np.float32)
    outputs = np.stack([points, points + 5], axis=-1)
    recursion = Recursion(
        np.zeros(1, dtype=int), np.array([[n_fed_back]]), np.array([[10.0]])
    )
    moved = changes_of(hill()).keep_near(outputs, points, recursion)
    np.testing.assert_allclose(
        moved - moved.mean(axis=1), outputs - outputs.mean(axis=1)
    )
    return moved[0, :, 0, 0].mean()


def test_all_steps_and_quantiles_of_a_window_move_alike():
    assert kept(90.0, PRED) == pytest.approx(10 + 1.25 * 2 * PRED)
    assert kept(-90.0, PRED) == pytest.approx(10 - 1.25 * 2 * PRED)
    assert kept(90.0, 2 * PRED) == pytest.approx(10 + 1.25 * 3 * PRED)
    assert kept(15.0, PRED) == 15.0


def test_what_sees_no_whole_forecast_stays():
    """Members have proved themselves there."""
    assert kept(90.0, 0) == 90.0
    assert kept(90.0, PRED - 1) == 90.0


def drifting(n_rows=1600):
    """Draw hours that rise by 60 from the 1,280th to the 1,600th."""
    rng = np.random.default_rng(0)
    steps = np.arange(n_rows)
    y = 50 + 10 * np.sin(2 * np.pi * steps / 24) + rng.normal(0, 2, n_rows)
    y += 60 * np.clip((steps - 1280) / 320, 0, 1)
    index = pd.date_range("2024-01-01", periods=n_rows, freq="h")
    return pd.DataFrame({"y": y}, index=index)


@pytest.fixture(scope="module")
def model():
    model = InformerRegressor(
        "y", pred_len=24, members=["ridges", "classical"], random_state=0
    )
    return model.fit(drifting())


def days_of(forecast):
    return forecast["y"].to_numpy().reshape(-1, 24).mean(axis=1)


def test_a_drift_goes_on_no_faster_than_it_went(model):
    """Ridges see their own forecasts: by themselves they reach the bound of all, 240."""
    days = days_of(model.forecast(horizon=20 * 24))
    assert days.max() < 110 + 1.25 * 60 + 5
    assert days.min() > 30


def test_the_first_horizon_and_rolling_origins_stay_as_they_were(model, monkeypatch):
    later = drifting(1900)
    bounded = model.forecast(), model.predict(later[-300:])
    monkeypatch.setattr(LevelChanges, "keep_near", lambda *_: 1 / 0)
    free = model.forecast(), model.predict(later[-300:])
    for one, other in zip(bounded, free, strict=True):
        np.testing.assert_array_equal(one, other)
