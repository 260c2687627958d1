"""From the cells of a CSV to a timeline: numbers and text under a regular index of time.

Rows are brought into order, and steps without a row get an empty one; both is told. If the file
holds several series, the index is (series, time).
"""

import argparse
import re
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pandas as pd
from csv_cells import (
    CountForm,
    DateForm,
    InputError,
    and_more,
    find_count,
    find_decimal,
    find_form,
    first_cell,
    is_number,
    list_lines,
    read_cells,
    read_dates,
    read_numbers,
    split_date,
)

from skinformer.timeline.clock import OFF_GRID, Clock, clock_for, infer_step, open_clock
from skinformer.timeline.open_hours import find_open_week

NAMES_OF_TIME = re.compile(
    r"year|jahr|ann[eé]e|año|time|date|stamp|epoch|unix", re.IGNORECASE
)
ROWS_A_LEVEL = 10  # of text; what has more levels is a name or a remark


class Timeline(NamedTuple):
    """What a file holds, the target last, the clock of its rows, and how it is written."""

    frame: pd.DataFrame
    lines: pd.Series  # the line of each row that the file has
    clock: Clock
    sep: str
    encoding: str
    decimal: str
    forms: dict[
        str, DateForm | CountForm | None
    ]  # of columns of dates; None: an unusual one

    def written(self, rows: pd.DataFrame) -> pd.DataFrame:
        """Put the times of rows into columns, in the form that the file has."""
        columns = {}
        if rows.index.nlevels > 1:
            series = rows.index.get_level_values(0)
            columns[series.name] = series
        times = rows.index.get_level_values(-1)
        if None in self.forms.values():
            columns[times.name] = times
        else:
            for name, form in self.forms.items():
                columns[name] = form.write(times)
        return pd.DataFrame(columns).join(rows.reset_index(drop=True))

    def write(self, rows: pd.DataFrame, path: Path) -> None:
        """Write rows as the file that was read is written."""
        options = {"sep": self.sep, "decimal": self.decimal, "float_format": "%.6g"}
        self.written(rows).to_csv(path, index=False, encoding=self.encoding, **options)


def read_timeline(options: argparse.Namespace) -> Timeline:
    """Read the file that the options name."""
    # 1. Cells, and which columns hold what.
    cells, sep, encoding = read_cells(options.path, options.sep)
    _check_named(cells, options)
    time = options.time
    if time is None:
        named = [name for name in (options.series, options.target) if name]
        time = [_find_dates(cells.drop(columns=named))]
    # 2. Dates.
    when = _without_remarks(cells[time[0]].str.cat(cells[time[1:]], sep=" "))
    when.name = " ".join(time)
    cells = cells.loc[when.index]
    dates = pd.Series(read_dates(when, options.dayfirst), when.index, name=when.name)
    forms = {name: find_form(cells[name], dates) for name in time}
    # 3. Numbers, and text.
    others = cells.drop(columns=time)
    if options.series is not None:
        others = others.drop(columns=options.series)
    decimal = options.decimal or _decimal_of_numbers(others, sep)
    values = _read_values(others, options.target, decimal, options.known)
    # 4. One row a step, of each series.
    frame, lines, clock = _arrange(cells, others, values, dates, options)
    return Timeline(frame, lines, clock, sep, encoding, decimal, forms)


def _arrange(
    cells: pd.DataFrame,
    others: pd.DataFrame,
    values: pd.DataFrame,
    dates: pd.Series,
    options: argparse.Namespace,
) -> tuple[pd.DataFrame, pd.Series, Clock]:
    """Bring the rows of each series into order; return them, their lines and their clock."""
    parts = {}
    lines = {}
    for name, own_lines in _lines_of_series(cells, options.series).items():
        own_dates = dates[own_lines]
        advice = _advise_on_duplicates(others.loc[own_lines], own_dates)
        parts[name] = _one_row_a_step(
            values.loc[own_lines], own_dates, options.duplicates, advice
        )
        lines[name] = pd.Series(own_lines, own_dates).groupby(level=0).first()
    clock = _find_clock(max(parts.values(), key=len).index, options.freq)
    for name, part in parts.items():
        parts[name] = _without_gaps(part, clock, name)
    if options.series is None:
        return parts[""], lines[""], clock
    names = [options.series]
    return pd.concat(parts, names=names), pd.concat(lines, names=names), clock


def _check_named(cells: pd.DataFrame, options: argparse.Namespace) -> None:
    """Raise if an option names a column that is not there, or one for two uses."""
    named = [("--time", name) for name in options.time or []]
    named += [("--series", options.series), ("--target", options.target)]
    named += [("--known", name) for name in options.known]
    uses: dict[str, str] = {}
    for option, name in named:
        if name is None:
            continue
        if name not in cells:
            raise InputError(
                f"{option} {name}: no such column; there are {_names(cells)}."
            )
        if uses.setdefault(name, option) != option:
            raise InputError(f"{option} {name}: the same column as {uses[name]}.")


