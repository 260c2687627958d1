"""Every public parameter arrives where it belongs, and nowhere else.

`describe` turns a fitted regressor and what its trainer was told into a flat dictionary of plain
values. The description of the defaults is written out, and for each parameter what a value other
than the default changes in it: a link that is cut, swapped with another or replaced by its default
changes another entry, or none. `tests/mutants.py` cuts them one by one.
"""

import contextlib
import copy
import dataclasses
import inspect
import io
import math

import numpy as np
import pandas as pd
import pytest
import torch
from blends import trust
from flat_parameters import set_flat, with_parts
from sklearn.preprocessing import PowerTransformer

from skinformer import Attention, InformerRegressor, recipes
from skinformer.budget import current_share
from skinformer.estimators.parts import PARTS
from skinformer.evaluation import backtest
from skinformer.model.informer import Informer
from skinformer.model.optimizer_groups import parameter_groups
from skinformer.ridge.linear_path import LinearPath
from skinformer.training.record import EpochRow, TrainingRecord

#: The name by which the estimator calls its trainer.
TRAINER = "skinformer.estimators.fitting.train"
#: What weights of an earlier fit are known by.
MARK = 7.0
#: Everything else is the default.
FIXED = {"random_state": 0}
#: What parameters are changed beside, for two thirds of a fit are the ridges of the linear path.
PLAIN = {"members": ["network"]}


def hourly(n):
    """Make a target and two columns that may be known ahead."""
    noise = np.random.default_rng(0).normal(size=(n, 3))
    hours = pd.date_range("2024-01-01", periods=n, freq="h")
    return pd.DataFrame(noise, columns=["flow", "price", "load"], index=hours)


def regressor(parameters):
    """Make one; parameters of its parts are set by name, as searches do."""
    return set_flat(InformerRegressor(**with_parts(**FIXED)), **parameters)


FRAME = hourly(300)
PANEL = pd.concat({"a": FRAME, "b": -FRAME}, names=["site", "time"])

# --------------------------------------------------------------------------- what is described


@pytest.fixture(scope="module")
def build(long_tables):
    """Give the function that fits without training and tells what the trainer was told."""
    told = {}

    def train(module, **given):
        told.update(
            given,
            start=copy.deepcopy(module),
            limited=current_share().is_limited,
            threads=torch.get_num_threads() == MANY,
        )
        module.eval()
        row = EpochRow(1, 0.5, 0.25, 1e-3, 1.0, 0.0)
        record = TrainingRecord(
            rows=[row], best_iter=1, best_loss=0.25, stopped="max_iter"
        )
        given["on_epoch"](record, module)
        return record

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(TRAINER, train)
        # The same on every machine.
        patch.setattr(torch.cuda, "is_available", lambda: False)
        earlier = InformerRegressor(**with_parts(**FIXED | PLAIN)).fit(FRAME)
        with torch.no_grad():
            next(earlier.module_.parameters()).fill_(MARK)

        def fit(parameters, frame=FRAME):
            # A second fit, which only a warm start shows.
            model = copy.deepcopy(earlier)
            model.set_params(**regressor(parameters).get_params(deep=False))
            told.clear()
            with contextlib.redirect_stdout(io.StringIO()) as written:
                model.fit(frame)
            lines = written.getvalue().splitlines(keepends=True)
            return model, {
                **told,
                "written": "".join(x for x in lines if " epoch " in x),
            }

        yield fit


@pytest.fixture(scope="module")
def described(build):
    """Give the function that describes what parameters build; the same are built once."""
    known = {}

    def look_up(parameters):
        key = repr(parameters)
        if key not in known:
            known[key] = describe(*build(parameters))
        return known[key]

    return look_up


def same(values):
    """Give the value that all share, or all that there are."""
    values = list(values)
    return values[0] if len({repr(v) for v in values}) == 1 else tuple(values)


