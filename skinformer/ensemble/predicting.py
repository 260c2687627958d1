"""Forecasts of windows, in chunks of one size."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager
from functools import partial

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


def windows_per_pass(source: WindowSource) -> int:
    """Return how many windows of a source are forecast together."""
    if source.values.device.type == "cpu":
        return PREDICTION_CHUNK
    # Of all windows: on a GPU small passes cost as much as large ones.
    n_steps = 1 << 16
    return max(PREDICTION_CHUNK, n_steps // (source.seq_len + source.pred_len))


class WindowPredictor:
    """Forecast windows of one source, call by call.

    module: in evaluation mode, on the source's device.
    source: where windows are gathered from. Its values may change between calls.

    PERF: a recursion calls it once for each of its steps. Whoever calls often asks for
    `prediction_threads` once, around all calls.
    """

    def __init__(self, module: Callable[..., Tensor], source: WindowSource) -> None:
        self.module = module
        self.source = source
        self.n_windows = windows_per_pass(source)

    def __call__(
        self, origins: IntArray, base: Float32Array | None = None
    ) -> Float32Array:
        """Forecast windows, standardised: (n_windows, pred_len, n_targets, *outputs).

        base: (n_windows, pred_len, n_targets), forecasts that the module, a network, corrects.

        Each forecast is the same whatever others are asked for.
        """
        forecasts = []
        for start in range(0, len(origins), self.n_windows):
            chunk = slice(start, start + self.n_windows)
            part = None if base is None else base[chunk]
            forecasts.append(self._chunk(origins[chunk], part))
        return np.concatenate(forecasts)

    def _chunk(self, origins: IntArray, base: Float32Array | None) -> Float32Array:
        """Forecast windows of a chunk, which is filled up with its last one."""
        source = self.source
        whole = np.minimum(
            np.arange(self.n_windows),
            len(origins) - 1,
        )
        rows = torch.from_numpy(origins[whole]).to(source.values.device)
        forward: Callable[..., Tensor] = self.module
        inputs: tuple[Tensor | None, ...]
        with torch.inference_mode():
            if isinstance(self.module, LinearPath):
                inputs = source.path_inputs(rows)
            else:
                inputs = source.inputs(rows)
            if base is not None:
                forward = partial(correct, self.module)  # type: ignore[arg-type]
                inputs = torch.from_numpy(base[whole]).to(source.values), *inputs
            output = _forward(forward, inputs)
        forecast: Float32Array = output[: len(origins)].cpu().numpy()
        return forecast


def _forward(
    module: Callable[..., Tensor], inputs: tuple[Tensor | None, ...]
) -> Tensor:
    """Forecast a chunk; if memory does not suffice, in halves (equal but for rounding)."""
    try:
        output: Tensor = module(*inputs)
    except RuntimeError as error:
        n_windows = len(inputs[0]) if inputs[0] is not None else 0
        if n_windows < 2 or not is_out_of_memory(error):
            raise
        outputs = []
        half = n_windows // 2
        for part in (slice(half), slice(half, None)):
            of_part = [None if x is None else x[part] for x in inputs]
            outputs.append(_forward(module, tuple(of_part)))
        output = torch.cat(outputs)
    return output
