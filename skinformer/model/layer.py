"""What layers of encoder and decoder are made of."""

from functools import partial
from typing import ClassVar

from torch import Tensor, nn

from skinformer.model.attention import MultiHeadAttention, make_kernel
from skinformer.model.dense import DenseAttention
from skinformer.model.feed_forward import make_feed_forward
from skinformer.model.residual import Residual


class Layer(nn.Module):
    """Self-attention, cross-attention in a decoder, and feed-forward, each with its residual.

    d_model, n_heads, d_ff: width of the states, number of heads, inner width of the feed-forward.
    dropout: dropout on all branches, in training only.
    activation: feed-forward form.
    norm: which norm.
    norm_first: pre-norm or post-norm.
    attention: kernel of the self-attention; the cross-attention is dense.
    factor, seed: sparsity factor of "probsparse", and seed of its key sampling.
    qk_norm, output_gate, bias: whether queries and keys are normalised, attention outputs are
    gated, and linear maps have a bias.

    >>> sizes = {"d_model": 8, "n_heads": 2, "d_ff": 32, "dropout": 0.0, "factor": 5, "seed": 0}
    >>> kinds = {"activation": "gelu", "norm": "layer", "norm_first": True, "attention": "dense"}
    >>> layer = Layer(**sizes, **kinds, qk_norm=False, output_gate=False, bias=True)
    >>> [name for name, _ in layer.named_children()][::2]
    ['attention', 'feed_forward']
    """

    in_decoder: ClassVar[bool] = False

    def __init__(
        self,
        *,
        d_model: int,
        n_heads: int,
        d_ff: int,
        dropout: float,
        activation: str,
        norm: str,
        norm_first: bool,
        attention: str,
        factor: float,
        qk_norm: bool,
        output_gate: bool,
        bias: bool,
        seed: int,
    ) -> None:
        super().__init__()
        residual = partial(
            Residual, d_model=d_model, dropout=dropout, norm=norm, norm_first=norm_first
        )
        heads = partial(MultiHeadAttention, d_model=d_model, n_heads=n_heads, qk_norm=qk_norm)
        heads = partial(heads, output_gate=output_gate, bias=bias)
        kernel = make_kernel(attention, causal=self.in_decoder, factor=factor, seed=seed)
        self.attention = heads(kernel=kernel)
        self.attention_residual = residual()
        if self.in_decoder:
            self.cross_attention = heads(kernel=DenseAttention(causal=False))
            self.cross_residual = residual()
        self.feed_forward = make_feed_forward(activation, d_model=d_model, d_ff=d_ff, bias=bias)
        self.feed_forward_residual = residual()

    def draw_keys(self, x: Tensor) -> Tensor | None:
        """Draw the keys for one `forward` of ``x``, (n_sampled,); None for dense attention."""
        return self.attention.kernel.draw_keys(x.shape[1], x.device)
