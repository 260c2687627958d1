"""Threads by the size of the work: small work is done by one, and nobody else sees a change."""

import ctypes
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import nullcontext
from contextvars import ContextVar
from functools import partial
from pathlib import Path
from typing import ClassVar
from unittest import mock

import joblib
import numpy as np
import pandas as pd
import pytest
import torch
from flat_parameters import with_parts
from sklearn.base import BaseEstimator, RegressorMixin
from sklearn.ensemble import HistGradientBoostingRegressor
from sklearn.model_selection import GridSearchCV, TimeSeriesSplit
from threadpoolctl import ThreadpoolController

from skinformer import InformerRegressor, Network, Training
from skinformer.algebra import product, solution
from skinformer.ensemble.predicting import predict_windows, prediction_threads
from skinformer.ensemble.tabular import Tabular
from skinformer.evaluation import backtest
from skinformer.tabular.regressors import ready
from skinformer.threads import (
    at_once,
    has_background,
    limited,
    run_in_background,
    threads_for,
)

SMALL, LARGE = 1, 1e15


def openmp():
    return [
        pool["num_threads"]
        for pool in ThreadpoolController().select(user_api="openmp").info()
    ]


@pytest.fixture(autouse=True)
def four():
    """Let this thread have four threads, whatever the machine has."""
    torch.get_num_threads()
    with ThreadpoolController().select(user_api="openmp").limit(limits=4):
        yield


def test_small_work_has_one_thread_and_large_work_all():
    """torch, and the library that scikit-learn's trees bring."""
    with threads_for(SMALL):
        assert torch.get_num_threads() == 1
        assert set(openmp()) == {1}
    assert set(openmp()) == {4}
    with threads_for(LARGE):
        assert set(openmp()) == {4}


@pytest.fixture
def mkl():
    """Give MKL's own number of threads, here four, however OpenMP is limited."""
    path = Path(torch.__file__).parent / "lib" / "libtorch_cpu.so"
    if not path.exists() or not hasattr(ctypes.CDLL(str(path)), "MKL_Get_Max_Threads"):
        pytest.skip("torch has no MKL of its own here")
    library = ctypes.CDLL(str(path))
    library.MKL_Set_Num_Threads_Local(4)
    yield library.MKL_Get_Max_Threads
    library.MKL_Set_Num_Threads_Local(0)


def test_a_number_of_mkl_s_own_does_not_overrule_small_work(mkl):
    """As users set it by MKL_NUM_THREADS: two fits on two cores took eight times as long as one."""
    with threads_for(SMALL):
        assert mkl() == 1
    assert mkl() == 4
    with threads_for(LARGE):
        assert mkl() == 4


def test_other_threads_keep_their_number_of_mkl_s_own(mkl):
    def look():
        return mkl()

    with ThreadPoolExecutor(1) as pool:
        before = pool.submit(look).result()
        with threads_for(SMALL):
            assert pool.submit(look).result() == before


def test_work_within_small_work_stays_on_one_thread():
    """Who has been given one thread takes no more."""
    with threads_for(SMALL), threads_for(LARGE):
        assert set(openmp()) == {1}


def test_an_error_gives_the_threads_back():
    """The user's next product is as fast as before."""
    with pytest.raises(KeyError), threads_for(SMALL):
        raise KeyError
    assert set(openmp()) == {4}


def test_other_threads_of_the_process_see_nothing():
    """Other threads may do work of their own meanwhile; nothing process-wide is touched."""
    found = []

    def look():
        found.append((torch.get_num_threads(), openmp()))

    before = threading.Thread(target=look)
    before.start()
    before.join()
    with threads_for(SMALL):
        during = threading.Thread(target=look)
        during.start()
        during.join()
    assert found[0] == found[1]


def test_the_first_use_of_torch_in_a_thread_does_not_undo_the_limit():
    """The number of threads is set when a thread first asks for it."""
    found = []

    def work():
        with threads_for(SMALL):
            torch.ones(2) + 1
            found.append(torch.get_num_threads())

    thread = threading.Thread(target=work)
    thread.start()
    thread.join()
    assert found == [1]


# --- who asks ------------------------------------------------------------------------------------


def test_products_and_solutions_are_those_of_numpy():
    """Of one matrix, of several, and of views."""
    rng = np.random.default_rng(0)
    a, b = rng.normal(size=(3, 5, 4)), rng.normal(size=(3, 4, 2))
    np.testing.assert_allclose(product(a, b), a @ b, rtol=1e-12)
    np.testing.assert_allclose(product(a[0].T, a[0]), a[0].T @ a[0], rtol=1e-12)
    np.testing.assert_allclose(product(a, b[0]), a @ b[0], rtol=1e-12)
    gram = np.swapaxes(a, 1, 2) @ a + np.eye(4)
    np.testing.assert_allclose(solution(gram, b), np.linalg.solve(gram, b), rtol=1e-9)


