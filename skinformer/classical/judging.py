"""
Weights of candidates, by the errors of each at rolling origins of each series.

Errors at an origin are related to those of the others there, so that a wild time decides no more
than a quiet one. What they say of a series is believed as far as the origins are many; what all
series of a panel say together, farther. A final forecast that goes farther from the recent level
than the series went behind those origins counts less: means from before a step, or a season of one
year that a line drew, which begins with a leap back.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from skinformer.selection import shrinkage, softmax
from skinformer.timeline.arrays import BoolArray, Float32Array, Float64Array, IntArray

#: Origins lie a third of the horizon apart. There are so many of a series, fewer in large panels,
#: but never fewer than the second number, and so many of all series.
_APART, _MOST_ORIGINS, _FEWEST_ORIGINS, _ALL_ORIGINS = 3, 24, 8, 10_000
#: Weights are powers of errors: this one by one origin, and by the root of their number more, up to
#: so many.
_POWER, _MOST = 4.0, 6.0
#: Origins that the error of the typical candidate counts for beside a candidate's own: one origin
#: proves little.
_TYPICAL = 0.25
#: Log of the factor by which what has a season counts more where it was never asked: a series that
#: shows a season once likely has it.
_PRIOR = 3.0
#: Origins of others that count beside a series' own distance from them.
_OTHERS = 12.0
#: How many times as far as the series usually went a final forecast may go.
_USUAL_MOVES = 2.0
#: The first part of the horizon, over which a season that was never asked may leap no farther.
_LEAP = 6
#: Candidates that forecast where none was judged, beside what repeats a season.
_PLAIN = "last", "recent mean", "recent median"
_HOPELESS = 1e3
_TINY = 1e-12


def origin_distances(pred_len: int, n_series: int) -> list[int]:
    """
    Choose how many rows before its end each series is judged, the nearest first.

    Examples
    --------
    >>> origin_distances(12, 1)[:3], len(origin_distances(12, 1)), len(origin_distances(12, 5000))
    ([4, 8, 12], 24, 8)
    """
    apart = max(1, pred_len // _APART)
    number = int(
        np.clip(_ALL_ORIGINS // max(n_series, 1), _FEWEST_ORIGINS, _MOST_ORIGINS)
    )
    return [apart * i for i in range(1, number + 1)]


@dataclass
class Ledger:
    """
    Relative errors of candidates at the origins of series.

    Attributes
    ----------
    errors : ndarray of shape (n_series, n_candidates)
        Sums over origins, weighed by `counts`.
    counts : ndarray of shape (n_series, n_candidates)
        Weights of the origins at which each candidate was asked.
    squares : ndarray of shape (n_series,)
        Sums of squares of the weights of origins.
    typical : ndarray of shape (n_series,)
        Sums of the relative errors of the median candidate.
    total : ndarray of shape (n_series,)
        Sums of weights.
    moves, leaps : ndarray of shape (n_series,)
        Sums of how far the rows behind origins lay from the level before these: all of them, and
        the first sixth.
    excess : ndarray of shape (n_series, n_candidates)
        Log of how much farther the final forecast goes than is usual; 0 where it does not.
    seasonal, safe : ndarray of shape (n_candidates,)
        Which candidates know a season, but for ridges; and which forecast where none was judged.
    """

    errors: Float64Array
    counts: Float64Array
    squares: Float64Array
    typical: Float64Array
    total: Float64Array
    moves: Float64Array
    leaps: Float64Array
    excess: Float64Array
    seasonal: BoolArray
    safe: BoolArray

    @classmethod
    def of(cls, n_series: int, names: list[str]) -> Ledger:
        """Open one without an entry."""
        seasonal = np.array(
            ["season" in name and "ridge" not in name for name in names]
        )
        safe = np.array(
            [name in _PLAIN or name.startswith("season ") for name in names]
        )
        return cls(
            errors=np.zeros((n_series, len(names))),
            counts=np.zeros((n_series, len(names))),
            squares=np.zeros(n_series),
            typical=np.zeros(n_series),
            total=np.zeros(n_series),
            moves=np.zeros(n_series),
            leaps=np.zeros(n_series),
            excess=np.zeros((n_series, len(names))),
            seasonal=seasonal,
            safe=safe,
        )

    def enter(
        self,
        series: IntArray,
        forecast: Float64Array,
        truth: Float64Array,
        level: Float64Array,
    ) -> None:
        """
        Add the errors of forecasts at one origin of some series, each of which is there once.

        Parameters
        ----------
        series : ndarray of shape (n,)
            Their numbers.
        forecast : ndarray of shape (n, n_candidates, horizon)
            NaN where a candidate was not able to forecast.
        truth : ndarray of shape (n, horizon)
            What came; NaN where it is not known. One step is known at least.
        level : ndarray of shape (n,)
            The level of the rows before, see `Past.recent_level`.

        Notes
        -----
        Where most candidates are right to the last digit, as of what stands still, the origin says
        nothing of them.
        """
        known = ~np.isnan(truth)
        off = np.where(known[:, None], np.abs(forecast - truth[:, None]), 0.0)
        error = off.sum(axis=2) / known.sum(axis=1)[:, None]
        asked = ~np.isnan(error)
        usual = np.nanmedian(error, axis=1)
        telling = usual > 0
        distance = np.abs(truth - level[:, None])
        move = np.nanmean(distance, axis=1)
        leap = _mean_of_known(distance[:, : _n_first(truth.shape[1])], move)
        columns = series, error, asked, usual, move, leap
        series, error, asked, usual, move, leap = (
            column[telling] for column in columns
        )
        known = known[telling]
        unit = (np.nanmin(error, axis=1) + usual) / 2
        share = known.mean(axis=1) ** 0.5
        relative = np.where(asked, error / unit[:, None], 0.0)
        self.errors[series] += share[:, None] * relative
        self.counts[series] += share[:, None] * asked
        self.typical[series] += share * usual / unit
        self.squares[series] += share**2
        self.total[series] += share
        self.moves[series] += share * move
        self.leaps[series] += share * leap

    def compare_final(
        self, series: IntArray, forecast: Float64Array, level: Float64Array
    ) -> None:
        """
        Compare how far final forecasts of some series go with how far these usually went.

        Parameters
        ----------
        series : ndarray of shape (n,)
            Their numbers; each was entered at an origin.
        forecast : ndarray of shape (n, n_candidates, horizon)
            NaN where a candidate was not able to forecast.
        level : ndarray of shape (n,)
            The level of the last rows.
        """
        distance = np.abs(forecast - level[:, None, None])
        total = self.total[series]
        usual = self.moves[series] / np.maximum(total, _TINY)
        farther = _log_excess(distance, usual)
        first = distance[:, :, : _n_first(forecast.shape[2])]
        # The usual move counts as a leap at one origin more.
        leap = _log_excess(first, (self.leaps[series] + usual) / (total + 1))
        never_asked = self.counts[series] == 0
        self.excess[series] = np.where(never_asked, np.maximum(farther, leap), farther)

    @property
    def n_origins(self) -> Float64Array:
        """How many origins of one weight the origins of each series amount to, (n_series,)."""
        return np.divide(
            self.total**2,
            self.squares,
            out=np.zeros_like(self.total),
            where=self.total > 0,
        )

    def log_errors(self) -> Float64Array:
        """Return logs of mean relative errors, (n_series, n_candidates); NaN if never asked."""
        typical = np.divide(
            self.typical, self.total, out=np.ones_like(self.total), where=self.total > 0
        )
        mean = (self.errors + _TYPICAL * typical[:, None]) / (self.counts + _TYPICAL)
        return np.where(self.counts > 0, np.log(mean + 1e-6), np.nan)

    def weights(self) -> tuple[Float32Array, Float32Array]:
        """
        Weigh candidates by the errors of each series and of all of them.

        Returns
        -------
        weights : ndarray of shape (n_series, n_candidates)
            Of each series; sums are 1.
        panel : ndarray of shape (n_candidates,)
            Those of a series that was not judged.
        """
        logs = self.log_errors()
        asked = ~np.isnan(logs)
        n_asked = asked.sum(axis=0)
        total = np.where(asked, logs, 0.0).sum(axis=0)
        panel = np.divide(
            total, n_asked, out=np.full(len(total), np.nan), where=n_asked > 0
        )
        judged = self.total > 0
        if judged.any():
            power = _power(self.n_origins[judged].mean())
            # Of a season that was seen once nobody could ask: between the best and the usual.
            usual = np.nanmedian(panel)
            unasked = np.where(self.seasonal, (np.nanmin(panel) + usual) / 2, usual)
            panel = np.where(n_asked > 0, panel, unasked)
            everyone = _PRIOR * (self.seasonal & (n_asked == 0)) - power * panel
        else:
            everyone = np.where(self.safe, _PRIOR * self.seasonal, -_HOPELESS)
        origins = self.n_origins[:, None]
        own = np.where(asked, logs - panel, 0.0) * shrinkage(origins, _OTHERS)
        # Where others speak for a candidate its final forecast is one origin more.
        power_of_excess = _power(origins) / np.where(asked, 1 + origins, 1)
        scores = everyone - _power(origins) * own - power_of_excess * self.excess
        return softmax(scores).astype(np.float32), softmax(everyone).astype(np.float32)


def _power(n_origins: Float64Array) -> Float64Array:
    """Compute the power of their errors by which forecasts are weighed."""
    return np.asarray(_POWER * np.sqrt(np.minimum(n_origins, _MOST)))


def _n_first(horizon: int) -> int:
    return max(1, horizon // _LEAP)


def _mean_of_known(values: Float64Array, otherwise: Float64Array) -> Float64Array:
    """Average rows, (n, k), of which some values are NaN; `otherwise`, (n,), where all are."""
    count = (~np.isnan(values)).sum(axis=1)
    mean = np.nansum(values, axis=1) / np.maximum(count, 1)
    return np.asarray(np.where(count > 0, mean, otherwise))


def _log_excess(distance: Float64Array, usual: Float64Array) -> Float64Array:
    """Return logs of how much farther than twice the usual candidates go, (n, n_candidates).

    distance: (n, n_candidates, horizon), from the level; usual: (n,), where 0 nothing is unusual.
    """
    allowed = _USUAL_MOVES * np.maximum(usual, _TINY)[:, None]
    farther = np.log(np.maximum(distance.mean(axis=2), _TINY) / allowed)
    farther[usual == 0] = 0.0
    return np.asarray(np.maximum(np.nan_to_num(farther), 0.0))
