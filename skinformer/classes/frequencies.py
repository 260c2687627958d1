"""How often classes come: at each phase of the season, and so many steps after each class."""

from dataclasses import dataclass

import numpy as np

from skinformer.classes.truths import N_BLOCKS, Truths
from skinformer.tabular.features import Pairs
from skinformer.timeline.arrays import Float64Array, Floats, IntArray
from skinformer.timeline.calendar import calendar_values
from skinformer.timeline.clock import Clock, wall_times
from skinformer.timeline.seasons import step_days


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
        cells = phases(self.name, steps, clock)
        cells = np.minimum(cells, unseen)
        new_series = len(self.level) - 1
        level = self.level[np.minimum(series, new_series)]
        return _normalise(self.table[block, cells] * level)


def fit_frequencies(truths: Truths, seasons: tuple[int, ...]) -> Frequencies:
    """Count classes by the phase whose counts forecast best what they do not hold.

    Each block of time is forecast by the others: one truth left out would leave its neighbours in,
    which are much like it. ``seasons`` are the rows of those that may matter.
    """
    clock = truths.timeline.clock
    steps = truths.steps
    # 1. Probabilities without phases.
    overall = _normalise(_count_without_blocks(truths, np.zeros_like(steps)) + 1.0)
    # 2. Probabilities of each kind of phase, from the widest on; one has to be clearly better.
    tables = {"": overall}
    best = ""
    highest = -np.inf
    for name in _candidates(seasons, clock):
        cells = phases(name, steps, clock)
        wider = name.rpartition(" and ")[0]
        prior = np.repeat(overall, cells.max() + 1, axis=1)
        prior[:, cells] = tables[wider][:, phases(wider, steps, clock)]
        gain, tables[name] = _fit_cells(truths, cells, prior)
        if gain > highest + 0.002 * truths.weight.sum():
            best = name
            highest = gain
    # 3. Probabilities of phases that were never seen, and levels.
    table = np.concatenate([tables[best], overall], axis=1)
    return Frequencies(best, table, _fit_levels(truths, overall[-1]))


def _fit_cells(
    truths: Truths, cells: IntArray, prior: Float64Array
) -> tuple[float, Float64Array]:
    """Fit probabilities of cells, and return their log likelihood as well.

    prior: probabilities of the wider cell around each, (n_blocks + 1, n_cells, n_classes), which
    count for as many truths as forecast best.
    """
    places = truths.blocks, cells, truths.number
    counts = _count_without_blocks(truths, cells)
    tables = []
    gains = []
    for n_truths in (2.0, 8.0, 32.0, 128.0):
        table = _normalise(counts + n_truths * prior)
        log_likelihood = np.log(table[places])
        tables.append(table)
        gains.append(float(truths.weight @ log_likelihood))
    best = int(np.argmax(gains))
    return gains[best], tables[best]


def _count_without_blocks(truths: Truths, cells: IntArray) -> Float64Array:
    """Add up weights of cells and classes, (n_blocks + 1, n_cells, n_classes).

    Without each block, and last of all of them.
    """
    shape = (N_BLOCKS, cells.max() + 1, truths.n_classes)
    counts = np.zeros(shape)
    places = truths.blocks, cells, truths.number
    np.add.at(counts, places, truths.weight)
    whole = counts.sum(axis=0, keepdims=True)
    return np.concatenate([whole - counts, whole])


def _normalise(table: Float64Array) -> Float64Array:
    """Divide by the sum over classes, which come last."""
    return table / table.sum(axis=-1, keepdims=True)


def _fit_levels(truths: Truths, overall: Float64Array) -> Float64Array:
    """Return how much likelier each class is in each series than in all."""
    n_series = truths.timeline.n_series
    level = np.ones((n_series + 1, truths.n_classes))
    if n_series > 1:
        counts = np.zeros((n_series, truths.n_classes))
        places = truths.series, truths.number
        np.add.at(counts, places, truths.weight)
        n_prior = 8.0  # truths
        own = _normalise(counts + n_prior * overall)
        level[:-1] = own / overall
    return level


def _candidates(seasons: tuple[int, ...], clock: Clock) -> list[str]:
    """Name the phases that are tried; those of "hour and weekday" lie within those of "hour"."""
    if not clock.dated:
        return ["all rows", *map(str, seasons)]
    step = step_days(clock)
    if step >= 7:
        return ["all rows", "month"]
    if step >= 1:
        return ["all rows", "weekday", "month"]
    return [
        "all rows",
        "hour",
        "hour and weekday",
        "hour and weekend",
        "month",
        "hour and month",
    ]


def phases(name: str, steps: IntArray, clock: Clock) -> IntArray:
    """Count phases of steps from 0: cells of calendar fields, or rows of a season.

    ``name`` says which; its "hour" is the minute of the day, and "" is all rows.
    """
    if name in ("", "all rows"):
        return np.zeros_like(steps)
    if not clock.dated:
        return steps % int(name)
    fields = name.replace("hour", "minute of day").split(" and ")
    # A period has the month of its first day.
    values = calendar_values(wall_times(clock.labels(steps)), fields)
    # The minutes of a day come first.
    return values @ 1440 ** np.arange(len(fields))


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
        known = last.sum(axis=1, keepdims=True)
        unknown = np.maximum(1.0 - known, 0.0)
        weights = np.hstack([last, unknown])
        mixture = np.einsum("nl,nlc->nc", weights, self.table[ahead])
        return _normalise(mixture)


def fit_transitions(truths: Truths, pred_len: int) -> Transitions:
    """Count classes by the class so many rows before, smoothed toward the frequency of all rows."""
    n_prior = 4.0  # truths that the frequency of all rows counts for
    n_classes = truths.n_classes
    number = truths.number
    begin = truths.begin[truths.series]
    overall = np.ones(n_classes)
    np.add.at(overall, number, truths.weight)
    overall = _normalise(overall)
    # The last row is for no known class.
    counts = np.zeros((pred_len, n_classes + 1, n_classes))
    for ahead in range(pred_len):
        before = truths.rows - ahead - 1
        class_before = np.where(before >= begin, truths.classes[before], -1)
        places = class_before, number
        np.add.at(counts[ahead], places, truths.weight)
    counts[:, -1] = 0.0
    return Transitions(_normalise(counts + n_prior * overall))


def last_rows(columns: Floats, pairs: Pairs) -> Float64Array:
    """Read the row before each origin, (n, n_classes); NaN where the series has none."""
    rows = pairs.origin - 1
    read = columns[np.maximum(rows, 0)].astype(np.float64)
    read[rows < pairs.begin] = np.nan
    return read
