"""Quantiles of a sample: exact where it is large, wider where it is small, never crossing."""

import numpy as np
import pandas as pd
import pytest

from skinformer import InformerRegressor
from skinformer.intervals.residuals import Residuals

LEVELS = np.array([0.025, 0.1, 0.5, 0.9, 0.975])


def sample(errors, n_windows):
    """Return errors of one series."""
    each = np.arange(len(errors))
    no_share = np.zeros(errors.shape[2])
    return Residuals(errors, n_windows, 0 * each, each, errors, no_share, no_share)


def test_many_independent_errors_give_their_quantiles():
    """The i-th of n is the quantile i / (n + 1)."""
    errors = np.arange(1, 1000)[:, None, None].astype(np.float32)
    found = sample(errors, 1e9).quantiles(LEVELS)[:, 0, 0]
    np.testing.assert_allclose(found, 1000 * LEVELS, rtol=1e-5)


def test_few_forecasts_make_wider_ranges_by_students_law():
    """Ten forecasts know the size of their errors to a quarter."""
    rng = np.random.default_rng(0)
    errors = rng.normal(size=(100_000, 1, 1)).astype(np.float32)
    found = sample(errors, 11.0).quantiles(LEVELS)[:, 0, 0]
    # Ten degrees of freedom.
    student = np.array([-2.2281, -1.3722, 0.0, 1.3722, 2.2281])
    np.testing.assert_allclose(found, student, atol=0.03)


@pytest.mark.parametrize("seed", range(20))
def test_quantiles_never_cross(seed):
    """Five hundred random pairs of levels each, of small and skewed samples."""
    rng = np.random.default_rng(seed)
    errors = (
        rng.exponential(size=(rng.integers(1, 9), 3, 2)).astype(np.float32)
        + rng.normal()
    )
    levels = np.sort(rng.random(500))
    found = sample(errors, rng.integers(1, 9)).quantiles(levels)
    assert (np.diff(found, axis=0) >= 0).all()


def test_a_small_sample_borrows_from_the_steps_beside_it():
    """The extreme of eight windows is no 95th percentile."""
    errors = np.random.default_rng(0).normal(size=(8, 60, 1)).astype(np.float32)
    found = sample(errors, 1e9).quantiles(np.array([0.95]))[0, :, 0]
    assert found == pytest.approx(np.full(60, 1.64), abs=0.4)


def test_a_large_sample_does_not_borrow():
    """Steps may be off in ways of their own."""
    errors = np.stack([np.ones(500), -np.ones(500)], axis=1)[..., None].astype(
        np.float32
    )
    medians = sample(errors, 1e9).quantiles(np.array([0.5]))[0].ravel()
    np.testing.assert_allclose(medians, [1.0, -1.0])


def test_the_median_of_few_forecasts_hardly_moves_ranges():
    """All series of a panel may have gone one way in the few years that there are."""
    errors = np.random.default_rng(0).normal(3.0, size=(2000, 1, 1)).astype(np.float32)
    few, many = (
        sample(errors, n).quantiles(np.array([0.1, 0.5, 0.9])) for n in (6.0, 3000.0)
    )
    assert few[1].item() == pytest.approx(0.5, abs=0.05)  # 6 / 36 of 3
    assert many[1].item() == pytest.approx(3.0, abs=0.1)
    assert np.ptp(few) >= np.ptp(many)


def test_missing_errors_are_left_out():
    """A truth that nobody measured says nothing of errors."""
    errors = np.array([[[1.0], [np.nan]], [[3.0], [np.nan]]], dtype=np.float32)
    assert sample(errors, 1e9).quantiles(np.array([0.5]))[0, 0, 0] == pytest.approx(2.0)
    nothing = np.full((3, 1, 1), np.nan, dtype=np.float32)
    assert sample(nothing, 3.0).quantiles(np.array([0.9])).item() == 0.0


def test_paths_are_known_where_errors_of_some_windows_are_not():
    """Truths that were missing made steps of a fifth of the paths NaN."""
    values = np.random.default_rng(0).normal(10, 1, 200)
    values[[50, 90, 120, 121, 122, 150, 180]] = np.nan
    rows = pd.DataFrame(
        {"y": values}, pd.date_range("2024-01-01", periods=200, freq="D")
    )
    model = InformerRegressor(
        seq_len=14, pred_len=7, members=["ridges"], random_state=0
    ).fit(rows)
    assert np.isnan(model.intervals_.residuals.errors).any()
    assert model.sample(50, random_state=0).notna().all(axis=None)
    none = sample(np.full((3, 2, 1), np.nan, dtype=np.float32), 1.0)
    assert not none.filled.any()


def test_a_step_without_known_errors_varies_as_the_others_do():
    random = np.random.default_rng(0)
    errors = random.normal(size=(500, 4, 1)).astype(np.float32)
    errors[:, 2] = np.nan
    residuals = sample(errors, 500.0)
    low, high = residuals.quantiles(np.array([0.1, 0.9]))[:, 2, 0]
    assert (low, high) == pytest.approx((-1.28, 1.28), abs=0.15)
    assert residuals.filled[:, 2].std() == pytest.approx(1.0, abs=0.15)
