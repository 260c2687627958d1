"""Who is believed: errors of every candidate before each series' own end, and weights from them.

A panel's errors say most; a series' own distance from them is shrunk to that of series like it:
noise around a level is best forecast by other candidates than what is smooth.
"""

import numpy as np

from skinformer.classical.windows import Truths
from skinformer.selection import shrinkage, softmax
from skinformer.timeline.arrays import Float32Array, Float64Array, IntArray

_N_ORIGINS = 6  # at which a series is judged, a quarter of the horizon apart
_FEWEST_ROWS = 6  # of context at an origin, or two seasons
#: A difference of so much in the log error makes a factor e in the weight: of the panel's errors,
#: which many series tell, and of a series' own distance from them.
_PANEL_TEMPERATURE, _OWN_TEMPERATURE = 0.05, 0.08
#: Series that a panel must have to be believed by half: one series proves little by six origins
#: that overlap (random walks of 200 to 400 rows: 95 % under 1.3 of the last value's error; 2.6).
_PANEL_PRIOR = 5.0
_PRIOR = 12.0  # origins that others' errors count for beside a series' own
_RIDGE = 10.0  # of the map from a series' kind to its log errors
_MOST_RELATIVE = 5.0  # error of a forecast, so that no outlier decides
_HOPELESS = 1e3  # log error of a candidate that gets no weight
_BATCH = 1024  # series at a time
_TINY = 1e-300
_SMALL = 0.05  # units; an error below it is as good as none


