"""Who is believed: errors of every candidate before each series' own end, and weights from them."""

import numpy as np

from skinformer.classical.windows import Truths
from skinformer.selection import shrinkage, softmax
from skinformer.timeline.arrays import Float32Array, Float64Array, IntArray

_N_ORIGINS = 6  # at which a series is judged, a quarter of the horizon apart
_FEWEST_ROWS = 6  # of context at an origin, or two seasons
#: A difference of so much in the log error makes a factor e in the weight: of the panel's errors,
#: which many series tell, and of a series' own distance from them.
_PANEL_TEMPERATURE, _OWN_TEMPERATURE = 0.05, 0.1
#: Series that a panel must have to be believed by half: one series proves little by six origins
#: that overlap (random walks of 200 to 400 rows: 95 % under 1.3 of the last value's error; 2.6).
_PANEL_PRIOR = 5.0
_PRIOR = 6.0  # origins that the panel's errors count for beside a series' own
_MOST_RELATIVE = 5.0  # error of a forecast, so that no outlier decides
_HOPELESS = 1e3  # log error of a candidate that gets no weight
_BATCH = 1024  # series at a time
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
        total = np.zeros(self.errors.shape[1])
        for start in range(0, len(self.counts), _BATCH):
            total += self.log_errors(slice(start, start + _BATCH)).sum(axis=0)
        return total / n_judged, shrinkage(n_judged, _PANEL_PRIOR)

    def panel_weights(self) -> Float64Array:
        """Weigh the candidates for a series that was never seen."""
        panel, belief = self.panel()
        return np.asarray(softmax(-belief * panel[None] / _PANEL_TEMPERATURE)[0])

    def weights(self) -> Float32Array:
        """Weigh the candidates, (n_series, n_candidates); an unjudged series has the panel's."""
        panel, belief = self.panel()
        out = np.empty(self.errors.shape, dtype=np.float32)
        for start in range(0, len(out), _BATCH):
            rows = slice(start, start + _BATCH)
            counts = self.counts[rows, None]
            own = shrinkage(counts, _PRIOR) * (self.log_errors(rows) - panel)
            out[rows] = softmax(-belief * panel / _PANEL_TEMPERATURE - own / _OWN_TEMPERATURE)
        return out
