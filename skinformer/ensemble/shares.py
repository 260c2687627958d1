"""Shares of the forecasters of a fit: classical ones, a regressor, ridges, ridges and network.

All forecast the same held-out windows before they are fitted to these; each series believes them by
its own errors, as far as these prove anything, and by the panel's.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from skinformer.classical.judging import softmax
from skinformer.timeline.arrays import Float32Array, Float64Array, IntArray
from skinformer.timeline.windows import Origins

__all__ = ["FARTHEST", "SMALL", "Shares", "judge", "judging_origins", "mean_errors"]


#: Windows of a series by which it judges, spread over its tail; two where there would be more than
#: so many of all series.
_N_ORIGINS, _MOST_WINDOWS = 8, 20_000
#: A difference of so much in the log error makes a factor e in the weight.
_TEMPERATURE = 0.1
#: How far the difference of a series' own log errors from the panel's is believed: eight windows
#: overlap, and are hardly more than one or two forecasts.
_OWN = 0.2
#: Log of the ratio beyond which an error says no more: no series speaks for the others.
FARTHEST = 1.5
#: Error, standardised, below which all are as good: a constant is forecast to rounding.
SMALL = 0.01
#: Weight that is not worth a forecast.
_NEGLIGIBLE = 0.01


@dataclass(frozen=True)
class Shares:
    """How much each forecaster counts for each target of each series; the last row is for new ones.

    classical: (n_series + 1, n_targets), share of the classical forecasters, in [0, 1].
    tabular: (n_series + 1, n_steps, n_targets), share of the regressor on features in each step
    ahead, or one in all of them; the rest is that of ridges and network.
    trust: (n_series + 1, n_targets), what the network's correction of the ridges is multiplied by,
    in [0, 1].
    """

    classical: Float64Array
    tabular: Float64Array
    trust: Float64Array

    @classmethod
    def of_weights(cls, weights: Float64Array) -> Shares:
        """Read shares off weights of forecasters, (n_series + 1, n_targets, 4), of sum 1.

        They are those of classical forecasters, the regressor on features, ridges alone, and ridges
        with the network. Whoever hardly counts is left out: what it costs is saved.
        """
        weights = np.where(weights < _NEGLIGIBLE, 0.0, weights)
        weights /= weights.sum(axis=-1, keepdims=True)
        classical, tabular, ridges, corrected = np.moveaxis(weights, -1, 0)
        rest = ridges + corrected
        trust = np.divide(corrected, rest, out=np.zeros_like(rest), where=rest > 0)
        return cls(classical, tabular[:, None], trust)

    @property
    def ridges(self) -> Float64Array:
        """Share of the ridges, with the network or without it, of the shape of `tabular`."""
        return np.maximum(1.0 - self.classical[:, None] - self.tabular, 0.0)

    def of_series(self, chosen: IntArray) -> Shares:
        """Keep the shares of some series, numbered anew, and those of new ones."""
        kept = np.append(chosen, -1)
        return Shares(self.classical[kept], self.tabular[kept], self.trust[kept])

    @property
    def mean_trust(self) -> float:
        """Mean share of the network's correction in the forecasts of the fitted series."""
        known = slice(None, -1)
        return float((self.ridges[known] * self.trust[known, None]).mean())


def judging_origins(tails: Origins) -> IntArray:
    """Choose the windows by which each series judges: at most eight, spread over its tail."""
    some = np.flatnonzero(tails.high >= tails.low)
    n_origins = min(max(_MOST_WINDOWS // max(len(some), 1), 2), _N_ORIGINS)
    place = np.arange(n_origins)
    low, high = tails.low[some, None], tails.high[some, None]
    return np.unique(low + (high - low) * place // (n_origins - 1))


def judge(
    forecasts: Sequence[Float32Array],
    truth: Float32Array,
    weight: Float32Array | None,
    series: IntArray,
    *,
    n_series: int,
) -> Float64Array:
    """Weigh forecasters by each series' relative errors.

    forecasts: of each of them, (n_windows, pred_len, n_targets), as are truth and weight.
    weight: of each truth; None where all weigh 1.
    series: that of each window.

    Weights, (n_series + 1, n_targets, n_forecasters), have sums of 1. The last row is the panel's,
    for new series and those without windows; all are equal where nothing can be judged.

    The error of a forecaster for a series is the mean absolute one of its windows; compared are the
    logs of these, less their mean over forecasters. Those of a panel are averaged over all targets
    of all series; a series' own count for a fifth beside them. So neither the size of a series nor
    one that went wild decides for the others.
    """
    errors = np.stack([mean_errors(f, truth, weight, series, n_series) for f in forecasts], axis=2)
    judged = np.asarray(np.isfinite(errors).all(axis=2) & (errors > SMALL).any(axis=2))
    logs = np.log(np.where(judged[..., None], np.maximum(errors, SMALL), 1.0))
    logs -= logs.mean(axis=2, keepdims=True)
    logs = np.clip(logs, -FARTHEST, FARTHEST)
    panel = logs[judged].mean(axis=0) if judged.any() else np.zeros(len(forecasts))
    own = np.where(judged[:, :, None], logs - panel, 0.0)
    scores = -(panel + _OWN * own) / _TEMPERATURE
    everyone = np.broadcast_to(-panel / _TEMPERATURE, (1, *scores.shape[1:]))
    weights: Float64Array = softmax(np.concatenate([scores, everyone]))
    return weights


def mean_errors(
    forecast: Float32Array,
    truth: Float32Array,
    weight: Float32Array | Float64Array | None,
    series: IntArray,
    n_series: int,
) -> Float64Array:
    """Give the mean absolute error of each series and target, NaN where there is no truth.

    Forecasts, truths and weights have shape (n_windows, pred_len, n_targets).
    """
    counts = np.ones(truth.shape) if weight is None else weight.astype(np.float64)
    error = (np.abs(forecast.astype(np.float64) - truth) * counts).sum(axis=1)
    total, known = np.zeros((2, n_series, truth.shape[2]))
    np.add.at(total, series, error)
    np.add.at(known, series, counts.sum(axis=1))
    return np.divide(total, known, out=np.full_like(total, np.nan), where=known > 0)
