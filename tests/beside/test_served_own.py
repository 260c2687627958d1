"""Ridges of each series are in the graph: units, logarithms, padding and all."""

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
import torch

from skinformer import InformerRegressor
from skinformer.ensemble.own import OwnRidges
from skinformer.estimators.exporting import served_module
from skinformer.estimators.served_own import ServedOwnRidges
from skinformer.serving import window_inputs
from skinformer.tabular.regressors import default_regressors

SMALL = {
    "seq_len": 24,
    "pred_len": 6,
    "d_model": 8,
    "n_heads": 2,
    "max_iter": 1,
    "members": ["ridges", "own ridges", "trees", "network"],
    "patch_len": 1,
    "random_state": 0,
    "device": "cpu",
}
SHARES = {"own ridges": 0.5, "trees": 0.2, "ridges": 0.2, "network": 0.1}


def make_table(n=1900, *, start="2024-01-01", seed=0):
    """Make two targets of other units, each with its wave, and an event that moves both."""
    rng, t = np.random.default_rng(seed), np.arange(n)
    event, noise = (rng.random(n) < 0.1) * 1.0, rng.normal(size=(n, 2))
    columns = {
        "load": 1000 + 50 * np.sin(t / 4) + 80 * event + 5 * noise[:, 0],
        "event": event,
        "flow": np.maximum(3 * np.sin(t / 12) - event + 0.2 * noise[:, 1], 0.0),
    }
    return pd.DataFrame(columns, index=pd.date_range(start, periods=n, freq="h"))


def make_panel(lengths):
    """Make unequal series, three of which grow by factors and are above 0."""
    parts = {}
    for i, (site, n) in enumerate(lengths.items()):
        rng, t = np.random.default_rng(i), np.arange(n)
        wave = np.sin(2 * np.pi * (t + 3 * i) / 24) + 0.1 * rng.normal(size=n)
        event = (rng.random(n) < 0.1) * 1.0
        load = 20 * wave if site == "west" else 10.0**i * np.exp(wave + event)
        index = pd.date_range("2024-01-01", periods=n, freq="h")
        parts[site] = pd.DataFrame({"load": load, "event": event}, index=index)
    return pd.concat(parts, names=["site", "time"])


def fit(X, **changes):
    """Fit, and let all count, the member above all, whatever they have proved."""
    model = InformerRegressor(known_future=["event"], **{**SMALL, **changes}).fit(X)
    ensemble, fitted = model.ensemble_, (model.timeline_, model.sizes_, model.scaler_)
    members = {"own ridges": OwnRidges.of_timeline(*fitted, of_mean=True), **ensemble.members}
    members["own ridges"] = ensemble.members.get("own ridges", members["own ridges"])
    weights = np.array([SHARES[name] for name in members])
    shape = *ensemble.weights.shape[:-1], len(members)
    weights = np.broadcast_to(weights / weights.sum(), shape).copy()
    if len(weights) > 2 and "trees" in members:
        weights[-1, ..., list(members).index("trees")] = 0.0  # as in every panel
        weights[-1] /= weights[-1].sum(axis=-1, keepdims=True)
    model.ensemble_ = replace(ensemble, members=members, weights=weights)
    return model


@pytest.fixture(scope="module")
def table():
    """Fit a long single table of hours: (model, rows), the last ones to forecast."""
    with pytest.MonkeyPatch.context() as patch:
        few_trees(patch)
        X = make_table()
        return fit(X[:-300], target=["load", "flow"]), X


@pytest.fixture(scope="module")
def panel():
    """Fit all but one series of a panel, in logarithms where these are better."""
    with pytest.MonkeyPatch.context() as patch:
        few_trees(patch)
        X = make_panel({"north": 900, "south": 420, "west": 700, "east": 500, "new": 300})
        known = X.drop(index="new", level=0)
        last = known.groupby(level=0).tail(60).index
        return fit(known.drop(last), target="load", target_transform="auto"), X