def of(module, home, *, name=None):
    """Give the parts of a module whose classes live in one module of the model."""
    parts = [
        m for m in module.modules() if type(m).__module__ == f"skinformer.model.{home}"
    ]
    return [m for m in parts if name is None or type(m).__name__ == name]


def names(parts):
    return same(type(part).__name__ for part in parts)


def drawn(linears):
    """Tell how weights were drawn: N(0, 0.02²), or what divides those of Xavier."""
    rms = [m.weight.detach().square().mean().sqrt().item() for m in linears]
    if all(abs(value / 0.02 - 1) < 0.2 for value in rms):
        return "normal"
    xavier = [math.sqrt(2 / sum(m.weight.shape)) for m in linears]
    return f"xavier / {np.mean(xavier) / np.mean(rms):.1f}"


def describe(model, told):
    """Give plain values of everything that parameters decide."""
    network = next(m for m in model.module_.modules() if isinstance(m, Informer))
    return {
        **describe_data(model, told),
        **describe_network(model, network),
        **describe_blocks(network),
        **describe_start(model, network, told),
        **describe_training(model, told),
    }


def describe_data(model, told):
    """Describe the windows, as the batches of the trainer hold them."""
    batch = next(iter(told["training"]))
    past, ahead, past_fields, _, past_times, ahead_times = batch.inputs
    rows_ahead = model.make_future_frame()
    watched = told["validation"]
    return {
        "targets": list(model.roles_.target_labels),
        "transformed": transformed(model.scaler_.targets),
        "step": getattr(rows_ahead.index, "freqstr", None),
        "seasons": model.timeline_.clock.seasons,
        "window": tuple(past.shape[1:]),
        "horizon": tuple(batch.target.shape[1:]),
        "known ahead": [j for j in range(ahead.shape[2]) if ahead[..., j].any()],
        "categories": None if past_fields is None else past_fields.shape[2],
        "times": None
        if past_times is None
        else (past_times[0, 0].item(), ahead_times[0, 0].item()),
        "windows in memory": len(past),
        "batches": len(told["training"]),
        "order": torch.Generator()
        .set_state(told["training"].get_state())
        .initial_seed(),
        "validation windows": None
        if watched is None
        else sum(len(b.target) for b in watched),
        "validation shuffled": watched is not None and watched.get_state() is not None,
        "seconds are limited": told["limited"],
        "many threads": told["threads"],
        "device": model.device_,
        "tensors": {
            past.device.type,
            *(p.device.type for p in model.module_.parameters()),
        },
    }


def transformed(scale):
    """Name the transformers, or tell whether logarithms are taken."""
    named = [type(fitted.transformer).__name__ for fitted in scale.transformers]
    return named or bool(scale.logs.any())


def describe_network(model, network):
    """Describe what surrounds the blocks of attention and feed-forward."""
    embeddings = (network.encoder_embedding, network.decoder_embedding)
    stacks = (network.encoder, network.decoder)
    paths = [m for m in model.module_.modules() if isinstance(m, LinearPath)]
    return {
        "label_len": network.layout.label_len,
        "patches": (network.layout.patch_len, network.layout.decoder_patch_len),
        "embedded": tuple(e.values.in_features for e in embeddings),
        "position": names(e.position for e in embeddings),
        "calendar": same(
            [t.num_embeddings for t in e.calendar.tables] if e.calendar else None
            for e in embeddings
        ),
        "mask embedding": tuple(e.mask is not None for e in embeddings),
        "null embedding": tuple(e.null is not None for e in embeddings),
        "window norm": bool(of(network, "window_norm")),
        "ridges": same(tuple(p.own.shape[1:]) for p in paths) if paths else None,
        "known path": bool(of(network, "known_future_path", name="KnownFuturePath")),
        "layers": tuple(len(stack.layers) for stack in stacks),
        "distilling": len(of(network, "distil")),
        "checkpointing": tuple(stack.recompute for stack in stacks),
        "outputs": network.projection.out_features,
    }


