"""Fracast as a member."""

import numpy as np
import pytest

pytest.importorskip("fracast")
from skinformer.beside.fracast import FracastForecaster


@pytest.mark.slow
def test_it_is_a_member_like_any_other(use_as_member):
    """Fitted, searched, judged, copied and saved with the model that holds it."""
    forecaster = FracastForecaster(context_length=64)
    use_as_member(forecaster, {"context_length": [32, 64]}, FracastForecaster)


def test_quantiles_are_those_of_its_levels_in_order():
    """A mean lies among them; other levels lie between neighbours."""
    wave = 10 + np.sin(np.arange(120) * np.pi / 6)
    quantiles = FracastForecaster().predict([wave], 6, levels=[0.1, 0.45, 0.5, 0.9])
    assert quantiles.shape == (1, 6, 4)
    assert (np.diff(quantiles, axis=-1) >= 0).all()
    np.testing.assert_allclose(
        quantiles[..., 2], FracastForecaster().predict([wave], 6)
    )
    mean = FracastForecaster(point="mean").predict([wave], 6)
    assert (mean > quantiles[..., 0]).all()
    assert (mean < quantiles[..., 3]).all()
    with pytest.raises(
        ValueError, match=r"^point='mode' must be one of \['mean', 'median'\]"
    ):
        FracastForecaster(point="mode").predict([wave], 6)


def test_short_histories_and_gaps_are_forecast():
    """The model itself refuses fewer than eight observed values, whatever else is asked for."""
    wave = 10 + np.sin(np.arange(120) * np.pi / 6)
    late = np.append(wave, [np.nan, np.nan])
    short = np.array([1.0, np.nan, 3.0, np.nan])
    forecast = FracastForecaster().predict([wave, late, short], 4)
    np.testing.assert_array_equal(forecast[2], 3.0)
    np.testing.assert_allclose(
        forecast[1], FracastForecaster().predict([wave], 6)[0, 2:], rtol=0.01
    )
    assert FracastForecaster().predict([wave], 100).shape == (1, 100)


@pytest.mark.slow
def test_the_example_gains_by_its_member(run_example):
    """Beside the default, on eight weeks that no fit has seen."""
    names = run_example("fracast_member.py")
    assert names["errors"]["both"] < 0.995 * names["errors"]["default"]
    assert names["weights"]["fracast"] > 0.05
