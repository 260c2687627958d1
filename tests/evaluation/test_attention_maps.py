"""Attention maps of fits: the weights of the forecast, times of tokens, and what they are like."""

import copy
import re

import numpy as np
import pandas as pd
import pytest
import torch
from blends import trust
from flat_parameters import with_parts
from sklearn.dummy import DummyRegressor
from sklearn.linear_model import LinearRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from skinformer import Attention, InformerClassifier, InformerRegressor
from skinformer.evaluation import attention_maps
from skinformer.model.dense import DenseAttention

SIZES = {
    "seq_len": 24,
    "pred_len": 6,
    "patch_len": 4,
    "d_model": 8,
    "n_heads": 2,
    "max_iter": 1,
}
SIZES |= {"members": ["network"], "random_state": 0}
TRAIN = 120


def make_frame(n=140, seed=0):
    hours = pd.date_range("2024-01-01", periods=n, freq="h", name="hour")
    noise = np.random.default_rng(seed).normal(size=n)
    return pd.DataFrame(
        {"load": 50 + 9 * np.sin(hours.hour * np.pi / 12) + noise}, index=hours
    )


@pytest.fixture(scope="module")
def df():
    return make_frame()


@pytest.fixture(scope="module")
def model(df):
    return InformerRegressor(**with_parts(**SIZES)).fit(df[:TRAIN])


def find(maps, where, layer=1):
    return next(each for each in maps if (each.where, each.layer) == (where, layer))


def test_one_map_for_each_layer_of_each_origin(model, df):
    """In the order of the forward pass; rows of a block share their origin."""
    maps = attention_maps(model, df[TRAIN : TRAIN + 8].iloc[::-1])
    layers = [("encoder", 1), ("encoder", 2), ("decoder", 1), ("cross", 1)]
    assert [(each.where, each.layer) for each in maps] == 2 * layers
    assert [each.origin for each in maps[::4]] == [df.index[TRAIN], df.index[TRAIN + 6]]
    ahead = attention_maps(model)
    assert [each.origin for each in ahead] == 4 * [df.index[TRAIN]]
    np.testing.assert_array_equal(ahead[0].weights, maps[0].weights)
    assert repr(ahead[0]) == (
        "AttentionMap('encoder', layer=1, origin=2024-01-06 00:00:00, weight=1, 2 heads, "
        "6 queries, 6 keys)"
    )


def test_times_are_those_of_the_rows_of_a_token(model, df):
    """By hand: 24 rows in patches of 4, halved, 12 guiding rows and 6 steps ahead."""
    maps, index = attention_maps(model), df.index
    first = find(maps, "encoder")
    assert first.key_times["first"].tolist() == index[TRAIN - 24 : TRAIN : 4].tolist()
    assert first.key_times["last"].tolist() == index[TRAIN - 21 : TRAIN : 4].tolist()
    second = find(maps, "encoder", 2)
    assert second.key_times["first"].tolist() == index[TRAIN - 24 : TRAIN : 8].tolist()
    assert second.key_times["last"].tolist() == index[TRAIN - 17 : TRAIN : 8].tolist()
    cross = find(maps, "cross")
    assert cross.query_times["first"].tolist() == index[[TRAIN, TRAIN + 4]].tolist()
    assert cross.query_times["last"].tolist() == index[[TRAIN + 3, TRAIN + 5]].tolist()
    pd.testing.assert_frame_equal(cross.key_times, second.key_times)
    decoder = find(maps, "decoder")
    assert (
        decoder.key_times["first"].tolist()
        == index[TRAIN - 12 : TRAIN + 6 : 4].tolist()
    )
    assert decoder.visible.tolist() == [[True] * 4 + [False], [True] * 5]