def describe_blocks(network):
    """Describe the blocks; where all agree by one value."""
    kernels = [
        [layer.attention.kernel for layer in stack.layers]
        for stack in (network.encoder, network.decoder)
    ]
    attentions = of(network, "attention", name="MultiHeadAttention")
    forwards = of(network, "feed_forward")
    residuals = of(network, "residual")
    return {
        "width": same(a.query.in_features for a in attentions),
        "heads": same(a.n_heads for a in attentions),
        "inner width": same(f.outer.in_features for f in forwards),
        "attention": tuple(names(part) for part in kernels),
        "cross-attention": names(
            layer.cross_attention.kernel for layer in network.decoder.layers
        ),
        "factor": tuple(
            same(getattr(k, "factor", None) for k in part) for part in kernels
        ),
        "QK norm": same(a.qk_norm is not None for a in attentions),
        "gate": same(a.gate is not None for a in attentions),
        "activation": same(
            getattr(f, "activation", type(f)).__name__ for f in forwards
        ),
        "norm": names(of(network, "norm")),
        "norm first": same(r.norm_first for r in residuals),
        "biases": same(m.bias is not None for m in hidden(network)),
        "dropout": same(d.p for d in of(network, "dropout")),
    }


def hidden(network):
    return of(network, "projection", name="HiddenLinear") + of(
        network, "projection", name="ResidualOutput"
    )


def describe_start(model, network, told):
    """Describe the weights that training starts from, and what a fit does after it."""
    start = next(m for m in told["start"].modules() if isinstance(m, Informer))
    before, after = (
        [each for each in m.modules() if isinstance(each, LinearPath)]
        for m in (told["start"], model.module_)
    )
    pairs = zip(before, after, strict=True)
    samplers = of(network, "key_sampler")
    return {
        "hidden weights": drawn(of(start, "projection", name="HiddenLinear")),
        "residual outputs": tuple(
            drawn(of(stack, "projection", name="ResidualOutput"))
            for stack in (start.encoder, start.decoder)
        ),
        "correction starts at zero": not start.projection.weight.any(),
        "reads what it corrects": start.layout.reads_forecast,
        "seed of dropout": of(network, "dropout")[0].generator.initial_seed(),
        "seeds of keys": [sampler.seed for sampler in samplers],
        "starts from": "an earlier fit"
        if (next(told["start"].parameters()) == MARK).all()
        else "draws",
        "epochs": len(model.history_),
        "linear path fitted again": any(
            not torch.equal(a.own, b.own) for a, b in pairs
        ),
        "trust": trust(model),
    }


def describe_training(model, told):
    """Describe what the trainer is told besides the batches."""
    settings = dataclasses.asdict(told["settings"])
    error = settings.pop("loss")
    errors = error(torch.tensor([0.5, 3.0, -1.0]), torch.zeros(3))
    expected = parameter_groups(model.module_)
    checkpoint = told["checkpoint"]
    return {
        **{f"trainer: {name}": value for name, value in settings.items()},
        "errors of 0.5, 3 and -1": [round(e, 6) for e in errors.tolist()],
        "groups": "by class"
        if _ids(told["groups"]) == _ids(expected)
        else told["groups"],
        "checkpoint": None if checkpoint is None else str(checkpoint),
        "fingerprint": bool(told["fingerprint"]),
        "written": told["written"],
    }


def _ids(groups):
    return {name: [id(p) for p in parameters] for name, parameters in groups.items()}


# ------------------------------------------------------------------------- what is expected

