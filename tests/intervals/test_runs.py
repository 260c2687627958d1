"""Windows by which ranges are calibrated: none holds another's rows, all hours occur."""

import numpy as np
import pandas as pd
import pytest

from skinformer import InformerRegressor
from skinformer.intervals.runs import (
    choose_runs,
    run_distance,
    trailing_origins,
    trailing_sizes,
)


@pytest.mark.parametrize(
    ("pred_len", "season"), [(24, 24), (12, 24), (1, 7), (96, 96), (5, 1)]
)
def test_windows_of_a_run_meet_all_phases_and_share_no_row(pred_len, season):
    """Windows a day apart would know one hour of the day alone."""
    distance = run_distance(pred_len, season)
    assert distance >= pred_len
    assert len(set(np.arange(season) * distance % season)) == season


@pytest.mark.parametrize("n_most", [5, 40, 300, 5000])
def test_runs_stay_within_series_and_near_the_number_asked_for(n_most):
    """A window beyond its series would read another's rows."""
    low, high = np.array([10, 300, 700]), np.array([250, 290, 1900])
    origins, run, independent = choose_runs(low, high, distance=7, n_most=n_most)
    owner = np.searchsorted(low, origins, side="right") - 1
    assert (origins <= high[owner]).all()
    assert set(owner) <= {0, 2}
    assert len(origins) <= max(1.3 * n_most, 120)
    inside = np.diff(run) == 0
    assert (np.diff(origins)[inside] == 7).all()
    assert independent <= len(origins)
    assert independent <= 35 + 172


def test_runs_of_few_rows_overlap_instead():
    """One series of 300 rows has twelve windows of 24; more begin between them."""
    origins, _, independent = choose_runs(
        np.array([0]), np.array([299]), distance=25, n_most=48
    )
    assert independent == 12
    assert len(origins) == len(set(origins)) == 48


def test_no_window_is_no_error():
    """A series shorter than a forecast has none."""
    origins, _, independent = choose_runs(
        np.array([5]), np.array([4]), distance=3, n_most=10
    )
    assert len(origins) == independent == 0


def test_many_series_are_no_loop():
    """Hundreds of thousands of series: those left out must cost nothing."""
    low = np.arange(200_000) * 50
    origins, _, _ = choose_runs(low, low + 40, distance=10, n_most=100)
    assert 50 <= len(origins) <= 130


def test_earlier_forecasts_ended_before_the_origin():
    """Else they would know what is to be forecast."""
    earlier = trailing_origins(np.array([100, 30]), np.array([80, 28]), 7)
    assert earlier[0, :3].tolist() == [93, 86, -1]
    assert earlier[1].max() == -1


def test_sizes_of_earlier_errors_count_the_later_the_more():
    """The last day says more of tomorrow than the one before."""
    late, early = np.full((1, 24, 1), 1.0), np.full((1, 24, 1), 1.0)
    late[0, 0], early[0, -1] = 3.0, 3.0
    assert trailing_sizes(late) > trailing_sizes(early) > 1


def test_a_lasting_change_is_believed_and_a_single_shock_is_not():
    """A level shift makes one forecast wild, not the times."""
    shock = np.full((1, 24, 1), 1.0)
    shock[0, 3] = 1e9
    assert trailing_sizes(shock) < 1.2
    assert trailing_sizes(np.full((1, 24, 1), 3.0)) > 2.4
    assert trailing_sizes(np.full((1, 24, 1), 1 / 3)) < 1 / 2.4


def test_without_earlier_errors_sizes_are_the_usual_ones():
    """A new series has no history of errors."""
    np.testing.assert_array_equal(
        trailing_sizes(np.full((2, 24, 3), np.nan)), np.ones((2, 3))
    )
    some = np.full((1, 24, 1), np.nan)
    some[0, 0] = 3.0
    assert 1 < trailing_sizes(some) < 2


def test_a_series_that_began_late_has_a_range_of_its_own_size():
    """All errors were zero before it began: its first ones were a million times the usual ones."""
    assert 0.05 < trailing_sizes(np.zeros((1, 24, 1))) < 0.2
    sold = np.append(np.zeros(35), np.random.default_rng(0).normal(10, 1, 9))
    rows = pd.DataFrame({"y": sold}, pd.date_range("2020-01-01", periods=44, freq="MS"))
    model = InformerRegressor(
        seq_len=12, pred_len=4, members=["ridges"], random_state=0
    ).fit(rows)
    assert (model.forecast(coverage=0.8)["y_0.9"] < 100).all()


def test_all_windows_are_kept_where_as_many_are_wanted():
    """Nine windows over a mean length of 9 / 7 were 6.999 runs."""
    low = np.zeros(7, dtype=np.int64)
    high = np.array([0, 0, 0, 0, 0, 5, 5])
    origins, _, n_apart = choose_runs(low, high, distance=5, n_most=9)
    assert (len(origins), n_apart) == (9, 9)
