"""Attention written out: what the forward pass gives to its values, of every kernel."""

import pytest
import torch

from skinformer.model.attention import QKNorm
from skinformer.model.attention_weights import attention_weights
from skinformer.model.dense import DenseAttention
from skinformer.model.probsparse import ProbSparseAttention, n_top_queries

CPU = torch.device("cpu")


def inputs(length=40, n_keys=None, seed=0):
    generator = torch.Generator().manual_seed(seed)
    shapes = [length, n_keys or length, n_keys or length]
    return [torch.randn(2, 3, n, 8, generator=generator) for n in shapes]


KERNELS = {
    "dense": DenseAttention(causal=False),
    "dense, causal": DenseAttention(causal=True),
    "probsparse": ProbSparseAttention(causal=False, factor=2, seed=0).eval(),
    "probsparse, causal": ProbSparseAttention(causal=True, factor=2, seed=0).eval(),
}


@pytest.mark.parametrize("n_last", [40, 7])
@pytest.mark.parametrize("name", KERNELS)
def test_weights_of_values_are_the_output(name, n_last):
    """A map of other weights would explain another network."""
    kernel, (q, k, v) = KERNELS[name], inputs()
    q, k = QKNorm(n_heads=3, d_head=8)(3 * q, k)
    options = {"keys": kernel.draw_keys(40, CPU), "n_last": n_last}
    found = attention_weights(kernel, q, k, **options)
    torch.testing.assert_close(
        found.weights @ v, kernel(q, k, v, **options), atol=1e-5, rtol=0
    )
    torch.testing.assert_close(found.weights.sum(dim=-1), torch.ones(2, 3, n_last))
    assert found.visible.shape == (n_last, 40)
    assert not found.weights[..., ~found.visible].any()


def test_weights_of_cross_attention_are_the_output():
    """Queries and keys of different numbers."""
    q, k, v = inputs(length=6, n_keys=11)
    kernel = KERNELS["dense"]
    found = attention_weights(kernel, q, k, keys=None, n_last=6)
    output = kernel(q, k, v, keys=None, n_last=6)
    torch.testing.assert_close(found.weights @ v, output, atol=1e-5, rtol=0)
    assert found.selected.all()


@pytest.mark.parametrize("causal", [False, True])
def test_queries_that_are_not_selected_look_at_all_alike(causal):
    """They take a mean, and a map must not make more of them."""
    kernel = KERNELS["probsparse, causal" if causal else "probsparse"]
    q, k, _ = inputs()
    found = attention_weights(kernel, q, k, keys=kernel.draw_keys(40, CPU), n_last=40)
    assert (found.selected.sum(dim=-1) == n_top_queries(40, 2)).all()
    seen = torch.arange(1, 41) if causal else torch.full((40,), 40)
    uniform = (1 / seen)[:, None] * found.visible
    left = found.weights[~found.selected]
    torch.testing.assert_close(left, uniform.expand(2, 3, -1, -1)[~found.selected])
    taken = found.weights[found.selected].amax(dim=-1)
    assert (taken > 1.5 / 40).float().mean() > 0.9
