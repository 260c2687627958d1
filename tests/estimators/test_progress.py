"""A fit that takes a while says so, from its first second on."""

import threading
import time
from contextlib import contextmanager

import numpy as np
import pytest

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
    return np.array([float(line.split("after ")[1].split(" s")[0]) for line in written])


@pytest.mark.parametrize("pace", [0.1, 1, 40])
def test_no_pause_is_longer_than_two_seconds_or_a_tenth_of_the_fit(clock, capsys, pace):
    """Whoever waits wants to know that it goes on; long fits write few lines all the same."""
    watch = Progress("Model")
    fit(clock, watch, {"reading": 1, "trees": 30 * pace, "network": 60 * pace})
    written = seconds_of(lines(capsys))
    pauses = np.diff([0.0, *written, clock[0]])
    assert pauses.max() <= max(2.0, 0.1 * clock[0]) + 1e-9
    assert written[0] == 0.0
    assert len(written) <= 80


def test_lines_of_epochs_are_lines(clock, capsys):
    """Where epochs are told, nothing else is said between them."""
    watch = Progress("Model")
    with inside(watch, "network"):
        for epoch in range(5):
            watched(clock, 1.6, watch)
            watch.write(f"epoch {epoch}")
    assert lines(capsys) == ["network  after 0.0 s", *(f"epoch {i}" for i in range(5))]


def test_nobody_looks_after_the_end(capsys):
    """A thread that goes on writing would disturb whatever comes after a fit, also a failed one."""
    before = threading.active_count()

    def fails():
        with Progress("Model").looked_at() as watch, timed("reading"):
            assert running() is watch
            raise KeyError

    with pytest.raises(KeyError):
        fails()
    assert threading.active_count() == before
    assert lines(capsys) == ["reading  after 0.0 s"]


def test_a_thread_looks(capsys, monkeypatch):
    """The part that works cannot tell that it does."""
    real = time.perf_counter
    monkeypatch.setattr("skinformer.stopwatch.time.perf_counter", lambda: 20 * real())
    with Progress("Model").looked_at(), timed("trees"):
        time.sleep(0.7)
    assert len(lines(capsys)) >= 3
