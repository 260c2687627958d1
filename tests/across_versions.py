"""Files that one environment writes load in another: `across_versions.py write|read FOLDER`.

CI writes with the newest versions and reads with the lowest that pyproject.toml promises, and the
other way round.
"""

import sys
import warnings
from pathlib import Path

import numpy as np
import pandas as pd

import skinformer
from skinformer import InformerClassifier, InformerRegressor, Network, Training

SMALL = {
    "seq_len": 24,
    "pred_len": 6,
    "random_state": 0,
    "network": Network(d_model=8, n_heads=2),
    "training": Training(max_iter=1),
}


def hours_with_text():
    """Fit hours in a time zone, over the begin of summer time, with text and holes."""
    t = np.arange(600)
    index = pd.date_range("2024-03-20", periods=600, freq="h", tz="Europe/Paris")
    weather = np.resize(["sun", "rain", "snow", "fog", "sun"], 600)
    noise = np.random.default_rng(0).normal(0, 0.1, 600)
    load = np.sin(2 * np.pi * t / 24) + (weather == "snow") + noise
    temp = np.where(t % 50 == 7, np.nan, t % 24 / 10)
    columns = {"weather": weather, "temp": temp, "load": load}
    frame = pd.DataFrame(columns, index=index)
    members = ["ridges", "trees", "network"]
    return InformerRegressor("load", members=members, **SMALL).fit(frame)


def panel_of_shops():
    """Fit a long table: names of series and dates in columns, closed on Sundays."""
    days = pd.date_range("2023-01-02", periods=300, freq="D")
    days = days[days.day_of_week < 6]
    shops = {
        name: pd.DataFrame({"ds": days, "y": days.day_of_week + 5.0 * i + days.day / 9})
        for i, name in enumerate(("east", "north", "west"))
    }
    frame = pd.concat(shops, names=["unique_id"]).reset_index("unique_id")
    return InformerRegressor("y", seq_len=12, pred_len=6, random_state=0).fit(frame)


def months_with_ranges():
    """Fit periods, by quantiles."""
    months = pd.period_range("2000-01", periods=200, freq="M")
    sales = 10 + np.sin(np.arange(200) / 2) + np.arange(200) / 50
    frame = pd.DataFrame({"sales": sales}, index=months)
    return InformerRegressor("sales", loss=[0.1, 0.5, 0.9], **SMALL).fit(frame)


def days_of_classes():
    """Fit classes that are text."""
    days = pd.date_range("2023-01-01", periods=200, freq="D")
    kinds = np.where(np.arange(200) % 7 < 5, "work", "rest")
    frame = pd.DataFrame({"kind": kinds}, index=days)
    return InformerClassifier("kind", **SMALL).fit(frame)


MODELS = [hours_with_text, panel_of_shops, months_with_ranges, days_of_classes]


def write(folder):
    """Fit the models, and write each with its forecast."""
    folder.mkdir(parents=True)
    for fit in MODELS:
        model = fit()
        model.save(folder / fit.__name__)
        forecast = model.forecast()
        forecast.to_csv(folder / f"{fit.__name__}.csv")


def read(folder):
    """Load each model, and compare its forecast with what was written."""
    for fit in MODELS:
        model = skinformer.load(folder / fit.__name__)
        model.forecast().to_csv(folder / "again.csv")
        ours, theirs = (
            pd.read_csv(folder / f"{name}.csv") for name in ("again", fit.__name__)
        )
        pd.testing.assert_frame_equal(ours, theirs, rtol=1e-5, atol=1e-6)


if __name__ == "__main__":
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        {"write": write, "read": read}[sys.argv[1]](Path(sys.argv[2]))
