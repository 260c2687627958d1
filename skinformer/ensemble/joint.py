"""Forecasts of windows by all who have a share in them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple, TypeAlias

import numpy as np

from skinformer.ensemble.building import ModelSizes
from skinformer.ensemble.head import Head
from skinformer.ensemble.joining import Judged
from skinformer.ensemble.shares import Shares
from skinformer.ensemble.windows import Rows
from skinformer.timeline.arrays import Float32Array, Float64Array, IntArray
from skinformer.timeline.clock import Clock
from skinformer.timeline.scaling import Limits
from skinformer.timeline.windows import window_rows

__all__ = ["JointForecaster", "WindowShares"]

#: Ridges and network: forecasts windows, each with its own trust, or all with the module's.
ModuleForecaster: TypeAlias = Callable[[Rows, IntArray, Float64Array | None], Float32Array]


class WindowShares(NamedTuple):
    """
    How much each forecaster counts for windows.

    Parameters
    ----------
    classical : ndarray of float64, shape (n, 1, n_targets)
        Of the classical forecasters.
    tabular, ridges : ndarray of float64, shape (n, n_steps, n_targets)
        Of the regressor on features and of ridges, corrected or not, in each step or in all.
    trust : ndarray of float64, shape (n, n_targets)
        Share of the network's correction in the ridges' share.
    """

    classical: Float64Array
    tabular: Float64Array
    ridges: Float64Array
    trust: Float64Array


@dataclass(frozen=True)
class JointForecaster:
    """
    Forecast windows, each by the shares of its series.

    Parameters
    ----------
    judged : Judged
        Who forecasts, and with what share.
    sizes : ModelSizes
        What the columns are, and the lengths of windows.
    series : ndarray of int64, shape (n_tracks,)
        The series of each track; those from the last fitted one on are new.
    clock : Clock
        What the steps count.
    module : callable
        Ridges and network.
    head : Head
        What their outputs are; everyone else gives points.
    corrects : bool
        Whether there are ridges that the network corrects.
    limits : Limits or None, default=None
        What no forecaster exceeds by much, of each series and of new ones.
    """

    judged: Judged
    sizes: ModelSizes
    series: IntArray
    clock: Clock
    module: ModuleForecaster
    head: Head
    corrects: bool
    limits: Limits | None = None

    def __call__(self, rows: Rows, origins: IntArray) -> Float32Array:
        """
        Forecast windows.

        Parameters
        ----------
        rows : Rows
            Consecutive rows of every track.
        origins : ndarray of int64, shape (n,)
            The row of each window's first step.

        Returns
        -------
        ndarray of float32, shape (n, pred_len, n_targets, *head.outputs)
            Standardised. Whoever has no share in a window is not asked, but for a network of
            several outputs: how far these lie apart it alone can tell.
        """
        if self.judged.shares is not None:
            return self._shared(rows, origins, self.judged.shares)
        if self.judged.simple is None:
            return self._ask(rows, origins, None)
        return self._around(self._classical(rows, origins), None)

    def _shared(self, rows: Rows, origins: IntArray, shares: Shares) -> Float32Array:
        classical, tabular, ridges, trust = self._window_shares(rows, origins, shares)
        shape = len(origins), self.sizes.pred_len, self.sizes.n_targets
        points, outputs = np.zeros(shape, dtype=np.float32), None

        def add(share: Float64Array, forecast: Callable[[IntArray], Float32Array]) -> None:
            some = np.flatnonzero(share.any(axis=(1, 2)))
            if len(some):
                points[some] += share[some] * forecast(some)

        if self.head.middle is None:
            add(ridges, lambda some: self._ask(rows, origins[some], trust[some]))
        else:
            outputs = self._ask(rows, origins, trust)
            points += (ridges * self.head.point(outputs)).astype(np.float32)
        add(classical, lambda some: self._classical(rows, origins[some]))
        add(tabular, lambda some: self._tabular(rows, origins[some]))
        return self._around(points, outputs)

    def _window_shares(self, rows: Rows, origins: IntArray, shares: Shares) -> WindowShares:
        track = rows.track[origins]
        known = np.minimum(self.series[track], len(shares.trust) - 1)
        classical, tabular = shares.classical[known, None], shares.tabular[known]
        if self.judged.simple is not None:
            # The others see whole windows; what is shorter would be filled up by training means.
            part = origins - rows.begin[track] < self.sizes.seq_len
            classical[part], tabular[part] = 1.0, 0.0
        ridges = np.maximum(1.0 - classical - tabular, 0.0)
        return WindowShares(classical, tabular, ridges, shares.trust[known])

    def shares_of(self, rows: Rows, origins: IntArray) -> WindowShares:
        """
        Tell how much each forecaster counts in forecasts of windows.

        Parameters
        ----------
        rows : Rows
            Consecutive rows of every track.
        origins : ndarray of int64, shape (n,)
            The row of each window's first step.

        Returns
        -------
        WindowShares
            Of the forecasts that this makes.
        """
        if self.judged.shares is not None:
            return self._window_shares(rows, origins, self.judged.shares)
        one = np.ones((len(origins), 1, self.sizes.n_targets))
        simple = float(self.judged.simple is not None)
        return WindowShares(
            simple * one, 0 * one, (1 - simple) * one, self.judged.trust * one[:, 0]
        )

    def parts(self, rows: Rows, origins: IntArray) -> dict[str, tuple[Float64Array, Float32Array]]:
        """
        Give what each forecaster says of windows, and how much it counts.

        Parameters
        ----------
        rows : Rows
            Consecutive rows of every track.
        origins : ndarray of int64, shape (n,)
            The row of each window's first step.

        Returns
        -------
        dict of str to tuple of ndarray, each of shape (n, pred_len, n_targets)
            Shares, which add up to 1, and standardised points of those who count somewhere, by the
            names that `Judged.series_blend` has; a network that nothing speaks beside is "network".
        """
        shares = self.shares_of(rows, origins)
        trust, tabular = shares.trust[:, None], self.judged.tabular
        share = {
            "classical": shares.classical,
            "trees" if tabular is None else tabular.name: shares.tabular,
            "ridges": shares.ridges * (1 - trust),
            "ridges and network" if self.corrects else "network": shares.ridges * trust,
        }
        forecasts: tuple[Callable[[], Float32Array], ...] = (
            lambda: self._classical(rows, origins),
            lambda: self._tabular(rows, origins),
            lambda: self._modular(rows, origins, 0.0 * shares.trust),
            lambda: self._modular(rows, origins, np.ones_like(shares.trust)),
        )
        shape = len(origins), self.sizes.pred_len, self.sizes.n_targets
        return {
            name: (np.broadcast_to(each, shape), forecast())
            for (name, each), forecast in zip(share.items(), forecasts, strict=True)
            if each.any()
        }

    def _modular(self, rows: Rows, origins: IntArray, trust: Float64Array) -> Float32Array:
        return self.head.point(self._ask(rows, origins, trust if self.corrects else None))

    def _ask(self, rows: Rows, origins: IntArray, trust: Float64Array | None) -> Float32Array:
        """Ask ridges and network, each of which is limited before they are mixed."""
        joint = self.module(rows, origins, trust)
        if trust is None:
            trust = np.full((len(origins), self.sizes.n_targets), self.judged.trust)
        mixed = self.corrects and bool(((trust > 0) & (trust < 1)).any())
        if self.limits is None or self.head.middle is not None or not mixed:
            return self._limited(joint, rows, origins)
        share: Float32Array = trust[:, None].astype(np.float32)
        alone = self.module(rows, origins, np.zeros_like(trust))
        part: Float32Array = np.where(share > 0, share, np.float32(1))
        whole: Float32Array = alone + (joint - alone) / part
        low, high = self._limited(alone, rows, origins), self._limited(whole, rows, origins)
        return np.where((low != alone) | (high != whole), low + share * (high - low), joint)

    def _limited(self, forecast: Float32Array, rows: Rows, origins: IntArray) -> Float32Array:
        """Compress what neither the series so far nor the window gives a reason for."""
        if self.limits is None:
            return forecast
        series = np.minimum(self.series[rows.track[origins]], len(self.limits.top) - 1)
        length, k = self.sizes.seq_len, self.sizes.n_targets

        def seen(some: IntArray) -> Float32Array:
            values = rows.values[window_rows(origins[some] - length, length), :k]
            return np.asarray(np.fmax.reduce(values, axis=1))

        return self.limits.apply(forecast, series, seen)

    def _around(self, points: Float32Array, outputs: Float32Array | None) -> Float32Array:
        """Put outputs around points; all are the point where there are none."""
        if self.head.middle is None:
            return points
        if outputs is None:
            return np.repeat(points[..., None], self.head.outputs[0], axis=-1)
        moved: Float32Array = outputs + (points - self.head.point(outputs))[..., None]
        return moved

    def _classical(self, rows: Rows, origins: IntArray) -> Float32Array:
        simple, track = self.judged.simple, rows.track[origins]
        if simple is None:
            raise AssertionError  # a share without its forecaster
        points = simple.forecast(rows.values, rows.begin[track], self.series[track], origins)
        return self._limited(points, rows, origins)

    def _tabular(self, rows: Rows, origins: IntArray) -> Float32Array:
        tabular, track = self.judged.tabular, rows.track[origins]
        if tabular is None:
            raise AssertionError  # a share without its forecaster
        points = tabular.forecast(
            rows.values, rows.begin[track], origins, rows.steps[origins], self.clock
        )
        return self._limited(points, rows, origins)
