"""Samples by dropout: the network's word moves, all else is as it was, nothing is left behind."""

import re
from unittest.mock import patch

import numpy as np
import pandas as pd
import pytest
import torch
from sklearn.dummy import DummyRegressor
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.tree import DecisionTreeRegressor

from skinformer import InformerClassifier, InformerRegressor
from skinformer.ensemble import weighing
from skinformer.evaluation import dropout_samples
from skinformer.model.dropout import Dropout, reseed

SIZES = {"seq_len": 24, "pred_len": 6, "d_model": 8, "n_heads": 2, "max_iter": 3, "random_state": 0}
TRAIN = 400


def make_frame(n=430, seed=0):
    hours = pd.date_range("2024-01-01", periods=n, freq="h", name="hour")
    rng = np.random.default_rng(seed)
    load = 60 + 9 * np.sin(hours.hour * np.pi / 12) + rng.normal(size=n)
    return pd.DataFrame({"temp": rng.normal(size=n), "load": load}, index=hours)


def fit(df, trust=0.5, **options):
    with patch.object(weighing, "mean_share", return_value=8):  # of trees, two fifths
        model = InformerRegressor(**{"target": "load", **SIZES, **options}).fit(df)
    if model.base_blend_:
        model.ensemble_ = model.ensemble_.trusting(trust)
    return model


def points(model, rows):
    """Forecast as `predict`, but for what calibrates a median, which the spread moves, too."""
    outputs = model._forecaster.forecast(model._requested_rows(rows))
    values = model.head_.point(outputs)
    return values[:, 0] if model.roles_.one_dimensional else values


@pytest.fixture(scope="module")
def df():
    return make_frame()


@pytest.fixture(scope="module")
def alone(df):
    return fit(df[:TRAIN], trust=1.0, members=["network"])


CASES = {
    "the network alone": {"members": ["network"], "trust": 1.0},
    "ridges": {"members": ["classical", "ridges", "network"]},
    "trees": {
        "members": [
            "classical",
            "ridges",
            DecisionTreeRegressor(max_depth=4, random_state=0),
            "network",
        ]
    },
    "two targets": {"members": ["classical", "ridges", "network"], "target": ["load", "temp"]},
    "median": {"members": ["classical", "ridges", "network"], "loss": [0.1, 0.5, 0.9]},
    "logarithms": {"members": ["classical", "ridges", "network"], "target_transform": "log"},
}


@pytest.mark.parametrize("case", CASES)
def test_samples_are_forecasts_with_the_layers_in_training_mode(df, case):
    """The definition: dropout switched on in the fit itself, seeded as it is, and `predict`."""
    model = fit(df[:TRAIN], **CASES[case])
    rows = df[TRAIN : TRAIN + 6]  # one window, so that a chunk holds 32 samples of it
    got = dropout_samples(model, rows, n_samples=3, random_state=0)
    network = getattr(model.module_, "network", model.module_)
    seed = int(np.random.RandomState(0).randint(2**31))
    module = model.module_
    forecast, said = model.predict(rows), points(model, rows)
    for sample in range(3):
        reseed(network, seed)
        # Padded by the window itself: sample i of a chunk has the masks of place i.
        hook = network.register_forward_hook(
            lambda net, args, out, i=sample: out[i : i + 1].expand_as(out)
        )
        for layer in module.modules():
            if isinstance(layer, Dropout):
                layer.train()
        expected = points(model, rows)
        hook.remove()
        module.eval()
        moved = got[..., sample] - forecast
        np.testing.assert_allclose(moved, expected - said, atol=2e-5)
        assert np.abs(moved).max() > 2e-3
    np.testing.assert_array_equal(model.predict(rows), forecast)


def test_nothing_of_the_fit_changes(alone, df):
    """Neither its mode, nor its generators, nor torch's own, nor a forecast."""
    before = alone.predict(df)
    states = [m.generator.get_state() for m in alone.module_.modules() if isinstance(m, Dropout)]
    torch_state, numpy_state = torch.get_rng_state(), np.random.get_state()[1].copy()  # noqa: NPY002
    one = dropout_samples(alone, n_samples=40)
    assert not any(module.training for module in alone.module_.modules())
    after = [m.generator.get_state() for m in alone.module_.modules() if isinstance(m, Dropout)]
    assert all(torch.equal(a, b) for a, b in zip(states, after, strict=True))
    assert torch.equal(torch.get_rng_state(), torch_state)
    np.testing.assert_array_equal(np.random.get_state()[1], numpy_state)  # noqa: NPY002
    np.testing.assert_array_equal(alone.predict(df), before)
    np.testing.assert_array_equal(dropout_samples(alone, n_samples=40), one)
    assert not np.array_equal(dropout_samples(alone, n_samples=40, random_state=1), one)


