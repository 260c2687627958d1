"""Every mechanism of the sources can be chosen, alone and together, and learns."""

import random
from itertools import combinations

import numpy as np
import pandas as pd
import pytest
import torch
from flat_parameters import set_flat, with_parts

from skinformer import InformerRegressor, MemorySaving
from skinformer.estimators.settings import resolve_attention
from skinformer.model.informer import Informer

CHOICES = {
    "attention__encoder": ["probsparse", "dense"],
    "attention__decoder": ["dense", "probsparse"],
    "attention__factor": [5.0, 1.0],
    "block__qk_norm": [False, True],
    "block__output_gate": [False, True],
    "block__activation": ["gelu", "relu", "swiglu"],
    "block__norm": ["layer", "zc_rms", "post_layer"],
    "members": [["network"], "auto"],
    "patch_len": [1, 5],
    "position": ["sinusoidal", "learned", "continuous"],
    "block__init": ["xavier", "normal", "scaled"],
    "distil": [True, False],
    "dropout": [0.1, 0.0],
    "window_norm": [True, False],
    "embeddings": [(), ("mask",), ("missing", "mask")],
    "calendar": ["auto", None, ["hour"]],
    "loss": ["mse", "mae", "huber", 0.7],
    "optimizer": ["adamw", "muon"],
    "memory_saving__micro_batch_size": [None, 8],
    "memory_saving__gradient_checkpointing": [False, True],
    "precision": ["fp32", "bf16"],
    "label_len": [None, 0, 24],
    "n_decoder_layers": [1, 2],
}
DEFAULT = {name: values[0] for name, values in CHOICES.items()}
SMALL = {
    "seq_len": 24,
    "pred_len": 6,
    "d_model": 16,
    "n_heads": 2,
    "n_encoder_layers": 2,
    "max_iter": 4,
    "learning_rate": 3e-3,
    "early_stopping": False,
    "random_state": 0,
    "device": "cpu",
}


def alone():
    """Yield every choice but the default's, one at a time."""
    for name, values in CHOICES.items():
        for value in values[1:]:
            yield pytest.param({name: value}, id=f"{name}={value}")


def pairs_of(chosen):
    """Give the pairs of choices in a combination."""
    return set(combinations(((name, str(value)) for name, value in chosen.items()), 2))


def together(n_draws=50):
    """Yield combinations until each two choices stood together: of many draws, the one of most."""
    draw, left = random.Random(0), set()
    for one, other in combinations(CHOICES, 2):
        left |= {
            ((one, str(x)), (other, str(y)))
            for x in CHOICES[one]
            for y in CHOICES[other]
        }
    number = 0
    while left:
        drawn = [
            {name: draw.choice(values) for name, values in CHOICES.items()}
            for _ in range(n_draws)
        ]
        chosen = max(drawn, key=lambda chosen: len(pairs_of(chosen) & left))
        left -= pairs_of(chosen)
        yield pytest.param(chosen, id=f"combination {number}")
        number += 1


@pytest.fixture(scope="module")
def df():
    """Make a daily sine with trend."""
    hours = pd.date_range("2024-01-01", periods=200, freq="h")
    step = np.arange(200)
    rng = np.random.default_rng(0)
    load = np.sin(2 * np.pi * step / 24) + step / 100 + rng.normal(size=200) / 20
    return pd.DataFrame({"load": load}, index=hours)


