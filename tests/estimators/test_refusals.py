"""A call that is refused or interrupted leaves the estimator as it was."""

import copy
import warnings

import numpy as np
import pandas as pd
import pytest
import torch
from blends import trust
from flat_parameters import with_parts
from joblib import Parallel, delayed, parallel_backend
from sklearn.exceptions import NotFittedError
from sklearn.model_selection import TimeSeriesSplit, cross_val_score

from skinformer import InformerRegressor, MemorySaving
from skinformer.training import trainer

P = {
    "seq_len": 24,
    "pred_len": 6,
    "d_model": 16,
    "n_heads": 2,
    "max_iter": 2,
    "random_state": 0,
}


def make_panel(n=120, series="abc"):
    """Return series of very different levels: swapped ones show."""
    hours = pd.date_range("2024-01-01", periods=n, freq="h")
    wave = np.sin(np.arange(n) / 4)
    parts = {
        s: pd.DataFrame({"load": 10.0**i + wave}, hours) for i, s in enumerate(series)
    }
    return pd.concat(parts, names=["series", "time"])


def results(model, X):
    """Return everything public that a user could compare."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return {
            "predict": model.predict(X),
            "again": model.predict(X),
            "forecast": model.forecast(),
            "future": model.make_future_frame(),
            "score": model.score(X),
            "losses": model.loss_curve_,
            "trust": trust(model),
            "names": list(model.feature_names_in_),
            "attributes": sorted(vars(model)),
            "training": model.module_.training,
        }


@pytest.fixture(scope="module")
def kept():
    """Give a panel, a model fitted to it, and what it says; made once, so not to change."""
    panel = make_panel()
    model = InformerRegressor(**with_parts(**P)).fit(panel[:-3])
    return panel, model, results(model, panel)


@pytest.fixture
def fitted(kept):
    """Give a panel, a copy of a model fitted to it, and what it says."""
    panel, model, before = kept
    return panel, copy.deepcopy(model), before


def assert_same(now, before):
    assert now.keys() == before.keys()
    for name, value in before.items():
        if isinstance(value, pd.DataFrame):
            pd.testing.assert_frame_equal(now[name], value, check_exact=True)
        else:
            np.testing.assert_array_equal(now[name], value, err_msg=name)


def infinite(panel):
    return panel.assign(
        load=np.where(np.arange(len(panel)) == 7, np.inf, panel["load"])
    )


def reordered(panel):
    """Return the series in another order, so that their numbers would change."""
    return pd.concat([panel.loc[[s]] for s in "cba"])


#: What is fitted, and what the parameters are then; each is refused.
REFUSALS = {
    "infinite": (lambda X: infinite(reordered(X)), {}),
    "all missing": (lambda X: reordered(X).assign(load=np.nan), {}),
    "out of order": (lambda X: X[::-1], {}),
    "other columns": (lambda X: X.assign(load2=np.inf), {}),
    "fewer series": (lambda X: infinite(X.loc[["b"]]), {}),
    "one series": (lambda X: infinite(X.loc["b"]), {}),
    "another clock": (lambda X: infinite(X.reset_index(drop=True)), {}),
    "text": (lambda X: X.assign(load="many"), {}),
    "wrong parameter": (lambda X: X, {"network__n_heads": 3}),
    "no such target": (lambda X: X, {"target": "sales"}),
    "late: another network": (
        lambda X: reordered(X),
        {"training__warm_start": True, "network__d_model": 8},
    ),
    "late: foreign checkpoint": (
        lambda X: reordered(X),
        {"training__checkpoint": "junk"},
    ),
    "late: diverged": (
        lambda X: reordered(X),
        {"training__learning_rate": 1e38, "members": ["network"]},
    ),
}


@pytest.mark.slow
@pytest.mark.parametrize("kind", REFUSALS)
def test_a_refused_refit_changes_nothing(kind, fitted, tmp_path):
    """Series swapped by a fit that failed went unseen: error 739 instead of 0.9."""
    panel, model, before = fitted
    spoil, parameters = REFUSALS[kind]
    if "training__checkpoint" in parameters:
        parameters = {"training__checkpoint": tmp_path / "junk"}
        other = InformerRegressor(**with_parts(**P | {"dropout": 0.5}))
        other.set_params(**parameters).fit(panel)
    old = {name: model.get_params()[name] for name in parameters}
    with pytest.raises((ValueError, TypeError, FloatingPointError)):
        model.set_params(**parameters).fit(spoil(panel))
    assert_same(results(model.set_params(**old), panel), before)


def test_a_refused_first_fit_leaves_an_estimator_that_is_not_fitted():
    """AttributeError: roles_ tells nobody what to do."""
    model = InformerRegressor(**with_parts(**P))
    before = vars(model).copy()
    with pytest.raises(ValueError, match="infinity"):
        model.fit(infinite(make_panel()))
    for call in (model.predict, model.score, model.update, model.forecast):
        with pytest.raises(NotFittedError):
            call(make_panel())
    assert vars(model) == before


@pytest.mark.slow
@pytest.mark.parametrize(
    "place", ["linear_fit", "start_module", "train", "EnsembleFit.finish", "fit_scale"]
)
@pytest.mark.parametrize("again", [False, True])
def test_ctrl_c_changes_nothing_wherever_it_comes(place, again, fitted, monkeypatch):
    """A new scaler with an old network forecast 500,000 where 0 was right."""
    panel, model, before = fitted
    if not again:
        model = InformerRegressor(**with_parts(**P))
        before = vars(model).copy()

    def interrupt(*args, **kwargs):
        raise KeyboardInterrupt

    monkeypatch.setattr(f"skinformer.estimators.fitting.{place}", interrupt)
    with pytest.raises(KeyboardInterrupt):
        model.fit(panel * 1000)
    assert_same(results(model, panel) if again else vars(model), before)


def test_ctrl_c_in_the_first_epoch_changes_nothing(fitted, monkeypatch):
    """Nothing was learnt yet that could be kept."""
    panel, model, before = fitted

    def interrupt(*args, **kwargs):
        raise KeyboardInterrupt

    monkeypatch.setattr(trainer, "clip_and_step", interrupt)
    with pytest.raises(KeyboardInterrupt):
        model.fit(panel * 1000)
    assert_same(results(model, panel), before)


@pytest.mark.slow
def test_other_refused_calls_change_nothing_either():
    """An update that is refused half-way would leave rows that nobody asked for."""
    panel = make_panel()
    train = panel.groupby(level=0).head(100)
    later = panel.groupby(level=0).tail(20)
    model = InformerRegressor(**with_parts(**P)).fit(train)
    before = results(model, later)
    for call in (model.update, model.predict, model.forecast, model.score):
        with pytest.raises((ValueError, TypeError)):
            call(infinite(later))
        with pytest.raises((ValueError, TypeError)):
            call(pd.concat([later, later]))
        assert_same(results(model, later), before)


@pytest.mark.slow
@pytest.mark.parametrize(
    "options",
    [
        {},
        {
            "memory_saving": MemorySaving(gradient_checkpointing=True),
            "members": ["network"],
        },
    ],
)
def test_fits_in_threads_equal_fits_in_a_row(options):
    """Searches and cross-validation run in threads; torch's generator is shared by them all."""
    X = make_panel(100)
    before = torch.get_rng_state()

    def forecast(_):
        return (
            InformerRegressor(**with_parts(**P | options)).fit(X).forecast().to_numpy()
        )

    alone = forecast(None)
    together = Parallel(4, prefer="threads")(delayed(forecast)(i) for i in range(4))
    for other in together:
        np.testing.assert_array_equal(other, alone)
    assert torch.equal(torch.get_rng_state(), before)


@pytest.mark.slow
def test_cross_validation_in_threads_repeats():
    """The scores of a fold must not depend on which other fold runs beside it."""
    df = make_panel(200, "a").loc["a"]
    model = InformerRegressor(**with_parts(**P))
    split = TimeSeriesSplit(3)
    alone = cross_val_score(model, df, df["load"], cv=split)
    with parallel_backend("threading", n_jobs=3):
        together = cross_val_score(model, df, df["load"], cv=split, n_jobs=3)
    np.testing.assert_array_equal(together, alone)
