"""An ensemble: members by name, and how much each counts in each forecast."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np
import pandas as pd

from skinformer.bounds.bounds import Bounds
from skinformer.ensemble.building import ModelSizes
from skinformer.ensemble.head import Head
from skinformer.ensemble.member import Member
from skinformer.ensemble.names import NETWORK, RIDGES
from skinformer.ensemble.windows import RowBuffer, Rows, Windows
from skinformer.timeline.arrays import Float32Array, Float64Array, IntArray
from skinformer.timeline.clock import Clock, join_series


@dataclass(frozen=True)
class Ensemble:
    """Members, and the weight of each.

    members: by name; one that corrects another comes after it.
    weights: (n_series + 1, 1 or pred_len, n_targets, n_members), of sum 1; the last row is for
    series that the fit did not hold.
    temperature: what the weighted mean, of logs of probabilities, is divided by.
    """

    members: dict[str, Member]
    weights: Float64Array
    temperature: float = 1.0

    @classmethod
    def combine(
        cls,
        members: Sequence[Member],
        weights: Mapping[str, Float64Array | float],
        *,
        n_series: int,
        n_targets: int,
    ) -> Ensemble:
        """Put members together; weights, by name, are as the field's last axis has them."""
        zeros = np.zeros((n_series + 1, 1, n_targets))
        each = [zeros + weights.get(member.name, 0.0) for member in members]
        return cls(
            {member.name: member for member in members},
            np.stack(np.broadcast_arrays(*each), axis=-1),
        )

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

    def by_series(self, series: pd.Index | None, targets: pd.Index) -> pd.DataFrame:
        """Return mean weights of members by series and target, or by the one there are many of."""
        # Classes have several columns of a target, with the same weights.
        columns = np.arange(len(targets)) * self.weights.shape[2] // len(targets)
        means = self.weights[:-1].mean(axis=1)
        by_target = means[:, columns].swapaxes(0, 1)
        return pd.DataFrame(
            by_target.reshape(-1, len(self.members)),
            index=_label_rows(series, targets),
            columns=[*self.members],
        )

    def series_blend(self, series: pd.Index | None, targets: pd.Index) -> pd.DataFrame:
        """Return weights of all members that have any, or of the candidates they consist of."""
        whole = self.by_series(series, targets)
        table = pd.DataFrame(index=whole.index)
        for name in whole.columns[whole.any()]:
            names, shares = self.members[name].series_blend
            table[names] = whole[[name]].to_numpy() * shares
        return table

    def by_step(self, n_steps: int) -> pd.DataFrame:
        """Return mean weights of members at each step ahead, from 1."""
        means = self.weights[:-1].mean(axis=(0, 2))
        return pd.DataFrame(
            np.broadcast_to(means, (n_steps, means.shape[1])),
            index=pd.Index(np.arange(1, n_steps + 1), name="ahead"),
            columns=[*self.members],
        )

    def without(self, *names: str) -> Ensemble:
        """Take members out: what they count is left to all others, equal where these have none."""
        kept = np.array([name not in names for name in self.members])
        weights = self.weights * kept
        weights = np.where(weights.any(axis=-1, keepdims=True), weights, kept)
        weights = weights / weights.sum(axis=-1, keepdims=True)
        return replace(self, weights=weights)

    def with_network_share(self, share: float | Float64Array) -> Ensemble:
        """Set the network's share of what it and the ridges that it corrects count together."""
        names = list(self.members)
        both = self.weights_of(RIDGES) + self.weights_of(NETWORK)
        weights = self.weights.copy()
        weights[..., names.index(RIDGES)] = (1 - share) * both
        weights[..., names.index(NETWORK)] = share * both
        return replace(self, weights=weights)

    def for_short_windows(self) -> Ensemble:
        """Take members out that see training means where first rows of a window are missing."""
        members = self.members
        others = [name for name in members if not members[name].forecasts_short]
        return self if len(others) == len(members) else self.without(*others)

    def on_device(self, device: str) -> Ensemble:
        """Copy it, with tensors on a device, in evaluation mode."""
        return replace(
            self,
            members={
                name: member.on_device(device) for name, member in self.members.items()
            },
        )


def _label_rows(series: pd.Index | None, targets: pd.Index) -> pd.Index:
    """Label one row for each target of each series, series by series for the first target."""
    if series is None:
        return targets
    if len(targets) == 1:
        return series
    return join_series(
        series,
        np.tile(np.arange(len(series)), len(targets)),
        targets.repeat(len(series)),
    )


