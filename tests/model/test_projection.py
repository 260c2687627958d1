import pytest
import torch

from skinformer.model.projection import HiddenLinear, fused_linear


@pytest.mark.parametrize("bias", [True, False])
def test_fused_product_equals_the_layers_one_by_one(bias):
    layers = [HiddenLinear(8, width, bias=bias) for width in (8, 8, 3)]
    x = torch.randn(2, 5, 8)
    for part, layer in zip(fused_linear(x, layers), layers, strict=True):
        torch.testing.assert_close(part, layer(x))


def test_each_fused_layer_gets_its_own_gradient():
    layers = [HiddenLinear(8, 8, bias=True) for _ in range(2)]
    x = torch.randn(2, 5, 8)
    first, _ = fused_linear(x, layers)
    first.sum().backward()
    torch.testing.assert_close(layers[0].weight.grad, x.sum((0, 1)).expand(8, 8))
    assert not layers[1].weight.grad.any()
