"""Small modules with settings that tests override."""

from dataclasses import fields
from functools import partial

import pytest
import torch

from skinformer.model.informer import Informer
from skinformer.model.layer import Layer
from skinformer.model.settings import NetworkSettings

BLOCK = {
    "d_model": 16,
    "n_heads": 4,
    "d_ff": 32,
    "dropout": 0.0,
    "activation": "gelu",
    "norm": "layer",
    "norm_first": True,
    "factor": 5,
    "qk_norm": False,
    "output_gate": False,
    "bias": True,
    "seed": 0,
}
MODEL = BLOCK | {
    "n_targets": 1,
    "n_past": 0,
    "n_known": 0,
    "apart": False,
    "season": 0,
    "calendar_sizes": (),
    "seq_len": 48,
    "label_len": 12,
    "pred_len": 6,
    "patch_len": 1,
    "decoder_patch_len": 1,
    "outputs": (),
    "in_units": True,
    "forecasts_distance": False,
    "reads_forecast": False,
    "n_encoder_layers": 2,
    "n_decoder_layers": 1,
    "attention": "probsparse",
    "decoder_attention": "dense",
    "distil": True,
    "position": "sinusoidal",
    "mask_embedding": False,
    "null_embedding": False,
    "window_norm": True,
    "init": "xavier",
    "gradient_checkpointing": False,
}


@pytest.fixture(autouse=True)
def _same_draws():
    with torch.random.fork_rng():
        torch.manual_seed(0)
        yield


def make_layer(*, in_decoder, attention=None, **options):
    """Make a layer; `attention` is that of encoder or decoder."""
    if attention is not None:
        options["decoder_attention" if in_decoder else "attention"] = attention
    names = [field.name for field in fields(NetworkSettings)]
    values = MODEL | options
    settings = NetworkSettings(**{name: values[name] for name in names})
    return Layer(settings, in_decoder=in_decoder, seed=values["seed"])


@pytest.fixture
def encoder_layer():
    return partial(make_layer, in_decoder=False)


@pytest.fixture
def decoder_layer():
    return partial(make_layer, in_decoder=True)


@pytest.fixture
def informer():
    return lambda **options: Informer.of(MODEL | options)


@pytest.fixture
def batch():
    """Return past, masked future, calendars and times that fit a model's settings."""

    def make(batch_size=3, **options):
        o = MODEL | options
        n_inputs = o["n_targets"] + o["n_past"] + o["n_known"]
        past = torch.randn(batch_size, o["seq_len"], n_inputs)
        future = torch.randn(batch_size, o["pred_len"], n_inputs)
        future[..., : o["n_targets"] + o["n_past"]] = 0.0
        lengths = (o["seq_len"], o["pred_len"])
        calendars = [None, None]
        if o["calendar_sizes"]:
            calendars = [
                torch.stack(
                    [torch.randint(s, (batch_size, n)) for s in o["calendar_sizes"]],
                    dim=-1,
                )
                for n in lengths
            ]
        if o["position"] == "continuous":
            steps = torch.rand(batch_size, sum(lengths)) + 0.5
            times = steps.cumsum(1) - steps[:, : lengths[0] + 1].sum(1, keepdim=True)
            return past, future, *calendars, *times.split(lengths, dim=1)
        return (past, future, *calendars) if o["calendar_sizes"] else (past, future)

    return make
