"""How often classes come: at each phase of the season, and so many steps after each class."""

from dataclasses import dataclass

import numpy as np

from skinformer.tabular.features import Pairs
from skinformer.timeline.arrays import BoolArray, Float64Array, Floats, IntArray
from skinformer.timeline.clock import Clock, wall_times

#: Blocks of time, each of which is forecast by the others.
_N_BLOCKS = 6
#: Mean log loss by which a phase has to be better than one that is named before it.
_LEAST_GAIN = 0.002
_DAY = 1440  # minutes


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
        self,
        steps: IntArray,
        series: IntArray,
        clock: Clock,
        block: IntArray | int = -1,
    ) -> Float64Array:
        """Forecast steps, (n, n_classes), without the truths of a block; -1 for with all."""
        unseen = self.table.shape[1] - 1
        cells = np.minimum(phases(self.name, steps, clock), unseen)
        new_series = len(self.level) - 1
        level = self.level[np.minimum(series, new_series)]
        return _normalise(self.table[block, cells] * level)


def time_blocks(steps: IntArray) -> IntArray:
    """Cut time into blocks of equal length, and number the block of each step from 0."""
    first = int(steps.min())
    span = int(np.ptp(steps)) + 1
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
    counts = _count_without_blocks((_N_BLOCKS, n_classes), (block, truth), weight)
    overall = _normalise(counts + 1.0)
    best = ""
    best_gain = -np.inf
    tables: dict[str, Float64Array] = {}
    for name, parent in _candidates(seasons, clock):
        cells = phases(name, steps, clock)
        n_cells = int(cells.max()) + 1
        places = (block, cells, truth)
        counts = _count_without_blocks((_N_BLOCKS, n_cells, n_classes), places, weight)
        around = np.repeat(overall[:, None], n_cells, axis=1)
        if parent in tables:  # a cell of the week lies within one of the day
            wider_cells = phases(parent, steps, clock)
            around[:, cells] = tables[parent][:, wider_cells]
        gain, tables[name] = _smooth(counts, around, places, weight)
        if gain > best_gain + _LEAST_GAIN * weight.sum():
            best = name
            best_gain = gain
    table = np.concatenate([tables[best], overall[:, None]], axis=1)
    level = _levels(truth, weight, series, overall[-1], n_series)
    return Frequencies(best, table, level)


def _smooth(
    counts: Float64Array,
    around: Float64Array,
    places: tuple[IntArray, ...],
    weight: Float64Array,
) -> tuple[float, Float64Array]:
    """Return the log likelihood and the probabilities of cells, by the prior that forecasts best.

    counts, around: of cells, without each block of time, and probabilities of the cells around.
    places: block, cell and class of each truth.
    """
    priors = (
        2.0,
        8.0,
        32.0,
        128.0,
    )  # truths that the wider cell around a cell may count for
    tables = [_normalise(counts + prior * around) for prior in priors]
    gains = [float(weight @ np.log(table[places])) for table in tables]
    best = int(np.argmax(gains))
    return gains[best], tables[best]


def _count_without_blocks(
    shape: tuple[int, ...], places: tuple[IntArray, ...], weight: Float64Array
) -> Float64Array:
    """Add up weights at places, (n_blocks + 1, …): without each block, and last of all of them."""
    counts = np.zeros(shape)
    np.add.at(counts, places, weight)
    whole = counts.sum(axis=0, keepdims=True)
    return np.concatenate([whole - counts, whole])


def _normalise(table: Float64Array) -> Float64Array:
    """Divide by the sum over classes, which come last."""
    return np.asarray(table / table.sum(axis=-1, keepdims=True))


def _levels(
    truth: IntArray,
    weight: Float64Array,
    series: IntArray,
    start: Float64Array,
    n_series: int,
) -> Float64Array:
    """Return how much likelier each class is in each series than in all."""
    level = np.ones((n_series + 1, len(start)))
    if n_series == 1:
        return level
    counts = np.zeros((n_series, len(start)))
    np.add.at(counts, (series, truth), weight)
    prior = 8.0  # truths
    level[:-1] = _normalise(counts + prior * start) / start
    return level


def _candidates(seasons: tuple[int, ...], clock: Clock) -> list[tuple[str, str]]:
    """Name the phases that are tried, each with the wider one around it."""
    candidates = [("all rows", "")]
    if not clock.dated:
        return candidates + [(str(season), "") for season in seasons]
    span = np.ptp(clock.elapsed(np.array([0, 48])))
    step = float(span) / 48 / 60e6  # minutes
    if step < _DAY:
        candidates += [
            ("hour", ""),
            ("hour and weekday", "hour"),
            ("hour and weekend", "hour"),
        ]
    elif step < 7 * _DAY:
        candidates.append(("weekday", ""))
    candidates.append(("month", ""))
    if step < _DAY:
        candidates.append(("hour and month", "hour"))
    return candidates


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
    fields = {
        "hour": wall.hour * 60 + wall.minute,
        "weekday": wall.day_of_week,
        "weekend": wall.day_of_week > 4,
        "month": wall.month - 1,
    }
    first, *others = name.split(" and ")
    cells = np.asarray(fields[first], dtype=np.int64)
    for other in others:
        cells = cells + _DAY * np.asarray(fields[other], dtype=np.int64)
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
        weights = np.hstack([last, rest])
        mixture = (self.table[ahead] * weights[:, :, None]).sum(axis=1)
        return _normalise(mixture)


def fit_transitions(
    columns: Float64Array,
    weight: Float64Array,
    known: BoolArray,
    begin: IntArray,
    pred_len: int,
) -> Transitions:
    """Count classes by the class so many rows before, smoothed toward the frequency of all rows.

    That frequency counts as four truths. ``columns`` are 1 for the class that came, (n_rows,
    n_classes); ``weight`` is 0 where a truth is not to be learnt; ``begin`` is the first row of
    each row's series.
    """
    prior = 4.0  # truths
    n_classes = columns.shape[1]
    overall = _normalise((columns * weight[:, None]).sum(axis=0) + 1.0)
    table = np.empty((pred_len, n_classes + 1, n_classes))
    table[:, -1] = overall
    seen = columns * known[:, None]
    for lag in range(1, pred_len + 1):
        n_before = max(len(columns) - lag, 0)
        is_same_series = np.arange(n_before) >= begin[lag:]
        later = columns[lag:] * (weight[lag:] * is_same_series)[:, None]
        counts = (
            seen[:n_before].T @ later
        )  # by the class that was seen so many rows before
        table[lag - 1, :-1] = _normalise(counts + prior * overall)
    return Transitions(table)


def last_rows(columns: Floats, pairs: Pairs) -> Float64Array:
    """Read the row before each origin, (n, n_classes); NaN where the series has none."""
    rows = pairs.origin - 1
    read = columns[np.maximum(rows, 0)].astype(np.float64)
    inside = rows >= pairs.begin
    return np.where(inside[:, None], read, np.nan)
