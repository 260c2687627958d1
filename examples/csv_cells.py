"""From a file to cells, and from cells to numbers and dates.

What the whole file makes plain is read off it: separator, decimal sign, order of day and month.
What could be read in two ways is asked for, and what cannot be read is named with its line: the
index of every table here holds line numbers.
"""

import csv
import gzip
import io
import re
import zlib
from collections import Counter
from collections.abc import Sequence
from datetime import date
from itertools import islice, product, takewhile
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

SEPARATORS = "\t;|,"  # the comma comes last: it parts decimals, too
EMPTY = [
    "",
    "-",
    "--",
    "?",
    "NA",
    "N/A",
    "#N/A",
    "n/a",
    "NaN",
    "nan",
    "NULL",
    "null",
    "None",
]
MONTHS = [
    "jan",
    "feb",
    "mar",
    "apr",
    "may",
    "jun",
    "jul",
    "aug",
    "sep",
    "oct",
    "nov",
    "dec",
]
MOMENT = re.compile(
    r"(?P<date>.+?)(?:(?:T|[ ,]+)(?P<hour>\d{1,2}):(?P<rest>\d\d(?::\d\d(?:\.\d+)?)?)"
    r"(?: ?(?P<half>[AP])M)?\s*(?P<zone>Z|UTC|GMT|CES?T|DST|[-+]\d\d(?::?\d\d)?)?)?",
    re.IGNORECASE,
)
_NAME = rf"(?P<name>{'|'.join(MONTHS)})[a-z]*"
DATES = [
    re.compile(pattern, re.IGNORECASE)
    for pattern in (
        r"(?P<year>\d{4})([-/.])(?P<month>\d{1,2})\2(?P<day>\d{1,2})",
        r"(?P<year>(?:19|20)\d\d)(?P<month>\d\d)(?P<day>\d\d)",
        r"(?P<year>\d{4})[-/ ](?P<month>\d{1,2})",
        r"(?P<year>(?:19|20)\d\d)(?P<month>0[1-9]|1[0-2])",
        r"(?P<month>\d{1,2})[-/](?P<year>\d{4})",
        r"(?P<year>\d{4})[- ]?Q(?P<quarter>[1-4])",
        r"(?P<year>\d{4})-?W(?P<week>\d\d)(?:-?(?P<weekday>[1-7]))?",
        rf"(?P<day>\d{{1,2}})[-. ]+{_NAME}[-., ]+(?P<year>\d{{4}}|\d\d)",
        rf"{_NAME}[-., ]+(?P<year>\d{{4}})",
        rf"{_NAME}[-. ]+(?P<short>\d\d)",  # Jan-16, as spreadsheets write January 2016
        rf"{_NAME}\.? +(?P<day>\d{{1,2}}),? +(?P<year>\d{{4}})",
        r"(?P<first>\d{1,2})([-/.])(?P<second>\d{1,2})\2(?P<year>\d{4}|\d\d)",
    )
]
#: What the signs of time zones stand for. DST, beside times without it, is an hour ahead of them.
OFFSETS = {
    "Z": "+00:00",
    "UTC": "+00:00",
    "GMT": "+00:00",
    "CET": "+01:00",
    "CEST": "+02:00",
}
OFFSETS |= {"DST": "+01:00"}
#: Numbers that count time: whole years, and seconds or parts of them since 1970.
COUNTS = {
    "years": r"(1[5-9]|2[01])\d\d(\.0)?",
    "s": r"([1-9]|1[0-8])\d{8}(\.0)?",
    "ms": r"1[0-8]\d{11}(\.0)?",
    "us": r"1[0-8]\d{14}(\.0)?",
    "ns": r"1[0-8]\d{17}(\.0)?",
}
#: How dates and times of day are written, as strftime has it.
WRITTEN_DATES = [
    "%Y-%m-%d",
    "%Y/%m/%d",
    "%Y.%m.%d",
    "%Y%m%d",
    "%Y-%m",
    "%Y%m",
    "%m/%Y",
    "%m-%Y",
]
WRITTEN_DATES += [
    f"{one}{sign}{two}{sign}{year}"
    for one, two in (("%d", "%m"), ("%m", "%d"))
    for sign, year in product("./-", ("%Y", "%y"))
]
WRITTEN_DATES += ["%G-W%V", "%GW%V", "%G-W%V-%u"]
WRITTEN_DATES += [
    "%d-%b-%Y",
    "%d-%b-%y",
    "%b-%Y",
    "%b-%y",
    "%b %y",
    "%d %b %Y",
    "%d %B %Y",
    "%b %d, %Y",
    "%B %d, %Y",
    "%b %Y",
    "%B %Y",
    "",
]
WRITTEN_TIMES = ["", " %H:%M", " %H:%M:%S", "T%H:%M", "T%H:%M:%S", " %I:%M %p"]
#: Which zeros are left out: none, as in 01.09.2017, those of days and months, or of hours, too.
LEFT_OUT = ["", r"(?<![\d:])0(?=\d[-./ ])", r"(?<![\d:])0(?=\d[-./ :])"]


