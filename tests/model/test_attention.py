import math
from types import SimpleNamespace

import pytest
import torch

from skinformer.model.attention import MultiHeadAttention, QKNorm, make_kernel
from skinformer.model.dense import DenseAttention
from skinformer.model.initialization import initialize
from skinformer.model.probsparse import sparsity


def make(*, kernel=None, **options):
    defaults = {
        "d_model": 16,
        "n_heads": 4,
        "qk_norm": False,
        "output_gate": False,
        "bias": True,
    }
    settings = SimpleNamespace(**defaults | options)
    return MultiHeadAttention(settings, kernel or DenseAttention(causal=False))


def naive(attention, x, memory):
    """Return the output of one sample, head by head, from the formula."""
    d = x.shape[-1] // attention.n_heads
    q, k, v = attention.query(x), attention.key(memory), attention.value(memory)
    heads = []
    for h in range(attention.n_heads):
        own = slice(h * d, (h + 1) * d)
        logits = q[:, own] @ k[:, own].T / math.sqrt(d)
        if attention.qk_norm is not None:
            lengths = q[:, own].norm(dim=-1)[:, None] * k[:, own].norm(dim=-1)
            cosine = q[:, own] @ k[:, own].T / lengths
            logits = attention.qk_norm.tau[h] * cosine / math.sqrt(d)
        heads.append(logits.softmax(-1) @ v[:, own])
    context = torch.cat(heads, dim=-1)
    if attention.gate is not None:
        context = context * attention.gate(x).sigmoid()
    return attention.output(context)


@pytest.mark.parametrize("qk_norm", [True, False])
@pytest.mark.parametrize("output_gate", [True, False])
@pytest.mark.parametrize("bias", [True, False])
@pytest.mark.parametrize("n_heads", [1, 4])
@pytest.mark.parametrize("cross", [True, False])
def test_equals_the_formula_head_by_head(qk_norm, output_gate, bias, n_heads, cross):
    attention = make(
        qk_norm=qk_norm, output_gate=output_gate, bias=bias, n_heads=n_heads
    )
    if qk_norm:
        torch.nn.init.uniform_(attention.qk_norm.tau, 1, 9)
    x = torch.randn(2, 7, 16)
    memory = torch.randn(2, 5, 16) if cross else None
    out = attention(x, memory)
    for b in range(2):
        seen = memory[b] if cross else x[b]
        torch.testing.assert_close(
            out[b], naive(attention, x[b], seen), atol=1e-5, rtol=1e-5
        )


def test_heads_are_merged_by_steps():
    """A reshape without a transpose mixes steps with heads and keeps the shape."""
    attention = make(bias=False)
    with torch.no_grad():
        attention.query.weight.zero_()
        for layer in (attention.value, attention.output):
            layer.weight.copy_(torch.eye(16))
    x = torch.randn(2, 7, 16)
    torch.testing.assert_close(attention(x), x.mean(1, keepdim=True).expand_as(x))


@pytest.mark.parametrize("name", ["dense", "probsparse"])
@pytest.mark.parametrize("causal", [True, False])
def test_last_steps_are_those_of_the_whole(name, causal):
    kernel = make_kernel(name, causal=causal, factor=2, seed=0)
    attention = make(kernel=kernel, output_gate=True, qk_norm=True).eval()
    x = torch.randn(2, 40, 16)
    keys = kernel.draw_keys(40, x.device)
    torch.testing.assert_close(
        attention(x, keys=keys, n_last=9),
        attention(x, keys=keys)[:, -9:],
        atol=1e-6,
        rtol=1e-5,
    )


@pytest.mark.parametrize("name", ["dense", "probsparse"])
@pytest.mark.parametrize("causal", [True, False])
@pytest.mark.parametrize("n_last", [9, 40])
def test_no_weight_is_dropped_in_evaluation(name, causal, n_last):
    """scaled_dot_product_attention drops whatever eval() says, on each of its paths."""
    kernel = make_kernel(name, causal=causal, factor=2, seed=0)
    attention = make(kernel=kernel).eval()
    x = torch.randn(2, 40, 16)
    keys = kernel.draw_keys(40, x.device)
    first = attention(x, keys=keys, n_last=n_last)
    assert torch.equal(attention(x, keys=keys, n_last=n_last), first)


def test_closed_gate_shuts_the_output_and_the_zero_gate_halves_it():
    attention = make(output_gate=True, bias=False)
    x = torch.randn(2, 7, 16)
    with torch.no_grad():
        attention.gate.weight.zero_()
        half = attention(x)
        attention.gate = None
        torch.testing.assert_close(half * 2, attention(x))


def test_temperature_starts_at_the_root_of_the_head_width():
    assert QKNorm(n_heads=3, d_head=16).tau.tolist() == [4.0, 4.0, 4.0]


def test_bounded_logits_make_attention_nearly_uniform_at_the_start():
    """Among 96 keys no weight exceeds e/(e + 95/e): ProbSparse has little to rank by."""
    q, k = QKNorm(n_heads=1, d_head=16)(*torch.randn(2, 1, 1, 96, 16))
    weights = (q @ k.mT / 4).softmax(-1)
    assert weights.max() <= math.e / (math.e + 95 / math.e)


def sampled_and_true_divergence(*, qk_norm, seed):
    """Return ProbSparse's measure on 22 of 96 keys and on all, of 8 windows at initialisation."""
    attention = make(d_model=64, qk_norm=qk_norm)
    initialize(attention, init="xavier", seed=seed)
    seen = []
    attention.kernel.register_forward_pre_hook(lambda _, args: seen.extend(args[:2]))
    attention(torch.nn.functional.layer_norm(torch.randn(8, 96, 64), (64,)))
    samples = (torch.randperm(96)[:22], torch.arange(96))
    return [sparsity(*seen, keys, causal=False) for keys in samples]


def test_qk_norm_weakens_the_ranking_and_flattens_the_attention_at_the_start():
    """The figures of QKNorm's docstring, on fewer draws."""
    correlation, divergence = [], []
    for qk_norm in (False, True):
        draws = [
            sampled_and_true_divergence(qk_norm=qk_norm, seed=seed)
            for seed in range(10)
        ]
        sampled, true = (torch.cat(measures) for measures in zip(*draws, strict=True))
        centred = [x - x.mean(-1, keepdim=True) for x in (sampled, true)]
        correlation.append(torch.cosine_similarity(*centred, dim=-1).mean().item())
        divergence.append(true.mean().item() - math.log(96))
    assert correlation == pytest.approx([0.80, 0.62], abs=0.05)
    assert divergence == pytest.approx([0.49, 0.03], abs=0.02)


def test_qk_norm_is_float32_inside_and_keeps_the_type():
    norm = QKNorm(n_heads=2, d_head=16)
    q, k = torch.randn(2, 1, 2, 5, 16).bfloat16()
    with torch.autocast("cpu", torch.bfloat16):
        out = norm(q, k)
    assert [x.dtype for x in out] == [torch.bfloat16] * 2
    expected = norm(q.float(), k.float())
    torch.testing.assert_close(out[0], expected[0].bfloat16(), rtol=0, atol=0)


def test_qk_norm_of_zeros_is_finite():
    x = torch.zeros(1, 2, 5, 16, requires_grad=True)
    q, k = QKNorm(n_heads=2, d_head=16)(x, x)
    (q.sum() + k.sum()).backward()
    assert x.grad.isfinite().all()
