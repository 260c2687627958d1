"""A fit that takes a while says so, from its first second on."""

import io
import re
import threading
import time
from contextlib import contextmanager

import numpy as np
import pandas as pd
import pytest
from flat_parameters import with_parts

from skinformer import InformerRegressor
from skinformer.budget import Budget, Cost
from skinformer.estimators.progress import Progress
from skinformer.stopwatch import running, timed


@pytest.fixture
def clock(monkeypatch):
    """Give the seconds of a clock that only the test moves."""
    now = [0.0]
    monkeypatch.setattr("skinformer.stopwatch.time.perf_counter", lambda: now[0])
    return now


def lines(capsys):
    return [
        line.removeprefix("[Model] ") for line in capsys.readouterr().out.splitlines()
    ]


def watched(clock, seconds, watch):
    """Let time pass, while somebody looks."""
    for _ in range(round(seconds * 5)):
        clock[0] += 0.2
        watch.look()


def fit(clock, watch, parts):
    for part, seconds in parts.items():
        with inside(watch, part):
            watched(clock, seconds, watch)


@contextmanager
def inside(watch, part):
    before = watch.begin(part)
    yield
    watch.turn(before)


def seconds_of(written):
    return np.array([float(line.split("  ")[-1].split(" s")[0]) for line in written])


@pytest.mark.parametrize("pace", [0.1, 1, 40])
def test_no_pause_is_longer_than_two_seconds_or_a_tenth_of_the_fit(clock, capsys, pace):
    """Whoever waits wants to know that it goes on; long fits write few lines all the same."""
    watch = Progress("Model", Budget())
    fit(clock, watch, {"reading": 1, "trees": 30 * pace, "network": 60 * pace})
    written = seconds_of(lines(capsys))
    pauses = np.diff([0.0, *written, clock[0]])
    assert pauses.max() <= max(2.0, 0.1 * clock[0]) + 1e-9
    assert written[0] == 0.0
    assert len(written) <= 80


def test_lines_of_epochs_are_lines(clock, capsys):
    """Where epochs are told, nothing else is said between them."""
    watch = Progress("Model", Budget())
    with inside(watch, "network"):
        for epoch in range(5):
            watched(clock, 1.6, watch)
            watch.write(f"epoch {epoch}")
    assert lines(capsys) == ["Informer  0.0 s", *(f"epoch {i}" for i in range(5))]


def test_nobody_looks_after_the_end(capsys):
    """A thread that goes on writing would disturb whatever comes after a fit, also a failed one."""
    before = threading.active_count()

    def fails():
        with Progress("Model", Budget()).looked_at() as watch, timed("reading"):
            assert running() is watch
            raise KeyError

    with pytest.raises(KeyError):
        fails()
    assert threading.active_count() == before
    assert lines(capsys) == ["reading rows  0.0 s"]


def test_a_thread_looks(capsys, monkeypatch):
    """The part that works cannot tell that it does."""
    real = time.perf_counter
    monkeypatch.setattr("skinformer.stopwatch.time.perf_counter", lambda: 20 * real())
    with Progress("Model", Budget()).looked_at(), timed("trees"):
        time.sleep(0.7)
    assert len(lines(capsys)) >= 3


class Terminal(io.StringIO):
    """What goes back to the beginning of a line."""

    def isatty(self):
        return True


def test_a_terminal_has_one_line_that_is_rewritten(clock, monkeypatch):
    """With the part, its epoch, the share that is done and the seconds left; then it is gone."""
    screen = Terminal()
    monkeypatch.setattr("sys.stdout", screen)
    budget = Budget(clock=lambda: clock[0], slowness=1.0)
    budget.plan({"trees": Cost(10.0), "network": Cost(30.0)})
    with Progress("Model", budget).looked_at() as watch:
        with inside(watch, "trees"), budget.part("trees"):
            clock[0] += 10
        with inside(watch, "network"), budget.part("network"):
            watch.note("epoch 2 of 5")
            clock[0] += 10
            watch.look()
        watch.write("ridges: weight 100%")
    text = screen.getvalue()
    shown = [line.strip() for line in text.split("\r")]
    assert "[Model] Informer, epoch 2 of 5  50%  20.0 s, about 20 s left" in shown
    assert text.count("\n") == 1
    assert "[Model] ridges: weight 100%" in text.split("\n")[0]
    assert text.endswith("\n")


def test_epochs_are_lines_where_no_line_is_rewritten(clock, capsys):
    """Elsewhere they are in the line."""
    watch = Progress("Model", Budget())
    watch.write("epoch 1/5", passing=True)
    assert lines(capsys) == ["epoch 1/5"]


def test_a_fit_says_what_is_left(capsys):
    hours = pd.date_range("2024-01-01", periods=400, freq="h")
    df = pd.DataFrame({"y": np.sin(np.arange(400) * np.pi / 12)}, hours)
    params = with_parts(seq_len=24, pred_len=6, d_model=8, n_heads=2, max_iter=1)
    InformerRegressor("y", **params, verbose=1, random_state=0).fit(df)
    written = capsys.readouterr().out.splitlines()
    first = [
        line.removeprefix("[InformerRegressor] ").split("  ")[0] for line in written
    ]
    assert first[0] == "reading rows"
    assert {"ridges", "Informer", "classical forecasters"} <= set(first)
    of_network = next(line for line in written if "] Informer  " in line)
    assert re.search(r"  \d+%  [\d.]+ s, about \d+ s left$", of_network)
