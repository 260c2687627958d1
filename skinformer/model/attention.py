"""Multi-head attention: projections, QK norm, output gate."""

import math
from collections.abc import Sequence
from typing import Any, TypeAlias

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from skinformer.model.dense import DenseAttention
from skinformer.model.probsparse import ProbSparseAttention
from skinformer.model.projection import HiddenLinear, ResidualOutput, fused_linear
from skinformer.model.settings import NetworkSettings

Kernel: TypeAlias = DenseAttention | ProbSparseAttention


def make_kernel(attention: str, *, causal: bool, **sampling: Any) -> Kernel:
    """Build the attention kernel that ``attention`` names; "dense" ignores factor and seed."""
    if attention == "dense":
        return DenseAttention(causal=causal)
    return ProbSparseAttention(causal=causal, **sampling)


class QKNorm(nn.Module):
    """Scale queries and keys to unit length, with a learnt temperature per head.

    For bf16 training, where large logits lose precision: the logits are bounded by τ/√d. At
    the start they are cosines, so attention over many keys is close to uniform: until τ has
    grown, ProbSparse attention ranks its queries less well, and the ones that it selects find
    little more than the mean.

    n_heads, d_head: number of heads, and width of each.

    `tau`, (n_heads,), is the temperature, √d_head at the start.

    ``q ← τ q/‖q‖``, ``k ← k/‖k‖``, so that ``q·k/√d = τ cos(q, k)/√d``; in float32.
    O(length · d_model).

    Measured at initialisation (Xavier, 96 steps, 4 heads of width 16, factor 5, 1600 heads of 50
    seeds, normal states): ProbSparse's sparsity measure on 22 sampled keys correlates with the
    divergence from uniform over all 96 keys, over the queries, by 0.62 with QK norm and 0.80
    without, and 54 % against 67 % of the 22 selected queries are the right ones (23 % by chance).
    On embedded random walks it is 0.85 and 0.90, 73 % and 78 %. The divergence itself falls from
    0.49 to 0.03 nats (random walks: 0.28 to 0.02), the largest weight from 0.68 to 0.03; uniform
    is 0.01.

    **Shape**: q, k and both outputs ``(batch, n_heads, length, d_head)``.

    Henry et al. (2020), Query-Key Normalization for Transformers.
    >>> q, k = QKNorm(n_heads=2, d_head=16)(torch.randn(1, 2, 5, 16), torch.randn(1, 2, 5, 16))
    >>> q.norm(dim=-1).mean().item(), k.norm(dim=-1).mean().item()
    (4.0, 1.0)
    """

    def __init__(self, *, n_heads: int, d_head: int) -> None:
        super().__init__()
        self.tau = nn.Parameter(torch.full((n_heads,), math.sqrt(d_head)))

    def forward(self, q: Tensor, k: Tensor) -> tuple[Tensor, Tensor]:
        """Scale queries to length τ and keys to length 1, each (batch, n_heads, length, d_head)."""
        unit_q = F.normalize(q.float(), dim=-1)
        unit_k = F.normalize(k.float(), dim=-1)
        scaled_q = unit_q * self.tau[:, None, None]
        return scaled_q.to(q.dtype), unit_k.to(k.dtype)


class MultiHeadAttention(nn.Module):
    """Project to heads, attend, gate, merge the heads and project back.

    For self-attention (``memory=None``) and cross-attention. It adds no residual and no
    dropout on its output; `Residual` does.

    settings: of the network; ``d_model``, ``n_heads``, ``qk_norm``, ``output_gate`` and ``bias``
    are read. With ``output_gate`` ``σ(W_g x)`` multiplies the context.
    kernel: how queries meet keys; ProbSparse for self-attention only.

    ``(σ(x W_g) ⊙ [A_1; …; A_h]) W_O`` with ``A_h = kernel(x W_Q, m W_K, m W_V)`` and m the
    memory, or x itself; O(length · d_model²) plus the kernel's cost.

    **Shape**: x ``(batch, length, d_model)``, memory ``(batch, n_memory, d_model)``, output
    ``(batch, n_last, d_model)``, by default all steps.

    NOTE[DIFF]: attention weights are never dropped. The specification drops the branch only;
    its remark that the fused routine can drop weights is not followed, since that leaves the fused
    kernel: memory L² and, at 96 steps and width 64, 13 ms more for a training step of 60.

    NOTE[DIFF]: the specification reshapes (batch, n_heads, length, d_head) straight to
    (batch, length, d_model), which mixes steps with heads. Here the axes are transposed first.

    Vaswani et al. (2017), Attention Is All You Need; Qiu et al. (2025), Gated Attention for Large
    Language Models.
    >>> from types import SimpleNamespace
    >>> settings = SimpleNamespace(
    ...     d_model=8, n_heads=2, qk_norm=True, output_gate=True, bias=False
    ... )
    >>> attention = MultiHeadAttention(settings, DenseAttention(causal=False))
    >>> attention(torch.randn(3, 5, 8), torch.randn(3, 7, 8)).shape
    torch.Size([3, 5, 8])
    """

    def __init__(self, settings: NetworkSettings, kernel: Kernel) -> None:
        super().__init__()
        d_model = settings.d_model
        bias = settings.bias
        self.n_heads = settings.n_heads
        self.kernel = kernel
        self.query = HiddenLinear(d_model, d_model, bias=bias)
        self.key = HiddenLinear(d_model, d_model, bias=bias)
        self.value = HiddenLinear(d_model, d_model, bias=bias)
        self.gate = None
        if settings.output_gate:
            self.gate = HiddenLinear(d_model, d_model, bias=bias)
        self.qk_norm = None
        if settings.qk_norm:
            d_head = d_model // self.n_heads
            self.qk_norm = QKNorm(n_heads=self.n_heads, d_head=d_head)
        self.output = ResidualOutput(d_model, d_model, bias=bias)

    def forward(
        self,
        x: Tensor,
        memory: Tensor | None = None,
        keys: Tensor | None = None,
        n_last: int | None = None,
    ) -> Tensor:
        """Attend from the last ``n_last`` steps of ``x``: (batch, n_last, d_model).

        ``memory`` None means ``x`` itself, ``n_last`` None all steps; ``keys`` are those that the
        kernel's ``draw_keys`` returned.
        """
        length = x.shape[1]
        n_last = length if n_last is None else n_last
        *gates, query, key, value = self._project(x, memory)
        q = self._split_heads(query)
        k = self._split_heads(key)
        v = self._split_heads(value)
        if self.qk_norm is not None:
            q, k = self.qk_norm(q, k)
        heads = self.kernel(q, k, v, keys=keys, n_last=n_last)
        context = heads.transpose(1, 2).flatten(2)  # (batch, n_last, d_model)
        for gate in gates:
            context = context * gate[:, length - n_last :].sigmoid()
        return self.output(context)

    def _project(self, x: Tensor, memory: Tensor | None) -> Sequence[Tensor]:
        """Return the gate, if there is one, and queries of x, and keys and values of the memory."""
        of_x = [self.query] if self.gate is None else [self.gate, self.query]
        of_memory = [self.key, self.value]
        if memory is None:
            return fused_linear(x, [*of_x, *of_memory])
        return *fused_linear(x, of_x), *fused_linear(memory, of_memory)

    def _split_heads(self, x: Tensor) -> Tensor:
        """Turn (batch, length, d_model) to (batch, n_heads, length, d_head)."""
        batch, length, d_model = x.shape
        d_head = d_model // self.n_heads
        heads = x.view(batch, length, self.n_heads, d_head)
        return heads.transpose(1, 2)
