"""Run the scripts of examples/beside as tests, and use forecasters as members."""

import pickle
import runpy
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.model_selection import GridSearchCV, TimeSeriesSplit

import skinformer
from skinformer import InformerRegressor
from skinformer.evaluation import backtest

FOLDER = Path(__file__).resolve().parents[2] / "examples" / "beside"


@pytest.fixture(scope="session")
def run_example():
    """Give the function that runs a script, and gives its names."""

    def run(name):
        return runpy.run_path(str(FOLDER / name), run_name="__main__")

    return run


def _waves(n_rows):
    steps = np.arange(n_rows)
    noise = np.random.default_rng(0).normal(size=n_rows, scale=0.1)
    return 10 + np.sin(steps * np.pi / 6) + noise


@pytest.fixture
def use_as_member(tmp_path):
    """Give the function that does with a member all that is done with models."""

    def use(forecaster, others, given):
        """Use a forecaster by itself and beside ridges.

        others: values of a parameter of it, by name, for a search.
        given: what `load` gets to build it again; None: it cannot be saved.
        """
        days = pd.date_range("2024-01-01", periods=60, freq="D")
        rows = pd.DataFrame({"load": _waves(60)}, days)
        rows.iloc[40:43] = np.nan
        sizes = {"seq_len": 12, "pred_len": 3, "random_state": 0}
        model = InformerRegressor("load", members=[forecaster], **sizes).fit(rows)
        forecast = model.forecast()
        assert forecast.shape == (3, 1)
        assert next(iter(model.ensemble_.members)) == forecaster.name
        direct = forecaster.predict([rows["load"].to_numpy()], 3)
        seen = (direct[0] > rows["load"].min()) & (direct[0] < rows["load"].max())
        np.testing.assert_allclose(forecast["load"][seen], direct[0][seen], rtol=1e-4)

        mixed = InformerRegressor(
            "load", members=["ridges", clone(forecaster)], **sizes
        )
        with pytest.warns(
            UserWarning, match="are left out: there are too few validation rows"
        ):
            mixed.fit(rows)
        long_days = pd.date_range("2024-01-01", periods=150, freq="D")
        mixed.fit(pd.DataFrame({"load": _waves(150)}, long_days))
        assert np.isfinite(mixed.forecast(horizon=5)).all(axis=None)
        assert type(forecaster).__name__ in mixed._repr_html_()
        interval = model.forecast(coverage=0.8)
        assert (interval.iloc[:, -2] <= interval.iloc[:, -1]).all()
        judged = backtest(clone(model).fit(rows[:48]), rows, start=days[48], step=6)
        assert np.isfinite(judged["forecast"]).all()

        name = f"members__{type(forecaster).__name__.lower()}__{next(iter(others))}"
        values = next(iter(others.values()))
        search = GridSearchCV(model, {name: values}, cv=TimeSeriesSplit(2, test_size=6))
        search.fit(rows, rows["load"].ffill())
        assert len(search.cv_results_["params"]) == len(values)

        copied = pickle.loads(pickle.dumps(model))
        np.testing.assert_allclose(copied.forecast(), forecast)
        path = tmp_path / "model.skinformer"
        if given is None:
            with pytest.raises(ValueError, match="to_config"):
                model.save(path)
            return model
        model.save(path)
        with pytest.raises(ValueError, match="forecasters="):
            skinformer.load(path)
        loaded = skinformer.load(path, forecasters=[given])
        np.testing.assert_allclose(loaded.forecast(), forecast)
        return model

    return use
