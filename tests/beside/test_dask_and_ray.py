"""Searches and backtests on Dask and on Ray, through joblib, beside the same in one process."""

import joblib
import numpy as np
import pandas as pd
import pytest
from flat_parameters import with_parts
from sklearn.callback import ScoringMonitor
from sklearn.model_selection import GridSearchCV, TimeSeriesSplit

from skinformer import InformerRegressor
from skinformer.evaluation import backtest

TRAIN = 240
P = {
    "seq_len": 24,
    "pred_len": 6,
    "d_model": 8,
    "n_heads": 2,
    "max_iter": 1,
    "random_state": 0,
}

# What the engines themselves leave open or call by an old name is theirs to mend.
pytestmark = pytest.mark.filterwarnings(
    "ignore::DeprecationWarning",
    "ignore::FutureWarning:ray",
    "ignore::ResourceWarning",
    "ignore::pytest.PytestUnraisableExceptionWarning",
)


def on_dask():
    distributed = pytest.importorskip("distributed")
    with (
        distributed.LocalCluster(
            n_workers=2, threads_per_worker=1, dashboard_address=":0"
        ) as cluster,
        distributed.Client(cluster),
    ):
        yield "dask"


def on_ray():
    ray = pytest.importorskip("ray")
    from ray.util.joblib import register_ray

    ray.init(num_cpus=2, include_dashboard=False)
    register_ray()
    yield "ray"
    ray.shutdown()


@pytest.fixture(scope="module", params=[on_dask, on_ray], ids=["dask", "ray"])
def engine(request):
    """Two processes on this machine, and joblib's name for them."""
    yield from request.param()


@pytest.fixture(scope="module")
def df():
    n = 300
    noise = np.random.default_rng(0).normal(size=n)
    hours = pd.date_range("2024-01-01", periods=n, freq="h")
    return pd.DataFrame(
        {"load": 100 + 10 * np.sin(np.arange(n) * np.pi / 12) + noise}, index=hours
    )


def both(engine, work):
    """Do work here, then on the engine."""
    here = work()
    with joblib.parallel_config(engine, n_jobs=2):
        return here, work()


def test_a_search_finds_what_it_finds_here(engine, df):
    """The same scores, bit for bit, and the same best model; callbacks go along.

    What they note there stays there: scikit-learn's call home by a socket of one machine, from
    joblib's own processes.
    """

    def search():
        monitor = ScoringMonitor(scoring="neg_mean_absolute_error")
        return GridSearchCV(
            InformerRegressor("load", **with_parts(**P)).set_callbacks(monitor),
            {"training__learning_rate": [1e-3, 1e-2]},
            cv=TimeSeriesSplit(2, test_size=24),
            scoring="neg_mean_absolute_error",
        ).fit(df, df["load"])

    here, there = both(engine, search)
    for key in ("split0_test_score", "split1_test_score", "rank_test_score"):
        assert np.array_equal(here.cv_results_[key], there.cv_results_[key])
    assert here.best_estimator_.forecast().equals(there.best_estimator_.forecast())


def test_a_backtest_gives_the_same_table(engine, df):
    """Fits are shared; the forecasts of one fit are made at once."""
    estimator = InformerRegressor("load", **with_parts(**P))
    here, there = both(
        engine, lambda: backtest(estimator, df, start=df.index[TRAIN], refit=4)
    )
    pd.testing.assert_frame_equal(here, there, check_exact=True)
