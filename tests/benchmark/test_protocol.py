"""The benchmark follows the protocol that published tables share."""

import json
import os
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from measure import main
from protocol import load_series, measure, split_rows
from sklearn.tree import DecisionTreeRegressor
from windows import forecast_windows

from skinformer.estimators.regressor import InformerRegressor
from skinformer.ridge import phases
from skinformer.selection import SHARES

DAY, HALF = pd.Timedelta(days=1), pd.Timedelta(minutes=30)
SMALL = {
    "seq_len": 12,
    "network__d_model": 8,
    "network__n_heads": 2,
    "training__max_iter": 1,
}
DATA = Path(
    os.environ.get(
        "SKINFORMER_BENCH_DATA", Path(__file__).resolve().parents[2] / "shared" / "data"
    )
)


def make_frame(n):
    hours = pd.date_range("2024-01-01", periods=n, freq="h", name="date")
    rng = np.random.default_rng(0)
    wave = np.sin(np.arange(n) * 2 * np.pi / 24)
    return pd.DataFrame(
        {"a": 50 + 9 * wave, "OT": wave + rng.normal(size=n) / 9}, index=hours
    )


@pytest.fixture
def frame():
    return make_frame(300)


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


@pytest.mark.slow
def test_parts_are_those_of_the_same_fit(monkeypatch):
    """A table that compares them must not compare two trainings."""
    frame = make_frame(500)  # more windows than features of the hour
    monkeypatch.setattr("skinformer.judging.weights.mean_log_share", lambda *_, **__: 8)
    monkeypatch.setattr(
        "skinformer.judging.weights.network_share", lambda *_, **__: 0.5
    )
    # A half of .1.
    monkeypatch.setattr(phases, "upper_bound_share", lambda _: 3 * len(SHARES) + 10)
    split = split_rows("any", len(frame))
    small = {**SMALL, "random_state": 0}
    trees = {
        **small,
        "members": [
            "ridges",
            DecisionTreeRegressor(max_depth=3, random_state=0),
            "network",
        ],
    }

    def measured(parameters, **options):
        table = measure(
            frame, split, horizon=6, parameters=parameters, references=False, **options
        )
        return table["mse"]

    parts = measured(trees, parts=True)
    assert len(parts) == len(set(parts)) == 6
    assert parts["InformerRegressor"] == measured(trees).item()
    assert parts["network alone"] == measured({**small, "members": ["network"]}).item()
    monkeypatch.setattr(
        "skinformer.judging.weights.network_share", lambda *_, **__: 0.0
    )
    assert parts["ridges and trees"] == measured(trees).item()
    assert (
        parts["ridges by the hour"]
        == measured({**small, "members": ["ridges", "network"]}).item()
    )
    monkeypatch.setattr(phases, "upper_bound_share", lambda _: 0)
    assert (
        parts["ridges alone"]
        == measured({**small, "members": ["ridges", "network"]}).item()
    )
    requested = []
    monkeypatch.setattr(
        "protocol.forecast_windows",
        lambda *given: requested.append(given) or forecast_windows(*given),
    )
    parts = measured({**small, "members": ["ridges", "network"]}, parts=True)
    assert len(requested) == 2  # the fit and the network alone: all parts say the same
    assert parts["ridges alone"] == parts["InformerRegressor"] != parts["network alone"]


def test_the_ridge_is_chosen_without_the_test_rows(frame):
    """A reference that saw the test rows would be a bar nobody can reach."""
    split = split_rows("any", len(frame))
    changed = frame.copy()
    changed.iloc[split.validation :] *= np.linspace(
        1, 3, len(frame) - split.validation
    )[:, None]
    names = [
        measure(rows, split, horizon=6, parameters=SMALL).index[-1]
        for rows in (frame, changed)
    ]
    assert names[0] == names[1]
    assert names[0].startswith("ridge (")


def test_test_rows_change_neither_training_nor_earlier_forecasts(frame):
    """The model and its scale come from the rows before the test rows alone."""
    split = split_rows("any", len(frame))
    model = InformerRegressor(["a", "OT"], pred_len=6).set_params(**SMALL)
    model.fit(frame[: split.validation])
    origins = np.arange(split.validation, split.test - 5)
    changed = frame.copy()
    changed.iloc[split.validation + 3 :] *= 1.5
    before, after = (
        forecast_windows(model, rows, origins) for rows in (frame, changed)
    )
    np.testing.assert_array_equal(before[:4], after[:4])
    assert not np.array_equal(before[4:], after[4:])


@pytest.mark.parametrize("transform", [None, "log"])
def test_windows_are_the_forecasts_of_predict(frame, transform):
    """The benchmark must not measure another model than users get, nor in other units."""
    frame = np.exp(frame)
    model = InformerRegressor(["a", "OT"], pred_len=6, target_transform=transform)
    model.set_params(**SMALL).fit(frame[:240])
    windows = forecast_windows(model, frame, np.arange(240, 295, 6))
    np.testing.assert_allclose(
        windows.reshape(-1, 2), model.predict(frame[240:]), rtol=1e-6
    )


