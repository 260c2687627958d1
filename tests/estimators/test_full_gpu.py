"""A GPU without memory, or no longer there: the CPU takes its place."""

import pickle
import warnings

import numpy as np
import pytest
import torch
from versions import HAS_CALLBACKS

import skinformer
from skinformer.ensemble.ensemble import Ensemble
from skinformer.estimators import loading, persisting, settings

WAVE = np.sin(np.arange(200) / 4)[:, None]
FULL = torch.OutOfMemoryError(
    "CUDA out of memory. Tried to allocate 2.00 GiB.\nMore lines follow."
)
SAYS = "GPU has too little memory .*: the CPU is used, which is slower"


@pytest.fixture
def full_gpu(monkeypatch):
    """Let torch find a GPU whose memory is taken; `error` may be replaced."""
    errors = [FULL]

    def resolve(precision, *, device, d_model):
        if device.type == "cuda":
            raise errors[-1]
        return "fp32"

    monkeypatch.setattr(settings, "has_cuda", lambda: True)
    monkeypatch.setattr(settings, "resolve_precision", resolve)
    return errors


@pytest.mark.parametrize(
    "error",
    [
        FULL,
        RuntimeError("CUDA error: out of memory"),
        RuntimeError(
            "CUDA error: CUBLAS_STATUS_ALLOC_FAILED when calling `cublasCreate(handle)`"
        ),
    ],
    ids=["torch", "cuda", "cublas"],
)
def test_auto_goes_on_on_the_cpu(small, full_gpu, error):
    """The forecasts are those of a fit on the CPU."""
    full_gpu.append(error)
    with pytest.warns(UserWarning, match=SAYS):
        model = small(device="auto").fit(WAVE)
    assert model.device_ == "cpu"
    on_cpu = small(device="cpu").fit(WAVE)
    np.testing.assert_array_equal(model.predict(WAVE), on_cpu.predict(WAVE))


def test_other_errors_are_not_taken_for_it(small, full_gpu):
    """A fault of the code would be run again, more slowly, and hidden."""
    full_gpu.append(RuntimeError("mat1 and mat2 shapes cannot be multiplied"))
    with pytest.raises(RuntimeError, match="mat1 and mat2"):
        small(device="auto").fit(WAVE)


def test_a_device_that_was_named_is_not_replaced(small, full_gpu, monkeypatch):
    """Who names the GPU waits for it, or wants to know."""
    monkeypatch.setattr(torch.cuda, "is_available", lambda: True)
    with pytest.raises(torch.OutOfMemoryError, match="Tried to allocate"):
        small(device="cuda").fit(WAVE)


def test_fp16_has_no_place_on_a_cpu(small, full_gpu):
    """The error of the GPU says more than that fp16 needs one."""
    with pytest.raises(torch.OutOfMemoryError, match="Tried to allocate"):
        small(device="auto", precision="fp16").fit(WAVE)


def test_a_fit_that_has_a_checkpoint_is_not_begun_anew(small, full_gpu, tmp_path):
    """Its epochs would be lost; a new file is written where there is none yet."""
    path = tmp_path / "fit.pt"
    with pytest.warns(UserWarning, match=SAYS):
        small(device="auto", checkpoint=path).fit(WAVE)
    assert path.exists()
    with pytest.raises(torch.OutOfMemoryError, match="Tried to allocate"):
        small(device="auto", checkpoint=path).fit(WAVE)


@pytest.mark.skipif(not HAS_CALLBACKS, reason="scikit-learn has no callbacks")
def test_callbacks_end_the_first_fit_before_the_second_begins(small, monkeypatch):
    """A progress bar that is never torn down keeps the process from ending."""
    calls = []

    class Noted:
        def setup(self, estimator, context):
            calls.append("setup")

        def teardown(self, estimator, context):
            calls.append("teardown")

        def on_fit_task_begin(self, *_, **__):
            pass

        def on_fit_task_end(self, *_, **__):
            if calls == ["setup"]:
                raise FULL

    model = small(device="auto")
    model.set_callbacks(Noted())
    with pytest.warns(UserWarning, match=SAYS):
        model.fit(WAVE)
    assert calls == ["setup", "teardown"] * 2


def test_a_pickled_model_loads_on_a_machine_whose_gpu_is_full(small, monkeypatch):
    """It was fitted on a GPU, and forecasts on the CPU as well."""
    model = small(device="cpu").fit(WAVE)
    expected = model.predict(WAVE)
    model.device_ = "cuda"
    data = pickle.dumps(model)
    monkeypatch.setattr(persisting, "has_cuda_device", lambda name: True)
    place = Ensemble.on_device

    def on_device(ensemble, device):
        if device == "cuda":
            raise FULL
        return place(ensemble, device)

    monkeypatch.setattr(Ensemble, "on_device", on_device)
    with pytest.warns(UserWarning, match=SAYS):
        loaded = pickle.loads(data)
    assert loaded.device_ == "cpu"
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        np.testing.assert_array_equal(loaded.predict(WAVE), expected)


@pytest.mark.parametrize("device", ["cuda", "cuda:1"])
def test_a_file_from_a_machine_with_a_gpu_loads_on_one_without(
    small, tmp_path, monkeypatch, device
):
    """It was refused as damaged: the trial forecast looked for the GPU."""
    monkeypatch.setattr(torch.cuda, "device_count", lambda: int(device == "cuda:1"))
    model = small(device="cpu").fit(WAVE)
    model.save(tmp_path / "model.skinformer")
    read = loading.read

    def from_a_gpu(content, forecasters):
        found = read(content, forecasters)
        return {**found, "fitted": {**found["fitted"], "device_": device}}

    monkeypatch.setattr(loading, "read", from_a_gpu)
    loaded = skinformer.load(tmp_path / "model.skinformer")
    assert loaded.device_ == "cpu"
    np.testing.assert_array_equal(loaded.forecast(), model.forecast())
