"""Running totals are found, and go on by their changes."""

import numpy as np
import pandas as pd
import pytest

from skinformer import InformerRegressor
from skinformer.classical.candidates import candidate_names, forecast_candidates
from skinformer.classical.past import Past
from skinformer.classical.totals import add_up, find_totals, has_totals

NAN = np.nan
WEEK = np.array([5.0, 7, 6, 9, 8, 2, 1])


def past_of(values, horizon):
    values = np.atleast_2d(np.asarray(values, dtype=float))
    wall = np.arange(values.shape[1] + horizon)
    return Past(values, np.broadcast_to(wall, (len(values), len(wall))))


def forecasts(values, *, seasons=(7,), horizon=14, of_mean=False):
    past = past_of(values, horizon)
    options = {"of_mean": of_mean, "of_totals": True}
    names = candidate_names(seasons, **options)
    found = forecast_candidates(past, seasons, **options)
    return dict(zip(names, found.swapaxes(0, 1), strict=True))


def test_a_total_may_stand_still_and_have_gaps_but_not_fall():
    rising = np.repeat(np.arange(20.0), 3)
    gaps = rising.copy()
    gaps[10:30] = NAN
    fallen = rising.copy()
    fallen[30] -= 5
    assert find_totals(np.stack([rising, gaps, fallen])).tolist() == [True, True, False]


def test_one_correction_in_a_hundred_rows_makes_no_other_series():
    rows = np.arange(120.0)
    once, twice = rows.copy(), rows.copy()
    once[60:] -= 10
    twice[60:] -= 10
    twice[90:] -= 10
    assert find_totals(np.stack([once, twice])).tolist() == [True, False]


def test_a_dozen_rises_are_no_chance_and_fewer_are():
    rows = np.arange(30.0)
    few = np.minimum(rows, 11)
    enough = np.minimum(rows, 12)
    assert find_totals(np.stack([few, enough, 0 * rows])).tolist() == [
        False,
        True,
        False,
    ]


def test_what_is_added_up_never_falls_and_rises_in_rows_that_are_not_known():
    totals = past_of([[1.0, 2.0, 3.0], [1.0, NAN, NAN]], 2)
    ahead = np.array([[[4.0, 6.0], [-2.0, 2.0]], [[4.0, 6.0], [-2.0, 2.0]]])
    found = add_up(totals, ahead)
    assert found[0].tolist() == [[7, 13], [3, 5]]
    assert found[1].tolist() == [[15, 21], [3, 5]]


def test_a_total_goes_on_by_the_weekdays_of_its_changes():
    changes = np.resize(WEEK, 84)
    rows = 1000 + changes[:70].cumsum()
    expected = rows[-1] + changes[70:].cumsum()
    for of_mean in (False, True):
        got = forecasts(rows, of_mean=of_mean)
        for name in ("changes season 7", "changes means of season 7"):
            np.testing.assert_allclose(got[name][0], expected, err_msg=name)
        for name in ("changes level + season 7", "changes damped + season 7"):
            np.testing.assert_allclose(got[name][0], expected, rtol=0.002, err_msg=name)


def test_nothing_is_forecast_of_changes_where_a_window_is_no_total():
    rising = np.resize(WEEK, 70).cumsum()
    got = forecasts(np.stack([rising, np.resize(WEEK, 70)]))
    for name, forecast in got.items():
        assert np.isfinite(forecast[0]).all(), name
        assert np.isfinite(forecast[1]).all() == (not name.startswith("changes")), name


def test_no_change_ahead_lies_beyond_a_spread_outside_of_those_that_were_seen():
    rows = np.cumsum(np.arange(40.0) ** 2)
    got = forecasts(rows, horizon=60)
    most = 2 * 39.0**2
    for name, forecast in got.items():
        if name.startswith("changes"):
            ahead = np.diff(forecast[0], prepend=rows[-1])
            assert (ahead >= 0).all(), name
            assert (ahead <= most + 1e-6).all(), name
    # Which is far beyond the bound of a series that is no total.
    assert got["changes line"][0, -1] > 2 * rows[-1]


def test_one_series_that_is_a_total_in_the_rows_looked_back_at_is_enough():
    fallen = np.append(np.arange(40.0, 0, -1), np.arange(20.0))
    other = np.resize(WEEK, 60)
    values = np.concatenate([other, fallen])
    known = np.ones(120, dtype=bool)
    first_row = np.array([0, 60, 120])
    assert has_totals(values, known, first_row, 20)
    assert not has_totals(values, known, first_row, 60)


@pytest.mark.parametrize("n_rows", [15, 40])
def test_totals_of_few_rows_have_intervals(n_rows):
    """Fewer rows, by which intervals are found, may show no total."""
    rng = np.random.default_rng(0)
    years = pd.RangeIndex(n_rows, name="year")
    totals = rng.poisson(5, size=(8, n_rows)) + 1
    panel = {
        f"town {i}": pd.DataFrame({"y": rows.cumsum()}, index=years)
        for i, rows in enumerate(totals)
    }
    table = pd.concat(panel, names=["series"])
    model = InformerRegressor("y", seq_len=10, pred_len=4).fit(table)
    parts = model.leaderboard()["parts"]["classical"]
    assert any(name.startswith("changes") for name in parts)
    forecast = model.forecast(coverage=0.8)
    low, high = forecast.iloc[:, -2], forecast.iloc[:, -1]
    assert (low < high).all()
