"""Dense attention: every query looks at every key it may see."""

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from skinformer.model.attention_weights import AttentionWeights, unit_values


class DenseAttention(nn.Module):
    """Every query attends to every key it may see.

    For short sequences, for the decoder and for cross-attention; time grows as the square of
    the length, memory does not.

    causal: whether step i sees only steps up to i.

    ``softmax(Q Kᵀ/√d) V``; O(n_queries · n_keys · d_head) per head.

    **Shape**: q ``(batch, n_heads, n_queries, d_head)``, k and v
    ``(batch, n_heads, n_keys, d_head)``, output ``(batch, n_heads, n_last, d_head)``.

    Note on the Informer (N), sections 3 and 6.1.
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
        # is_causal would align the first query needed with the first key.
        mask = self._visible(q, k, n_last) if self.causal else None
        queries = q[:, :, n_skipped:]
        return F.scaled_dot_product_attention(queries, k, v, attn_mask=mask)

    def weights(
        self,
        q: Tensor,
        k: Tensor,
        *,
        keys: None,
        n_last: int,
    ) -> AttentionWeights:
        """Write out the weights of the last ``n_last`` queries, in memory of length²."""
        values = unit_values(k)
        weights = self.forward(
            q.float(),
            k.float(),
            values,
            keys=keys,
            n_last=n_last,
        )
        selected = torch.ones_like(weights[..., 0], dtype=torch.bool)
        return AttentionWeights(weights, selected, self._visible(q, k, n_last))

    def _visible(
        self,
        q: Tensor,
        k: Tensor,
        n_last: int,
    ) -> Tensor:
        """Return which keys each of the last queries may see, (n_last, n_keys)."""
        n_keys = k.shape[-2]
        visible = torch.ones(n_last, n_keys, dtype=torch.bool, device=q.device)
        if not self.causal:
            return visible
        n_skipped = q.shape[-2] - n_last
        return visible.tril(diagonal=n_skipped)
