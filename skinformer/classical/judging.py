"""
Weights of candidates, by the errors of each at rolling origins of each series.

Errors at an origin are related to those of the others there, so that a wild time decides no more
than a quiet one. What they say of a series is believed as far as the origins are many; what all
series of a panel say together, farther. A final forecast that goes farther from the recent level
than the series went behind those origins counts less: means from before a step, say. A season that
was seen once cannot be asked at an origin. It is judged by how it begins: a season ends about where
it began, and a leap back to its first step is the mark of a line, or of a walk, taken for one.
"""

from __future__ import annotations

import numpy as np

from skinformer.classical.windows import mean_of_known
from skinformer.selection import shrinkage, softmax
from skinformer.timeline.arrays import BoolArray, Float32Array, Float64Array, IntArray

#: Log of the factor by which what has a season counts more where it was never asked: a series that
#: shows a season once likely has it.
_PRIOR = 3.0
#: Origins that the error of the typical candidate counts for beside a candidate's own: one origin
#: proves little.
_TYPICAL = 0.25
#: Origins of others that count beside a series' own distance from them, at most.
_OTHERS = 12.0
#: Origins in a row that are in one part of all, beside which the other part is seen.
_IN_A_ROW = 4
#: How many times as far as the series usually went a final forecast may go.
_USUAL_MOVES = 2.0
#: Log of the factor by which a candidate that was never asked counts less at most, however far it
#: leaps.
_MOST_LEAP = 6.0
_TINY = 1e-12