def test_the_command_line_writes_what_it_prints(frame, tmp_path, capsys):
    """A number in the docs must come from a file that the command made."""
    frame.to_csv(tmp_path / "load.csv")
    options = [
        "--horizon",
        "6",
        "--columns",
        "S",
        "--output",
        str(tmp_path / "result.json"),
    ]
    parameters = ["--parameters", json.dumps(SMALL | {"verbose": 0})]
    assert main(["--data", str(tmp_path / "load.csv"), *options, *parameters]) == 0
    result = json.loads((tmp_path / "result.json").read_text())
    [run] = result["runs"]
    assert run["parameters"]["network__d_model"] == 8
    printed = capsys.readouterr().out
    assert f"{run['results']['InformerRegressor']['mse']:.4f}" in printed
    assert "last value" in printed


def test_a_recipe_gives_way_to_parameters(frame, tmp_path):
    """The tables of the docs are made by recipes with one value changed."""
    frame.to_csv(tmp_path / "load.csv")
    result = tmp_path / "result.json"
    files = ["--data", str(tmp_path / "load.csv"), "--output", str(result)]
    parameters = json.dumps(
        SMALL | {"network__window_norm": True, "network__block__qk_norm": True}
    )
    options = ["--horizon", "6", "--recipe", "NOTE", "--parameters", parameters]
    assert main([*files, *options]) == 0
    used = json.loads(result.read_text())["runs"][0]["parameters"]
    assert "block='note'" in used["network"]
    assert used["network__window_norm"] is True


def test_missing_values_are_left_out_of_every_error(frame):
    """Real series have gaps; NaN would spread from one of them to all numbers."""
    split = split_rows("any", len(frame))
    runs = frame.copy()
    runs.iloc[[0, 5, 60, split.train + 3, split.validation + 7, -2], 1] = np.nan
    table = measure(runs, split, horizon=6, parameters=SMALL)
    assert np.isfinite(table[["mse", "mae"]]).all(axis=None)
    train = runs[: split.train]
    scaled = (runs - train.mean()) / train.std(ddof=0)
    seen, truth = scaled.ffill().to_numpy(), scaled.to_numpy()
    errors = [
        (seen[origin - 1] - truth[origin + step]) ** 2
        for origin in range(split.validation, split.test - 6 + 1)
        for step in range(6)
    ]
    assert table.loc["last value", "mse"] == pytest.approx(np.nanmean(errors))


def test_a_series_without_holes_is_measured_as_if_holes_were_unknown(frame):
    """Nothing may change for the published series, which have none."""
    split = split_rows("any", len(frame))
    values = frame.to_numpy()
    train = values[: split.train]
    scaled = (values - train.mean(axis=0)) / train.std(axis=0)
    places = np.arange(split.validation, split.test - 5)[:, None] + np.arange(6)
    table = measure(frame, split, horizon=6, parameters=SMALL)
    error = np.abs(scaled[places - 24] - scaled[places]).mean()
    assert table.loc["last 24 rows", "mae"] == pytest.approx(error)


def as_text(frame, change=None):
    return (frame if change is None else change(frame)).to_csv()


def shorter(n_rows):
    return lambda frame: as_text(frame[:n_rows])


def replaced(place, column, value):
    def change(frame):
        cells = frame.astype(object)
        cells.iloc[place, column] = value
        return as_text(cells)

    return change


