"""Dense attention: every query looks at every key it may see."""

import torch
from torch import Tensor, nn
from torch.nn import functional as F


class DenseAttention(nn.Module):
    """Every query attends to every key it may see.

    For short sequences, for the decoder and for cross-attention; time grows as the square of
    the length, memory does not.

    causal: whether step i sees only steps up to i.

    ``softmax(Q Kᵀ/√d) V``; O(n_queries · n_keys · d_head) per head.

    **Shape**: q ``(batch, n_heads, n_queries, d_head)``, k and v
    ``(batch, n_heads, n_keys, d_head)``, output ``(batch, n_heads, n_last, d_head)``.

    Vaswani et al. (2017), Attention Is All You Need.
    >>> q = k = v = torch.randn(2, 4, 96, 16)
    >>> DenseAttention(causal=True)(q, k, v, keys=None, n_last=96).shape
    torch.Size([2, 4, 96, 16])
    """

    def __init__(self, *, causal: bool) -> None:
        super().__init__()
        self.causal = causal

    def draw_keys(self, length: int, device: torch.device) -> None:
        """Draw nothing: all keys are used."""

    def forward(
        self,
        q: Tensor,
        k: Tensor,
        v: Tensor,
        *,
        keys: None,  # noqa: ARG002
        n_last: int,
    ) -> Tensor:
        """Return the context of the last ``n_last`` queries, (batch, n_heads, n_last, d_head).

        ``keys`` are those of the other kernel, which is called alike.
        """
        n_skipped = q.shape[-2] - n_last
        if not n_skipped:
            return F.scaled_dot_product_attention(q, k, v, is_causal=self.causal)
        mask = None
        if self.causal:
            # is_causal would align the first query needed with the first key.
            mask = torch.ones(n_last, k.shape[-2], dtype=torch.bool, device=q.device)
            mask = mask.tril(diagonal=n_skipped)
        queries = q[:, :, n_skipped:]
        return F.scaled_dot_product_attention(queries, k, v, attn_mask=mask)

    def selected(
        self,
        q: Tensor,
        k: Tensor,  # noqa: ARG002
        keys: None,  # noqa: ARG002
    ) -> Tensor:
        """Return which queries attend, (batch, n_heads, n_queries): all of them."""
        return torch.ones_like(q[..., 0], dtype=torch.bool)
