"""The CSV example: it reads what is plain, says what it did, and asks for the rest in one line."""

import gzip
import re
import subprocess
import sys
import warnings
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from skinformer.timeline.clock import clock_for

SCRIPT = Path(__file__).resolve().parents[2] / "examples" / "forecast_csv.py"
QUICK = ("--seq-len", "24", "--pred-len", "6", "--epochs", "1")


@pytest.fixture(scope="module")
def modules():
    """Import the scripts as Python does when they are run: their folder comes first."""
    sys.path.insert(0, str(SCRIPT.parent))
    try:
        import csv_cells
        import csv_timeline
        import forecast_csv
    finally:
        sys.path.remove(str(SCRIPT.parent))
    return forecast_csv, csv_timeline, csv_cells


@pytest.fixture
def example(modules):
    return modules[0]


@pytest.fixture(scope="module")
def rows():
    hours = pd.date_range("2024-01-01", periods=200, freq="h")
    rng = np.random.default_rng(0)
    load = 50 + 10 * np.sin(hours.hour * 2 * np.pi / 24) + rng.normal(size=200)
    return pd.DataFrame(
        {"id": range(200), "when": hours, "place": "here", "load": load.round(2)}
    )


@pytest.fixture
def write(tmp_path):
    def write(rows, encoding="utf-8"):
        path = tmp_path / "data.csv"
        if isinstance(rows, pd.DataFrame):
            rows = rows.to_csv(index=False)
        path.write_bytes(rows if isinstance(rows, bytes) else rows.encode(encoding))
        return path

    return write


@pytest.fixture
def read(modules, write):
    """Read a file without training on it."""
    forecast_csv, csv_timeline, _ = modules

    def read(text, *options, encoding="utf-8"):
        options = forecast_csv.parse_options([str(write(text, encoding)), *options])
        return csv_timeline.read_timeline(options).frame

    return read


@pytest.fixture
def timeline(modules, write):
    """Read a file with what else is known of it."""

    def timeline(text):
        return modules[1].read_timeline(modules[0].parse_options([str(write(text))]))

    return timeline


def lines(rows, form, header=""):
    """Write each row of when and load by a function."""
    body = [
        form(when, load) for when, load in zip(rows["when"], rows["load"], strict=True)
    ]
    return "\n".join([*([header] if header else []), *body, ""])


def comma(number):
    return f"{number:.2f}".replace(".", ",")


# A whole run


@pytest.mark.slow
def test_good_file_gives_a_table_and_a_picture(write, rows, tmp_path):
    """As a user runs it: another folder, another process, all defaults but the sizes."""
    write(rows)
    command = [
        sys.executable,
        "-W",
        "error",
        str(SCRIPT),
        "data.csv",
        *QUICK,
        "--output",
        "out",
    ]
    done = subprocess.run(
        command, capture_output=True, text=True, check=False, cwd=tmp_path
    )
    assert (done.returncode, done.stderr) == (0, "")
    for name in (
        "InformerRegressor",
        "last value",
        "ridge on lags",
        "place",
        "epoch 1/1",
        "MAE",
    ):
        assert name in done.stdout
    picture = tmp_path / "out" / "data.png"
    assert f"Forecast against actual: {picture}\n" in done.stdout
    assert picture.read_bytes().startswith(b"\x89PNG")
    ahead = pd.read_csv(
        tmp_path / "out" / "data_forecast.csv", index_col="when", parse_dates=True
    )
    following = pd.date_range(rows["when"].iloc[-1], periods=7, freq="h")[1:]
    assert list(ahead.index) == list(following)
    assert ahead["load"].between(30, 70).all()


@pytest.mark.slow
def test_the_forecast_is_written_as_the_file_is(example, write, rows, tmp_path):
    """What reads the file, a spreadsheet in German say, must read the forecast."""
    text = lines(
        rows, lambda when, load: f"{when:%d.%m.%Y %H:%M};{comma(load)}", "when;load"
    )
    assert (
        example.main(
            [str(write(text)), "--dayfirst", *QUICK, "--output", str(tmp_path)]
        )
        == 0
    )
    ahead = (tmp_path / "data_forecast.csv").read_text(encoding="utf-8").splitlines()
    assert ahead[0] == "when;load"
    assert re.fullmatch(r"09\.01\.2024 08:00;\d\d,\d+", ahead[1])
    assert len(ahead) == 7


@pytest.mark.slow
def test_columns_known_ahead_forecast_the_rows_whose_target_is_empty(
    example, write, rows, tmp_path, capsys
):
    """A promotion of 20 in the rows to come must show; an interval lies around each forecast."""
    promo = np.random.default_rng(1).integers(0, 2, 206)
    hours = pd.date_range("2024-01-01", periods=206, freq="h")
    load = [*(rows["load"] + 20 * promo[:200]).round(2), *[np.nan] * 6]
    path = write(pd.DataFrame({"when": hours, "load": load, "promo": promo}))
    options = [
        *QUICK,
        "--known",
        "promo",
        "--coverage",
        "0.8",
        "--output",
        str(tmp_path),
    ]
    assert example.main([str(path), *options]) == 0
    printed = capsys.readouterr().out
    assert "of these rows lie within their 80% interval.\n" in printed
    assert "columns with values in rows to come" not in printed
    ahead = pd.read_csv(
        tmp_path / "data_forecast.csv", index_col="when", parse_dates=True
    )
    assert list(ahead.index) == list(hours[200:])
    assert list(ahead) == ["load", "load_0.1", "load_0.9"]
    assert ahead["load"].between(ahead["load_0.1"], ahead["load_0.9"]).all()
    promoted = promo[200:] == 1
    wave = 50 + 10 * np.sin(hours[200:].hour * 2 * np.pi / 24)
    np.testing.assert_allclose(ahead["load"] - wave, 20 * promoted, atol=6)
    example.main([str(path), *QUICK, "--target", "load", "--output", str(tmp_path)])
    assert "rows to come are used by --known promo\n" in capsys.readouterr().out


