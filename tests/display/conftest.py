"""What the tests of pictures share: a canvas without a screen, and backtests that cost nothing."""

import numpy as np
import pandas as pd
import pytest
from flat_parameters import with_parts

from skinformer import InformerRegressor

SMALL = {"seq_len": 24, "pred_len": 6, "d_model": 8, "n_heads": 1, "random_state": 0}


@pytest.fixture(autouse=True)
def pyplot():
    matplotlib = pytest.importorskip("matplotlib")
    matplotlib.use("agg")
    from matplotlib import pyplot

    yield pyplot
    pyplot.close("all")


@pytest.fixture(scope="session")
def hours():
    index = pd.date_range("2024-01-01", periods=400, freq="h")
    noise = np.random.default_rng(0).normal(size=400)
    return pd.DataFrame(
        {"load": 50 + 10 * np.sin(np.arange(400) * np.pi / 12) + noise}, index=index
    )


@pytest.fixture(scope="session")
def fitted(hours):
    return InformerRegressor(
        **with_parts(members=["classical", "ridges", "network"], max_iter=3, **SMALL)
    ).fit(hours[:300])


@pytest.fixture
def result():
    """Twelve hours from each of two origins, with three quantiles that are off by known amounts."""
    time = pd.date_range("2024-01-01", periods=24, freq="h")
    ahead = np.tile(np.arange(1, 13), 2)
    actual = np.zeros(24)
    return pd.DataFrame(
        {
            "origin": time[::12].repeat(12),
            "time": time,
            "ahead": ahead,
            "target": "load",
            "actual": actual,
            "forecast": ahead.astype(float),
            "q0.1": np.where(ahead <= 6, -1.0, 1.0),  # half of the truth lies inside
            "q0.5": 0.0,
            "q0.9": 2.0,
        }
    )


@pytest.fixture
def texts():
    return lambda ax: [text.get_text() for text in ax.get_legend().get_texts()]
