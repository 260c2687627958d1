"""The network alone, on windows that forecasts were made from."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from torch import Tensor

from skinformer.ensemble.batches import WindowSource, window_source
from skinformer.ensemble.joint import JointForecaster
from skinformer.ensemble.predicting import PREDICTION_CHUNK, predict_windows
from skinformer.ensemble.windows import Rows
from skinformer.evaluation.seen import SeenWindow, as_tracks
from skinformer.model.corrected import Corrected
from skinformer.model.dropout import Dropout, reseed, with_dropout
from skinformer.model.informer import Informer
from skinformer.model.observed import AttentionRecorder, LayerAttention
from skinformer.rolling.forecaster import StepForecaster
from skinformer.rolling.placement import Placement
from skinformer.timeline.arrays import Float32Array, Float64Array, IntArray
from skinformer.timeline.clock import Clock

__all__ = ["SeenNetwork"]


@dataclass(frozen=True)
class SeenNetwork:
    """The network of a fit, apart from all who forecast beside it.

    windows: what forecasts were made from, at least one.
    clock: what their steps count.
    """

    forecaster: StepForecaster
    windows: Sequence[SeenWindow]
    clock: Clock

    @property
    def network(self) -> Informer:
        """The network, without what it corrects."""
        module = self.forecaster.module
        return module.network if isinstance(module, Corrected) else module

    @property
    def dropout(self) -> float:
        """The largest share of states that it drops in training."""
        modules = self.network.modules()
        return max((module.p for module in modules if isinstance(module, Dropout)), default=0.0)

    @property
    def shares(self) -> Float64Array:
        """What the network's word counts in the points, (n, pred_len, n_targets), in [0, 1]."""
        series, nothing = self._series, np.zeros(len(self.windows), dtype=np.int64)
        place = Placement(series, nothing, nothing, np.zeros(len(series), dtype=bool))
        joint = self.forecaster._window_forecaster(place, self.clock)
        sizes = self.forecaster.sizes
        shape = len(series), sizes.pred_len, sizes.n_targets
        if not isinstance(joint, JointForecaster):  # of classes, all of which have one share
            return np.full(shape, self.forecaster.judged.trust)
        shares = joint.shares_of(*self._canvas)
        return np.broadcast_to(shares.ridges * shares.trust[:, None], shape)

    def points(self, *, n_dropped: int = 0, seed: int = 0) -> Float32Array:
        """Forecast with the network alone, (n, draws, pred_len, n_targets), standardised.

        n_dropped: how often, with states dropped at random; 0 drops none, once.
        seed: which states. Each time they are the same for all windows, as if one thinner network
        forecast them all.

        Cost: a forward pass of 32 windows for each window and 32 times.
        """
        head, origins = self.forecaster.head, self._canvas[1]
        if not n_dropped:
            forecast = predict_windows(self._guided(self.network), self._source, origins)
            return head.point(forecast)[:, None]
        network, out = with_dropout(self.network), []
        for origin in origins:
            reseed(network, seed)
            windows = np.full(n_dropped, origin)
            each = predict_windows(self._guided(network), self._source, windows)
            out.append(head.point(each))
        return np.stack(out)

    def attention(self) -> list[list[LayerAttention]]:
        """Write out the attention of each layer, for each window, without the axis of windows."""
        origins, out = self._canvas[1], []
        for start in range(0, len(origins), PREDICTION_CHUNK):
            some = origins[start : start + PREDICTION_CHUNK]
            recorder = AttentionRecorder(self.network, n_kept=len(some))
            predict_windows(self._guided(recorder), self._source, some)
            kept = recorder.kept()
            out += [[layer.of_window(i) for layer in kept] for i in range(len(some))]
        return out

    def _guided(self, network: Callable[..., Tensor]) -> Callable[..., Tensor]:
        """Show a network, as the fit's module does, what it corrects."""
        module = self.forecaster.module
        if not isinstance(module, Corrected):
            return network

        def ask(past: Tensor, future: Tensor, *times: Tensor | None) -> Tensor:
            found = module.path(past, future, *times[:2])
            return network(past, module.guide(future, found), *times)

        return ask

    @property
    def _series(self) -> IntArray:
        return np.array([window.series for window in self.windows])

    @cached_property
    def _canvas(self) -> tuple[Rows, IntArray]:
        values = np.stack([window.values for window in self.windows])
        steps = np.stack([window.steps for window in self.windows])
        begin = np.array([window.begin for window in self.windows])
        return as_tracks(values, steps, begin, self.forecaster.look_back)

    @cached_property
    def _source(self) -> WindowSource:
        rows = self._canvas[0]
        sizes, device = self.forecaster.sizes, self.forecaster.device
        series = self._series[rows.track]
        return window_source(
            rows.values, rows.steps, series, self.clock, sizes=sizes, device=device
        )