def test_several_columns_are_known_ahead_by_one_option_or_by_several(example):
    for given in (["--known", "a", "b"], ["--known", "a", "--known", "b"]):
        assert example.parse_options(["data.csv", *given]).known == ["a", "b"]


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (
            lambda rows: rows.mask(rows == 203),
            "line 205: 'promo' is empty, and --known promo needs a value in each row to come;",
        ),
        (
            lambda rows: rows.drop(index=203),
            "no line is of 2024-01-09 11:00:00, and --known promo needs a value in each row",
        ),
        (
            lambda rows: pd.concat([rows.assign(place="a"), rows.mask(rows == 203)]),
            "line 411: 'promo' is empty, and --known promo needs a value in each row to come;",
        ),
    ],
)
def test_a_missing_value_known_ahead_is_named_by_its_line(
    example, write, tmp_path, capsys, change, message
):
    """Before anything is fitted; a position among rows that were read helps nobody."""
    hours = pd.date_range("2024-01-01", periods=206, freq="h")
    rows = pd.DataFrame({"when": hours, "load": 1.0, "promo": np.arange(206.0)})
    rows.loc[200:, "load"] = np.nan
    rows = change(rows)
    options = ["--known", "promo", "--target", "load", "--output", str(tmp_path)]
    if "place" in rows:
        rows, options = rows.fillna({"place": "b"}), [*options, "--series", "place"]
    assert example.main([str(write(rows)), *options]) == 2
    printed = capsys.readouterr()
    assert message in printed.err
    assert "InformerRegressor" not in printed.out


def test_values_beyond_the_shortest_series_are_not_needed(example):
    """All series are forecast equally far."""
    index = pd.MultiIndex.from_tuples([("a", 0), ("a", 1), ("b", 0)])
    assert list(example.rows_ahead(pd.DataFrame(index=index)).index) == [
        ("a", 0),
        ("b", 0),
    ]
    assert len(example.rows_ahead(pd.DataFrame(index=index[:0]))) == 0


@pytest.mark.slow
def test_short_panels_are_forecast_and_their_series_may_end_apart(
    example, write, tmp_path, capsys
):
    """Sixty rows a series are what many shops have; only what fit refuses is refused."""
    days = pd.date_range("2017-09-01", periods=60, freq="D")
    parts = [
        pd.DataFrame({"shop": name, "day": days, "sales": np.arange(60) % 7 + 10 * j})
        for j, name in enumerate(["north", "south", "west"])
    ]
    parts = [part.assign(promo=np.arange(60) % 2) for part in parts]
    parts += [
        pd.DataFrame(
            {"shop": name, "day": pd.date_range("2017-10-31", periods=n), "promo": 1}
        )
        for name, n in (("north", 5), ("south", 3))
    ]
    text = pd.concat(parts).to_csv(index=False, sep=";", date_format="%d.%m.%Y")
    options = ["--series", "shop", "--target", "sales", "--known", "promo"]
    assert example.main([str(write(text)), *options, "--output", str(tmp_path)]) == 0
    printed = capsys.readouterr()
    assert "135 rows to train on, 45 to test on, target 'sales'\n" in printed.out
    assert "\nnot forecast, series without rows to come: ['west']\n" in printed.out
    assert printed.err == ""
    ahead = (tmp_path / "data_forecast.csv").read_text(encoding="utf-8").splitlines()
    days_to_come = ("31.10.2017", "01.11.2017", "02.11.2017")
    assert [line.rsplit(";", 1)[0] for line in ahead] == [
        "shop;day",
        *(f"{shop};{day}" for shop in ("north", "south") for day in days_to_come),
    ]


def test_nothing_known_ahead_leaves_the_errors(example, modules):
    """Whoever only measures has no rows to come."""
    test = pd.DataFrame(
        {"promo": [0.0], "load": [1.0]}, pd.DatetimeIndex(["2024-01-01"])
    )
    options = example.parse_options(["data.csv", "--known", "promo"])
    assert example.forecast(None, test, test[:0], options) is None


@pytest.mark.slow
@pytest.mark.parametrize(
    ("first", "second"),
    [
        ("01.09.2017", "02.09.2017"),
        ("1.9.2017", "12.9.2017"),
        ("9/1/2017 8:00", "9/13/2017 12:30"),
        ("09/01/17", "09/13/17"),
        ("2017-09-01T08:00", "2017-09-01T09:00"),
        ("20170901", "20170902"),
        ("1-Sep-2017", "12-Sep-2017"),
        ("September 01, 2017 08:05 AM", "September 01, 2017 12:05 PM"),
        ("2017-09", "2017-10"),
    ],
)
def test_dates_are_written_in_the_form_they_came_in(modules, first, second):
    """What reads the file must read the forecast."""
    cells = pd.Series([first, second], name="day")
    first_of_month = "." in first or None
    dates = pd.Series(modules[2].read_dates(cells, first_of_month))
    form = modules[2].find_form(cells, dates)
    assert list(form.write(pd.DatetimeIndex(dates))) == [first, second]


def test_dates_of_a_form_of_their_own_are_written_as_iso(modules, read, write):
    """Quarters, say, and times with an offset."""
    options = modules[0].parse_options(
        [str(write("q;load\n2024Q1;1\n2024Q2;2\n2024Q3;3\n"))]
    )
    timeline = modules[1].read_timeline(options)
    assert timeline.forms == {"q": None}
    assert list(timeline.written(timeline.frame)["q"].astype(str)[:2]) == [
        "2024-01-01",
        "2024-04-01",
    ]


