"""Measure on a GPU what is to be known of it, most important first: `run.py gpu` calls this.

All parts run in one process beside this one, one after the other, each under a limit: a part that
exceeds it is stopped with its process, and the next one begins in another. What a part has found is
written at once. Without a GPU, and with ``--tiny``, the same runs on a CPU in a minute.

skinformer is imported from the folder that this file lies in, so that no installation is needed:
``pyproject.toml`` asks for torch 2.13, Python 3.12 with torch from 2.11 on runs all of this.
"""

from __future__ import annotations

import argparse
import gc
import json
import os
import queue
import signal
import subprocess
import sys
import tempfile
import threading
import time
import traceback
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any

from jobs import make_estimator

ROOT = Path(__file__).resolve().parents[2]

#: One number or remark: a part's table, its row and column, and the value.
Finding = dict[str, Any]


class Sizes:
    """What is measured: on a GPU, or in a minute on a CPU."""

    def __init__(self, *, tiny: bool) -> None:
        self.tiny = tiny
        self.lengths = (16, 32) if tiny else (96, 512, 4096, 16384)
        self.widths = (8,) if tiny else (64, 512)
        self.precisions = ("fp32", "bf16") if tiny else ("fp32", "tf32", "bf16")
        self.peer_lengths = (16,) if tiny else (96, 512, 2048)
        self.rows_of_checks = 200 if tiny else 600
        self.product = 64 if tiny else 8192
        self.rows = 300 if tiny else 8640
        self.series = 4 if tiny else 400

    def n_steps(self, length: int) -> int:
        """Return how many steps an epoch has: many short ones, as in a fit."""
        if self.tiny:
            return 3
        return 100 if length <= 512 else 16

    def batch_size(self, length: int) -> int:
        """Return how many windows a step has: fewer of long ones, whose states fill the memory."""
        if self.tiny:
            return 4
        return max(4, min(32, 32 * 4096 // length // 2))


def step_parameters(length: int, width: int, sizes: Sizes) -> dict[str, Any]:
    """Return the parameters of a network as published ones are: a token a step, and alone."""
    return {
        "seq_len": length,
        "label_len": min(48, length // 2),
        "pred_len": 24 if not sizes.tiny else 4,
        "patch_len": 1,
        "d_model": width,
        "n_heads": 8 if width > 64 else 4,
        "dropout": 0.05,
        "calendar": None,
        "members": ["network"],
        "early_stopping": False,
        "batch_size": sizes.batch_size(length),
        "random_state": 0,
    }


def wave(n_rows: int, n_columns: int = 1, seed: int = 0) -> Any:
    """Make noisy daily waves."""
    import numpy as np

    rng = np.random.default_rng(seed)
    season = np.sin(np.arange(n_rows) * (2 * np.pi / 24))[:, None]
    return season + rng.normal(size=(n_rows, n_columns)) / 5


# ---------------------------------------------------------------------------------- the device


def device_name() -> str:
    """Return the name of the card, or of the processor."""
    import torch

    if torch.cuda.is_available():
        return torch.cuda.get_device_name()
    return f"CPU, {torch.get_num_threads()} threads"


def device_type() -> str:
    """Return "cuda" where there is one, else "cpu"."""
    import torch

    return "cuda" if torch.cuda.is_available() else "cpu"


def synchronize() -> None:
    """Wait until the device has done all work."""
    import torch

    if torch.cuda.is_available():
        torch.cuda.synchronize()


def seconds_of(work: Callable[[], Any], repeats: int) -> float:
    """Return the median seconds of a piece of work, after one that is not counted."""
    seconds = []
    for _ in range(repeats + 1):
        synchronize()
        started = time.perf_counter()
        work()
        synchronize()
        seconds.append(time.perf_counter() - started)
    return sorted(seconds[1:])[repeats // 2]


@contextmanager
def peak_memory(found: dict[str, float]) -> Iterator[None]:
    """Note the most memory of the GPU that was held meanwhile beside what was before, in GB."""
    import torch

    if not torch.cuda.is_available():
        yield
        found["GB"] = 0.0
        return
    gc.collect()
    torch.cuda.empty_cache()
    torch.cuda.reset_peak_memory_stats()
    before = torch.cuda.memory_allocated()
    yield
    found["GB"] = (torch.cuda.max_memory_allocated() - before) / 1e9


@contextmanager
def matrix_precision(precision: str) -> Iterator[str]:
    """Allow tf32 in float32 products where it is asked for; yield the estimator's precision."""
    import torch

    before = torch.get_float32_matmul_precision()
    torch.set_float32_matmul_precision("high" if precision == "tf32" else "highest")
    try:
        yield "fp32" if precision == "tf32" else precision
    finally:
        torch.set_float32_matmul_precision(before)


def ceilings(sizes: Sizes) -> Iterator[Finding]:
    """Measure what the card reaches: matrix products, and copies within its memory."""
    import torch

    n, device = sizes.product, device_type()
    for precision, dtype in (
        ("fp32", torch.float32),
        ("tf32", torch.float32),
        ("bf16", None),
    ):
        with matrix_precision(precision):
            a, b = (
                torch.randn(n, n, device=device, dtype=dtype or torch.bfloat16)
                for _ in "ab"
            )
            seconds = seconds_of(lambda a=a, b=b: a @ b, 5)
        yield {
            "row": f"product of {n} x {n}, {precision}",
            "TFLOP/s": 2 * n**3 / seconds / 1e12,
        }
    block = torch.empty(n * n * 8, dtype=torch.uint8, device=device)
    seconds = seconds_of(block.clone, 5)
    yield {"row": "copy, read and written", "GB/s": 2 * block.numel() / seconds / 1e9}


# ---------------------------------------------------------------------------------- is it right


def checks(sizes: Sizes) -> Iterator[Finding]:
    """Check that fits on the device are causal, repeat, travel, and fall back."""
    each = (
        causality,
        both_devices,
        elsewhere,
        resumed,
        recorded,
        waits,
        memory_kept,
        full_device,
    )
    for check in each:
        try:
            yield {"row": check.__name__, **check(sizes)}
        except Exception:  # one fault must not hide the others
            yield {"row": check.__name__, "fault": traceback.format_exc()[-1500:]}


def _small(sizes: Sizes, **changes: Any) -> Any:
    """Make an estimator whose network alone forecasts, on the device."""
    parameters = {
        "seq_len": 48,
        "pred_len": 12,
        "d_model": 32,
        "max_iter": 4,
        "random_state": 0,
    }
    parameters |= {"members": ["network"], "patch_len": 1, "device": device_type()}
    parameters |= {"d_model": 8, "seq_len": 24, "batch_size": 32} if sizes.tiny else {}
    return make_estimator(**(parameters | changes))


def causality(sizes: Sizes) -> dict[str, Any]:
    """Change all rows behind a block: its forecasts must stay, bit for bit."""
    import numpy as np

    rows = wave(sizes.rows_of_checks)
    end, later = (
        len(rows) * 2 // 3,
        len(rows) * 2 // 3 + 4 * 12,
    )  # four blocks behind the fit
    model = _small(sizes).fit(rows[:end])
    changed = rows.copy()
    changed[later:] += 100
    before, after = (model.predict(x[end:])[: later - end] for x in (rows, changed))
    return {
        "largest change": float(np.abs(before - after).max()),
        "right": bool((before == after).all()),
    }


def both_devices(sizes: Sizes) -> dict[str, Any]:
    """Forecast by the same weights on the device and on the CPU: within 0.002 of the spread."""
    import copy

    import numpy as np

    rows = wave(sizes.rows_of_checks)
    model = _small(sizes).fit(rows)
    on_cpu = copy.deepcopy(model)
    on_cpu.device_, on_cpu.ensemble_ = "cpu", on_cpu.ensemble_.on_device("cpu")
    off = float(np.abs(model.predict(rows) - on_cpu.predict(rows)).max() / rows.std())
    return {"of the spread": off, "right": off < 2e-3}


def elsewhere(sizes: Sizes) -> dict[str, Any]:
    """Save on the device, load in a process that sees no GPU: the same forecasts."""
    import numpy as np

    rows = wave(sizes.rows_of_checks)
    with tempfile.TemporaryDirectory() as folder:
        model = _small(sizes).fit(rows)
        model.save(f"{folder}/model.skinformer")
        np.save(f"{folder}/rows.npy", rows)
        code = (
            "import sys, numpy, skinformer; folder = sys.argv[1];"
            "model = skinformer.load(folder + '/model.skinformer');"
            "numpy.save(folder + '/found.npy', model.predict(numpy.load(folder + '/rows.npy')));"
            "print(model.device_)"
        )
        done = subprocess.run(
            [sys.executable, "-c", code, folder],
            env={
                **os.environ,
                "CUDA_VISIBLE_DEVICES": "",
                "PYTHONPATH": _python_path(),
            },
            capture_output=True,
            text=True,
            check=False,
        )
        if done.returncode:
            return {"right": False, "fault": done.stderr[-800:]}
        found = np.load(f"{folder}/found.npy")
    off = float(np.abs(found - model.predict(rows)).max() / rows.std())
    return {"loaded on": done.stdout.strip(), "of the spread": off, "right": off < 2e-3}


class _Killed(BaseException):
    """Ends a fit as a kill does: nothing is tidied up."""


def resumed(sizes: Sizes) -> dict[str, Any]:
    """End a fit after two of five epochs, go on from its checkpoint, and compare."""
    import numpy as np

    from skinformer.training import checkpoint as checkpoints

    rows = wave(sizes.rows_of_checks)
    save, n_saved = checkpoints.save, 0

    def save_and_die(*args: Any, **how: Any) -> None:
        nonlocal n_saved
        save(*args, **how)
        n_saved += 1
        if n_saved == 2:
            raise _Killed

    with tempfile.TemporaryDirectory() as folder:
        whole = _small(sizes, max_iter=5, checkpoint=f"{folder}/whole.pt").fit(rows)
        again = _small(sizes, max_iter=5, checkpoint=f"{folder}/cut.pt")
        checkpoints.save = save_and_die
        try:
            again.fit(rows)
        except _Killed:
            pass
        finally:
            checkpoints.save = save
        again.fit(rows)
    off = float(np.abs(whole.predict(rows) - again.predict(rows)).max())
    losses = [float(model.history_["loss"].iloc[-1]) for model in (whole, again)]
    return {
        "off by": off,
        "losses": losses,
        "epochs": len(again.history_),
        "right": off == 0,
    }


def recorded(sizes: Sizes) -> dict[str, Any]:
    """Train by recorded steps and by steps that Python takes: the same losses."""
    import numpy as np

    from skinformer.training import trainer

    rows, used = wave(sizes.rows_of_checks), []
    make = trainer.RecordedStep.on_cuda

    def noted(*args: Any, **how: Any) -> Any:
        used.append(make(*args, **how))
        return used[-1]

    trainer.RecordedStep.on_cuda = noted
    try:
        losses = {}
        for optimizer in ("adamw", "muon"):
            for attention in ("dense", "probsparse"):
                model = _small(
                    sizes, optimizer=optimizer, attention=attention, dropout=0.0
                ).fit(rows)
                losses[f"{optimizer}, {attention}"] = [
                    round(x, 5) for x in model.history_["loss"]
                ]
        with plain_steps():
            plain = (
                _small(sizes, attention="dense", dropout=0.0)
                .fit(rows)
                .history_["loss"]
                .to_numpy()
            )
    finally:
        trainer.RecordedStep.on_cuda = make
    off = float(np.abs(plain - losses["adamw, dense"]).max())
    replayed = [step.n_replayed for step in used]
    right = off < 0.02 and (device_type() == "cpu" or min(replayed, default=0) > 0)
    return {
        "replayed": replayed,
        "losses": losses,
        "plain losses off by": off,
        "right": right,
    }


@contextmanager
def plain_steps() -> Iterator[None]:
    """Take training steps kernel by kernel."""
    from skinformer.training import trainer

    can_record = trainer.can_record
    trainer.can_record = lambda *_, **__: False  # type: ignore[assignment]
    try:
        yield
    finally:
        trainer.can_record = can_record


def waits(sizes: Sizes) -> dict[str, Any]:
    """Count how often the host waits for the device in ten steps more."""
    import warnings

    import torch

    if device_type() == "cpu":
        return {"a step": 0.0, "right": True}
    counts, texts = [], set()
    for n_steps in (10, 20):
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            torch.cuda.set_sync_debug_mode("warn")
            try:
                _small(sizes, max_iter=2, batch_size=16, max_windows=16 * n_steps).fit(
                    wave(1000)
                )
            finally:
                torch.cuda.set_sync_debug_mode("default")
        found = [each for each in caught if "synchroniz" in str(each.message)]
        counts.append(len(found))
        texts |= {f"{Path(each.filename).name}:{each.lineno}" for each in found}
    a_step = abs(counts[1] - counts[0]) / 20  # ten steps more in each of two epochs
    return {
        "a step": a_step,
        "in a fit": counts[0],
        "where": sorted(texts)[:12],
        "right": a_step < 0.1,
    }


def memory_kept(sizes: Sizes) -> dict[str, Any]:
    """Count what four fits more leave in the memory of the GPU, in MB."""
    import torch

    if device_type() == "cpu":
        return {"MB": 0.0, "right": True}
    held = []
    for _ in range(6):
        _small(sizes, max_iter=1).fit(wave(sizes.rows_of_checks))
        gc.collect()
        held.append(torch.cuda.memory_allocated() / 1e6)
    return {"MB": held[-1] - held[1], "right": held[-1] - held[1] < 1}


def full_device(sizes: Sizes) -> dict[str, Any]:
    """Fit by ``Network(device="auto")`` on a GPU whose memory is taken: a warning, and the CPU."""
    import warnings

    import torch

    if device_type() == "cpu":
        return {"right": True, "device": "cpu"}
    torch.cuda.empty_cache()
    hogs = []
    for size in (2**30, 2**26, 2**22):
        while True:
            try:
                hogs.append(torch.empty(size, dtype=torch.uint8, device="cuda"))
            except torch.OutOfMemoryError:
                break
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        model = _small(sizes, device="auto", d_model=256, batch_size=256).fit(
            wave(sizes.rows_of_checks)
        )
    del hogs
    torch.cuda.empty_cache()
    said = [str(each.message)[:200] for each in caught if "GPU" in str(each.message)]
    return {
        "device": model.device_,
        "said": said[:1],
        "right": model.device_ == "cpu" and bool(said),
    }


# ---------------------------------------------------------------------------------- how fast


def timed_fit(
    length: int, width: int, sizes: Sizes, **changes: Any
) -> dict[str, float]:
    """Time training steps of a whole fit: ms a step, windows a second, GB at most."""
    parameters = (
        step_parameters(length, width, sizes) | {"device": device_type()} | changes
    )
    n_steps = sizes.n_steps(length)
    n_windows = parameters["batch_size"] * n_steps
    rows = wave(length + parameters["pred_len"] + n_windows)
    found: dict[str, float] = {}
    with peak_memory(found):
        model = make_estimator(**parameters, max_iter=4, max_windows=n_windows).fit(
            rows
        )
    seconds = sorted(model.history_["seconds"].iloc[1:])[1] / n_steps
    return {
        "ms": 1e3 * seconds,
        "windows/s": parameters["batch_size"] / seconds,
        **found,
    }


def busy_share(length: int, width: int, sizes: Sizes, **changes: Any) -> float:
    """Return the share of time in which the GPU runs kernels, between the steps of a fit."""
    import torch
    from torch.profiler import ProfilerActivity, profile

    if device_type() == "cpu":
        return 1.0
    with profile(activities=[ProfilerActivity.CUDA]) as profiled:
        timed_fit(length, width, sizes, **changes)
    spans = sorted(
        (event.start_ns(), event.start_ns() + event.duration_ns())
        for event in profiled.profiler.kineto_results.events()
        if event.device_type() == torch.autograd.DeviceType.CUDA
    )
    spans = spans[
        len(spans) // 2 : len(spans) * 19 // 20
    ]  # behind the first epoch, and recorded
    busy, end = 0, spans[0][0]
    for start, stop in spans:
        busy += max(0, stop - max(start, end))
        end = max(end, stop)
    return busy / (end - spans[0][0])


def steps(sizes: Sizes) -> Iterator[Finding]:
    """Time training steps by length, width and precision, and how busy they keep the GPU."""
    for length in sizes.lengths:
        for width in sizes.widths:
            batch = sizes.batch_size(length)
            row = f"{batch} windows of {length}, width {width}"
            for precision in sizes.precisions:
                with matrix_precision(precision) as own:
                    try:
                        found = timed_fit(length, width, sizes, precision=own)
                    except Exception as error:  # memory may not suffice for all sizes
                        yield {"row": f"{row}, {precision}", "fault": str(error)[:300]}
                        continue
                if precision == "bf16":
                    found["busy"] = busy_share(length, width, sizes, precision=own)
                yield {"row": f"{row}, {precision}", **found}


def ways(sizes: Sizes) -> Iterator[Finding]:
    """Time a step kernel by kernel, recorded, compiled, and compiled and recorded."""
    length, width = (sizes.lengths[1], sizes.widths[-1])
    # Without dropout and with dense attention: the compiler knows no generators of ours.
    how = {"precision": "bf16", "dropout": 0.0, "attention": "dense"}
    for each in sizes.widths:
        with plain_steps():
            found = timed_fit(length, each, sizes, **how)
        yield {"row": f"length {length}, width {each}, kernel by kernel", **found}
        yield {
            "row": f"length {length}, width {each}, recorded",
            **timed_fit(length, each, sizes, **how),
        }
    if sizes.tiny:
        return
    with compiled():
        with plain_steps():
            started = time.perf_counter()
            found = timed_fit(length, width, sizes, **how)
            found["fit, s"] = time.perf_counter() - started
        yield {"row": f"length {length}, width {width}, compiled", **found}
        found = timed_fit(length, width, sizes, **how)
        yield {"row": f"length {length}, width {width}, compiled and recorded", **found}


@contextmanager
def compiled() -> Iterator[None]:
    """Compile the network before it is trained."""
    from skinformer.estimators import fitting

    train = fitting.train

    def compile_and_train(module: Any, **how: Any) -> Any:
        module.compile()
        return train(module, **how)

    fitting.train = compile_and_train
    try:
        yield
    finally:
        fitting.train = train


def attention(sizes: Sizes) -> Iterator[Finding]:
    """Time steps with dense and with ProbSparse attention, by length: from where does it pay?"""
    lengths = sizes.lengths if sizes.tiny else (512, 1024, 2048, 4096, 8192, 16384)
    for length in lengths:
        for width in sizes.widths:
            found: dict[str, float] = {}
            for kind in ("dense", "probsparse"):
                one = timed_fit(length, width, sizes, precision="bf16", attention=kind)
                found |= {f"{kind}, ms": one["ms"], f"{kind}, GB": one["GB"]}
            found["times faster"] = found["dense, ms"] / found["probsparse, ms"]
            yield {"row": f"length {length}, width {width}", **found}


def published(sizes: Sizes) -> Iterator[Finding]:
    """Time steps of published Informers at the same sizes, as they come and in bfloat16."""
    import peers

    for length in sizes.peer_lengths:
        for width in sizes.widths:
            common = step_parameters(length, width, sizes)
            ours = timed_fit(length, width, sizes, precision="bf16")
            yield {"row": f"length {length}, width {width}: skinformer, bf16", **ours}
            for name, make in peers.MODELS.items():
                for precision in ("fp32", "bf16"):
                    row = f"length {length}, width {width}: {name}, {precision}"
                    found: dict[str, float] = {}
                    try:
                        step = peers.training_step(
                            make, common, device_type(), precision
                        )
                        with peak_memory(found):
                            seconds = seconds_of(partial(_repeat, step, 5), 3) / 5
                    except ImportError as error:
                        yield {"row": row, "absent": str(error)}
                        continue
                    except Exception as error:  # memory may not suffice
                        yield {
                            "row": row,
                            "fault": f"{type(error).__name__}: {error}"[:300],
                        }
                        continue
                    yield {"row": row, "ms": 1e3 * seconds, **found}


def _repeat(work: Callable[[], Any], n: int) -> None:
    """Repeat a piece of work without waiting in between, as steps of a fit are."""
    for _ in range(n):
        work()


def marked_tests(sizes: Sizes) -> Iterator[Finding]:
    """Run the tests that are marked `cuda`."""
    command = [
        sys.executable,
        "-m",
        "pytest",
        "-q",
        "-m",
        "cuda",
        "-p",
        "no:cacheprovider",
    ]
    command += ["-x"] if sizes.tiny else []
    files = ["tests/estimators/test_cuda.py", "tests/training/test_trainer.py"]
    env = {**os.environ, "PYTHONPATH": _python_path()}
    done = subprocess.run(
        [*command, *files],
        cwd=ROOT,
        env=env,
        capture_output=True,
        text=True,
        check=False,
    )
    lines = done.stdout.strip().splitlines()
    faults = [line for line in lines if line.startswith(("FAILED", "ERROR", "E  "))]
    yield {
        "row": "tests marked cuda",
        "summary": lines[-1:] or done.stderr[-500:],
        "faults": faults[:30],
    }


def fits(sizes: Sizes) -> Iterator[Finding]:
    """Time whole fits on the device and on the CPU of the same machine, with their errors."""
    cases = {
        "ETTh1, the network alone": (_etth1, {"members": ["network"]}),
        f"{sizes.series} series, the network alone": (_panel, {"members": ["network"]}),
        "ETTh1, defaults": (_etth1, {}),
        f"{sizes.series} series, defaults": (_panel, {}),
    }
    started = time.perf_counter()
    _small(sizes).fit(wave(sizes.rows_of_checks))
    yield {"row": "first fit of a process, small", "s": time.perf_counter() - started}
    for name, (make, changes) in cases.items():
        for device in dict.fromkeys((device_type(), "cpu")):
            yield {
                "row": f"{name}, {device}",
                **_whole_fit(*make(sizes), device=device, **changes),
            }


def _whole_fit(rows: Any, later: Any, **parameters: Any) -> dict[str, Any]:
    """Fit and forecast, with the seconds of each and the mean absolute error."""
    import numpy as np

    started = time.perf_counter()
    model = make_estimator(random_state=0, **parameters).fit(rows)
    fitted = time.perf_counter()
    found = model.forecast()
    forecast = time.perf_counter()
    predicted = model.predict(later)
    done = time.perf_counter()
    truth = np.asarray(later)[: len(predicted)].reshape(len(predicted), -1)
    errors = np.abs(np.asarray(predicted).reshape(len(predicted), -1) - truth)
    return {
        "fit, s": fitted - started,
        "forecast, s": forecast - fitted,
        "predict, s": done - forecast,
        "error": float(errors.mean()),
        "parts": {
            name: round(float(s), 2)
            for name, s in model.fit_times_[["part", "seconds"]].to_numpy()
        },
        "n_forecast": len(found),
    }


def _etth1(sizes: Sizes) -> tuple[Any, Any]:
    """Return rows to fit to and later ones: ETTh1 where its file is at hand, else waves."""
    import pandas as pd

    path = Path(os.environ.get("SKINFORMER_BENCH_DATA", "../shared/data"), "ETTh1.csv")
    if path.exists():
        table = pd.read_csv(path, parse_dates=[0], index_col=0).asfreq("h")
    else:
        index = pd.date_range("2024-01-01", periods=12_000, freq="h", name="date")
        table = pd.DataFrame(wave(12_000, 7), index, columns=list("abcdefg"))
    table = table.iloc[:, -1:]
    return table[: sizes.rows], table[sizes.rows : sizes.rows + 96]


def _panel(sizes: Sizes) -> tuple[Any, Any]:
    """Return 200 days of many series, and the days behind them, each series' own."""
    import numpy as np
    import pandas as pd

    n_days = 228
    days = pd.date_range("2024-01-01", periods=n_days, freq="D")
    rng = np.random.default_rng(0)
    week = np.sin(
        np.arange(n_days)[:, None] * 2 * np.pi / 7 + rng.uniform(0, 6, sizes.series)
    )
    level = rng.uniform(5, 50, sizes.series)
    values = level * (1 + 0.3 * week + rng.normal(0, 0.1, (n_days, sizes.series)))
    names = [f"s{i}" for i in range(sizes.series)]
    index = pd.MultiIndex.from_product([names, days], names=["series", "day"])
    frame = pd.DataFrame({"y": values.T.ravel()}, index)
    cut = days[-28]
    day = frame.index.get_level_values("day")
    return frame[day < cut], frame[day >= cut]


PARTS: dict[str, tuple[Callable[[Sizes], Iterator[Finding]], float]] = {
    "checks": (checks, 0.10),
    "ceilings": (ceilings, 0.02),
    "steps": (steps, 0.20),
    "published": (published, 0.12),
    "attention": (attention, 0.12),
    "marked_tests": (marked_tests, 0.10),
    "fits": (fits, 0.20),
    "ways": (ways, 0.14),
}


def _python_path() -> str:
    return os.pathsep.join([str(ROOT), os.environ.get("PYTHONPATH", "")]).rstrip(
        os.pathsep
    )


# ---------------------------------------------------------------------------------- one call


def run_parts(names: list[str], sizes: Sizes) -> None:
    """Run parts in this process, and print what they find as lines of JSON."""
    import warnings

    warnings.simplefilter("ignore")
    sys.path[:0] = [str(ROOT), str(Path(__file__).parent)]
    _print({"part": "device", "row": device_name(), **_versions()})
    for name in names:
        _print({"begin": name})
        started = time.perf_counter()
        try:
            for finding in PARTS[name][0](sizes):
                _print({"part": name, **finding})
        except Exception:  # the next part may do
            _print(
                {"part": name, "row": "fault", "fault": traceback.format_exc()[-2000:]}
            )
        _print({"part": "seconds", "row": name, "s": time.perf_counter() - started})


def _versions() -> dict[str, str]:
    import pandas
    import sklearn
    import torch

    return {
        "python": sys.version.split()[0],
        "torch": torch.__version__,
        "scikit-learn": sklearn.__version__,
        "pandas": pandas.__version__,
    }


def _print(finding: Finding) -> None:
    sys.stdout.write(json.dumps(finding) + "\n")
    sys.stdout.flush()


class Report:
    """Findings by part, written to a file after each."""

    def __init__(self, path: Path | None) -> None:
        self.path = path
        self.findings: list[Finding] = []

    def add(self, finding: Finding) -> None:
        """Add a finding, and write all of them."""
        self.findings.append(finding)
        sys.stdout.write(_sentence(finding) + "\n")
        sys.stdout.flush()
        if self.path is not None:
            written = self.path.with_name(self.path.name + ".new")
            written.write_text(json.dumps(self.findings, indent=1))
            written.replace(self.path)


def _sentence(finding: Finding) -> str:
    """Write a finding as a line: its part, its row, and what was found."""
    values = {k: v for k, v in finding.items() if k not in ("part", "row")}
    cells = [
        f"{k} {v:.4g}" if isinstance(v, float) else f"{k} {v}"
        for k, v in values.items()
    ]
    return f"{finding['part']} | {finding['row']} | " + "; ".join(cells)


def main(arguments: list[str]) -> int:
    """Run all parts, each under its share of the minutes, and write what they find."""
    parser = argparse.ArgumentParser(
        description=(__doc__ or "").split("\n", maxsplit=1)[0]
    )
    parser.add_argument(
        "parts", nargs="*", help=f"of {', '.join(PARTS)}; all by default"
    )
    parser.add_argument(
        "--minutes", type=float, default=8.0, help="of all parts together"
    )
    parser.add_argument("--out", type=Path, help="JSON file")
    parser.add_argument(
        "--tiny", action="store_true", help="a minute's worth, on a CPU, too"
    )
    options = parser.parse_args(arguments)
    if unknown := set(options.parts) - set(PARTS):
        parser.error(f"no such part: {', '.join(sorted(unknown))}")
    report = Report(options.out)
    waiting = list(options.parts or PARTS)
    ends = time.monotonic() + 60 * options.minutes
    while waiting and time.monotonic() < ends:
        waiting = _run_until_late(waiting, report, ends=ends, options=options)
    for name in waiting:
        report.add({"part": name, "row": "not run", "fault": "no time was left"})
    return int(
        any(
            "fault" in finding or finding.get("right") is False
            for finding in report.findings
        )
    )


def _run_until_late(
    names: list[str], report: Report, *, ends: float, options: argparse.Namespace
) -> list[str]:
    """Run parts in a process; stop it where one exceeds its limit, and return those that wait."""
    command = [
        sys.executable,
        __file__,
        "--child",
        *names,
        *(["--tiny"] if options.tiny else []),
    ]
    env = {**os.environ, "PYTHONPATH": _python_path(), "PYTHONUNBUFFERED": "1"}
    if options.tiny:
        env |= {"CUDA_VISIBLE_DEVICES": ""}
    child = subprocess.Popen(
        command, stdout=subprocess.PIPE, text=True, env=env, start_new_session=True
    )
    lines: queue.Queue[str] = queue.Queue()
    threading.Thread(target=_read_lines, args=(child, lines), daemon=True).start()
    waiting, running, late = list(names), "", ends
    while True:
        try:
            line = lines.get(timeout=max(0.1, late - time.monotonic()))
        except queue.Empty:
            os.killpg(child.pid, signal.SIGKILL)  # with what it has started
            report.add(
                {
                    "part": running or waiting[0],
                    "row": "stopped",
                    "fault": "it took too long",
                }
            )
            return waiting if running else waiting[1:]
        if not line:
            break
        finding = json.loads(line)
        if "begin" in finding:
            running = finding["begin"]
            waiting.remove(running)
            limit = PARTS[running][1] * 60 * options.minutes
            late = min(ends, time.monotonic() + limit)
        else:
            report.add(finding)
    if child.wait():
        report.add(
            {"part": running or waiting[0], "row": "ended", "fault": "its process died"}
        )
        return waiting if running else waiting[1:]
    return waiting


def _read_lines(child: subprocess.Popen[str], lines: queue.Queue[str]) -> None:
    """Pass on what a process prints, and an empty line at its end."""
    for line in child.stdout or ():
        if line.startswith("{"):
            lines.put(line)
    lines.put("")


if __name__ == "__main__":
    if "--child" in sys.argv:
        rest = [each for each in sys.argv[1:] if not each.startswith("--")]
        run_parts(rest, Sizes(tiny="--tiny" in sys.argv))
    else:
        sys.exit(main(sys.argv[1:]))