#: What the defaults build for 300 hours of three columns.
DEFAULT = {
    "targets": ["load"],
    "transformed": False,
    "step": "h",
    "seasons": (),
    "window": (96, 3),
    "horizon": (24, 1),
    "known ahead": [],
    "categories": 2,
    "times": None,
    "windows in memory": 64,
    "batches": 3,
    "order": 209652396,
    "validation windows": 7,
    "validation shuffled": False,
    "seconds are limited": False,
    "many threads": False,
    "device": "cpu",
    "tensors": {"cpu"},
    "label_len": 48,
    "patches": (4, 4),
    "embedded": (12, 12),
    "position": "SinusoidalPosition",
    "calendar": [24, 7],
    "mask embedding": (False, False),
    "null embedding": (False, False),
    "window norm": True,
    "ridges": (96, 24),
    "known path": False,
    "layers": (2, 1),
    "distilling": 1,
    "checkpointing": (False, False),
    "outputs": 4,
    "width": 32,
    "heads": 2,
    "inner width": 128,
    "attention": ("DenseAttention", "DenseAttention"),
    "cross-attention": "DenseAttention",
    "factor": (None, None),
    "QK norm": False,
    "gate": False,
    "activation": "gelu",
    "norm": "FloatLayerNorm",
    "norm first": True,
    "biases": True,
    "dropout": 0.2,
    "hidden weights": "xavier / 1.0",
    "residual outputs": ("xavier / 1.0", "xavier / 1.0"),
    "correction starts at zero": True,
    "reads what it corrects": True,
    "seed of dropout": 1208619984,
    "seeds of keys": [],
    "starts from": "draws",
    "epochs": 1,
    "linear path fitted again": True,
    "trust": 0.0,
    "trainer: max_iter": 5,
    "trainer: n_iter_no_change": 3,
    "trainer: tol": 1e-4,
    "trainer: learning_rate": 2e-3,
    "trainer: muon_learning_rate": 2e-3 * 0.02 / 3e-4,
    "trainer: weight_decay": 0.01,
    "trainer: optimizer": "adamw",
    "trainer: warmup_fraction": 0.05,
    "trainer: max_grad_norm": 1.0,
    "trainer: accumulate": 1,
    "trainer: precision": "fp32",
    "errors of 0.5, 3 and -1": [0.25, 9.0, 1.0],
    "groups": "by class",
    "checkpoint": None,
    "fingerprint": False,
    "written": "",
}

#: What `recipes.NOTE` builds.
NOTE = {
    "targets": ["load"],
    "transformed": False,
    "step": "h",
    "seasons": (),
    "window": (96, 3),
    "horizon": (24, 1),
    "known ahead": [],
    "categories": 3,
    "times": None,
    "windows in memory": 32,
    "batches": 5,
    "order": 209652396,
    "validation windows": 7,
    "validation shuffled": False,
    "seconds are limited": False,
    "many threads": False,
    "device": "cpu",
    "tensors": {"cpu"},
    "label_len": 48,
    "patches": (1, 1),
    "embedded": (3, 3),
    "position": "SinusoidalPosition",
    "calendar": [24, 7, 12],
    "mask embedding": (False, False),
    "null embedding": (False, False),
    "window norm": False,
    "ridges": None,
    "known path": False,
    "layers": (2, 1),
    "distilling": 1,
    "checkpointing": (False, False),
    "outputs": 1,
    "width": 64,
    "heads": 4,
    "inner width": 256,
    "attention": ("ProbSparseAttention", "DenseAttention"),
    "cross-attention": "DenseAttention",
    "factor": (5.0, None),
    "QK norm": False,
    "gate": False,
    "activation": "gelu",
    "norm": "FloatLayerNorm",
    "norm first": True,
    "biases": True,
    "dropout": 0.1,
    "hidden weights": "normal",
    "residual outputs": ("normal", "normal"),
    "correction starts at zero": False,
    "reads what it corrects": False,
    "seed of dropout": 1208619984,
    "seeds of keys": [209652396, 209652397],
    "starts from": "draws",
    "epochs": 1,
    "linear path fitted again": False,
    "trust": 1.0,
    "trainer: max_iter": 10,
    "trainer: n_iter_no_change": 3,
    "trainer: tol": 1e-4,
    "trainer: learning_rate": 1e-3,
    "trainer: muon_learning_rate": 1e-3 * 0.02 / 3e-4,
    "trainer: weight_decay": 0.01,
    "trainer: optimizer": "adamw",
    "trainer: warmup_fraction": 0.05,
    "trainer: max_grad_norm": 1.0,
    "trainer: accumulate": 1,
    "trainer: precision": "fp32",
    "errors of 0.5, 3 and -1": [0.25, 9.0, 1.0],
    "groups": "by class",
    "checkpoint": None,
    "fingerprint": False,
    "written": "",
}

