"""The index: labels of time and of series, and the clock that counts them."""

from __future__ import annotations

from numbers import Integral
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd

from skinformer.timeline.clock import OFF_GRID, Clock, clock_for, infer_step, is_dated, wall_times

__all__ = [
    "check_distinct",
    "check_on_grid",
    "check_order",
    "check_same_index",
    "dated_labels",
    "find_series",
    "make_clock",
    "number_series",
    "time_labels",
]

Rows = npt.NDArray[np.int64]


def time_labels(index: pd.Index, name: str = "X") -> tuple[pd.Index, pd.Index | None]:
    """
    Split an index into labels of time and of series, and check their types.

    Parameters
    ----------
    index : Index of shape (n,)
        The rows' labels; two levels mean (series, time).
    name : str
        What the messages call its owner.

    Returns
    -------
    tuple of Index
        Time labels; series labels or None.
    """
    series = None
    if isinstance(index, pd.MultiIndex):
        if index.nlevels != 2:
            raise TypeError(
                f"{name}.index has {index.nlevels} levels: two are needed, (series, time). Join "
                "the levels that name a series into one."
            )
        series, index = index.get_level_values(0), index.get_level_values(1)
        if is_dated(series) and not is_dated(index):
            raise TypeError(
                f"{name}.index has the levels (time, series), but (series, time) are needed: call "
                f"{name}.swaplevel().sort_index()."
            )
    if not is_dated(index) and not pd.api.types.is_integer_dtype(index.dtype):
        raise TypeError(
            f"{name}.index holds {index.dtype} labels, which have no order in time: "
            f"{_make_times(index.dtype, name, panel=series is not None)}."
        )
    if index.hasnans:
        raise ValueError(f"{name}.index holds NaT: every row needs its time. Drop those rows.")
    return index, series


def _make_times(dtype: Any, name: str, *, panel: bool) -> str:
    """Say how labels of a dtype become times or numbers."""
    index, number = f"{name}.index", f"{name}.reset_index(drop=True)"
    labels, put = index, f"{index} = {{}}"
    if panel:
        labels, put = f"{index}.levels[1]", f"{index} = {index}.set_levels({{}}, level=1)"
        number = f"{name}.assign(step={name}.groupby(level=0).cumcount())"
        number += ".set_index('step', append=True).droplevel(1)"
    if pd.api.types.is_bool_dtype(dtype):
        return f"number the rows, {number}"
    if pd.api.types.is_timedelta64_dtype(dtype):
        made = put.format(f"pd.Timestamp('2000-01-01') + {labels}")
        return f"add the moment that they count from, {made}"
    if pd.api.types.is_numeric_dtype(dtype):
        made = put.format(f"{labels}.astype(int)")
        return f"make them whole numbers, {made}, or number the rows, {number}"
    made = put.format(f"pd.to_datetime({labels})")
    return f"convert them, {made}, or number the rows, {number}"


def check_same_index(X: Any, y: Any) -> None:
    """Raise if X and y are labelled differently."""
    labelled = isinstance(X, pd.DataFrame | pd.Series) and isinstance(y, pd.DataFrame | pd.Series)
    if labelled and not X.index.equals(y.index):
        raise ValueError(
            "X and y have different indexes: rows belong together by their labels. Pass "
            "y.loc[X.index]."
        )


def check_distinct(time: pd.Index, series: pd.Index | None) -> None:
    """Raise if two rows of a series carry the same label."""
    rows = time if series is None else pd.MultiIndex.from_arrays([series, time])
    if rows.is_unique:
        return
    again = rows.duplicated()
    raise ValueError(
        f"X.index holds {int(again.sum())} duplicated timestamps, the first {rows[again][0]}: "
        "keep one row a step, X[~X.index.duplicated()], or label several series by a MultiIndex "
        "(series, time). Naive local time repeats an hour in autumn: "
        "X.index.tz_localize(zone, ambiguous='infer')."
    )


