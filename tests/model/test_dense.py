import math

import pytest
import torch

from skinformer.model.dense import DenseAttention


def naive(q, k, v, *, causal):
    out = torch.zeros_like(q)
    offset = k.shape[-2] - q.shape[-2]
    for b, h, i in torch.cartesian_prod(
        *(torch.arange(n) for n in q.shape[:3])
    ).tolist():
        end = i + offset + 1 if causal else k.shape[-2]
        logits = k[b, h, :end] @ q[b, h, i] / math.sqrt(q.shape[-1])
        out[b, h, i] = logits.softmax(0) @ v[b, h, :end]
    return out


@pytest.mark.parametrize("causal", [True, False])
@pytest.mark.parametrize("n_last", [1, 4, 9])
def test_equals_the_formula_in_a_loop(causal, n_last):
    q, k, v = torch.randn(3, 2, 3, 9, 4)
    out = DenseAttention(causal=causal)(q, k, v, keys=None, n_last=n_last)
    torch.testing.assert_close(out, naive(q, k, v, causal=causal)[:, :, -n_last:])


def test_cross_attention_takes_other_lengths():
    q, k = torch.randn(2, 3, 5, 4), torch.randn(2, 3, 9, 4)
    out = DenseAttention(causal=False)(q, k, k, keys=None, n_last=5)
    torch.testing.assert_close(out, naive(q, k, k, causal=False))


@pytest.mark.parametrize("n_last", [3, 9])
def test_causal_steps_never_see_a_later_one(n_last):
    q, k, v = torch.randn(3, 1, 2, 9, 4)
    kernel = DenseAttention(causal=True)
    before = kernel(q, k, v, keys=None, n_last=n_last)
    k[:, :, 7:] += 5
    v[:, :, 7:] += 5
    after = kernel(q, k, v, keys=None, n_last=n_last)
    assert torch.equal(before[:, :, :-2], after[:, :, :-2])
    assert not torch.isclose(before[:, :, -2:], after[:, :, -2:]).any()


def test_no_weight_is_dropped_in_training_or_evaluation():
    """scaled_dot_product_attention would drop whatever eval() says."""
    q, k, v = torch.randn(3, 2, 3, 9, 4)
    kernel = DenseAttention(causal=False)
    first = kernel.train()(q, k, v, keys=None, n_last=9)
    assert torch.equal(first, kernel.eval()(q, k, v, keys=None, n_last=9))


def test_nothing_is_drawn():
    assert DenseAttention(causal=False).draw_keys(96, torch.device("cpu")) is None