#: What `recipes.BF16` builds.
BF16 = {
    "targets": ["load"],
    "transformed": False,
    "step": "h",
    "seasons": (),
    "window": (96, 3),
    "horizon": (24, 1),
    "known ahead": [],
    "categories": 3,
    "times": None,
    "windows in memory": 32,
    "batches": 5,
    "order": 209652396,
    "validation windows": 7,
    "validation shuffled": False,
    "seconds are limited": False,
    "many threads": False,
    "device": "cpu",
    "tensors": {"cpu"},
    "label_len": 48,
    "patches": (1, 1),
    "embedded": (3, 3),
    "position": "SinusoidalPosition",
    "calendar": [24, 7, 12],
    "mask embedding": (False, True),
    "null embedding": (False, False),
    "window norm": False,
    "ridges": None,
    "known path": False,
    "layers": (2, 1),
    "distilling": 1,
    "checkpointing": (False, False),
    "outputs": 1,
    "width": 64,
    "heads": 4,
    "inner width": 170,  # two thirds of 256
    "attention": ("DenseAttention", "DenseAttention"),
    "cross-attention": "DenseAttention",
    "factor": (None, None),
    "QK norm": True,
    "gate": True,
    "activation": "SwiGLU",
    "norm": "ZeroCentredRMSNorm",
    "norm first": True,
    "biases": False,
    "dropout": 0.1,
    "hidden weights": "xavier / 1.0",
    "residual outputs": ("xavier / 2.0", "xavier / 1.7"),  # roots of 4 and 3 branches
    "correction starts at zero": False,
    "reads what it corrects": False,
    "seed of dropout": 1208619984,
    "seeds of keys": [],
    "starts from": "draws",
    "epochs": 1,
    "linear path fitted again": False,
    "trust": 1.0,
    "trainer: max_iter": 10,
    "trainer: n_iter_no_change": 3,
    "trainer: tol": 1e-4,
    "trainer: learning_rate": 3e-4,
    "trainer: muon_learning_rate": 0.02,
    "trainer: weight_decay": 0.1,
    "trainer: optimizer": "muon",
    "trainer: warmup_fraction": 0.05,
    "trainer: max_grad_norm": 1.0,
    "trainer: accumulate": 1,
    "trainer: precision": "bf16",
    "errors of 0.5, 3 and -1": [0.25, 9.0, 1.0],
    "groups": "by class",
    "checkpoint": None,
    "fingerprint": False,
    "written": "",
}

MANY = 7  # threads
WHOLE = {}  # the defaults themselves, with their linear path
SPARSE = PLAIN | {"attention": Attention(encoder="probsparse", decoder="probsparse")}
SEEDS = [
    209652396,
    209652397,
    209652398,
]  # of two encoder layers and one of the decoder
P, D = "ProbSparseAttention", "DenseAttention"