def seen_by(monkeypatch, target):
    """Record the number of threads at each call of a function."""
    seen = []
    module, name = target.rsplit(".", 1)
    found = getattr(sys.modules[module], name)

    def spy(*args, **kwargs):
        seen.append(torch.get_num_threads())
        return found(*args, **kwargs)

    monkeypatch.setattr(target, spy)
    return seen


def test_a_small_network_is_trained_and_asked_on_one_thread(monkeypatch):
    """A second one gains nothing there, and waits for others on a busy machine."""
    from skinformer import InformerRegressor

    P = {"seq_len": 24, "pred_len": 6, "d_model": 8, "n_heads": 2, "max_iter": 1}
    y = np.sin(np.arange(300.0))[:, None]
    seen = seen_by(monkeypatch, "skinformer.training.step.clip_and_step")
    monkeypatch.setattr(
        "skinformer.training.trainer.clip_and_step",
        sys.modules["skinformer.training.step"].clip_and_step,
    )
    requested = seen_by(monkeypatch, "skinformer.ensemble.predicting.correct")
    model = InformerRegressor(**with_parts(random_state=0, **P)).fit(y)
    model.ensemble_ = model.ensemble_.with_network_share(1.0)
    model.predict(y[-6:])
    assert set(seen) == set(requested) == {1}
    assert torch.get_num_threads() == 4


def test_trees_are_fitted_and_asked_by_one_thread():
    """Each of their thousands of splits is a wait, in which others run."""
    rng = np.random.default_rng(0)
    features, counts = rng.normal(size=(500, 6)), []
    trees = ready(HistGradientBoostingRegressor(max_iter=5), 0)
    for name in ("fit", "predict"):
        method = getattr(trees.regressor, name)
        setattr(
            trees.regressor, name, lambda *a, m=method: counts.append(openmp()) or m(*a)
        )
    trees.fit(features, features[:, 0], None).predict(features)
    assert len(counts) == 2
    assert {count for pools in counts for count in pools} == {1}


class CountsThreads(RegressorMixin, BaseEstimator):
    """Record how many threads OpenMP would give each call."""

    seen: ClassVar[list] = []

    def fit(self, X, y):
        self.seen.append(openmp())
        self.mean_ = float(np.mean(y))
        return self

    def predict(self, X):
        self.seen.append(openmp())
        return np.full(len(X), self.mean_)


@pytest.mark.parametrize("options", [{}, {"refit": True, "start": 30}])
def test_backtest_fits_and_asks_rivals_by_one_thread(monkeypatch, options):
    """Beside a busy process boosted trees took a hundred times as long by two."""
    monkeypatch.setattr(CountsThreads, "seen", seen := [])
    df = pd.DataFrame({"load": np.arange(40.0)})
    rival = (
        CountsThreads() if options else CountsThreads().fit(df[:30], df["load"][:30])
    )
    seen.clear()
    rows = df if options else df[30:]
    backtest(rival, rows, rows["load"], horizon=5, **options)
    assert len(seen) == (4 if options else 2)
    assert {count for pools in seen for count in pools} == {1}
    assert set(openmp()) == {4}


def test_windows_of_a_wide_network_are_forecast_by_all():
    """The border is the size of the largest product, not of the batch."""
    seen = []

    class Wide:
        largest_product = 10**12

        def __call__(self, *inputs):
            seen.append(torch.get_num_threads())
            return torch.zeros(32, 1, 1)

    source = mock.Mock(seq_len=2, pred_len=1, values=torch.zeros(40, 1))
    source.inputs.return_value = (torch.zeros(32, 2, 1),)
    with prediction_threads(Wide.largest_product, 2):
        predict_windows(Wide(), source, np.arange(3))
    assert seen == [4]


# --- several fits at once ------------------------------------------------------------------------


def fit_and_forecast(seed):
    """Draw weights, dropout, keys, windows and trees, each from a generator of the fit's own."""
    from skinformer import InformerRegressor

    trees = HistGradientBoostingRegressor(max_iter=4, max_features=0.5)
    y = np.sin(np.arange(400.0) / 4)[:, None] + np.random.default_rng(seed).normal(
        size=(400, 1)
    )
    model = InformerRegressor(
        seq_len=24,
        pred_len=6,
        members=["ridges", "network", *([trees] if seed % 2 else [])],
        random_state=seed,
        network=Network(d_model=16, n_heads=2, dropout=0.2, attention="probsparse"),
        training=Training(max_iter=2, max_windows=64),
    ).fit(y)
    model.ensemble_ = model.ensemble_.with_network_share(1.0)
    return np.concatenate([model.history_["loss"], model.forecast().to_numpy().ravel()])