class InputError(Exception):
    """What is wrong with the file or the options, in one line for the user."""


def read_cells(path: Path, sep: str | None) -> tuple[pd.DataFrame, str, str]:
    """Read a file as cells of text, NaN where empty; return its separator and encoding, too."""
    text, encoding = _decode(path)
    if sep is None:
        sep = _find_separator(text)
    rows = _without_title(_split(text, sep))
    line = next(iter(rows))
    names = _name_columns(rows)
    if not rows:
        raise InputError("the file has a header but no rows.")
    table = []
    for number, row in rows.items():
        n_missing = len(names) - len(row)
        if n_missing < 0:
            raise InputError(
                f"line {number} has {len(row)} values, line {line} has {len(names)}, parted at "
                f"{sep!r}; give another separator by --sep, or mend the line."
            )
        table.append(row + [""] * n_missing)
    cells = pd.DataFrame(table, index=list(rows), columns=names, dtype="str")
    return cells.mask(cells.isin(EMPTY)), sep, encoding


def _name_columns(rows: dict[int, list[str]]) -> list[str]:
    """Take the names of columns off the first line, or number them where it has dates."""
    line, header = next(iter(rows.items()))
    numbers = [str(i + 1) for i in range(len(header))]
    if any(split_date(cell) for cell in header):
        print("no header: the columns are called 1, 2 and so on, from the left")
        return numbers
    del rows[line]
    names = [name or number for name, number in zip(header, numbers, strict=True)]
    for name, count in Counter(names).items():
        if count > 1:
            raise InputError(
                f"line {line} calls two columns {name!r}; rename one of them."
            )
    return names


def _decode(path: Path) -> tuple[str, str]:
    """Read the text of a file, and find its encoding; it may be compressed by gzip."""
    if path.is_dir():
        raise InputError("this is a folder; name a file in it.")
    try:
        raw = path.read_bytes()
        raw = gzip.decompress(raw) if raw.startswith(b"\x1f\x8b") else raw
    except FileNotFoundError:
        raise InputError("no such file.") from None
    except (OSError, EOFError, zlib.error) as error:
        reason = getattr(error, "strerror", None) or error
        raise InputError(f"the file cannot be read: {reason}.") from None
    encoding = "utf-8-sig" if raw.startswith(b"\xef\xbb\xbf") else "utf-8"
    if raw.startswith((b"\xff\xfe", b"\xfe\xff")):  # a spreadsheet's "Unicode text"
        encoding = "utf-16"
    try:
        text = raw.decode(encoding)
    except UnicodeDecodeError:
        encoding = "cp1252"
        text = raw.decode(encoding, errors="replace")
        print("not in UTF-8: read in the encoding of Windows (cp1252)")
    if "\0" in text:
        raise InputError("this is no text; save a spreadsheet as CSV first.")
    if not text.strip():
        raise InputError("the file is empty.")
    return text, encoding


def _find_separator(text: str) -> str:
    """Find what parts most lines alike; csv.Sniffer takes the comma of decimals for it."""
    shares = {}
    for sep in SEPARATORS:
        try:
            rows = list(islice(_reader(text, sep), 1000))
        except csv.Error:
            continue  # the quotation marks fit another separator, or none
        widths = [len(row) for row in rows if any(row)]
        width, count = Counter(widths or [1]).most_common(1)[0]
        if width == 1:
            continue
        shares[sep] = count / len(widths)
        if shares[sep] > 0.8:  # not all: there may be a title, or a sum at the end
            return sep
    return max(shares, key=shares.__getitem__, default=",")


def _reader(text: str, sep: str) -> Any:
    """Return what reads a text row by row."""
    return csv.reader(io.StringIO(text, newline=""), delimiter=sep, strict=True)


