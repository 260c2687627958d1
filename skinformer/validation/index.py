"""The index: labels of time and of series, columns that become them, and the step of a clock."""

from collections.abc import Hashable
from numbers import Integral
from typing import Any, NoReturn

import numpy as np
import pandas as pd
from pandas.api.types import (
    infer_dtype,
    is_integer_dtype,
    is_object_dtype,
    is_string_dtype,
)
from pandas.tseries.frequencies import to_offset
from sklearn.utils import check_consistent_length

from skinformer.compatibility.labels import as_index
from skinformer.timeline.arrays import IntArray
from skinformer.timeline.clock import OFF_GRID, Clock, OpenClock, is_dated
from skinformer.timeline.open_hours import describe_week
from skinformer.validation.date_columns import find_format, find_no_date
from skinformer.validation.labels import IN_INDEX, Labels, number_rows
from skinformer.validation.likely_dates import dates_of_numbers, periods_of_dates
from skinformer.validation.warning import of_series, shown, warn_user
from skinformer.wording import number_of


def time_labels(index: pd.Index, name: str = "X") -> tuple[pd.Index, pd.Index | None]:
    """Split an index into labels of time and of series, None for one, and check their types."""
    series = None
    if isinstance(index, pd.MultiIndex):
        series, index = _split_levels(index, name)
    index = _with_own_dates(index)
    if not is_dated(index) and not is_integer_dtype(index.dtype):
        raise TypeError(
            f"{name}.index holds {index.dtype} labels, which have no order in time: "
            f"{_make_times(index, name, panel=series is not None)}."
        )
    if index.hasnans:
        raise ValueError(
            f"{name}.index holds NaT: every row needs its time. Drop those rows."
        )
    return index, series


def _split_levels(index: pd.MultiIndex, name: str) -> tuple[pd.Index, pd.Index]:
    """Return the labels of series and of time of a panel; raise if the levels are others."""
    if index.nlevels != 2:
        raise TypeError(
            f"{name}.index has {index.nlevels} levels: two are needed, (series, time). Join "
            "the levels that name a series into one."
        )
    series = index.get_level_values(0)
    time = index.get_level_values(1)
    if is_dated(series) and not is_dated(time):
        raise TypeError(
            f"{name}.index has the levels (time, series), but (series, time) are needed: call "
            f"{name}.swaplevel().sort_index()."
        )
    return series, time


def _with_own_dates(index: pd.Index) -> pd.Index:
    """Convert dates of pyarrow and of Python to those of pandas; other labels stay."""
    dtype = index.dtype
    if isinstance(dtype, pd.ArrowDtype) and str(dtype).startswith(("date", "timest")):
        return pd.DatetimeIndex(index)
    if is_object_dtype(dtype) and infer_dtype(index) in ("date", "datetime"):
        return pd.DatetimeIndex(index)
    return index


def _make_times(index: pd.Index, name: str, *, panel: bool) -> str:
    """Write how labels become times or numbers."""
    number = number_rows(name, panel=panel)
    if not is_string_dtype(index.dtype):
        return number
    order = _order_of_days(index)
    dates = f"pd.to_datetime({name}.index{order})"
    if panel:
        level = f"pd.to_datetime({name}.index.levels[1]{order})"
        dates = f"{name}.index.set_levels({level}, level=1)"
    return f"convert them, {name}.index = {dates}, or {number}"


def _order_of_days(labels: pd.Index) -> str:
    """Write what to_datetime must be told where the day, not the month, may stand first."""
    try:
        day_first = find_format(pd.Series(labels)).startswith("%d")
    except ValueError:  # day and month may be swapped in all labels
        return ", dayfirst=True or False"
    return ", dayfirst=True" if day_first else ""


