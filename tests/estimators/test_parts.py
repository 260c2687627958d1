"""Parts: several parameters as one value, searched by name."""

import re

import numpy as np
import pytest
from flat_parameters import with_parts
from sklearn.base import clone
from sklearn.linear_model import Ridge
from sklearn.model_selection import GridSearchCV, TimeSeriesSplit

from skinformer import (
    Attention,
    Block,
    InformerClassifier,
    InformerRegressor,
    MemorySaving,
    Network,
)
from skinformer.estimators.parts import PARTS

P = {
    "seq_len": 24,
    "pred_len": 6,
    "d_model": 16,
    "n_heads": 2,
    "max_iter": 1,
    "random_state": 0,
}


@pytest.mark.slow
def test_a_search_reaches_the_parameters_of_a_part(frame):
    """From the default on, which is a name and holds no parameters yet."""
    search = GridSearchCV(
        InformerRegressor(**with_parts(**P)),
        {"network__block__qk_norm": [False, True], "network__attention__factor": [2.0]},
        cv=TimeSeriesSplit(2, test_size=12),
        error_score="raise",
    )
    df = frame(120)
    best = search.fit(df, df.iloc[:, -1]).best_estimator_
    network = best.network
    assert network.d_model == P["d_model"]
    assert network.block.qk_norm in {False, True}
    assert network.attention.factor == 2.0


def test_a_search_reaches_the_parameters_of_a_regressor_among_members(frame):
    """By its class, as in make_pipeline; what was passed stays as it was."""
    given = InformerRegressor(
        members=("ridges", Ridge(alpha=2.0)), seq_len=12, pred_len=3
    )
    assert given.get_params()["members__ridge__alpha"] == 2.0
    assert not any(
        name.startswith("members__") for name in given.get_params(deep=False)
    )
    search = GridSearchCV(
        given, {"members__ridge__alpha": [9.0]}, cv=TimeSeriesSplit(2)
    )
    df = frame(120)[["load"]]
    best = search.fit(df, df["load"]).best_estimator_
    assert [best.members[0], best.members[1].alpha] == ["ridges", 9.0]
    assert given.members[1].alpha == 2.0
    other = clone(given).set_params(
        members=["ridges", Ridge()], members__ridge__alpha=3.0
    )
    assert other.members[1].alpha == 3.0


@pytest.mark.parametrize(
    "name", ["members__lasso__alpha", "members__ridge", "members__ridge__no"]
)
def test_parameters_of_no_member_cannot_be_set(name):
    """The message says which there are."""
    model = InformerRegressor(members=["ridges", Ridge()])
    with pytest.raises(
        ValueError, match=r"is no parameter.*members__ridge__|Invalid parameter"
    ):
        model.set_params(**{name: 1.0})


def test_a_name_becomes_a_part_of_the_same_values_once_one_is_set():
    """What is not named stays what the name stands for."""
    model = InformerRegressor(network=Network(block="bf16")).set_params(
        network__block__init="xavier"
    )
    expected = Block.of("bf16").get_params() | {"init": "xavier"}
    assert model.network.block.get_params() == expected
    together = InformerRegressor().set_params(
        network__block="bf16", network__block__init="xavier"
    )
    assert together.network.block.get_params() == expected
    attention = (
        InformerRegressor(network=Network(attention="dense"))
        .set_params(network__attention__factor=2.0)
        .network.attention
    )
    assert (attention.encoder, attention.decoder, attention.factor) == (
        "dense",
        "dense",
        2.0,
    )
    saving = (
        InformerRegressor()
        .set_params(training__memory_saving__micro_batch_size=8)
        .training.memory_saving
    )
    assert (saving.micro_batch_size, saving.gradient_checkpointing) == (8, False)


def test_a_part_is_the_estimators_own_after_clone():
    """A search that sets a value in a clone must not set it in the original."""
    model = InformerRegressor(network=Network(block=Block()))
    clone(model).set_params(network__block__qk_norm=True)
    assert not model.network.block.qk_norm
    named = InformerRegressor(network=Network(block="note")).set_params(
        network__block__qk_norm=True
    )
    assert not Block.of("note").qk_norm
    assert named.network.block.qk_norm


