"""Paths: steps, targets and series go together as they did in earlier forecasts."""

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

from skinformer import InformerRegressor
from skinformer.intervals.paths import common_scores, draw_levels
from skinformer.intervals.residuals import Residuals

N_SERIES, N_TIMES = 8, 40


def panel(errors):
    """Return errors of (series, time, step) of one target."""
    series, time = np.indices(errors.shape[:2]).reshape(2, -1)
    flat = errors.reshape(len(series), -1, 1).astype(np.float32)
    return Residuals(
        flat, float(errors.shape[1]), series, time, flat, np.zeros(1), np.zeros(1)
    )


def drawn(residuals, series, n_paths=2000):
    """Return normal scores of paths: (n_series, n_paths, n_steps)."""
    return draw_levels(residuals, series, n_paths, np.random.RandomState(0))[..., 0]


def together(levels):
    """Return the mean correlation of two series."""
    each = np.corrcoef(levels[:, :, 0])
    return (each.sum() - len(each)) / (len(each) * (len(each) - 1))


@pytest.mark.parametrize("share", [0.0, 0.5])
@pytest.mark.parametrize("known", [True, False])
def test_series_go_together_as_far_as_their_errors_did(share, known):
    """A total is as sure as its days: no surer, and for shops that share nothing no less."""
    rng = np.random.default_rng(1)
    day, own = rng.normal(size=(1, N_TIMES, 1)), rng.normal(size=(N_SERIES, N_TIMES, 1))
    residuals = panel(np.sqrt(share) * day + np.sqrt(1 - share) * own)
    series = np.arange(N_SERIES) + (0 if known else 100)  # of which no errors were kept
    assert together(drawn(residuals, series)) == pytest.approx(share, abs=0.1)


@pytest.mark.parametrize(("share", "wider"), [(0.0, 0.0), (0.5, 0.6)])
@pytest.mark.parametrize("known", [True, False])
def test_what_was_common_in_few_forecasts_may_be_larger(share, wider, known):
    """However many series say the same, seven forecasts say little of how large it is."""
    rng = np.random.default_rng(1)
    day, own = rng.normal(size=(1, N_TIMES, 1)), rng.normal(size=(N_SERIES, N_TIMES, 1))
    residuals = panel(np.sqrt(share) * day + np.sqrt(1 - share) * own)
    series = np.arange(N_SERIES) + (0 if known else 100)
    of_many = together(drawn(replace(residuals, n_windows=1e9), series))
    of_few = together(drawn(replace(residuals, n_windows=7.0), series))
    assert of_few - of_many == pytest.approx(wider - share, abs=0.04)


def test_steps_go_together():
    """Sums over a day need the dependence between its steps."""
    rng = np.random.default_rng(0)
    level = rng.normal(size=(1, 200, 1))
    residuals = panel(
        np.concatenate([level, level, rng.normal(size=(1, 200, 1))], axis=2)
    )
    found = np.corrcoef(drawn(residuals, np.zeros(1, dtype=np.int64))[0].T)
    assert found[0, 1] > 0.99
    assert abs(found[0, 2]) < 0.25


def test_every_level_is_drawn_as_often():
    """Else paths would not have the quantiles of their rows; also from three windows."""
    for n_times in (1, 3, 50):
        errors = np.random.default_rng(n_times).exponential(size=(4, n_times, 3))
        levels = drawn(panel(errors), np.arange(6))
        found = np.quantile(levels, [0.1, 0.5, 0.9], axis=1)
        np.testing.assert_allclose(
            found, np.full((3, 6, 3), [[[0.1]], [[0.5]], [[0.9]]]), atol=0.05
        )


def test_errors_that_never_differ_leave_series_alone():
    """A product that never sold says nothing of what goes together."""
    levels = drawn(panel(np.zeros((3, 5, 2))), np.arange(3))
    assert abs(together(levels)) < 0.1
    assert levels.std() > 0.2


def test_series_that_share_nothing_have_little_in_common():
    """The mean of eight numbers is not zero: it is no common shock for that."""
    scores = np.random.default_rng(0).normal(size=(4000, 2, 1))
    assert np.abs(common_scores(scores, np.arange(4000) % 500)).mean() < 0.15


@pytest.mark.parametrize("is_dated", [True, False])
def test_the_mean_of_paths_is_the_forecast_of_means(is_dated):
    """Of rare and skewed sales, too, of which forecasts lie far from the mean of ranges."""
    random = np.random.default_rng(1)
    n = 70
    weeks = pd.date_range("2022-01-03", periods=n, freq="W-MON")
    parts = {}
    for number in range(6):
        level = np.exp(random.normal(1, 1.5))
        sales = random.poisson(random.gamma(0.5, 2, n) * level).astype(float)
        if number % 3 == 0:
            sales[random.random(n) < 0.6] = 0
        parts[number] = pd.DataFrame({"y": sales}, weeks if is_dated else range(n))
    model = InformerRegressor("y", seq_len=16, pred_len=6, loss="mse", random_state=0)
    model.fit(pd.concat(parts))
    y_pred = model.forecast()["y"]
    paths = model.sample(500, random_state=0)
    assert paths.mean(axis=1).to_numpy() == pytest.approx(y_pred.to_numpy(), rel=0.02)
    assert paths.min().min() >= 0
    assert model.sample(2, random_state=1).std(axis=1).mean() > 0
