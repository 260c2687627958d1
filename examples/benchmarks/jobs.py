"""One measurement each, in a process of its own; `run.py` calls them. Prints one line of JSON."""

from __future__ import annotations

import importlib
import json
import resource
import statistics
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

#: The sizes that peers are compared at, of a univariate series at 96 steps → 24.
SIZES: dict[str, dict[str, Any]] = {
    "A": {"d_model": 64, "n_heads": 4},
    "B": {"d_model": 512, "n_heads": 8},
}
COMMON: dict[str, Any] = {
    "seq_len": 96,
    "label_len": 48,
    "pred_len": 24,
    "n_encoder_layers": 2,
    "n_decoder_layers": 1,
    "dropout": 0.05,
    "batch_size": 32,
    "attention": "probsparse",
    "members": ["network"],
    "patch_len": 1,
    "calendar": None,
    "early_stopping": False,
    "device": "cpu",
    "random_state": 0,
}
STEPS = {"A": 40, "B": 8}  # measured in a run


def peak_mb() -> float:
    """Return the most memory the process has held."""
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak / (1e6 if sys.platform == "darwin" else 1e3)


def make_wave(n_rows: int, n_columns: int = 1) -> Any:
    """Make a noisy daily wave."""
    import numpy as np

    rng = np.random.default_rng(0)
    wave = np.sin(np.arange(n_rows, dtype=np.float32) * (2 * np.pi / 24))[:, None]
    noise = rng.standard_normal((n_rows, n_columns), dtype=np.float32)
    noise /= 5
    noise += wave
    return noise


def make_estimator(**flat: Any) -> Any:
    """Make an estimator of parameters that are named as a peer's, without the part of each."""
    from skinformer import InformerRegressor, Network, Training

    whole = InformerRegressor(network=Network(), training=Training())
    full_names = {name.rpartition("__")[2]: name for name in whole.get_params()}
    return InformerRegressor().set_params(
        **{full_names[name]: value for name, value in flat.items()}
    )


def step(size: str, precision: str) -> dict[str, float]:
    """Time training steps of a whole fit: gathering, forward, backward, clipping, optimiser."""

    before = _warm_up()
    n_steps = STEPS[size] // 4
    model = make_estimator(
        **COMMON,
        **SIZES[size],
        precision=precision,
        max_iter=6,
        max_windows=32 * n_steps,
    ).fit(make_wave(8640))
    # Of five epochs, after a first one.
    seconds = model.history_["seconds"].iloc[1:].median()
    return {"ms": 1e3 * seconds / n_steps, "mb": peak_mb() - before}


def predict(size: str) -> dict[str, float]:
    """Time forecasts from every origin."""
    import numpy as np
    from windows import forecast_windows

    wave = make_wave(4096)
    model = make_estimator(**COMMON, **SIZES[size], max_iter=1, max_windows=32).fit(
        wave
    )
    origins = np.arange(96, 96 + 3200)
    seconds = _faster_half(lambda: forecast_windows(model, wave, origins), 4)
    return {"per_s": len(origins) / seconds}


def attention(kind: str, length: str, mask: str) -> dict[str, float]:
    """Time an attention, forward and backward: batch 4, 8 heads of 64."""
    import torch
    from torch.nn import functional as F

    from skinformer.model.probsparse import ProbSparseAttention

    causal = mask == "causal"
    q, k, v = (torch.randn(4, 8, int(length), 64, requires_grad=True) for _ in range(3))
    kernel = ProbSparseAttention(causal=causal, factor=5.0, seed=0)

    def once() -> None:
        if kind == "sdpa":
            out = F.scaled_dot_product_attention(q, k, v, is_causal=causal)
        else:
            keys = kernel.draw_keys(int(length), q.device)
            out = kernel(q, k, v, keys=keys, n_last=int(length))
        out.sum().backward()

    before = peak_mb()
    once()
    used = peak_mb() - before
    repeats = 3 if kind == "sdpa" and int(length) > 2000 else 7
    return {"ms": 1e3 * _faster_half(once, repeats), "mb": used}


def import_(what: str) -> dict[str, float]:
    """Time imports; torch and matplotlib must not come along."""
    seconds = 0.0
    for name in (
        "pandas",
        "sklearn.base",
        *(["skinformer"] if what == "skinformer" else []),
    ):
        started = time.perf_counter()
        importlib.import_module(name)
        # Of skinformer only what it adds: the rest varies more than that from run to run.
        seconds = (
            time.perf_counter() - started + (0 if name == "skinformer" else seconds)
        )
    heavy = {"torch", "matplotlib"} & set(sys.modules)
    return {"s": seconds, "modules": len(sys.modules), "heavy": len(heavy)}


