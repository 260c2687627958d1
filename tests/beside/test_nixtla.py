"""One environment holds skinformer and Nixtla's libraries, which keep pandas below 3."""

import numpy as np
import pandas as pd
import pytest
from sklearn.linear_model import LinearRegression

from skinformer import InformerRegressor

mlforecast = pytest.importorskip("mlforecast")
neuralforecast = pytest.importorskip("neuralforecast")
statsforecast = pytest.importorskip("statsforecast")
models = pytest.importorskip("statsforecast.models")

pytestmark = pytest.mark.filterwarnings("ignore")  # of theirs


@pytest.fixture(scope="module")
def shops():
    days = pd.date_range("2024-01-01", periods=140, freq="D")
    weekly = np.arange(140) % 7
    tables = [
        pd.DataFrame({"unique_id": name, "ds": days, "y": weekly + 10.0 * i})
        for i, name in enumerate(["east", "west"])
    ]
    return pd.concat(tables, ignore_index=True)


@pytest.mark.slow
def test_one_long_table_is_forecast_by_all_of_them(shops):
    """Whoever compares libraries fits them to one table, in one process."""
    ours = InformerRegressor("y", seq_len=14, pred_len=7, random_state=0)
    of_ours = ours.fit(shops).forecast()
    naive = statsforecast.StatsForecast([models.SeasonalNaive(7)], freq="D")
    of_naive = naive.forecast(df=shops, h=7).reset_index()
    lags = mlforecast.MLForecast([LinearRegression()], freq="D", lags=[7])
    of_lags = lags.fit(shops).predict(7)
    assert list(of_ours) == ["unique_id", "ds", "y"]
    for theirs in (of_naive, of_lags):
        assert theirs["ds"].tolist() == of_ours["ds"].tolist()
        np.testing.assert_allclose(of_ours["y"], theirs.iloc[:, -1], atol=0.1)
    assert hasattr(neuralforecast.NeuralForecast, "fit")