def test_a_time_of_day_in_its_own_column_is_written_there(modules, write, rows):
    """Two columns were read, two are written."""
    form = lambda when, load: f"{when:%d.%m.%Y};{when:%H:%M};{load}"  # noqa: E731
    path = write(lines(rows, form, "day;clock;load"))
    options = modules[0].parse_options(
        [str(path), "--time", "day", "--time", "clock", "--dayfirst"]
    )
    timeline = modules[1].read_timeline(options)
    written = timeline.written(timeline.frame.head(2))
    assert written.iloc[1, :2].tolist() == ["01.01.2024", "01:00"]
    assert list(written) == ["day", "clock", "load"]


@pytest.mark.slow
def test_hours_of_opening_are_forecast_by_the_next_ones(
    example, write, tmp_path, capsys
):
    """Nobody is served at night: after Friday evening comes Monday morning, in the file's zone."""
    hours = pd.date_range("2024-03-04", periods=24 * 40, freq="h", tz="Europe/Berlin")
    hours = hours[(hours.hour >= 8) & (hours.hour <= 18) & (hours.day_of_week < 5)]
    hours = hours[hours < "2024-03-23"]
    load = (50 + 10 * np.sin((hours.hour - 8) * np.pi / 10)).round(2)
    text = "".join(
        f"{hour.isoformat()};{n}\n" for hour, n in zip(hours, load, strict=True)
    )
    assert (
        example.main([str(write("t;load\n" + text)), *QUICK, "--output", str(tmp_path)])
        == 0
    )
    assert "weekly seasonal naive" in capsys.readouterr().out
    ahead = pd.read_csv(tmp_path / "data_forecast.csv", sep=";", index_col="t")
    assert list(ahead.index) == [
        f"2024-03-25T{hour:02}:00:00+01:00" for hour in range(8, 14)
    ]
    np.testing.assert_allclose(ahead["load"], load[:6], atol=1)


@pytest.mark.slow
def test_bad_file_gives_one_line_and_no_traceback(write, tmp_path):
    """As a user meets it; a traceback tells a stranger nothing."""
    write("when;load\n2024-01-01;5\nyesterday 2;6\n2024-01-03;7\n")
    command = [sys.executable, str(SCRIPT), "data.csv"]
    done = subprocess.run(
        command, capture_output=True, text=True, check=False, cwd=tmp_path
    )
    message = "line 3: 'yesterday 2' in column 'when' is no date; write dates as 2024-12-31 23:00."
    assert (done.returncode, done.stderr) == (2, f"forecast_csv: data.csv: {message}\n")


@pytest.mark.slow
def test_missing_values_of_all_columns_are_taken(
    example, write, rows, tmp_path, capsys
):
    """Gaps in measurements are the rule in files from outside."""
    runs = rows.astype({"id": float})
    runs.loc[[0, 50, 190], "load"] = np.nan
    runs.loc[[0, 60, 195], "id"] = np.nan
    path = write(runs.drop(index=[77]))
    assert example.main([str(path), *QUICK, "--output", str(tmp_path)]) == 0
    printed = capsys.readouterr()
    assert "nan" not in printed.out.lower()
    assert (
        "time steps without a row (frequency 'h'): 1, "
        "the first 2024-01-04 05:00:00; their values count as "
        "missing\n" in printed.out
    )
    assert printed.err == ""


@pytest.mark.slow
def test_columns_of_text_are_used_as_they_are(example, write, rows, tmp_path, capsys):
    """Weather and shifts come as words; of two hundred rows a word of its own teaches nothing."""
    hours = pd.date_range("2024-01-01", periods=206, freq="h")
    late = np.random.default_rng(1).integers(0, 2, 206)
    load = [*(rows["load"] + 20 * late[:200]).round(2), *[np.nan] * 6]
    table = pd.DataFrame({"when": hours, "load": load})
    table["shift"] = np.where(late, "late", "early")
    table["weather"] = np.where(np.arange(206) % 9 == 4, "", "sun")
    table["weather"] = table["weather"].where(np.arange(206) % 5 > 0, "rain")
    table["remark"] = [f"row {i}" for i in range(206)]
    options = [*QUICK, "--known", "shift", "--target", "load"]
    path = write(table)
    assert example.main([str(path), *options, "--output", str(tmp_path)]) == 0
    printed = capsys.readouterr().out
    left_out = [line for line in printed.splitlines() if line.startswith("left out")]
    assert left_out == ["left out, column 'remark': 'row 0' (line 2) is no number"]
    ahead = pd.read_csv(tmp_path / "data_forecast.csv", index_col="when")
    wave = 50 + 10 * np.sin(hours[200:].hour * 2 * np.pi / 24)
    np.testing.assert_allclose(ahead["load"] - wave, 20 * late[200:], atol=6)


@pytest.mark.slow
def test_a_week_of_rows_adds_the_seasonal_rival(example, write, rows, tmp_path, capsys):
    """Daily rows have a week of seven."""
    daily = rows.assign(when=pd.date_range("2024-01-01", periods=200, freq="D"))
    assert example.main([str(write(daily)), *QUICK, "--output", str(tmp_path)]) == 0
    assert "weekly seasonal naive" in capsys.readouterr().out


@pytest.mark.slow
def test_several_series_are_forecast_side_by_side(
    example, write, rows, tmp_path, capsys
):
    """A long table is what most databases export; too short a series must not stop the others."""
    parts = [rows.assign(place="here"), rows[:150].assign(place="there"), rows[:9]]
    parts[2] = parts[2].assign(place="short")
    path = write(pd.concat(parts))
    options = [*QUICK, "--series", "place", "--output", str(tmp_path)]
    assert example.main([str(path), *options]) == 0
    printed = capsys.readouterr().out
    assert "left out, series of fewer than 26 rows: ['short']\n" in printed
    assert [line.split() for line in printed.splitlines() if "there" in line][-1] == [
        "here",
        "there",
        "all",
    ]