#: Parameter, value, what it changes and, where not PLAIN, the parameters beside it.
CHANGES = [
    ("target", "flow", {"targets": ["flow"]}),
    (
        "target",
        ["load", "flow"],
        {"targets": ["load", "flow"], "horizon": (24, 2), "embedded": (8, 8)},
    ),
    (
        "seq_len",
        144,
        {
            "window": (144, 3),
            "batches": 2,
            "label_len": 72,
            "patches": (6, 6),
            "embedded": (18, 18),
            "ridges": (144, 24),
            "outputs": 6,
        },
        WHOLE,
    ),
    ("label_len", 20, {"label_len": 20}),
    (
        "pred_len",
        36,
        {
            "horizon": (36, 1),
            "validation windows": 1,
            "ridges": (96, 36),
            "linear path fitted again": False,
        },
        WHOLE,
    ),
    ("target_transform", PowerTransformer(), {"transformed": ["PowerTransformer"]}),
    (
        "members",
        ["network"],
        {
            "ridges": None,
            "correction starts at zero": False,
            "reads what it corrects": False,
            "trainer: max_iter": 10,
            "linear path fitted again": False,
            "trust": 1.0,
        },
        WHOLE,
    ),
    (
        "patch_len",
        5,
        {"patches": (5, 5), "embedded": (15, 15), "outputs": 5, "label_len": 45},
    ),
    (
        "known_future",
        ["price"],
        {
            "known ahead": [2],
            "known path": True,
            "patches": (4, 1),
            "embedded": (12, 3),
            "outputs": 1,
        },
    ),
    ("freq", "60min", {"step": "60min"}),
    ("season", 12, {"seasons": (12,)}),
    ("calendar", None, {"calendar": None, "categories": None}),
    (
        "calendar",
        ["minute", "day", "week"],
        {"calendar": [60, 31, 53], "categories": 3},
    ),
    ("embeddings", ("mask",), {"mask embedding": (False, True)}),
    ("embeddings", ("missing",), {"null embedding": (True, True)}),
    ("d_model", 48, {"width": 48, "inner width": 192}),
    ("n_heads", 8, {"heads": 8}),
    ("n_encoder_layers", 4, {"layers": (4, 1), "distilling": 3}),
    ("n_decoder_layers", 3, {"layers": (2, 3)}),
    ("d_ff", 80, {"inner width": 80}),
    (
        "attention",
        "probsparse",
        {"attention": (P, D), "factor": (5.0, None), "seeds of keys": SEEDS[:2]},
    ),
    (
        "attention__decoder",
        "probsparse",
        {"attention": (D, P), "factor": (None, 5.0), "seeds of keys": SEEDS[2:]},
    ),
    ("attention__factor", 2.5, {"factor": (2.5, 2.5)}, SPARSE),
    ("block__qk_norm", True, {"QK norm": True}),
    ("block__output_gate", True, {"gate": True}),
    ("block__activation", "relu", {"activation": "relu"}),
    ("block__activation", "swiglu", {"activation": "SwiGLU", "inner width": 85}),
    ("block__norm", "zc_rms", {"norm": "ZeroCentredRMSNorm", "biases": False}),
    ("block__norm", "post_layer", {"norm first": False}),
    (
        "block",
        "note",
        {"hidden weights": "normal", "residual outputs": ("normal", "normal")},
    ),
    ("position", "learned", {"position": "LearnedPosition"}),
    (
        "position",
        "continuous",
        {"position": "ContinuousPosition", "times": (-96.0, 0.0)},
    ),
    (
        "block__init",
        "normal",
        {"hidden weights": "normal", "residual outputs": ("normal", "normal")},
    ),
    ("block__init", "scaled", {"residual outputs": ("xavier / 2.0", "xavier / 1.7")}),
    ("distil", False, {"distilling": 0}),
    ("dropout", 0.3, {"dropout": 0.3}),
    ("window_norm", False, {"window norm": False}),
    ("loss", "mae", {"errors of 0.5, 3 and -1": [0.5, 3.0, 1.0]}),
    ("loss", "huber", {"errors of 0.5, 3 and -1": [0.125, 2.5, 0.5]}),
    ("loss", 0.9, {"errors of 0.5, 3 and -1": [0.05, 0.3, 0.9], "trust": 1.0}, WHOLE),
    ("max_iter", 7, {"trainer: max_iter": 7}),
    ("max_windows", 70, {"batches": 2}),
    ("max_windows", 5, {"windows in memory": 5, "batches": 1, "validation windows": 5}),
    ("optimizer", "muon", {"trainer: optimizer": "muon"}),
    (
        "learning_rate",
        6e-4,
        {"trainer: learning_rate": 6e-4, "trainer: muon_learning_rate": 0.04},
    ),
    ("weight_decay", 0.3, {"trainer: weight_decay": 0.3}),
    ("batch_size", 48, {"windows in memory": 48, "batches": 4}),
    (
        "memory_saving__micro_batch_size",
        16,
        {"windows in memory": 16, "batches": 10, "trainer: accumulate": 4},
    ),
    ("memory_saving__gradient_checkpointing", True, {"checkpointing": (True, True)}),
    ("precision", "bf16", {"trainer: precision": "bf16"}),
    ("precision", "fp16", {"trainer: precision": "fp16"}),
    (
        "early_stopping",
        False,
        {"validation windows": None, "linear path fitted again": False, "trust": 1.0},
        WHOLE,
    ),
    ("early_stopping", True, {"linear path fitted again": False}, WHOLE),
    ("validation_fraction", 0.2, {"validation windows": 37, "batches": 2}),
    # Of a small network one thread is enough.
    ("n_jobs", MANY, {"many threads": True}, PLAIN | {"d_model": 128}),
    ("max_seconds", 1e6, {"seconds are limited": True}),
    ("n_iter_no_change", 5, {"trainer: n_iter_no_change": 5}),
    ("checkpoint", "links.pt", {"checkpoint": "links.pt", "fingerprint": True}),
    ("warm_start", True, {"starts from": "an earlier fit", "epochs": 2}),
    ("device", "cpu:0", {"device": "cpu:0"}),
    (
        "random_state",
        1,
        {
            "order": 1791095845,
            "seed of dropout": 2454910060,
            "seeds of keys": [1791095845, 1791095846, 1791095847],
        },
        SPARSE,
    ),
    (
        "verbose",
        1,
        {"written": "[InformerRegressor] epoch 1/10  loss 0.5000  val 0.2500  0.0 s\n"},
    ),
    # "auto" attends sparsely from 96 tokens on.
    (
        "patch_len",
        1,
        {
            "patches": (1, 1),
            "embedded": (3, 3),
            "outputs": 1,
            "attention": (P, D),
            "factor": (5.0, None),
            "seeds of keys": SEEDS[:2],
        },
    ),
    (
        "seq_len",
        95,
        {
            "window": (95, 3),
            "label_len": 47,
            "attention": (D, D),
            "factor": (None, None),
            "seeds of keys": [],
        },
        PLAIN | {"patch_len": 1},
    ),
]

