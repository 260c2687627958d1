"""TimesFM 2.5 and 3 as members: tiny models with random weights."""

from dataclasses import replace

import numpy as np
import pytest
import torch

pytest.importorskip("timesfm")
from sklearn.base import clone
from timesfm import TimesFM3Forecaster, TimesFM_2p5_200M_torch
from timesfm.timesfm_2p5.timesfm_2p5_torch import TimesFM_2p5_200M_torch_module
from timesfm3.torch import configs
from timesfm3.torch.model import TimesFM3Torch

from skinformer.beside.timesfm import TimesFMForecaster

LEVELS = [i / 10 for i in range(1, 10)]


@pytest.fixture
def histories():
    wave = 20 + 5 * np.sin(np.arange(100.0) / 3)
    return [wave, np.array([1.0, np.nan, 3.0, np.nan]), np.ones(30)]


@pytest.fixture
def folder_of_2p5(tmp_path, monkeypatch):
    """Save a model of 2.5, whose sizes stand in a class."""
    sizes = TimesFM_2p5_200M_torch_module.config
    one = sizes.stacked_transformers.transformer
    one = replace(one, model_dims=16, hidden_dims=16, num_heads=2)
    stack = replace(sizes.stacked_transformers, num_layers=1, transformer=one)
    narrow = {"hidden_dims": 16}
    tiny = replace(
        sizes,
        stacked_transformers=stack,
        tokenizer=replace(sizes.tokenizer, output_dims=16, **narrow),
        output_projection_point=replace(
            sizes.output_projection_point, input_dims=16, **narrow
        ),
        output_projection_quantiles=replace(
            sizes.output_projection_quantiles, input_dims=16, **narrow
        ),
    )
    monkeypatch.setattr(TimesFM_2p5_200M_torch_module, "config", tiny)
    torch.manual_seed(0)
    folder = tmp_path / "tiny-2.5"
    TimesFM_2p5_200M_torch(torch_compile=False).save_pretrained(folder)
    return folder


@pytest.fixture
def folder_of_3(tmp_path):
    torch.manual_seed(0)
    block = configs.ResidualBlockConfig(
        hidden_dims=16, output_dims=16, use_bias=False, activation="relu"
    )
    one = configs.TransformerConfig(
        model_dims=16, hidden_dims=16, num_heads=2, attention_norm="rms",
        feedforward_norm="rms", qk_norm="rms", use_rope_seq=True, use_rope_var=True,
        use_bias=False, ff_activation="relu", deterministic=True,
    )  # fmt: skip
    stack = configs.StackedTransformersConfig(num_layers=1, transformer=one)
    model = TimesFM3Torch(
        input_patch_len=8, output_patch_len=16, quantiles=LEVELS,
        residual_block_config=block, transformer_config=stack,
    )  # fmt: skip
    model.pre_transformer_resblock.set_input_dims(2 * (8 + 16))
    folder = tmp_path / "tiny-3"
    model.save_pretrained(folder)
    return folder


@pytest.fixture(params=["2.5", "3"])
def folder(request):
    name = "folder_of_3" if request.param == "3" else "folder_of_2p5"
    return request.getfixturevalue(name)


def test_a_named_model_is_a_member_like_any_other(folder, use_as_member):
    """Fitted, searched, judged, copied and saved with the model that holds it."""
    forecaster = TimesFMForecaster(folder, context_length=48)
    assert forecaster.name == folder.name
    use_as_member(forecaster, {"context_length": [24, 48]}, TimesFMForecaster)


def test_a_given_model_is_a_member_that_files_do_not_hold(folder_of_3, use_as_member):
    """Its weights are in no folder that a file could name."""
    model = TimesFM3Forecaster.from_pretrained(str(folder_of_3))
    forecaster = TimesFMForecaster(model)
    assert not hasattr(forecaster, "to_config")
    assert clone(forecaster).model is model
    use_as_member(forecaster, {"point": ["median", "mean"]}, None)


def test_it_forecasts_quantiles_in_order(folder, histories):
    """Medians are among them, whatever a history looks like."""
    forecaster = TimesFMForecaster(folder, batch_size=2)
    quantiles = forecaster.predict(histories, 20, levels=LEVELS)
    assert quantiles.shape == (3, 20, 9)
    assert (np.diff(quantiles, axis=-1) >= -1e-4).all()
    medians = forecaster.predict(histories, 20)
    np.testing.assert_allclose(medians, quantiles[..., 4])
    mean = TimesFMForecaster(folder, point="mean").predict(histories, 20)
    assert np.isfinite(mean).all()


def test_version_3_forecasts_what_the_model_does(folder_of_3, histories):
    """And sees the columns beside the target."""
    model = TimesFM3Forecaster.from_pretrained(str(folder_of_3))
    forecaster = TimesFMForecaster(model)
    expected = [model.predict(values, 5).forecast for values in histories]
    np.testing.assert_allclose(
        forecaster.predict(histories, 5), np.stack(expected), rtol=1e-4
    )
    rng = np.random.default_rng(0)
    known = [rng.normal(size=(len(each) + 5, 2)) for each in histories]
    past = [rng.normal(size=(len(each), 1)) for each in histories]
    beside = forecaster.predict(histories, 5, past=past, known=known)
    assert np.isfinite(beside).all()
    assert not np.allclose(beside, forecaster.predict(histories, 5))