def test_the_rows_of_a_week(example):
    """A week of working days has five rows, not seven; months have no week."""
    starts = {
        name: pd.date_range("2024-01-01", periods=1, freq=name)
        for name in ("h", "D", "B", "MS", "5h")
    }
    found = {
        name: example.rows_of_a_week(clock_for(start, start.freq), 3)
        for name, start in starts.items()
    }
    assert found == {"h": 168, "D": 7, "B": 5, "MS": None, "5h": None}


# Where the picture goes


def test_pictures_go_to_a_folder_that_git_ignores(example):
    """A run must leave the checkout as it was."""
    output = example.parse_options(["data.csv"]).output
    assert output == SCRIPT.parent / "output"
    ignored = (
        (SCRIPT.parent.parent / ".gitignore").read_text(encoding="utf-8").splitlines()
    )
    assert "examples/output/" in ignored


@pytest.mark.parametrize(
    ("output", "expected"),
    [
        ("", "a.png"),
        ("new/folder", "new/folder/a.png"),
        ("b.svg", "b.svg"),
        ("v1.2", "v1.2/a.png"),
    ],
)
def test_output_names_a_folder_or_a_picture(example, tmp_path, output, expected):
    """Else matplotlib writes a folder's name with .png behind it."""
    assert example.picture_path(tmp_path / output, "a.png") == tmp_path / expected
    assert not (
        tmp_path / expected
    ).exists()  # a run that fails leaves no empty picture


def test_a_picture_that_cannot_be_written_is_told_before_training(
    example, write, rows, capsys
):
    """Minutes of training would be lost."""
    path = write(rows)
    assert example.main([str(path), "--output", str(path / "x")]) == 2
    assert capsys.readouterr().err.endswith("cannot be written: Not a directory.\n")


# What is plain is read


@pytest.mark.slow
@pytest.mark.parametrize(
    ("header", "form"),
    [
        ("Zeit;Last", lambda when, load: f"{when:%d.%m.%Y %H:%M};{comma(load)}"),
        ("", lambda when, load: f"{when:%d.%m.%Y %H:%M};{comma(load)}"),
        ("t;load;", lambda when, load: f"{when:%d/%m/%y %H:%M};{comma(load)};"),
        ("t\tload", lambda when, load: f"{when:%Y-%m-%dT%H:%M:%S}\t{comma(load)}"),
        ("t|load", lambda when, load: f"{when:%Y/%m/%d %H:%M}|{load:.2f}\n"),
        (
            '"t","load"',
            lambda when, load: f'"{when:%m/%d/%Y %I:%M %p}","{comma(load)}"',
        ),
        ("place,t,load", lambda when, load: f"here,{when:%d-%b-%Y %H:%M},{load}"),
        ("t,load", lambda when, load: f'"{when:%B %d, %Y %H:%M}",{load}'),
        ("All in kW\n\nt;unit;load\n;;kW", lambda when, load: f"{when};x;{load}"),
    ],
)
def test_forms_that_the_whole_file_makes_plain(read, rows, header, form):
    """The forms in which spreadsheets of the world save the same table."""
    rows = rows.assign(when=rows["when"] + pd.Timedelta(days=7))  # beyond the 12th
    frame = read(lines(rows, form, header))
    np.testing.assert_array_equal(frame.iloc[:, -1], rows["load"])
    assert list(frame.index) == list(rows["when"])


@pytest.mark.slow
@pytest.mark.parametrize("encoding", ["utf-8-sig", "utf-16", "cp1252", "gzip"])
def test_encodings(read, rows, encoding, monkeypatch):
    """Excel writes the first three."""
    text = lines(rows, lambda when, load: f"{when};{load}", "t;Größe (€)")
    if encoding == "gzip":
        text, encoding = gzip.compress(text.encode()), None
    assert list(read(text, "--target", "Größe (€)", encoding=encoding)) == ["Größe (€)"]


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16", "cp1252"])
def test_the_answer_has_the_encoding_of_the_file(timeline, tmp_path, encoding):
    """What shows the file's signs must show the answer's."""
    read = timeline("t;Größe (€)\n2024-01-01;1\n2024-01-02;2\n".encode(encoding))
    read.write(read.frame, tmp_path / "ahead.csv")
    written = (tmp_path / "ahead.csv").read_bytes().decode(encoding)
    assert written.startswith("t;Größe (€)\n2024-01-01;1")


@pytest.mark.slow
@pytest.mark.parametrize(
    ("cells", "numbers"),
    [
        (["1.234,5", "987"], [1234.5, 987]),
        (["1,234.5", "1,234"], [1234.5, 1234]),
        (["1.234.567", "1.234"], [1234567, 1234]),
        (["1'234.5", "0.125"], [1234.5, 0.125]),
        (["1 234,5", "−2"], [1234.5, -2]),
        (["1\u00a0234", "5e3"], [1234, 5000]),
        (["0,125", "1,234"], [0.125, 1.234]),
        (["12345.678", "1.234"], [12345.678, 1.234]),
        (["1.5", "-"], [1.5, np.nan]),
    ],
)
def test_decimals_and_thousands(read, cells, numbers):
    """A thousandfold error in the data is the worst that a reader can do."""
    frame = read(f"t;load\n2024-01-01;{cells[0]}\n2024-01-02;{cells[1]}\n")
    np.testing.assert_array_equal(frame["load"], numbers)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("cells", "freq"),
    [
        (["2024-01", "2024-02", "2024-04"], "MS"),
        (["Jan 2024", "February 2024", "Apr-2024"], "MS"),
        (["2024Q1", "2024-Q2", "2024 Q4"], "QS"),
        (["202401", "202402", "202404"], "MS"),
    ],
)
def test_months_and_quarters(read, cells, freq):
    """They begin at their first day; one that lacks gets an empty row."""
    frame = read("t,load\n" + "".join(f"{cell},1\n" for cell in cells))
    assert list(frame.index) == list(pd.date_range("2024-01-01", periods=4, freq=freq))
    assert list(frame["load"].isna()) == [False, False, True, False]


