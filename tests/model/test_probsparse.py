import math

import pytest
import torch
from torch.nn import functional as F
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_leaves

from skinformer.model.probsparse import (
    ProbSparseAttention,
    n_sampled_keys,
    n_top_queries,
    sparsity,
)

CPU = torch.device("cpu")


def make(**options):
    return ProbSparseAttention(**{"causal": False, "factor": 2, "seed": 0} | options)


def attend(kernel, q, k, v, n_last=None):
    length = k.shape[-2]
    keys = kernel.draw_keys(length, CPU)
    return kernel(q, k, v, keys=keys, n_last=n_last or length)


def naive_sparsity(q, k, keys, *, causal):
    """Return the measure of each query of one head, from its formula."""
    measure = []
    for i, query in enumerate(q):
        seen = [j for j in keys.tolist() if j <= i or not causal]
        scores = (
            torch.stack([query @ k[j] / math.sqrt(len(query)) for j in seen])
            if seen
            else None
        )
        if scores is None:
            measure.append(torch.tensor(0.0))
            continue
        value = scores.exp().sum().log() - scores.mean()
        measure.append(value - math.log(len(seen)) if causal else value)
    return torch.stack(measure)


def naive_attention(q, k, v, keys, *, causal, n_top):
    """Return the context of each query of one head, from its formula."""
    measure = naive_sparsity(q, k, keys, causal=causal)
    selected = set(measure.argsort(descending=True)[:n_top].tolist())
    rows = []
    for i, query in enumerate(q):
        end = i + 1 if causal else len(k)
        if i in selected:
            weights = (k[:end] @ query / math.sqrt(len(query))).softmax(0)
            rows.append(weights @ v[:end])
        else:
            rows.append(v[:end].mean(0))
    return torch.stack(rows)


@pytest.mark.parametrize(
    ("length", "n_keys", "n_queries"),
    [
        (1, 1, 1),
        (2, 2, 2),
        (8, 8, 8),
        (10, 10, 10),
        (12, 12, 12),
        (13, 12, 12),
        (96, 22, 22),
    ],
)
def test_numbers_of_keys_and_queries_at_factor_5(length, n_keys, n_queries):
    assert n_sampled_keys(length, 5) == n_keys
    assert n_top_queries(length, 5) == n_queries


@pytest.mark.parametrize("length", [1, 2, 8, 10, 96])
def test_numbers_stay_in_range_for_a_small_factor(length):
    """From a single sampled key every query looks uniform: two at least, where there are two."""
    assert n_sampled_keys(length, 0.1) == min(2, length)
    assert n_top_queries(length, 0.1) == 1


@pytest.mark.parametrize("causal", [True, False])
@pytest.mark.parametrize("length", [1, 2, 8, 10, 40])
def test_sparsity_equals_its_formula(causal, length):
    q, k = torch.randn(2, 2, 3, length, 4) * 2
    keys = torch.randperm(length)[: n_sampled_keys(length, 2)]
    measure = sparsity(q, k, keys, causal=causal)
    for b in range(2):
        for h in range(3):
            expected = naive_sparsity(q[b, h], k[b, h], keys, causal=causal)
            torch.testing.assert_close(measure[b, h], expected)


@pytest.mark.parametrize("causal", [True, False])
@pytest.mark.parametrize("length", [1, 2, 8, 10, 40])
def test_attention_equals_its_formula_in_a_loop(causal, length):
    q, k, v = torch.randn(3, 2, 3, length, 4)
    kernel = make(causal=causal).eval()
    out = attend(kernel, q, k, v)
    keys = kernel.draw_keys(length, CPU)
    for b in range(2):
        for h in range(3):
            expected = naive_attention(
                q[b, h],
                k[b, h],
                v[b, h],
                keys,
                causal=causal,
                n_top=n_top_queries(length, 2),
            )
            torch.testing.assert_close(out[b, h], expected)


@pytest.mark.parametrize("causal", [True, False])
@pytest.mark.parametrize("length", [1, 2, 8, 10, 96])
def test_with_all_queries_selected_it_is_dense_attention(causal, length):
    q, k, v = torch.randn(3, 2, 3, length, 8)
    out = attend(make(causal=causal, factor=1000), q, k, v)
    dense = F.scaled_dot_product_attention(q, k, v, is_causal=causal)
    torch.testing.assert_close(out, dense, atol=1e-6, rtol=1e-6)


def test_gradients_with_all_queries_selected_are_those_of_dense_attention():
    q, k, v = (torch.randn(2, 3, 30, 8, requires_grad=True) for _ in range(3))
    weight = torch.randn(2, 3, 30, 8)
    (attend(make(factor=1000), q, k, v) * weight).sum().backward()
    sparse = [x.grad.clone() for x in (q, k, v)]
    dense = (F.scaled_dot_product_attention(q, k, v) * weight).sum()
    for ours, theirs in zip(sparse, torch.autograd.grad(dense, (q, k, v)), strict=True):
        torch.testing.assert_close(ours, theirs, atol=1e-5, rtol=1e-5)


def test_values_of_later_steps_never_reach_earlier_ones():
    """The mean over all of V would show the future to every query that is not selected."""
    q, k, v = torch.randn(3, 1, 2, 60, 4)
    kernel = make(causal=True, factor=1).eval()
    before = attend(kernel, q, k, v)
    v[:, :, 30:] += 100
    after = attend(kernel, q, k, v)
    assert torch.equal(before[:, :, :30], after[:, :, :30])
    assert not torch.isclose(before[:, :, 30:], after[:, :, 30:]).any()