def first_forecast() -> dict[str, float]:
    """Fit with default settings to the bundled data, and forecast."""
    started = time.perf_counter()
    from skinformer import InformerRegressor
    from skinformer.datasets import load_auckland_pedestrians

    counts = load_auckland_pedestrians()
    model = InformerRegressor(counts.columns[-1], random_state=0).fit(counts)
    model.forecast()
    seconds = time.perf_counter() - started
    return {"s": seconds, "other_s": seconds - model.history_["seconds"].sum()}


def save(path: str) -> dict[str, float]:
    """Fit the defaults to twelve weeks of one street, and save it with its ranges."""
    from skinformer import InformerRegressor
    from skinformer.datasets import load_auckland_pedestrians

    counts = load_auckland_pedestrians()[["45 Queen Street"]][:2016]
    model = InformerRegressor(
        "45 Queen Street", seq_len=168, pred_len=24, random_state=0
    )
    model.fit(counts).save(path)
    return {"mb": Path(path).stat().st_size / 1e6}


def bare() -> dict[str, float]:
    """Time the imports that any such process has."""
    started = time.perf_counter()
    for name in ("torch", "sklearn", "pandas"):
        importlib.import_module(name)
    return {"s": time.perf_counter() - started}


def load(path: str) -> dict[str, float]:
    """Forecast a range by a saved model, and load it once more."""
    started = time.perf_counter()
    import skinformer

    skinformer.load(path).forecast(coverage=0.8)
    whole = time.perf_counter() - started
    started = time.perf_counter()
    model = skinformer.load(path)
    again = time.perf_counter() - started
    started = time.perf_counter()
    model.forecast(coverage=0.8)
    return {"s": whole, "load_s": again, "forecast_s": time.perf_counter() - started}


def default_fit() -> dict[str, float]:
    """Fit defaults but for two epochs to 6,000 hours of one street, after the imports."""
    import torch

    from skinformer import InformerRegressor, Training
    from skinformer.datasets import load_auckland_pedestrians

    counts = load_auckland_pedestrians().iloc[:6000, :1]
    _warm_up()
    threads = torch.get_num_threads()
    started, used = time.perf_counter(), time.process_time()
    InformerRegressor(pred_len=24, random_state=0, training=Training(max_iter=2)).fit(
        counts
    )
    seconds, used = time.perf_counter() - started, time.process_time() - used
    return {"s": seconds, "cpu_s": used, "threads": threads}


def fit(table: str, members: str) -> dict[str, float]:
    """Fit defaults with some members, joined by "+", and forecast the rows behind, in steps."""
    import numpy as np
    from tables import TABLES

    from skinformer import InformerClassifier, InformerRegressor
    from skinformer.evaluation import backtest

    rows = TABLES[table]()
    _warm_up()
    make = InformerClassifier if table == "levels" else InformerRegressor
    chosen = members if members == "auto" else members.split("+")
    model = make(members=chosen, random_state=0, **rows.columns)
    started, used = time.perf_counter(), time.process_time()
    model.fit(rows.train)
    out = {"s": time.perf_counter() - started, "cpu_s": time.process_time() - used}
    if table == "levels":
        found = model.predict_proba(rows.later)
        came = found[
            np.arange(len(found)), model.classes_.searchsorted(rows.later.iloc[:, 0])
        ]
        return out | {"error": float(-np.log(came).mean())}
    result = backtest(model, rows.later).dropna(subset=["actual", "forecast"])
    return out | {"error": float((result["actual"] - result["forecast"]).abs().mean())}


def unit() -> dict[str, float]:
    """Time what other machines can repeat: boosted trees on 60,000 rows of random numbers."""
    import numpy as np
    from sklearn.ensemble import HistGradientBoostingRegressor

    rng = np.random.default_rng(0)
    features, truth = rng.normal(size=(60_000, 50)), rng.normal(size=60_000)
    model = HistGradientBoostingRegressor(max_iter=200, early_stopping=False)
    started, used = time.perf_counter(), time.process_time()
    model.fit(features, truth)
    return {"s": time.perf_counter() - started, "cpu_s": time.process_time() - used}


