"""Each classical candidate forecasts what its textbook says, for windows of any length."""

import numpy as np
import pytest

from skinformer.classical.candidates import candidate_names, forecast_candidates
from skinformer.classical.windows import padded

RNG = np.random.default_rng(0)
PAST = 20 + RNG.normal(size=(4, 30)).cumsum(axis=1)
LENGTH = np.array([30, 17, 5, 1])
H = 6


def forecasts(past=PAST, length=LENGTH, period=4):
    """Name the forecasts on the values and on the logarithms."""
    plain, logs = np.split(
        forecast_candidates(padded(past, length), length, H, period, of_mean=False), 2, axis=1
    )
    names = candidate_names(period, of_mean=False)
    return [dict(zip(names, part.transpose(1, 0, 2), strict=True)) for part in (plain, logs)]


def theta(y, alpha, horizon):
    """Give half a line that goes on and half the smoothed line of twice its curvature."""
    rows = np.arange(len(y))
    slope = np.polyfit(rows, y, 1)[0] if len(y) > 1 else 0.0
    first = np.arange(1, min(len(y), 10) + 1)
    head = y[: len(first)]
    level = head.mean()
    for value in y:
        level = alpha * value + (1 - alpha) * level
    # Hyndman and Billah (2003): simple smoothing with a drift of half the slope.
    drift = (1 - (1 - alpha) ** len(y)) / alpha
    return level + slope / 2 * (drift + np.arange(horizon))


@pytest.mark.parametrize("alpha", [0.2, 0.5, 1.0])
def test_theta_is_smoothing_with_half_the_slope(alpha):
    got = forecasts()[0][f"theta {alpha:g}"]
    for i, n in enumerate(LENGTH):
        np.testing.assert_allclose(got[i], theta(PAST[i, -n:], alpha, H), rtol=1e-10)


def test_naive_candidates_are_what_they_are_called():
    got = forecasts()[0]
    steps = np.arange(1, H + 1)
    for i, n in enumerate(LENGTH):
        y = PAST[i, -n:]
        np.testing.assert_allclose(got["last"][i], y[-1])
        drift = (y[-1] - y[0]) / max(n - 1, 1)
        np.testing.assert_allclose(got["drift"][i], y[-1] + drift * steps)
        np.testing.assert_allclose(got["mean 3"][i], y[-3:].mean())
        np.testing.assert_allclose(got["mean all"][i], y.mean())
        np.testing.assert_allclose(got["median 12"][i], np.median(y[-12:]))
        np.testing.assert_allclose(got["median all"][i], np.median(y))
        if n >= 4:
            np.testing.assert_allclose(got["last season"][i], y[-4:][np.arange(H) % 4])
        if n >= 8:
            two = (y[-4:] + y[-8:-4]) / 2
            np.testing.assert_allclose(got["mean of 2 seasons"][i], two[np.arange(H) % 4])


def test_a_line_goes_on():
    ramp = np.tile(5 + 2 * np.arange(30.0), (4, 1))
    got = forecasts(ramp)[0]
    for name in ("line", "drift", "smooth 0.5 0.2 1", "seasonal 0.3 0.05 1 0.2"):
        for i, n in enumerate(LENGTH[:3]):
            np.testing.assert_allclose(got[name][i], 65 + 2 * np.arange(H), err_msg=f"{name}, {n}")


def test_logarithms_continue_growth_and_windows_without_them_repeat_the_plain_forecasts():
    growth = np.tile(np.exp(0.1 * np.arange(30.0)), (4, 1))
    growth[2] -= 50
    plain, logs = forecasts(growth)
    expected = np.exp(0.1 * np.arange(30.0, 30 + H))
    np.testing.assert_allclose(logs["drift"][0], expected)
    np.testing.assert_array_equal(logs["drift"][2], plain["drift"][2])
    assert (plain["drift"][0] < expected).all()


def test_no_curve_leaves_what_the_windows_range_allows():
    jump = np.ones((4, 30))
    jump[:, -1] = 1000.0
    plain, logs = forecasts(jump)
    for got in (*plain.values(), *logs.values()):
        assert (got[:3] <= 1000 + 999 * (1 + 3 * H / LENGTH[:3, None])).all()


@pytest.mark.parametrize("period", [1, 4, 12])
def test_forecasts_follow_a_shift_and_a_factor(period):
    plain, logs = forecasts(period=period)
    moved, _ = forecasts(PAST + 1000, period=period)
    larger = forecasts(PAST * 1e6, period=period)
    for name in candidate_names(period, of_mean=False):
        np.testing.assert_allclose(moved[name], plain[name] + 1000, rtol=1e-9, err_msg=name)
        np.testing.assert_allclose(larger[0][name], plain[name] * 1e6, rtol=1e-9)
        np.testing.assert_allclose(larger[1][name], logs[name] * 1e6, rtol=1e-9)


def test_names_are_distinct():
    names = candidate_names(12, of_mean=False)
    assert len(set(names)) == len(names)


def missed_by(y, alpha):
    """Sum what simple smoothing misses a row ahead, from the middle of the first ten rows on."""
    level, missed = y[: min(len(y), 10)].mean(), 0.0
    for value in y:
        missed += abs(value - level)
        level += alpha * (value - level)
    return missed


def test_likely_smoothing_is_that_of_constants_which_miss_little():
    """Laplace's likelihood: errors of all rows of the window, to the power of their number."""
    got = forecasts()[0]
    alphas = (0.05, 0.1, 0.2, 0.35, 0.5, 0.7, 0.85)
    for i, n in enumerate(LENGTH[:3]):
        missed = np.array([missed_by(PAST[i, -n:], alpha) for alpha in alphas])
        weights = (missed / missed.min()) ** -float(n)
        each = np.array([got[f"smooth {alpha:g} 0 0"][i] for alpha in alphas])
        expected = weights @ each / weights.sum()
        np.testing.assert_allclose(got["likely simple"][i], expected, rtol=1e-6)


def test_trends_have_to_be_more_likely_than_levels():
    """Noise around a level is continued flat, a line that bends is followed."""
    noise = 20 + np.random.default_rng(1).normal(size=(4, 60))
    flat = forecasts(noise, np.full(4, 60), period=1)[0]
    moved = np.abs(flat["likely smooth"][:, -1] - flat["likely smooth"][:, 0])
    assert moved.max() < np.abs(flat["likely Holt"][:, -1] - flat["likely Holt"][:, 0]).max() / 3
    bent = np.tile(np.r_[np.zeros(30), np.arange(30.0)], (4, 1))
    slope = np.diff(forecasts(bent, np.full(4, 60), period=1)[0]["likely smooth"][0])
    np.testing.assert_allclose(slope, 1, atol=0.05)


def test_a_window_that_never_misses_is_smoothed_by_all_alike():
    got = forecasts(np.full((4, 30), 7.0))[0]
    for name in ("likely simple", "likely smooth", "likely theta", "likely seasonal"):
        np.testing.assert_allclose(got[name], 7)
