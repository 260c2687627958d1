"""The index: labels of time and of series, columns that become them, and the step of a clock."""

from collections.abc import Hashable
from numbers import Integral
from typing import Any, NoReturn

import numpy as np
import pandas as pd
from sklearn.utils import check_consistent_length

from skinformer.timeline.arrays import AnyArray, IntArray
from skinformer.timeline.clock import OFF_GRID, Clock, is_dated
from skinformer.validation import advice, patterns
from skinformer.validation.warning import warn_user

#: The offset from UTC at the end of a time of day.
_OFFSET = r":\d.*?\s*(Z|UTC|[+-]\d{2}(?::?\d{2})?)$"


def time_labels(index: pd.Index, name: str = "X") -> tuple[pd.Index, pd.Index | None]:
    """Split an index into labels of time and of series, None for one, and check their types."""
    series = None
    if isinstance(index, pd.MultiIndex):
        if index.nlevels != 2:
            raise TypeError(
                f"{name}.index has {index.nlevels} levels: two are needed, (series, time). Join "
                "the levels that name a series into one."
            )
        series = index.get_level_values(0)
        index = index.get_level_values(1)
        if is_dated(series) and not is_dated(index):
            raise TypeError(
                f"{name}.index has the levels (time, series), but (series, time) are needed: call "
                f"{name}.swaplevel().sort_index()."
            )
    if isinstance(index.dtype, pd.ArrowDtype) and index.dtype.kind == "M":
        index = pd.DatetimeIndex(index)
    if not is_dated(index) and not pd.api.types.is_integer_dtype(index.dtype):
        raise TypeError(
            f"{name}.index holds {index.dtype} labels, which have no order in time: "
            f"{advice.make_times(index, name, panel=series is not None)}."
        )
    if index.hasnans:
        raise ValueError(f"{name}.index holds NaT: every row needs its time. Drop those rows.")
    return index, series


def check_same_index(X: Any, y: Any, name: str = "y") -> None:
    """Raise if X and y (or what else goes with its rows) are labelled differently."""
    labelled = isinstance(X, pd.DataFrame | pd.Series) and isinstance(y, pd.DataFrame | pd.Series)
    if labelled and not X.index.equals(y.index):
        found = X.index.isin(y.index).all()
        fix = f"{name}.loc[X.index]" if found else f"{name}.to_numpy() if its rows are in X's order"
        raise ValueError(
            f"X and {name} have different indexes: rows belong together by their labels. Pass "
            f"{fix}."
        )


def check_same_rows(X: Any, y: Any) -> None:
    """Raise if y is not of as many rows as X, or if they are labelled differently."""
    check_consistent_length(X, y)
    check_same_index(X, y)


def check_distinct(time: pd.Index, series: pd.Index | None) -> None:
    """Raise if two rows of a series carry the same label."""
    rows = time if series is None else pd.MultiIndex.from_arrays([series, time])
    if rows.is_unique:
        return
    again = rows.duplicated()
    fix = (
        "keep one row a step, X[~X.index.duplicated()], or label several series by a MultiIndex "
        "(series, time)."
    )
    name_zone = "tz_localize(zone, ambiguous='infer')"
    if advice.in_a_night_of_change(time[again]):
        call = advice.on_each(name_zone, panel=series is not None)
        fix = (
            f"naive local time repeats an hour in autumn, so name its zone, {call}. Otherwise {fix}"
        )
    else:
        fix += f" Naive local time repeats an hour in autumn: X.index.{name_zone}."
    raise ValueError(
        f"X.index holds {again.sum()} duplicated timestamps, the first {rows[again][0]}: {fix}"
    )


def check_order(time: pd.Index, series: IntArray) -> None:
    """Raise if the rows of a series, brought together, go back in time."""
    forward = np.asarray(time[1:] > time[:-1]) | (np.diff(series) != 0)
    if not forward.all():
        raise ValueError(
            "X.index is not in time order: call X.sort_index() before fit; in cross-validation "
            "use TimeSeriesSplit, which keeps the order."
        )


