"""How often classes come: at each phase of the season, and so many steps after each class."""

from dataclasses import dataclass

import numpy as np

from skinformer.tabular.features import Pairs
from skinformer.timeline.arrays import BoolArray, Float64Array, Floats, IntArray
from skinformer.timeline.clock import Clock, wall_times

#: Blocks of time, each of which is forecast by the others.
_N_BLOCKS = 6
#: How many truths of a cell the wider cell around it may count for.
_PRIORS = (2.0, 8.0, 32.0, 128.0)
#: The same for a transition, toward the frequency of all rows.
_PRIOR = 4.0
#: Mean log loss by which a phase has to be better than one that is named before it.
_LEAST_GAIN = 0.002
_DAY, _WEEK = 1440, 7 * 1440  # minutes


@dataclass(frozen=True)
class Frequencies:
    """Probabilities of classes by the phase of a season, and by series.

    name: of the phase that was chosen, such as "hour and weekday".
    table: probabilities of each phase, (n_blocks + 1, n_cells, n_classes), without the truths of
    each block of time and last with all; the last cell is that of phases that training did not
    hold.
    level: how much likelier than in all series each class is in one, (n_series + 1, n_classes); 1
    for a new one.
    """

    name: str
    table: Float64Array
    level: Float64Array

    def probabilities(
        self, steps: IntArray, series: IntArray, clock: Clock, block: IntArray | int = -1
    ) -> Float64Array:
        """Forecast steps, (n, n_classes), without the truths of a block; -1 for with all."""
        cells = np.minimum(phases(self.name, steps, clock), self.table.shape[1] - 1)
        level = self.level[np.minimum(series, len(self.level) - 1)]
        out = self.table[block, cells] * level
        return np.asarray(out / out.sum(axis=1, keepdims=True))


