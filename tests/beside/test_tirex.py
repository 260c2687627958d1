"""TiRex as a member: a tiny model with random weights."""

import numpy as np
import pytest
import torch

pytest.importorskip("tirex")
from sklearn.base import clone
from tirex.models.tirex import TiRexZero

from skinformer.beside.tirex import TiRexForecaster

LEVELS = [i / 10 for i in range(1, 10)]
SIZES = {
    "model_config": {
        "input_patch_size": 8,
        "output_patch_size": 8,
        "quantiles": LEVELS,
        "block_kwargs": {"num_blocks": 1, "embedding_dim": 16, "num_heads": 2},
        "input_ff_dim": 16,
    },
    "train_ctx_len": 64,
}


@pytest.fixture
def model():
    torch.manual_seed(0)
    tiny = TiRexZero(backend="torch", **SIZES).eval()
    for parameter in tiny.parameters():
        torch.nn.init.normal_(parameter, std=0.1)
    return tiny


@pytest.fixture
def histories():
    wave = 20 + 5 * np.sin(np.arange(100.0) / 3)
    return [wave, np.array([1.0, np.nan, 3.0, np.nan]), np.ones(30)]


def test_a_named_model_is_a_member_like_any_other(
    model, tmp_path, monkeypatch, use_as_member
):
    """Fitted, searched, judged, copied and saved with the model that holds it."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "folder").mkdir()
    whole = {"hyper_parameters": SIZES, "state_dict": model.state_dict()}
    torch.save(whole, "folder/TiRex")
    forecaster = TiRexForecaster("folder/TiRex", context_length=48)
    assert forecaster.name == "TiRex"
    use_as_member(forecaster, {"context_length": [24, 48]}, TiRexForecaster)


def test_a_given_model_is_a_member_that_files_do_not_hold(model, use_as_member):
    """Its weights are in no folder that a file could name."""
    forecaster = TiRexForecaster(model)
    assert forecaster.name == "TiRexZero"
    assert not hasattr(forecaster, "to_config")
    assert clone(forecaster).model is model
    use_as_member(forecaster, {"point": ["median", "mean"]}, None)


def test_it_forecasts_what_the_model_does(model, histories):
    """Medians, means and other quantiles, further ahead than a patch."""
    forecaster = TiRexForecaster(model, batch_size=2)
    quantiles, medians = model.forecast(
        histories, output_type="numpy", prediction_length=20
    )
    np.testing.assert_allclose(forecaster.predict(histories, 20), medians, rtol=1e-5)
    found = forecaster.predict(histories, 20, levels=LEVELS)
    np.testing.assert_allclose(found, quantiles, rtol=1e-5)
    mean = TiRexForecaster(model, point="mean").predict(histories, 20)
    assert np.isfinite(mean).all()


def test_rows_beyond_its_context_are_not_seen(model, histories):
    """None is as far as the model was trained."""
    assert TiRexForecaster(model).max_context == 64
    assert TiRexForecaster(model, context_length=16).max_context == 16
    changed = histories[0].copy()
    changed[:-16] = 0
    short = TiRexForecaster(model, context_length=16)
    np.testing.assert_array_equal(
        short.predict([changed], 3), short.predict([histories[0]], 3)
    )
