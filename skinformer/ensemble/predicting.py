"""Forecasts of windows, in chunks of one size."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager
from functools import partial
from typing import Any

import numpy as np
import torch
from torch import Tensor

from skinformer.ensemble.batches import WindowSource
from skinformer.model.corrected import correct
from skinformer.ridge.linear_path import LinearPath
from skinformer.threads import threads_for
from skinformer.timeline.arrays import Float32Array, IntArray
from skinformer.training.memory import is_out_of_memory

#: Windows in one forward pass of a prediction on a CPU. Always this many (the last chunk is
#: padded): matrix products round differently for other shapes, and a forecast must not depend on
#: how many are asked for together. PERF: 32 windows give 2500 a second (width 64, two threads), 8
#: give 1500, more give no more; a step of a recursion, one window, takes 12 ms (5.5 with 8).
PREDICTION_CHUNK = 32


def prediction_threads(
    largest_product: int, n_linear: int
) -> AbstractContextManager[object]:
    """Split predictions over threads, as `threads_for` does, where a chunk repays it.

    Products of two numbers for one window: in the largest product, and in the linear path's.
    """
    return threads_for(PREDICTION_CHUNK * max(n_linear, largest_product))


def predict_windows(
    module: Callable[..., Tensor],
    source: WindowSource,
    origins: IntArray,
    base: Float32Array | None = None,
) -> Float32Array:
    """Forecast windows, standardised: (n_windows, pred_len, n_targets, *outputs).

    module: in evaluation mode, on the source's device.
    source: where windows are gathered from.
    base: (n_windows, pred_len, n_targets), forecasts that the module, a network, corrects.

    Each forecast is the same whatever others are asked for.

    PERF: a recursion calls it once for each of its steps. Whoever calls often asks for
    `prediction_threads` once, around all calls.
    """
    n_at_once = PREDICTION_CHUNK
    if source.values.device.type != "cpu":
        # Of all windows: on a GPU small passes cost as much as large ones.
        n_steps = 1 << 16
        window_len = source.sizes.seq_len + source.sizes.pred_len
        n_at_once = max(PREDICTION_CHUNK, n_steps // window_len)
    forecasts = []
    for start in range(0, len(origins), n_at_once):
        # The last chunk is filled up with its last window.
        chunk = np.arange(start, start + n_at_once)
        chunk = np.minimum(chunk, len(origins) - 1)
        forecasts.append(
            _predict_chunk(
                module, source, origins[chunk], None if base is None else base[chunk]
            )
        )
    return np.concatenate(forecasts)[: len(origins)]


def _predict_chunk(
    module: Callable[..., Tensor],
    source: WindowSource,
    origins: IntArray,
    base: Float32Array | None,
) -> Float32Array:
    """Forecast all windows of a chunk in one pass."""
    rows = torch.from_numpy(origins).to(source.values.device)
    with torch.inference_mode():
        if isinstance(module, LinearPath):
            output = _forward(module, source.path_inputs(rows))
        elif base is None:
            output = _forward(module, source.inputs(rows))
        else:
            of_base = torch.from_numpy(base).to(source.values)
            forward = partial(correct, module)  # type: ignore[arg-type]
            output = _forward(forward, (of_base, *source.inputs(rows)))
    return np.asarray(output.cpu())


def _forward(module: Callable[..., Tensor], inputs: tuple[Any, ...]) -> Tensor:
    """Forecast a chunk; if memory does not suffice, in halves (equal but for rounding)."""
    try:
        return module(*inputs)
    except RuntimeError as error:
        n_windows = len(inputs[0])
        if n_windows < 2 or not is_out_of_memory(error):
            raise
    half = n_windows // 2
    outputs = []
    for part in (slice(half), slice(half, None)):
        of_part = [None if x is None else x[part] for x in inputs]
        outputs.append(_forward(module, tuple(of_part)))
    return torch.cat(outputs)
