"""The benchmark of driven series measures by its protocol."""

import dataclasses
import json

import numpy as np
import pandas as pd
import pytest
from driver_methods import (
    forecast_boosting,
    forecast_ridge,
    forecast_tabular,
    forecast_weekly_naive,
    make_forecaster,
)
from drivers import load_driven, measure_driven
from measure import main

SMALL = {
    "seq_len": 24,
    "network__d_model": 8,
    "network__n_heads": 1,
    "training__max_iter": 1,
    "training__max_windows": 64,
}


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Two hundred days of half hours, which the temperature drives; a text column beside it."""
    times = pd.date_range("2023-01-01", periods=200 * 48 + 5, freq="30min")
    hour = np.arange(len(times)) // 2
    generator = np.random.default_rng(0)
    warm = 10 + np.repeat(generator.normal(size=len(times) // 24 + 1), 24)[: len(times)]
    load = 50 + 10 * np.sin(hour * np.pi / 12) + 3 * warm
    frame = pd.DataFrame({"load": load, "sky": "clear", "warm": warm}, index=times)
    path = tmp_path_factory.mktemp("drivers")
    frame.rename_axis("time").to_csv(path / "tiny.csv.gz")
    frame[:4800].to_csv(path / "short.csv.gz")
    return path


def test_the_last_sixty_whole_days_are_forecast_each_midnight(folder):
    driven = load_driven("tiny", folder)
    assert list(driven.frame.columns) == ["load", "warm"]
    assert len(driven.frame) == 200 * 24
    assert driven.n_train == 140 * 24
    # From the last midnight the second day cannot be measured.
    assert len(driven.origins) == 59
    assert set(driven.frame.index[driven.origins].hour) == {0}
    assert driven.ahead[-1, -1] == len(driven.frame) - 1


def test_rows_are_hourly_means(folder):
    rows = pd.read_csv(folder / "tiny.csv.gz")["warm"]
    assert load_driven("tiny", folder).frame["warm"].iloc[7] == pytest.approx(
        rows[14:16].mean()
    )


def test_development_never_holds_a_test_row(folder):
    driven, whole = (
        load_driven("tiny", folder, development=True),
        load_driven("tiny", folder),
    )
    assert len(driven.frame) == whole.n_train
    assert driven.n_train == 80 * 24


def test_without_drivers_the_target_is_left(folder):
    assert list(load_driven("tiny", folder, drivers=False).frame.columns) == ["load"]


def test_errors_are_those_computed_by_hand(folder):
    """A forecast that is two too high has these errors, rows of two origins count twice."""
    driven = load_driven("tiny", folder)
    truth = driven.frame["load"].to_numpy()[driven.ahead]
    table = measure_driven(
        driven, {"high": lambda _: truth + 2, "low": lambda _: truth - 1}
    )
    assert table.loc["high", "MAE"] == pytest.approx(2)
    assert table.loc["low", "RMSE"] == pytest.approx(1)
    assert table.loc["low", "relative"] == pytest.approx(0.5)


def test_the_weekly_naive_repeats_the_week_before(folder):
    driven = load_driven("tiny", folder)
    values = driven.frame["load"].to_numpy()
    got = forecast_weekly_naive(driven)
    assert got.shape == (59, 48)
    np.testing.assert_array_equal(got[3, :2], values[driven.origins[3] - 168 :][:2])


@pytest.mark.parametrize(
    "forecast",
    [
        forecast_ridge,
        pytest.param(forecast_boosting, marks=pytest.mark.slow),
        pytest.param(forecast_tabular, marks=pytest.mark.slow),
        pytest.param(
            make_forecaster(SMALL | {"random_state": 0}), marks=pytest.mark.slow
        ),
    ],
)
def test_no_method_sees_what_it_forecasts(folder, forecast):
    """All truths from the last origin on may change: forecasts stay as they are."""
    driven = load_driven("tiny", folder)
    n_left_out = 80 * 24  # the first rows, for speed
    driven = dataclasses.replace(
        driven, frame=driven.frame[n_left_out:], n_train=driven.n_train - n_left_out
    )
    changed = driven.frame.copy()
    changed.loc[changed.index[driven.origins[-1] :], "load"] = changed["load"].max()
    first = forecast(driven)
    second = forecast(type(driven)("x", changed, driven.n_train))
    assert first.shape == (59, 48)
    np.testing.assert_array_equal(first, second)


def test_methods_use_the_drivers(folder):
    """The temperature of the day decides: only who sees it ahead can be right."""
    driven, blind = (
        load_driven("tiny", folder),
        load_driven("tiny", folder, drivers=False),
    )
    error = {
        key: measure_driven(part, {"ridge": forecast_ridge})["MAE"].item()
        for key, part in {"seen": driven, "blind": blind}.items()
    }
    assert error["seen"] < 0.5 * error["blind"]


def test_the_command_measures_and_keeps_results(folder, tmp_path, capsys):
    output = tmp_path / "out.json"
    command = [
        "--drivers",
        "tiny",
        "--drivers-folder",
        str(folder),
        "--method",
        "ridge",
    ]
    main([*command, "--development", "--target-only", "--output", str(output)])
    assert "weekly naive" in capsys.readouterr().out
    kept = json.loads(output.read_text())
    assert kept["development"]
    assert kept["target_only"]
    assert kept["series"]["tiny"]["ridge"]["MAE"] > 0


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("nowhere", "--drivers nowhere: No such file or directory"),
        (
            "short",
            "--drivers short: short holds 100 whole days: 60 are forecast, and at least as many "
            "have to come before them.",
        ),
    ],
)
def test_what_cannot_be_measured_is_named(folder, capsys, name, said):
    with pytest.raises(SystemExit):
        main(["--drivers", name, "--drivers-folder", str(folder)])
    assert said in " ".join(capsys.readouterr().err.split())