@pytest.mark.slow
def test_eight_fits_in_eight_threads_are_those_of_one_after_the_other():
    """Nothing process-wide is drawn from or set: bit by bit, also where the same fit runs twice."""
    seeds = [0, 1, 2, 3, 0, 1, 2, 3]
    state = torch.get_rng_state()
    alone = [fit_and_forecast(seed) for seed in seeds[:4]] * 2
    with ThreadPoolExecutor(8) as pool:
        together = list(pool.map(fit_and_forecast, seeds))
    np.testing.assert_array_equal(together, alone)
    assert len({one.tobytes() for one in together}) == 4
    assert torch.equal(torch.get_rng_state(), state)


@pytest.mark.slow
def test_six_fits_of_a_search_give_equal_numbers_in_processes_and_threads():
    """Three learning rates, two cuts; what a search finds must not depend on who ran it."""
    from skinformer import InformerRegressor

    y = np.sin(np.arange(200.0) / 4)[:, None] + np.random.default_rng(0).normal(
        size=(200, 1)
    )
    small = InformerRegressor(
        seq_len=12,
        pred_len=4,
        members=["network"],
        random_state=0,
        network=Network(d_model=8, n_heads=2),
        training=Training(max_iter=1),
    )
    rates = {"training__learning_rate": [1e-4, 1e-3, 1e-2]}

    def search(**how):
        found = GridSearchCV(
            small, rates, cv=TimeSeriesSplit(2, test_size=20), **how
        ).fit(y)
        scores = [found.cv_results_[f"split{i}_test_score"] for i in range(2)]
        return np.array(scores), found.best_estimator_.forecast().to_numpy()

    scores, forecast = search(n_jobs=1)
    assert len(set(scores.ravel())) == 6
    for backend in ("loky", "threading"):
        with joblib.parallel_config(backend):
            others, again = search(n_jobs=2)
        np.testing.assert_array_equal(others, scores)
        np.testing.assert_array_equal(again, forecast)


def test_works_at_once_have_one_thread_each_and_keep_order_and_context():
    """Two that wait for each other can only end beside each other."""
    both, asked = threading.Barrier(2), ContextVar("asked", default=0)
    asked.set(7)

    def work(number):
        both.wait(timeout=30)
        return number, set(openmp()), asked.get(), threading.get_ident()

    (one, *here), (two, *there) = at_once([partial(work, 1), partial(work, 2)])
    assert (one, two) == (1, 2)
    assert here[:2] == there[:2] == [{1}, 7]
    assert here[2] != there[2]
    assert set(openmp()) == {4}


@pytest.mark.parametrize("limited", [threads_for(SMALL), nullcontext()])
def test_works_come_one_after_the_other_where_one_thread_is_allowed(limited):
    """As in a search of several processes, and within small work."""
    own = threading.get_ident()
    with ThreadpoolController().select(user_api="openmp").limit(limits=1), limited:
        assert at_once([threading.get_ident] * 3) == [own] * 3
    assert at_once([threading.get_ident]) == [own]