def _names(cells: pd.DataFrame) -> str:
    """List the names of columns."""
    return ", ".join(map(repr, cells.columns))


def _find_dates(cells: pd.DataFrame) -> str:
    """Find the first column most of whose cells have the form of a date, or count time."""
    failed = []
    for name in cells:
        present = cells[name].dropna()
        is_date = present.map(split_date).notna()
        if 2 * is_date.sum() > len(present):
            return name
        if len(present):
            failed.append(f"{name!r} has {first_cell(present[~is_date])}")
    for name in cells:
        if _counts_time(cells[name].dropna()):
            return name
    more = f" and {len(failed) - 5} more" if len(failed) > 5 else ""
    raise InputError(
        f"no dates in the columns: {', '.join(failed[:5])}{more}; write them as 2024-12-31 23:00, "
        "or name their column by --time."
    )


def _counts_time(cells: pd.Series) -> bool:
    """Whether cells are years or seconds since 1970: by the name, or by even steps."""
    if find_count(cells) is None:
        return False
    if NAMES_OF_TIME.search(cells.name):
        return True
    steps = read_numbers(cells, ".").diff().dropna()
    if not len(steps):
        return False
    usual = steps.mode()[0]
    n_usual = (steps == usual).sum()
    return usual != 0 and 2 * n_usual > len(steps)


def _without_remarks(when: pd.Series) -> pd.Series:
    """Leave out lines without a date before the first date and after the last: units, sums."""
    dated = when.index[when.str.contains(r"\d", na=False)]
    kept = when.loc[dated[0] : dated[-1]] if len(dated) else when
    if len(kept) < len(when):
        print(
            f"left out, without a date: {list_lines(when.index.difference(kept.index))}"
        )
    return kept


def _read_values(
    cells: pd.DataFrame, target: str | None, decimal: str, known: list[str]
) -> pd.DataFrame:
    """Read the columns of numbers and those of text, the target, which must be numbers, last."""
    if target is None:
        possible = [name for name in _numeric_columns(cells) if name not in known]
        if not possible:
            raise InputError(
                f"no column of numbers to forecast; there are {_names(cells)}."
            )
        target = possible[-1]
    kept = {}
    for name in [*cells.columns.drop(target), target]:
        numbers = read_numbers(cells[name], decimal)
        bad = cells[name][cells[name].notna() & numbers.isna()]
        if not len(bad) and numbers.notna().any():
            kept[name] = numbers
        elif name != target and _has_levels(cells[name], numbers):
            kept[name] = cells[name]
        elif name == target:
            _raise_no_numbers(bad, f"--target {name}")
        elif name in known:
            _raise_no_numbers(bad, f"--known {name}")
        else:
            reason = f"{first_cell(bad)} is no number" if len(bad) else "empty"
            print(f"left out, column {name!r}: {reason}")
    return pd.DataFrame(kept)


def _has_levels(cells: pd.Series, numbers: pd.Series) -> bool:
    """Whether cells are text that changes, and each text comes often enough to learn from it."""
    n_levels = cells.nunique()
    return numbers.isna().all() and 1 < n_levels <= len(cells) / ROWS_A_LEVEL


def _decimal_of_numbers(cells: pd.DataFrame, sep: str) -> str:
    """Find the decimal sign of columns of numbers."""
    numeric = _numeric_columns(cells)
    return find_decimal(cells[numeric], sep) if numeric else "."


def _numeric_columns(cells: pd.DataFrame) -> list[str]:
    """List the columns most of whose first cells are numbers."""
    numeric = []
    for name in cells:
        first = cells[name].dropna()[:1000]
        is_numeric = is_number(first, ".") | is_number(first, ",")
        if 2 * is_numeric.sum() > len(first):
            numeric.append(name)
    return numeric


def _raise_no_numbers(bad: pd.Series, option: str) -> None:
    """Name the first value of a column that is no number."""
    if not len(bad):
        raise InputError(f"{option}: the column is empty.")
    advice = "leave a cell empty where the value is missing"
    for sign in "$€£¥%":
        if sign in str(bad.iloc[0]):
            advice = f"take {sign!r} off"
    raise InputError(
        f"line {bad.index[0]}: {bad.iloc[0]!r} in {option} is no number"
        f"{and_more(len(bad))}; {advice}."
    )


