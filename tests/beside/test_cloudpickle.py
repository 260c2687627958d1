"""cloudpickle, which mlflow, Dask and Ray send models by."""

import pickle

import numpy as np
import pandas as pd
import pytest
from flat_parameters import with_parts
from sklearn.linear_model import Ridge
from sklearn.pipeline import make_pipeline

from skinformer import InformerRegressor, TimeIndex

cloudpickle = pytest.importorskip("cloudpickle")

SMALL = {
    "seq_len": 12, "pred_len": 4, "d_model": 8, "n_heads": 2, "max_iter": 1, "random_state": 0
}  # fmt: skip


def test_a_fitted_pipeline_comes_back_with_the_same_forecasts():
    """Bit for bit: a worker forecasts what the sender would."""
    hours = pd.date_range("2024-01-01", periods=120, freq="h")
    rows = pd.DataFrame({"time": hours.astype(str), "load": np.sin(np.arange(120) / 4)})
    model = make_pipeline(
        TimeIndex(), InformerRegressor("load", **with_parts(**SMALL))
    ).fit(rows)
    loaded = pickle.loads(cloudpickle.dumps(model))
    np.testing.assert_array_equal(loaded.predict(rows), model.predict(rows))


def test_a_regressor_of_ones_own_goes_along():
    """What plain pickle cannot find by name, cloudpickle sends."""

    class Mine(Ridge):
        """Known to this function alone."""

    hours = pd.date_range("2024-01-01", periods=120, freq="h")
    rows = pd.DataFrame({"load": np.sin(np.arange(120) / 4)}, hours)
    model = InformerRegressor(
        "load",
        **with_parts(members=["classical", "ridges", Mine(), "network"], **SMALL),
    ).fit(rows)
    loaded = pickle.loads(cloudpickle.dumps(model))
    np.testing.assert_array_equal(loaded.predict(rows), model.predict(rows))