def test_an_error_of_a_work_is_raised():
    with pytest.raises(ZeroDivisionError):
        at_once([lambda: 1, lambda: 1 // 0])


def test_what_has_begun_is_done_beside_what_follows():
    may, own = threading.Event(), threading.get_ident()
    found = run_in_background(lambda: may.wait(timeout=30) and threading.get_ident())
    may.set()
    assert found() == found() not in (own, False)
    with pytest.raises(ZeroDivisionError):
        run_in_background(lambda: 1 // 0)()


@pytest.mark.slow
def test_final_trees_are_fitted_beside_the_network_and_are_the_same(
    few_trees, monkeypatch
):
    """What is known by then is not waited for; a regressor of the user's stays in its thread."""
    rng = np.random.default_rng(0)
    hours = pd.date_range("2024-01-01", periods=1500, freq="h")
    drive = rng.normal(size=1500)
    df = pd.DataFrame(
        {"y": np.where(drive > 0, drive, 0) + 0.1 * rng.normal(size=1500)}, hours
    )
    df["drive"] = drive
    last, fit = [], Tabular.from_rows.__func__

    def spy(cls, rows, settings, **given):
        if rows.is_whole:
            last.append(threading.get_ident())
        return fit(cls, rows, settings, **given)

    monkeypatch.setattr(Tabular, "from_rows", classmethod(spy))
    options = {"known_future": ["drive"], "seq_len": 24, "pred_len": 6, "max_iter": 1}
    options |= {"d_model": 8, "n_heads": 1, "random_state": 0}
    beside = InformerRegressor("y", **with_parts(**options)).fit(df)
    mine = ["ridges", "network", HistGradientBoostingRegressor(max_iter=20)]
    InformerRegressor("y", **with_parts(members=mine, **options)).fit(df)
    with ThreadpoolController().select(user_api="openmp").limit(limits=1):
        after = InformerRegressor("y", **with_parts(**options)).fit(df)
    own = threading.get_ident()
    assert [each == own for each in last] == [False, True, True]
    ahead = df[["drive"]].set_index(hours + pd.Timedelta(hours=1500))[:6]
    pd.testing.assert_frame_equal(
        beside.forecast(ahead), after.forecast(ahead), check_exact=True
    )
    assert "trees" in set(beside.fit_times_["part"])


def test_a_limit_is_that_of_all_libraries_and_ends():
    """None changes nothing, and work that is small keeps its one thread."""
    with limited(3):
        assert torch.get_num_threads() == 3
        assert set(openmp()) == {3}
        with threads_for(SMALL):
            assert torch.get_num_threads() == 1
            with limited(3):
                assert torch.get_num_threads() == 1
        with threads_for(LARGE):
            assert torch.get_num_threads() == 3
    assert set(openmp()) == {4}
    with limited(None):
        assert set(openmp()) == {4}


def test_negative_limits_count_processors(monkeypatch):
    """As joblib's do, those of a container; one thread is left at least."""
    monkeypatch.setattr("joblib.cpu_count", lambda: 6)
    for n_jobs, n_threads in {-1: 6, -2: 5, -9: 1}.items():
        with limited(n_jobs):
            assert torch.get_num_threads() == n_threads


def test_work_goes_on_in_the_background_where_another_thread_is_allowed():
    assert has_background()
    with threads_for(SMALL):
        assert not has_background()
    with limited(2):
        assert not has_background()


def test_no_more_works_go_on_at_once_than_the_limit():
    lock, going, most = threading.Lock(), [0], [0]

    def work():
        with lock:
            going[0] += 1
            most[0] = max(most[0], going[0])
        time.sleep(0.02)
        with lock:
            going[0] -= 1

    with limited(2):
        at_once([work] * 6)
    assert most[0] == 2


@pytest.mark.parametrize("n_jobs", [1, 2])
def test_a_fit_and_its_forecasts_keep_to_the_limit(n_jobs):
    """Whatever the process may use."""
    seen = []

    def last(history, horizon):
        seen.append(torch.get_num_threads())
        return np.array([[past[-1]] * horizon for past in history])

    y = np.sin(np.arange(80.0))[:, None]
    model = InformerRegressor(
        seq_len=12, pred_len=4, members=["classical", last], n_jobs=n_jobs
    )
    model.fit(y).predict(y[-4:])
    assert max(seen) <= n_jobs
    assert torch.get_num_threads() == 4


@pytest.mark.parametrize("n_jobs", [1, 2])
def test_fits_for_intervals_keep_to_the_limit(n_jobs):
    """A forecaster that nothing was compared with is fitted once more when they are asked for."""
    seen = []

    class Last:
        def fit(self, history):
            seen.append(torch.get_num_threads())
            return self

        def predict(self, history, horizon):
            return np.array([[past[-1]] * horizon for past in history])

    y = np.sin(np.arange(80.0))[:, None]
    model = InformerRegressor(seq_len=12, pred_len=4, members=[Last()], n_jobs=n_jobs)
    model.fit(y)
    n_fits = len(seen)
    assert model.intervals_ is not None
    assert len(seen) > n_fits
    assert max(seen) <= n_jobs


@pytest.mark.slow
def test_forecasts_of_several_threads_are_those_of_one():
    """But for rounding."""
    rng = np.random.default_rng(0)
    y = np.sin(np.arange(1700) * 0.3)[:, None] + rng.normal(0, 0.1, (1700, 1))
    forecasts = []
    for n_jobs in (1, 3):
        model = InformerRegressor(
            **with_parts(seq_len=24, pred_len=6, d_model=8, n_heads=2, max_iter=1),
            random_state=0,
            n_jobs=n_jobs,
        )
        forecasts.append(model.fit(y).predict(y[-24:]))
    np.testing.assert_allclose(forecasts[1], forecasts[0], rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("n_jobs", [0, 1.5, "all"])
def test_a_number_of_threads_is_whole_and_not_zero(n_jobs):
    with pytest.raises(ValueError, match="n_jobs"):
        InformerRegressor(n_jobs=n_jobs).fit(np.zeros((60, 1)))
