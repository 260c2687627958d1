"""One small model for all tests of files."""

import numpy as np
import pandas as pd
import pytest
from flat_parameters import with_parts

from skinformer import InformerRegressor

P = {
    "seq_len": 24,
    "pred_len": 6,
    "d_model": 16,
    "n_heads": 2,
    "max_iter": 1,
    "random_state": 0,
}


def make_frame(n, **dates):
    """Hours of a day's wave, a column known to the present, and one known ahead."""
    t, rng = np.arange(n), np.random.default_rng(0)
    hours = pd.date_range("2024-03-20", periods=n, freq="h", **dates)
    load = np.sin(2 * np.pi * t / 24) + 0.1 * rng.normal(size=n)
    return pd.DataFrame(
        {"wind": rng.normal(size=n), "plan": t % 5, "load": load}, index=hours
    )


@pytest.fixture(scope="session")
def made():
    return make_frame


@pytest.fixture(scope="session")
def frame():
    return make_frame(400, tz="Europe/Paris")


@pytest.fixture(scope="session")
def model(frame):
    members = ["ridges", "trees", "network"]  # which look no farther back than windows
    return InformerRegressor("load", **with_parts(members=members, **P)).fit(
        frame[["load"]][:380]
    )


@pytest.fixture(scope="session")
def saved(model, tmp_path_factory):
    """Give the bytes of a file with the rows of the fit."""
    path = tmp_path_factory.mktemp("saved") / "model"
    model.save(path)
    return path.read_bytes()