def test_later_inputs_reach_a_step_through_its_selection_only():
    """What masked ProbSparse leaves of the future: the ranking is over all steps."""
    length, t = 60, 30
    # (2, q k v, batch, n_heads, length, 4).
    before, after = torch.randn(2, 3, 200, 2, length, 4)
    after[:, :, :, : t + 1] = before[:, :, :, : t + 1]
    kernel = make(causal=True).eval()
    keys = kernel.draw_keys(length, CPU)
    selected = []
    for q, k, _ in (before, after):
        top = (
            sparsity(q, k, keys, causal=True)
            .topk(n_top_queries(length, 2), dim=-1)
            .indices
        )
        selected.append((top == t).any(-1))
    one, other = (attend(kernel, *qkv)[:, :, t] for qkv in (before, after))
    changed = selected[0] != selected[1]
    assert torch.equal((one != other).any(-1), changed)
    assert 0 < changed.float().mean() < 0.25


def test_unselected_steps_take_the_cumulative_mean_not_the_sum():
    """The original's cumulative sum grows with the length."""
    q, k, v = (
        torch.zeros(1, 1, 60, 4),
        torch.zeros(1, 1, 60, 4),
        torch.ones(1, 1, 60, 4),
    )
    torch.testing.assert_close(attend(make(causal=True), q, k, v), v)


@pytest.mark.parametrize("causal", [True, False])
def test_last_steps_are_those_of_the_whole(causal):
    q, k, v = torch.randn(3, 2, 3, 40, 4)
    kernel = make(causal=causal).eval()
    whole = attend(kernel, q, k, v)
    assert torch.equal(attend(kernel, q, k, v, n_last=7), whole[:, :, -7:])


@pytest.mark.parametrize("causal", [True, False])
def test_rows_of_the_mean_do_not_share_memory(causal):
    """A scatter into an expanded tensor writes one row into all."""
    out = attend(make(causal=causal, factor=1), *torch.randn(3, 2, 3, 40, 4))
    assert 0 not in out.stride()
    assert len(out[0, 0].unique(dim=0)) > 1


@pytest.mark.parametrize("causal", [True, False])
@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
def test_autocast_may_return_another_type_than_the_values_have(causal, dtype):
    q, k, v = torch.randn(3, 2, 3, 40, 8).to(dtype)
    kernel = make(causal=causal).eval()
    with torch.autocast("cpu", torch.bfloat16):
        out = attend(kernel, q, k, v)
    assert out.dtype == dtype
    expected = attend(kernel, q.float(), k.float(), v.float())
    torch.testing.assert_close(out.float(), expected, atol=3e-2, rtol=3e-2)


@pytest.mark.parametrize("causal", [True, False])
def test_sparsity_is_float32_under_autocast_and_without_gradient(causal):
    """In bf16 36 of 96 values collapse, and the ranking with them."""
    q, k = (torch.randn(1, 1, 96, 16, requires_grad=True) for _ in range(2))
    keys = torch.arange(22)
    with torch.autocast("cpu", torch.bfloat16):
        measure = sparsity(q, k, keys, causal=causal)
    assert measure.dtype == torch.float32
    assert not measure.requires_grad
    assert torch.equal(measure, sparsity(q, k, keys, causal=causal))


@pytest.mark.parametrize("causal", [True, False])
def test_mean_of_bf16_values_is_summed_in_float32(causal):
    """A running sum that is rounded to bf16 at each step skips all odd numbers from 257 on."""
    q, k, v = torch.zeros(3, 1, 1, 1024, 4).bfloat16()
    v += torch.randn_like(v) / 8 + 1
    kernel = make(causal=causal, factor=1).eval()
    with torch.autocast("cpu", torch.bfloat16):
        out = attend(kernel, q, k, v)
    # Equal scores: the queries that are selected find the mean, too, by another kernel.
    expected = v.float().mean(-2, keepdim=True).expand_as(v)
    if causal:
        expected = v.float().cumsum(-2) / torch.arange(1, 1025)[:, None]
    assert (out == expected.bfloat16()).float().mean() > 0.95


def test_large_scores_do_not_overflow():
    q, k = torch.randn(2, 1, 1, 40, 4) * 1e3
    assert sparsity(q, k, torch.arange(10), causal=False).isfinite().all()
    assert sparsity(q, k, torch.arange(10), causal=True).isfinite().all()


@pytest.mark.parametrize("causal", [True, False])
def test_memory_of_forward_and_backward_stays_below_the_square_of_the_length(causal):
    """Not one tensor of a step, of either direction, holds as many numbers as the scores."""

    class Largest(TorchDispatchMode):
        numel = 0

        def __torch_dispatch__(self, func, types, args=(), kwargs=None):
            out = func(*args, **kwargs or {})
            sizes = [
                x.untyped_storage().nbytes()
                for x in tree_leaves(out)
                if torch.is_tensor(x)
            ]
            self.numel = max(self.numel, *sizes, 0) if sizes else self.numel
            return out

    length = 2048
    kernel = make(causal=causal, factor=5)
    q, k, v = (torch.randn(1, 1, length, 8, requires_grad=True) for _ in range(3))
    with Largest() as largest:
        attend(kernel, q, k, v).sum().backward()
    n_keys = n_sampled_keys(length, 5)
    assert 0 < largest.numel <= 8 * length * max(n_keys, 8)


def test_training_samples_new_keys_and_evaluation_the_same():
    kernel = make()
    assert not torch.equal(kernel.draw_keys(96, CPU), kernel.draw_keys(96, CPU))
    kernel.eval()
    assert torch.equal(kernel.draw_keys(96, CPU), kernel.draw_keys(96, CPU))
