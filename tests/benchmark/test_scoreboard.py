"""The scoreboard measures as GIFT-Eval and fev-bench do, keeps results, and writes the page."""

import board_page
import boards
import numpy as np
import pandas as pd
import pytest
import scoreboard
from boards import FEV, GIFT, TASKS, Task, aggregate, read_published
from scoreboard import Forecast, Run, score_like_fev, score_like_gift

RIDGES = {"members": ["ridges"]}


def waves(n_columns=2, n_rows=120):
    """Make daily waves of different sizes."""
    days = pd.date_range("2024-01-01", periods=n_rows, freq="D")
    wave = np.sin(np.arange(n_rows) * 2 * np.pi / 7)
    noise = np.random.default_rng(0).normal(size=(n_rows, n_columns), scale=0.1)
    columns = [f"series {i}" for i in range(n_columns)]
    return pd.DataFrame(
        (10 + wave[:, None] + noise) * (1 + np.arange(n_columns)), days, columns
    )


def tiny_task(**changes):
    """Make a task of three windows of a week."""
    facts = {
        "board": FEV,
        "name": "tiny",
        "read": waves,
        "horizon": 7,
        "season": 7,
        "frequency": "D",
        "n_windows": 3,
    }
    return Task(**facts | changes)


def forecast_of(window, past, truth, spread):
    """Make a forecast of zeros whose quantiles lie a spread apart."""
    levels = np.arange(-4, 5) * spread
    return Forecast(window, np.array(past), np.array(truth), np.tile(levels, (2, 1)))


def test_errors_are_those_computed_by_hand():
    """GIFT-Eval takes the mean over all values, fev-bench over series and then over windows."""
    forecasts = [
        forecast_of(0, [0.0, 1.0, 2.0], [1.0, 3.0], 0.0),
        forecast_of(0, [0.0, 2.0, 4.0], [np.nan, 8.0], 0.0),
        forecast_of(1, [0.0, 1.0, 2.0], [5.0, 5.0], 0.0),
    ]
    mase, crps = score_like_gift(forecasts, season=1)
    assert mase == pytest.approx((1 + 3 + 4 + 5 + 5) / 5)
    # The loss of zeros is 2 * level * truth: the levels' mean is a half.
    assert crps == pytest.approx(1)
    mase, sql = score_like_fev(forecasts, season=1)
    assert mase == pytest.approx(((2 + 4) / 2 + 5) / 2)
    assert sql == pytest.approx(mase)


def test_wide_quantiles_cost():
    """Of truths in the middle, only the width is lost."""
    narrow, wide = (
        score_like_gift([forecast_of(0, [0.0, 1.0], [0.0, 1e-9], spread)], 1)[1]
        for spread in (1.0, 2.0)
    )
    assert wide == pytest.approx(2 * narrow)


def test_a_series_that_never_changes_is_left_out():
    """Its scale is zero."""
    still = forecast_of(0, [1.0, 1.0, 1.0], [2.0, 2.0], 0.0)
    other = forecast_of(0, [0.0, 1.0, 2.0], [2.0, 2.0], 0.0)
    assert score_like_gift([still, other], 1)[0] == pytest.approx(2)
    assert score_like_fev([still, other], 1)[0] == pytest.approx(2)


def test_periods_are_kept_as_a_task_says():
    """Part of a week is no week."""
    days = waves(1, 30)  # from a Monday on
    every = ("W-TUE", "sum")
    assert len(aggregate(days, *every, "all")) == 5
    assert len(aggregate(days, *every, "whole")) == 4
    assert len(aggregate(days, *every, "but the last")) == 4
    assert len(aggregate(days, *every, "but first and last")) == 3
    first = aggregate(days, *every, "whole").iloc[0, 0]
    assert first == pytest.approx(days.iloc[2:9, 0].sum())


@pytest.mark.parametrize("few_values", [0, 1e9])
@pytest.mark.parametrize("kind", ["table", "panel", "known"])
def test_each_window_is_forecast_from_what_came_before(kind, few_values, monkeypatch):
    """By one fit or by several; tables, panels and columns known ahead."""
    monkeypatch.setattr(scoreboard, "_FEW_VALUES", few_values)
    changes = {
        "table": {},
        "panel": {"is_panel": True},
        "known": {"targets": ("series 0",), "known": ("series 1",)},
    }[kind]
    run = Run(tiny_task(**changes))
    forecasts = run.forecast(RIDGES)
    rows = waves()
    n_targets = 1 if kind == "known" else 2
    assert [each.window for each in forecasts] == sorted([0, 1, 2] * n_targets)
    assert [len(each.past) for each in forecasts[::n_targets]] == [99, 106, 113]
    last = rows["series 0" if kind == "known" else "series 1"].to_numpy()[-7:]
    np.testing.assert_array_equal(forecasts[-1].truth, last)
    assert all(np.diff(each.quantiles).min() >= 0 for each in forecasts)
    mase, sql = scoreboard.score(run.task, forecasts)
    naive, _ = scoreboard.score(run.task, run.repeat_last_season())
    assert sql < mase < naive


