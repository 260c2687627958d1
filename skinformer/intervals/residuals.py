"""Quantiles from a sample of errors, each a whole forecast's."""

import math
from dataclasses import dataclass

import numpy as np
import pandas as pd
from scipy.special import ndtri

from skinformer.selection import shrinkage
from skinformer.timeline.arrays import Float32Array, Float64Array, IntArray


@dataclass(frozen=True)
class Residuals:
    """Errors of forecasts, in sizes that were to be expected.

    errors: (n_windows, pred_len, n_targets), one forecast a row; NaN is unknown.
    n_windows: how many independent forecasts they amount to.
    series, origins: (n_windows,), the series of each forecast, and the step at which it begins.
    """

    errors: Float32Array
    n_windows: float
    series: IntArray
    origins: IntArray

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
        prior = 30.0  # independent forecasts that stand for a median of 0
        _, pred_len, n_targets = self.errors.shape
        requested = np.append(levels, 0.5)
        found = np.empty((len(requested), pred_len, n_targets))
        for step, target in np.ndindex(pred_len, n_targets):
            known = self.known_near(step, target)
            found[:, step, target] = np.quantile(known, requested, method="weibull")
        median = found[-1]
        widening = self._widening(levels)[:, None, None]
        spread = (found[:-1] - median) * widening
        return shrinkage(self.n_windows, prior) * median + spread

    def near(self, errors: Float32Array, step: int) -> Float32Array:
        """Return the errors that quantiles of a step are taken from, (n_pooled, n_targets).

        They are of the steps beside it, too, where windows are few.
        """
        enough = 400  # errors
        n_steps = math.ceil(enough / len(errors))
        reach = n_steps // 2
        first = max(step - reach, 0)
        near = errors[:, first : step + reach + 1]
        return near.reshape(-1, errors.shape[2])

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
