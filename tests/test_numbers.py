"""Numbers of README, guides and docstrings are those of the file that one command writes."""

import importlib.util
import inspect
import json
import re
from pathlib import Path

import pytest

from skinformer import InformerClassifier, InformerRegressor

ROOT = Path(__file__).resolve().parent.parent
QUOTED = json.loads((ROOT / "docs/quoted_numbers.json").read_text(encoding="utf-8"))
CODE, RECORDS, MEASURED = (QUOTED[part] for part in ("code", "records", "measured"))
METHODS = ["skinformer", "boosting on lags", "ridge on lags", "seasonal naive"]
FIRST_PAGES = ("README.md", "docs/index.md")


def read(page):
    """Return the text of a page, or the docstring of an object, on one line."""
    if isinstance(page, str):
        text = (ROOT / page).read_text(encoding="utf-8")
    else:
        text = inspect.getdoc(page)
    return " ".join(text.replace("**", "").split())


@pytest.fixture(scope="module")
def script():
    path = ROOT / "docs/quoted_numbers.py"
    spec = importlib.util.spec_from_file_location("quoted_numbers", path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_the_file_holds_what_the_code_and_the_records_say_today(script):
    """A constant that changed, or a table that was measured again: run the command."""
    assert script.read_code() == CODE
    assert script.read_records() == RECORDS


@pytest.mark.parametrize(
    ("page", "sentence"),
    [
        (InformerRegressor, "Trees need {rows_of_trees} rows"),
        (InformerRegressor, "fewer rows than {windows_of_ridges} windows"),
        (InformerRegressor, "In panels below {windows_of_a_panel} windows"),
        (InformerRegressor, "is first trained on {rows_of_a_trial} windows"),
        (InformerRegressor, "default={seq_len} Length of the context"),
        (InformerRegressor, "default={pred_len} Steps that are forecast at once"),
        (InformerClassifier, "They need {rows_of_trees} rows"),
        ("docs/members.md", "| trees | {rows_of_trees:,} rows |"),
        ("docs/tuning.md", "take part from {rows_of_trees:,} rows on"),
        ("docs/members.md", "| fewer than {windows_of_ridges} windows |"),
        ("docs/members.md", "| 1 window | {windows_of_a_panel} windows |"),
        ("docs/members.md", "`seq_len + {forecasts_of_the_network} pred_len` rows"),
        ("docs/basics.md", "more than {blocks_of_a_chain} blocks after it"),
        ("docs/trainer.md", "up to {rows_of_a_trial:,} validation windows"),
        (
            "docs/intervals.md",
            "the {forecasts_of_a_range} forecasts that ended before it",
        ),
    ],
)
def test_constants_are_those_of_the_code(page, sentence):
    """A user who counts rows by a page must get what it promises."""
    assert sentence.format(**CODE) in read(page)


@pytest.mark.parametrize("page", FIRST_PAGES)
def test_benchmarks_of_the_first_pages_are_those_on_record(page):
    """The numbers that others repeat."""
    text = read(page)
    names = {"bicycle rentals": "bike_sharing", "electricity demand": "vic_electricity"}
    for label, name in names.items():
        errors = " | ".join(str(RECORDS[name][method]) for method in METHODS)
        assert re.search(rf"\| {label}[^|]*\| {re.escape(errors)} \|", text)
    panels = RECORDS["nine panels"]
    assert (
        f"is {panels['skinformer']}, compared with {panels['ETS']} for ETS, "
        f"{panels['Theta']} for Theta and {panels['Chronos-Bolt']} for Chronos-Bolt"
    ) in text
    ratios = [RECORDS[f"{name}, ratio to DUET"] for name in ("ETTh1", "ETTm1", "ETTh2")]
    assert "is {}, {} and {} times".format(*ratios) in text


@pytest.mark.parametrize("page", FIRST_PAGES)
def test_the_leaderboard_of_the_first_pages_is_the_one_that_was_measured(page):
    """Each row as the first lines of code give it."""
    text = read(page)
    for member, row in MEASURED["leaderboard"].items():
        errors = ["NaN" if row[name] is None else f"{row[name]:.3f}" for name in row]
        assert " ".join([member, f"{row['weight']:.2f}", *errors[1:]]) in text


def test_the_quickstart_shows_what_was_measured():
    """With and without the month that settings were chosen on."""
    text = read("docs/quickstart.md")
    table = MEASURED["quickstart"]
    for name, errors in table.items():
        assert f"{name} {errors['half year']} {errors['Christmas']}" in text
    without = [str(errors["without November"]) for errors in table.values()]
    sentence = f"{', '.join(without[:-1])} and {without[-1]}"
    assert f"without November the errors are {sentence}" in text


def test_the_ten_minute_start_shows_what_was_measured():
    """The table that a newcomer compares with the own screen."""
    text = read("docs/start.md")
    for name, error in MEASURED["start"].items():
        assert f"{name} {error:.4f}" in text


def test_the_table_of_machines_follows_from_the_seconds_above_it():
    """It is computed, not measured."""
    text = read("docs/machines.md")
    path = ROOT / "examples/benchmarks/machines.py"
    spec = importlib.util.spec_from_file_location("machines", path)
    machines = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(machines)
    labels = ("hours takes", "thousand series takes", "them takes", "process takes")
    fit, forecast, files, start = (
        float(re.search(rf"{label} ([\d.]+\d)", text)[1]) for label in labels
    )
    series = {
        "forecast of 1000 series": forecast,
        "read and write of 1000 series": files,
        "start of a worker": start,
        "fit on 500 series": 1.7,
        "load": 0.05,
    }
    labels = {
        "search": "search:",
        "backtest": "backtest with a refit",
        "series": "10 million",
    }
    for kind, label in labels.items():
        found = re.search(
            rf"\| {label}[^|]*\| ([\d,]+) \| ([\d,]+) \| ([\d,]+) \|", text
        )
        shown = [float(seconds.replace(",", "")) for seconds in found.groups()]
        computed = [
            machines.compute_seconds({"fit": fit}, series, n)[kind]
            for n in (1, 10, 1000)
        ]
        assert shown == pytest.approx(computed, rel=0.01, abs=0.6)