# ------------------------------------------------------------------------------------- tests


def differences(one, other):
    """Give the entries of a description that another one has otherwise."""
    assert list(one) == list(other)
    return {name: value for name, value in other.items() if not alike(value, one[name])}


def alike(a, b):
    return (
        a == pytest.approx(b)
        if isinstance(a, float) and isinstance(b, float)
        else a == b
    )


def test_the_defaults_build_what_is_written_here(described):
    """A default that is changed in passing, or a constant beside it, must be seen."""
    assert differences(DEFAULT, described(WHOLE)) == {}


@pytest.mark.parametrize(
    ("recipe", "expected"), [(recipes.NOTE, NOTE), (recipes.BF16, BF16)]
)
def test_a_recipe_builds_what_is_written_here(build, recipe, expected):
    """Each value of a recipe is a sentence of a document, and arrives in the network."""
    assert differences(expected, describe(*build(recipe))) == {}


@pytest.mark.parametrize("recipe", [recipes.NOTE, recipes.BF16])
def test_a_recipe_has_the_factor_of_the_note_wherever_attention_is_sparse(
    build, recipe
):
    """Dense attention has none, so that its description cannot show it."""
    sparse = recipe | {"attention": "probsparse", "attention__decoder": "probsparse"}
    assert describe(*build(sparse))["factor"] == (5.0, 5.0)