def check_no_missing_steps(
    time: pd.Index,
    series: IntArray,
    steps: IntArray,
    clock: Clock,
    names: pd.Index | None,
    *,
    named: bool,
) -> None:
    """Raise if a series lacks steps between its first and its last.

    named: whether the user named the step, so that no other one is offered.
    """
    gaps = np.flatnonzero((np.diff(steps) != 1) & (np.diff(series) == 0))
    if not len(gaps):
        return
    panel = names is not None
    missing = np.diff(steps)[gaps] - 1
    first = clock.labels(steps[gaps] + 1)
    where = "X.index"
    if names is not None:
        where += f" (series {names[series[gaps[0]]]!r})"
    found = f"{where} lacks {missing.sum()} timestamps, the first {first[0]}"
    misread = advice.read_again(time, panel=panel)
    if misread:
        raise ValueError(f"{found}. {misread}")
    fix = (
        f"{advice.add_rows(time, clock, panel=panel)} adds them with NaN, which the target "
        "may hold; fill the other columns. In cross-validation use TimeSeriesSplit, whose folds "
        "have no gaps."
    )
    if advice.skips_an_hour(first, missing, clock):
        call = advice.on_each("tz_localize(zone)", panel=panel)
        fix = f"naive local time skips an hour in spring, so name its zone, {call}. Otherwise {fix}"
    if not named:
        fix += _open_times(time, series, clock)
    raise ValueError(f"{found}: {fix}")


def _open_times(time: pd.Index, series: IntArray, clock: Clock) -> str:
    """Offer the step of open days or hours, where no row lies on others."""
    if not isinstance(time, pd.DatetimeIndex):
        return ""
    longest = np.bincount(series).argmax()
    step = patterns.open_times(time[series == longest], clock.freq)
    if step is None:
        return ""
    what = "hours" if clock.freq == pd.offsets.Hour() else "days"
    return f" Where only working {what} count, pass freq={step} instead."


def check_freq(time: pd.Index, freq: Any) -> None:
    """Raise if the step that the user named is none, or not one of the index."""
    if freq is None:
        return
    if is_dated(time) == isinstance(freq, Integral):
        wanted = "an offset such as 'h'" if is_dated(time) else "a whole number"
        raise ValueError(
            f"freq={freq!r} must be {wanted} for an index of {time.dtype} labels: it is the step "
            "between two of them. Leave it None to read it off the index."
        )
    try:
        forward = _goes_forward(time, freq)
    except ValueError as error:
        raise ValueError(
            f"Invalid frequency: freq={freq!r} is no step that pandas knows, such as 'h', '15min', "
            "'D', 'MS' or '2W'. Leave it None to read it off the index."
        ) from error
    if not forward:
        wanted = "less than 2**63" if isinstance(freq, Integral) and int(freq) > 0 else "positive"
        raise ValueError(
            f"freq={freq!r} must be {wanted}: it is the step from one row to the next. Leave it "
            "None to read it off the index."
        )
    if isinstance(time, pd.PeriodIndex) and _period(freq) != time.dtype:
        raise ValueError(
            f"freq={freq!r} is not the step of X.index, which holds {time.dtype}: a period has "
            "its own length. Leave it None, or resample, X.resample(freq).mean()."
        )


def _goes_forward(time: pd.Index, freq: Any) -> bool:
    """Return whether a step leads to a later label."""
    if isinstance(freq, Integral):
        return 0 < int(freq) <= np.iinfo(np.int64).max
    if isinstance(time, pd.PeriodIndex):
        return bool(_period(freq).freq.n > 0)
    start = pd.Timestamp(2000, 1, 1)
    return bool(start + pd.tseries.frequencies.to_offset(freq) > start)


def _period(freq: Any) -> Any:
    """Read a step as a kind of period, whose months are "M" and not "ME"."""
    span = isinstance(freq, pd.Timedelta)
    return pd.PeriodDtype(pd.tseries.frequencies.to_offset(freq) if span else freq)


