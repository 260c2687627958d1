"""The same measurements of the Informers of neuralforecast and transformers, where they are."""

from __future__ import annotations

import importlib.abc
import importlib.machinery
import importlib.util
import json
import logging
import statistics
import sys
import time
import types
import warnings
from collections.abc import Callable
from typing import Any
from unittest.mock import MagicMock

from jobs import COMMON, SIZES, STEPS, peak_mb

#: A model, and what turns a batch of so many windows into its loss.
Built = tuple[Any, Callable[[int, str], Callable[[], Any]]]


class _Absent(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    """Stand in for packages that neuralforecast imports and its models do not use."""

    names = "ray", "optuna"

    def find_spec(self, name: str, *_: Any) -> importlib.machinery.ModuleSpec | None:
        """Return the spec of an empty package."""
        if name.split(".")[0] not in self.names:
            return None
        return importlib.machinery.ModuleSpec(name, self, is_package=True)

    def create_module(self, spec: importlib.machinery.ModuleSpec) -> types.ModuleType:
        """Make a module that has any name."""
        module = types.ModuleType(spec.name)
        module.__getattr__ = _stand_in  # type: ignore[method-assign]
        return module

    def exec_module(self, module: types.ModuleType) -> None:
        """Run nothing."""


def _stand_in(name: str) -> Any:
    if name.startswith("__"):
        raise AttributeError(name)
    return MagicMock()


def neuralforecast(common: dict[str, Any]) -> Built:
    """Build its Informer with our sizes, dropout, label length and loss; batches are ready."""
    import torch

    sys.meta_path.append(_Absent())  # behind all others: what is installed is taken
    from neuralforecast.losses.pytorch import MSE
    from neuralforecast.models import Informer

    torch.manual_seed(0)
    width = common["d_model"]
    model = Informer(
        h=common["pred_len"],
        input_size=common["seq_len"],
        decoder_input_size_multiplier=common["label_len"] / common["seq_len"],
        hidden_size=width,
        conv_hidden_size=4 * width,
        n_head=common["n_heads"],
        encoder_layers=2,
        decoder_layers=1,
        dropout=common["dropout"],
        factor=5,
        loss=MSE(),
        max_steps=1,
        enable_progress_bar=False,
        logger=False,
    )

    def make_loss(n_windows: int, device: str) -> Callable[[], Any]:
        batch = windows(n_windows, common, device)
        truth = torch.randn(n_windows, common["pred_len"], 1, device=device)
        return lambda: torch.nn.functional.mse_loss(model(batch), truth)

    return model, make_loss


def windows(n: int, common: dict[str, Any], device: str) -> dict[str, Any]:
    """Make a batch as its training step hands it to the network."""
    import torch

    shape = (n, common["seq_len"], 1)
    batch = {"insample_y": torch.randn(shape), "insample_mask": torch.ones(shape)}
    on_device = {name: value.to(device) for name, value in batch.items()}
    return on_device | dict.fromkeys(("futr_exog", "hist_exog", "stat_exog"))


def transformers(common: dict[str, Any]) -> Built:
    """Build transformers' Informer: no guiding window, likelihood for a loss."""
    import torch
    from transformers import InformerConfig, InformerForPrediction

    width, heads = common["d_model"], common["n_heads"]
    config = InformerConfig(
        prediction_length=common["pred_len"],
        context_length=common["seq_len"],
        lags_sequence=[1],
        num_time_features=1,
        d_model=width,
        encoder_layers=2,
        decoder_layers=1,
        encoder_attention_heads=heads,
        decoder_attention_heads=heads,
        encoder_ffn_dim=4 * width,
        decoder_ffn_dim=4 * width,
        dropout=common["dropout"],
        scaling=None,
    )
    model = InformerForPrediction(config)

    def make_loss(n: int, device: str) -> Callable[[], Any]:
        past, future = common["seq_len"] + 1, common["pred_len"]
        batch = {
            "past_values": torch.randn(n, past),
            "future_values": torch.randn(n, future),
        }
        batch |= {"past_observed_mask": torch.ones(n, past)}
        batch |= {"past_time_features": torch.zeros(n, past, 1)}
        batch |= {"future_time_features": torch.zeros(n, future, 1)}
        batch = {name: value.to(device) for name, value in batch.items()}
        return lambda: model(**batch).loss

    return model, make_loss


MODELS: dict[str, Callable[[dict[str, Any]], Built]] = {
    "transformers": transformers,
    "neuralforecast": neuralforecast,
}


def training_step(
    make: Callable[[dict[str, Any]], Built],
    common: dict[str, Any],
    device: str,
    precision: str,
) -> Callable[[], None]:
    """Return a step of a model on ready windows: forward, backward, clipping and Adam."""
    import torch

    model, make_loss = make(common)
    model = model.to(device).train()
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-4)
    loss = make_loss(common["batch_size"], device)

    def step() -> None:
        optimizer.zero_grad()
        with torch.autocast(device, dtype=torch.bfloat16, enabled=precision == "bf16"):
            value = loss()
        value.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()

    return step


def step(name: str, size: str) -> dict[str, float]:
    """Time steps on a CPU: the median of single ones."""
    common = COMMON | SIZES[size]
    training_step(MODELS[name], common, "cpu", "fp32")
    before = peak_mb()
    take_step = training_step(MODELS[name], common, "cpu", "fp32")
    seconds = []
    for _ in range(2 + STEPS[size]):
        started = time.perf_counter()
        take_step()
        seconds.append(time.perf_counter() - started)
    return {"ms": 1e3 * statistics.median(seconds[2:]), "mb": peak_mb() - before}


def predict(size: str) -> dict[str, float]:
    """Time forecasts of neuralforecast's in batches of 1024 windows, its default."""
    import torch

    common = COMMON | SIZES[size]
    model, _ = neuralforecast(common)
    model.eval()
    batch = windows(1024, common, "cpu")
    seconds = []
    with torch.inference_mode():
        for _ in range(5):
            started = time.perf_counter()
            model(batch)
            seconds.append(time.perf_counter() - started)
    return {"per_s": 1024 / statistics.median(sorted(seconds)[:3])}


def lightgbm(table: str) -> dict[str, float]:
    """Fit LightGBM, as it comes, on lags of a window's length and more, for all targets at once."""
    import numpy as np
    from lightgbm import LGBMClassifier, LGBMRegressor
    from tables import TABLES, lagged

    rows = TABLES[table]()
    started, used = time.perf_counter(), time.process_time()
    features, truth, late = lagged(rows)
    kind = LGBMClassifier if table == "levels" else LGBMRegressor
    model = kind(n_estimators=300, verbose=-1, n_jobs=1)
    model.fit(features[~late], truth[~late])
    out = {"s": time.perf_counter() - started, "cpu_s": time.process_time() - used}
    if table == "levels":
        found = model.predict_proba(features[late])
        came = found[np.arange(len(found)), model.classes_.searchsorted(truth[late])]
        return out | {"error": float(-np.log(came).mean())}
    error = np.abs(truth[late] - model.predict(features[late]))
    return out | {"error": float(error.mean())}


if __name__ == "__main__":
    logging.disable(logging.CRITICAL)
    warnings.simplefilter("ignore")
    job, *arguments = sys.argv[1:]
    jobs: dict[str, Callable[..., dict[str, float]]] = {
        "neuralforecast-step": lambda size: step("neuralforecast", size),
        "neuralforecast-predict": predict,
        "transformers-step": lambda size: step("transformers", size),
        "lightgbm": lightgbm,
    }
    sys.stdout.write(json.dumps(jobs[job](*arguments)) + "\n")