def check_same_index(X: Any, y: Any, name: str = "y") -> None:
    """Raise if X and y (or what else goes with its rows) are labelled differently."""
    labelled = pd.DataFrame | pd.Series
    are_labelled = isinstance(X, labelled) and isinstance(y, labelled)
    if are_labelled and not X.index.equals(y.index):
        raise ValueError(
            f"X and {name} have different indexes: rows belong together by their labels. Pass "
            f"{name}.loc[X.index], or {name}.to_numpy() if its rows are in X's order."
        )


def check_same_rows(X: Any, y: Any) -> None:
    """Raise if y is not of as many rows as X, or if they are labelled differently."""
    check_consistent_length(X, y)
    check_same_index(X, y)


def check_distinct(
    time: pd.Index, series: pd.Index | None, labels: Labels = IN_INDEX
) -> None:
    """Raise if two rows of a series carry the same label."""
    rows = time if series is None else pd.MultiIndex.from_arrays([series, time])
    if rows.is_unique:
        return
    again = rows[rows.duplicated()]
    first = shown(again[0]) if isinstance(again[0], tuple) else again[0]
    if labels.time is not None:
        names = [name for name in (labels.series, labels.time) if name is not None]
        raise ValueError(
            f"{labels} holds {number_of(len(again), 'time')} again, the first {first}: keep one "
            f"row a time{' and series' * (len(names) == 2)}, X.drop_duplicates({names!r})."
        )
    raise ValueError(
        f"X.index holds {number_of(len(again), 'duplicated timestamp')}, the first {first}: keep "
        "one row a step, X[~X.index.duplicated()], or label several series by a MultiIndex "
        "(series, time). Naive local time repeats an hour in autumn: X.index.tz_localize(zone, "
        "ambiguous='infer')."
    )


def check_order(time: pd.Index, series: IntArray) -> None:
    """Raise if the rows of a series, brought together, go back in time."""
    if not are_in_order(time, series):
        raise ValueError(
            "X.index is not in time order: call X.sort_index() before fit; in cross-validation "
            "use TimeSeriesSplit, which keeps the order."
        )


def are_in_order(time: pd.Index, series: IntArray) -> bool:
    """Whether each row of a series, brought together, is later than the one before it."""
    goes_forward = time[1:] > time[:-1]
    begins_series = np.diff(series) != 0
    return bool((goes_forward | begins_series).all())


def check_no_missing_steps(
    time: pd.Index,
    series: IntArray,
    steps: IntArray,
    clock: Clock,
    names: pd.Index | None,
    labels: Labels,
) -> None:
    """Raise if a series lacks steps between its first and its last."""
    n_between = np.diff(steps) - 1
    same_series = np.diff(series) == 0
    gaps = np.flatnonzero(same_series & (n_between != 0))
    if not len(gaps):
        return
    check_no_written_dates(time, labels)
    n_missing = n_between[gaps].sum()
    first = clock.labels(steps[gaps[:1]] + 1)[0]
    where = of_series(names, series[gaps[0]])
    add = f"{labels.indexed}.reindex to all steps"
    hint = ""
    if isinstance(time, pd.DatetimeIndex):
        add = _add_steps(clock.freq, labels)
        hint = (
            " Naive local time skips an hour in spring, so name its zone, tz_localize(zone). If "
            f"closed days or hours are no steps, pass freq, such as 'B', or {labels.number_rows()}."
        )
    raise ValueError(
        f"{labels}{where} lacks {number_of(n_missing, 'timestamp')}, the first {first}: {add} adds "
        f"them with NaN, which the target may hold; fill the other columns.{hint} In "
        "cross-validation use TimeSeriesSplit, whose folds have no gaps."
    )