def test_a_row_has_its_samples_whatever_is_asked_with_it(alone, df):
    """Rows in another order, fewer rows, fewer samples."""
    rows = df[TRAIN : TRAIN + 14]
    every = dropout_samples(alone, rows, n_samples=40)
    np.testing.assert_array_equal(dropout_samples(alone, rows, n_samples=7), every[:, :7])
    np.testing.assert_array_equal(
        dropout_samples(alone, rows.iloc[::-1], n_samples=40), every[::-1]
    )
    np.testing.assert_array_equal(dropout_samples(alone, rows[:6], n_samples=40), every[:6])


def test_samples_lie_around_the_forecast_by_the_networks_share(df):
    """Half the trust is half the spread: the rest of the forecast stays where it is."""
    model = fit(df[:TRAIN], trust=0.5, members=["classical", "ridges", "network"])
    half = dropout_samples(model, n_samples=200)
    forecast = model.forecast()["load"].to_numpy()
    model.ensemble_ = model.ensemble_.trusting(1.0)
    whole = dropout_samples(model, n_samples=200)
    np.testing.assert_allclose(whole.std(axis=1), 2 * half.std(axis=1), rtol=1e-4)
    error = half.std(axis=1) / np.sqrt(200)
    assert (np.abs(half.mean(axis=1) - forecast) < half.std(axis=1) + 5 * error).all()


def test_shapes_are_those_of_quantiles(df, alone):
    """One target has no axis of its own, unless it is asked for in a list."""
    assert dropout_samples(alone, n_samples=2).shape == (6, 2)
    two = fit(df[:TRAIN], members=["classical", "ridges", "network"], target=["load", "temp"])
    assert dropout_samples(two, df[TRAIN : TRAIN + 3], n_samples=2).shape == (3, 2, 2)
    scaled = make_pipeline(
        StandardScaler().set_output(transform="pandas"),
        InformerRegressor("load", members=["network"], **SIZES),
    ).fit(df[:TRAIN], df["load"][:TRAIN])
    rows = df[TRAIN : TRAIN + 3]
    got = dropout_samples(scaled, rows, n_samples=20)
    np.testing.assert_allclose(got.mean(axis=1), scaled.predict(rows), atol=5 * got.std())


def test_what_would_give_the_forecast_again_is_refused(df):
    """A spread of zero would be taken for certainty."""
    none = fit(df[:TRAIN], trust=1.0, members=["network"], dropout=0.0).set_params(dropout=0.5)
    text = (
        "the network was fitted with dropout=0 and drops nothing: all samples would be the "
        "forecast. Fit with dropout above 0, such as 0.2; predict_interval tells how far forecasts "
        "of any fit are off."
    )
    with pytest.raises(ValueError, match=re.escape(text)):
        dropout_samples(none)
    silent = fit(df[:TRAIN], trust=0.0, members=["classical", "ridges", "network"])
    text = (
        "the network has no share in these forecasts (trust_=0): all samples would be the "
        "forecast. predict_interval tells how far it is off; with "
        "members=['network'] the network forecasts alone."
    )
    with pytest.raises(ValueError, match=re.escape(text)):
        dropout_samples(silent)


def test_what_gives_no_samples_is_refused(df, alone):
    """In words that say what to pass."""
    text = (
        "n_samples=0 must be a whole number from 1 to 1,000,000: it counts forecasts of each row."
    )
    with pytest.raises(ValueError, match=re.escape(text)):
        dropout_samples(alone, n_samples=0)
    for n in (True, 2.5, "2"):
        with pytest.raises(ValueError, match="must be a whole number from 1"):
            dropout_samples(alone, n_samples=n)
    text = (
        "DummyRegressor gives no samples by dropout: they are forecasts of numbers by a network. "
        "Pass a fitted InformerRegressor, or a Pipeline or search that ends in one."
    )
    with pytest.raises(TypeError, match=re.escape(text)):
        dropout_samples(DummyRegressor().fit(df, df["load"]))
    with pytest.raises(TypeError, match="InformerClassifier gives no samples by dropout"):
        dropout_samples(InformerClassifier())
