"""The recipes are the documents', whatever the defaults of the estimator become."""

import numpy as np
import pandas as pd
import pytest

from skinformer import Block, InformerRegressor, recipes
from skinformer.estimators.head import PointHead
from skinformer.estimators.settings import read_settings

#: What a recipe leaves open: the data and their lengths, the budget, the machine.
OPEN = {
    *("target", "known_future", "freq", "seq_len", "label_len", "pred_len"),
    *("max_iter", "max_windows", "early_stopping", "validation_fraction", "n_iter_no_change"),
    *("memory_saving", "checkpoint", "warm_start"),
    *("device", "random_state", "verbose"),
}
SMALL = {"seq_len": 8, "pred_len": 2, "d_model": 8, "n_heads": 2, "max_iter": 1, "random_state": 0}
NAMES = ["NOTE", "BF16"]


@pytest.fixture(params=NAMES)
def recipe(request):
    return getattr(recipes, request.param)


def frame(index):
    return pd.DataFrame({"load": np.sin(np.arange(len(index)) / 3)}, index=index)


def test_a_recipe_names_every_parameter_of_the_network_and_its_training(recipe):
    """A default that is changed for a benchmark's sake must not change what a document says."""
    assert set(recipe) == set(InformerRegressor().get_params()) - OPEN


def test_a_recipe_embeds_the_calendar_of_the_note_on_less_than_three_years(recipe):
    """Note 2.3 has hour, weekday and month; "auto" drops the month of a short history."""
    df = frame(pd.date_range("2024-01-01", periods=60, freq="h"))
    estimator = InformerRegressor(**SMALL | recipe).fit(df)
    assert estimator.sizes_.calendar_fields == ("hour", "weekday", "month")
    tables = estimator.module_.encoder_embedding.calendar.tables
    assert [table.num_embeddings for table in tables] == [24, 7, 12]


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
    estimator = InformerRegressor(**SMALL | recipe).fit(df[:50])
    dated = not isinstance(index, pd.RangeIndex)
    assert estimator.sizes_.calendar_fields == (("hour", "weekday", "month") if dated else ())
    assert np.isfinite(estimator.predict(df)).all()
    assert np.isfinite(estimator.forecast().to_numpy()).all()


def test_a_recipe_lowers_the_loss(recipe):
    """A recipe is a plain dictionary of the estimator's own parameters, and trains."""
    df = frame(pd.date_range("2024-01-01", periods=200, freq="h"))
    model = InformerRegressor(**recipe | SMALL | {"max_iter": 4}).fit(df)
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
        "base": None,
        "patch_len": 1,
    }
    assert note.items() <= recipes.NOTE.items()
    modern = {
        "precision": "bf16",  # C "Precision"
        "block": "bf16",
        "optimizer": "muon",  # C "Optimizer"
        "learning_rate": 3e-4,
        "weight_decay": 0.1,
        "embeddings": ("mask",),  # mask_emb
    }
    assert modern.items() <= recipes.BF16.items()
    settings = read_settings(InformerRegressor(**recipes.BF16), PointHead("mse"))
    assert settings.trainer.muon_learning_rate == pytest.approx(0.02)


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
