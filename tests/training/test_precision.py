import pytest
import torch
from torch import nn

from skinformer.training import precision as module_under_test
from skinformer.training.precision import autocast, make_scaler, resolve_precision

CPU = torch.device("cpu")


def test_fp16_on_a_cpu_says_what_to_use_instead():
    """Without the scaler small gradients are rounded to zero, silently."""
    message = (
        "precision='fp16' needs a CUDA device, and the model is on 'cpu': "
        "use precision='bf16' or precision='fp32'."
    )
    with pytest.raises(ValueError, match=r"^" + message + "$"):
        make_scaler("fp16", device=CPU)


def test_only_matrix_products_are_in_bf16():
    """Parameters and their gradients, and with them the optimiser state, stay float32."""
    linear = nn.Linear(4, 4)
    with autocast("bf16", device=CPU):
        output = linear(torch.randn(2, 4))
    output.float().sum().backward()
    assert output.dtype == torch.bfloat16
    assert linear.weight.dtype == linear.weight.grad.dtype == torch.float32


def test_fp32_computes_in_float32():
    """No context, no cost."""
    with autocast("fp32", device=CPU):
        assert nn.Linear(4, 4)(torch.randn(2, 4)).dtype == torch.float32


def test_only_fp16_has_a_scaler():
    """bfloat16 has float32's exponents."""
    assert not make_scaler("fp32", device=CPU).is_enabled()
    assert not make_scaler("bf16", device=CPU).is_enabled()


@pytest.mark.parametrize(
    ("features", "width", "expected"),
    [
        ({"avx512_bf16": True}, 64, "fp32"),
        ({"avx512_bf16": True}, 256, "bf16"),
        ({"amx_bf16": True}, 512, "bf16"),
        ({}, 512, "fp32"),
    ],
)
def test_auto_on_a_cpu_depends_on_width_and_instructions_alone(
    monkeypatch, features, width, expected
):
    """A rule that times something would choose differently from run to run."""
    monkeypatch.setattr(torch.cpu, "get_capabilities", lambda: features, raising=False)
    assert resolve_precision("auto", device=CPU, d_model=width) == expected


def test_auto_is_float32_where_torch_cannot_name_the_instructions(monkeypatch):
    """Releases before `torch.cpu.get_capabilities` must not fail."""
    monkeypatch.delattr(torch.cpu, "get_capabilities", raising=False)
    assert resolve_precision("auto", device=CPU, d_model=512) == "fp32"


def test_auto_elsewhere_is_float32():
    """Nothing is known about bfloat16 there."""
    assert resolve_precision("auto", device=torch.device("meta"), d_model=512) == "fp32"


def test_what_is_asked_for_is_what_one_gets():
    """Only "auto" is a question."""
    assert resolve_precision("fp16", device=CPU, d_model=8) == "fp16"
    assert set(module_under_test.COMPUTE_TYPES) == {"fp32", "bf16", "fp16"}


@pytest.mark.parametrize(("supported", "expected"), [(True, "bf16"), (False, "fp32")])
def test_auto_on_cuda_is_bf16_where_the_device_computes_in_it(
    monkeypatch, supported, expected
):
    """Emulated bfloat16 is slower than float32."""
    monkeypatch.setattr(torch.cuda, "is_bf16_supported", lambda **_: supported)
    monkeypatch.setattr(torch.cuda, "device", lambda _: torch.no_grad())
    assert resolve_precision("auto", device=torch.device("cuda"), d_model=8) == expected
