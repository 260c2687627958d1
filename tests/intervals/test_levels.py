"""Errors by the level of the forecast: skewed where the forecast is low, and only if it is so."""

from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest

from skinformer import InformerRegressor
from skinformer.intervals import calibration
from skinformer.intervals.changes import with_random_walk
from skinformer.intervals.levels import level_shares
from skinformer.intervals.residuals import Residuals
from skinformer.intervals.sized_rows import interpolate
from skinformer.intervals.spread import fit_spread

LEVELS = np.arange(1, 10) / 10


def sample(errors, points, n_windows):
    """Return errors of one series beside what was forecast."""
    each = np.arange(len(errors))
    errors, points = errors.astype(np.float32), points.astype(np.float32)
    no_share = np.zeros(errors.shape[2])
    return Residuals(errors, n_windows, 0 * each, each, points, no_share, no_share)


def rain(n=800, seed=0):
    """Return errors upwards where little is forecast, and noise as those of another target."""
    rng = np.random.default_rng(seed)
    points = rng.uniform(size=(n, 3, 2))
    upwards = rng.exponential(size=(n, 3)) * (1 - points[..., 0])
    return np.stack([upwards, rng.normal(size=(n, 3))], axis=2), points


def test_errors_that_go_by_the_level_are_told_from_those_that_do_not():
    shares = level_shares(sample(*rain(), 400.0))
    assert shares[0] > 0.8
    assert shares[1] < 0.4


def test_noise_is_not_taken_for_a_level():
    """A block that judged itself would find a level in few errors."""
    rng = np.random.default_rng(0)
    errors, points = rng.normal(size=(2, 160, 8, 6))
    assert level_shares(sample(errors, points, 1e9)).mean() < 0.5


def test_the_fewer_forecasts_there_are_the_less_they_say():
    errors, points = rain()
    many, some = (level_shares(sample(errors, points, n))[0] for n in (400.0, 30.0))
    assert some == pytest.approx(many * 430 / 400 / 2)
    assert (level_shares(sample(errors, points, 7.0)) == 0).all()


def test_quantiles_are_those_of_forecasts_alike_as_far_as_these_are_believed():
    errors, points = rain(100_000)
    shares = np.array([1.0, 0.0])
    found = replace(sample(errors, points, 1e9), level_share=shares)
    at = np.array([[0.2, 0.2], [0.8, 0.8]])
    ahead = np.full((2, 2), 1)
    quantiles = found.quantiles_at(LEVELS, at, ahead)
    expected = -np.log(1 - LEVELS)  # of the exponential law
    np.testing.assert_allclose(quantiles[:, 0, 0], 0.8 * expected, rtol=0.08)
    np.testing.assert_allclose(quantiles[:, 1, 0], 0.2 * expected, rtol=0.08)
    of_all = found.quantiles(LEVELS)[:, 1, 1]
    np.testing.assert_allclose(quantiles[:, :, 1], of_all[:, None].repeat(2, axis=1))


def test_few_errors_are_not_cut_into_pieces():
    errors, points = rain(40)
    few = sample(errors[:, :1], points[:, :1], 40.0)
    assert few.quantiles_near(LEVELS, 0, 0, np.zeros(1)) is None


def test_forecasts_that_are_all_alike_have_the_errors_of_all():
    errors = np.linspace(-1, 1, 1600).reshape(1600, 1, 1)
    found = sample(errors, 0 * errors, 400.0).quantiles_near(LEVELS, 0, 0, np.zeros(1))
    np.testing.assert_allclose(found[:, 0], 2 * LEVELS - 1, atol=0.01)


def test_a_few_long_forecasts_are_no_more_than_they_are():
    """Of a table with many columns few windows are kept."""
    errors, points = rain(30)
    few = sample(errors, points, 30.0)
    assert (level_shares(replace(few, n_windows=400.0)) == level_shares(few)).all()


def test_copies_of_errors_prove_nothing():
    """Where few errors of a target are known the windows of all are repeated."""
    errors, points = rain(20)
    errors[:, :, 1] = np.nan
    few = replace(sample(errors, points, 20.0), level_share=np.array([0.3, 0.2]))
    spread = fit_spread(
        errors.astype(np.float64),
        np.zeros((20, 3, 2, 0)),
        np.zeros((20, 3), dtype=int),
        seasons=(),
        n_windows=20.0,
    )
    rows = np.random.default_rng(0).normal(size=(50, 2)).astype(np.float32)
    timeline = SimpleNamespace(weight=None, first_row=np.array([0, 50]))
    _, found = with_random_walk(spread, few, timeline, rows, errors)
    assert len(found.errors) > 20
    assert found.points.shape == found.errors.shape
    assert found.level_share.tolist() == [0.3, 0.0]


def test_unknown_errors_do_not_count():
    errors, points = rain(2000)
    gaps = np.random.default_rng(1).random(errors.shape) < 0.3
    holes = np.where(gaps, np.nan, errors)
    whole, gappy = (
        sample(each, points, 400.0).quantiles_near(LEVELS, 1, 0, np.array([0.3]))
        for each in (errors, holes)
    )
    assert np.isfinite(gappy).all()
    np.testing.assert_allclose(gappy, whole, rtol=0.25, atol=0.05)


def test_residuals_between_the_middles_of_shares_are_interpolated():
    rng = np.random.default_rng(0)
    residuals = np.sort(rng.normal(size=(99, 4, 2)), axis=0)
    levels = rng.uniform(size=(4, 6, 3, 2))
    ahead = rng.integers(0, 3, size=(4, 2))
    found = interpolate(residuals, levels, ahead)
    shares = (np.arange(99) + 0.5) / 99
    for row in range(4):
        for target in range(2):
            expected = np.interp(
                levels[row, :, ahead[row, target], target],
                shares,
                residuals[:, row, target],
            )
            np.testing.assert_allclose(found[:, row, target], expected, atol=1e-12)


def saturated_hours(n=3000, seed=0):
    """Return hours of a walk back to 11 of which nothing above 10 is seen, as of visibility."""
    noise = np.random.default_rng(seed).normal(size=n)
    values = np.empty(n)
    values[0] = 11
    for i in range(1, n):
        values[i] = 11 + 0.95 * (values[i - 1] - 11) + noise[i]
    index = pd.date_range("2024-01-01", periods=n, freq="h")
    return pd.DataFrame({"y": np.minimum(values, 10)}, index=index)


def loss_of(train, test):
    """Forecast days one after the other, and return the mean quantile loss."""
    model = InformerRegressor(
        "y", seq_len=48, pred_len=12, members=["ridges"], loss="mae", random_state=0
    )
    quantiles = model.fit(train).predict_quantiles(test, LEVELS)
    excess = test["y"].to_numpy()[:, None] - np.asarray(quantiles).reshape(
        len(test), -1
    )
    return np.maximum(LEVELS * excess, (LEVELS - 1) * excess).mean()


def test_what_cannot_be_exceeded_is_not(monkeypatch):
    rows = saturated_hours()
    train, test = rows[:2400], rows[2400:]
    found = loss_of(train, test)

    def none(residuals):
        return np.zeros(residuals.errors.shape[2])

    monkeypatch.setattr(calibration, "level_shares", none)
    assert found < 0.97 * loss_of(train, test)
