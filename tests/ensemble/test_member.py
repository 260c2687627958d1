"""A member more: its own file, a line in the table, and nothing else."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import skinformer

CONSTANT = '''"""A constant, as a member."""

from dataclasses import dataclass

import numpy as np

from skinformer.ensemble.member import Member
from skinformer.timeline.arrays import Float64Array


@dataclass(frozen=True)
class Constant(Member):
    """Forecast the mean that every series had in training."""

    level: Float64Array
    pred_len: int

    name = "constant"

    @classmethod
    def from_rows(cls, rows, settings):
        values = rows.timeline.values[:, : rows.sizes.n_targets]
        mean = values.mean(axis=0, dtype=np.float64)  # of one series
        return cls(mean[None], settings.pred_len)

    def forecast(self, windows, base=None):
        level = self.level[np.minimum(windows.series, len(self.level) - 1)].astype(np.float32)
        return np.repeat(level[:, None], self.pred_len, axis=1)
'''

IMPORT = "from skinformer.ensemble.constant import Constant"

SCRIPT = """
import numpy as np, pandas as pd, skinformer, sys
from skinformer.display import WeightsDisplay
from skinformer.evaluation import explain, forecast_parts

for n_rows in (600, 110):
    rng = np.random.default_rng(0)
    noise = pd.DataFrame({"y": rng.normal(size=n_rows)})
    noise.index = pd.date_range("2024-01-01", periods=len(noise), freq="h")
    sizes = {"seq_len": 12, "pred_len": 3, "training": skinformer.Training(max_iter=1)}
    sizes |= {"network": skinformer.Network(d_model=8, n_heads=2)}
    sizes |= {"members": ["classical", "ridges", "network", "constant"], "random_state": 0}
    model = skinformer.InformerRegressor("y", **sizes).fit(noise)
    proved = np.unique(model.calibration_.proved.forecasts["constant"])
    final = model.ensemble_.members["constant"].level.astype(np.float32)
    assert proved != final, "it is fitted before the validation split, and then to all"
    parts, forecast = forecast_parts(model), model.forecast()
    share = parts[parts["part"] == "constant"].set_index("time")["weight"]
    assert (share > 0).all() and np.allclose(parts.groupby("time")["weight"].sum(), 1)
    mean = (parts["weight"] * parts["forecast"]).groupby(parts["time"]).sum()
    assert np.allclose(mean, forecast["y"])
    said = parts[parts["part"] == "constant"]["forecast"]
    assert np.allclose(said, noise["y"].mean(), atol=1e-5)
    assert np.allclose(model.leaderboard().weight["constant"], share.mean(), atol=1e-3)
    assert np.allclose(model.series_blend_["constant"], share.mean())
    reasons = explain(model)
    assert np.allclose(reasons.groupby("time")["contribution"].sum(), forecast["y"])
    assert "constant" in WeightsDisplay.from_estimator(model).weights
    assert len(model.forecast(coverage=0.8).columns) == 3
    model.save(sys.argv[1])
    loaded = skinformer.load(sys.argv[1])
    pd.testing.assert_frame_equal(loaded.forecast(), forecast)

# So it is where forecasts in the split are few, beside trees that get a part of their share.
noise = pd.DataFrame({"y": np.random.default_rng(0).normal(size=1600)})
noise.index = pd.date_range("2024-01-01", periods=len(noise), freq="h")
sizes |= {"pred_len": 24, "members": ["ridges", "trees", "constant"]}
model = skinformer.InformerRegressor("y", **sizes).fit(noise)
assert model.ensemble_.weights_of("constant").all()
print("weighed, explained, drawn, saved and loaded")
"""


@pytest.mark.slow
def test_a_constant_is_weighed_explained_drawn_saved_and_loaded(tmp_path):
    """On a long table, also with few forecasts, and on a short one beside classical ones."""
    package = tmp_path / "copy" / "skinformer"
    ignored = shutil.ignore_patterns("__pycache__")
    shutil.copytree(Path(skinformer.__file__).parent, package, ignore=ignored)
    (package / "ensemble" / "constant.py").write_text(CONSTANT)
    members = package / "ensemble" / "members.py"
    before = members.read_text()
    last = "    TREES: Tabular,\n"
    assert before.count(last) == 1
    after = before.replace(last, f'{last}    "constant": Constant,\n')
    members.write_text(after.replace("\n\nfrom ", f"\n\n{IMPORT}\nfrom ", 1))
    done = subprocess.run(
        [sys.executable, "-c", SCRIPT, str(tmp_path / "model")],
        env={**os.environ, "PYTHONPATH": str(package.parent), "MPLBACKEND": "Agg"},
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.stdout.endswith("weighed, explained, drawn, saved and loaded\n"), (
        done.stderr
    )
