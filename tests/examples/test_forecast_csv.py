"""The CSV example: a picture for a good file, one line and status 2 for a bad one."""

import subprocess
import sys
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

SCRIPT = Path(__file__).resolve().parents[2] / "examples" / "forecast_csv.py"
QUICK = ("--seq-len", "24", "--pred-len", "6", "--epochs", "1")


@pytest.fixture(scope="module")
def example():
    """Import the script as Python does when it is run: its folder comes first."""
    sys.path.insert(0, str(SCRIPT.parent))
    try:
        import forecast_csv
    finally:
        sys.path.remove(str(SCRIPT.parent))
    return forecast_csv


@pytest.fixture(scope="module")
def rows():
    hours = pd.date_range("2024-01-01", periods=200, freq="h")
    rng = np.random.default_rng(0)
    load = 50 + 10 * np.sin(hours.hour * 2 * np.pi / 24) + rng.normal(size=200)
    return pd.DataFrame({"id": range(200), "when": hours, "place": "here", "load": load})


@pytest.fixture
def write(tmp_path):
    def write(rows):
        path = tmp_path / "data.csv"
        if isinstance(rows, str):
            path.write_text(rows, encoding="utf-8")
        else:
            rows.to_csv(path, index=False)
        return path

    return write


@pytest.mark.slow
def test_good_file_gives_a_table_and_a_picture(write, rows, tmp_path):
    """As a user runs it: another folder, another process, all defaults but the sizes."""
    write(rows)
    command = [sys.executable, "-W", "error", str(SCRIPT), "data.csv", *QUICK]
    done = subprocess.run(command, capture_output=True, text=True, check=False, cwd=tmp_path)
    assert (done.returncode, done.stderr) == (0, "")
    for name in ("InformerRegressor", "last value", "ridge on lags", "place", "epoch 1/1"):
        assert name in done.stdout
    assert str(tmp_path / "forecast.png") in done.stdout
    assert (tmp_path / "forecast.png").read_bytes().startswith(b"\x89PNG")


@pytest.mark.slow
def test_missing_values_of_the_target_are_taken(example, write, rows, tmp_path, capsys):
    """Gaps in measurements are the rule in files from outside."""
    holes = rows.drop(columns="id")
    holes.loc[[0, 50, 190], "load"] = np.nan
    path = write(holes)
    assert example.main([str(path), *QUICK, "--output", str(tmp_path / "p.png")]) == 0
    assert "nan" not in capsys.readouterr().out.lower()


@pytest.mark.slow
def test_a_week_of_rows_adds_the_seasonal_rival(example, write, rows, tmp_path, capsys):
    """Daily rows have a week of seven."""
    daily = rows.assign(when=pd.date_range("2024-01-01", periods=200, freq="D"))
    options = [*QUICK, "--output", str(tmp_path / "p.png")]
    assert example.main([str(write(daily)), *options]) == 0
    assert "weekly seasonal naive" in capsys.readouterr().out


def test_dates_with_changing_offsets_are_read(example):
    """A file of local time over a daylight-saving change holds two offsets."""
    dates = example.parse_dates(pd.Series(["2024-04-07T02:00+13:00", "2024-04-07T02:00+12:00"]))
    assert dates[1] - dates[0] == pd.Timedelta(hours=1)


def test_numbers_are_no_dates(example):
    """They would be read as nanoseconds since 1970."""
    assert example.parse_dates(pd.Series([1, 2, 3])) is None


@pytest.mark.parametrize(
    ("change", "options", "message"),
    [
        (lambda rows: "", (), "the file is empty."),
        (lambda rows: "when,load\n", (), "the file has a header but no rows."),
        (lambda rows: 'a\n"b', (), "cannot be read as a CSV: "),
        (lambda rows: rows.drop(columns="when"), (), "no dates in columns 'id', 'place', 'load'."),
        (lambda rows: rows, ("--time", "load"), "no dates in column 'load'."),
        (lambda rows: rows, ("--time", "hour"), "--time hour: no such column; there are 'id', "),
        (lambda rows: rows, ("--target", "l"), "--target l: no such column; there are 'id', "),
        (lambda rows: rows, ("--target", "place"), "holds values that are no numbers, such as 'h"),
        (lambda rows: rows[["when", "place"]], (), "no column of numbers to forecast;"),
        (lambda rows: rows[:50], (), "50 rows are too few: --seq-len 24 + --pred-len 6 + 24 rows"),
        (lambda rows: rows, ("--test", "0"), "--test 0: must be at least 1."),
        (lambda rows: rows, ("--output", "no/such/p.png"), "its folder does not exist."),
        (lambda rows: rows.drop(index=[7, 9]), (), "X.index lacks 2 timestamps, the first 2024"),
        (lambda rows: rows[::-1], (), "X.index is not in time order"),
        (lambda rows: rows, ("--freq", "D"), "X.index does not lie on freq='D'"),
        (lambda rows: rows, ("--freq", "zzz"), "Invalid frequency: zzz"),
    ],
)
def test_bad_input_gives_one_line_and_status_2(
    example, write, rows, capsys, change, options, message
):
    """A traceback tells a stranger nothing."""
    path = write(change(rows))
    assert example.main([str(path), *QUICK, *options]) == 2
    error = capsys.readouterr().err
    assert message in error
    assert error.startswith("forecast_csv: ")
    assert error.count("\n") == 1


def test_missing_file_gives_one_line_and_status_2(example, tmp_path, capsys):
    """The commonest mistake of all."""
    assert example.main([str(tmp_path / "none.csv")]) == 2
    assert capsys.readouterr().err.endswith("none.csv: no such file.\n")
