"""Ridges of each series, compared with scikit-learn's on windows that are cut by hand."""

import numpy as np
import pytest
from numpy.lib.stride_tricks import sliding_window_view
from sklearn.linear_model import Ridge

from skinformer.classical import own
from skinformer.classical.own import fit_own
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
        10.0**i * (level + np.sin(2 * np.pi * t / period) + noise * rng.normal(size=length))
        for i, period in enumerate(periods)
    ]
    return np.concatenate(each)


def starts(values: np.ndarray, length: int = LENGTH) -> np.ndarray:
    return np.arange(0, len(values) + 1, length)


def by_hand(values: np.ndarray, shared: float, strength: float | None) -> np.ndarray:
    """Forecast the rows after each series: a ridge of all series, and one of what it leaves."""
    series = values.reshape(-1, LENGTH)
    units = series.std(axis=1)
    windows = sliding_window_view(series / units[:, None], ROWS + PRED_LEN, axis=1)
    # As many of each: each of the windows as often as `fit_own` takes it.
    n = windows.shape[1]
    windows = windows[:, np.arange(own._WINDOWS[1]) * n // own._WINDOWS[1]]
    windows = windows - windows[:, :, :ROWS].mean(axis=2, keepdims=True)
    past, future = windows[:, :, :ROWS], windows[:, :, ROWS:]

    def ridge(x, y, share):
        alpha = share * (x**2).sum() / ROWS
        return Ridge(alpha, fit_intercept=False).fit(x, y)

    everything = ridge(past.reshape(-1, ROWS), future.reshape(-1, PRED_LEN), shared)
    found = []
    for x, y, rows, unit in zip(past, future, series, units, strict=True):
        last = rows[-ROWS:] - rows[-ROWS:].mean()
        ahead = everything.predict(last[None] / unit)[0]
        if strength is not None:
            ahead += ridge(x, y - everything.predict(x), strength).predict(last[None] / unit)[0]
        found.append(rows[-ROWS:].mean() + unit * ahead)
    return np.stack(found)


def windows_of(past: np.ndarray, series: np.ndarray | None = None) -> UnitWindows:
    """Take rows as windows, of which NaN in front are none."""
    known = ~np.isnan(past)
    n = len(past)
    series = np.arange(n) if series is None else series
    return UnitWindows(past, known.sum(axis=1), known, np.zeros(n, dtype=int), series, RowClock())


def ahead_of(fit: own.OwnFit, values: np.ndarray, series: np.ndarray | None = None) -> np.ndarray:
    """Forecast the rows after each series."""
    rows = values.reshape(-1, LENGTH)[:, -fit.seq_len :]
    return fit.forecast(windows_of(rows, series))


@pytest.mark.parametrize("strength", [0.1, 10.0])
def test_a_series_has_the_shared_ridge_and_one_of_what_it_leaves(monkeypatch, strength):
    """In all directions of a window, of one strength, without logarithms."""
    values = waves(5.0, 7.0, 9.5)
    monkeypatch.setattr(own, "_DIRECTIONS", (ROWS, ROWS))
    monkeypatch.setattr(own, "_SHARED_STRENGTHS", np.array([0.01]))
    monkeypatch.setattr(own, "_STRENGTHS", np.array([strength]))
    monkeypatch.setattr(own, "_TEMPERATURE", 1e9)  # as much for the shared ridge alone
    fit = fit_own(values, starts(values), **SIZES)
    expected = (by_hand(values, 0.01, strength) + by_hand(values, 0.01, None)) / 2
    np.testing.assert_allclose(ahead_of(fit, values), expected, rtol=1e-5, atol=1e-5)


def test_a_new_series_has_the_shared_ridge(monkeypatch):
    values = waves(5.0, 7.0, 9.5)
    monkeypatch.setattr(own, "_SHARED_STRENGTHS", np.array([0.01]))
    fit = fit_own(values, starts(values), **SIZES)
    found = ahead_of(fit, values, np.full(3, -1))
    np.testing.assert_allclose(found, by_hand(values, 0.01, None), rtol=1e-5, atol=1e-5)


def test_series_unlike_the_others_are_forecast_by_maps_of_their_own():
    """Seven seasons that no one map of twelve rows knows."""
    values = waves(2.5, 3.3, 4.1, 5.0, 5.9, 7.3, 9.5, noise=0.0, length=LENGTH + PRED_LEN)
    values = values.reshape(7, -1)
    past, truth = values[:, :LENGTH].ravel(), values[:, LENGTH:]
    fit = fit_own(past, starts(past), **SIZES)
    own_error, shared_error = (
        (np.abs(ahead_of(fit, past, series) - truth) / truth.std(axis=1, keepdims=True)).mean()
        for series in (None, np.full(7, -1))
    )
    assert own_error < 0.5 * shared_error


def test_what_grows_by_a_share_is_seen_in_logarithms():
    rng = np.random.default_rng(1)
    season = np.exp(np.sin(2 * np.pi * np.arange(LENGTH) / 6))
    values = np.concatenate(
        [np.exp(0.02 * np.arange(LENGTH)) * season * rng.lognormal(0, 0.02, LENGTH) for _ in "abcd"]
    )
    fit = fit_own(values, starts(values), **SIZES)
    weights = {ridge.logs: ridge.weight[:-1].mean() for ridge in fit.ridges}
    assert weights[True] > 0.8
    zeros = np.where(np.arange(len(values)) % LENGTH == 50, 0.0, values)
    assert not any(ridge.logs for ridge in fit_own(zeros, starts(zeros), **SIZES).ridges)


def test_a_long_look_back_is_for_series_that_have_windows_enough():
    values = waves(5.0, 7.0)
    first_row = np.array([0, 40, len(values)])
    fit = fit_own(values, first_row, look_backs=(ROWS, 48), pred_len=PRED_LEN, of_mean=False)
    long = [ridge for ridge in fit.ridges if len(ridge.shared) == 48]
    assert long
    assert all(ridge.weight[0] == 0.0 < ridge.weight[1] for ridge in long)
    total = sum(ridge.weight for ridge in fit.ridges)
    np.testing.assert_allclose(total, 1.0, rtol=1e-5)


def test_a_short_window_is_one_that_was_constant_before():
    values = waves(5.0, 7.0)
    fit = fit_own(values, starts(values), **SIZES)
    short, whole = np.array([[np.nan] * 10 + [3.0, 4.0]]), np.array([[3.0] * 11 + [4.0]])
    found = [fit.forecast(windows_of(past)) for past in (short, whole)]
    np.testing.assert_allclose(*found, rtol=0.2)
    assert found[0].std() > 0


def test_series_without_windows_have_the_last_value():
    values = waves(5.0, 7.0)
    fit = fit_own(values, np.arange(0, len(values) + 1, 8), **SIZES)
    past = np.array([[np.nan] * 10 + [3.0, 4.0]])
    np.testing.assert_array_equal(fit.forecast(windows_of(past)), 4.0)


@pytest.mark.parametrize("factor", [1e-200, 1e-9, 1e9, 1e200])
def test_units_change_nothing(factor):
    values = waves(5.0, 7.0, level=5.0)
    found, scaled = (ahead_of(fit_own(x, starts(x), **SIZES), x) for x in (values, factor * values))
    np.testing.assert_allclose(scaled, factor * found, rtol=1e-5)


def test_a_forecast_depends_on_no_other_window():
    values = waves(5.0, 7.0, 9.5, level=5.0)
    fit = fit_own(values, starts(values), **SIZES)
    together = ahead_of(fit, values)
    assert {ridge.logs for ridge in fit.ridges} == {False, True}
    for i, rows in enumerate(values.reshape(-1, LENGTH)):
        alone = fit.forecast(windows_of(rows[None, -ROWS:], np.array([i])))
        np.testing.assert_array_equal(alone[0], together[i])


def test_blocks_are_forecast_without_their_truths():
    """Noise has no error below that of its mean, however small the panel."""
    noise = np.random.default_rng(2).normal(size=4 * LENGTH)
    part = own._Part(noise, starts(noise), np.arange(4), 48, 24, 16, 128, False)
    errors = part.errors()
    assert errors.min() > 0.9 * np.abs(noise).mean()


def test_constants_are_forecast_as_they_are():
    values = np.repeat([0.1, 0.0, 3.0], LENGTH)
    found = ahead_of(fit_own(values, starts(values), **SIZES), values)
    np.testing.assert_allclose(found, np.repeat([0.1, 0.0, 3.0], PRED_LEN).reshape(3, -1))
