"""The benchmark follows the protocol that published tables share."""

import json
import os
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from skinformer.benchmark import load_series, main, measure, split_rows
from skinformer.estimators.regressor import InformerRegressor
from skinformer.evaluation.windows import forecast_windows

SMALL = {"seq_len": 12, "d_model": 8, "n_heads": 2, "max_iter": 1}
DATA = Path(
    os.environ.get("SKINFORMER_BENCH_DATA", Path(__file__).resolve().parents[2] / "shared" / "data")
)


@pytest.fixture
def frame():
    hours = pd.date_range("2024-01-01", periods=300, freq="h", name="date")
    rng = np.random.default_rng(0)
    wave = np.sin(np.arange(300) * 2 * np.pi / 24)
    return pd.DataFrame({"a": 50 + 9 * wave, "OT": wave + rng.normal(size=300) / 9}, index=hours)


@pytest.mark.parametrize(
    ("name", "n_rows", "expected"),
    [
        ("ETTh2", 17420, (8640, 11520, 14400)),
        ("ETTm1", 69680, (34560, 46080, 57600)),
        ("WTH", 35064, (24544, 28052, 35064)),
    ],
)
def test_borders_are_the_published_ones(name, n_rows, expected):
    """Other borders make numbers that no table can be compared with."""
    assert split_rows(name, n_rows) == expected


def test_references_are_measured_on_every_window(frame):
    """Dropping the last incomplete batch changes results by up to 15 %."""
    split = split_rows("any", len(frame))
    table = measure(frame, split, horizon=6, parameters=SMALL)
    train = frame[: split.train]
    scaled = ((frame - train.mean()) / train.std(ddof=0)).to_numpy()
    errors = [
        (scaled[origin - 1] - scaled[origin + step]) ** 2
        for origin in range(split.validation, split.test - 6 + 1)
        for step in range(6)
    ]
    assert table.loc["last value", "mse"] == pytest.approx(np.mean(errors))
    assert np.isfinite(table.loc["InformerRegressor", ["mse", "mae", "fit_s"]]).all()


def test_the_ridge_is_chosen_without_the_test_rows(frame):
    """A reference that saw the test rows would be a bar nobody can reach."""
    split = split_rows("any", len(frame))
    changed = frame.copy()
    changed.iloc[split.validation :] *= np.linspace(1, 3, len(frame) - split.validation)[:, None]
    names = [
        measure(rows, split, horizon=6, parameters=SMALL).index[-1] for rows in (frame, changed)
    ]
    assert names[0] == names[1]
    assert names[0].startswith("ridge (")


def test_test_rows_change_neither_training_nor_earlier_forecasts(frame):
    """The model and its scale come from the rows before the test rows alone."""
    split = split_rows("any", len(frame))
    model = InformerRegressor(["a", "OT"], pred_len=6, **SMALL).fit(frame[: split.validation])
    origins = np.arange(split.validation, split.test - 5)
    changed = frame.copy()
    changed.iloc[split.validation + 3 :] *= 7
    before, after = (forecast_windows(model, rows, origins) for rows in (frame, changed))
    np.testing.assert_array_equal(before[:4], after[:4])
    assert not np.array_equal(before[4:], after[4:])


def test_windows_are_the_forecasts_of_predict(frame):
    """The benchmark must not measure another model than users get."""
    model = InformerRegressor(["a", "OT"], pred_len=6, **SMALL).fit(frame[:240])
    windows = forecast_windows(model, frame, np.arange(240, 295, 6))
    np.testing.assert_allclose(windows.reshape(-1, 2), model.predict(frame[240:]), rtol=1e-6)


def test_the_command_line_writes_what_it_prints(frame, tmp_path, capsys):
    """A number in the docs must come from a file that the command made."""
    frame.to_csv(tmp_path / "load.csv")
    options = ["--horizon", "6", "--columns", "S", "--output", str(tmp_path / "result.json")]
    parameters = ["--parameters", json.dumps(SMALL | {"verbose": 0})]
    assert main(["--data", str(tmp_path / "load.csv"), *options, *parameters]) == 0
    result = json.loads((tmp_path / "result.json").read_text())
    [run] = result["runs"]
    assert run["parameters"]["d_model"] == 8
    printed = capsys.readouterr().out
    assert f"{run['results']['InformerRegressor']['mse']:.4f}" in printed
    assert "last value" in printed


def test_a_recipe_gives_way_to_parameters(frame, tmp_path):
    """The tables of the docs are made by recipes with one value changed."""
    frame.to_csv(tmp_path / "load.csv")
    result = tmp_path / "result.json"
    files = ["--data", str(tmp_path / "load.csv"), "--output", str(result)]
    parameters = json.dumps(SMALL | {"window_norm": True, "verbose": 0})
    options = ["--horizon", "6", "--recipe", "NOTE", "--parameters", parameters]
    assert main([*files, *options]) == 0
    used = json.loads(result.read_text())["runs"][0]["parameters"]
    assert (used["init"], used["window_norm"]) == ("normal", True)


def test_a_missing_file_is_one_line(capsys):
    """A wrong path is a mistake of the user's, not a traceback."""
    with pytest.raises(SystemExit, match="2"):
        main(["--data", "no_such.csv", "--horizon", "6"])
    assert "no_such.csv: no such file" in capsys.readouterr().err


@pytest.mark.slow
@pytest.mark.skipif(not (DATA / "ETTh1.csv").exists(), reason="ETTh1.csv is not there")
def test_etth1_univariate_is_far_below_the_published_informer():
    """One epoch at 96 -> 24: at most .045; published .098, repeating the last value .034."""
    frame = load_series(DATA / "ETTh1.csv")[["OT"]]
    parameters = {"max_iter": 1, "random_state": 0}
    table = measure(frame, split_rows("ETTh1", len(frame)), horizon=24, parameters=parameters)
    assert table.loc["last value", "mse"] == pytest.approx(0.034, abs=5e-4)
    assert table.loc["InformerRegressor", "mse"] <= 0.045
