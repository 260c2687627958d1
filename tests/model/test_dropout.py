import pytest
import torch

from skinformer.model.dropout import Dropout


@pytest.mark.parametrize("p", [0.05, 0.1, 0.5, 0.9])
def test_share_of_dropped_elements_and_mean(p):
    out = Dropout(p)(torch.ones(400_000))
    assert (out == 0).double().mean().item() == pytest.approx(p, abs=0.004)
    assert out.double().mean().item() == pytest.approx(1, abs=0.02)


def test_elements_of_one_draw_are_independent():
    """Four neighbours share a 64-bit draw; their fates must not be tied."""
    kept = (Dropout(0.5)(torch.ones(100_000, 4)) > 0).double()
    torch.testing.assert_close(
        kept.T.corrcoef(), torch.eye(4).double(), atol=0.02, rtol=0
    )


@pytest.mark.parametrize("shape", [(1,), (7,), (3, 5), (2, 3, 9), (0,)])
def test_any_shape(shape):
    assert Dropout(0.3)(torch.ones(shape)).shape == shape


def test_gradient_passes_where_the_element_was_kept():
    x = torch.randn(1000, requires_grad=True)
    out = Dropout(0.25)(x)
    out.sum().backward()
    torch.testing.assert_close(x.grad * x, out)


def test_input_is_not_changed():
    x = torch.ones(100)
    Dropout(0.5)(x)
    assert x.eq(1).all()


@pytest.mark.parametrize("p", [0.0, 1e-7])
def test_no_dropout_returns_the_input(p):
    x = torch.ones(9)
    assert Dropout(p)(x) is x


def test_evaluation_returns_the_input():
    x = torch.ones(9)
    assert Dropout(0.5).eval()(x) is x


def test_the_state_dict_repeats_the_mask():
    """A resumed training draws the masks that an uninterrupted one would have drawn."""
    dropout, x = Dropout(0.5), torch.ones(1000)
    state = dropout.state_dict()
    first, second = dropout(x), dropout(x)
    assert not torch.equal(first, second)
    dropout.load_state_dict(state)
    assert torch.equal(dropout(x), first)


def test_no_global_generator_is_read_or_moved():
    """Fits in threads draw at the same time, and users count on their own seeds."""
    x, masks = torch.ones(1000), []
    for seed in (3, 4):
        torch.manual_seed(seed)
        before = torch.get_rng_state()
        masks.append(Dropout(0.5)(x))
        assert torch.equal(torch.get_rng_state(), before)
    assert torch.equal(*masks)


def test_type_is_kept():
    assert Dropout(0.5)(torch.ones(9, dtype=torch.bfloat16)).dtype == torch.bfloat16


def test_other_devices_draw_there():
    out = Dropout(0.5)(torch.ones(9, device="meta"))
    assert out.shape == (9,)
