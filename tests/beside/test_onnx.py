"""The file that onnxruntime reads forecasts what `predict` does."""

import os
import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from flat_parameters import with_parts

from skinformer import Attention, InformerRegressor
from skinformer.datasets import load_auckland_pedestrians
from skinformer.serving import Signature, window_inputs

onnx = pytest.importorskip("onnx")
pytest.importorskip("onnxscript")
onnxruntime = pytest.importorskip("onnxruntime")

# A deprecation within torch itself.
pytestmark = pytest.mark.filterwarnings(
    "ignore:`isinstance.treespec, LeafSpec:FutureWarning"
)

SMALL = {
    "seq_len": 24,
    "pred_len": 6,
    "d_model": 8,
    "n_heads": 2,
    "n_encoder_layers": 1,
    "max_iter": 1,
    "patch_len": 1,
    "random_state": 0,
    "device": "cpu",
}


def make_frame(n=640):
    """Make a wave with a column known ahead and one that is not."""
    noise = np.random.default_rng(0).normal(size=(n, 3))
    columns = {
        "flow": 3.0 + noise[:, 0],
        "price": 20.0 + 2 * noise[:, 1],
        "load": 1000.0 + 50 * np.sin(np.arange(n) / 4) + 5 * noise[:, 2],
    }
    return pd.DataFrame(columns, index=pd.date_range("2024-01-01", periods=n, freq="h"))


def make_panel():
    """Make two series of different sizes, and a static column."""
    parts = []
    for i, site in enumerate(("north", "south")):
        part = make_frame().assign(area=10.0 * i)
        part["load"] *= 10**i
        part.index = pd.MultiIndex.from_product(
            [[site], part.index], names=["site", "time"]
        )
        parts.append(part)
    return pd.concat(parts)


def open_session(path):
    """Open a file; what onnxruntime warns of goes to the process' standard error."""
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads, options.log_severity_level = 1, 2
    return onnxruntime.InferenceSession(
        path, options, providers=["CPUExecutionProvider"]
    )


CASES = {
    "ridges and probsparse": (
        make_frame,
        {
            "members": ["ridges", "network"],
            "attention": Attention(
                encoder="probsparse", decoder="probsparse", factor=2
            ),
        },
    ),
    "panel of logarithms, bf16": (
        make_panel,
        {
            "members": ["network"],
            "block": "bf16",
            "precision": "bf16",
            "embeddings": ["series", "missing"],
            "target_transform": "log",
        },
    ),
}


@pytest.mark.parametrize("case", CASES)
def test_onnxruntime_forecasts_what_predict_does(case, tmp_path, capfd):
    """To 1e-5 of the target's spread, for any number of windows, and with NaN where it counts."""
    make, changes = CASES[case]
    X = make()
    last = X.groupby(level=0).tail(60) if X.index.nlevels == 2 else X[-60:]
    model = InformerRegressor(
        "load", **with_parts(known_future=["price"], **SMALL, **changes)
    )
    model.fit(X.drop(last.index))
    if changes["members"] != ["network"]:
        model.ensemble_ = model.ensemble_.with_network_share(0.7)
    path = tmp_path / "load.onnx"
    model.export_onnx(path)
    session = open_session(path)
    signature = Signature.of_metadata(session.get_modelmeta().custom_metadata_map)
    assert signature == model.signature_
    assert [each.shape[0] for each in session.get_inputs()] == ["batch"] * len(
        signature.inputs
    )
    for origins in (last.index[::6], last.index[:1]):
        inputs, labels = window_inputs(X, signature, origins)
        (forecast,) = session.run(["forecast"], inputs)
        expected = pd.Series(model.predict(last), index=last.index)[labels]
        spread = (
            X["load"].groupby(level=0).std().min()
            if X.index.nlevels == 2
            else X["load"].std()
        )
        assert np.abs(forecast.ravel() - expected).max() < 1e-5 * spread
    inputs["past"][:, -3, 0] = np.nan
    assert np.isnan(session.run(["forecast"], inputs)[0]).all()
    assert_plain(path, sum(part.numel() for part in model.module_.parameters()))
    assert [each.name for each in tmp_path.iterdir()] == ["load.onnx"]
    assert "onnxruntime" not in capfd.readouterr().err  # no warning