def check_order(time: pd.Index, series: Rows) -> None:
    """Raise if the rows of a series, brought together, go back in time."""
    forward = np.asarray(time[1:] > time[:-1]) | (np.diff(series) != 0)
    if not forward.all():
        raise ValueError(
            "X.index is not in time order: call X.sort_index() before fit; in cross-validation "
            "use TimeSeriesSplit, which keeps the order."
        )


def make_clock(
    time: pd.Index, series: Rows, freq: Any, *, names: pd.Index | None
) -> tuple[Clock, Rows]:
    """
    Make the clock of training rows and count their steps.

    Parameters
    ----------
    time : Index of shape (n,)
        Labels, in time order within each series.
    series : ndarray of int64, shape (n,)
        The series of each row, ascending.
    freq : str, offset, Timedelta, int or None
        The step if the user named it.
    names : Index of shape (n_series,) or None
        Names of the series of a panel.

    Returns
    -------
    tuple of Clock and ndarray of int64, shape (n,)
        The clock, whose origin is the earliest label, and the step of each row.
    """
    longest = slice(None)
    if len(series) and series[-1]:
        longest = slice(*np.searchsorted(series, np.bincount(series).argmax() + np.arange(2)))
    _check_freq(time, freq)
    step = infer_step(time[longest], freq)
    panel = names is not None
    if step is None:
        _raise_irregular(time[longest], panel=panel)
    clock = clock_for(time[longest], step).starting_at(time.min())
    steps = clock.steps(time)
    if (steps == OFF_GRID).any():
        off = time[steps == OFF_GRID][0]
        _raise_irregular(time[longest], off=off, step=clock.step_name, panel=panel)
    holes = np.flatnonzero((np.diff(steps) != 1) & (np.diff(series) == 0))
    if len(holes):
        missing = int((np.diff(steps)[holes] - 1).sum())
        first = clock.labels(steps[holes[:1]] + 1)[0]
        where = "X.index" if names is None else f"X.index (series {names[series[holes[0]]]!r})"
        raise ValueError(
            f"{where} lacks {missing} timestamps, the first {first}: "
            f"{_fill_holes(time, clock, panel=panel)} adds them with NaN, which the target may "
            "hold; fill the other columns. In cross-validation use TimeSeriesSplit, whose folds "
            f"have no holes.{_working_days(time, clock, freq)}"
        )
    return clock, steps


def _fill_holes(time: pd.Index, clock: Clock, *, panel: bool) -> str:
    """Write the call that adds the missing rows of a frame."""
    rows = "x.droplevel(0)" if panel else "X"
    first, last = ("x.index[0][1]", "x.index[-1][1]") if panel else ("X.index[0]", "X.index[-1]")
    if isinstance(time, pd.PeriodIndex):
        call = f"{rows}.reindex(pd.period_range({first}, {last}, freq={time.freqstr!r}))"
    elif is_dated(time):
        call = f"{rows}.asfreq({clock.step_name!r})"
    else:
        every = "" if clock.freq == 1 else f", {clock.freq}"
        stop = f"{last} + 1"
        if not panel:
            first, stop = str(time[0]), str(time[-1] + 1)
        call = f"{rows}.reindex(range({first}, {stop}{every}))"
    return f"X.groupby(level=0).apply(lambda x: {call})" if panel else call


def _working_days(time: pd.Index, clock: Clock, freq: Any) -> str:
    """Offer business days where days were inferred and no row lies on a weekend."""
    days = isinstance(clock.freq, pd.offsets.Day) and freq is None
    if not days or not bool((wall_times(time).day_of_week < 5).all()):
        return ""
    step = "B" if clock.freq.n == 1 else f"{clock.freq.n}B"
    return f" Where only working days count, pass freq={step!r} instead."


