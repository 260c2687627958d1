"""Quantiles from a sample of errors, each a whole forecast's."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from itertools import pairwise

import numpy as np
import pandas as pd
from scipy.special import ndtri

from skinformer.selection import shrinkage
from skinformer.timeline.arrays import BoolArray, Float32Array, Float64Array, IntArray

#: Places among forecasts at which quantiles of errors are found.
_N_PLACES = 8
#: Errors around each of them that are enough.
_ENOUGH = 200


@dataclass(frozen=True)
class Residuals:
    """Errors of forecasts, in sizes that were to be expected.

    errors: (n_windows, pred_len, n_targets), one forecast a row; NaN is unknown.
    n_windows: how many independent forecasts they amount to.
    series, origins: (n_windows,), the series of each forecast, and the step at which it begins.
    points: (n_windows, pred_len, n_targets), the forecasts, standardised.
    level_share: (n_targets,), how far errors of forecasts alike are believed beside those of all,
    see `level_shares`.
    recent_share: (n_targets,), how much quantiles of recent rows count, see `recent_shares`.
    """

    errors: Float32Array
    n_windows: float
    series: IntArray
    origins: IntArray
    points: Float32Array
    level_share: Float64Array
    recent_share: Float64Array

    def some(self, windows: BoolArray) -> Residuals:
        """Keep some of the windows."""
        return replace(
            self,
            errors=self.errors[windows],
            series=self.series[windows],
            origins=self.origins[windows],
            points=self.points[windows],
        )

    @property
    def filled(self) -> Float32Array:
        """Errors with those of another window, or else another step, in place of unknown ones."""
        filled = np.empty_like(self.errors)
        for target in range(self.errors.shape[2]):
            errors = pd.DataFrame(self.errors[:, :, target])
            errors = errors.ffill().bfill()
            errors = errors.ffill(axis=1).bfill(axis=1)
            filled[:, :, target] = errors.fillna(0.0)
        return filled

    def quantiles(self, levels: Float64Array) -> Float64Array:
        """Return quantiles by step ahead, (n_levels, pred_len, n_targets), ascending in levels.

        The i-th of n errors is the quantile i / (n + 1), and that of few independent forecasts lies
        farther from the median, by what Student's law adds to the normal one: their own size is
        known no better. Nor is their median, which is shrunk to 0: what moved all series of a panel
        one way will move them another.
        """
        _, pred_len, n_targets = self.errors.shape
        requested = np.append(levels, 0.5)
        found = np.empty((len(requested), pred_len, n_targets))
        for step, target in np.ndindex(pred_len, n_targets):
            known = self.known_near(step, target)
            found[:, step, target] = np.quantile(known, requested, method="weibull")
        return self._spread_out(found, levels)

    def _spread_out(self, found: Float64Array, levels: Float64Array) -> Float64Array:
        """Shrink the median, the last of the quantiles, to 0, and move all others from it."""
        prior = 30.0  # independent forecasts that stand for a median of 0
        median = found[-1]
        widening = self._widening(levels).reshape(-1, *[1] * median.ndim)
        spread = (found[:-1] - median) * widening
        return shrinkage(self.n_windows, prior) * median + spread

    def quantiles_at(
        self, levels: Float64Array, points: Float64Array, ahead: IntArray
    ) -> Float64Array:
        """Return quantiles of forecasts, (n_levels, n, n_targets), by step and by level.

        points: (n, n_targets), what is forecast, standardised.
        ahead: (n, n_targets), the step of each.
        """
        found = np.take_along_axis(self.quantiles(levels), ahead[None], axis=1)
        requested = np.append(levels, 0.5)
        # PERF: steps side by side, whose errors are the same but for a few, are one.
        n_alike = self._steps_pooled(_N_PLACES * _ENOUGH)
        middle = ahead // n_alike * n_alike + n_alike // 2
        middle = np.minimum(middle, self.errors.shape[1] - 1)
        for target in np.flatnonzero(self.level_share).tolist():
            for step in np.unique(middle[:, target]).tolist():
                rows = np.flatnonzero(middle[:, target] == step)
                near = self.quantiles_near(
                    requested, step, target, points[rows, target]
                )
                if near is not None:
                    change = self._spread_out(near, levels) - found[:, rows, target]
                    found[:, rows, target] += self.level_share[target] * change
        return found

    def quantiles_near(
        self, levels: Float64Array, step: int, target: int, points: Float64Array
    ) -> Float64Array | None:
        """Return quantiles of errors of forecasts like others, (n_levels, n); None of few errors.

        points: (n,), these others. Quantiles are found at some places among the forecasts, and
        interpolated between two places.
        """
        least = 20  # errors at each place
        errors, forecasts = self._pairs_near(step, target)
        if len(errors) < _N_PLACES * least:
            return None
        parts = _parts_alike(forecasts)
        place = [float(np.median(forecasts[part])) for part in parts]
        found = [np.quantile(errors[part], levels, method="weibull") for part in parts]
        return np.stack(
            [np.interp(points, place, each) for each in np.transpose(found)]
        )

    def _pairs_near(self, step: int, target: int) -> tuple[Float64Array, Float64Array]:
        """Return known errors of a step and those beside it, and their forecasts, ascending."""
        n_enough = _N_PLACES * _ENOUGH
        one = slice(target, target + 1)
        errors = self.near(self.errors[..., one], step, n_enough).ravel()
        forecasts = self.near(self.points[..., one], step, n_enough).ravel()
        known = np.flatnonzero(~np.isnan(errors))
        order = known[np.argsort(forecasts[known], kind="stable")]
        return errors[order].astype(np.float64), forecasts[order].astype(np.float64)

    def near(self, errors: Float32Array, step: int, enough: int = 400) -> Float32Array:
        """Return the errors that quantiles of a step are taken from, (n_pooled, n_targets).

        They are of the steps beside it, too, where windows are fewer than enough.
        """
        reach = self._steps_pooled(enough) // 2
        first = max(step - reach, 0)
        near = errors[:, first : step + reach + 1]
        return near.reshape(-1, errors.shape[2])

    def _steps_pooled(self, enough: int) -> int:
        """Return of how many steps side by side there are so many errors."""
        return math.ceil(enough / len(self.errors))

    def known_near(self, step: int, target: int) -> Float64Array:
        """Return the known errors near a step, else of all steps, else 0: (n_known,)."""
        errors = self.errors[:, :, target : target + 1]
        for pooled in (self.near(errors, step), errors):
            known = pooled[~np.isnan(pooled)]
            if len(known):
                return known.astype(np.float64)
        return np.zeros(1)

    def _widening(self, levels: Float64Array) -> Float64Array:
        """Return the ratio of Student's quantiles to normal ones; at least 1, greater outside."""
        freedom = max(self.n_windows - 1, 2.0)
        z2 = ndtri(levels) ** 2
        # The first terms of Cornish's and Fisher's expansion.
        first = (z2 + 1) / (4 * freedom)
        polynomial = 5 * z2**2 + 16 * z2 + 3
        second = polynomial / (96 * freedom**2)
        return 1 + first + second