def _split(text: str, sep: str) -> dict[int, list[str]]:
    """Return the cells of each line that has any, without empty ones at its end."""
    rows: dict[int, list[str]] = {}
    reader = _reader(text, sep)
    try:
        for row in reader:
            cells = [cell.strip() for cell in row]
            while cells and not cells[-1]:
                cells.pop()
            if cells:
                rows[reader.line_num] = cells
    except csv.Error:
        place = f"after line {max(rows)}" if rows else "in line 1"
        raise InputError(
            f'a quotation mark (") {place} is not closed at the separator.'
        ) from None
    if not rows:
        raise InputError("the file holds separators only.")
    return rows


def _without_title(rows: dict[int, list[str]]) -> dict[int, list[str]]:
    """Leave out lines above the header of a table of several columns: a title, and who made it."""
    widths = Counter(map(len, rows.values()))
    if max(widths) == 1:
        return rows
    title = list(takewhile(lambda line: len(rows[line]) == 1, rows))
    # Lines of several cells are left out if a header follows, which has neither date nor number.
    usual = widths.most_common(1)[0][0]
    narrow = list(takewhile(lambda line: len(rows[line]) < usual, rows))
    first = next(row for line, row in rows.items() if line not in narrow)
    if not any(split_date(cell) or cell[:1].isdigit() for cell in first):
        title = max(title, narrow, key=len)
    if title:
        print(f"left out, above the table: {list_lines(title)}")
    return {line: row for line, row in rows.items() if line not in title}


def find_decimal(cells: pd.DataFrame, sep: str) -> str:
    """Find the decimal sign of a file: 1,5 and 1.234,5 have one reading only, 1.234 has two."""
    every = pd.concat([cells[name].dropna() for name in cells])
    every = every.sort_index(kind="stable")
    comma = is_number(every, ",")
    point = is_number(every, ".")
    with_comma = every[comma & ~point]
    with_point = every[point & ~comma]
    unclear = every[comma & point & every.str.contains("[.,]")]
    if len(with_comma) and len(with_point):
        raise InputError(
            f"{first_cell(with_comma)} has a decimal comma, {first_cell(with_point)} a decimal "
            "point; say by --decimal , or --decimal . which sign is meant, and mend the others."
        )
    if len(with_comma):
        return ","
    if len(with_point) or not len(unclear):
        return "."
    if sep == "," and not unclear.str.contains(",").any():
        return "."
    raise InputError(
        f"{first_cell(unclear)} may have decimals or thousands; say by --decimal , or --decimal . "
        "which sign comes before decimals in this file."
    )


def is_number(cells: pd.Series, decimal: str) -> pd.Series:
    """Whether each cell is a number, its thousands parted or not."""
    point = re.escape(decimal)
    other = "," if decimal == "." else "."
    thousands = (
        rf"[1-9]\d{{0,2}}(?P<part>[{other}'\u2019 \u00a0\u202f])"
        rf"\d{{3}}(?:(?P=part)\d{{3}})*"
    )
    pattern = rf"[-+−]?(?=.*\d)(?:{thousands}|\d*)(?:{point}\d*)?(?:[eE][-+]?\d+)?"
    match = re.compile(pattern).fullmatch
    found = [isinstance(cell, str) and match(cell) is not None for cell in cells]
    return pd.Series(found, index=cells.index, dtype=bool)


def read_numbers(cells: pd.Series, decimal: str) -> pd.Series:
    """Read the cells that are numbers; the others are NaN."""
    text = cells[is_number(cells, decimal)]
    text = text.str.replace("−", "-")
    text = text.str.replace(rf"[^-+0-9eE{decimal}]", "", regex=True)
    text = text.str.replace(decimal, ".")
    numbers = text.astype(np.float64)
    numbers = numbers[numbers.abs() < 1e100]  # larger ones have no square
    return numbers.reindex(cells.index)


def split_date(cell: str) -> dict[str, str | None] | None:
    """Name the parts of a cell that has the form of a date, with or without a time of day."""
    moment = MOMENT.fullmatch(cell)
    if moment is None:
        return None
    for pattern in DATES:
        found = pattern.fullmatch(moment["date"])
        if found:
            zone = moment["zone"] and moment["zone"].upper()
            return moment.groupdict() | found.groupdict() | {"zone": zone}
    return None


def find_count(cells: pd.Series) -> str | None:
    """Find what most cells count if they are numbers that count time: a key of `COUNTS`."""
    cells = cells.dropna()
    for unit, pattern in COUNTS.items():
        if 2 * cells.str.fullmatch(pattern).sum() > len(cells):
            return unit
    return None