def warn_of_missing_steps(
    series: IntArray,
    steps: IntArray,
    clock: Clock,
    names: pd.Index | None,
    *,
    of_week: bool,
    named: bool,
) -> None:
    """Warn which steps were taken, and how many of them have no rows.

    of_week: whether the steps are those of open hours or days, which the rows showed.
    named: whether the user named the step, and need not be told how.
    """
    sentences = []
    open_steps = _describe_open_steps(clock) if of_week else ""
    if open_steps:
        sentences.append(f"rows are of {open_steps}, and others are no steps")
    n_between = np.diff(steps) - 1
    gaps = np.flatnonzero((np.diff(series) == 0) & (n_between > 0))
    if len(gaps):
        first = clock.labels(steps[gaps[:1]] + 1)[0]
        where = of_series(names, series[gaps[0]])
        sentences.append(
            f"there are no rows for {number_of(n_between[gaps].sum(), 'time step')} "
            f"(frequency {clock.step_name!r}), the first {first}{where}: their targets count as "
            "missing"
        )
    if sentences:
        advice = "" if named else " If the frequency is another one, pass it as freq."
        warn_user(f"{'; '.join(sentences)}.{advice}")


def _step_of_all(clock: Clock) -> str:
    """Return the step of which closed hours or days are steps, too."""
    return clock.step_name if isinstance(clock, OpenClock) else "D"


def _describe_open_steps(clock: Clock) -> str:
    """Write which hours or days are steps; nothing where all are."""
    if isinstance(clock, OpenClock):
        start = clock.labels(np.array([0]))[0].tz_localize(None)
        of_day = (start - start.normalize()) % pd.Timedelta(clock.freq)
        hours = describe_week(clock.week, of_day, clock.freq)
        return f"{hours}, {clock.step_name!r} apart"
    weekmask = getattr(clock.freq, "weekmask", "")
    return f"{weekmask.replace(' ', ', ')}" if weekmask else ""


def _add_steps(step: Any, labels: Labels) -> str:
    """Write how missing steps are added to rows with dates."""
    asfreq = f"asfreq({_step_to_type(step)})"
    if labels.panel:
        asfreq = f"groupby(level=0).apply(lambda x: x.droplevel(0).{asfreq})"
    return labels.call(asfreq)


def _step_to_type(step: Any) -> str:
    """Write a step as one types it, "freq" where that takes more than a name."""
    if type(step) is pd.DateOffset:
        spans = ", ".join(f"{name}={value}" for name, value in step.kwds.items())
        return f"pd.DateOffset({spans})"
    if isinstance(step, Integral):
        return shown(step)
    try:
        is_named = to_offset(step.freqstr) == step
    except ValueError:  # such as Easter's
        is_named = False
    return repr(step.freqstr) if is_named else "freq"


def check_freq(time: pd.Index, freq: Any, labels: Labels) -> None:
    """Raise if the step that the user named is none, or not one of the index."""
    if freq is None or _is_step(time, freq):
        return
    in_index = labels.time is None
    wanted = (
        "an offset of pandas that goes forward, such as 'h', '15min', 'D', 'MS' or '2W'"
    )
    if isinstance(time, pd.PeriodIndex):
        periods = "X.index's periods" if in_index else f"the periods of {labels}"
        wanted = f"the length of {periods}, {time.dtype}"
    elif not is_dated(time):
        wanted = "a positive whole number less than 2**63"
    raise ValueError(
        f"freq={shown(freq)} must be {wanted}: it is the step from one row to the next. Leave it "
        f"None to read it off {'the index' if in_index else labels}."
    )


def _is_step(time: pd.Index, freq: Any) -> bool:
    """Return whether a step leads from a label of an index to a later one."""
    if isinstance(freq, Integral):
        return not is_dated(time) and 0 < int(freq) < 2**63
    if not is_dated(time):
        return False
    try:
        if isinstance(time, pd.PeriodIndex):  # whose months are "M" and not "ME"
            length = freq if isinstance(freq, str) else to_offset(freq)
            return pd.PeriodDtype(length) == time.dtype
        start = pd.Timestamp(2000, 1, 1)
        return start + to_offset(freq) > start
    except ValueError:  # what pandas does not know
        return False


