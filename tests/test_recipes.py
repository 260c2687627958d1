"""The recipes are the documents', whatever the defaults of the estimator become."""

import numpy as np
import pandas as pd
import pytest
from flat_parameters import flat_values, set_flat

from skinformer import Block, InformerClassifier, InformerRegressor, recipes
from skinformer.ensemble.head import ClassHead, PointHead
from skinformer.estimators.settings import read_settings

#: What a recipe leaves open: the data and their lengths, the budget, the machine.
OPEN = {
    *("target", "known_future", "time", "series", "freq", "season"),
    *("seq_len", "pred_len"),
    *("early_stopping", "validation_fraction"),
    *("max_seconds", "n_jobs", "random_state", "verbose"),
}
OPEN_IN_PARTS = {
    "label_len",
    "max_iter",
    "max_windows",
    "n_iter_no_change",
    "memory_saving",
    "checkpoint",
    "warm_start",
    "device",
}
LOSSES_OF_CLASSES = {"label_smoothing", "z_loss"}
SMALL = {
    "seq_len": 8,
    "pred_len": 2,
    "d_model": 8,
    "n_heads": 2,
    "max_iter": 1,
    "random_state": 0,
}
NAMES = ["NOTE", "BF16"]


@pytest.fixture(params=NAMES)
def recipe(request):
    return getattr(recipes, request.param)


def frame(index):
    return pd.DataFrame({"load": np.sin(np.arange(len(index)) / 3)}, index=index)


def test_a_recipe_names_every_parameter_of_the_network_and_its_training(recipe):
    """A default that is changed for a benchmark's sake must not change what a document says."""
    assert set(recipe) == set(InformerRegressor().get_params()) - OPEN
    every = {"target_transform": None, "loss": "mse"} | BF16_NETWORK
    assert set(pinned(recipe)) == set(every)


def test_a_recipe_embeds_the_calendar_of_the_note_on_less_than_three_years(recipe):
    """Note 2.3 has hour, weekday and month; "auto" drops the month of a short history."""
    df = frame(pd.date_range("2024-01-01", periods=60, freq="h"))
    estimator = set_flat(InformerRegressor(**recipe), **SMALL).fit(df)
    assert estimator.sizes_.calendar_fields == ("hour", "weekday", "month")
    tables = estimator.module_.encoder_embedding.calendar.tables
    assert [table.num_embeddings for table in tables] == [24, 7, 12]


@pytest.mark.slow
@pytest.mark.parametrize(
    "index",
    [
        pd.date_range("2023-11-01", periods=60, freq="15min"),
        pd.date_range("2023-11-01", periods=60, freq="D"),
        pd.date_range("2023-11-01", periods=60, freq="D", tz="America/Sao_Paulo"),
        pd.period_range("2023-11-01", periods=60, freq="D"),
        pd.date_range("2022-11-01", periods=60, freq="W-WED"),
        pd.date_range("2015-01-31", periods=60, freq="ME"),
        pd.period_range("2001-01", periods=60, freq="Q"),
        pd.RangeIndex(60),
    ],
    ids=lambda index: getattr(index, "freqstr", None) or "row numbers",
)
def test_the_calendar_of_a_recipe_works_on_any_clock(recipe, index):
    """Data without hours have hour 0 throughout: one more bias, not an error."""
    df = frame(index)
    estimator = set_flat(InformerRegressor(**recipe), **SMALL).fit(df[:50])
    dated = not isinstance(index, pd.RangeIndex)
    assert estimator.sizes_.calendar_fields == (
        ("hour", "weekday", "month") if dated else ()
    )
    assert np.isfinite(estimator.predict(df)).all()
    assert np.isfinite(estimator.forecast().to_numpy()).all()


@pytest.mark.slow
def test_a_recipe_lowers_the_loss(recipe):
    """A recipe is a plain dictionary of the estimator's own parameters, and trains."""
    df = frame(pd.date_range("2024-01-01", periods=200, freq="h"))
    model = set_flat(InformerRegressor(**recipe), **SMALL | {"max_iter": 4})
    model.fit(df)
    assert model.loss_curve_[-1] < model.loss_curve_[0]


