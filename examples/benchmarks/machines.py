"""Measure what docs/machines.md computes with: one core's seconds for each kind of work.

Seconds are the process's own, which others on the machine hardly change; the exchange between two
processes is timed on the clock, the fastest of many::

    OMP_NUM_THREADS=1 python examples/benchmarks/machines.py
"""

import pickle
import subprocess
import sys
import tempfile
import time
import warnings
from pathlib import Path

import numpy as np
import pandas as pd
import torch
from torch import distributed

import skinformer
from skinformer import InformerRegressor
from skinformer.datasets import load_auckland_pedestrians
from skinformer.ensemble.building import build_module
from skinformer.ensemble.fitting import cut_windows, window_batches
from skinformer.estimators import base
from skinformer.estimators.settings import read_settings
from skinformer.model.dropout import draws_of_batch
from skinformer.training.step import accumulate_gradients

EXCHANGES = 50
#: Sizes that the page tells of: the default network, and one that is worth several machines.
NETWORKS = {"default": {}, "wide": {"d_model": 256, "seq_len": 336, "batch_size": 256}}


def cpu_seconds(work, repeats=1):
    """Give the least of several runs."""
    seconds = []
    for _ in range(repeats):
        begin = time.process_time()
        work()
        seconds.append(time.process_time() - begin)
    return min(seconds)


def measure_fit(street):
    """Fit a default model of one street, and say what of it no other machine can take over."""
    model = InformerRegressor(street.columns[0], random_state=0)
    epochs, train = [], base.train

    def timed(*args, **options):
        epochs.append(time.process_time())
        record = train(*args, **options)
        epochs.append(time.process_time())
        return record

    base.train = timed
    try:
        whole = cpu_seconds(lambda: model.fit(street))
    finally:
        base.train = train
    size = len(pickle.dumps(street)) / 1e6
    return {"fit": whole, "epochs of it": epochs[1] - epochs[0], "rows, MB": size}


def measure_series(n=2000, months=60):
    """Forecast monthly series that the fit has not seen, and all around it."""
    random = np.random.default_rng(0)
    labels = pd.MultiIndex.from_product(
        [range(n), pd.date_range("2020-01-01", periods=months, freq="MS")]
    )
    season = np.exp(0.3 * np.sin(np.arange(n * months) * np.pi / 6))
    sold = season * random.lognormal(sigma=0.05, size=n * months)
    panel = pd.DataFrame({"sold": sold}, index=labels)
    model = InformerRegressor("sold", seq_len=36, pred_len=6, random_state=0)
    found = {"fit on 500 series": cpu_seconds(lambda: model.fit(panel.loc[:499]))}
    rest = panel.loc[500:]
    found["forecast of 1000 series"] = cpu_seconds(lambda: model.forecast(rest, horizon=6)) / 1.5
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "m.skinformer")
        model.save(path, history="context")
        found["load"] = cpu_seconds(lambda: skinformer.load(path))
        file = Path(folder, "rows.parquet")
        table = panel.reset_index(names=["series", "time"])
        found["read and write of 1000 series"] = (
            cpu_seconds(lambda: (table.to_parquet(file), pd.read_parquet(file))) * 1000 / n
        )
    begin = (
        "import time; from skinformer import InformerRegressor as R; R; print(time.process_time())"
    )
    done = subprocess.run([sys.executable, "-c", begin], capture_output=True, text=True, check=True)
    return {**found, "start of a worker": float(done.stdout)}


def measure_step(**changes):
    """Time the gradient of a batch, of one window of it, and count what ranks exchange."""
    rows = load_auckland_pedestrians().iloc[:2000, :1]
    model = InformerRegressor(
        rows.columns[0], random_state=0, max_iter=1, members=["network"], **changes
    )
    model.set_params(max_windows=model.batch_size).fit(rows)
    settings = read_settings(model, model.head_)
    module = build_module(settings, model.sizes_, path=None, seed=0).train()
    windows = cut_windows(model.timeline_, model.sizes_, None)
    batch = next(iter(window_batches(model.timeline_, model.sizes_, settings, windows, seed=0)[0]))
    one = batch._replace(
        inputs=tuple(x if x is None else x[:1] for x in batch.inputs), target=batch.target[:1]
    )

    def gradient_of_one():
        with draws_of_batch(module, first=0, n=len(batch.target)):
            gradient(one)

    def gradient(some):
        accumulate_gradients(
            module, [some], loss=_squared, precision="fp32",
            device=torch.device("cpu"), scaler=None,
        )  # fmt: skip

    gradient(batch)
    numbers = sum(p.numel() for p in module.parameters())
    return {
        "windows": len(batch.target),
        "step": cpu_seconds(lambda: gradient(batch), 3),
        "one window": cpu_seconds(gradient_of_one, 3),
        "MB exchanged": numbers * 4 / 1e6,
    }


def _squared(output, target):
    return (output - target) ** 2


def exchange(numbers):
    """Add up so many numbers between the ranks of this process group; the fastest of many."""
    flat, seconds = torch.ones(numbers), []
    for _ in range(EXCHANGES):
        distributed.barrier()
        begin = time.perf_counter()
        distributed.all_reduce(flat)
        seconds.append(time.perf_counter() - begin)
        flat.fill_(1.0)
    return min(seconds)


def _rank(rank, folder, sizes):
    distributed.init_process_group(
        "gloo", init_method=f"file://{folder}/meet", rank=rank, world_size=2
    )
    found = [exchange(numbers) for numbers in sizes]
    if not rank:
        print(
            "  ".join(f"{n} numbers: {s * 1e3:.2f} ms" for n, s in zip(sizes, found, strict=True))
        )
    distributed.destroy_process_group()


def main():
    warnings.simplefilter("ignore")
    street = load_auckland_pedestrians()[["45 Queen Street"]]
    for name, found in {
        "one street, default": measure_fit(street),
        "monthly series": measure_series(),
        **{f"step, {name}": measure_step(**changes) for name, changes in NETWORKS.items()},
    }.items():
        print(f"{name}: " + "  ".join(f"{key} {value:.4g}" for key, value in found.items()))
    with tempfile.TemporaryDirectory() as folder:
        torch.multiprocessing.spawn(_rank, (folder, [1000, 100_000, 5_000_000]), nprocs=2)


if __name__ == "__main__":
    main()