def read_dates(cells: pd.Series, dayfirst: bool | None) -> pd.DatetimeIndex:
    """Read cells as dates, each of which must be one."""
    unit = find_count(cells)
    dates = (
        _read_written(cells, dayfirst) if unit is None else _read_counts(cells, unit)
    )
    bad = cells[dates.isna()]
    if len(bad):
        value = "an empty cell" if pd.isna(bad.iloc[0]) else repr(bad.iloc[0])
        raise InputError(
            f"line {bad.index[0]}: {value} in column {cells.name!r} is no date"
            f"{and_more(len(bad))}; write dates as 2024-12-31 23:00."
        )
    return pd.DatetimeIndex(dates, name=cells.name)


def _read_counts(cells: pd.Series, unit: str) -> pd.Series:
    """Read numbers that count time."""
    counts = cells[cells.str.fullmatch(COUNTS[unit], na=False)]
    counts = counts.str.removesuffix(".0")
    if unit == "years":
        dates = pd.to_datetime(counts, format="%Y")
    else:
        print(f"column {cells.name!r} is read as {unit} since 1970, in UTC")
        dates = pd.to_datetime(counts.astype("int64"), unit=unit, utc=True)
    return dates.reindex(cells.index)


def _read_written(cells: pd.Series, dayfirst: bool | None) -> pd.Series:
    """Read dates; times of several offsets from UTC get that of the latest."""
    parts = cells.map(split_date, na_action="ignore")
    if parts.isna().any():
        return parts
    if dayfirst is None:
        dayfirst = _day_comes_first(cells, parts)
    _check_years(cells, parts)
    _check_zones(cells, parts)
    zones = {part["zone"] for part in parts}
    iso = parts.map(lambda part: _iso(part, dayfirst=dayfirst))
    if "DST" in zones:
        iso += parts.map(lambda part: "" if part["zone"] else "+00:00")
    dates = pd.to_datetime(iso, format="ISO8601", errors="coerce", utc=len(zones) > 1)
    if len(zones) > 1 and dates.notna().all():
        latest = dates.idxmax()
        print(
            f"times differ in their offset from UTC; written is that of {cells[latest]!r}"
        )
        dates = dates.dt.tz_convert(pd.Timestamp(iso[latest]).tz)
    if "DST" in zones:  # of which zone the file does not say
        dates = dates.dt.tz_localize(None)
    return dates


class DateForm(NamedTuple):
    """How a column of a file writes dates: by strftime, without which zeros, in which zone."""

    written: str
    left_out: str
    zone: str

    def write(self, times: pd.DatetimeIndex) -> pd.Index:
        """Write times as the cells of the column are."""
        text = times.strftime(self.written)
        if self.left_out:
            text = text.str.replace(self.left_out, "", regex=True)
        return text + self.zone


class CountForm(NamedTuple):
    """How a column of a file counts time: in seconds, or parts of them, since 1970."""

    unit: str

    def write(self, times: pd.DatetimeIndex) -> pd.Index:
        """Write times as numbers."""
        return (times - pd.Timestamp(0, tz="UTC")) // pd.Timedelta(1, self.unit)


