"""An ensemble: members by name, and how much each counts in each forecast."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace

import numpy as np
import pandas as pd
import torch

from skinformer.ensemble.building import ModelSizes
from skinformer.ensemble.head import Head
from skinformer.ensemble.member import NETWORK, RIDGES, Member
from skinformer.ensemble.windows import RowBuffer, Rows, Windows
from skinformer.timeline.arrays import Float32Array, Float64Array, IntArray
from skinformer.timeline.clock import Clock, join_series
from skinformer.timeline.forecast_bounds import ForecastBounds
from skinformer.timeline.scaling import Limits, Scaler
from skinformer.timeline.timeline import Timeline
from skinformer.timeline.windows import window_rows


@dataclass(frozen=True)
class Ensemble:
    """Members, and the weight of each.

    members: by name; one that corrects another comes after it.
    weights: (n_series + 1, 1 or pred_len, n_targets, n_members), of sum 1; the last row is for
    series that the fit did not hold.
    held_out: members as they were before they were fitted to the validation split, too.
    temperature: what the weighted mean, of logs of probabilities, is divided by.
    """

    members: dict[str, Member]
    weights: Float64Array
    held_out: dict[str, Member] = field(default_factory=dict)
    temperature: float = 1.0

    @classmethod
    def of(
        cls,
        members: Iterable[Member],
        weights: Mapping[str, Float64Array | float],
        *,
        n_series: int,
        n_targets: int,
    ) -> Ensemble:
        """Put members together; weights, by name, are as the field's last axis has them."""
        by_name = {member.name: member for member in members}
        shapes = [np.shape(weight) for weight in weights.values()]
        shape = np.broadcast_shapes((n_series + 1, 1, n_targets), *shapes)
        each = [np.broadcast_to(weights.get(name, 0.0), shape) for name in by_name]
        return cls(by_name, np.stack(each, axis=-1).astype(np.float64))

    def weights_of(self, name: str) -> Float64Array:
        """Return a member's weights, (n_series + 1, 1 or pred_len, n_targets); 0 for others."""
        if name not in self.members:
            return np.zeros(self.weights.shape[:-1])
        return self.weights[..., list(self.members).index(name)]

    @property
    def trust(self) -> float:
        """Mean weight of the network in forecasts of the fitted series."""
        return float(self.weights_of(NETWORK)[:-1].mean())

    @property
    def look_back(self) -> int:
        """Rows before an origin that are read beyond the window's own."""
        return max(member.look_back for member in self.members.values())

    @property
    def fewest_rows(self) -> int:
        """Rows of a window below which any member forecasts otherwise than from more."""
        return max(member.fewest_rows for member in self.members.values())

    @property
    def cost(self) -> int:
        """Return what a window costs, in windows of the cheapest members."""
        return max(member.cost for member in self.members.values())

    @property
    def largest_product(self) -> int:
        """Products of two numbers in the largest product of matrices for one window."""
        return max(member.largest_product for member in self.members.values())

    @property
    def base_blend(self) -> dict[str, float]:
        """Mean weights of all that is fitted without the network, as if this were its base."""
        means = {
            name: float(self.weights_of(name)[:-1].mean()) for name in self.members
        }
        network = self.members.get(NETWORK)
        taken = means.pop(NETWORK, 0.0)
        if network is not None and network.base is not None:
            means[network.base] += taken
        total = sum(means.values())
        blend: dict[str, float] = {}
        for name, mean in means.items():
            share = mean / total if total else 1.0 / len(means)
            for candidate, weight in self.members[name].blend.items():
                blend[candidate] = round(blend.get(candidate, 0.0) + share * weight, 4)
        return blend

    def by_series(self, series: pd.Index | None, targets: pd.Index) -> pd.DataFrame:
        """Return mean weights of members by series and target, or by the one there are many of."""
        # Classes have several columns of a target, with the same weights.
        columns = np.arange(len(targets)) * self.weights.shape[2] // len(targets)
        weights = self.weights[:-1].mean(axis=1)[:, columns].swapaxes(0, 1)
        table = weights.reshape(-1, len(self.members))
        return pd.DataFrame(
            table, index=_label_rows(series, targets), columns=[*self.members]
        )

    def series_blend(self, series: pd.Index | None, targets: pd.Index) -> pd.DataFrame:
        """Return weights of all members that have any, or of the candidates they consist of."""
        whole = self.by_series(series, targets)
        table = pd.DataFrame(index=whole.index)
        for name in whole.columns[whole.any()]:
            even = [name], np.ones((1, 1), dtype=np.float32)
            names, each = self.members[name].series_blend or even
            table[names] = whole[[name]].to_numpy() * each
        return table

    def by_step(self, n_steps: int) -> pd.DataFrame:
        """Return mean weights of members at each step ahead, from 1."""
        means = self.weights[:-1].mean(axis=(0, 2))
        table = np.broadcast_to(means, (n_steps, means.shape[1]))
        steps = pd.Index(np.arange(1, n_steps + 1), name="ahead")
        return pd.DataFrame(table, index=steps, columns=[*self.members])

    def without(self, *names: str) -> Ensemble:
        """Take members out: what they count is left to all others."""
        weights = self.weights * [name not in names for name in self.members]
        total = weights.sum(axis=-1, keepdims=True)
        return replace(self, weights=weights / np.where(total > 0, total, 1.0))

    def trusting(self, share: float | Float64Array) -> Ensemble:
        """Set the network's share of what it and the ridges that it corrects count together."""
        names, weights = list(self.members), self.weights.copy()
        ridges, network = names.index(RIDGES), names.index(NETWORK)
        both = weights[..., ridges] + weights[..., network]
        weights[..., ridges], weights[..., network] = (1 - share) * both, share * both
        return replace(self, weights=weights)

    def before_split(
        self, chosen: IntArray, timeline: Timeline, sizes: ModelSizes, scaler: Scaler
    ) -> Ensemble:
        """Return the same as it was before the validation split, for some of the series.

        timeline, scaler: the rows of these before it, by which some members are fitted anew.
        """
        before = self.members | self.held_out
        members = {
            n: m.fitted_again(timeline, sizes, scaler) for n, m in before.items()
        }
        return replace(
            self, members=members, weights=self.weights[np.append(chosen, -1)]
        )

    def with_shared_fit(self, whole: Ensemble) -> Ensemble:
        """Return it with what members of the whole share, see `Member.with_shared_fit`."""
        members = {
            n: member.with_shared_fit(whole.members[n])
            for n, member in self.members.items()
        }
        return replace(self, members=members)

    def on_device(self, device: torch.device | str) -> Ensemble:
        """Copy it, with tensors on a device, in evaluation mode."""
        return replace(
            self,
            members={
                name: member.on_device(device) for name, member in self.members.items()
            },
            held_out={
                name: member.on_device(device) for name, member in self.held_out.items()
            },
        )


