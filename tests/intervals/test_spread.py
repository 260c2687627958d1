"""Sizes of errors: what made them is found, and what did not gets no slope."""

import numpy as np
import pytest

from skinformer.intervals.spread import fit_spread, typical_sizes


def drawn(n=600, pred_len=6, *, slope=(0.0, 0.0), profile=None, seed=0):
    """Draw errors whose sizes are known."""
    rng = np.random.default_rng(seed)
    features = np.broadcast_to(rng.normal(size=(n, 1, 1, 2)), (n, pred_len, 1, 2))
    steps = rng.integers(0, 1000, size=(n, 1)) + np.arange(pred_len)
    log_size = np.log1p(np.arange(pred_len)) / 2 + features[:, :, 0] @ np.array(slope)
    if profile is not None:
        log_size = log_size + profile[steps % len(profile)]
    errors = rng.laplace(size=(n, pred_len)) * np.exp(log_size)
    return errors[..., None], features, steps, log_size


def test_slopes_are_found():
    """Volatility and level explain errors as far as they do."""
    errors, features, steps, _ = drawn(slope=(0.6, 0.0))
    spread = fit_spread(errors, features, steps, seasons=(), n_windows=600)
    assert spread.slope[0] == pytest.approx([0.6, 0.0], abs=0.08)
    assert np.exp(spread.typical[:, 0]) == pytest.approx(
        np.sqrt(np.arange(1, 7)), rel=0.15
    )


def test_what_is_wilder_is_never_forecast_better():
    """A negative slope found by chance would narrow ranges when times get wild."""
    errors, features, steps, _ = drawn(slope=(-0.8, 1.7))
    spread = fit_spread(errors, features, steps, seasons=(), n_windows=600)
    assert spread.slope.min() >= 0
    assert spread.slope.max() <= 1


def test_few_windows_prove_no_slope():
    """Overlapping windows are counted as the few forecasts that they are."""
    errors, features, steps, _ = drawn(slope=(0.6, 0.0))
    many = fit_spread(errors, features, steps, seasons=(), n_windows=600).slope[0, 0]
    few = fit_spread(errors, features, steps, seasons=(), n_windows=6).slope[0, 0]
    assert few < many / 3


def test_the_profile_of_a_season_is_found_and_shrunk():
    """Evenings are harder to forecast than nights; that takes evidence, too."""
    profile = np.array([-0.7, 0.0, 0.0, 0.7])
    errors, features, steps, _ = drawn(profile=profile)
    found = fit_spread(errors, features, steps, seasons=(4,), n_windows=600).profile[
        :, 0
    ]
    assert found[3] - found[0] == pytest.approx(1.4, abs=0.2)
    doubted = fit_spread(errors, features, steps, seasons=(4,), n_windows=10).profile[
        :, 0
    ]
    assert doubted[3] - doubted[0] < 1.0


def test_a_longer_season_has_a_profile_as_far_as_windows_prove_it():
    """Sunday's morning is not Monday's; where nobody knows, it is a morning."""
    profile = np.array([-0.7, 0.7, 0.7, 0.7])
    errors, features, steps, _ = drawn(profile=profile)
    many = fit_spread(errors, features, steps, seasons=(2, 4), n_windows=600).profile[
        :, 0
    ]
    assert many[2] - many[0] == pytest.approx(1.4, abs=0.25)
    few = fit_spread(errors, features, steps, seasons=(2, 4), n_windows=10).profile[
        :, 0
    ]
    assert few[2] - few[0] < 1.0


def test_sizes_follow_features_and_phase():
    """What was fitted is what is told of later windows; what is unknown there counts as usual."""
    profile = np.array([-0.7, 0.7])
    errors, features, steps, log_size = drawn(slope=(0.5, 0.3), profile=profile)
    spread = fit_spread(errors, features, steps, seasons=(2,), n_windows=600)
    told = spread.log_size(features, steps)[..., 0] + spread.typical[:, 0]
    assert np.abs(told - log_size).max() < 0.5
    unknown = spread.log_size(np.full_like(features, np.nan), steps)
    np.testing.assert_allclose(unknown[..., 0], spread.profile[steps % 2, 0])


def test_missing_errors_and_several_targets_are_told_apart():
    """Each target has sizes of its own, from the truths that are known."""
    errors, features, steps, _ = drawn()
    both = np.concatenate([errors, 10 * errors], axis=2)
    both[::2, 3:, 1] = np.nan
    features = np.repeat(features, 2, axis=2)
    spread = fit_spread(both, features, steps, seasons=(), n_windows=600)
    apart = spread.typical[:, 1] - spread.typical[:, 0]
    assert apart == pytest.approx(np.full(6, np.log(10)), abs=0.15)


def test_sizes_of_steps_are_smoothed_where_windows_are_few():
    """Ten windows know the size of one step to a quarter: a curve knows better."""
    rng = np.random.default_rng(0)
    errors = rng.laplace(size=(10, 24, 1)) * np.sqrt(np.arange(1, 25))[:, None]
    truth = np.log(np.arange(1, 25)) / 2
    rough, smooth = (
        np.abs(typical_sizes(errors, n)[:, 0] - truth) for n in (1e9, 10.0)
    )
    assert smooth.mean() < 0.7 * rough.mean()


def test_steps_that_nobody_saw_and_errors_of_zero_have_a_size():
    """A constant is forecast without error; its ranges are narrow, not NaN."""
    errors = np.zeros((3, 4, 2))
    errors[:, 2:, 1] = np.nan
    errors[:, :2, 1] = [[1.0, 2.0]]
    sizes = typical_sizes(errors, 3.0)
    assert np.isfinite(sizes).all()
    assert np.exp(sizes[:, 0]).max() < 1e-5
    # From the second step to the fourth.
    assert 1 <= np.exp(sizes[3, 1]) <= 2.01 * np.sqrt(2)