def find_form(cells: pd.Series, dates: pd.Series) -> DateForm | CountForm | None:
    """Find the form in which cells write the dates that were read from them, if it is known."""
    unit = find_count(cells)
    if unit is not None:
        return DateForm("%Y", "", "") if unit == "years" else CountForm(unit)
    zone = _written_zone(cells[dates.idxmax()])
    every = slice(None, None, -(-len(cells) // 1000))
    cells = cells[every]
    cells = cells[cells.map(_written_zone) == zone]
    times = pd.DatetimeIndex(dates[cells.index])
    for day, time, left_out in product(WRITTEN_DATES, WRITTEN_TIMES, LEFT_OUT):
        form = DateForm((day + time).strip(), left_out, zone)
        is_form_of_first = form.write(times[:1]) == cells[:1]  # most fail there
        if is_form_of_first.all() and (form.write(times) == cells).all():
            return form
    return None


def _written_zone(cell: str) -> str:
    """Cut the end of a cell that names the zone, with the space before it."""
    moment = MOMENT.fullmatch(cell)
    if moment is None or moment["zone"] is None:
        return ""
    before = cell[: moment.start("zone")].rstrip()
    return cell.removeprefix(before)


def _iso(part: dict[str, str], *, dayfirst: bool | None) -> str:
    """Write the parts of a date as 2024-12-31T23:00; no date is written as nothing."""
    day = _iso_day(part, dayfirst=dayfirst)
    if not day:
        return ""
    hour = int(part["hour"] or 0)
    if part["half"]:
        is_afternoon = part["half"] in "pP"
        hour = hour % 12 + 12 * is_afternoon
    minutes = part["rest"] or "00"
    zone = OFFSETS.get(part["zone"], part["zone"] or "")
    return f"{day}T{hour:02}:{minutes}{zone}"


def _iso_day(part: dict[str, str], *, dayfirst: bool | None) -> str:
    """Write the day of a date as 2024-12-31; no day is written as nothing."""
    year = _full_year(part.get("year") or part["short"])
    month = part.get("month")
    day = part.get("day") or 1
    if "week" in part:
        weekday = int(part["weekday"] or 1)
        try:
            return date.fromisocalendar(year, int(part["week"]), weekday).isoformat()
        except ValueError:
            return ""
    if "first" in part:
        month, day = part["first"], part["second"]
        if dayfirst:
            month, day = day, month
    elif "name" in part:
        month = MONTHS.index(part["name"][:3].lower()) + 1
    elif "quarter" in part:
        month = 3 * int(part["quarter"]) - 2
    return f"{year:04}-{int(month):02}-{int(day):02}"


def _full_year(text: str) -> int:
    """Read a year; two digits are of 1969 to 2068, as POSIX has it."""
    year = int(text)
    if len(text) > 2:
        return year
    return year + (2000 if year < 69 else 1900)


def _day_comes_first(cells: pd.Series, parts: pd.Series) -> bool | None:
    """Find the order of day and month by a day after the 12th; None where no date needs it."""
    parts = parts[parts.map(lambda part: "first" in part)]
    if not len(parts):
        return None
    cells = cells[parts.index]
    first = cells[parts.map(lambda part: int(part["first"]) > 12)]
    second = cells[parts.map(lambda part: int(part["second"]) > 12)]
    if len(first) and len(second):
        raise InputError(
            f"{first_cell(first)} has the day first, {first_cell(second)} the month; write all "
            "dates in one order, best as 2024-12-31."
        )
    if not len(first) and not len(second):
        raise InputError(
            f"{first_cell(cells)} may begin with the day or the month, and no day "
            "after the 12th shows which; add --dayfirst or --no-dayfirst."
        )
    return len(first) > 0


def _check_years(cells: pd.Series, parts: pd.Series) -> None:
    """Raise if Jan-16 is a day of a year that is not named: most follow one of the same month."""
    short = parts[parts.map(lambda part: "short" in part)]
    cells = cells[short.index]
    months = short.map(lambda part: part["name"].lower())
    is_same_month = months == months.shift()
    is_next_day = is_same_month & (cells != cells.shift())
    are_days = len(months.unique()) > 1 and 2 * is_next_day.sum() > len(months)
    has_hour = short.map(lambda part: part["hour"] is not None).any()
    if has_hour or are_days:
        raise InputError(
            f"{first_cell(cells)} is a day without its year, or a month that is "
            "not in order; write dates as 2024-12-31."
        )


def _check_zones(cells: pd.Series, parts: pd.Series) -> None:
    """Raise if some dates have an offset such as +02:00 and others have none; DST may lack."""
    zones = parts.map(lambda part: part["zone"])
    naive = cells[zones.isna()]
    if 0 < len(naive) < len(cells) and not zones.dropna().eq("DST").all():
        raise InputError(
            f"{first_cell(naive)} has no offset from UTC{and_more(len(naive))}, other dates have "
            "one; write all dates with it or all without."
        )


def first_cell(cells: pd.Series) -> str:
    """Quote the first of some cells with its line."""
    return f"{cells.iloc[0]!r} (line {cells.index[0]})"


def and_more(count: int) -> str:
    """Count lines of the same fault beside the one that is named."""
    return f" (and {count - 1} more like it)" if count > 1 else ""


def list_lines(lines: Sequence[int]) -> str:
    """List the numbers of lines, but not hundreds."""
    first = ", ".join(map(str, lines[:5]))
    more = f" and {len(lines) - 5} more" if len(lines) > 5 else ""
    return f"line {first}" if len(lines) == 1 else f"lines {first}{more}"