@pytest.mark.parametrize("months", [1, 3, 12])
def test_one_day_of_each_month_is_a_step(read, months):
    """The estimator needs no step for dates on the 15th, and --freq has no name for it."""
    dates = pd.date_range("2020-01-15", periods=9, freq=pd.DateOffset(months=months))
    frame = read("t,load\n" + "".join(f"{day:%Y-%m-%d},1\n" for day in dates.delete(4)))
    assert list(frame.index) == list(dates)
    assert list(np.flatnonzero(frame["load"].isna())) == [4]


def test_title_lines_of_several_cells_are_left_out_and_told(read, capsys):
    """Cash registers write the shop and the kind of the report above the table."""
    table = "t;a;load\n2024-01-01;1;2\n2024-01-02;1;2\n"
    frame = read(f"Shop 7;daily sales\n\n{table}")
    assert list(frame["load"]) == [2, 2]
    assert capsys.readouterr().out == "left out, above the table: line 1\n"


@pytest.mark.parametrize("row", ["2024-01-01;1;2", "1;2;3"])
def test_a_header_that_lacks_a_name_is_no_title(read, modules, row):
    """What follows it is a row of values, not the header."""
    with pytest.raises(
        modules[2].InputError, match="line 2 has 3 values, line 1 has 2"
    ):
        read(f"t;load\n{row}\n{row}\n", "--time=t")


def test_a_sum_at_the_end_is_left_out_and_told(read, capsys):
    """It is no step of time, and a hundred times as large as one."""
    frame = read("t;a;load\n2024-01-01;1;2\n2024-01-02;1;2\nTotal;2;4\n;;9\n")
    assert list(frame["load"]) == [2, 2]
    assert capsys.readouterr().out == "left out, without a date: lines 4, 5\n"


def test_rows_are_put_in_order_and_gaps_filled(read, rows, capsys):
    """Newest first is as common as oldest first."""
    frame = read(rows.drop(index=[5, 6])[::-1].to_csv(index=False))
    assert list(frame.index) == list(rows["when"])
    assert list(np.flatnonzero(frame["load"].isna())) == [5, 6]
    assert capsys.readouterr().out.splitlines()[1:] == [
        "rows brought into the order of time",
        "time steps without a row (frequency 'h'): 2, "
        "the first 2024-01-01 05:00:00; their values count as "
        "missing",
    ]


def test_working_days_leave_no_weekends_to_fill(read, rows):
    """A filled weekend would be two sevenths of made-up rows; a holiday is one row."""
    days = pd.bdate_range("2024-01-01", periods=200)
    frame = read(rows.assign(when=days).drop(index=30).to_csv(index=False))
    assert list(frame.index) == list(days)


@pytest.mark.slow
def test_dates_with_offsets_are_read(read):
    """A file of local time over a daylight-saving change holds two offsets."""
    changes = [
        "2024-04-07T02:00+13:00",
        "2024-04-07T02:00+12:00",
        "2024-04-07T03:00+12:00",
    ]
    frame = read("t,load\n" + "".join(f"{change},1\n" for change in changes))
    assert list(frame.index) == list(
        pd.date_range("2024-04-06 13:00", periods=3, freq="h", tz="UTC")
    )


@pytest.mark.parametrize(
    ("cells", "note", "following"),
    [
        (
            ["28-10-2018 01:00 DST", "28-10-2018 01:00", "28-10-2018 02:00"],
            "written is that of '28-10-2018 02:00'\n",
            "28-10-2018 03:00",
        ),
        (
            ["25-03-2018 00:00", "25-03-2018 02:00 DST", "25-03-2018 03:00 DST"],
            "written is that of '25-03-2018 03:00 DST'\n",
            "25-03-2018 04:00 DST",
        ),
        (["19-05-2018 01:00 DST", "19-05-2018 02:00 DST"], "", "19-05-2018 03:00 DST"),
        (
            ["2024-10-27T02:00+02:00", "2024-10-27T02:00+01:00"],
            "written is that of '2024-10-27T02:00+01:00'\n",
            "2024-10-27T03:00+01:00",
        ),
        (
            ["2024-10-27 02:00 CEST", "2024-10-27 02:00 CET"],
            "'2024-10-27 02:00 CET'\n",
            "03:00 CET",
        ),
        (["2024-10-27 02:00Z", "2024-10-27 03:00Z"], "", "2024-10-27 04:00Z"),
    ],
)
def test_answers_have_the_offset_of_the_latest_time(
    timeline, capsys, cells, note, following
):
    """Answers in UTC, unsaid, would be taken for local time, an hour or two off."""
    read = timeline("t;load\n" + "".join(f"{cell};1\n" for cell in cells))
    assert read.clock.freq == pd.offsets.Hour()
    ahead = read.frame.tail(1).shift(1, freq="h")
    assert read.written(ahead)["t"].iloc[0].endswith(following)
    printed = capsys.readouterr().out
    assert printed.endswith(note)
    assert bool(printed) == bool(note)


