"""Fit the classical forecasters of a panel: candidates that are judged by each series' own end."""

from collections.abc import Iterator
from dataclasses import dataclass, field

import numpy as np

from skinformer.classical.candidates import bounded, candidate_names, forecast_candidates
from skinformer.classical.judging import Ledger, judging_offsets, kinds_of
from skinformer.classical.ridges import SharedRidges, fit_ridges, ridge_names
from skinformer.classical.windows import futures, padded, pasts, unit_of
from skinformer.timeline.arrays import BoolArray, Float32Array, Float64Array, IntArray

_BATCH = 256  # windows at a time: the states of all candidates then stay in the cache …
_BATCH_VALUES = 4_000_000  # … and fewer where forecasts are long


@dataclass(frozen=True)
class ClassicalFit:
    """Candidates and how much each counts for each series.

    period: rows of a season, 1 for none.
    ridges: the candidates that learn from the panel's windows.
    weights: (n_series, n_candidates), rows of sum 1.
    panel_weights: (n_candidates,), those of a series that the fit did not hold.
    never_negative: (n_series,), whether no row of the series lies below zero; then no forecast
    does.
    of_mean: whether means are forecast; else medians.
    """

    seq_len: int
    pred_len: int
    period: int
    ridges: SharedRidges = field(repr=False)
    weights: Float32Array = field(repr=False)
    panel_weights: Float32Array = field(repr=False)
    never_negative: BoolArray = field(repr=False)
    of_mean: bool

    @property
    def names(self) -> list[str]:
        """Names of the candidates."""
        return _names(self.seq_len, self.period, of_mean=self.of_mean)

    def forecast(self, past: Float64Array, length: IntArray, series: IntArray) -> Float64Array:
        """Forecast windows by the weighted candidates of their series: (n, pred_len).

        What stands in front of the real rows, at least one, does not matter. Series -1 is one that
        the fit did not hold. Memory: that of 256 windows or fewer at a time.
        """
        past, length = padded(past, length), np.asarray(length)
        out = np.empty((len(past), self.pred_len))
        known = series >= 0
        place = np.where(known, series, 0)
        never = np.where(known, self.never_negative[place], self.never_negative.all())
        floor = never & (past.min(axis=1) >= 0)  # later rows may be below zero
        for rows, forecast in _forecasts(past, length, floor, self.ridges, of_mean=self.of_mean):
            weights = np.where(known[rows, None], self.weights[place[rows]], self.panel_weights)
            out[rows] = np.einsum("nch,nc->nh", forecast, weights)
        return out


def fit_classical(
    values: Float64Array,
    first_row: IntArray,
    *,
    seq_len: int,
    pred_len: int,
    period: int,
    of_mean: bool,
) -> ClassicalFit:
    """Let classical forecasters and shared ridges forecast each series' own end, and weigh them.

    values: rows of all series, series after series, without NaN.
    first_row: (n_series + 1,); series i holds rows ``first_row[i]`` … ``first_row[i + 1] - 1``.
    seq_len: longest look-back; a shorter series is forecast from what it has.
    period: rows of a season, 1 for none; `find_period` tells it from the data.
    of_mean: whether forecasts are to be means; else medians. Both are judged by absolute errors:
    squared ones chose no better among means.

    Cost: seven forecasts of every series by every candidate, and seven fits of ridges on at most
    8192 windows each. Memory: one number per series and candidate.
    """
    values = np.append(values, 0.0)  # the last series may hold no row
    begin, end = first_row[:-1], first_row[1:]
    period = period if 2 * period <= seq_len else 1
    sizes = {"seq_len": seq_len, "pred_len": pred_len, "period": period}
    floor = np.minimum.reduceat(values, begin) >= 0
    n_candidates = len(_names(seq_len, period, of_mean=of_mean))
    ledger = Ledger(len(begin), n_candidates)
    offsets = judging_offsets(end - begin, pred_len, period)
    for offset in offsets:
        judged = np.flatnonzero(offset)
        if len(judged):
            origin = end - offset
            ridges = fit_ridges(values, begin, origin, **sizes, of_mean=of_mean)
            past, length = pasts(values, begin[judged], origin[judged], seq_len)
            each = _forecasts(past, length, floor[judged], ridges, of_mean=of_mean)
            for rows, forecast in each:
                series = judged[rows]
                truth = futures(values, origin[series], end[series], pred_len)
                unit = unit_of(past[rows], length[rows], period)
                ledger.enter(series, forecast, truth, unit)
    ends = end - offsets.max(axis=0), end
    kinds = [_kinds(values, begin, origin, seq_len) for origin in ends]
    return ClassicalFit(
        **sizes,
        ridges=fit_ridges(values, begin, end, **sizes, of_mean=of_mean),
        weights=ledger.weights(*kinds),
        panel_weights=ledger.panel_weights().astype(np.float32),
        never_negative=floor,
        of_mean=of_mean,
    )


def _kinds(values: Float64Array, begin: IntArray, end: IntArray, seq_len: int) -> Float64Array:
    """Tell the kinds of series by the rows before an end, of so many at a time."""
    parts = (slice(i, i + _BATCH) for i in range(0, len(begin), _BATCH))
    each = [kinds_of(*pasts(values, begin[part], end[part], seq_len)) for part in parts]
    return np.concatenate(each)


def _names(seq_len: int, period: int, *, of_mean: bool) -> list[str]:
    plain = candidate_names(period, of_mean=of_mean)
    return [*plain, *(f"log {name}" for name in plain), *ridge_names(seq_len, period)]


def _forecasts(
    past: Float64Array, length: IntArray, floor: BoolArray, ridges: SharedRidges, *, of_mean: bool
) -> Iterator[tuple[IntArray, Float64Array]]:
    """Give numbers of windows, and what every candidate forecasts for them, batch by batch."""
    order = np.argsort(-length, kind="stable")
    # What forecasts where no ridge can.
    name = "theta 0.5" if ridges.period == 1 else "adjusted theta 0.5"
    fallback = candidate_names(ridges.period, of_mean=of_mean).index(name)
    n_values = len(_names(ridges.seq_len, ridges.period, of_mean=of_mean)) * ridges.pred_len
    size = min(_BATCH, max(1, _BATCH_VALUES // n_values))
    for start in range(0, len(order), size):
        rows = order[start : start + size]
        x, n = past[rows], length[rows]
        classical = forecast_candidates(x, n, ridges.pred_len, ridges.period, of_mean=of_mean)
        learnt = bounded(ridges.forecast(x, n, classical[:, fallback]), x, n)
        everything = np.concatenate([classical, learnt], axis=1)
        lowest = np.where(floor[rows], 0, -np.inf)[:, None, None]
        yield rows, np.maximum(everything, lowest, out=everything)
