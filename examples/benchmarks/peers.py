"""The same measurements of the Informers of neuralforecast and transformers, where they are."""

from __future__ import annotations

import json
import logging
import statistics
import sys
import time
import warnings
from typing import Any

from jobs import COMMON, SIZES, STEPS, peak_mb


def build(size: str) -> Any:
    """Build its Informer with our sizes, dropout, label length and loss."""
    import torch
    from neuralforecast.losses.pytorch import MSE
    from neuralforecast.models import Informer

    torch.manual_seed(0)
    width, heads = SIZES[size]["d_model"], SIZES[size]["n_heads"]
    return Informer(
        h=COMMON["pred_len"],
        input_size=COMMON["seq_len"],
        decoder_input_size_multiplier=COMMON["label_len"] / COMMON["seq_len"],
        hidden_size=width,
        conv_hidden_size=4 * width,
        n_head=heads,
        encoder_layers=COMMON["n_encoder_layers"],
        decoder_layers=COMMON["n_decoder_layers"],
        dropout=COMMON["dropout"],
        factor=5,
        loss=MSE(),
        max_steps=1,
        enable_progress_bar=False,
        logger=False,
    )


def windows(n: int) -> tuple[dict[str, Any], Any]:
    """Make a batch as its training step hands it to the network."""
    import torch

    shape = (n, COMMON["seq_len"], 1)
    batch = {"insample_y": torch.randn(shape), "insample_mask": torch.ones(shape)}
    batch |= dict.fromkeys(("futr_exog", "hist_exog", "stat_exog"))
    return batch, torch.randn(n, COMMON["pred_len"], 1)


def neuralforecast_step(size: str) -> dict[str, float]:
    """Time a step on ready windows; its own gathering is left out."""
    import torch

    def loss(model: Any) -> Any:
        batch, truth = windows(COMMON["batch_size"])
        return lambda: torch.nn.functional.mse_loss(model(batch), truth)

    return _time_steps(build, loss, size)


def transformers_step(size: str) -> dict[str, float]:
    """Time a step of transformers' Informer: no guiding window, likelihood for a loss."""
    import torch
    from transformers import InformerConfig, InformerForPrediction

    width, heads = SIZES[size]["d_model"], SIZES[size]["n_heads"]

    def build_it(_: str) -> Any:
        config = InformerConfig(
            prediction_length=COMMON["pred_len"],
            context_length=COMMON["seq_len"],
            lags_sequence=[1],
            num_time_features=1,
            d_model=width,
            encoder_layers=COMMON["n_encoder_layers"],
            decoder_layers=COMMON["n_decoder_layers"],
            encoder_attention_heads=heads,
            decoder_attention_heads=heads,
            encoder_ffn_dim=4 * width,
            decoder_ffn_dim=4 * width,
            dropout=COMMON["dropout"],
            scaling=None,
        )
        return InformerForPrediction(config)

    def loss(model: Any) -> Any:
        n, past, future = COMMON["batch_size"], COMMON["seq_len"] + 1, COMMON["pred_len"]
        batch = {"past_values": torch.randn(n, past), "future_values": torch.randn(n, future)}
        batch |= {"past_observed_mask": torch.ones(n, past)}
        batch |= {"past_time_features": torch.zeros(n, past, 1)}
        batch |= {"future_time_features": torch.zeros(n, future, 1)}
        return lambda: model(**batch).loss

    return _time_steps(build_it, loss, size)


def _time_steps(build_it: Any, make_loss: Any, size: str) -> dict[str, float]:
    """Time forward, backward, clipping and optimiser: the median of single steps."""
    import torch

    build_it(size)
    before = peak_mb()
    model = build_it(size).train()
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-4)
    seconds = []
    for _ in range(2 + STEPS[size]):
        loss = make_loss(model)
        started = time.perf_counter()
        optimizer.zero_grad()
        loss().backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        seconds.append(time.perf_counter() - started)
    return {"ms": 1e3 * statistics.median(seconds[2:]), "mb": peak_mb() - before}


def predict(size: str) -> dict[str, float]:
    """Time forecasts in batches of 1024 windows, its default."""
    import torch

    model = build(size).eval()
    batch, _ = windows(1024)
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
    name, *arguments = sys.argv[1:]
    jobs = {
        "neuralforecast-step": neuralforecast_step,
        "neuralforecast-predict": predict,
        "transformers-step": transformers_step,
        "lightgbm": lightgbm,
    }
    result = jobs[name](*arguments)
    sys.stdout.write(json.dumps(result) + "\n")