def judging_offsets(length: IntArray, pred_len: int, period: int) -> IntArray:
    """Choose how many rows before its end each series is judged: (n_origins, n_series).

    The largest come first; 0 stands for none. Whole forecasts where the rows before them are
    enough, at least one; else what a series' second half holds.
    >>> judging_offsets(np.array([60, 13, 6, 3]), 8, 1).T
    array([[18, 16, 14, 12, 10,  8],
           [ 7,  5,  3,  0,  0,  0],
           [ 3,  1,  0,  0,  0,  0],
           [ 0,  0,  0,  0,  0,  0]])
    """
    step = max(1, pred_len // 4)
    whole = pred_len + step * np.arange(_N_ORIGINS)[::-1, None]
    context = max(_FEWEST_ROWS, 2 * period if period > 1 else 0)
    offsets = np.where(length - whole >= context, whole, 0)
    half = np.minimum(pred_len, length - np.maximum(3, length // 2))
    part = half - step * np.arange(_N_ORIGINS)[:, None]
    part = np.where((np.arange(_N_ORIGINS)[:, None] < _N_ORIGINS // 2) & (part > 0), part, 0)
    return np.where(offsets.any(axis=0), offsets, np.sort(part, axis=0)[::-1])


def kinds_of(past: Float64Array, length: IntArray) -> Float64Array:
    """Tell what kind of series windows are of, (n, 2): how changes follow one another, their size.

    The first is the correlation of neighbouring changes: -.5 for noise around a level, 0 for a
    random walk, 1 for a line. The second is the sum of changes over that of values. Both are 0
    where nothing changes.
    >>> kinds_of(np.array([[9.0, 3.0, 4.0, 5.0], [0.0, 2.0, 1.0, 3.0]]), np.array([3, 4])).round(2)
    array([[ 0.5 ,  0.17],
           [-0.44,  0.83]])
    """
    real = np.arange(past.shape[1]) >= past.shape[1] - length[:, None]
    values = np.where(real, past, 0)
    values /= np.maximum(np.abs(values).max(axis=1, keepdims=True), _TINY)
    change = np.diff(values, axis=1) * real[:, :-1]
    parts = (change[:, 1:] * change[:, :-1], change**2), (np.abs(change), np.abs(values))
    return np.stack([a.sum(axis=1) / np.maximum(b.sum(axis=1), _TINY) for a, b in parts], axis=1)


def _places(kinds: Float64Array, among: Float64Array) -> Float64Array:
    """Tell where each kind stands among others, -1 to 1: ranks, which no wild series moves."""
    pairs = zip(np.sort(among, axis=0).T, kinds.T, strict=True)
    twice = [np.searchsorted(a, k, "left") + np.searchsorted(a, k, "right") for a, k in pairs]
    return np.stack(twice, axis=1) / max(len(among), 1) - 1


class Ledger:
    """Sums of errors, series by series, in units of the series."""

    def __init__(self, n_series: int, n_candidates: int) -> None:
        self.errors = np.zeros((n_series, n_candidates), dtype=np.float32)
        self.typical = np.zeros(n_series)
        self.counts = np.zeros(n_series)

    def enter(
        self, series: IntArray, forecast: Float64Array, truth: Truths, unit: Float64Array
    ) -> None:
        """Add the errors of forecasts, (n, n_candidates, pred_len), at one origin of some series.

        Each series is there once; an origin counts by how much of its truth is known.
        """
        known = truth.known.sum(axis=1)
        error = np.abs(forecast - truth.values[:, None]) * truth.known[:, None]
        error = error.sum(axis=2) / (np.maximum(known, 1) * unit)[:, None] + _SMALL
        typical = np.median(error, axis=1)
        error = np.minimum(error, _MOST_RELATIVE * typical[:, None])
        count = known / truth.known.shape[1]
        self.errors[series] += error * count[:, None]
        self.typical[series] += typical * count
        self.counts[series] += count

    def log_errors(self, rows: slice) -> Float64Array:
        """Give logs of mean errors over the median candidate's, (n, n_candidates); unjudged: 0."""
        judged = self.counts[rows, None] > 0
        typical = np.where(judged, self.typical[rows, None], 1)
        return np.log(np.where(judged, self.errors[rows] / typical, 1))

    def panel(self) -> tuple[Float64Array, float]:
        """Average log errors over the series that were judged, and tell how far that is believed.

        Where nothing was judged, the errors leave the first candidate alone.
        """
        n_judged = int((self.counts > 0).sum())
        if not n_judged:
            return np.where(np.arange(self.errors.shape[1]) == 0, 0.0, _HOPELESS), 1.0
        total = self._products(np.ones((len(self.counts), 1)))[0]
        return total / n_judged, shrinkage(n_judged, _PANEL_PRIOR)

    def _products(self, x: Float64Array) -> Float64Array:
        """Multiply numbers of the series, (n_series, n), by their log errors: (n, n_candidates)."""
        batches = [slice(i, i + _BATCH) for i in range(0, len(x), _BATCH)]
        return np.asarray(sum(x[rows].T @ self.log_errors(rows) for rows in batches))

    def panel_weights(self) -> Float64Array:
        """Weigh the candidates for a series that was never seen."""
        panel, belief = self.panel()
        return np.asarray(softmax(-belief * panel[None] / _PANEL_TEMPERATURE)[0])

    def weights(self, then: Float64Array, now: Float64Array) -> Float32Array:
        """Weigh the candidates, (n_series, n_candidates).

        then, now: kinds of the series, before all that was judged and at their ends.

        An unjudged series has the panel's.
        """
        panel, belief = self.panel()
        judged = self.counts > 0
        then, now = (_places(kinds, then[judged]) * judged[:, None] for kinds in (then, now))
        like = np.linalg.solve(then.T @ then + _RIDGE * np.eye(2), self._products(then))
        out = np.empty(self.errors.shape, dtype=np.float32)
        for start in range(0, len(out), _BATCH):
            rows = slice(start, start + _BATCH)
            belief_own = shrinkage(self.counts[rows, None], _PRIOR)
            own = now[rows] @ like
            own += belief_own * (self.log_errors(rows) - panel - then[rows] @ like)
            out[rows] = softmax(-belief * panel / _PANEL_TEMPERATURE - own / _OWN_TEMPERATURE)
        return out
