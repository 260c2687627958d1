"""Dense attention: every query looks at every key it may see."""

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from skinformer.model.attention_weights import AttentionWeights, softmax_weights

__all__ = ["DenseAttention"]


class DenseAttention(nn.Module):
    """Every query attends to every key it may see.

    For short sequences, for the decoder and for cross-attention; time grows as the square of
    the length, memory does not.

    Parameters
    ----------
    causal : bool
        Whether step i sees only steps up to i.

    See Also
    --------
    skinformer.model.probsparse.ProbSparseAttention : Cost L ln L instead of L².

    Notes
    -----
    ``softmax(Q Kᵀ/√d) V``; O(n_queries · n_keys · d_head) per head.

    **Shape**: q ``(batch, n_heads, n_queries, d_head)``, k and v
    ``(batch, n_heads, n_keys, d_head)``, output ``(batch, n_heads, n_last, d_head)``.

    References
    ----------
    Note on the Informer (N), sections 3 and 6.1.

    Examples
    --------
    >>> import torch
    >>> from skinformer.model.dense import DenseAttention
    >>> q = k = v = torch.randn(2, 4, 96, 16)
    >>> DenseAttention(causal=True)(q, k, v, keys=None, n_last=96).shape
    torch.Size([2, 4, 96, 16])
    """

    def __init__(self, *, causal: bool) -> None:
        super().__init__()
        self.causal = causal

    def draw_keys(self, length: int, device: torch.device) -> None:
        """Draw nothing: all keys are used.

        Parameters
        ----------
        length : int
            Number of keys.
        device : torch.device
            Where the states live.
        """

    def forward(
        self,
        q: Tensor,
        k: Tensor,
        v: Tensor,
        *,
        keys: Tensor | None,  # noqa: ARG002  (both kernels are called alike)
        n_last: int,
    ) -> Tensor:
        """Attend.

        Parameters
        ----------
        q : Tensor of shape (batch, n_heads, n_queries, d_head)
            Queries.
        k, v : Tensor of shape (batch, n_heads, n_keys, d_head)
            Keys and values.
        keys : None
            All keys are used.
        n_last : int
            How many of the last queries are needed.

        Returns
        -------
        Tensor of shape (batch, n_heads, n_last, d_head)
            Context of those queries.
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
        self,
        q: Tensor,
        k: Tensor,
        *,
        keys: Tensor | None,  # noqa: ARG002  (both kernels are called alike)
        n_last: int,
    ) -> AttentionWeights:
        """Write out what `forward` gives to values.

        Parameters
        ----------
        q : Tensor of shape (batch, n_heads, n_queries, d_head)
            Queries.
        k : Tensor of shape (batch, n_heads, n_keys, d_head)
            Keys.
        keys : None
            All keys are used.
        n_last : int
            How many of the last queries are needed.

        Returns
        -------
        AttentionWeights
            Of those queries; memory grows as the square of the length.
        """
        visible = self._visible(q, k, n_last)
        weights = softmax_weights(q[:, :, q.shape[-2] - n_last :], k, visible)
        return AttentionWeights(
            weights, torch.ones_like(weights[..., 0], dtype=torch.bool), visible
        )

    def _visible(self, q: Tensor, k: Tensor, n_last: int) -> Tensor:
        visible = torch.ones(n_last, k.shape[-2], dtype=torch.bool, device=q.device)
        return visible.tril(diagonal=q.shape[-2] - n_last) if self.causal else visible