def raise_irregular(time: pd.Index, labels: Labels) -> NoReturn:
    """Raise because no step leads from each row to the next."""
    check_no_written_dates(time, labels)
    gaps = time[1:] - time[:-1]
    irregular = f"{labels} has irregular steps, from {gaps.min()} to {gaps.max()}"
    as_periods = periods_of_dates(time, labels)
    number = labels.number_rows()
    if as_periods is not None:
        raise ValueError(
            f"{irregular}, but each row is of a period of its own: take these as labels, "
            f"{as_periods}, or {number}."
        )
    if not is_dated(time):
        raise ValueError(f"{irregular}: pass freq= that divides them all, or {number}.")
    raise ValueError(
        f"{irregular}: pass freq= if they follow a calendar, name the zone whose clock they "
        f"follow, tz_convert(zone), {_regrid(time, labels)}, or, where each row is one step, "
        f"{number}."
    )


def check_no_nanoseconds(time: pd.Index, step: Any, labels: Labels) -> None:
    """Raise if rows are less than a microsecond apart, as `pd.to_datetime` makes of numbers."""
    if not isinstance(time, pd.DatetimeIndex) or len(time) < 2:
        return
    start = pd.Timestamp(2000, 1, 1, tz=time.tz)
    if start + step - start >= pd.Timedelta(1, "us"):
        return
    raise ValueError(
        f"{labels} has rows less than a microsecond apart, from {time[0]} on, as pd.to_datetime "
        "makes of numbers: tell it what the numbers are, unit='D' or format='%Y%m%d', or, where "
        f"they count rows, {labels.number_rows()}."
    )


def check_no_written_dates(time: pd.Index, labels: Labels) -> None:
    """Raise if whole numbers that do not count on are dates, such as 201912 before 202001."""
    as_dates = dates_of_numbers(time, labels)
    if as_dates is not None:
        raise ValueError(
            f"{labels} holds dates that are written as whole numbers, such as {time[0]}, and "
            f"numbers of no date would lie between them: make them dates, {as_dates}."
        )


def _regrid(time: pd.Index, labels: Labels) -> str:
    """Write how rows at any times become rows a step apart."""
    if not is_dated(time):
        return labels.number_rows()
    resample = "resample(freq)"
    if labels.panel:
        resample = "groupby(level=0).resample(freq, level=1)"
    return f"resample, {labels.call(f'{resample}.mean()')}"


def check_on_grid(
    steps: IntArray,
    time: pd.Index,
    clock: Clock,
    series: IntArray,
    names: pd.Index | None,
    labels: Labels,
    *,
    named: bool,
) -> None:
    """Raise if labels of training rows lie between two steps.

    names: of the series of a panel.
    named: whether the user named the step; else the longest series of a panel has it.
    """
    off = steps == OFF_GRID
    if not off.any():
        return
    first = off.argmax()
    where = of_series(names, series[first])
    step = _step_to_type(clock.freq)
    if step == "freq":
        step = str(clock.freq)
    grid = f"freq={step}" if named else f"one grid, the {step} of its longest series"
    raise ValueError(
        f"{labels} does not lie on {grid}: {time[first]}{where} is between two steps. Pass the "
        f"freq that fits, or {_regrid(time, labels)}."
    )


def check_on_own_grid(
    steps: IntArray, time: pd.Index, clock: Clock, labels: Labels
) -> None:
    """Raise if rows to forecast lie on no grid of the training rows' step."""
    between = time[steps == OFF_GRID]
    open_steps = _describe_open_steps(clock)
    if len(between) and open_steps:
        raise ValueError(
            f"X holds {number_of(len(between), 'row')} at closed hours or days, the first "
            f"{between[0]}: the rows of fit were at {open_steps}, and others are not "
            f"steps. Leave them out, or fit again with freq={_step_of_all(clock)!r}, "
            "so that all hours are steps."
        )
    if len(between):
        raise ValueError(
            f"{labels} does not lie on steps of {_step_to_type(clock.freq)}, as the training rows "
            f"do: {between[0]} is between two steps. Pass rows at such steps, or fit again on "
            "rows like these."
        )


