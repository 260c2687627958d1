"""Forecasters of sktime as members."""

import numpy as np
import pytest

import skinformer
from skinformer import InformerRegressor

pytest.importorskip("sktime")
from sktime.forecasting.naive import NaiveForecaster
from sktime.forecasting.trend import PolynomialTrendForecaster

from skinformer.beside.sktime_member import SktimeForecaster


def test_it_is_a_member_like_any_other(use_as_member):
    """Fitted, searched, judged, copied and saved; a file is read with the member itself."""
    forecaster = SktimeForecaster(NaiveForecaster("mean", sp=12))
    others = {"forecaster__strategy": ["last", "mean"]}
    model = use_as_member(forecaster, others, forecaster)
    assert model.get_params()["members__sktimeforecaster__forecaster__sp"] == 12


def test_a_file_asks_for_the_member(tmp_path):
    """Its class alone builds no forecaster of sktime."""
    forecaster = SktimeForecaster(PolynomialTrendForecaster(degree=2), max_context=20)
    model = InformerRegressor(seq_len=8, pred_len=2, members=[forecaster])
    model.fit(np.arange(40.0)[:, None]).save(tmp_path / "model")
    asked = r"forecasters=\[SktimeForecaster\(.*PolynomialTrendForecaster\(degree=2\)"
    with pytest.raises(ValueError, match=asked):
        skinformer.load(tmp_path / "model", forecasters=[SktimeForecaster])
    loaded = skinformer.load(tmp_path / "model", forecasters=[forecaster])
    np.testing.assert_allclose(loaded.forecast(), [[40.0], [41.0]], rtol=1e-4)


def test_gaps_and_short_histories_are_forecast():
    """Forecasters of sktime refuse NaN."""
    seasonal = SktimeForecaster(NaiveForecaster("last", sp=3))
    histories = [np.array([1.0, np.nan, 3.0, 4.0, np.nan]), np.array([2.0])]
    np.testing.assert_array_equal(
        seasonal.predict(histories, 2), [[3.0, 4.0], [2.0, 2.0]]
    )


def test_what_is_no_forecaster_of_sktime_is_refused():
    """A class in place of an instance would fail in every history."""
    with pytest.raises(TypeError, match="pass an instance"):
        SktimeForecaster(NaiveForecaster).predict([np.arange(9.0)], 2)


@pytest.mark.slow
def test_the_example_gains_by_its_member(run_example):
    """Beside the default, on eight weeks that no fit has seen."""
    names = run_example("sktime_member.py")
    assert names["errors"]["both"] < 0.995 * names["errors"]["default"]
    assert names["weights"]["ThetaForecaster"] > 0.05