def test_the_recipes_are_what_the_documents_say():
    """Every value that a document fixes, beside the section that fixes it."""
    note = {
        "attention": "probsparse",  # N 4
        "distil": True,  # N 5.2
        "position": "sinusoidal",  # N 2.2
        "loss": "mse",  # N 9.1
        "optimizer": "adamw",  # N 9.2
        "block": "note",
        "window_norm": False,
        "members": ["network"],
        "patch_len": 1,
    }
    assert flat_values(recipes.NOTE) | note == flat_values(recipes.NOTE)
    modern = {
        "precision": "bf16",  # C "Precision"
        "block": "bf16",
        "optimizer": "muon",  # C "Optimizer"
        "learning_rate": 3e-4,
        "weight_decay": 0.1,
        "embeddings": ("mask",),  # mask_emb
    }
    assert flat_values(recipes.BF16) | modern == flat_values(recipes.BF16)
    settings = read_settings(
        InformerRegressor(**recipes.BF16), PointHead("mse"), requested="cpu"
    )
    assert settings.trainer.muon_learning_rate == pytest.approx(0.02)


#: Every value, as it is written: what both recipes of the training configuration share.
BF16_NETWORK = {
    "members": ["network"],
    "patch_len": 1,
    "calendar": ["hour", "weekday", "month"],
    "embeddings": ("mask",),
    "d_model": 64,
    "n_heads": 4,
    "n_encoder_layers": 2,
    "n_decoder_layers": 1,
    "d_ff": 256,
    "attention": "dense",
    "block": "bf16",
    "position": "sinusoidal",
    "distil": True,
    "dropout": 0.1,
    "window_norm": False,
    "optimizer": "muon",
    "learning_rate": 3e-4,
    "weight_decay": 0.1,
    "batch_size": 32,
    "precision": "bf16",
}


def pinned(recipe):
    """Return every value of a recipe but those that it leaves open."""
    values = flat_values(recipe)
    is_of_numbers = "loss" in values
    left_open = OPEN_IN_PARTS | (LOSSES_OF_CLASSES if is_of_numbers else set())
    return {name: values[name] for name in values.keys() - left_open}


def test_every_value_of_the_training_configuration_is_pinned():
    """A value that moves by mistake is no recipe of a document any more."""
    assert pinned(recipes.BF16) == BF16_NETWORK | {
        "target_transform": None,
        "loss": "mse",
    }
    classes = {"class_weight": None, "label_smoothing": 0.1, "z_loss": 1e-4}
    assert pinned(recipes.BF16_CLASSES) == BF16_NETWORK | classes
    assert set(recipes.BF16_CLASSES) == set(InformerClassifier().get_params()) - OPEN


def test_every_value_of_the_note_is_pinned():
    """The same for the note, which differs in what it does not share with the configuration."""
    assert pinned(recipes.NOTE) == BF16_NETWORK | {
        "target_transform": None,
        "loss": "mse",
        "embeddings": (),
        "attention": "probsparse",
        "block": "note",
        "optimizer": "adamw",
        "learning_rate": 1e-3,
        "weight_decay": 0.01,
        "precision": "auto",
    }


def test_the_recipe_of_classes_trains_as_it_says():
    """Smoothing and z-loss have to reach the loss, and the loss has to fall."""
    hours = pd.date_range("2024-01-01", periods=200, freq="h")
    df = pd.DataFrame({"state": np.where(hours.hour < 8, "night", "day")}, index=hours)
    short = {
        "seq_len": 8,
        "pred_len": 2,
        "d_model": 8,
        "n_heads": 2,
        "d_ff": 32,
        "max_iter": 4,
    }
    model = InformerClassifier(**recipes.BF16_CLASSES, random_state=0)
    set_flat(model, **short).fit(df)
    assert model.head_ == ClassHead((2,), label_smoothing=0.1, z_loss=1e-4)
    assert model.precision_ == "bf16"
    assert model.loss_curve_[-1] < model.loss_curve_[0]


def test_the_blocks_of_the_recipes_are_what_the_documents_say():
    """The same for what a block's name stands for."""
    note, modern = Block.of("note").get_params(), Block.of("bf16").get_params()
    assert note == {
        "norm": "layer",  # N 5.1
        "activation": "gelu",  # N 5.1
        "init": "normal",  # N 9.5
        "qk_norm": False,
        "output_gate": False,
    }
    assert modern == {
        "norm": "zc_rms",  # C "Normalization"
        "qk_norm": True,  # C "QK Norm"
        "output_gate": True,  # C "Summary"
        "activation": "swiglu",  # C "Summary"
        "init": "scaled",  # C "Weight Initialization"
    }
