"""Make `load.csv`, the file of the ten-minute start: `python examples/data/build_load.py`.

Invented hourly loads of a small town, as a German spreadsheet exports them: `;` between columns,
the day first, decimal commas.
"""

from pathlib import Path

import numpy as np
import pandas as pd

hours = pd.date_range("2025-01-13", periods=24 * 7 * 16, freq="h")
rng = np.random.default_rng(0)
clock = 2 * np.pi * hours.hour.to_numpy() / 24
weather = pd.Series(rng.normal(size=len(hours))).ewm(halflife=24).mean().to_numpy() * 12
temperature = np.arange(len(hours)) / 200 + weather - 3 * np.cos(clock)
weekend = hours.day_of_week.to_numpy() >= 5
load = 42 - 9 * np.cos(clock) - 4 * np.cos(2 * clock) - 7 * weekend - 0.6 * temperature
frame = pd.DataFrame(
    {"temperature": temperature, "load": load + rng.normal(size=len(hours))}
)
frame.insert(0, "time", hours.strftime("%d.%m.%Y %H:%M"))
path = Path(__file__).with_name("load.csv")
frame.to_csv(
    path, index=False, sep=";", decimal=",", float_format="%.1f", lineterminator="\n"
)
