"""On a GPU the same estimator gives the same kind of forecasts; run where there is one."""

import copy
import gc
import pickle
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
import torch
from flat_parameters import with_parts

from skinformer import InformerRegressor

pytestmark = [
    pytest.mark.cuda,
    pytest.mark.skipif(not torch.cuda.is_available(), reason="there is no CUDA device"),
]
SMALL = {
    "seq_len": 24,
    "pred_len": 6,
    "d_model": 32,
    "n_heads": 2,
    "max_iter": 8,
    "learning_rate": 3e-3,
    "dropout": 0.0,
    "random_state": 0,
}
WAVE = (np.sin(np.arange(600) / 4) + np.random.default_rng(0).normal(size=600) / 20)[
    :, None
]


def test_auto_takes_the_gpu_in_bf16():
    """Nobody should have to say that a GPU is to be used."""
    model = InformerRegressor(**with_parts(**SMALL)).fit(WAVE)
    assert (model.device_, model.precision_, model.attention_) == (
        "cuda",
        "bf16",
        "dense",
    )
    assert next(model.module_.parameters()).dtype == torch.float32


@pytest.mark.parametrize("precision", ["fp32", "bf16", "fp16"])
@pytest.mark.parametrize("attention", ["dense", "probsparse"])
def test_every_precision_learns_a_sine(precision, attention):
    """As well as the CPU does, within noise."""
    choice = {"precision": precision, "attention": attention}
    scores = [
        InformerRegressor(
            **with_parts(**SMALL, **choice if device == "cuda" else {}, device=device)
        )
        .fit(WAVE[:500])
        .score(WAVE[500:])
        for device in ("cuda", "cpu")
    ]
    assert scores[0] > scores[1] - 0.1


def test_the_same_weights_forecast_alike_on_both_devices():
    """A model trained on a GPU serves from a CPU."""
    model = InformerRegressor(**with_parts(**SMALL)).fit(WAVE[:500])
    on_cpu = copy.deepcopy(model)
    on_cpu.device_ = "cpu"
    on_cpu.ensemble_ = on_cpu.ensemble_.on_device("cpu")
    later = WAVE[500:]
    np.testing.assert_allclose(on_cpu.predict(later), model.predict(later), atol=2e-3)


def test_a_pickle_holds_no_gpu_memory(monkeypatch):
    """It must load on a machine without a GPU."""
    model = InformerRegressor(**with_parts(**SMALL)).fit(WAVE)
    data = pickle.dumps(model)
    np.testing.assert_array_equal(pickle.loads(data).predict(WAVE), model.predict(WAVE))
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    loaded = pickle.loads(data)
    assert loaded.device_ == "cpu"
    assert next(loaded.module_.parameters()).device.type == "cpu"


def test_recursion_feeds_forecasts_back_on_the_gpu():
    """The canvas is on the host; what is filled in must reach the device."""
    model = InformerRegressor(**with_parts(**SMALL)).fit(WAVE)
    on_cpu = copy.deepcopy(model)
    on_cpu.device_, on_cpu.ensemble_ = "cpu", on_cpu.ensemble_.on_device("cpu")
    forecasts = [m.forecast(horizon=60).to_numpy() for m in (model, on_cpu)]
    np.testing.assert_allclose(*forecasts, atol=0.05)


def test_a_fit_repeats_and_leaves_the_gpus_generator_alone():
    """Two fits of one seed agree; torch.cuda's generator is the caller's."""
    torch.cuda.manual_seed(3)
    before = torch.cuda.get_rng_state()
    forecasts = [
        InformerRegressor(**with_parts(**SMALL)).fit(WAVE).predict(WAVE)
        for _ in range(2)
    ]
    assert torch.equal(torch.cuda.get_rng_state(), before)
    np.testing.assert_allclose(*forecasts, atol=0.05)


def test_a_checkpoint_resumes_on_the_gpu(tmp_path):
    """States move between host and device."""
    first = InformerRegressor(
        **with_parts(**SMALL, checkpoint=tmp_path / "fit.pt")
    ).fit(WAVE)
    again = InformerRegressor(
        **with_parts(**SMALL, checkpoint=tmp_path / "fit.pt")
    ).fit(WAVE)
    np.testing.assert_array_equal(first.predict(WAVE), again.predict(WAVE))


def test_later_fits_leave_no_more_memory_than_earlier_ones():
    """Each had a stream of its own, and with it workspaces of 68 MB that are never freed."""
    held = []
    for _ in range(4):
        InformerRegressor(**with_parts(**SMALL | {"max_iter": 1})).fit(WAVE)
        gc.collect()
        held.append(torch.cuda.memory_allocated())
    assert held[-1] - held[1] < 1e6


def test_threads_fit_beside_each_other():
    """A process records one step at a time, each thread on a stream of its own."""
    alone = InformerRegressor(**with_parts(**SMALL)).fit(WAVE).history_["loss"]
    with ThreadPoolExecutor(2) as pool:
        fits = list(
            pool.map(
                lambda _: InformerRegressor(**with_parts(**SMALL)).fit(WAVE), range(2)
            )
        )
    for fit in fits:
        np.testing.assert_allclose(fit.history_["loss"], alone, rtol=0.01)
