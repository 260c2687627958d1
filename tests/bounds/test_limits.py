"""What forecasters say beyond all reason is compressed before it is weighed."""

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
import torch
from flat_parameters import with_parts

from skinformer import InformerRegressor, load
from skinformer.estimators.exporting import exported_module
from skinformer.serving.windows import window_inputs

SIZES = {
    "seq_len": 24,
    "pred_len": 6,
    "d_model": 16,
    "n_heads": 2,
    "max_iter": 1,
    "random_state": 0,
    "target_transform": "log",
}


def frame(values):
    index = pd.date_range("2026-01-01", periods=len(values), freq="h", name="time")
    return pd.DataFrame({"load": values}, index=index)


def ordinary(n=300):
    day = np.sin(2 * np.pi * np.arange(n) / 24)
    return np.exp(4 + day + 0.1 * np.random.default_rng(0).normal(size=n))


@pytest.fixture
def rows():
    return frame(ordinary())


def outliers(model, network=0.0):
    """Let ridges, or a network that is half trusted, go far beyond all that ever was."""
    module = model.module_
    if network:
        model.ensemble_ = model.ensemble_.with_network_share(0.5)
        with torch.no_grad():
            module.network.projection.bias.fill_(network)
    else:
        module.path.own.mul_(6.0)
    return model


def without_limits(model, monkeypatch, ask):
    """Forecast as if no limit were known."""
    with monkeypatch.context() as patch:
        scale = replace(model.scaler_, targets=replace(model.scaler_.targets, top=None))
        patch.setattr(model, "scaler_", scale)
        return ask(model)


def test_wild_ridges_stay_near_the_largest_value(rows, monkeypatch):
    """Half as much again as the largest value so far, and not a hundred times as much."""
    model = outliers(
        InformerRegressor(
            "load", **with_parts(members=["ridges", "network"], **SIZES)
        ).fit(rows)
    )
    free = without_limits(
        model, monkeypatch, lambda m: m.forecast(horizon=12).to_numpy()
    )
    forecast = model.forecast(horizon=12).to_numpy()
    assert free.max() > 10 * rows.load.max()
    assert forecast.max() < 1.6 * rows.load.max()
    assert (forecast <= free).all()


def test_a_wild_network_is_limited_before_it_is_mixed(rows, monkeypatch):
    """Its half of the forecast is that of a limited one, not half of a wild one."""
    plain = InformerRegressor(
        "load", **with_parts(members=["ridges", "network"], **SIZES)
    ).fit(rows)
    plain.ensemble_ = plain.ensemble_.with_network_share(0.0)
    ridges = plain.forecast().to_numpy()
    model = outliers(
        InformerRegressor(
            "load", **with_parts(members=["ridges", "network"], **SIZES)
        ).fit(rows),
        network=12.0,
    )
    free = without_limits(model, monkeypatch, lambda m: m.forecast().to_numpy())
    forecast = model.forecast().to_numpy()
    assert free.max() > 3 * rows.load.max()
    highest = np.sqrt(ridges * 1.6 * rows.load.max())  # the mean of logarithms
    assert (forecast <= highest).all()
    assert (forecast > ridges).all()


@pytest.mark.parametrize("network", [0.0, 12.0])
def test_an_exported_graph_is_limited_alike(rows, network):
    """What is exported gives the forecast."""
    model = outliers(
        InformerRegressor(
            "load", **with_parts(members=["ridges", "network"], **SIZES)
        ).fit(rows),
        network,
    )
    expected = model.forecast()
    inputs, _ = window_inputs(rows, model.signature_, None)
    with torch.inference_mode():
        served, _ = exported_module(model)(
            **{k: torch.from_numpy(v) for k, v in inputs.items()}
        )
    np.testing.assert_allclose(served.ravel(), expected.load, rtol=1e-5)


def test_limits_are_saved(rows, tmp_path):
    """And series that training did not hold have them, too."""
    model = outliers(
        InformerRegressor(
            "load", **with_parts(members=["ridges", "network"], **SIZES)
        ).fit(rows)
    )
    model.save(tmp_path / "load.skinformer")
    pd.testing.assert_frame_equal(
        load(tmp_path / "load.skinformer").forecast(), model.forecast()
    )
    unseen = model.scaler_.with_unseen().targets
    assert unseen.top[-1] == unseen.top[0]
    assert unseen.of_series(np.array([1])).top == unseen.top[0]


def test_ordinary_forecasts_are_untouched(rows, monkeypatch):
    """To the bit, for one origin and for many."""
    model = InformerRegressor(
        "load", **with_parts(members=["ridges", "network"], **SIZES)
    ).fit(rows[:-48])
    ahead = rows[-48:]
    free = without_limits(model, monkeypatch, lambda m: m.predict(ahead))
    assert (model.predict(ahead) == free).all()


@pytest.mark.parametrize("transform", ["log", None])
def test_growth_goes_on(transform):
    """Ten per cent a week for sixty weeks; the next weeks are no record without a reason."""
    n, ahead = 60, 6
    weeks = frame(100 * 1.1 ** np.arange(n + ahead))
    settings = {**SIZES, "seq_len": 12, "target_transform": transform}
    model = InformerRegressor("load", **with_parts(**settings)).fit(weeks[:n])
    forecast = model.forecast().to_numpy().ravel()
    assert (forecast > 0.95 * weeks.load[n:].to_numpy()).all()


def test_a_new_level_is_no_record(rows, monkeypatch):
    """What came after the fit is the window's own, whatever the series was before."""
    model = InformerRegressor(
        "load", **with_parts(members=["ridges", "network"], **SIZES)
    ).fit(rows[:-48])
    ahead = rows[-48:].copy()
    ahead["load"] *= 10
    free = without_limits(model, monkeypatch, lambda m: m.forecast(ahead))
    assert free.load.max() > 2 * rows.load.max()
    assert model.forecast(ahead).equals(free)