def _lines_of_series(cells: pd.DataFrame, series: str | None) -> dict[str, pd.Index]:
    """Return the lines of each series, in order of their names."""
    if series is None:
        return {"": cells.index}
    unnamed = cells.index[cells[series].isna()]
    if len(unnamed):
        raise InputError(f"line {unnamed[0]}: the column --series {series} is empty.")
    return {name: part.index for name, part in cells.groupby(series)}


def _advise_on_duplicates(cells: pd.DataFrame, dates: pd.Series) -> str:
    """Return what to do about several rows of one time."""
    of_years = bool((dates.dt.day_of_year == 1).all())
    for name in cells.columns:
        times = f"--time {dates.name!r} --time {name!r}"
        cell = cells[name].iloc[0]
        if isinstance(cell, str) and ":" in cell and split_date(f"2024-01-01 {cell}"):
            return f"if {name!r} is the time of day, add {times}"
        if pd.concat([cells[name], dates], axis=1).duplicated().any():
            continue
        is_month = cells[name].str.fullmatch("0?[1-9]|1[0-2]", na=False)
        if of_years and is_month.all():
            return f"if {name!r} is the month, add {times}"
        if cells[name].nunique() < len(cells) / 2:
            return f"if {name!r} names several series, add --series {name!r}"
    return "say which to keep by --duplicates mean, first or last"


def _one_row_a_step(
    values: pd.DataFrame, dates: pd.Series, duplicates: str | None, advice: str
) -> pd.DataFrame:
    """Index the rows of one series by time, in order; rows that say the same count once."""
    same = pd.concat([values, dates], axis=1).duplicated()
    values = values[~same]
    dates = dates[~same]
    again = dates[dates.duplicated()]
    if len(again) and duplicates is None:
        first = dates.index[dates == again.iloc[0]][0]
        raise InputError(
            f"lines {first} and {again.index[0]} are both of {again.iloc[0]}"
            f"{and_more(len(again))}; {advice}."
        )
    if same.any():
        print(f"left out, the same as an earlier line: {list_lines(same.index[same])}")
    if not dates.is_monotonic_increasing:
        print("rows brought into the order of time")
    return values.groupby(dates).agg(duplicates or "first")


def _find_clock(index: pd.DatetimeIndex, freq: str | None) -> Clock:
    """Find the steps that skinformer takes: of --freq or of the calendar, or open hours."""
    if freq is not None:
        return clock_for(index, _named_step(freq))
    if len(index) < 2:
        raise InputError("all rows are of one time.")
    step = infer_step(index, None)
    if step is None:
        raise _no_step(index.to_series().diff().dropna())
    week = find_open_week(index, step)
    return clock_for(index, step) if week is None else open_clock(index, step, week)


def _named_step(freq: str) -> pd.offsets.BaseOffset:
    """Read --freq."""
    try:
        step = pd.tseries.frequencies.to_offset(freq)
    except ValueError:
        step = None
    if step is None or step.n < 1:
        raise InputError(
            f"--freq {freq}: no step; there are min, h, D, B, W, MS, 15min and others."
        )
    return step


def _no_step(gaps: pd.Series) -> InputError:
    """Return an error that names the first gap that is not as usual."""
    usual = gaps.mode()[0]
    odd = gaps[gaps % usual != pd.Timedelta(0)]
    if not len(odd):
        odd = gaps[gaps != usual]
    return InputError(
        f"rows are mostly {_span(usual)} apart, but {_span(odd.iloc[0])} before {odd.index[0]}"
        f"{and_more(len(odd))}; name the step by --freq, such as h or MS, or mend the dates."
    )


def _span(gap: pd.Timedelta) -> str:
    """Write a span of time without what is 0."""
    return str(gap).removeprefix("0 days ").removesuffix(" 00:00:00")


def _without_gaps(rows: pd.DataFrame, clock: Clock, name: str) -> pd.DataFrame:
    """Put an empty row where a step has none."""
    where = f"series {name!r}: " if name else ""
    steps = clock.steps(rows.index)
    between = rows.index[steps == OFF_GRID]
    if len(between):
        raise InputError(
            f"{where}{between[0]} lies between two steps of {clock.step_name!r}"
            f"{and_more(len(between))}; name another step by --freq, or mend the dates."
        )
    grid = clock.labels(np.arange(steps[0], steps[-1] + 1))
    missing = grid.difference(rows.index)
    if len(missing) > len(rows):
        raise InputError(
            f"{where}{len(missing)} of {len(grid)} time steps (frequency {clock.step_name!r}) have "
            f"no row, the first {missing[0]}; name a longer step by --freq, or add the rows."
        )
    if len(missing):
        print(
            f"{where}time steps without a row (frequency {clock.step_name!r}): {len(missing)}, "
            f"the first {missing[0]}; their values count as missing"
        )
    return rows.reindex(grid.rename(rows.index.name))