def few_trees(patch):
    """Boost a tenth of the trees."""

    def few(*, simple, quick):
        trees = default_regressors(simple=simple, quick=quick)
        return tuple(t.set_params(max_iter=t.max_iter // 10, learning_rate=0.5) for t in trees)

    patch.setattr("skinformer.tabular.fit.default_regressors", few)


def served(model, X, origins=None):
    """Forecast by the module that is exported: a row for each step."""
    inputs, labels = window_inputs(X, model.signature_, origins)
    with torch.inference_mode():
        forecast, _ = served_module(model)(**{k: torch.from_numpy(v) for k, v in inputs.items()})
    return pd.DataFrame(forecast.flatten(0, 1).numpy(), labels, [*model.roles_.targets])


def apart(found, expected, spread):
    """Give the largest distance in what targets spread."""
    expected = np.asarray(expected).reshape(found.shape)
    return (np.abs(found.to_numpy() - expected) / np.asarray(spread)).max()


def hidden(X, n=6):
    """Hide the truth of each series' last rows."""
    groups = X.groupby(level=0) if X.index.nlevels == 2 else X
    rows = X.index.isin(groups.tail(n).index)
    return X.where(~rows[:, None] | (X.columns == "event"))


def of_table(model, X):
    """Compare windows of a later evaluation, and young tables: the largest distance."""
    spread = X[["load", "flow"]].std()
    found = served(model, X, X.index[-300::6])
    most = [apart(found, model.predict(X[-300:]), spread)]
    for n in (20, 30, 60, 200):  # from less than the least look-back to more than some
        young = make_table(n, start="2030-01-01", seed=7)
        young.iloc[:3, [0, 2]] = np.nan
        young.iloc[3, 2] = np.nan
        with pytest.warns(UserWarning, match=r"."):
            expected = model.forecast(hidden(young))
        most.append(apart(served(model, hidden(young)), expected, spread))
    return max(most)


def of_panel(model, X):
    """Compare series that the fit held, and a new one, whole and young: the largest distance."""
    known, most = X.drop(index="new", level=0), []
    spread, last = X["load"].groupby(level=0).std(), known.groupby(level=0).tail(60)
    expected = pd.Series(model.predict(last), last.index)
    for site, rows in last.groupby(level=0):
        found = served(model, known, rows.index[::6])
        most.append(apart(found, expected[found.index], spread[site]))
    for n in (20, 40, 300):
        new = hidden(X.loc[["new"]][-n:])
        most.append(apart(served(model, new), model.forecast(new), spread["new"]))
    return max(most)


COMPARED = {"table": of_table, "panel": of_panel}
#: What a graph may get wrong of the member, by what is done to it.
BROKEN = {
    "table": {
        "effect": lambda own: own.effect.zero_(),
        "target": lambda own: own.place.copy_(own.place.flip(1)),
        "padding": lambda own: own.register_forward_pre_hook(from_the_first_row),
    },
    "panel": {
        "effect": lambda own: own.effect.zero_(),
        "series": lambda own: own.place.copy_(own.place.roll(1, 0)),
        "logarithms": lambda own: own.low.fill_(torch.nan),
        "padding": lambda own: own.register_forward_pre_hook(from_the_first_row),
    },
}


def from_the_first_row(_, given):
    """Take rows before a series began for rows of it."""
    values, begin, row = given
    return values, 0 * begin, row


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:X holds:UserWarning")
@pytest.mark.parametrize("kind", COMPARED)
def test_a_graph_forecasts_what_predict_does(kind, request, monkeypatch):
    """And it no longer does if anything of the member is changed."""
    model, X = request.getfixturevalue(kind)
    assert COMPARED[kind](model, X) < 1e-5
    for wrong, change in BROKEN[kind].items():

        def broken(member, change=change):
            own = ServedOwnRidges(member)
            change(own)
            return own

        monkeypatch.setattr("skinformer.estimators.exporting.ServedOwnRidges", broken)
        assert COMPARED[kind](model, X) > 1e-3, wrong


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:`isinstance.treespec, LeafSpec:FutureWarning")
@pytest.mark.parametrize("kind", COMPARED)
def test_onnxruntime_forecasts_what_predict_does(kind, request, tmp_path, capfd):
    """Without a warning, for windows of many series at once, of which some begin late."""
    pytest.importorskip("onnxscript")
    onnxruntime = pytest.importorskip("onnxruntime")
    model, X = request.getfixturevalue(kind)
    model.export_onnx(tmp_path / "own.onnx")
    session = onnxruntime.InferenceSession(tmp_path / "own.onnx")
    origins = [at for at in X.index[::30] if (at[1] if kind == "panel" else at).day > 1]
    inputs, _ = window_inputs(X, model.signature_, origins)
    (forecast,) = session.run(["forecast"], inputs)
    expected = served(model, X, origins).to_numpy().reshape(forecast.shape)
    assert np.abs((forecast - expected) / expected.std(axis=(0, 1))).max() < 1e-5
    assert "onnxruntime" not in capfd.readouterr().err
