"""FLAIR as a member."""

import numpy as np
import pytest

pytest.importorskip("flaircast")
import flaircast

from skinformer.beside.flair import FlairForecaster


@pytest.mark.slow
def test_it_is_a_member_like_any_other(use_as_member):
    """Fitted, searched, judged, copied and saved with the model that holds it."""
    forecaster = FlairForecaster("D", max_context=48)
    use_as_member(forecaster, {"max_context": [24, 48]}, FlairForecaster)


def test_it_forecasts_what_flaircast_does():
    """Medians and quantiles of its paths; a seed makes them the same each time."""
    wave = 10 + np.sin(np.arange(120) * 2 * np.pi / 7)
    paths = flaircast.forecast(wave, 6, "D", seed=0)
    forecaster = FlairForecaster("D")
    np.testing.assert_allclose(
        forecaster.predict([wave], 6)[0], np.median(paths, axis=0)
    )
    quantiles = forecaster.predict([wave], 6, levels=[0.1, 0.9])
    expected = np.quantile(paths, [0.1, 0.9], axis=0).T
    np.testing.assert_allclose(quantiles[0], expected)


def test_short_histories_and_gaps_are_forecast():
    """Whatever a series of a panel looks like."""
    wave = 10 + np.sin(np.arange(120) * 2 * np.pi / 7)
    wave[30:33] = np.nan
    short = np.array([1.0, np.nan, 3.0, np.nan])
    forecaster = FlairForecaster("D", max_context=100)
    forecast = forecaster.predict([wave, short, np.ones(20), np.ones(1)], 4)
    assert np.isfinite(forecast).all()
    assert np.abs(forecast[0] - 10).max() < 2
    np.testing.assert_allclose(forecast[2], 1, atol=0.1)


def test_columns_known_ahead_help():
    """Weeks follow a price."""
    rng = np.random.default_rng(0)
    price = np.repeat(rng.uniform(1, 3, size=31), 7)
    sales = (20 - 4 * price) * np.tile([1, 1, 1, 1, 1, 2, 2], 31)
    history = [sales[:-7]]
    alone = FlairForecaster("D").predict(history, 7)[0]
    beside = FlairForecaster("D").predict(history, 7, known=[price[:, None]])[0]
    truth = sales[-7:]
    assert np.abs(beside - truth).mean() < 0.5 * np.abs(alone - truth).mean()


@pytest.mark.slow
def test_the_example_prints_it_on_the_leaderboard(run_example):
    """Beside all default members that took part."""
    board = run_example("beside_the_default.py")["board"]
    assert board.loc["flair", "takes_part"]
    assert board.loc["flair", "error_without"] > 0
    assert board.loc["joint forecast", "error"] < 1.02 * board["error"].min()