def _label_rows(series: pd.Index | None, targets: pd.Index) -> pd.Index:
    """Label one row for each target of each series, series by series for the first target."""
    if series is None:
        return targets
    if len(targets) == 1:
        return series
    codes = np.tile(np.arange(len(series)), len(targets))
    return join_series(series, codes, targets.repeat(len(series)))


@dataclass(frozen=True)
class EnsembleForecaster:
    """Forecast windows of segments by an ensemble.

    series: that of each segment; those from the last fitted one on are new.
    clock: what the steps count.
    head: what the outputs of the network are; all others give points.
    limits: what no forecast exceeds by much, of each series and of new ones.
    bounds: of forecasts, by the observed range of each series; None for none.
    """

    ensemble: Ensemble
    sizes: ModelSizes
    series: IntArray
    clock: Clock
    device: torch.device | str
    head: Head
    limits: Limits | None = None
    bounds: ForecastBounds | None = None
    _buffer: list[RowBuffer] = field(default_factory=list)

    def __call__(self, rows: Rows, origins: IntArray) -> Float32Array:
        """Forecast windows, standardised: (n, pred_len, n_targets, *head.outputs).

        rows: consecutive rows of every segment.
        origins: the row of each window's first step.

        Members without weight in a window do not predict it, but for a network of several outputs:
        few others have these.
        """
        windows = self.windows(rows, origins)
        weights = self.weights(windows)
        total = np.zeros((len(windows), self.sizes.pred_len, self.sizes.n_targets))
        # How far quantiles lie from their median, by the last member that forecasts them.
        apart = np.zeros((*total.shape, *self.head.outputs), dtype=np.float32)
        for name, (some, forecast) in self._predict_members(windows, weights).items():
            points = self._point(forecast)
            total[some] += weights[name][some] * points
            if forecast.ndim > total.ndim:
                apart[some] = forecast - points[..., None]
        points = (total / self.ensemble.temperature).astype(np.float32)
        return points if self.head.median_index is None else points[..., None] + apart

    def windows(self, rows: Rows, origins: IntArray) -> Windows:
        """Put windows on buffered rows, kept for the next windows of the same rows."""
        if self._buffer and self._buffer[0].rows.values is rows.values:
            return Windows(self._buffer[0].refreshed(), origins)
        self._buffer[:] = [
            RowBuffer(rows, self.series, self.clock, self.sizes, self.device)
        ]
        return Windows(self._buffer[0], origins)

    def weights(self, windows: Windows) -> dict[str, Float64Array]:
        """Return how much each member counts for windows, (n, 1 or pred_len, n_targets)."""
        members, known = self.ensemble.members, len(self.ensemble.weights) - 1
        weights = self.ensemble.weights[np.minimum(windows.series, known)]
        short = np.array([member.forecasts_short for member in members.values()])
        if short.any():
            # The others see whole windows; what is shorter would be filled up by training means.
            part = windows.origins - windows.begin < self.sizes.seq_len
            able = np.where(short, weights[part], 0.0)
            total = able.sum(axis=-1, keepdims=True)
            even = short / short.sum()
            weights[part] = np.divide(able, total, out=able * 0 + even, where=total > 0)
        return dict(zip(members, np.moveaxis(weights, -1, 0), strict=True))

    def parts(
        self, rows: Rows, origins: IntArray
    ) -> dict[str, tuple[Float64Array, Float32Array]]:
        """Return weights and standardised points of members that count in any of some windows.

        Both have shape (n, pred_len, n_targets); weights add up to 1.
        """
        windows = self.windows(rows, origins)
        weights = {
            name: each for name, each in self.weights(windows).items() if each.any()
        }
        everywhere = {name: np.ones_like(each) for name, each in weights.items()}
        predictions = self._predict_members(windows, everywhere)
        shape = len(windows), self.sizes.pred_len, self.sizes.n_targets
        parts = {}
        for name, weight in weights.items():
            _, y_pred = predictions[name]
            parts[name] = np.broadcast_to(weight, shape), self._point(y_pred)
        return parts

    def _predict_members(
        self, windows: Windows, weights: Mapping[str, Float64Array]
    ) -> dict[str, tuple[IntArray, Float32Array]]:
        """Predict by each member the windows in which it, or one that corrects it, counts."""
        members = self.ensemble.members
        is_needed = {name: np.zeros(len(windows), dtype=bool) for name in members}
        for name, weight in weights.items():
            is_needed[name] |= weight.any(axis=(1, 2))
        for name, member in members.items():
            if member.base is not None:
                is_needed[name] |= self.head.median_index is not None
                is_needed[member.base] |= is_needed[name]
        predictions: dict[str, tuple[IntArray, Float32Array]] = {}
        for name, member in members.items():
            some = np.flatnonzero(is_needed[name])
            if not len(some):
                continue
            base = None
            if member.base is not None:
                base_windows, base_pred = predictions[member.base]
                base = base_pred[np.searchsorted(base_windows, some)]
            predictions[name] = some, member.forecast(windows.take(some), base)
        return {
            name: (some, self._clip_softly(y_pred, windows.take(some)))
            for name, (some, y_pred) in predictions.items()
        }

    def _point(self, forecast: Float32Array) -> Float32Array:
        """Return the one value that is forecast."""
        return forecast if forecast.ndim == 3 else self.head.point(forecast)

    def _clip_softly(self, y_pred: Float32Array, windows: Windows) -> Float32Array:
        """Compress forecasts beyond what the series and the window have shown."""

        def past(some: IntArray) -> tuple[Float32Array, IntArray]:
            length = self.sizes.seq_len
            rows = window_rows(windows.origins[some] - length, length)
            return windows.values[:, : self.sizes.n_targets][rows], rows

        def greatest(some: IntArray) -> Float32Array:
            return np.asarray(np.fmax.reduce(past(some)[0], axis=1))

        def observed_range(some: IntArray) -> tuple[Float32Array, Float32Array]:
            values, rows = past(some)
            if windows.known is not None:  # what is fed back would widen its own bound
                values = np.where(windows.known[rows], values, np.float32(np.nan))
            return np.fmin.reduce(values, axis=1), np.fmax.reduce(values, axis=1)

        if self.bounds is not None:
            y_pred = self.bounds.apply(y_pred, windows.series, observed_range)
        if self.limits is None:
            return y_pred
        series = np.minimum(windows.series, len(self.limits.top) - 1)
        return self.limits.apply(y_pred, series, greatest)