@pytest.mark.parametrize(
    ("text", "options", "message"),
    [
        (
            lambda frame: "",
            (),
            "there are no values: the first column is time, the others are",
        ),
        (
            lambda frame: "date,a\n",
            (),
            "there are no values: the first column is time, the ot",
        ),
        (
            lambda frame: "date\n2024-01-01\n",
            (),
            "there are no values: the first column is time",
        ),
        (lambda frame: "a,b\n1,2\n1,2,3,4\n", (), "Expected 2 fields in line 3, saw 4"),
        (
            lambda frame: "date;Größe",
            (),
            "the file is not in UTF-8: save it so, or unpack it.",
        ),
        (replaced(3, 0, "x"), (), "column 'a' holds 'x', which is no number."),
        (
            lambda frame: frame.to_csv(index=False),
            (),
            "the first column must be time, '50.0' is n",
        ),
        (
            lambda frame: as_text(frame).replace("2024-01-02 03", "n"),
            (),
            "time, 'n:00:00' is no",
        ),
        (lambda frame: as_text(frame[::-1]), (), "10:00:00 stands after 2024-01-13 11"),
        (
            lambda frame: as_text(frame.iloc[[0, 1, 1, 2]]),
            (),
            "sort the rows, each time must come",
        ),
        (
            lambda frame: as_text(frame.drop(index=frame.index[[7, 290]])),
            (),
            "2024-01-01 06:00:00 and 2024-01-01 08:00:00 are more than a step (h) apart: put rows "
            "between them, which may be empty behind their time.",
        ),
        (
            lambda frame: as_text(
                frame.set_index(frame.index[:1].append(frame.index[1:] + DAY))
            ),
            (),
            "are more than a step",
        ),
        (
            lambda frame: as_text(
                frame.set_index(
                    frame.index.where(np.arange(300) != 7, frame.index + HALF)
                )
            ),
            (),
            "the steps between rows differ, from 0 days 00:30:00 to 0 days 01:30:00.",
        ),
        (
            shorter(9),
            (),
            "horizon=6 is longer than the 2 validation rows: give a shorter one, or",
        ),
        (
            shorter(100),
            (),
            "70 training rows are too few: the references need 120 for horizon=6.",
        ),
        (
            shorter(1),
            (),
            "shares=0.7 0.2 of 1 rows must leave some to train on, to validate on (",
        ),
        (
            as_text,
            ("--horizon", "61"),
            "horizon=61 is longer than the 30 validation rows: give",
        ),
        (
            as_text,
            ("--horizon", "31", "--shares", "0.5", "0.1"),
            "horizon=31 is longer than the 30 test rows: give a shorter one, or more rows.",
        ),
        (
            as_text,
            ("--shares", "0.7", "0.4"),
            "shares=0.7 0.4 of 300 rows must leave some to train",
        ),
        (
            as_text,
            ("--shares", "0.7", "0.3"),
            "shares=0.7 0.3 of 300 rows must leave some to train",
        ),
        (
            as_text,
            ("--shares", "0.7", "-1"),
            "shares=0.7 -1 of 300 rows must leave some to train",
        ),
        (
            lambda frame: as_text(frame[210:].reindex(frame.index)),
            (),
            "column 'a' has no value in the 210 training rows.",
        ),
        (
            lambda frame: as_text(frame[:240].reindex(frame.index)),
            (),
            "the test rows hold no value to measure by.",
        ),
        (as_text, ("--parameters", '{"seq_len": 300}'), "needed, seq_len=300 + pred"),
        (
            as_text,
            ("--parameters", '{"network__d_model": 0}'),
            "The 'd_model' parameter of Network",
        ),
        (
            as_text,
            ("--seed", "-1"),
            "The 'random_state' parameter of InformerRegressor must be",
        ),
    ],
)
def test_bad_input_is_one_sentence(frame, tmp_path, capsys, text, options, message):
    """A traceback tells a stranger nothing."""
    path = tmp_path / "load.csv"
    path.write_text(text(frame), encoding="latin-1")
    options = ["--horizon", "6", "--parameters", json.dumps(SMALL), *options]
    with pytest.raises(SystemExit, match="2"):
        main(["--data", str(path), *options])
    error = capsys.readouterr().err
    assert message in error
    assert f"error: --data {path}: " in error.splitlines()[-1]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (
            ("--horizon", "0"),
            "argument --horizon: '0' is no whole number of at least 1",
        ),
        (
            ("--parameters", "{seq_len: 3}"),
            "argument --parameters: {seq_len: 3} is no JSON: Expec",
        ),
        (("--parameters", "3"), '3 must name its values, as {"seq_len": 720}'),
        (
            ("--parameters", '{"seq": 3}'),
            "has no parameter 'seq'; it has calendar, early_stopping",
        ),
        (("--parameters", '{"pred_len": 3}'), "'pred_len' is set by --horizon"),
        (("--parameters", '{"random_state": 3}'), "'random_state' is set by --seed"),
        (
            ("--output", "no/such/result.json"),
            "no/such/result.json must be a file in a folder that",
        ),
    ],
)
def test_bad_options_are_one_sentence(capsys, options, message):
    """They are told before the data is read."""
    with pytest.raises(SystemExit, match="2"):
        main(["--data", "bundled", "--horizon", "6", *options])
    assert message in capsys.readouterr().err.splitlines()[-1]


def test_a_path_that_is_no_file_is_one_sentence(tmp_path, capsys):
    """A wrong path is a mistake of the user's, not a traceback."""
    for path, message in [
        (tmp_path / "none.csv", "No such file or directory"),
        (tmp_path, "Is a directory"),
    ]:
        with pytest.raises(SystemExit, match="2"):
            main(["--data", str(path), "--horizon", "6"])
        assert capsys.readouterr().err.endswith(f"error: --data {path}: {message}\n")


def test_a_short_series_under_a_published_name_is_refused():
    """Its test rows would be none, and the error that of nothing."""
    with pytest.raises(
        ValueError, match=r"ETTh1 has 500 rows, its published borders need 14400:"
    ):
        split_rows("ETTh1", 500)


@pytest.mark.slow
@pytest.mark.skipif(not (DATA / "ETTh1.csv").exists(), reason="ETTh1.csv is not there")
def test_etth1_univariate_is_far_below_the_published_informer():
    """One epoch at 96 -> 24: at most .045; published .098, repeating the last value .034."""
    frame = load_series(DATA / "ETTh1.csv")[["OT"]]
    parameters = {"training__max_iter": 1, "random_state": 0}
    table = measure(
        frame, split_rows("ETTh1", len(frame)), horizon=24, parameters=parameters
    )
    assert table.loc["last value", "mse"] == pytest.approx(0.034, abs=5e-4)
    assert table.loc["InformerRegressor", "mse"] <= 0.045
