import math

import pytest
import torch
from torch import nn

from skinformer.model.feed_forward import SwiGLU, make_feed_forward


def test_gelu_form_equals_its_formula():
    layer = make_feed_forward("gelu", d_model=8, d_ff=32, bias=True)
    x = torch.randn(2, 5, 8)
    inner = x @ layer.inner.weight.T + layer.inner.bias
    gelu = inner * 0.5 * (1 + torch.erf(inner / math.sqrt(2)))
    torch.testing.assert_close(layer(x), gelu @ layer.outer.weight.T + layer.outer.bias)


def test_relu_form_equals_its_formula():
    layer = make_feed_forward("relu", d_model=8, d_ff=32, bias=False)
    x = torch.randn(2, 5, 8)
    expected = (x @ layer.inner.weight.T).clamp(min=0) @ layer.outer.weight.T
    torch.testing.assert_close(layer(x), expected)


def test_swiglu_equals_its_formula():
    layer = make_feed_forward("swiglu", d_model=8, d_ff=32, bias=False)
    x = torch.randn(2, 5, 8)
    gate = x @ layer.gate.weight.T
    up = x @ layer.up.weight.T
    torch.testing.assert_close(
        layer(x), (gate * gate.sigmoid() * up) @ layer.outer.weight.T
    )


@pytest.mark.parametrize(("d_ff", "width"), [(256, 170), (2048, 1365), (1, 1)])
def test_swiglu_is_two_thirds_as_wide(d_ff, width):
    assert SwiGLU(d_model=8, d_ff=d_ff, bias=True).up.out_features == width


@pytest.mark.parametrize("activation", ["gelu", "relu", "swiglu"])
@pytest.mark.parametrize("bias", [True, False])
def test_bias_switch(activation, bias):
    layer = make_feed_forward(activation, d_model=8, d_ff=32, bias=bias)
    linears = [module for module in layer.modules() if isinstance(module, nn.Linear)]
    assert all((linear.bias is not None) == bias for linear in linears)


def test_unknown_activation_is_refused():
    with pytest.raises(KeyError, match="tanh"):
        make_feed_forward("tanh", d_model=8, d_ff=32, bias=True)