def _check_freq(time: pd.Index, freq: Any) -> None:
    """Raise if the step that the user named is none, or not one of the index."""
    if freq is None:
        return
    if is_dated(time) == isinstance(freq, Integral):
        wanted = "an offset such as 'h'" if is_dated(time) else "a whole number"
        raise ValueError(
            f"freq={freq!r} must be {wanted} for an index of {time.dtype} labels: it is the step "
            "between two of them. Leave it None to read it off the index."
        )
    if _count_steps(time, freq) < 1:
        raise ValueError(
            f"freq={freq!r} must be positive: it is the step from one row to the next. Leave it "
            "None to read it off the index."
        )
    if isinstance(time, pd.PeriodIndex) and _period(freq) != time.dtype:
        raise ValueError(
            f"freq={freq!r} is not the step of X.index, which holds {time.dtype}: a period has "
            "its own length. Leave it None, or resample, X.resample(freq).mean()."
        )


def _count_steps(time: pd.Index, freq: Any) -> Any:
    """Count the units of a step: 2 for "2h"."""
    if isinstance(freq, Integral):
        return freq
    if isinstance(time, pd.PeriodIndex):
        return _period(freq).freq.n
    return pd.tseries.frequencies.to_offset(freq).n


def _period(freq: Any) -> Any:
    """Read a step as a kind of period, whose months are "M" and not "ME"."""
    span = isinstance(freq, pd.Timedelta)
    return pd.PeriodDtype(pd.tseries.frequencies.to_offset(freq) if span else freq)


def _raise_irregular(
    time: pd.Index, off: Any = None, step: str | None = None, *, panel: bool = False
) -> None:
    resample = "resample, X.resample(freq).mean()"
    if panel:
        resample = "resample, X.groupby(level=0).resample(freq, level=1).mean()"
    if not is_dated(time):
        resample = "number the rows, X.reset_index(drop=True)"
        if panel:
            resample = "number the rows of each series, X.groupby(level=0).cumcount()"
    if off is not None:
        raise ValueError(
            f"X.index does not lie on freq={step!r}: {off} is between two steps. Pass the freq "
            f"that fits, or {resample}."
        )
    gaps = time[1:] - time[:-1]
    fits = "if they follow a calendar" if is_dated(time) else "that divides them all"
    raise ValueError(
        f"X.index has irregular steps, from {gaps.min()} to {gaps.max()}: pass freq= {fits}, "
        f"or {resample}."
    )


def check_on_grid(steps: Rows, time: pd.Index, clock: Clock) -> None:
    """Raise if labels at prediction lie on no grid with the fitted step."""
    if (steps == OFF_GRID).any():
        _raise_irregular(time, off=time[steps == OFF_GRID][0], step=clock.step_name)


def number_series(labels: pd.Index | None, n_rows: int) -> tuple[Rows, pd.Index | None]:
    """Give each series a number, in order of appearance; no labels means one series."""
    if labels is None:
        return np.zeros(n_rows, dtype=np.int64), None
    _check_series_named(labels)
    codes, keys = pd.factorize(labels)
    return codes.astype(np.int64), pd.Index(keys, name=labels.name)


def _check_series_named(labels: pd.Index) -> None:
    if labels.hasnans:
        raise ValueError("X.index holds a missing series name: every row needs its series.")


def find_series(
    known: pd.Index | None, labels: pd.Index | None, n_rows: int
) -> tuple[Rows, pd.Index | None]:
    """Give each row's series its fitted number, new ones the next; and the names of all."""
    if known is None or labels is None:
        return np.zeros(n_rows, dtype=np.int64), known
    _check_series_named(labels)
    codes = known.get_indexer(labels).astype(np.int64)
    unseen = codes < 0
    numbers, new = pd.factorize(labels[unseen])
    codes[unseen] = len(known) + numbers
    return codes, known.append(pd.Index(new)).rename(known.name) if len(new) else known


def dated_labels(time: pd.Index | None) -> pd.Index:
    """Raise if rows have lost the dates that their calendar needs."""
    if time is None or not is_dated(time):
        raise TypeError(
            "X has no dates, but the training rows had: the calendar cannot be read off. Keep "
            "the index, for example by set_output(transform='pandas') in a Pipeline."
        )
    return time