@pytest.mark.parametrize(
    ("cells", "first", "freq"),
    [
        (["01-Jan-23", "02-Jan-23", "03-Jan-23"], "2023-01-01", "D"),
        (["Jan-16", "Feb-16", "Mar-16"], "2016-01-01", "MS"),
        (["Dec-16", "Dec-17", "Dec-18", "Dec-19", "Dec-20"], "2016-12-01", "12MS"),
        (["2020-W52", "2020-W53", "2021-W01"], "2020-12-21", "7D"),
        (["1990", "1991", "1992", "1993"], "1990-01-01", "YS"),
        (["1990.0", "1991.0", "1992.0", "1993.0"], "1990-01-01", "YS"),
        (["1700000000", "1700003600"], "2023-11-14 22:13:20Z", "h"),
        (["1700000000000", "1700000060000"], "2023-11-14 22:13:20Z", "min"),
        (["1700000000000000000", "1700000060000000000"], "2023-11-14 22:13:20Z", "min"),
    ],
)
def test_dates_of_spreadsheets_and_databases(timeline, cells, first, freq):
    """They are read without an option, and the answer is written as they are."""
    read = timeline("when;load\n" + "".join(f"{cell};1990\n" for cell in cells))
    assert list(read.frame.index) == list(
        pd.date_range(first, periods=len(cells), freq=freq)
    )
    written = read.written(read.frame)["when"].astype(str)
    assert list(written) == [cell.removesuffix(".0") for cell in cells]


def test_numbers_that_count_no_time_are_no_dates(read, modules):
    """A load of 1990 kW is no year, and a date is better than a count."""
    text = "load;when\n1990;2024-01-01\n1991;2024-01-02\n1992;2024-01-03\n"
    assert read(text, "--target", "load").index[0] == pd.Timestamp("2024-01-01")
    with pytest.raises(
        modules[2].InputError, match=r"^no dates in the columns: 'a' has '1990'"
    ):
        read("a;load\n1990;1\n2011;2\n2003;3\n")
    assert list(
        read("year;load\n1990;1\n1992;2\n1993;3\n", "--freq=YS").index.year[[0, 3]]
    ) == [1990, 1993]


def test_years_of_a_panel_and_months_beside_years(read, modules):
    """Public statistics come so."""
    text = "".join(f"{name};{year};1\n" for year in range(1990, 1996) for name in "ab")
    frame = read(f"country;year;gdp\n{text}", "--series", "country")
    assert list(frame.loc["b"].index.year) == list(range(1990, 1996))
    text = "year;month;n\n" + "".join(
        f"{1990 + i // 12};{i % 12 + 1};{i}\n" for i in range(30)
    )
    with pytest.raises(modules[2].InputError, match="add --time 'year' --time 'month'"):
        read(text)
    frame = read(text, "--time", "year", "--time", "month")
    assert list(frame.index) == list(pd.date_range("1990-01-01", periods=30, freq="MS"))


def test_days_without_a_year_are_no_months(read, modules):
    """Jan-16, the day, was the month of a year in silence."""
    days = "".join(
        f"{day:%b-%d};1\n" for day in pd.date_range("2024-01-01", periods=40)
    )
    with pytest.raises(
        modules[2].InputError, match=r"^'Jan-01' \(line 2\) is a day without its"
    ):
        read("t;load\n" + days)


@pytest.mark.parametrize("first", ["08:00", "08:30"])
@pytest.mark.parametrize(("last_day", "n_hours"), [(4, 11), (5, 15), (6, 11)])
def test_opening_hours_are_followed_by_opening_hours(
    modules, timeline, first, last_day, n_hours
):
    """Nights and Sundays that are no rows must be no rows of the forecast."""
    hours = pd.date_range(f"2024-01-01 {first}", periods=24 * 28, freq="h")
    is_open = (
        (hours.hour < 8 + n_hours) & (hours.hour >= 8) & (hours.day_of_week <= last_day)
    )
    hours = hours[is_open]
    text = "t;load\n" + "".join(f"{hour};1\n" for hour in hours.delete(5))
    read = timeline(text)
    assert list(read.frame.index) == list(hours)
    after = read.clock.labels(np.arange(len(hours), len(hours) + n_hours + 1))
    assert list(after[[0, -1]]) == [hours[0] + pd.Timedelta(days=d) for d in (28, 29)]
    assert modules[0].rows_of_a_week(read.clock, 3) == len(hours) // 4


def test_closed_days_and_closed_half_hours(read):
    """Nights and Sundays are no steps, however long a step is."""
    days = pd.date_range("2024-01-01", periods=60)
    days = days[days.day_of_week < 6]
    frame = read("t;load\n" + "".join(f"{day:%Y-%m-%d};1\n" for day in days))
    assert list(frame.index) == list(days)
    halves = pd.date_range("2024-01-01", periods=48 * 14, freq="30min")
    halves = halves[(halves.hour >= 8) & (halves.hour < 18)]
    frame = read("t;load\n" + "".join(f"{half};1\n" for half in halves))
    assert list(frame.index) == list(halves)


@pytest.mark.slow
def test_the_time_of_day_may_have_its_own_column(read, rows):
    """Loggers write it so."""
    text = lines(
        rows,
        lambda when, load: f"{when:%Y-%m-%d};{when:%H:%M};{load}",
        "day;clock;load",
    )
    frame = read(text, "--time", "day", "--time", "clock")
    assert list(frame.index) == list(rows["when"])


def test_lines_that_repeat_another_are_left_out_and_told(read, capsys):
    """Exports that overlap hold rows twice."""
    frame = read("t;load\n2024-01-01;1\n2024-01-02;2\n2024-01-02;2\n")
    assert list(frame["load"]) == [1, 2]
    assert capsys.readouterr().out == "left out, the same as an earlier line: line 4\n"


@pytest.mark.parametrize(("keep", "value"), [("mean", 3), ("first", 2), ("last", 4)])
def test_duplicates_are_kept_as_told(read, keep, value):
    """What several rows of one time mean only the user knows."""
    frame = read(
        "t;load\n2024-01-01;1\n2024-01-02;2\n2024-01-02;4\n", "--duplicates", keep
    )
    assert list(frame["load"]) == [1, value]