def warn_of_coded_dates(time: pd.Index, *, panel: bool) -> None:
    """Warn that whole numbers a step apart, which are row numbers here, are evidently dates."""
    found = advice.read_again(time, panel=panel)
    if found and not is_dated(time):
        warn_user(
            f"X.index holds whole numbers, so forecasts know of no hour, day or season. {found} If "
            "they are numbers of steps, pass freq=, the distance between two."
        )


def raise_irregular(time: pd.Index, *, panel: bool) -> NoReturn:
    """Raise because no step leads from each row to the next."""
    gaps = time[1:] - time[:-1]
    found = f"X.index has irregular steps, from {gaps.min()} to {gaps.max()}"
    misread = advice.read_again(time, panel=panel)
    if not misread:
        misread = patterns.take_as(time, panel=panel)
    if misread:
        raise ValueError(f"{found}. {misread}")
    fits = "if they follow a calendar" if is_dated(time) else "that divides them all"
    raise ValueError(f"{found}: pass freq= {fits}, or {advice.regrid(time, panel=panel)}.")


def check_on_grid(
    steps: IntArray,
    time: pd.Index,
    clock: Clock,
    series: IntArray,
    names: pd.Index | None,
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
    panel = names is not None
    first = int(off.argmax())
    where = str(time[first])
    if names is not None:
        where += f" of series {names[series[first]]!r}"
    step = advice.written(clock.freq)
    if named:
        found = f"X.index does not lie on freq={step}: {where} is between two steps."
    else:
        found = (
            f"X.index does not lie on one grid: its longest series has steps of {step}, and "
            f"{where} is between two steps."
        )
    shared = advice.share_grid(time, series, clock.freq) if panel else None
    pattern = patterns.take_as(time[series == series[first]], panel=panel)
    if shared is not None:
        fix = (
            f"All series share one grid: where theirs begin at other times, {shared} puts them "
            "onto it. Otherwise"
        )
    elif pattern:
        raise ValueError(f"{found} {pattern}")
    else:
        fix = "Pass the freq that fits, or"
    raise ValueError(f"{found} {fix} {advice.regrid(time, panel=panel)}.")


def check_on_own_grid(steps: IntArray, time: pd.Index, clock: Clock) -> None:
    """Raise if rows to forecast lie on no grid of the training rows' step."""
    off = steps == OFF_GRID
    if off.any():
        raise ValueError(
            f"X.index does not lie on steps of {advice.written(clock.freq)}, as the training rows "
            f"do: {time[off][0]} is between two steps. Pass rows at such steps, or fit again on "
            "rows like these."
        )


def check_series_named(labels: pd.Index) -> None:
    """Raise if a row of a panel lacks its series, or if names of series have no order."""
    if labels.hasnans:
        raise ValueError("X.index holds a missing series name: every row needs its series.")
    if labels.dtype == object:
        kinds = {type(name).__name__: name for name in labels.unique()}
        try:
            sorted(kinds.values())
        except TypeError as error:
            raise TypeError(
                f"X.index names series by {' and '.join(sorted(kinds))}, which have no order: name "
                "all alike, X = X.rename(index=str, level=0)."
            ) from error


def check_index_columns(frame: pd.DataFrame, time: Hashable, series: Hashable | None) -> None:
    """Raise if a column that is to become the index is not there, or nothing is left beside it."""
    wanted = [("time", time)]
    if series is not None:
        wanted.append(("series", series))
    for parameter, name in wanted:
        if name not in frame.columns:
            raise ValueError(
                f"{parameter}={name!r} is no column of X, which has {list(frame.columns)}: name "
                f"the one that holds the {parameter} of each row."
            )
    if time == series:
        raise ValueError(
            f"time={time!r} and series={series!r} are the same column: the series of a row is who "
            "was measured, its time is when. Pass series=None for one series."
        )
    if len(frame.columns) == len(wanted):
        raise ValueError(
            f"X has no columns but {list(frame.columns)}: add what was measured, or, to forecast, "
            "the target with NaN."
        )


def read_times(column: pd.Series, *, format: str, tz: str | None) -> pd.Index:
    """Read a column of dates, text of a format or whole numbers as an index, in a zone if told."""
    check_complete(column, "has no", "time")
    times: pd.Index = pd.Index(column)
    if isinstance(times.dtype, pd.ArrowDtype) and times.dtype.kind == "M":
        times = pd.DatetimeIndex(times)
    if pd.api.types.is_integer_dtype(times.dtype):
        return times
    if not is_dated(times):
        times = _parsed(times, format, column.name, tz)
    if tz is not None and isinstance(times, pd.DatetimeIndex):
        _check_zone(tz)
        times = times.tz_localize(tz) if times.tz is None else times.tz_convert(tz)
    return times


def _check_zone(tz: str) -> None:
    """Raise if there is no such zone."""
    try:
        pd.Timestamp(0, tz=tz)
    except (IndexError, KeyError, ValueError) as error:
        raise ValueError(f"tz={tz!r} is no zone: pass one such as 'Europe/Berlin'.") from error


def _parsed(times: pd.Index, format: str, name: Hashable, tz: str | None) -> pd.Index:
    """Read text of a format as dates, in UTC where it names an offset."""
    for value in times:
        if not isinstance(value, str):
            raise ValueError(
                f"column {name!r} holds {value!r}, which is no time: pass dates, text that says "
                "them, or whole numbers."
            )
    read = pd.to_datetime(times, format=format, errors="coerce", utc=True)
    bad = times[read.isna()]
    if len(bad):
        raise ValueError(
            f"column {name!r} holds {bad[0]!r}, which format={format!r} cannot read"
            f"{_more(len(bad))}: pass the format of your dates, such as '%d.%m.%Y %H:%M'."
        )
    offsets = np.asarray(times.str.extract(_OFFSET, expand=False), dtype=object)
    if not pd.notna(offsets).any():
        return read.tz_localize(None)  # off a clock
    _check_offsets(times, offsets, name, tz)
    return read


def _check_offsets(times: pd.Index, offsets: AnyArray, name: Hashable, tz: str | None) -> None:
    """Raise if some texts alone have an offset from UTC, or if it may change."""
    without = pd.isna(offsets)
    if without.any():
        raise ValueError(
            f"column {name!r} holds {times[without][0]!r} without an offset from UTC and "
            f"{times[~without][0]!r} with one: write all times alike."
        )
    local = ~np.isin(offsets, ("Z", "UTC", "+00:00", "+0000", "+00"))
    if tz is None and local.any():
        raise ValueError(
            f"column {name!r} holds {times[local][0]!r}, whose offset from UTC may change with the "
            "seasons: pass the zone whose wall clock counts, such as tz='Europe/Berlin', or "
            "tz='UTC'."
        )


def check_complete(column: pd.Series, lacks: str, what: str) -> None:
    """Raise if a column that becomes the index has missing values."""
    missing = np.flatnonzero(column.isna())
    if len(missing):
        raise ValueError(
            f"column {column.name!r} {lacks} {what} in row {missing[0]}{_more(len(missing))}: "
            f"every row needs its {what}. Fill it, or drop those rows."
        )


def _more(count: int) -> str:
    """Return how many there are beside the first."""
    return f" and {count - 1} more" if count > 1 else ""


def find_start(times: pd.Index, start: Any) -> Any:
    """Return the label of the first origin in X's own kind, or raise if no row has it."""
    try:
        whole = pd.api.types.is_integer_dtype(times.dtype)
        with np.errstate(invalid="ignore"):  # infinity, which is no date
            label = start if whole else pd.Index([start]).astype(times.dtype)[0]
        known = label in times
    except (TypeError, ValueError):  # what cannot be a label
        known = False
    if not known:
        raise ValueError(
            f"start={start!r} is not a label of X.index. Pass one, such as {times[0]!r}."
        )
    return label