@pytest.mark.slow
@pytest.mark.parametrize("row", CHANGES, ids=lambda row: f"{row[0]}={row[1]!r}")
def test_a_parameter_changes_its_own_entries_and_no_others(build, described, row):
    """A swapped link changes another entry, one that is cut or defaulted changes none."""
    name, value, expected, *beside = row
    company = beside[0] if beside else PLAIN
    before = described(company)
    after = describe(*build(company | {name: value}))
    assert differences(before, after) == expected


def test_vectors_of_series_are_learnt_where_they_are_asked_for(build):
    """They are one more category of each step: two series and one for those never seen."""
    before, after = (
        describe(*build({"embeddings": value}, PANEL)) for value in [(), ("series",)]
    )
    assert differences(before, after) == {"calendar": [24, 7, 3], "categories": 3}


@pytest.mark.parametrize(("value", "taken"), [(None, False), ("log", True)])
def test_logarithms_are_taken_where_they_are_asked_for(build, value, taken):
    """Noise has none; this column grows by a factor."""
    grows = np.exp(0.02 * np.arange(300) + np.sin(np.arange(300)) + FRAME["flow"] / 10)
    model = build({"target_transform": value, "seq_len": 24}, grows.to_frame("load"))[0]
    assert transformed(model.scaler_.targets) == taken


def test_none_bounds_the_length_of_patches(build):
    """A token of a long window holds 12 steps, not a twenty-fourth of it."""
    given = {"seq_len": 480, "members": ["network"]}
    assert describe(*build(given, hourly(560)))["patches"] == (12, 12)


def test_an_epoch_of_a_long_series_is_bounded(build):
    """10 000 of 10 681 windows, in batches of 64."""
    given = {"members": ["network"], "max_iter": 1}
    assert describe(*build(given, hourly(12_000)))["batches"] == 157


def test_the_table_holds_every_public_parameter():
    """A parameter that joins the constructor brings its link's test."""
    parameters = set(inspect.signature(InformerRegressor).parameters) - set(PARTS)
    for part in PARTS.values():
        parameters |= set(part().get_params(deep=False)) - set(part.parts)
        for name, kind in part.parts.items():
            parameters |= {f"{name}__{inner}" for inner in kind().get_params()}
    assert {row[0] for row in CHANGES} - {"attention", "block"} == parameters - {
        "attention__encoder",  # by "attention"
        "time",  # columns that become the index, before all that is described here
        "series",
        "label_smoothing",  # of classes, see test_classifier.py
        "z_loss",
    }


def test_precision_goes_by_device_and_width(build, monkeypatch):
    """Which "auto" needs, and which no description shows on a processor without bf16."""
    seen = []

    def resolve(precision, **given):
        seen.append((precision, given["device"].type, given["d_model"]))
        return "fp32"

    monkeypatch.setattr("skinformer.estimators.settings.resolve_precision", resolve)
    build(PLAIN | {"d_model": 48})
    assert seen == [("auto", "cpu", 48)]


@pytest.mark.slow
def test_after_a_fit_no_parameter_changes_a_forecast():
    """`set_params` is for the next fit; two truths at once would be in other units or lengths."""
    model = InformerRegressor(
        **with_parts(**FIXED | PLAIN, seq_len=24, pred_len=6, max_iter=1)
    ).fit(FRAME[:200])

    def results():
        return [
            model.predict(FRAME[190:220]),
            model.forecast().to_numpy(),
            model.score(FRAME[190:220]),
            len(model.make_future_frame()),
            backtest(model, FRAME[200:212])["forecast"].to_numpy(),
        ]

    before = results()
    for name, value, *_ in CHANGES:
        model.set_params(**regressor({name: value}).get_params(deep=False))
        for one, other in zip(results(), before, strict=True):
            np.testing.assert_array_equal(one, other, err_msg=name)