def test_other_columns_are_left_out_with_a_reason(read, capsys):
    """One wrong cell must not take a column away unseen."""
    read("t;a;b;c;load\n2024-01-01;1;;x;5\n2024-01-02;n.v.;;y;6\n2024-01-03;3;;z;6\n")
    assert capsys.readouterr().out.splitlines() == [
        "left out, column 'a': 'n.v.' (line 3) is no number",
        "left out, column 'b': empty",
        "left out, column 'c': 'x' (line 2) is no number",
    ]


# What could be read in two ways is asked for


@pytest.mark.slow
@pytest.mark.parametrize(
    ("text", "option", "index", "load"),
    [
        ("t;load\n01/02/2024;1\n02/02/2024;2\n", "--dayfirst", "2024-02-01", 1),
        ("t;load\n02/01/2024;1\n02/02/2024;2\n", "--no-dayfirst", "2024-02-01", 1),
        (
            "t;load\n2024-02-01;1.234\n2024-02-02;2.345\n",
            "--decimal=,",
            "2024-02-01",
            1234,
        ),
        (
            't,load\n2024-02-01,"1,234"\n2024-02-02,1\n',
            "--decimal=.",
            "2024-02-01",
            1234,
        ),
        ("t load\n2024-02-01 1\n2024-02-02 2\n", "--sep=space", "2024-02-01", 1),
        ("t\tload\n2024-02-01\t1\n2024-02-02\t2\n", r"--sep=\t", "2024-02-01", 1),
    ],
)
def test_what_is_ambiguous_is_asked_for(read, modules, text, option, index, load):
    """A guess would be wrong half of the time, and nobody would see it."""
    if "sep" not in option:
        with pytest.raises(
            modules[2].InputError, match=option[:9].strip("=,.").replace("-no", "")
        ):
            read(text)
    frame = read(text, option)
    assert frame.index[0] == pd.Timestamp(index)
    assert frame["load"].iloc[0] == load


@pytest.mark.slow
@pytest.mark.parametrize(
    ("change", "options", "message"),
    [
        (lambda rows: "", (), "the file is empty."),
        (lambda rows: "\n,,\n", (), "the file holds separators only."),
        (
            lambda rows: b"PK\x03\0",
            (),
            "this is no text; save a spreadsheet as CSV first.",
        ),
        (lambda rows: b"\x1f\x8b1", (), "the file cannot be read: "),
        (lambda rows: "when,load\n", (), "the file has a header but no rows."),
        (
            lambda rows: 'a,b\n"b',
            (),
            'a quotation mark (") after line 1 is not closed at the separator.',
        ),
        (
            lambda rows: "when,load\n2024-01-01,5\n2024-01-02,5,5\n",
            (),
            "line 3 has 3 values, line 1 has 2, parted at ','; give another separator by --sep, "
            "or mend the line.",
        ),
        (
            lambda rows: "a,a\n1,2\n",
            (),
            "line 1 calls two columns 'a'; rename one of them.",
        ),
        (
            lambda rows: rows.drop(columns="when"),
            (),
            "no dates in the columns: 'id' has '0' (line 2), 'place' has 'here' (line 2), 'load' "
            "has '50.13' (line 2); write them as 2024-12-31 23:00, or name their column by --time.",
        ),
        (
            lambda rows: rows,
            ("--time", "load"),
            "line 2: '50.13' in column 'load' is no date (and 199 more like it); write",
        ),
        (
            lambda rows: rows,
            ("--time", "hour"),
            "--time hour: no such column; there are 'id', ",
        ),
        (
            lambda rows: rows,
            ("--target", "l"),
            "--target l: no such column; there are 'id', 'when",
        ),
        (
            lambda rows: rows,
            ("--series", "l"),
            "--series l: no such column; there are 'id', 'when",
        ),
        (
            lambda rows: rows,
            ("--series", "load", "--target", "load"),
            "--target load: the same column as --series.",
        ),
        (
            lambda rows: rows,
            ("--target", "place"),
            "line 2: 'here' in --target place is no number (and 199 more like it); leave a cell "
            "empty where the value is missing.",
        ),
        (
            lambda rows: rows.assign(load=[*rows["load"].astype(str)[:-1], "5 kW"]),
            (),
            "line 201: '5 kW' in --target load is no number; leave a cell empty where the value",
        ),
        (
            lambda rows: rows.assign(load="$1,203.77"),
            ("--target", "load"),
            "line 2: '$1,203.77' in --target load is no number (and 199 more like it); take '$' "
            "off.",
        ),
        (
            lambda rows: rows.assign(load=[*rows["load"][:-1], "1,5"]),
            (),
            "'1,5' (line 201) has a decimal comma, '50.13' (line 2) a decimal point; say by",
        ),
        (
            lambda rows: rows[["when", "place"]],
            (),
            "no column of numbers to forecast; there are",
        ),
        (
            lambda rows: rows.assign(load=""),
            ("--target", "load"),
            "load: the column is empty.",
        ),
        (
            lambda rows: rows.assign(
                when=["2024-02-30", *rows["when"].astype(str)[1:]]
            ),
            (),
            "line 2: '2024-02-30' in column 'when' is no date; write dates as",
        ),
        (
            lambda rows: rows.assign(
                when=["2024-01-01", "", *rows["when"].astype(str)[2:]]
            ),
            (),
            "line 3: an empty cell in column 'when' is no date; write dates as",
        ),
        (
            lambda rows: "t,load\n31/01/2024,1\n01/31/2024,2\n",
            (),
            "'31/01/2024' (line 2) has the day first, '01/31/2024' (line 3) the month; write all",
        ),
        (
            lambda rows: "t,load\n01/31/2024,1\n",
            ("--dayfirst",),
            "line 2: '01/31/2024' in column 't' is no date; write",
        ),
        (
            lambda rows: "t,load\n2024-01-31,1\n2024-02-01 00:00Z,1\n",
            (),
            "'2024-01-31' (line 2) has no offset from UTC, other dates have one; write",
        ),
        (
            lambda rows: rows.assign(load=range(200), when=rows["when"].dt.floor("2h")),
            (),
            "lines 2 and 3 are both of 2024-01-01 00:00:00 (and 99 more like it); say which to "
            "keep by --duplicates mean, first or last.",
        ),
        (
            lambda rows: rows.assign(
                clock=rows["when"].dt.strftime("%H:%M"), when=rows["when"].dt.floor("D")
            )[["when", "clock", "id"]],
            (),
            "if 'clock' is the time of day, add --time 'when' --time 'clock'.",
        ),
        (
            lambda rows: pd.concat([rows, rows.assign(place="there", load=1)]),
            (),
            "if 'place' names several series, add --series 'place'.",
        ),
        (
            lambda rows: rows.assign(place=["", *rows["place"][1:]]),
            ("--series", "place"),
            "line 2: the column --series place is empty.",
        ),
        (
            lambda rows: (
                "t,load\n2024-01-01,1\n2024-01-02,1\n2024-01-03,1\n2024-01-03 05:00,1\n"
            ),
            (),
            "rows are mostly 1 days apart, but 05:00:00 before 2024-01-03 05:00:00; name the step",
        ),
        (lambda rows: "t,load\n2024-01-01,1\n", (), "all rows are of one time."),
        (
            lambda rows: rows,
            ("--freq", "D"),
            "01:00:00 lies between two steps of 'D' (and 190 more",
        ),
        (
            lambda rows: rows,
            ("--freq", "min"),
            "11741 of 11941 time steps (frequency 'min') have no row, the fi",
        ),
        (
            lambda rows: rows,
            ("--freq", "zzz"),
            "--freq zzz: no step; there are min, h, D, B, W, MS",
        ),
        (
            lambda rows: rows,
            ("--freq=-1h",),
            "--freq -1h: no step; there are min, h, D, B, W, MS",
        ),
        (
            lambda rows: rows[:50],
            ("--test", "49"),
            "50 rows are too few: 49 to test on and 2 to train on are needed; lower --test.",
        ),
        (
            lambda rows: rows[:50],
            ("--series", "place", "--test", "49"),
            "50 rows in the longest series are too few: 49 to test on and 2 to train on are",
        ),
        (
            lambda rows: rows,
            ("--known", "l"),
            "--known l: no such column; there are 'id', 'when",
        ),
        (
            lambda rows: rows,
            ("--known", "place"),
            "line 2: 'here' in --known place is no number (and 199 more like it); leave a cell",
        ),
        (
            lambda rows: rows,
            ("--known", "load", "--target", "load"),
            "--known load: the same column as --target.",
        ),
        (
            lambda rows: rows[["when", "id"]],
            ("--known", "id"),
            "no column of numbers to forecast; there are 'id'.",
        ),
        (
            lambda rows: rows,
            ("--coverage", "80"),
            "--coverage 80: must lie between 0 and 1, such",
        ),
        (lambda rows: rows, ("--test", "0"), "--test 0: must be at least 1."),
        (
            lambda rows: rows.assign(id=[*[""] * 190, *rows["id"][190:]]),
            (),
            "column 'id' is empty in all rows to train on; lower --test.",
        ),
    ],
)
def test_bad_input_gives_one_line_and_status_2(
    example, write, rows, tmp_path, capsys, change, options, message
):
    """A user of the command line needs advice for the command line."""
    path = write(change(rows))
    assert example.main([str(path), *QUICK, "--output", str(tmp_path), *options]) == 2
    error = capsys.readouterr().err
    assert message in error
    assert error.startswith(f"forecast_csv: {path}: ")
    assert error.count("\n") == 1
    assert not any(word in error for word in ("X.", "pd.", "np.", "index", "None"))