@pytest.mark.parametrize("name", ["plain", "note", "bf16"])
def test_a_name_and_its_values_give_the_same_forecasts(frame, name):
    """A name is short for values, and for nothing else."""
    df = frame(80)
    models = [
        InformerRegressor(**with_parts(**P, members=["network"], block=b))
        for b in (name, Block.of(name))
    ]
    one, other = (model.fit(df).forecast(horizon=6) for model in models)
    assert one.equals(other)


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        (
            {"block": "modern"},
            "The 'block' parameter of Network must be an instance of ",
        ),
        (
            {"block": Attention()},
            "The 'block' parameter of Network must be an instance",
        ),
        (
            {"block": Block(norm="batch")},
            "The 'norm' parameter of Block must be a str among",
        ),
        (
            {"attention": Attention(factor=0)},
            "The 'factor' parameter of Attention must be a float",
        ),
        ({"memory_saving": 8}, "The 'memory_saving' parameter of Training must be"),
        (
            {"memory_saving": MemorySaving(micro_batch_size=7)},
            "micro_batch_size=7 must divide batch_size=64: a step takes the gradient of whole "
            "micro-batches. Leave it None or choose a divisor.",
        ),
    ],
)
def test_a_wrong_part_is_refused_by_name(frame, parameters, message):
    """As a wrong parameter is, and before anything is trained."""
    with pytest.raises(ValueError, match="^" + re.escape(message)):
        InformerRegressor(**with_parts(**P | parameters)).fit(frame(80))


def test_what_a_part_does_not_have_cannot_be_set():
    """scikit-learn says so, whether the part is open or a name."""
    with pytest.raises(
        ValueError, match="Invalid parameter 'depth' for estimator Block"
    ):
        InformerRegressor().set_params(network__block__depth=3)
    assert set(PARTS) == {"network", "training"}


def test_parts_are_values_that_models_may_share():
    """What is set of one model leaves the part that was passed, and the other's, as they were."""
    network = Network(d_model=8, block=Block())
    one, other = (InformerRegressor(network=network) for _ in range(2))
    one.set_params(network__d_model=16, network__block__qk_norm=True)
    assert (one.network.d_model, one.network.block.qk_norm) == (16, True)
    for untouched in (network, other.network):
        assert (untouched.d_model, untouched.block.qk_norm) == (8, False)


@pytest.mark.parametrize("kind", [InformerRegressor, InformerClassifier])
@pytest.mark.parametrize(
    ("name", "part", "place"),
    [
        ("d_model", "network", "Network"),
        ("device", "network", "Network"),
        ("max_iter", "training", "Training"),
        ("warm_start", "training", "Training"),
        ("label_smoothing", "training", "Training"),
        ("z_loss", "training", "Training"),
    ],
)
def test_a_parameter_of_a_part_is_refused_where_it_stood(kind, name, part, place):
    """The message says where it stands, for the constructor and for searches."""
    message = re.escape(
        f"{name!r} is a parameter of {part}: pass {part}={place}({name}=...) to the constructor, "
        f"or {part}__{name}=... to set_params and in searches."
    )
    with pytest.raises(TypeError, match=message):
        kind(**{name: 8})
    with pytest.raises(TypeError, match=message):
        kind().set_params(**{name: 8})


def test_few_parameters_stand_beside_the_parts():
    """More can be documented but not known."""
    for kind in (InformerRegressor, InformerClassifier):
        assert len(kind().get_params(deep=False)) <= 20


@pytest.mark.parametrize(("name", "value"), [("label_smoothing", 0.1), ("z_loss", 0.0)])
def test_a_loss_of_classes_is_refused_where_numbers_are_forecast(frame, name, value):
    """It would be read by nothing."""
    message = f"{name}={value!r} is read by InformerClassifier alone: leave it out of Training"
    with pytest.raises(ValueError, match="^" + re.escape(message)):
        InformerRegressor(**with_parts(**P | {name: value})).fit(frame(80))


def test_searches_name_the_device_and_the_warm_start_by_their_parts(frame):
    """The device is that of the fit; the weights are gone on with."""
    model = InformerRegressor(**with_parts(**P, members=["network"])).set_params(
        network__device="cpu:0", training__warm_start=True
    )
    df = frame(80)
    assert model.fit(df).device_ == "cpu:0"
    assert model.fit(df).n_iter_ == 2


@pytest.mark.parametrize(
    ("kind", "normalised"), [(InformerRegressor, True), (InformerClassifier, False)]
)
def test_windows_of_numbers_are_normalised_and_of_classes_are_not(
    frame, kind, normalised
):
    df = frame(80)[["load"]].round()
    given = with_parts(**P, members=["network"])
    assert kind(**given).fit(df).module_.settings.window_norm == normalised
    other = kind(**given).set_params(network__window_norm=not normalised)
    assert other.fit(df).module_.settings.window_norm != normalised


@pytest.mark.parametrize("value", ["typo", None, ["note"]])
def test_parameters_of_what_is_no_part_cannot_be_set(value):
    """The message says what can be there."""
    message = f"block={value!r} has no parameters to set: choose from ['plain', 'note', 'bf16'], or"
    with pytest.raises(ValueError, match="^" + re.escape(message)):
        InformerRegressor().set_params(
            network__block=value, network__block__norm="layer"
        )


@pytest.mark.parametrize("value", [np.False_, np.True_, False, True])
def test_booleans_of_numpy_mean_what_they_say(frame, value):
    """A search over an array passes them; `is False` does not know them."""
    model = InformerRegressor(**with_parts(**P, early_stopping=value)).fit(frame(80))
    assert (model.validation_scores_ is None) == (not value)
