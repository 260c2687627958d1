"""Ridges of each series, compared with scikit-learn's on windows that are cut by hand."""

import numpy as np
import pytest
from numpy.lib.stride_tricks import sliding_window_view
from scipy.optimize import nnls
from sklearn.linear_model import Ridge

from skinformer.classical.per_series_ridges import OwnFit, fit_per_series_ridges
from skinformer.classical.windows import UnitWindows
from skinformer.timeline.clock import RowClock

ROWS, PRED_LEN, LENGTH = 12, 4, 120
SIZES = {"look_backs": (ROWS,), "pred_len": PRED_LEN, "of_mean": False}


def waves(
    *periods: float, level: float = 0.0, noise: float = 0.1, length: int = LENGTH
) -> np.ndarray:
    """Waves of different seasons and sizes, series after series."""
    rng, t = np.random.default_rng(0), np.arange(length)
    each = [
        10.0**i
        * (level + np.sin(2 * np.pi * t / period) + noise * rng.normal(size=length))
        for i, period in enumerate(periods)
    ]
    return np.concatenate(each)


def starts(values: np.ndarray, length: int = LENGTH) -> np.ndarray:
    return np.arange(0, len(values) + 1, length)


def by_hand(
    values: np.ndarray, shared: float, strength: float
) -> tuple[np.ndarray, np.ndarray]:
    """Find the map of all series, and those of what it leaves of each: ridges."""
    series = values.reshape(-1, LENGTH)
    units = series.std(axis=1)
    windows = sliding_window_view(series / units[:, None], ROWS + PRED_LEN, axis=1)
    # As many of each: each of the windows as often as `fit_per_series_ridges` takes it.
    windows = windows[:, np.arange(256) * windows.shape[1] // 256]
    windows = windows - windows[:, :, :ROWS].mean(axis=2, keepdims=True)
    past, future = windows[:, :, :ROWS], windows[:, :, ROWS:]

    def ridge(x, y, share):
        alpha = share * (x**2).sum() / ROWS
        return Ridge(alpha, fit_intercept=False).fit(x, y).coef_.T

    everything = ridge(past.reshape(-1, ROWS), future.reshape(-1, PRED_LEN), shared)
    each = zip(past, future, strict=True)
    return everything, np.stack(
        [ridge(x, y - x @ everything, strength) for x, y in each]
    )


def windows_of(past: np.ndarray, series: np.ndarray | None = None) -> UnitWindows:
    """Take rows as windows, of which NaN in front are none."""
    known = ~np.isnan(past)
    n = len(past)
    series = np.arange(n) if series is None else series
    return UnitWindows(
        past, known.sum(axis=1), known, np.zeros(n, dtype=int), series, RowClock()
    )


def ahead_of(
    fit: OwnFit, values: np.ndarray, series: np.ndarray | None = None
) -> np.ndarray:
    """Forecast the rows after each series."""
    rows = values.reshape(-1, LENGTH)[:, -fit.seq_len :]
    return fit.forecast(windows_of(rows, series))


def test_a_series_has_the_shared_ridge_and_ridges_of_what_it_leaves():
    """Of strengths from .01 to 1000, and of none, each by its share."""
    values = waves(5.0, 7.0, 9.5)
    [found] = fit_per_series_ridges(values, starts(values), **SIZES).ridges
    tried = {
        share: by_hand(values, share, 1.0)[0] for share in 10.0 ** np.arange(-4, 2)
    }
    [shared] = [
        share for share, maps in tried.items() if np.allclose(maps, found.shared)
    ]
    each = [
        by_hand(values, shared, strength)[1] for strength in 10.0 ** np.arange(-2, 4)
    ]
    for i in range(3):
        tried = np.stack([maps[i].ravel() for maps in each], axis=1)
        shares, left = nnls(tried, (found.directions @ found.own[i]).ravel())
        assert left < 1e-4 * np.abs(tried).max()
        assert 0.3 < shares.sum() < 1.02


def test_a_new_series_has_the_shared_ridge():
    values = waves(5.0, 7.0, 9.5)
    fit = fit_per_series_ridges(values, starts(values), **SIZES)
    rows = values.reshape(-1, LENGTH)[:, -ROWS:]
    middle = rows.mean(axis=1, keepdims=True)
    found = ahead_of(fit, values, np.full(3, -1))
    np.testing.assert_allclose(
        found, middle + (rows - middle) @ fit.ridges[0].shared, rtol=1e-6
    )


def test_series_unlike_the_others_are_forecast_by_maps_of_their_own():
    """Seven seasons that no one map of twelve rows knows."""
    values = waves(
        2.5, 3.3, 4.1, 5.0, 5.9, 7.3, 9.5, noise=0.0, length=LENGTH + PRED_LEN
    )
    values = values.reshape(7, -1)
    past, truth = values[:, :LENGTH].ravel(), values[:, LENGTH:]
    fit = fit_per_series_ridges(past, starts(past), **SIZES)
    own_error, shared_error = (
        (
            np.abs(ahead_of(fit, past, series) - truth)
            / truth.std(axis=1, keepdims=True)
        ).mean()
        for series in (None, np.full(7, -1))
    )
    assert own_error < 0.5 * shared_error


def test_what_grows_by_a_share_is_seen_in_logarithms():
    rng = np.random.default_rng(1)
    season = np.exp(np.sin(2 * np.pi * np.arange(LENGTH) / 6))
    values = np.concatenate(
        [
            np.exp(0.02 * np.arange(LENGTH)) * season * rng.lognormal(0, 0.02, LENGTH)
            for _ in "abcd"
        ]
    )
    fit = fit_per_series_ridges(values, starts(values), **SIZES)
    weights = {ridge.logs: ridge.weight[:-1].mean() for ridge in fit.ridges}
    assert weights[True] > 0.8
    zeros = np.where(np.arange(len(values)) % LENGTH == 50, 0.0, values)
    assert not any(
        ridge.logs
        for ridge in fit_per_series_ridges(zeros, starts(zeros), **SIZES).ridges
    )


def test_a_long_look_back_is_for_series_that_have_windows_enough():
    values = waves(5.0, 7.0)
    first_row = np.array([0, 40, len(values)])
    fit = fit_per_series_ridges(
        values, first_row, look_backs=(ROWS, 48), pred_len=PRED_LEN, of_mean=False
    )
    long = [ridge for ridge in fit.ridges if len(ridge.shared) == 48]
    assert long
    assert all(ridge.weight[0] == 0.0 < ridge.weight[1] for ridge in long)
    total = sum(ridge.weight for ridge in fit.ridges)
    np.testing.assert_allclose(total, 1.0, rtol=1e-5)


def test_a_short_window_is_one_that_was_constant_before():
    values = waves(5.0, 7.0)
    fit = fit_per_series_ridges(values, starts(values), **SIZES)
    short, whole = (
        np.array([[np.nan] * 10 + [3.0, 4.0]]),
        np.array([[3.0] * 11 + [4.0]]),
    )
    found = [fit.forecast(windows_of(past)) for past in (short, whole)]
    np.testing.assert_allclose(*found, rtol=0.2)
    assert found[0].std() > 0


def test_series_without_windows_have_the_last_value():
    values = waves(5.0, 7.0)
    fit = fit_per_series_ridges(values, np.arange(0, len(values) + 1, 8), **SIZES)
    past = np.array([[np.nan] * 10 + [3.0, 4.0]])
    np.testing.assert_array_equal(fit.forecast(windows_of(past)), 4.0)


@pytest.mark.parametrize("factor", [1e-200, 1e-9, 1e9, 1e200])
def test_units_change_nothing(factor):
    values = waves(5.0, 7.0, level=5.0)
    found, scaled = (
        ahead_of(fit_per_series_ridges(x, starts(x), **SIZES), x)
        for x in (values, factor * values)
    )
    np.testing.assert_allclose(scaled, factor * found, rtol=1e-5)


def test_a_forecast_depends_on_no_other_window():
    values = waves(5.0, 7.0, 9.5, level=5.0)
    fit = fit_per_series_ridges(values, starts(values), **SIZES)
    together = ahead_of(fit, values)
    assert {ridge.logs for ridge in fit.ridges} == {False, True}
    for i, rows in enumerate(values.reshape(-1, LENGTH)):
        alone = fit.forecast(windows_of(rows[None, -ROWS:], np.array([i])))
        np.testing.assert_array_equal(alone[0], together[i])


def test_noise_is_forecast_by_about_its_mean():
    """Strengths are judged on folds of windows that what is judged has not learnt."""
    noise = np.random.default_rng(2).normal(size=4 * LENGTH)
    fit = fit_per_series_ridges(
        noise, starts(noise), look_backs=(48,), pred_len=24, of_mean=False
    )
    seen = np.random.default_rng(3).normal(size=(200, 48))
    found = fit.forecast(windows_of(seen, np.arange(200) % 4)) - seen.mean(
        axis=1, keepdims=True
    )
    assert found.std() < 0.35


def test_constants_are_forecast_as_they_are():
    values = np.repeat([0.1, 0.0, 3.0], LENGTH)
    found = ahead_of(fit_per_series_ridges(values, starts(values), **SIZES), values)
    np.testing.assert_allclose(
        found, np.repeat([0.1, 0.0, 3.0], PRED_LEN).reshape(3, -1)
    )
