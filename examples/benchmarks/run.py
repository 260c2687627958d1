"""Measure speed and memory, beside peers where they are installed.

Run ``python examples/benchmarks/run.py``; ``--peer-python PATH`` names a Python that has
neuralforecast and transformers. Every job runs in a process of its own, and the jobs that are
compared take turns, so that a ratio survives a noisy machine. Prints tables; ``--output FILE``
saves every single run. ``run.py gpu`` measures on a GPU, see `gpu.py`.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import gpu
from tables import TABLES

JOBS = Path(__file__).with_name("jobs.py")
PEERS = Path(__file__).with_name("peers.py")

Result = dict[str, float]


class Runner:
    """Run jobs in processes of their own, with so many threads."""

    def __init__(self, *, peer_python: str | None, n_runs: int, n_threads: int) -> None:
        self.peer_python, self.n_runs, self.n_threads = peer_python, n_runs, n_threads
        self.raw: dict[str, list[Result]] = {}

    def job(
        self, name: str, *, threads: int | None = None, peer: bool = False
    ) -> Result:
        """Run one job once and give the numbers it printed."""
        python = self.peer_python if peer else sys.executable
        threads = threads or self.n_threads
        limits = dict.fromkeys(("OMP_NUM_THREADS", "MKL_NUM_THREADS"), str(threads))
        done = subprocess.run(
            [str(python), str(PEERS if peer else JOBS), *name.split()],
            capture_output=True,
            text=True,
            check=False,
            env={**os.environ, **limits},
        )
        if done.returncode:
            sys.stderr.write(f"{name}: {done.stderr.strip().splitlines()[-1]}\n")
            return {}
        result: Result = json.loads(done.stdout.strip().splitlines()[-1])
        return result

    def medians(self, names: list[str], **options: Any) -> list[Result]:
        """Run jobs in turns, and return the median of each number over the runs."""
        runs: list[list[Result]] = [[] for _ in names]
        for _ in range(self.n_runs):
            for done, name in zip(runs, names, strict=True):
                peer = name.startswith(("neuralforecast", "transformers", "lightgbm"))
                if not peer or self.peer_python:
                    done.append(self.job(name, peer=peer, **options))
        for name, done in zip(names, runs, strict=True):
            self.raw[name] = [one for one in done if one]
        return [_median(done) for done in runs]


def _median(runs: list[Result]) -> Result:
    complete = [run for run in runs if run]
    keys = complete[0] if complete else {}
    return {key: statistics.median(run[key] for run in complete) for key in keys}


def _ratio(ours: Result, theirs: Result, key: str) -> str:
    return f"{ours[key] / theirs[key]:.2f}" if key in ours and key in theirs else "–"


def _cell(one: Result, key: str, digits: int) -> str:
    return f"{one[key]:.{digits}f}" if key in one else "–"


def steps(runner: Runner) -> list[list[Any]]:
    """Compare training steps of the two sizes."""
    rows = [["training step", "ms", "of neuralforecast's", "peak MB above imports"]]
    for size, precisions in (("A", ("fp32",)), ("B", ("fp32", "bf16"))):
        names = [f"{peer}-step {size}" for peer in ("neuralforecast", "transformers")]
        names += [f"step {size} {p}" for p in precisions]
        peer, other, *ours = runner.medians(names)
        for name, one in (("neuralforecast", peer), ("transformers", other)):
            if one:
                ratio = _ratio(one, peer, "ms")
                rows.append(
                    [f"{name}, {size}", f"{one['ms']:.0f}", ratio, f"{one['mb']:.0f}"]
                )
        for precision, one in zip(precisions, ours, strict=True):
            if one:
                ratio = _ratio(one, peer, "ms")
                rows.append(
                    [
                        f"{size}, {precision}",
                        f"{one['ms']:.0f}",
                        ratio,
                        f"{one['mb']:.0f}",
                    ]
                )
    return rows


def predictions(runner: Runner) -> list[list[Any]]:
    """Compare windows predicted in a second at size A."""
    peer, ours = runner.medians(["neuralforecast-predict A", "predict A"])
    rows = [["prediction, size A", "windows / s", "times neuralforecast's"]]
    if peer:
        rows.append(["neuralforecast", f"{peer['per_s']:.0f}", "1"])
    if ours:
        rows.append(["skinformer", f"{ours['per_s']:.0f}", _ratio(ours, peer, "per_s")])
    return rows


def attention(runner: Runner) -> list[list[Any]]:
    """Compare ProbSparse with dense attention, forward and backward, on one thread."""
    rows = [
        ["attention, L", "mask", "ProbSparse ms (MB)", "SDPA ms (MB)", "times faster"]
    ]
    for mask in ("none", "causal"):
        for length in (96, 192, 384, 768, 1536, 3072, 6144):
            names = [
                f"attention {kind} {length} {mask}" for kind in ("probsparse", "sdpa")
            ]
            sparse, dense = runner.medians(names, threads=1)
            if not sparse or not dense:
                continue
            cells = [f"{one['ms']:.1f} ({one['mb']:.0f})" for one in (sparse, dense)]
            rows.append([length, mask, *cells, f"{dense['ms'] / sparse['ms']:.1f}"])
    return rows


def start(runner: Runner) -> list[list[Any]]:
    """Measure imports, and the way from a new process to the first forecast."""
    base, ours, quick = runner.medians(
        ["import base", "import skinformer", "first-forecast"]
    )
    if not (base and ours and quick):
        return [["start"]]
    return [
        ["start", "s", "modules"],
        ["import pandas, sklearn", f"{base['s']:.2f}", f"{base['modules']:.0f}"],
        [
            "skinformer on top",
            f"{ours['s']:.4f}",
            f"{ours['modules'] - base['modules']:.0f}",
        ],
        ["first forecast, bundled data, defaults", f"{quick['s']:.1f}", ""],
        ["of which everything but training", f"{quick['other_s']:.1f}", ""],
    ]


def saved(runner: Runner) -> list[list[Any]]:
    """Measure a new process, from its imports to a range of a saved model."""
    with tempfile.TemporaryDirectory() as folder:
        path = f"{folder}/model.skinformer"
        written = runner.job(f"save {path}")
        base, ours = runner.medians(["bare", f"load {path}"])
    if not (written and base and ours):
        return [["saved"]]
    return [
        ["a saved model", "s", "ratio"],
        ["import torch, sklearn, pandas", f"{base['s']:.2f}", ""],
        [
            "import skinformer, load, forecast",
            f"{ours['s']:.2f}",
            _ratio(ours, base, "s"),
        ],
        ["load again", f"{ours['load_s']:.3f}", ""],
        ["forecast again", f"{ours['forecast_s']:.3f}", ""],
    ]


def contention(runner: Runner) -> list[list[Any]]:
    """Time a default fit alone, beside another one, and beside two busy processes."""
    alone: list[Result] = []
    beside: list[Result] = []
    busy: list[Result] = []
    for _ in range(runner.n_runs):
        alone.append(runner.job("default-fit"))
        with ThreadPoolExecutor(2) as pool:
            beside += pool.map(runner.job, ["default-fit"] * 2)
        with _busy(2):
            busy.append(runner.job("default-fit"))
    how = {"alone": alone, "two at once": beside, "beside two busy processes": busy}
    runner.raw |= {f"default-fit, {name}": runs for name, runs in how.items()}
    first = _median(alone)
    rows: list[list[Any]] = [["default fit", "s", "CPU s", "times as long"]]
    for name, one in ((name, _median(runs)) for name, runs in how.items()):
        if one:
            cells = f"{one['s']:.1f}", f"{one['cpu_s']:.1f}", _ratio(one, first, "s")
            rows.append([name, *cells])
    return rows


def fits(runner: Runner) -> list[list[Any]]:
    """Time whole default fits, beside LightGBM on lags, with errors on the rows behind."""
    [unit] = runner.medians(["unit"])
    rows: list[list[Any]] = [
        ["a default fit", "s", "CPU s", "units", "error", "LightGBM, CPU s", "error"]
    ]
    for table in TABLES:
        ours, peer = runner.medians([f"fit {table} auto", f"lightgbm {table}"])
        of_unit = _ratio(ours, unit, "cpu_s")
        other = (_cell(peer, "cpu_s", 1), _cell(peer, "error", 3))
        rows.append([table, *(_cell(ours, key, 1) for key in ("s", "cpu_s")), of_unit])
        rows[-1] += [_cell(ours, "error", 3), *other]
    return rows


def members(runner: Runner) -> list[list[Any]]:
    """Measure what fits with some members cost, and by how much more they err."""
    choices = ["auto", "ridges+trees", "ridges+network", "ridges"]
    rows: list[list[Any]] = [["CPU s (error of the default's)", *choices]]
    for table in TABLES:
        if table != "levels":
            found = runner.medians([f"fit {table} {choice}" for choice in choices])
            whole = found[0]
            cells = [
                f"{_cell(one, 'cpu_s', 1)} ({_ratio(one, whole, 'error')})"
                for one in found
            ]
            rows.append([table, *cells])
    return rows


def parts(runner: Runner) -> list[list[Any]]:
    """Measure what each part of a default fit costs, as rows, columns, series and steps grow."""
    base = {"rows": 4000, "columns": 1, "series": 1, "seq_len": 96, "pred_len": 24}
    more: list[tuple[str, int]] = [
        ("rows", 8000),
        ("rows", 16000),
        ("columns", 4),
        ("series", 8),
        ("seq_len", 384),
        ("pred_len", 96),
    ]
    names = ["reading", "ridges", "classical", "trees", "network", "weights", "all"]
    rows: list[list[Any]] = [["a default fit, CPU s", *names, "MB above imports"]]
    for what, n in [("rows", base["rows"]), *more]:
        sizes = base | {what: n}
        [one] = runner.medians([" ".join(["parts", *map(str, sizes.values())])])
        if one:
            cells = [f"{one.get(name, 0.0):.1f}" for name in names]
            rows.append([f"{n} {what}", *cells, f"{one['mb']:.0f}"])
    return rows


@contextmanager
def _busy(n: int) -> Iterator[None]:
    """Keep so many cores busy."""
    command = [sys.executable, str(JOBS), "busy"]
    streams = {"stdin": subprocess.PIPE, "stdout": subprocess.DEVNULL}
    others = [subprocess.Popen(command, **streams) for _ in range(n)]
    try:
        yield
    finally:
        for other in others:
            other.communicate()


def memory(runner: Runner) -> list[list[Any]]:
    """Measure the peak of a fit, and a forecast, on frames of eight columns and one target."""
    rows: list[list[Any]] = [["memory", "MB above imports", "of the input"]]
    for name in ("long-frame 1000000", "long-frame 10000000"):
        [one] = runner.medians([name])
        if not one:
            continue
        share = f"{one['mb'] / one['input_mb']:.2f}"
        rows.append(
            [
                f"{name.split()[1]} x 8 rows, input {one['input_mb']:.0f}",
                one["mb"],
                share,
            ]
        )
    return rows


def floor(runner: Runner) -> list[list[Any]]:
    """Model the floor of a step: its operations at the rate of this machine's products."""
    rows: list[list[Any]] = [["floor of a step", "GFLOP", "GFLOP / s", "ms"]]
    for size in "AB":
        for precision in ("fp32", "bf16"):
            [one] = runner.medians([f"floor {size} {precision}"])
            if not one:
                continue
            cells = (f"{one['gflop']:.1f}", f"{one['rate']:.0f}", f"{one['ms']:.0f}")
            rows.append([f"{size}, {precision}", *cells])
    return rows


