"""Forecasts stay what they were: a redesign that moves a number is no redesign.

``python tests/test_golden.py`` writes the file anew, after a change that is meant to move them;
``python tests/test_golden.py --exact`` compares bit by bit, for the machine
that wrote it (``OMP_NUM_THREADS=1``: products round by the number of threads, too).
"""

import json
import sys
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from skinformer import InformerRegressor, recipes

FILE = Path(__file__).with_name("golden.json")
SIZES = {"seq_len": 24, "pred_len": 6, "max_iter": 2, "random_state": 0}
CASES = {
    "default": SIZES,
    "known ahead": SIZES | {"known_future": ["price"]},
    "two targets": SIZES | {"target": ["temp", "load"], "loss": "huber"},
    "quantile": SIZES | {"loss": 0.9},
    "note": recipes.NOTE | SIZES,
    # In float32: bfloat16 rounds differently from one processor to the next.
    "bf16": recipes.BF16 | SIZES | {"precision": "fp32"},
}


def make_frame():
    """Return four weeks of hours with a covariate known ahead and one that is not."""
    hours = pd.date_range("2024-01-01", periods=28 * 24, freq="h")
    rng = np.random.default_rng(0)
    price = np.repeat(rng.normal(size=28), 24)
    load = 50 + 9 * np.sin(hours.hour * np.pi / 12) - 3 * price + rng.normal(size=len(hours))
    temp = rng.normal(size=len(hours)).cumsum()
    return pd.DataFrame({"price": price, "temp": temp, "load": load}, index=hours)


def forecasts(name):
    """Return what a case forecasts, flat."""
    df = make_frame()
    model = InformerRegressor(**CASES[name]).fit(df[:-48])
    parts = [model.predict(df[-96:])]
    if name != "known ahead":
        parts.append(model.forecast(horizon=9).to_numpy())
    return np.concatenate([part.ravel() for part in parts]).tolist()


@pytest.mark.filterwarnings("ignore:past-only columns:UserWarning")
@pytest.mark.parametrize("name", CASES)
def test_forecasts_are_those_of_the_file(name):
    """To six digits: processors differ in the last ones."""
    stored = json.loads(FILE.read_text())[name]
    np.testing.assert_allclose(forecasts(name), stored, rtol=1e-6, atol=1e-5)


def main(*options):
    """Write the file, or compare it exactly."""
    now = {name: forecasts(name) for name in CASES}
    if "--exact" in options:
        stored = json.loads(FILE.read_text())
        differing = [name for name in CASES if now[name] != stored[name]]
        sys.exit(f"not the same bits: {differing}" if differing else 0)
    FILE.write_text(json.dumps(now, indent=0) + "\n")


if __name__ == "__main__":
    main(*sys.argv[1:])
