import torch
from torch.nn import functional as F

from skinformer.model.distil import Distil


def test_length_is_halved_and_rounded_up_for_every_length():
    distil = Distil(d_model=2)
    for length in range(1, 201):
        assert distil(torch.zeros(1, length, 2)).shape == (1, (length + 1) // 2, 2)


def test_equals_the_formula_in_the_order_of_the_note():
    """Pooling before ELU, as here, is the same because ELU never falls."""
    distil = Distil(d_model=4)
    x = torch.randn(2, 11, 4)
    u = F.elu(distil.conv(x.transpose(1, 2)))
    for i in range(6):
        window = u[..., max(0, 2 * i - 1) : 2 * i + 2]
        torch.testing.assert_close(distil(x)[:, i], window.amax(-1))


def test_convolution_pads_with_zeros():
    distil = Distil(d_model=1)
    with torch.no_grad():
        distil.conv.weight.fill_(1)
        distil.conv.bias.zero_()
    assert distil(torch.ones(1, 5, 1)).flatten().tolist() == [3, 3, 3]
    assert distil(torch.ones(1, 1, 1)).flatten().tolist() == [1]


def test_pooling_pads_with_minus_infinity():
    """Zero padding would lift negative values at both ends to 0."""
    distil = Distil(d_model=3)
    with torch.no_grad():
        distil.conv.weight.zero_()
        distil.conv.bias.fill_(-1)
    torch.testing.assert_close(
        distil(torch.randn(1, 5, 3)),
        torch.full((1, 3, 3), torch.tensor(-1.0).expm1().item()),
    )


def test_stream_is_float32_under_autocast():
    with torch.autocast("cpu", torch.bfloat16):
        assert Distil(d_model=3)(torch.randn(1, 5, 3)).dtype == torch.float32
