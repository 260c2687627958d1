"""How often classes come: at each phase of the season, and so many steps after each class."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from skinformer.tabular.features import Pairs
from skinformer.timeline.arrays import BoolArray, Float64Array, IntArray
from skinformer.timeline.clock import Clock, wall_times

__all__ = ["Frequencies", "Transitions", "fit_frequencies", "fit_transitions", "time_blocks"]

#: Blocks of time, each of which is forecast by the others.
_N_BLOCKS = 6
#: How many truths of a cell the wider cell around it may count for.
_PRIORS = (2.0, 8.0, 32.0, 128.0)
#: The same for a transition, toward the frequency of all rows.
_DOUBT = 4.0
#: Mean log loss by which a phase has to be better than one that is named before it.
_LEAST_GAIN = 0.002
_DAY, _WEEK = 1440, 7 * 1440  # minutes


@dataclass(frozen=True)
class Frequencies:
    """
    Probabilities of classes by the phase of a season, and by series.

    Parameters
    ----------
    name : str
        Of the phase that was chosen, such as "hour and weekday".
    table : ndarray of shape (n_blocks + 1, n_cells, n_classes)
        Probabilities of each phase, without the truths of each block of time and last with all; the
        last cell is that of phases that training did not hold.
    level : ndarray of shape (n_series + 1, n_classes)
        How much likelier than in all series each class is in one; 1 for a new one.
    """

    name: str
    table: Float64Array
    level: Float64Array

    def probabilities(
        self, steps: IntArray, series: IntArray, clock: Clock, block: IntArray | int = -1
    ) -> Float64Array:
        """
        Forecast steps.

        Parameters
        ----------
        steps, series : ndarray of int64, shape (n,)
            On the clock, and whose.
        clock : Clock
            What the steps count.
        block : ndarray of int64, shape (n,), or int, default=-1
            The block of time whose truths are left out of each; -1 for none.

        Returns
        -------
        ndarray of shape (n, n_classes)
            Of sum 1.
        """
        cells = np.minimum(phases(self.name, steps, clock), self.table.shape[1] - 1)
        level = self.level[np.minimum(series, len(self.level) - 1)]
        out = self.table[block, cells] * level
        return np.asarray(out / out.sum(axis=1, keepdims=True))


def time_blocks(steps: IntArray) -> IntArray:
    """
    Cut time into blocks of equal length.

    Parameters
    ----------
    steps : ndarray of int64, shape (n,)
        Steps of all truths that are to be learnt.

    Returns
    -------
    ndarray of int64, shape (n,)
        The block of each, from 0.

    Examples
    --------
    >>> time_blocks(np.arange(12))
    array([0, 0, 1, 1, 2, 2, 3, 3, 4, 4, 5, 5])
    """
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
    """
    Count classes by the phases that tell most of them.

    Parameters
    ----------
    truth : ndarray of int64, shape (n,)
        Classes that came.
    weight : ndarray of float64, shape (n,)
        Of each; all above 0.
    steps, series : ndarray of int64, shape (n,)
        When, and whose.
    clock : Clock
        What the steps count.
    seasons : tuple of int
        Rows of those that may matter.
    n_classes, n_series : int
        Their numbers.

    Returns
    -------
    Frequencies
        Of the phase whose counts forecast best what they do not hold: each block of time by the
        others. One truth left out would leave its neighbours in, which tell it.

    Examples
    --------
    >>> from skinformer.timeline.clock import RowClock
    >>> truth = np.arange(40) % 4 // 2
    >>> rows = np.arange(40), np.zeros(40, dtype=int)
    >>> found = fit_frequencies(
    ...     truth, np.ones(40), *rows, RowClock(), (4, 7), n_classes=2, n_series=1
    ... )
    >>> found.name, found.table[-1].round(1).tolist()
    ('4', [[0.9, 0.1], [0.9, 0.1], [0.1, 0.9], [0.1, 0.9], [0.5, 0.5]])
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
    """Tell how much likelier each class is in each series than in all."""
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
    """
    Give the phases of steps their numbers.

    Parameters
    ----------
    name : str
        What of them counts: fields of the wall clock, or the rows of a season.
    steps : ndarray of int64, shape (n,)
        Steps.
    clock : Clock
        What they count.

    Returns
    -------
    ndarray of int64, shape (n,)
        From 0; "hour" is the minute of the day.
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
    numbers: IntArray = cells[place]
    return numbers


@dataclass(frozen=True)
class Transitions:
    """
    Probabilities of classes so many steps after each class.

    Parameters
    ----------
    table : ndarray of shape (pred_len, n_classes + 1, n_classes)
        By rows ahead of the origin and by the class before it; the last is for none known.
    """

    table: Float64Array

    def probabilities(self, last: Float64Array, ahead: IntArray) -> Float64Array:
        """
        Forecast steps.

        Parameters
        ----------
        last : ndarray of shape (n, n_classes)
            The row before the origin: 1 for its class, or probabilities; 0 or NaN for none known.
        ahead : ndarray of int64, shape (n,)
            Rows from the origin, from 0.

        Returns
        -------
        ndarray of shape (n, n_classes)
            Of sum 1.
        """
        last = np.nan_to_num(last)
        rest = np.maximum(1.0 - last.sum(axis=1, keepdims=True), 0.0)
        each = self.table[ahead] * np.hstack([last, rest])[:, :, None]
        out = each.sum(axis=1)
        return np.asarray(out / out.sum(axis=1, keepdims=True))


def fit_transitions(
    columns: Float64Array, weight: Float64Array, known: BoolArray, begin: IntArray, pred_len: int
) -> Transitions:
    """
    Count classes by the class so many rows before.

    Parameters
    ----------
    columns : ndarray of shape (n_rows, n_classes)
        1 for the class that came.
    weight : ndarray of float64, shape (n_rows,)
        Of each row's truth; 0 where it is not to be learnt.
    known : ndarray of bool, shape (n_rows,)
        Whether the class of a row is known.
    begin : ndarray of int64, shape (n_rows,)
        The first row of each row's series.
    pred_len : int
        Rows ahead.

    Returns
    -------
    Transitions
        Smoothed toward the frequency of all rows, and from four truths on its own.

    Examples
    --------
    >>> columns = np.eye(2)[np.arange(100) // 10 % 2]
    >>> found = fit_transitions(
    ...     columns, np.ones(100), np.ones(100, dtype=bool), np.zeros(100, dtype=int), 2
    ... )
    >>> found.table[:, 0].round(2).tolist()
    [[0.87, 0.13], [0.78, 0.22]]
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
        table[ahead, :-1] = (counts + _DOUBT * start) / (counts.sum(axis=1, keepdims=True) + _DOUBT)
    return Transitions(table)


def last_rows(columns: npt.NDArray[np.floating], pairs: Pairs) -> Float64Array:
    """
    Read the row before each origin.

    Parameters
    ----------
    columns : ndarray of shape (n_rows, n_classes)
        Of classes.
    pairs : Pairs
        Origins.

    Returns
    -------
    ndarray of shape (n, n_classes)
        NaN where the series has none.
    """
    rows = pairs.origin - 1
    read = columns[np.maximum(rows, 0)].astype(np.float64)
    return np.where((rows >= pairs.begin)[:, None], read, np.nan)
