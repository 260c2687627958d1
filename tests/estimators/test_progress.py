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
    return [line.removeprefix("[Model] ") for line in capsys.readouterr().out.splitlines()]


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


def test_what_is_left_goes_by_what_was_expected(clock, capsys):
    """A machine that takes twice as long for the first part will for the second."""
    watch = Progress("Model")
    with inside(watch, "reading"):
        watched(clock, 0.2, watch)
    watch.expect({"trees": 30.0, "network": 60.0, "weights": 0.0})
    fit(clock, watch, {"trees": 60, "network": 120})
    written = lines(capsys)
    assert written[:2] == ["reading  after 0.0 s", "trees  after 0.2 s, about 90 s left"]
    assert "network  after 60.2 s, about 115 s left" in written
    assert written[-1] == "network  after 170.8 s, about 4 s left"


def test_all_that_is_to_come_goes_by_the_pace(clock, capsys):
    """Not the part alone that runs."""
    watch = Progress("Model")
    watch.expect({"trees": 30.0, "network": 60.0, "weights": 60.0})
    fit(clock, watch, {"trees": 60, "network": 1})
    told = [line for line in lines(capsys) if line.startswith("network")]
    assert told[0] == "network  after 60.0 s, about 229 s left"


def test_a_part_within_a_later_stage_is_no_step_back(clock, capsys):
    """Trees that are fitted again while all are weighed do not make the network come again."""
    watch = Progress("Model")
    watch.expect({"trees": 10.0, "network": 50.0, "weights": 20.0})
    fit(clock, watch, {"trees": 10, "network": 50})
    with inside(watch, "weights"), inside(watch, "trees"):
        watched(clock, 6.2, watch)
    written = lines(capsys)
    assert "trees  after 60.0 s, about 20 s left" in written
    assert written[-1] == "trees  after 66.0 s, about 14 s left"


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
