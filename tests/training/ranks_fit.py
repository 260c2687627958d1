"""Fits that two ranks share: ``torchrun --nproc-per-node 2 ranks_fit.py FOLDER``.

Imported by the test, it makes the same fits in one process.
"""

import sys
import warnings
from pathlib import Path

import numpy as np
import pandas as pd
import torch
from torch import distributed

from skinformer import Attention, InformerRegressor, MemorySaving

#: 74 windows to train on: batches of 15, of which two ranks get 7 and 8, and a last one of 14; of
#: 37, and none left over; of 73, and a last one of a single window, of which one gets none.
FITS = {
    "default": {"batch_size": 15},
    "muon": {"batch_size": 37, "optimizer": "muon", "max_iter": 1, "learning_rate": 1e-4},
    "one window": {"batch_size": 73, "early_stopping": False},
    "sparse, in parts": {
        "batch_size": 30,
        "attention": Attention(encoder="probsparse", factor=1),
        "memory_saving": MemorySaving(micro_batch_size=15, gradient_checkpointing=True),
    },
    "bf16": {"batch_size": 15, "precision": "bf16"},
}


def rows():
    n = 300
    noise = np.random.default_rng(0).normal(size=(n, 2))
    load = 100 + 10 * np.sin(np.arange(n) * np.pi / 12) + 3 * noise[:, 0]
    load[[50, 51, 133]] = np.nan
    hours = pd.date_range("2024-01-01", periods=n, freq="h")
    return pd.DataFrame({"temp": noise[:, 1] + noise[:, 0], "load": load}, index=hours)


def model(**changes):
    params = {
        "seq_len": 24, "pred_len": 6, "d_model": 16, "n_heads": 2, "max_iter": 2,
        "max_windows": 74, "random_state": 0, "members": ["network"], "target": "load",
    }  # fmt: skip
    return InformerRegressor(**{**params, **changes})


class StopAtOnce:
    """A callback that ends a fit after its first epoch."""

    epochs = 0

    def setup(self, estimator, context):
        pass

    def teardown(self, estimator, context):
        pass

    def on_fit_task_begin(self, estimator, context, **data):
        pass

    def on_fit_task_end(self, estimator, context, **data):
        StopAtOnce.epochs += context.task_name == "epoch"
        return True


def weights(fitted):
    return torch.cat([p.detach().ravel() for p in fitted.module_.parameters()]).numpy()


def outcome(fitted):
    """Give what two fits have to agree on."""
    table = fitted.history_[["loss", "validation_loss", "gradient_norm"]]
    return {
        "forecast": fitted.forecast()["load"].to_numpy(),
        "history": table.to_numpy(),
        "weights": weights(fitted),
    }


def message(call):
    try:
        call()
    except ValueError as error:
        return str(error)
    return ""


def main(folder):
    distributed.init_process_group("gloo")
    rank = distributed.get_rank()
    found = {}
    for name, changes in FITS.items():
        for key, value in outcome(model(**changes).fit(rows())).items():
            found[f"{name}/{key}"] = value
    found["hybrid/forecast"] = model(members="auto").fit(rows()).forecast()["load"].to_numpy()
    torch.manual_seed(rank)
    np.random.seed(rank)  # noqa: NPY002 - what random_state=None draws from
    path = Path(folder, "fit.pt")
    found["drawn/weights"] = weights(model(random_state=None, max_iter=1).fit(rows()))
    for _ in range(2):
        resumed = model(checkpoint=path, max_iter=2).fit(rows())
    found["resumed/seconds"] = resumed.history_["seconds"].to_numpy()  # the file's
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        model(max_iter=2, target=None, verbose=1).set_callbacks(StopAtOnce()).fit(rows())
    found["warned"] = sum("target=None" in str(w.message) for w in caught)
    found["stopped"] = StopAtOnce.epochs
    found["refused"] = message(lambda: model(max_iter=1).fit(rows() + rank))
    found["other size"] = message(lambda: model(max_iter=1, batch_size=9 + rank).fit(rows()))
    np.savez(Path(folder, f"rank{rank}.npz"), **found)
    distributed.destroy_process_group()


if __name__ == "__main__":
    main(sys.argv[1])