@dataclass(eq=False)
class EnsembleForecaster:
    """Forecast windows of segments by an ensemble.

    series: that of each segment; those from the last fitted one on are new.
    clock: what the steps count.
    head: what the outputs of the network are; all others give points.
    bounds: what no forecast may be.
    """

    ensemble: Ensemble
    sizes: ModelSizes
    series: IntArray
    clock: Clock
    device: str
    head: Head
    bounds: Bounds = field(default_factory=Bounds)
    _buffer: RowBuffer | None = None

    def __call__(self, rows: Rows, origins: IntArray) -> Float32Array:
        """Forecast windows, standardised: (n, pred_len, n_targets, *head.outputs).

        rows: consecutive rows of every segment.
        origins: the row of each window's first step.

        Members without weight in a window do not predict it, but for a network of several outputs:
        few others have these.
        """
        windows = self.windows(rows, origins)
        weights = self.weights(windows)
        predictions = self._predict_members(windows, weights)
        points = self._weigh(windows, weights, predictions)
        if self.head.median_index is None:
            return points
        # How far quantiles lie from their median, by the last member that forecasts them.
        distances = np.zeros((*points.shape, *self.head.outputs), dtype=np.float32)
        for some, y_pred in predictions.values():
            if y_pred.ndim > points.ndim:
                distances[some] = y_pred - self.head.to_points(y_pred)[..., None]
        return points[..., None] + distances

    def weigh(
        self, windows: Windows, forecasts: Mapping[str, Float32Array]
    ) -> Float32Array:
        """Weigh what members forecast before: points, standardised, (n, pred_len, n_targets).

        forecasts: by name, of all members that count, and of the same shape.
        """
        everywhere = np.arange(len(windows))
        predictions = {
            name: (everywhere, self.bounds.limit(y_pred, windows))
            for name, y_pred in forecasts.items()
        }
        return self._weigh(windows, self.weights(windows), predictions)

    def _weigh(
        self,
        windows: Windows,
        weights: Mapping[str, Float64Array],
        predictions: Mapping[str, tuple[IntArray, Float32Array]],
    ) -> Float32Array:
        """Add the points of members up by their weights, within bounds."""
        total = np.zeros((len(windows), self.sizes.pred_len, self.sizes.n_targets))
        for name, (some, y_pred) in predictions.items():
            total[some] += weights[name][some] * self.head.to_points(y_pred)
        points = (total / self.ensemble.temperature).astype(np.float32)
        self.bounds.level(
            points,
            windows,
            of_mean=self.head.of_mean,
            look_back=max(self.sizes.seq_len, self.ensemble.look_back),
        )
        return points

    def windows(self, rows: Rows, origins: IntArray) -> Windows:
        """Put windows on buffered rows, kept for the next windows of the same rows."""
        buffer = self._buffer
        if buffer is not None and buffer.rows.values is rows.values:
            buffer.refresh()
        else:
            buffer = RowBuffer(rows, self.series, self.clock, self.sizes, self.device)
            self._buffer = buffer
        return Windows(buffer, origins)

    def weights(self, windows: Windows) -> dict[str, Float64Array]:
        """Return how much each member counts for windows, (n, 1 or pred_len, n_targets)."""
        ensemble = self.ensemble
        series = np.minimum(windows.series, len(ensemble.weights) - 1)
        weights = ensemble.weights[series]
        is_short = windows.origins - windows.begin < self.sizes.seq_len
        if is_short.any():
            weights[is_short] = ensemble.for_short_windows().weights[series[is_short]]
        for i, member in enumerate(ensemble.members.values()):
            alone = member.knows_alone(windows)
            if alone is not None:
                only = np.arange(weights.shape[-1]) == i
                weights = np.where(alone[..., None], only, weights)
        return dict(zip(ensemble.members, np.moveaxis(weights, -1, 0), strict=True))

    def log_widening(self, rows: Rows, origins: IntArray) -> Float64Array | float:
        """Return what is added to logs of errors' sizes, (n, pred_len, n_targets)."""
        windows = self.windows(rows, origins)
        added: Float64Array | float = 0.0
        for name, member in self.ensemble.members.items():
            if self.ensemble.weights_of(name).any():
                wider = member.log_widening(windows)
                added = added if wider is None else np.maximum(added, wider)
        return added

    def parts(
        self, rows: Rows, origins: IntArray
    ) -> dict[str, tuple[Float64Array, Float32Array]]:
        """Return weights and standardised points of members that count in any of some windows.

        Both have shape (n, pred_len, n_targets); weights add up to 1.
        """
        windows = self.windows(rows, origins)
        weights = self.weights(windows)
        everywhere = {
            name: np.full_like(weight, weight.any()) for name, weight in weights.items()
        }
        predictions = self._predict_members(windows, everywhere)
        shape = len(windows), self.sizes.pred_len, self.sizes.n_targets
        parts = {}
        for name, weight in weights.items():
            if weight.any():
                parts[name] = (
                    np.broadcast_to(weight, shape),
                    self.head.to_points(predictions[name][1]),
                )
        return parts

    def _predict_members(
        self, windows: Windows, weights: Mapping[str, Float64Array]
    ) -> dict[str, tuple[IntArray, Float32Array]]:
        """Predict by each member the windows in which it, or one that corrects it, counts."""
        predictions: dict[str, tuple[IntArray, Float32Array]] = {}
        limited = {}
        seen = self._windows_of_members(windows)
        for name, weight in self._weights_with_bases(weights).items():
            some = np.flatnonzero(weight.any(axis=(1, 2)))
            if not len(some):
                continue
            chosen = windows.take(some)
            member = self.ensemble.members[name]
            base_pred = None
            if member.base is not None:
                of_base, base_pred = predictions[member.base]
                base_pred = base_pred[np.searchsorted(of_base, some)]
            y_pred = member.forecast(seen[name].take(some), base_pred)
            predictions[name] = some, y_pred
            limited[name] = some, self.bounds.limit(y_pred, chosen)
        return limited

    def _windows_of_members(self, windows: Windows) -> dict[str, Windows]:
        """Return windows as each member sees them: without events that another one knows."""
        members = self.ensemble.members
        seen = dict.fromkeys(members, windows)
        for knowing, member in members.items():
            usual = member.without_events(windows)
            if usual is not None:
                others = [name for name in members if name != knowing]
                seen |= dict.fromkeys(others, usual)
        return seen

    def _weights_with_bases(
        self, weights: Mapping[str, Float64Array]
    ) -> dict[str, Float64Array]:
        """Add to the weights of members those of members that correct them."""
        total = dict(weights)
        for name, member in self.ensemble.members.items():
            base = member.base
            if base is not None:
                # How far quantiles lie from their median is the network's to say, everywhere.
                if self.head.median_index is not None:
                    total[name] = np.ones_like(weights[name])
                total[base] = total[base] + total[name]
        return total