def _parts_alike(forecasts: Float64Array) -> list[slice]:
    """Cut ascending forecasts into parts of about as many, none of which shares a value.

    >>> _parts_alike(np.repeat([0.0, 1.0, 2.0], [6, 1, 1]))
    [slice(0, 6, None), slice(6, 7, None), slice(7, 8, None)]
    """
    n = len(forecasts)
    last = forecasts[np.arange(1, _N_PLACES) * n // _N_PLACES]
    ends = np.unique(np.append(np.searchsorted(forecasts, last, side="right"), n))
    return [slice(begin, end) for begin, end in pairwise([0, *ends.tolist()])]


def independent_errors(errors: Float64Array, n_windows: float) -> float:
    """Estimate how many independent forecasts of one step the windows of a series amount to.

    The errors of one forecast are alike as far as they have one sign: n of correlation r amount to
    n / (1 + (n - 1) r). Of several targets those that are most alike count.

    errors: (n, pred_len, n_targets); NaN is unknown.
    n_windows: how many of the windows share no row.
    >>> apart = np.array([[[1.0], [-1.0]], [[-1.0], [1.0]]])
    >>> independent_errors(apart, 2), independent_errors(abs(apart), 2)
    (4.0, 2.0)
    """
    signs = np.nan_to_num(np.sign(errors))
    total = signs.sum(axis=1)
    count = np.abs(signs).sum(axis=1)
    n_pairs = (count**2 - count).sum(axis=0)
    products = (total**2 - count).sum(axis=0)
    # Where there are no pairs, all are taken to be alike.
    alike = np.where(n_pairs > 0, products / np.maximum(n_pairs, 1), 1.0)
    # The correlation of normal errors with such signs.
    correlation = np.sin(np.clip(alike, 0.0, 1.0) * np.pi / 2)
    n_errors = np.maximum(count.mean(axis=0), 1.0)
    design_effect = 1 + (n_errors - 1) * correlation
    return float((n_windows * n_errors / design_effect).min())