SECTIONS = {
    f.__name__: f
    for f in (
        *(
            steps,
            predictions,
            attention,
            start,
            saved,
            contention,
            fits,
            members,
            parts,
            memory,
            floor,
        ),
    )
}


def _print(rows: list[list[Any]]) -> None:
    head, *body = rows
    lines = [head, ["---"] * len(head), *body]
    sys.stdout.writelines(
        "| " + " | ".join(str(cell) for cell in row) + " |\n" for row in lines
    )
    sys.stdout.write("\n")
    sys.stdout.flush()


def main() -> int:
    """Run the sections that were asked for, or `gpu.py` for ``run.py gpu``."""
    if sys.argv[1:2] == ["gpu"]:
        return gpu.main(sys.argv[2:])
    parser = argparse.ArgumentParser(
        description=(__doc__ or "").split("\n", maxsplit=1)[0]
    )
    parser.add_argument(
        "sections", nargs="*", help=f"of {', '.join(SECTIONS)}; all by default"
    )
    parser.add_argument("--peer-python", help="a Python that has the peers")
    parser.add_argument("--runs", type=int, default=5, help="of each job")
    parser.add_argument("--threads", type=int, default=2, help="of each process")
    parser.add_argument("--output", type=Path, help="JSON file")
    options = parser.parse_args()
    if unknown := set(options.sections) - set(SECTIONS):
        parser.error(f"no such section: {', '.join(sorted(unknown))}")
    runner = Runner(
        peer_python=options.peer_python, n_runs=options.runs, n_threads=options.threads
    )
    tables = {}
    for name in options.sections or SECTIONS:
        tables[name] = SECTIONS[name](runner)
        _print(tables[name])
        if options.output:  # after each, so that a stopped run keeps what it has
            options.output.write_text(
                json.dumps({"tables": tables, "runs": runner.raw}, indent=2)
            )
    return 0


if __name__ == "__main__":
    sys.exit(main())