def parts(
    rows: str, columns: str, series: str, seq_len: str, pred_len: str
) -> dict[str, float]:
    """Fit defaults but for five epochs to hourly waves, one column the target: CPU-s by part."""
    import pandas as pd

    from skinformer import InformerRegressor, Training

    before, n, n_series = _warm_up(), int(rows), int(series)
    hours = pd.date_range("2024-01-01", periods=n // n_series, freq="h")
    names = [f"x{i}" for i in range(1, int(columns))]
    waves = [
        pd.DataFrame(wave, hours, ["y", *names])
        for wave in make_wave(n, int(columns)).reshape(n_series, len(hours), -1)
    ]
    frame = pd.concat(waves, keys=range(n_series)) if n_series > 1 else waves[0]
    lengths = {"seq_len": int(seq_len), "pred_len": int(pred_len)}
    model = InformerRegressor(
        "y", random_state=0, **lengths, training=Training(max_iter=5)
    ).fit(frame)
    spent: dict[str, float] = model.fit_times_.set_index("part")[
        "cpu_seconds"
    ].to_dict()
    return {**spent, "all": sum(spent.values()), "mb": peak_mb() - before}


def busy() -> dict[str, float]:
    """Keep a core busy until the input ends."""
    import threading

    ended = threading.Event()

    def wait() -> None:
        sys.stdin.read()
        ended.set()

    threading.Thread(target=wait).start()
    while not ended.is_set():
        sum(range(10_000))
    return {}


def long_frame(n_rows: str) -> dict[str, float]:
    """Fit on and forecast from a frame of eight columns, one of them the target."""
    import pandas as pd

    from skinformer import InformerRegressor, Training

    before = _warm_up()
    frame = pd.DataFrame(make_wave(int(n_rows), 8), columns=list("abcdefgh"))
    size = frame.to_numpy().nbytes / 1e6
    started = time.perf_counter()
    model = InformerRegressor("h", random_state=0, training=Training(max_iter=1)).fit(
        frame
    )
    model.forecast()
    seconds = time.perf_counter() - started
    return {"mb": round(peak_mb() - before), "input_mb": size, "s": seconds}


def floor(size: str, precision: str) -> dict[str, float]:
    """Count a step's operations and measure the rate of a matrix product of its shape."""
    import torch
    from torch.utils.flop_counter import FlopCounterMode

    from skinformer.model.informer import Informer

    counted: list[float] = []
    forward = Informer.forward

    def counting(self: Any, *inputs: Any) -> Any:
        with FlopCounterMode(display=False) as counter:
            out = forward(self, *inputs)
        # The backward pass costs twice the forward.
        counted.append(3 * counter.get_total_flops())
        return out

    Informer.forward = counting  # type: ignore[method-assign]
    make_estimator(**COMMON, **SIZES[size], max_iter=1, max_windows=32).fit(
        make_wave(512)
    )
    width = SIZES[size]["d_model"]
    dtype = torch.bfloat16 if precision == "bf16" else torch.float32
    x, w = (
        torch.randn(32 * 96, width, dtype=dtype),
        torch.randn(width, 4 * width, dtype=dtype),
    )
    rate = 2 * x.numel() * 4 * width / _faster_half(lambda: x @ w, 50)
    return {
        "gflop": counted[0] / 1e9,
        "rate": rate / 1e9,
        "ms": 1e3 * counted[0] / rate,
    }


def _warm_up() -> float:
    """Import what a fit imports, and give the memory held then."""

    tiny = {"seq_len": 4, "pred_len": 2, "d_model": 8, "n_heads": 2, "max_iter": 1}
    make_estimator(**tiny).fit(make_wave(40)).forecast()
    return peak_mb()


def _faster_half(call: Callable[[], Any], n: int) -> float:
    """Time a call some times, after a first one, and take the median of the faster half."""
    call()
    seconds = []
    for _ in range(n):
        started = time.perf_counter()
        call()
        seconds.append(time.perf_counter() - started)
    return statistics.median(sorted(seconds)[: -(-n // 2)])


if __name__ == "__main__":
    name, *arguments = sys.argv[1:]
    jobs: dict[str, Callable[..., dict[str, float]]] = {
        "step": step,
        "predict": predict,
        "attention": attention,
        "import": import_,
        "first-forecast": first_forecast,
        "save": save,
        "bare": bare,
        "load": load,
        "fit": fit,
        "unit": unit,
        "default-fit": default_fit,
        "parts": parts,
        "busy": busy,
        "long-frame": long_frame,
        "floor": floor,
    }
    result = jobs[name](*arguments)
    sys.stdout.write(json.dumps(result) + "\n")
