"""Chronos-Bolt and Chronos-2 as members: tiny models with random weights."""

import numpy as np
import pandas as pd
import pytest
import torch

pytest.importorskip("chronos")
from chronos import Chronos2Pipeline, ChronosBoltPipeline
from chronos.chronos2 import Chronos2Model
from chronos.chronos2.config import Chronos2CoreConfig
from chronos.chronos_bolt import ChronosBoltModelForForecasting
from sklearn.base import clone
from transformers import T5Config

from skinformer import InformerRegressor
from skinformer.beside.chronos import ChronosForecaster

SIZES = {"d_model": 16, "d_kv": 8, "d_ff": 32, "num_layers": 1, "num_heads": 2}
PATCHES = {
    "context_length": 64, "input_patch_size": 8, "input_patch_stride": 8, "use_reg_token": True
}  # fmt: skip
LEVELS = [i / 10 for i in range(1, 10)]


def _bolt():
    own = {**PATCHES, "prediction_length": 8, "quantiles": LEVELS}
    config = T5Config(
        **SIZES, vocab_size=2, pad_token_id=0, decoder_start_token_id=0, chronos_config=own,
        chronos_pipeline_class="ChronosBoltPipeline",
    )  # fmt: skip
    return ChronosBoltPipeline(ChronosBoltModelForForecasting(config).eval())


def _two():
    own = {**PATCHES, "output_patch_size": 8, "quantiles": [0.05, *LEVELS, 0.95]}
    config = Chronos2CoreConfig(
        **SIZES, chronos_config=own, chronos_pipeline_class="Chronos2Pipeline"
    )
    return Chronos2Pipeline(Chronos2Model(config).eval())


@pytest.fixture(params=[_bolt, _two])
def pipeline(request):
    torch.manual_seed(0)
    return request.param()


@pytest.fixture
def histories():
    wave = 20 + 5 * np.sin(np.arange(100.0) / 3)
    return [wave, np.array([1.0, np.nan, 3.0, np.nan]), np.ones(30)]


def test_a_named_model_is_a_member_like_any_other(pipeline, tmp_path, use_as_member):
    """Fitted, searched, judged, copied and saved with the model that holds it."""
    folder = tmp_path / "tiny"
    pipeline.inner_model.save_pretrained(folder)
    forecaster = ChronosForecaster(folder, context_length=48)
    assert forecaster.name == "tiny"
    use_as_member(forecaster, {"context_length": [24, 48]}, ChronosForecaster)


def test_a_given_pipeline_is_a_member_that_files_do_not_hold(pipeline, use_as_member):
    """Its weights are in no folder that a file could name."""
    forecaster = ChronosForecaster(pipeline)
    assert forecaster.name == type(pipeline).__name__
    assert not hasattr(forecaster, "to_config")
    use_as_member(forecaster, {"point": ["median", "mean"]}, None)


def test_copies_share_the_weights(pipeline):
    """A search clones a member often, and weights are large."""
    assert clone(ChronosForecaster(pipeline)).pipeline is pipeline


def test_it_forecasts_what_the_pipeline_does(pipeline, histories):
    """Medians, means and other quantiles, further ahead than it was trained for, too."""
    forecaster = ChronosForecaster(pipeline)
    tensors = [torch.tensor(each) for each in histories]
    with pytest.warns(UserWarning, match="prediction length"):
        quantiles, medians = pipeline.predict_quantiles(tensors, 70, LEVELS)
    quantiles = np.stack([np.asarray(each).reshape(70, 9) for each in quantiles])
    medians = np.stack([np.asarray(each).ravel() for each in medians])
    np.testing.assert_allclose(forecaster.predict(histories, 70), medians, rtol=1e-5)
    found = forecaster.predict(histories, 70, levels=LEVELS)
    np.testing.assert_allclose(found, quantiles, rtol=1e-5)
    mean = ChronosForecaster(pipeline, point="mean").predict(histories, 70)
    assert np.isfinite(mean).all()


def test_chronos_2_sees_columns_and_bolt_the_target_alone(pipeline, histories):
    """Whatever is passed beside a history."""
    rng = np.random.default_rng(0)
    known = [rng.normal(size=(len(each) + 5, 2)) for each in histories]
    past = [rng.normal(size=(len(each), 1)) for each in histories]
    alone = ChronosForecaster(pipeline).predict(histories, 5)
    beside = ChronosForecaster(pipeline).predict(histories, 5, past=past, known=known)
    assert np.isfinite(beside).all()
    assert np.array_equal(alone, beside) == isinstance(pipeline, ChronosBoltPipeline)


def test_a_model_hands_on_its_columns(pipeline):
    """Those that are known ahead with their values of the steps ahead."""
    rng = np.random.default_rng(0)
    days = pd.date_range("2024-01-01", periods=60, freq="D")
    rows = pd.DataFrame(rng.normal(size=(60, 3)), days, ["stock", "price", "load"])
    model = InformerRegressor(
        "load", known_future=["price"], seq_len=12, pred_len=3,
        members=[ChronosForecaster(pipeline)], random_state=0,
    ).fit(rows)  # fmt: skip
    ahead = model.make_future_frame()
    one, other = (model.forecast(ahead.assign(price=price)) for price in (0.5, 1.5))
    assert one.equals(other) == isinstance(pipeline, ChronosBoltPipeline)


@pytest.mark.slow
def test_the_example_gives_a_weak_member_little_weight(run_example):
    """Its errors are a quarter larger than the default's."""
    names = run_example("chronos_member.py")
    assert names["errors"]["both"] < 1.02 * names["errors"]["default"]
    assert names["weights"]["ChronosBoltPipeline"] < 0.15