@pytest.fixture(scope="module")
def halves():
    """Make half days that repeat the size of the half before: no linear path can know that."""
    hours = pd.date_range("2024-01-01", periods=240, freq="h")
    step = np.arange(240)
    rng = np.random.default_rng(0)
    level = np.repeat(rng.normal(size=20), 12)[:240]
    load = (
        np.where(step // 6 % 2, np.abs(level), level)
        + step / 100
        + rng.normal(size=240) / 20
    )
    return pd.DataFrame({"load": load}, index=hours)


@pytest.mark.slow
@pytest.mark.parametrize("choice", [*alone(), *together()])
def test_every_mechanism_lowers_the_loss(halves, choice):
    """A combination that does not train is an option that does not exist."""
    parameters = DEFAULT | choice
    if parameters["optimizer"] == "muon":  # its rate follows AdamW's at 200 / 3
        parameters["learning_rate"] = 3e-4
    model = InformerRegressor(**with_parts(**SMALL | {"max_iter": 2}))
    set_flat(model, **parameters).fit(halves)
    assert model.loss_curve_[-1] < model.loss_curve_[0]
    assert np.isfinite(model.predict(halves)).all()


def test_auto_is_a_fixed_rule_that_the_fit_resolves(df):
    """Nothing is timed: the same input resolves alike on every run."""
    model = InformerRegressor(**with_parts(**SMALL)).fit(df)
    assert (model.attention_, model.precision_, model.device_) == (
        "dense",
        "fp32",
        "cpu",
    )
    cpu, cuda = torch.device("cpu"), torch.device("cuda")
    assert resolve_attention("auto", n_tokens=95, device=cpu) == "dense"
    assert resolve_attention("auto", n_tokens=96, device=cpu) == "probsparse"
    assert resolve_attention("auto", n_tokens=2047, device=cuda) == "dense"
    assert resolve_attention("auto", n_tokens=2048, device=cuda) == "probsparse"
    assert resolve_attention("dense", n_tokens=9999, device=cpu) == "dense"


@pytest.mark.slow
def test_a_quantile_lies_above_its_share_of_the_truth(df):
    """Level .9 must not learn the 10 % quantile (a source prints the branches swapped)."""
    rng = np.random.default_rng(0)
    noise = df.assign(load=rng.normal(size=len(df)))
    shares = []
    for level in (0.1, 0.9):
        model = InformerRegressor(
            **with_parts(
                **SMALL | {"loss": level, "window_norm": False, "max_iter": 12}
            )
        )
        shares.append((noise["load"] < model.fit(noise).predict(noise)).mean())
    assert shares[0] < 0.3 < 0.7 < shares[1]


def test_micro_batches_give_the_step_of_the_whole_batch(df, monkeypatch):
    """Accumulation saves memory and changes nothing else."""
    forward, sizes = Informer.forward, []

    def count(self, past, *inputs):
        if self.training:
            sizes.append(len(past))
        return forward(self, past, *inputs)

    monkeypatch.setattr(Informer, "forward", count)
    model = {"dropout": 0.0, "attention": "dense", "max_iter": 1}
    whole = InformerRegressor(**with_parts(**SMALL | model)).fit(df)
    assert max(sizes) == 64
    sizes.clear()
    parts = InformerRegressor(
        **with_parts(**SMALL | model, memory_saving=MemorySaving(micro_batch_size=8))
    ).fit(df)
    assert max(sizes) == 8
    np.testing.assert_allclose(
        parts.predict(df), whole.predict(df), rtol=1e-3, atol=1e-3
    )


def test_micro_batches_have_the_gradient_norm_of_the_whole_batch(df):
    """AdamW and clipping hide a sum over parts, which is four times as long."""
    model = {"dropout": 0.0, "attention": "dense", "max_iter": 1, "learning_rate": 1e-6}
    whole, parts = (
        InformerRegressor(**with_parts(**SMALL | model, memory_saving=saving)).fit(df)
        for saving in (None, MemorySaving(micro_batch_size=8))
    )
    np.testing.assert_allclose(
        parts.history_["gradient_norm"], whole.history_["gradient_norm"], rtol=1e-3
    )


def test_continuous_positions_see_the_length_of_months():
    """February is shorter than March; on a regular clock nothing differs."""
    months = pd.date_range("2000-01-31", periods=120, freq="ME")
    df = pd.DataFrame({"load": np.sin(np.arange(120) / 2)}, index=months)
    kw = SMALL | {"calendar": None, "seq_len": 12, "max_iter": 1}
    pair = [
        InformerRegressor(**with_parts(**kw, position=p)).fit(df)
        for p in ("sinusoidal", "continuous")
    ]
    assert not np.allclose(*[model.predict(df) for model in pair])
    hours = df.set_axis(pd.date_range("2000-01-01", periods=120, freq="h"))
    pair = [
        InformerRegressor(**with_parts(**kw, position=p)).fit(hours)
        for p in ("sinusoidal", "continuous")
    ]
    np.testing.assert_allclose(
        *[model.predict(hours) for model in pair], rtol=1e-3, atol=1e-4
    )


def corrected(df):
    """Fit ridges that a network corrects."""
    model = InformerRegressor(
        **with_parts(**SMALL | {"members": ["classical", "ridges", "network"]})
    ).fit(df)
    model.ensemble_ = model.ensemble_.with_network_share(1.0)
    return model


def test_running_out_of_memory_falls_back_to_smaller_chunks(df, monkeypatch):
    """A forecast must not fail for want of memory that it can do without."""
    model = corrected(df)
    wanted = model.predict(df)
    forward, sizes = Informer.forward, []

    def scarce(self, past, *inputs):
        if len(past) > 4:
            raise torch.OutOfMemoryError("CUDA out of memory")
        sizes.append(len(past))
        return forward(self, past, *inputs)

    monkeypatch.setattr(Informer, "forward", scarce)
    np.testing.assert_allclose(model.predict(df), wanted, rtol=1e-5, atol=1e-6)
    assert set(sizes) == {4}


def test_other_errors_of_the_network_are_not_taken_for_want_of_memory(df, monkeypatch):
    """A bug must show, not be tried again in halves."""
    model = corrected(df)

    def broken(self, past, *inputs):
        raise RuntimeError("shapes do not match")

    monkeypatch.setattr(Informer, "forward", broken)
    with pytest.raises(RuntimeError, match="shapes do not match"):
        model.predict(df)


@pytest.mark.slow
@pytest.mark.parametrize("batch_size", [1, 7, 64])
def test_forecasts_do_not_depend_on_batch_size_calls_or_the_global_seed(df, batch_size):
    """Bit for bit: two well-known implementations fail this."""
    model = InformerRegressor(**with_parts(**SMALL | {"attention": "probsparse"})).fit(
        df
    )
    whole = model.predict(df)
    torch.manual_seed(batch_size)
    model.batch_size = batch_size
    np.testing.assert_array_equal(model.predict(df), whole)
    one_by_one = [model.predict(df.iloc[[row]])[0] for row in range(150, 162)]
    np.testing.assert_array_equal(one_by_one, whole[150:162])
