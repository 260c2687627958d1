"""How far a loop is: one line that is rewritten, or a few plain ones."""

import io

import numpy as np
import pandas as pd
import pytest

from skinformer import InformerRegressor
from skinformer.evaluation import SeasonalNaive, backtest
from skinformer.progress import counted


class Terminal(io.StringIO):
    """What goes back to the beginning of a line."""

    def isatty(self):
        return True


def slow_items(clock, n):
    for i in range(n):
        clock[0] += 1.0
        yield i


def test_a_loop_that_nobody_watches_writes_nothing(capsys):
    assert list(counted(range(3), 3, "loop", verbose=0)) == [0, 1, 2]
    assert capsys.readouterr().out == ""


def test_plain_lines_are_few_and_tell_what_is_left(capsys):
    """One for each tenth of the time so far, two seconds at least, and the last one."""
    clock = [0.0]
    items = counted(
        slow_items(clock, 100), 100, "loop", verbose=1, clock=lambda: clock[0]
    )
    assert list(items) == list(range(100))
    lines = capsys.readouterr().out.splitlines()
    assert lines[0] == "[loop] 3 of 100  3%  3.0 s, about 97 s left"
    assert lines[-1] == "[loop] 100 of 100  100%  100.0 s, about 0 s left"
    assert len(lines) < 30


def test_a_terminal_keeps_no_line(monkeypatch):
    screen = Terminal()
    monkeypatch.setattr("sys.stdout", screen)
    assert list(counted(range(4), 4, "loop", verbose=True)) == [0, 1, 2, 3]
    text = screen.getvalue()
    assert "[loop] 2 of 4" in text
    assert "\n" not in text
    assert text.endswith("\r")


def test_a_process_without_a_standard_output_goes_on(monkeypatch):
    """Services and programs without a console have none."""
    monkeypatch.setattr("sys.stdout", None)
    assert list(counted(range(3), 3, "loop", verbose=1)) == [0, 1, 2]
    days = pd.date_range("2024-01-01", periods=40, freq="D")
    load = pd.DataFrame({"load": np.arange(40.0) % 7}, index=days)
    model = InformerRegressor(seq_len=7, pred_len=2, members=["ridges"], verbose=2)
    assert len(model.fit(load).forecast()) == 2


@pytest.mark.parametrize("refit", [False, True])
def test_a_backtest_counts_origins_and_fits(capsys, refit):
    days = pd.date_range("2024-01-01", periods=12, freq="D")
    df = pd.DataFrame({"load": np.arange(12.0)}, index=days)
    naive = SeasonalNaive(season=2)
    options = {"horizon": 2, "verbose": 1}
    if refit:
        backtest(naive, df, df[["load"]], start=days[4], refit=True, **options)
    else:
        backtest(naive.fit(df[:4]), df[4:], df[["load"]][4:], **options)
    last = capsys.readouterr().out.splitlines()[-1]
    assert last.startswith("[backtest] 4 of 4  100%")
