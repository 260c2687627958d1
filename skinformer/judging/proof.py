"""What members forecast at the cut-offs, and what came: made once, read by all that weighs."""

from __future__ import annotations

import time
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np

from skinformer.ensemble.ensemble import Ensemble
from skinformer.ensemble.fitting import FitRows
from skinformer.ensemble.head import Head
from skinformer.ensemble.member import Member
from skinformer.ensemble.names import NETWORK, RIDGES
from skinformer.ensemble.predicting import prediction_threads
from skinformer.ensemble.windows import Windows
from skinformer.selection import MOST_STRETCHES, time_stretches
from skinformer.timeline.arrays import Float32Array, Float64Array, IntArray
from skinformer.timeline.windows import spread_places, window_rows


@dataclass
class Proof:
    """Forecasts of members at the same cut-offs, which none of them was fitted to.

    windows: at the cut-offs.
    head: what a forecast is compared by.
    y, weight: what came, and how much it counts, (n, pred_len, n_targets).
    members: by name, as they were fitted before the cut-offs.
    forecasts: theirs, of the same shape.
    seconds: of one window.
    """

    windows: Windows
    head: Head
    y: Float32Array
    weight: Float32Array
    members: dict[str, Member] = field(default_factory=dict)
    forecasts: dict[str, Float32Array] = field(default_factory=dict)
    seconds: dict[str, float] = field(default_factory=dict)

    @classmethod
    def at(cls, windows: Windows, rows: FitRows, head: Head) -> Proof:
        """Read what came at the cut-offs."""
        y, weight = truths_of(rows, windows.origins)
        return cls(windows, head, y, weight)

    def add(self, member: Member) -> Float32Array:
        """Forecast the cut-offs by a member; one that it corrects comes before it."""
        started = time.perf_counter()
        base = self.forecasts.get(member.base or "")
        forecast = predict_points(member, self.windows, self.head, base)
        self.members[member.name] = member
        self.forecasts[member.name] = forecast
        passed = time.perf_counter() - started
        self.seconds[member.name] = passed / max(len(self.windows), 1)
        return forecast

    @property
    def others(self) -> list[Member]:
        """The members beside ridges and network."""
        return [
            member
            for name, member in self.members.items()
            if name not in (RIDGES, NETWORK)
        ]

    @cached_property
    def stretches(self) -> IntArray | None:
        """The stretch of time of each window; None where there are no two that hold a forecast."""
        pred_len = self.y.shape[1]
        return time_stretches(self.windows.steps, pred_len, n_most=MOST_STRETCHES)

    @property
    def n_forecasts(self) -> int:
        """How many forecasts of a series follow each other in the windows, at most twelve."""
        return 1 if self.stretches is None else int(self.stretches.max()) + 1

    def by_name(self, weights: Float64Array) -> dict[str, Float64Array]:
        """Return the weights of each member, which the last axis holds, by name."""
        return {name: weights[..., i] for i, name in enumerate(self.forecasts)}

    def error(self, forecast: Float32Array) -> float:
        """Return the mean absolute error of a forecast of the cut-offs; NaN where nothing came."""
        total = float(self.weight.sum())
        distance = np.abs(forecast - self.y) * self.weight
        return float(distance.sum()) / total if total > 0 else np.nan


@dataclass(frozen=True)
class Proved:
    """What a fit keeps of a proof: forecasts of windows that their members had not learnt.

    origins: (n,), rows of the fit's history at which they begin.
    forecasts: of members by name, (n, pred_len, n_targets), standardised.
    """

    origins: IntArray
    forecasts: dict[str, Float32Array]

    @classmethod
    def of(cls, proof: Proof | None, ensemble: Ensemble) -> Proved | None:
        """Keep some windows, spread over those of a proof; None where nobody proved anything.

        ensemble: the members whose forecasts are kept.
        """
        if proof is None or not proof.forecasts or not len(proof.windows):
            return None
        n_most = 256 // ensemble.cost
        kept = spread_places(len(proof.windows), n_most)
        return cls(
            proof.windows.origins[kept],
            {
                name: forecast[kept]
                for name, forecast in proof.forecasts.items()
                if name in ensemble.members
            },
        )


def predict_points(
    member: Member, windows: Windows, head: Head, base: Float32Array | None = None
) -> Float32Array:
    """Forecast the one value by which members are compared, (n, pred_len, n_targets).

    base: what the member corrects.
    """
    sizes = windows.buffer.sizes
    n_linear = sizes.seq_len * sizes.pred_len * windows.values.shape[1]
    with prediction_threads(member.largest_product, n_linear):
        return head.to_points(member.forecast(windows, base))


def truths_of(rows: FitRows, origins: IntArray) -> tuple[Float32Array, Float32Array]:
    """Return truths and weights of windows, (n_windows, pred_len, n_targets)."""
    ahead = window_rows(origins, rows.sizes.pred_len)
    n_targets = rows.sizes.n_targets
    y = rows.timeline.values[ahead, :n_targets]
    return y, rows.timeline.weights(n_targets)[ahead]
