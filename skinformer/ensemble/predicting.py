"""Forecasts of windows, in chunks of one size."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager
from functools import partial

import numpy as np
import torch
from numpy.lib.stride_tricks import sliding_window_view
from torch import Tensor

from skinformer.ensemble.batches import WindowSource
from skinformer.model.corrected import correct
from skinformer.ridge.linear_path import LinearPath
from skinformer.threads import threads_for
from skinformer.timeline.arrays import Float32Array, IntArray
from skinformer.timeline.windows import window_rows
from skinformer.training.memory import is_out_of_memory

#: Windows in one forward pass of a prediction on a CPU. Always this many (the last chunk is
#: padded): matrix products round differently for other shapes, and a forecast must not depend on
#: how many are asked for together. PERF: 32 windows give 2500 a second (width 64, two threads), 8
#: give 1500, more give no more; a step of a recursion, one window, takes 12 ms (5.5 with 8).
PREDICTION_CHUNK = 32
#: Steps of all windows in one forward pass on a GPU, where small passes cost as much as large ones.
_STEPS_ON_GPU = 1 << 16

#: Rows of which what the calendar does is laid out at once.
_MOST_ROWS = 1 << 20


def prediction_threads(largest_product: int, n_linear: int) -> AbstractContextManager[object]:
    """Let predictions be split over threads, as `threads_for` does, where a chunk repays it.

    Products of two numbers for one window: in the largest product, and in the linear path's.
    """
    return threads_for(PREDICTION_CHUNK * max(n_linear, largest_product))


def windows_per_pass(source: WindowSource) -> int:
    """Return how many windows of a source are forecast together."""
    if source.values.device.type == "cpu":
        return PREDICTION_CHUNK
    return max(PREDICTION_CHUNK, _STEPS_ON_GPU // (source.seq_len + source.pred_len))


class WindowPredictor:
    """Forecast windows of one source, call by call.

    module: in evaluation mode, on the source's device.
    source: where windows are gathered from. Its values may change between calls.

    PERF: a recursion calls it once for each of its steps. Whoever calls often asks for
    `prediction_threads` once, around all calls.
    """

    def __init__(self, module: Callable[..., Tensor], source: WindowSource) -> None:
        self.module, self.source = module, source
        self.n_windows = windows_per_pass(source)
        self._is_path = isinstance(module, LinearPath)
        self._maps = _OwnMaps.of(module, source) if isinstance(module, LinearPath) else None

    def __call__(self, origins: IntArray, base: Float32Array | None = None) -> Float32Array:
        """Forecast windows, standardised: (n_windows, pred_len, n_targets, *outputs).

        base: (n_windows, pred_len, n_targets), forecasts that the module, a network, corrects.

        Each forecast is the same whatever others are asked for.
        """
        starts = range(0, len(origins), self.n_windows)
        chunks = [slice(start, start + self.n_windows) for start in starts]
        parts = [None if base is None else base[chunk] for chunk in chunks]
        pairs = zip(chunks, parts, strict=True)
        return np.concatenate([self._chunk(origins[chunk], part) for chunk, part in pairs])

    def _chunk(self, origins: IntArray, base: Float32Array | None) -> Float32Array:
        """Forecast windows of a chunk, which is filled up with its last one."""
        if self._maps is not None:
            return self._maps(origins)
        source, whole = self.source, np.minimum(np.arange(self.n_windows), len(origins) - 1)
        rows = torch.from_numpy(origins[whole]).to(source.values.device)
        with torch.inference_mode():
            inputs: tuple[Tensor | None, ...]
            inputs = source.path_inputs(rows) if self._is_path else source.inputs(rows)
            if base is None:
                output = _forward(self.module, inputs)
            else:
                found = torch.from_numpy(base[whole]).to(source.values)
                output = _forward(partial(correct, self.module), (found, *inputs))  # type: ignore[arg-type]
        forecast: Float32Array = output[: len(origins)].cpu().numpy()
        return forecast


class _OwnMaps:
    """
    A `LinearPath` whose targets see nothing but themselves, bit for bit, by the same product.

    PERF: in NumPy around it, in buffers of its own: of the 130 microseconds that `LinearPath` takes
    for a step of a recursion, the product takes 4, and calls of torch the rest.
    """

    def __init__(self, path: LinearPath, source: WindowSource) -> None:
        values, targets = source.values.numpy(), slice(path.n_targets)
        self._seq_len = source.seq_len
        self._windows = sliding_window_view(values, source.seq_len, axis=0).swapaxes(1, 2)
        past = torch.zeros(PREDICTION_CHUNK, source.seq_len, values.shape[1])
        distance = torch.zeros_like(past)
        ahead = torch.zeros(path.n_targets, source.pred_len, PREDICTION_CHUNK)
        self._own = path.own.transpose(1, 2).expand(path.n_targets, -1, -1)
        self._seen = distance[:, -path.own.shape[1] :, targets].permute(2, 1, 0)
        self._ahead, self._unclean = ahead, past
        self._past, self._distance = past.numpy(), distance.numpy()
        self._last, self._forecast = self._past[:, -1:, targets], ahead.numpy().transpose(2, 1, 0)
        self._targets, self._effect = targets, source.effect_of(path.calendar)

    @classmethod
    def of(cls, path: LinearPath, source: WindowSource) -> _OwnMaps | None:
        """Take a path, if it is of this kind and on a CPU."""
        mixes = path.n_known or path.mixed_len or path.phases is not None
        long = path.calendar is not None and len(source.values) > _MOST_ROWS
        return None if mixes or long or source.values.device.type != "cpu" else cls(path, source)

    def __call__(self, origins: IntArray) -> Float32Array:
        """Forecast windows of a chunk; in places that have none lies what was there before."""
        n = len(origins)
        self._past[:n] = self._windows[origins - self._seq_len]
        self._unclean.nan_to_num_()
        if self._effect is not None:
            rows = window_rows(origins - self._seq_len, self._seq_len)
            self._past[:n, :, self._targets] -= self._effect[rows]
        np.subtract(self._past, self._past[:, -1:], out=self._distance)
        torch.bmm(self._own, self._seen, out=self._ahead)
        forecast: Float32Array = self._last[:n] + self._forecast[:n]
        if self._effect is not None:
            forecast += self._effect[window_rows(origins, forecast.shape[1])]
        return forecast


def _forward(module: Callable[..., Tensor], inputs: tuple[Tensor | None, ...]) -> Tensor:
    """Forecast a chunk; if memory does not suffice, in halves (equal but for rounding)."""
    try:
        output: Tensor = module(*inputs)
    except RuntimeError as error:
        n_windows = len(inputs[0]) if inputs[0] is not None else 0
        if n_windows < 2 or not is_out_of_memory(error):
            raise
        half = n_windows // 2
        parts = (slice(half), slice(half, None))
        halves = (tuple(x if x is None else x[part] for x in inputs) for part in parts)
        output = torch.cat([_forward(module, each) for each in halves])
    return output
