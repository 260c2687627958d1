"""Forecasts stay what they were: a redesign that moves a number is no redesign.

``python tests/test_golden.py [CASE ...]`` writes the file anew, or those cases of it, after a
change that is meant to move them; ``python tests/test_golden.py --exact`` compares bit by bit, for
the machine that wrote it (``OMP_NUM_THREADS=1``: products round by the number of threads, too).
"""

import json
import sys
from pathlib import Path
from unittest import mock

import numpy as np
import pandas as pd
import pytest
import torch
from flat_parameters import with_parts

from skinformer import InformerRegressor, recipes

FILE = Path(__file__).with_name("golden.json")
SIZES = {"seq_len": 24, "pred_len": 6, "max_iter": 2, "random_state": 0}
CASES = {
    "default": SIZES,
    "known ahead": SIZES | {"known_future": ["price"]},
    "two targets": SIZES | {"target": ["temp", "load"], "loss": "huber"},
    "quantile": SIZES | {"loss": 0.9},
    "note": recipes.NOTE | SIZES,
    "bf16": recipes.BF16 | SIZES | {"precision": "fp32"},
}
# Processors, libraries and numbers of threads differ in the last digits of float32. Data that are
# 1e-7 off move forecasts by 3e-7 of them; those of a network alone by 1e-6, of absolute errors,
# which bend, by 2e-5, and of Muon, which lifts the smallest directions of a step to the size of
# all others, by 1e-5; between two kinds of processors by 8e-4.
TOLERANCES = {"note": 2e-5, "quantile": 2e-4, "bf16": 2e-3}


def make_frame():
    """Return four weeks of hours with a covariate known ahead and one that is not."""
    hours = pd.date_range("2024-01-01", periods=28 * 24, freq="h")
    rng = np.random.default_rng(0)
    price = np.repeat(rng.normal(size=28), 24)
    load = (
        50
        + 9 * np.sin(hours.hour * np.pi / 12)
        - 3 * price
        + rng.normal(size=len(hours))
    )
    temp = rng.normal(size=len(hours)).cumsum()
    return pd.DataFrame({"price": price, "temp": temp, "load": load}, index=hours)


def forecasts(name):
    """Return what a case forecasts, flat; all in float32.

    Muon multiplies in bfloat16, which rounds differently with instructions of its own: by .7 %
    of a forecast.
    """
    df = make_frame()
    with mock.patch.object(torch.Tensor, "bfloat16", torch.Tensor.clone):
        model = InformerRegressor(**with_parts(**CASES[name])).fit(df[:-48])
    parts = [model.predict(df[-96:])]
    if name != "known ahead":
        parts.append(model.forecast(horizon=9).to_numpy())
    return np.concatenate([part.ravel() for part in parts]).tolist()


@pytest.mark.filterwarnings("ignore:past covariates:UserWarning")
@pytest.mark.parametrize("name", CASES)
def test_forecasts_are_those_of_the_file(name):
    """On every machine, within what rounding does."""
    rtol = TOLERANCES.get(name, 5e-6)
    np.testing.assert_allclose(forecasts(name), read()[name], rtol=rtol, atol=1e-5)


def read():
    """Return the forecasts of the file by case."""
    return json.loads(FILE.read_text(encoding="utf-8"))


def main(*options):
    """Write the file, or compare it exactly."""
    names = [name for name in options if name in CASES] or list(CASES)
    now = {name: forecasts(name) for name in names}
    if "--exact" in options:
        differing = [name for name in names if now[name] != read()[name]]
        sys.exit(f"not the same bits: {differing}" if differing else 0)
    kept = read() if len(names) < len(CASES) else {}
    FILE.write_text(json.dumps(kept | now, indent=0) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main(*sys.argv[1:])
