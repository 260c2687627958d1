"""What a fit cost: parts add up, and nothing but the times differs from fit to fit."""

import pickle
import time
from concurrent.futures import ThreadPoolExecutor
from contextvars import copy_context

import numpy as np
import pandas as pd
import pytest
from flat_parameters import with_parts

import skinformer
from skinformer import InformerClassifier, InformerRegressor
from skinformer.stopwatch import running, stopwatch, timed

P = {
    "seq_len": 24,
    "pred_len": 6,
    "d_model": 16,
    "n_heads": 2,
    "max_iter": 1,
    "random_state": 0,
}


class FakeClock:
    """Time that passes when the test says so."""

    seconds = 0.0

    def sleep(self, seconds):
        self.seconds += seconds


@pytest.fixture
def clock(monkeypatch):
    fake = FakeClock()
    for name in ("perf_counter", "process_time"):
        monkeypatch.setattr(f"skinformer.stopwatch.time.{name}", lambda: fake.seconds)
    return fake


@timed("inner")
def work(clock=None, seconds=0.0):
    if clock is not None:
        clock.sleep(seconds)


def test_parts_within_parts_count_once_and_add_up_to_the_whole(clock):
    """Else a fit's parts would be more than the fit."""
    with stopwatch() as watch:
        work(clock, 1)
        with timed("outer"):
            work(clock, 2)
            clock.sleep(0.5)
        clock.sleep(0.25)
    seconds = watch.table().set_index("part")["seconds"]
    assert seconds.to_dict() == {"inner": 3.0, "outer": 0.5, "other": 0.25}


def test_a_part_that_raises_ends(clock):
    """What comes after an error that was caught is not its part's."""
    with stopwatch() as watch, timed("outer"):
        with pytest.raises(KeyError), timed("inner"):
            raise KeyError
        clock.sleep(1)
    assert watch.table().set_index("part")["seconds"]["outer"] == 1


def test_work_outside_a_fit_is_not_measured():
    """The same functions are called when nobody measures."""
    work()
    with stopwatch() as watch:
        pass
    work()
    assert watch.table()["part"].tolist() == ["other"]


def test_a_fit_within_a_fit_is_measured_on_its_own():
    """A regressor in `base` may be an estimator of this package."""
    with stopwatch() as outer, timed("trees"), stopwatch() as inner:
        work()
    assert outer.table()["part"].tolist() == ["trees", "other"]
    assert inner.table()["part"].tolist() == ["inner", "other"]


@pytest.fixture(scope="module")
def wave():
    hours = pd.date_range("2024-01-01", periods=1700, freq="h")
    noise = np.random.default_rng(0).normal(size=1700)
    return pd.DataFrame({"y": np.sin(np.arange(1700) / 4) + 0.2 * noise}, index=hours)


@pytest.fixture(scope="module")
def fitted(wave):
    began = time.perf_counter()
    model = InformerRegressor("y", **with_parts(**P)).fit(wave)
    return model, time.perf_counter() - began


@pytest.mark.slow
def test_a_default_fit_tells_its_parts(fitted):
    """They add up to no more than the caller waited for."""
    times = fitted[0].fit_times_.set_index("part")
    parts = ["reading", "ridges", "trees", "network", "weights", "other"]
    assert times.index.tolist() == parts
    assert times.columns.tolist() == ["seconds", "cpu_seconds"]
    assert (times >= 0).all(axis=None)
    assert 0 < times["seconds"].sum() <= fitted[1]


def test_of_classes_and_of_short_series_too(wave):
    """Other forecasters have parts of their own."""
    states = wave["y"].gt(0).map({True: "up", False: "down"}).to_frame()[:300]
    times = InformerClassifier("y", **with_parts(**P)).fit(states).fit_times_
    assert {"reading", "classes", "network", "weights"} <= set(times["part"])
    months = pd.date_range("2020-01-01", periods=30, freq="MS")
    short = pd.concat(
        {s: pd.DataFrame({"y": np.arange(30.0)}, index=months) for s in "ab"}
    )
    assert (
        "classical"
        in InformerRegressor("y", **with_parts(**P))
        .fit(short)
        .fit_times_["part"]
        .tolist()
    )


def test_times_come_back_from_files_and_older_files_load_without(fitted, tmp_path):
    """They are of the fit, wherever it is read."""
    model = fitted[0]
    model.save(tmp_path / "model")
    pd.testing.assert_frame_equal(
        skinformer.load(tmp_path / "model").fit_times_, model.fit_times_
    )
    older = pickle.loads(pickle.dumps(model))
    pd.testing.assert_frame_equal(older.fit_times_, model.fit_times_)
    del older.fit_times_
    older.save(tmp_path / "older")
    loaded = skinformer.load(tmp_path / "older")
    assert not hasattr(loaded, "fit_times_")
    np.testing.assert_array_equal(loaded.forecast(), model.forecast())


def test_work_of_another_thread_is_not_counted():
    """It goes on beside the parts of the thread that waits."""
    with stopwatch() as watch, timed("waiting"):
        work = timed("working")(running)
        thread = ThreadPoolExecutor(1).submit(copy_context().run, work)
        assert thread.result() is not watch
        assert watch.part == "waiting"
    assert set(watch.table()["part"]) == {"waiting", "other"}