def test_weights_are_those_of_the_forecast(model, df, monkeypatch):
    """Attention that is replaced by the weights of the maps forecasts the same."""
    rows = df[TRAIN : TRAIN + 8]
    forecast, maps = model.predict(rows), attention_maps(model, rows)
    queue = []
    layers = [("encoder", 1), ("encoder", 2), ("decoder", 1), ("cross", 1)]
    for where, layer in layers:
        each = [m.weights for m in maps if (m.where, m.layer) == (where, layer)]
        queue.append(torch.from_numpy(np.stack([*each, *[each[-1]] * 30])))

    def replayed(self, q, k, v, *, keys, n_last):
        return queue.pop(0) @ v

    monkeypatch.setattr(DenseAttention, "forward", replayed)
    np.testing.assert_allclose(model.predict(rows), forecast, rtol=1e-6)
    assert not queue


@pytest.mark.slow
def test_nothing_of_the_fit_changes(model, df):
    """Forecasts after a look are those before, to the last bit."""
    before, state = model.predict(df), copy.deepcopy(model.module_.state_dict())
    with_maps = attention_maps(model, df)
    np.testing.assert_array_equal(model.predict(df), before)
    assert not any(
        m._forward_pre_hooks or m._forward_hooks for m in model.module_.modules()
    )
    assert all(
        torch.equal(value, state[name])
        for name, value in model.module_.state_dict().items()
    )
    again = attention_maps(model, df)
    assert all(
        np.array_equal(a.weights, b.weights)
        for a, b in zip(with_maps, again, strict=True)
    )


def test_a_map_is_the_same_whatever_rows_are_asked_with_it(model, df):
    """More than one chunk of windows, against each by itself."""
    every = attention_maps(model, df)
    assert len(every) > 4 * 20
    last = attention_maps(model, df[TRAIN + 6 : TRAIN + 12])  # the history ends before
    alone = attention_maps(model, df[: TRAIN + 12].iloc[-6:])
    for one, other in zip(last, alone, strict=True):
        np.testing.assert_array_equal(one.weights, other.weights)
    same = [each for each in every if each.origin == df.index[TRAIN]]
    for one, other in zip(attention_maps(model), same, strict=True):
        np.testing.assert_array_equal(one.weights, other.weights)


def test_probsparse_tells_which_queries_it_selected(df):
    """The others look at all alike: as many as the rule says, in the encoder alone."""
    attention = Attention(encoder="probsparse", factor=1)
    model = InformerRegressor(
        **with_parts(**SIZES | {"patch_len": 1}, attention=attention)
    ).fit(df[:TRAIN])
    maps = attention_maps(model)
    each = find(maps, "encoder")
    assert each.weights.shape == (2, 24, 24)
    assert (each.selected.sum(axis=1) == 3).all()  # ⌊ln 24⌋
    np.testing.assert_allclose(each.weights[~each.selected], 1 / 24, rtol=1e-6)
    shares = [m.selected.mean(axis=1).tolist() for m in maps]
    assert shares == [2 * [3 / 24], 2 * [2 / 12], 2 * [1.0], 2 * [1.0]]


@pytest.mark.slow
def test_a_network_without_a_share_is_told(df):
    """Its map would be taken for a reason."""
    model = InformerRegressor(
        **with_parts(**SIZES | {"members": ["ridges", "network"]})
    ).fit(df[:TRAIN])
    model.ensemble_ = model.ensemble_.with_network_share(0.5)
    assert attention_maps(model)[0].weight == pytest.approx(0.5)
    model.ensemble_ = model.ensemble_.with_network_share(0.0)
    text = (
        "the network has no weight in 6 of 6 forecasts: other members make them, so "
        "its attention does not explain them. leaderboard() shows its weight; with "
        "members=['network'] it forecasts alone."
    )
    with pytest.warns(UserWarning, match=f"^{re.escape(text)}$"):
        maps = attention_maps(model)
    assert maps[0].weight == 0
    several = InformerRegressor(
        **with_parts(**SIZES | {"members": ["ridges", "network"]}, loss=[0.1, 0.5, 0.9])
    ).fit(df[:TRAIN])
    several.ensemble_ = several.ensemble_.with_network_share(0.0)
    with pytest.warns(
        UserWarning,
        match="forecasts but for how far quantiles lie apart: other members",
    ):
        attention_maps(several)


