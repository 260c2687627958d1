"""The same measurements of neuralforecast's Informer, for a Python that has it."""

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


def step(size: str) -> dict[str, float]:
    """Time forward, backward, clipping and optimiser; its own gathering of windows is left out."""
    import torch

    build(size)
    before = peak_mb()
    model = build(size).train()
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-4)
    seconds = []
    for _ in range(2 + STEPS[size]):
        batch, truth = windows(COMMON["batch_size"])
        started = time.perf_counter()
        optimizer.zero_grad()
        torch.nn.functional.mse_loss(model(batch), truth).backward()
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


if __name__ == "__main__":
    logging.disable(logging.CRITICAL)
    warnings.simplefilter("ignore")
    name, *arguments = sys.argv[1:]
    result = {"neuralforecast-step": step, "neuralforecast-predict": predict}[name](*arguments)
    sys.stdout.write(json.dumps(result) + "\n")