def origin_distances(pred_len: int, n_series: int) -> list[int]:
    """
    Choose how many rows before its end each series is judged, the nearest first.

    Examples
    --------
    >>> origin_distances(12, 1)[:3], len(origin_distances(12, 1)), len(origin_distances(12, 5000))
    ([4, 8, 12], 24, 8)
    """
    apart = max(1, pred_len // 3)
    most_of_all_series = 10_000
    number = most_of_all_series // max(n_series, 1)
    number = min(max(number, 8), 24)
    return [apart * (i + 1) for i in range(number)]


class ErrorAccumulator:
    """
    Relative errors of candidates, added up over the origins of series.

    Parameters
    ----------
    n_series : int
        Number of series.
    names : list of str
        Names of the candidates.

    Attributes
    ----------
    part_errors : ndarray of shape (2, n_series, n_candidates)
        Sums over the origins of each of two parts, weighed by `part_counts`.
    part_counts : ndarray of shape (2, n_series, n_candidates)
        Weights of the origins of each part at which each candidate was asked.
    n_added : ndarray of shape (n_series,)
        Origins so far.
    squares : ndarray of shape (n_series,)
        Sums of squares of the weights of origins.
    typical : ndarray of shape (n_series,)
        Sums of the relative errors of the median candidate.
    total : ndarray of shape (n_series,)
        Sums of weights.
    moves : ndarray of shape (n_series,)
        Sums of how far the rows behind origins lay from the level before these.
    excess : ndarray of shape (n_series, n_candidates)
        Log of how much farther the final forecast goes than is usual; 0 where it does not.
    leaps : ndarray of shape (n_series, n_candidates)
        Log of the factor by which the first step of the final forecast speaks against it; 0 where
        a candidate was asked at an origin.
    seasonal, safe : ndarray of shape (n_candidates,)
        Which candidates know a season, but for ridges; and which forecast where none was judged.
    """

    def __init__(self, n_series: int, names: list[str]) -> None:
        shape = n_series, len(names)
        self.part_errors = np.zeros((2, *shape))
        self.part_counts = np.zeros((2, *shape))
        self.n_added = np.zeros(n_series, dtype=np.int64)
        self.excess = np.zeros(shape)
        self.leaps = np.zeros(shape)
        self.squares = np.zeros(n_series)
        self.typical = np.zeros(n_series)
        self.total = np.zeros(n_series)
        self.moves = np.zeros(n_series)
        plain = "last", "recent mean", "recent median"
        seasonal = ["season" in name and "ridge" not in name for name in names]
        safe = [name in plain or name.startswith("season ") for name in names]
        self.seasonal = np.array(seasonal)
        self.safe = np.array(safe)

    def add(
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
        error = _mean_absolute_errors(forecast, truth)
        median_error = np.nanmedian(error, axis=1)
        # The mean of the best and the median candidate's.
        unit = np.maximum((np.nanmin(error, axis=1) + median_error) / 2, 1e-300)
        # An origin weighs as the root of the steps that are known.
        share_known = (~np.isnan(truth)).mean(axis=1)
        weight = np.sqrt(share_known) * (median_error > 0)
        weight_column = weight[:, None]
        relative = weight_column * error / unit[:, None]
        part = self.n_added[series] // _IN_A_ROW % 2
        self.part_errors[part, series] += np.nan_to_num(relative)
        self.part_counts[part, series] += weight_column * ~np.isnan(error)
        self.n_added[series] += 1
        self.typical[series] += weight * median_error / unit
        self.squares[series] += weight**2
        self.total[series] += weight
        self.moves[series] += weight * mean_of_known(np.abs(truth - level[:, None]))

    def compare_final(
        self,
        series: IntArray,
        forecast: Float64Array,
        level: Float64Array,
        leaps: Float64Array,
    ) -> None:
        """
        Compare how far final forecasts of some series go with how far these usually went.

        Parameters
        ----------
        series : ndarray of shape (n,)
            Their numbers; each was added at an origin.
        forecast : ndarray of shape (n, n_candidates, horizon)
            NaN where a candidate was not able to forecast.
        level : ndarray of shape (n,)
            The level of the last rows.
        leaps : ndarray of shape (n, n_candidates)
            How far their first steps leap, see `Past.leaps_to`.
        """
        distance = np.abs(forecast - level[:, None, None])
        usual_move = self.moves[series] / np.maximum(self.total[series], _TINY)
        self.excess[series] = _log_excess(distance, usual_move)
        never_asked = self.part_counts[:, series].sum(axis=0) == 0
        # As changes of that size are rarer, if changes are normal.
        loss = np.minimum(leaps**2 / 2, _MOST_LEAP)
        self.leaps[series] = np.where(never_asked, loss, 0.0)

    @property
    def errors(self) -> Float64Array:
        """Sums over all origins, weighed by `counts`, (n_series, n_candidates)."""
        return self.part_errors.sum(axis=0)

    @property
    def counts(self) -> Float64Array:
        """Weights of the origins at which each candidate was asked, (n_series, n_candidates)."""
        return self.part_counts.sum(axis=0)

    @property
    def n_origins(self) -> Float64Array:
        """How many origins of one weight the origins of each series amount to, (n_series,)."""
        return self.total**2 / np.maximum(self.squares, _TINY)

    def log_errors(self) -> Float64Array:
        """Return logs of mean relative errors, (n_series, n_candidates); NaN if never asked."""
        return self._logs_of(self.errors, self.counts)

    def _logs_of(self, errors: Float64Array, counts: Float64Array) -> Float64Array:
        typical = self.typical / np.maximum(self.total, _TINY)
        total = errors + _TYPICAL * typical[:, None]
        mean = total / (counts + _TYPICAL)
        logs = np.log(mean + 1e-6)
        return np.where(counts > 0, logs, np.nan)

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
        panel = mean_of_known(logs.T)
        panel_scores = self._panel_scores(panel)

        n_origins = self.n_origins[:, None]
        power = _power(n_origins)
        own = np.nan_to_num(logs - panel)
        own *= shrinkage(n_origins, self.origins_of_others())
        # Where other origins speak for a candidate its final forecast is one origin more.
        n_asked = n_origins * ~np.isnan(logs)
        excess = self.excess / (1 + n_asked)
        scores = panel_scores - power * (own + excess) - self.leaps
        weights = softmax(scores).astype(np.float32)
        panel_weights = softmax(panel_scores).astype(np.float32)
        return weights, panel_weights

    def origins_of_others(self) -> float:
        """
        Return how many origins of others count beside a series' own distance from them.

        What series' own errors say at some origins is found again at other ones where series differ
        and time changes little. The fewer origins of others count then, as by Spearman and Brown.

        Returns
        -------
        float
            12 at most; where few series are compared it is nearer to that.
        """
        fewest = 1.0
        typical_panel = 30.0  # series that count for 12 origins
        first, second = map(self._logs_of, self.part_errors, self.part_counts)
        both = np.isfinite(first) & np.isfinite(second)
        one = _own_distances(first, both)
        other = _own_distances(second, both)
        product = (one * other).sum()
        size = np.sqrt((one**2).sum() * (other**2).sum())
        if product <= 0:
            return _OTHERS
        # The correlation of two parts, and of all origins with as many others.
        alike = product / size
        reliability = 2 * alike / (1 + alike)
        compared = both.any(axis=1)
        n_origins = self.n_origins[compared].mean()
        found = n_origins * (1 - reliability) / reliability
        share = shrinkage(compared.sum(), typical_panel)
        ratio = np.clip(found, fewest, _OTHERS) / _OTHERS
        return float(_OTHERS * ratio**share)

    def _panel_scores(self, panel: Float64Array) -> Float64Array:
        """Score candidates by their log errors on all series, NaN where never asked."""
        judged = self.total > 0
        if not judged.any():
            hopeless = -1e3
            return np.where(self.safe, _PRIOR * self.seasonal, hopeless)
        never_asked = np.isnan(panel)
        median = np.nanmedian(panel)
        # What is there for one season only cannot be asked: between the best and the median.
        good = (np.nanmin(panel) + median) / 2
        expected = np.where(self.seasonal, good, median)
        panel = np.where(never_asked, expected, panel)
        power = _power(self.n_origins[judged].mean())
        return _PRIOR * (self.seasonal & never_asked) - power * panel


def _own_distances(logs: Float64Array, known: BoolArray) -> Float64Array:
    """Return how far series' log errors lie from the panel's, beside those of all candidates.

    logs: (n_series, n_candidates); where they are not known there is no distance.
    """
    logs = np.where(known, logs, np.nan)
    distance = logs - mean_of_known(logs.T)
    distance -= mean_of_known(distance)[:, None]
    return np.nan_to_num(distance)


def _power(n_origins: Float64Array) -> Float64Array:
    """Compute the power of errors: that of one origin, times the root of their number."""
    most_origins = 6.0
    return 4.0 * np.sqrt(np.minimum(n_origins, most_origins))


def _mean_absolute_errors(forecast: Float64Array, truth: Float64Array) -> Float64Array:
    """Average errors over known steps, (n, n_candidates); NaN where there is no forecast."""
    truth = truth[:, None]
    distance = np.abs(forecast - truth)
    return distance.mean(axis=2, where=~np.isnan(truth))


def _log_excess(distance: Float64Array, usual: Float64Array) -> Float64Array:
    """Return logs of how much farther than twice the usual candidates go, (n, n_candidates).

    distance: (n, n_candidates, horizon), from the level; usual: (n,), where 0 nothing is unusual.
    """
    allowed = _USUAL_MOVES * np.maximum(usual, _TINY)
    mean = np.maximum(distance.mean(axis=2), _TINY)
    farther = np.log(mean / allowed[:, None])
    farther[usual == 0] = 0.0
    return np.fmax(farther, 0.0)
