"""The closed-form ridge equals scikit-learn's on windows that are laid out one by one."""

import numpy as np
import pytest
from ridge import forecast_ridge, normal_equations, solve_ridge
from sklearn.linear_model import Ridge

SEQ, PRED, N = 6, 3, 4500


@pytest.fixture
def values():
    return np.random.default_rng(0).normal(size=(N, 2)).cumsum(axis=0)


def windows(values, origins, columns):
    """Lay out the distances from the last value, one window of one column per row."""
    past, future = [], []
    for j in columns:
        for origin in origins:
            last = values[origin - 1, j]
            past.append(values[origin - SEQ : origin, j] - last)
            future.append(values[origin : origin + PRED, j] - last)
    return np.array(past), np.array(future)


@pytest.mark.parametrize("shared", [True, False])
def test_streamed_sums_give_the_ridge_of_all_windows(values, shared):
    """Adding up by chunks, of 2048 windows, must change nothing but the memory."""
    origins = np.arange(SEQ, N - PRED + 1)
    sums = normal_equations(values, origins, seq_len=SEQ, pred_len=PRED, shared=shared)
    maps = solve_ridge(sums, alpha=2.0)
    groups = [(0, 1)] if shared else [(0,), (1,)]
    assert len(maps) == len(groups)
    for found, columns in zip(maps, groups, strict=True):
        oracle = Ridge(alpha=2.0, fit_intercept=False).fit(
            *windows(values, origins, columns)
        )
        np.testing.assert_allclose(found, oracle.coef_.T, rtol=1e-8, atol=1e-10)


@pytest.mark.parametrize("shared", [True, False])
def test_a_forecast_is_the_last_value_plus_the_mapped_distances(values, shared):
    """Adding a level to a series adds it to the forecast."""
    origins = np.arange(SEQ, N - PRED + 1)
    sums = normal_equations(values, origins, seq_len=SEQ, pred_len=PRED, shared=shared)
    maps = solve_ridge(sums, alpha=2.0)
    forecast = forecast_ridge(maps, values, origins)
    for j in range(2):
        past, _ = windows(values, origins, [j])
        expected = values[origins - 1, j][:, None] + past @ maps[0 if shared else j]
        np.testing.assert_allclose(forecast[:, :, j], expected)
    np.testing.assert_allclose(
        forecast_ridge(maps, values + 1e3, origins), forecast + 1e3
    )


def test_no_truth_after_the_last_training_window_matters(values):
    """The sums hold the windows they are asked for and nothing else."""
    origins = np.arange(SEQ, 50)
    changed = values.copy()
    changed[50 + PRED - 1 :] = 99.0
    options = {"seq_len": SEQ, "pred_len": PRED, "shared": True}
    for a, b in zip(
        normal_equations(values, origins, **options),
        normal_equations(changed, origins, **options),
        strict=True,
    ):
        np.testing.assert_array_equal(a, b)