def test_windows_go_by_a_tenth_of_the_rows():
    """Twenty at most, one at least; fev-bench says how many."""
    gift = tiny_task(board=GIFT, n_windows=None)
    assert [gift.count_windows(n) for n in (20, 100, 200, 10_000)] == [1, 2, 3, 20]
    assert tiny_task().count_windows(20) == 3


def test_a_task_is_measured_once_at_each_commit(tmp_path, monkeypatch):
    """A run that was broken off goes on with what is missing."""
    path = tmp_path / "results.csv"
    names = ["us_births/m/short", "ETT_1W"]
    measured = []

    def measure(task, parameters):
        measured.append(task.name)
        if len(measured) == 2:
            raise KeyboardInterrupt
        row = {"MASE": 1.0, "quantile_loss": 0.5, "windows": 2}
        return {**row, "cpu_seconds": 3, "date": "2026-01-01"}

    monkeypatch.setattr(scoreboard, "measure", measure)
    monkeypatch.setattr(scoreboard, "commit_of_library", lambda: "12345678")
    tasks = [TASKS[name] for name in names]
    with pytest.raises(KeyboardInterrupt):
        scoreboard.run_tasks(tasks, path, {})
    scoreboard.run_tasks(tasks, path, {})
    assert measured == [names[0], names[1], names[1]]
    results = scoreboard.read_results(path)
    assert results["commit"].tolist() == ["12345678"] * 2
    monkeypatch.setattr(scoreboard, "commit_of_library", lambda: "87654321")
    scoreboard.run_tasks(tasks[:1], path, {})
    assert measured[3:] == names[:1]
    assert scoreboard.read_results(path)["commit"].tolist() == ["87654321", "12345678"]


def test_the_page_shows_no_result_of_another_commit():
    """Numbers of an earlier state are not those of this one."""
    results = scoreboard.read_results(scoreboard.RESULTS)
    task = results.index[results["commit"] == results["commit"].mode()[0]][0]
    others = results.copy()
    others.loc[task, "commit"] = "00000000"
    page = board_page.make_page(others, read_published())
    assert f"| {task} | not run at this commit |" in page
    whole = board_page.make_page(results, read_published())
    assert f"| {task} | not run at this commit |" not in whole


def test_models_are_ranked_by_geometric_means():
    """A model needs all tasks; figures on data it was trained on are marked."""
    rows = [
        ("a", "skinformer", "trained", False, 0.5, 0.5),
        ("b", "skinformer", "trained", False, 2.0, 1.0),
        ("a", "seen", "pretrained", True, 0.4, 0.4),
        ("b", "seen", "pretrained", False, 0.4, 0.4),
        ("a", "half", "trained", False, 0.1, 0.1),
    ]
    columns = ["task", "model", "kind", "leak", "MASE", "quantile_loss"]
    ranked = board_page.rank(pd.DataFrame(rows, columns=columns), ["a", "b"])
    assert ranked.index.tolist() == ["seen", "skinformer"]
    assert ranked.loc["skinformer", "MASE"] == pytest.approx(1)
    assert ranked.loc["seen", ["leaks", "lost"]].tolist() == [1, 2]


def test_the_page_is_the_one_that_the_results_give():
    """After a measurement: python examples/benchmarks/scoreboard.py --page."""
    results = scoreboard.read_results(scoreboard.RESULTS)
    page = board_page.make_page(results, read_published())
    assert board_page.PAGE.read_text(encoding="utf-8") == page


def test_every_task_has_the_seasonal_naive_and_a_look_back():
    """All figures are shown over it."""
    published = read_published()
    naive = published[published["model"] == board_page.NAIVE]
    assert set(naive["task"]) == set(TASKS)
    assert {task.frequency for task in TASKS.values()} == set(boards.LOOK_BACKS)


@pytest.mark.parametrize("name", ["australian_tourism", "us_births/w/short"])
def test_the_seasonal_naive_errs_as_published(name):
    """Rows, windows and errors are the benchmarks' own."""
    if not (boards.DATA / "scoreboard").exists():
        pytest.skip("needs the folder SKINFORMER_BENCH_DATA")
    assert scoreboard.check([TASKS[name]])