def test_a_path_that_is_no_file_gives_one_line_and_status_2(example, tmp_path, capsys):
    """The commonest mistake of all."""
    for path, message in [
        (tmp_path / "none.csv", "no such file."),
        (tmp_path, "this is a folder; name a file in it."),
    ]:
        assert example.main([str(path), "--output", str(tmp_path)]) == 2
        assert capsys.readouterr().err == f"forecast_csv: {path}: {message}\n"


def test_a_note_is_printed_once_wherever_it_comes_from(
    example, write, rows, monkeypatch, capsys
):
    """A block that catches warnings makes Python forget which ones were shown."""

    def run(options):
        for note in ("a gap", "a gap", "another gap"):
            warnings.warn(note, UserWarning, stacklevel=1)
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")

    monkeypatch.setattr(example, "run", run)
    assert example.main([str(write(rows))]) == 0
    assert capsys.readouterr().out == "note: a gap\nnote: another gap\n"


def test_a_separator_is_one_sign(example, capsys):
    """The parser says so with status 2 itself."""
    with pytest.raises(SystemExit, match="2"):
        example.parse_options(["data.csv", "--sep", "semicolon"])
    assert "'semicolon' is not one sign, or the word tab" in capsys.readouterr().err


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:.* is taken as missing:UserWarning")
def test_the_rivals_do_not_learn_a_typing_error_either(example, rows):
    """A ridge that did was off by a hundred times as much, and flattered what it is beside."""
    clean = pd.DataFrame(
        {"load": rows["load"].to_numpy()}, index=pd.Index(rows["when"])
    )
    spoilt = clean.copy()
    spoilt.iloc[100] *= 1000
    sizes, errors = {"seq_len": 24, "pred_len": 6}, []
    for frame in (clean, spoilt):
        train, test = frame[:176], frame[176:]
        model = example.InformerRegressor(
            target=["load"], members=["ridges"], **sizes
        ).fit(train)
        rivals = example.make_rivals(["load"], season=None, **sizes)
        table = example.error_table(example.compare(model, rivals, train, test))
        errors.append(table.loc["ridge on lags", "all"])
    assert errors[1] < 1.2 * errors[0]