def check_series_named(labels: pd.Index) -> None:
    """Raise if a row of a panel lacks its series, or if names of series have no order."""
    if labels.hasnans:
        raise ValueError(
            "X.index holds a missing series name: every row needs its series."
        )
    if labels.dtype != object:
        return
    try:
        sorted(labels.unique())
    except TypeError as error:
        raise TypeError(
            "X.index names series by labels of several types, which have no order: name all "
            "alike, X = X.rename(index=str, level=0)."
        ) from error


def read_times(column: pd.Series, *, format: str, tz: str | None) -> pd.Index:
    """Read a column of dates, text of a format or whole numbers as an index, in a zone if named."""
    check_complete(column, "time")
    times = _with_own_dates(as_index(column))
    if is_integer_dtype(times.dtype):
        return times
    if not is_dated(times):
        times = _parse_times(times, format, column.name, tz)
    if tz is None or not isinstance(times, pd.DatetimeIndex):
        return times
    if times.tz is None:
        return times.tz_localize(tz)
    return times.tz_convert(tz)


def _parse_times(
    times: pd.Index, format: str, name: Hashable, tz: str | None
) -> pd.Index:
    """Read text of a format as dates, in UTC where it names an offset."""
    if infer_dtype(times) != "string":
        raise ValueError(
            f"column {name!r} holds {times.tolist()[0]!r}, which is no time: pass dates, text that "
            "says them, or whole numbers."
        )
    has_offset = times.str.contains(
        r":\d.*?\s*(?:Z|UTC|[+-]\d{2}(?::?\d{2})?)$"
    ).astype(bool)
    if has_offset.any() and not has_offset.all():
        raise ValueError(
            f"column {name!r} holds {times[~has_offset][0]!r} without an offset from UTC and "
            f"{times[has_offset][0]!r} with one: write all times alike."
        )
    is_utc = times.str.contains(r"(?:Z|UTC|[+-]00(?::?00)?)$").astype(bool)
    if tz is None and (has_offset & ~is_utc).any():
        raise ValueError(
            f"column {name!r} holds {times[~is_utc][0]!r}, whose offset from UTC may change with "
            "the seasons: pass the zone whose wall clock counts to TimeIndex, such as "
            "tz='Europe/Berlin', or make dates of it, "
            f"pd.to_datetime(X[{name!r}], utc=True).dt.tz_convert('Europe/Berlin')."
        )
    try:
        return pd.to_datetime(times, format=format, utc=bool(has_offset.any()))
    except ValueError as error:
        text = find_no_date(pd.Series(times))
        raise ValueError(
            f"column {name!r} holds {text!r}, which is no time, or not written as the others are: "
            "correct it, drop the row if it is a total, or make dates of the column, "
            f"X[{name!r}] = pd.to_datetime(X[{name!r}], format=…)."
        ) from error


def check_complete(column: pd.Series, what: str) -> None:
    """Raise if a column that becomes the index has missing values."""
    missing = np.flatnonzero(column.isna())
    if len(missing):
        raise ValueError(
            f"column {column.name!r} has no {what} in row {missing[0]}: every row needs its "
            f"{what}. Fill it, or drop those rows."
        )


def check_dates_for(step: Any, time: pd.Index) -> None:
    """Raise if origins are to be a step of dates apart, and rows have none."""
    if not (isinstance(step, int) or is_dated(time)):
        raise ValueError(
            f"step={step.freqstr!r} needs rows with dates, and X.index holds {time.dtype} labels: "
            "pass the number of rows between two origins."
        )


def find_start(times: pd.Index, start: Any) -> Any:
    """Return the label of the first origin in X's own kind, or raise if no row has it."""
    try:
        label = start
        if not is_integer_dtype(times.dtype):
            with np.errstate(invalid="ignore"):  # infinity, which is no date
                label = pd.Index([start]).astype(times.dtype)[0]
        known = label in times
    except (TypeError, ValueError):  # what cannot be a label
        known = False
    if not known:
        raise ValueError(
            f"start={shown(start)} is not a label of X.index. Pass one, such as {shown(times[0])}."
        )
    return label