@pytest.mark.slow
@pytest.mark.parametrize(
    "options", [{"calendar": None, "position": "continuous"}, {"loss": "mae"}]
)
def test_shares_are_those_of_the_parts(df, options):
    """The default, trees and all, and an unusual one."""
    model = InformerRegressor(
        **with_parts(**SIZES | {"members": "auto"} | options)
    ).fit(df[:TRAIN])
    model.ensemble_ = model.ensemble_.with_network_share(0.25)
    assert attention_maps(model, df[TRAIN:])[0].weight == pytest.approx(trust(model))


@pytest.mark.slow
def test_each_series_of_a_panel_has_its_maps():
    """By its name, new ones too."""
    panel = pd.concat(
        {name: make_frame(130, seed=i) for i, name in enumerate("ab")}, names=["s"]
    )
    train = panel.groupby("s", group_keys=False).head(TRAIN)
    model = InformerRegressor(**with_parts(**SIZES, target="load")).fit(train)
    new = pd.concat({"new": make_frame(40, seed=5)}, names=["s"])
    maps = attention_maps(model, pd.concat([panel.drop(train.index), new]))
    assert list(dict.fromkeys(each.series for each in maps)) == ["a", "b", "new"]
    assert "series='a'" in repr(maps[0])


def test_classes_and_pipelines_have_maps_too(df):
    """A Pipeline's are those of its last step."""
    scaled = make_pipeline(
        StandardScaler().set_output(transform="pandas"),
        InformerRegressor("load", **with_parts(**SIZES)),
    ).fit(df[:TRAIN], df["load"][:TRAIN])
    assert len(attention_maps(scaled, df[TRAIN : TRAIN + 6])) == 4
    busy = pd.DataFrame(
        {"busy": np.where(df["load"] > 50, "yes", "no")}, index=df.index
    )
    model = InformerClassifier(**with_parts(**SIZES)).fit(busy[:TRAIN])
    maps = attention_maps(model, busy[TRAIN : TRAIN + 6])
    assert (len(maps), maps[0].weight) == (4, 1)
    with_base = InformerClassifier(**with_parts(**SIZES | {"members": "auto"})).fit(
        busy[:TRAIN]
    )
    with_base.ensemble_ = with_base.ensemble_.without("network")
    with pytest.warns(UserWarning, match="the network has no weight in 6 of 6"):
        attention_maps(with_base)


def test_integers_and_arrays_have_row_numbers():
    """Times are labels of whatever clock there is, also before the first row."""
    model = InformerRegressor(**with_parts(**SIZES)).fit(
        np.sin(np.arange(90.0))[:, None]
    )
    each = attention_maps(model)[0]
    assert each.key_times.to_numpy().tolist()[-1] == [86, 89]
    assert each.origin == 90
    early = attention_maps(model, np.sin(np.arange(90.0))[:, None])[0]
    assert early.key_times["first"].iloc[0] < 0


def test_what_has_no_attention_is_refused(df, model):
    """In words that say what to pass."""
    text = (
        "DummyRegressor has no attention to show. Pass a fitted InformerRegressor or "
        "InformerClassifier, or a Pipeline or search that ends in one."
    )
    with pytest.raises(TypeError, match=re.escape(text)):
        attention_maps(DummyRegressor().fit(df, df["load"]))
    with pytest.raises(TypeError, match="LinearRegression has no attention"):
        attention_maps(make_pipeline(LinearRegression()))


# Which is not what is asked here.
@pytest.mark.filterwarnings("ignore:the network has no weight")
def test_a_decoder_that_corrects_ridges_looks_at_what_they_forecast():
    """As in the forecast itself; the encoder sees the window alone."""
    model = InformerRegressor(
        "load", **with_parts(**SIZES | {"members": ["classical", "ridges", "network"]})
    ).fit(make_frame(400))
    before = attention_maps(model)
    model.module_.path.own.add_(0.1)
    for one, other in zip(before, attention_maps(model), strict=True):
        assert np.array_equal(one.weights, other.weights) == (one.where == "encoder")