def time_blocks(steps: IntArray) -> IntArray:
    """Cut time into blocks of equal length, and number the block of each step from 0."""
    first, span = int(steps.min()), int(np.ptp(steps)) + 1
    return np.asarray((steps - first) * _N_BLOCKS // span)


def fit_frequencies(
    truth: IntArray,
    weight: Float64Array,
    steps: IntArray,
    series: IntArray,
    clock: Clock,
    seasons: tuple[int, ...],
    *,
    n_classes: int,
    n_series: int,
) -> Frequencies:
    """Count classes by the phase whose counts forecast best what they do not hold.

    Each block of time is forecast by the others: one truth left out would leave its neighbours in,
    which tell it. ``weight`` is above 0; ``seasons`` are the rows of those that may matter.
    """
    block = time_blocks(steps)
    each = np.zeros((_N_BLOCKS, n_classes))
    np.add.at(each, (block, truth), weight)
    start = _without_each(each) + 1.0
    start /= start.sum(axis=1, keepdims=True)
    best, found = -np.inf, ("", start[:, None])
    parents: dict[str, Float64Array] = {}
    for name, parent in _candidates(seasons, clock):
        cells = phases(name, steps, clock)
        counts = np.zeros((_N_BLOCKS, int(cells.max()) + 1, n_classes))
        np.add.at(counts, (block, cells, truth), weight)
        counts = _without_each(counts)
        around = np.repeat(start[:, None], counts.shape[1], axis=1)
        if parent in parents:  # a cell of the week lies within one of the day
            around[:, cells] = parents[parent][:, phases(parent, steps, clock)]
        own = -np.inf
        for prior in _PRIORS:
            table = counts + prior * around
            table /= table.sum(axis=2, keepdims=True)
            gain = float(weight @ np.log(table[block, cells, truth]))
            if gain > own:
                own, parents[name] = gain, table
        if own > best + _LEAST_GAIN * weight.sum():
            best = own
            found = name, np.concatenate([parents[name], start[:, None]], axis=1)
    return Frequencies(*found, _levels(truth, weight, series, start[-1], n_series))


def _without_each(counts: Float64Array) -> Float64Array:
    """Sum over blocks, (n_blocks + 1, …): without each of them, and last all of them."""
    whole = counts.sum(axis=0, keepdims=True)
    return np.concatenate([whole - counts, whole])


def _levels(
    truth: IntArray, weight: Float64Array, series: IntArray, start: Float64Array, n_series: int
) -> Float64Array:
    """Return how much likelier each class is in each series than in all."""
    level = np.ones((n_series + 1, len(start)))
    if n_series > 1:
        counts = np.zeros((n_series, len(start)))
        np.add.at(counts, (series, truth), weight)
        prior = _PRIORS[1]
        share = (counts + prior * start) / (counts.sum(axis=1, keepdims=True) + prior)
        level[:-1] = share / start
    return level


def _candidates(seasons: tuple[int, ...], clock: Clock) -> list[tuple[str, str]]:
    """Name the phases that are tried, each with the wider one around it."""
    everything = ("all rows", "")
    if not clock.dated:
        return [everything, *((str(season), "") for season in seasons)]
    step = float(np.ptp(clock.elapsed(np.array([0, 48])))) / 48 / 60e6  # minutes
    out = [everything]
    if step < _DAY:
        out += [("hour", ""), ("hour and weekday", "hour"), ("hour and weekend", "hour")]
    elif step < _WEEK:
        out.append(("weekday", ""))
    out += [("month", ""), ("hour and month", "hour")] if step < _DAY else [("month", "")]
    return out


def phases(name: str, steps: IntArray, clock: Clock) -> IntArray:
    """Count phases of steps from 0: cells of fields of the wall clock, or rows of a season.

    ``name`` says which; its "hour" is the minute of the day.
    """
    if name in ("", "all rows"):
        return np.zeros(len(steps), dtype=np.int64)
    if not clock.dated:
        return np.asarray(steps % int(name))
    distinct, place = np.unique(steps, return_inverse=True)
    wall = wall_times(clock.labels(distinct))
    minute = np.asarray(wall.hour * 60 + wall.minute, dtype=np.int64)
    day, month = (np.asarray(f, dtype=np.int64) for f in (wall.day_of_week, wall.month - 1))
    cells = {
        "hour": minute,
        "weekday": day,
        "month": month,
        "hour and weekday": day * _DAY + minute,
        "hour and weekend": (day > 4) * _DAY + minute,
        "hour and month": month * _DAY + minute,
    }[name]
    return cells[place]


@dataclass(frozen=True)
class Transitions:
    """Probabilities of classes by steps ahead and last class, (pred_len, n_classes + 1, n_classes).

    The last but one axis ends with the row for no known class.
    """

    table: Float64Array

    def probabilities(self, last: Float64Array, ahead: IntArray) -> Float64Array:
        """Forecast steps ``ahead`` (from 0) of the last row: (n, n_classes), of sum 1.

        last: the row before the origin, (n, n_classes): 1 for its class, or probabilities; 0 or NaN
        for none known.
        """
        last = np.nan_to_num(last)
        rest = np.maximum(1.0 - last.sum(axis=1, keepdims=True), 0.0)
        each = self.table[ahead] * np.hstack([last, rest])[:, :, None]
        out = each.sum(axis=1)
        return np.asarray(out / out.sum(axis=1, keepdims=True))


def fit_transitions(
    columns: Float64Array, weight: Float64Array, known: BoolArray, begin: IntArray, pred_len: int
) -> Transitions:
    """Count classes by the class so many rows before, smoothed toward the frequency of all rows.

    That frequency counts as four truths. ``columns`` are 1 for the class that came, (n_rows,
    n_classes); ``weight`` is 0 where a truth is not to be learnt; ``begin`` is the first row of
    each row's series.
    """
    n_rows, n_classes = columns.shape
    whole = (columns * weight[:, None]).sum(axis=0)
    start = (whole + 1.0) / (whole.sum() + n_classes)
    table = np.empty((pred_len, n_classes + 1, n_classes))
    table[:, -1] = start
    seen = columns * known[:, None]
    rows = np.arange(n_rows)
    for ahead in range(pred_len):
        lag = ahead + 1
        late = rows[lag:]
        inside = weight[late] * (late - lag >= begin[late])
        counts = seen[: max(n_rows - lag, 0)].T @ (columns[lag:] * inside[:, None])
        table[ahead, :-1] = (counts + _PRIOR * start) / (counts.sum(axis=1, keepdims=True) + _PRIOR)
    return Transitions(table)


def last_rows(columns: Floats, pairs: Pairs) -> Float64Array:
    """Read the row before each origin, (n, n_classes); NaN where the series has none."""
    rows = pairs.origin - 1
    read = columns[np.maximum(rows, 0)].astype(np.float64)
    return np.where((rows >= pairs.begin)[:, None], read, np.nan)
