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
        skipped = q.shape[-2] - n_last
        if not skipped:
            return F.scaled_dot_product_attention(q, k, v, is_causal=self.causal)
        if not self.causal:
            return F.scaled_dot_product_attention(q[:, :, skipped:], k, v)
        # is_causal would align the first query needed with the first key.
        mask = self._visible(q, k, n_last)
        return F.scaled_dot_product_attention(q[:, :, skipped:], k, v, attn_mask=mask)

    def weights(
        self, q: Tensor, k: Tensor, *, keys: None, n_last: int
    ) -> AttentionWeights:
        """Write out the weights of the last ``n_last`` queries, in memory of length²."""
        weights = self.forward(
            q.float(), k.float(), unit_values(k), keys=keys, n_last=n_last
        )
        selected = torch.ones_like(weights[..., 0], dtype=torch.bool)
        return AttentionWeights(weights, selected, self._visible(q, k, n_last))

    def _visible(self, q: Tensor, k: Tensor, n_last: int) -> Tensor:
        visible = torch.ones(n_last, k.shape[-2], dtype=torch.bool, device=q.device)
        return visible.tril(diagonal=q.shape[-2] - n_last) if self.causal else visible