@pytest.mark.slow
@pytest.mark.parametrize("known", [False, True])
def test_ridges_and_network_of_a_long_table_are_exported(known, tmp_path, capfd):
    """With the hours of the week, and what columns known ahead do at each hour."""
    X, rng = (
        load_auckland_pedestrians()[["45 Queen Street"]][:5232],
        np.random.default_rng(0),
    )
    X = X.set_axis(["load"], axis=1)
    if known:
        X["holiday"] = np.repeat(rng.random(len(X) // 24) < 0.05, 24) * 1.0
        X["event"] = (rng.random(len(X)) < 0.1) * 1.0
        X["load"] *= 1 - 0.5 * X["holiday"] + X["event"]
    given = {"known_future": ["holiday", "event"]} if known else {}
    members = {"members": ["ridges", "network"], "max_iter": 1, "max_windows": 200}
    model = InformerRegressor(
        "load", **with_parts(random_state=0, **members, **given)
    ).fit(X[:-480])
    model.ensemble_ = model.ensemble_.with_network_share(0.4)
    assert model.module_.path.fit.calendar is not None
    model.export_onnx(tmp_path / "load.onnx")
    session = open_session(tmp_path / "load.onnx")
    inputs, labels = window_inputs(X, model.signature_, X.index[-480::24])
    assert inputs["past"].shape == (20, 96, X.shape[1])
    (forecast,) = session.run(["forecast"], inputs)
    apart = np.abs(forecast.ravel() - model.predict(X[-480:]))
    assert len(labels) == len(apart) == 480
    assert apart.max() < 1e-5 * X["load"].std()
    assert "onnxruntime" not in capfd.readouterr().err


def make_nights():
    """Make hours of sunlight, and of a flag by which nothing happens now and then."""
    n = 700
    index = pd.date_range("2024-03-01", periods=n, freq="h")
    random = np.random.default_rng(0)
    height = np.sin((index.hour - 6) / 12 * np.pi)
    is_open = (random.random(n) > 0.03) * 1.0
    is_open[-96:-20] = 1.0
    is_open[[-12, -10]] = 0.0
    load = np.where(height > 0.01, 400 * height * random.uniform(0.5, 1.0, n), 0.0)
    return pd.DataFrame({"load": load * is_open, "open": is_open}, index)


@pytest.mark.slow
def test_bounds_are_in_the_file(tmp_path):
    """Nights, closures, and what forecasts do not leave."""
    X = make_nights()
    sizes = {"seq_len": 48, "pred_len": 24, "known_future": ["open"], "random_state": 0}
    model = InformerRegressor("load", members=["ridges", "network"], **sizes)
    model.fit(X[:-24])
    assert model._closures_.found
    model.export_onnx(tmp_path / "load.onnx")
    session = open_session(tmp_path / "load.onnx")
    signature = Signature.of_metadata(session.get_modelmeta().custom_metadata_map)
    inputs, _ = window_inputs(X, signature, X.index[[-24]])
    assert "steps" in inputs
    (forecast,) = session.run(["forecast"], inputs)
    expected = model.predict(X[-24:])
    assert np.abs(forecast.ravel() - expected).max() < 1e-5 * X["load"].std()
    assert (forecast.ravel()[[-12, -10]] == 0).all()
    assert (forecast == 0).sum() > 10


def assert_plain(path, n_weights):
    """Find no source paths and stack traces, which exporters write beside each node."""
    content = path.read_bytes()
    for place in (
        os.getcwd(),
        str(Path(onnx.__file__).parent.parent),
        "skinformer/model",
    ):
        assert place.encode() not in content
    assert len(content) < 4 * n_weights + 500_000


def test_the_example_serves_without_torch(tmp_path):
    """In a process of its own; the words are what a reader of the page sees."""
    script = Path(__file__).resolve().parents[2] / "examples/serve_without_torch.py"
    printed = subprocess.run(
        [sys.executable, "-W", "ignore", str(script), "--output", str(tmp_path)],
        check=True,
        capture_output=True,
        text=True,
    ).stdout
    assert "street.onnx: " in printed
    assert "torch was imported: False" in printed
    apart = float(re.search(r"model.forecast\(\): (\S+) of", printed)[1])
    assert apart < 1e-5
