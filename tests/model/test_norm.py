import pytest
import torch
from torch import nn

from skinformer.model.norm import FloatLayerNorm, ZeroCentredRMSNorm, make_norm


def test_layer_norm_equals_torch():
    x = torch.randn(2, 5, 8)
    torch.testing.assert_close(FloatLayerNorm(d_model=8)(x), nn.LayerNorm(8)(x))


def test_zero_centred_rms_norm_equals_its_formula():
    norm = ZeroCentredRMSNorm(d_model=8)
    nn.init.normal_(norm.gamma)
    x = torch.randn(2, 5, 8)
    rms = (x.square().mean(-1, keepdim=True) + 1e-5).sqrt()
    torch.testing.assert_close(norm(x), (1 + norm.gamma) * x / rms)


def test_zero_centred_rms_norm_keeps_the_mean_of_the_data():
    """Zero-centred is the parameter: a constant stays a constant of the same sign."""
    torch.testing.assert_close(
        ZeroCentredRMSNorm(d_model=4)(torch.full((1, 4), 3.0)), torch.ones(1, 4)
    )


@pytest.mark.parametrize("name", ["layer", "zc_rms"])
def test_statistics_are_float32_under_autocast(name):
    """In bf16 the mean of 1000 and 1001 loses the difference that is to be normalised."""
    norm = make_norm(name, d_model=64)
    x = (torch.randn(3, 64) + 20).bfloat16()
    with torch.autocast("cpu", torch.bfloat16):
        out = norm(x)
    assert out.dtype == torch.float32
    torch.testing.assert_close(out, norm(x.float()), rtol=0, atol=0)


def test_unknown_norm_is_refused():
    with pytest.raises(KeyError, match="batch"):
        make_norm("batch", d_model=4)
