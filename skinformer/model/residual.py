"""Residual wiring of a sublayer, before or after its norm."""

from collections.abc import Callable

from torch import Tensor, nn

from skinformer.model.dropout import Dropout
from skinformer.model.norm import make_norm
from skinformer.model.settings import NetworkSettings


class Residual(nn.Module):
    """Add a sublayer's output to its input, with a norm before the sublayer or after the sum.

    For the attention and feed-forward sublayers of encoder and decoder. It does not own the
    sublayer, which the caller passes to ``forward``. The number of these modules in a stack
    is the number by which ``init="scaled"`` divides.

    settings: of the network; ``d_model``, ``dropout``, ``norm`` and ``norm_first`` are read.

    Pre-norm ``x + Drop(f(Norm(x)))``; post-norm ``Norm(x + Drop(f(x)))``.
    The cost is that of f.

    **Shape**: input ``(batch, length, d_model)``, output ``(batch, n_last, d_model)``, n_last the
    number of steps that the sublayer returns, as a rule all.

    Xiong et al. (2020), On Layer Normalization in the Transformer Architecture (pre-norm); Vaswani
    et al. (2017) (post-norm).
    >>> import torch
    >>> from types import SimpleNamespace
    >>> settings = SimpleNamespace(d_model=8, dropout=0.0, norm="layer", norm_first=True)
    >>> residual = Residual(settings)
    >>> x = torch.randn(2, 5, 8)
    >>> torch.equal(residual(x, torch.zeros_like), x)
    True
    """

    def __init__(self, settings: NetworkSettings) -> None:
        super().__init__()
        self.norm = make_norm(settings.norm, d_model=settings.d_model)
        self.dropout = Dropout(settings.dropout)
        self.norm_first = settings.norm_first

    def forward(self, x: Tensor, sublayer: Callable[[Tensor], Tensor]) -> Tensor:
        """Run a sublayer, which may return only the last steps, inside the residual."""
        states = self.norm(x) if self.norm_first else x
        branch = self.dropout(sublayer(states))
        # PERF: torch's way back through a slice fills and copies, even where it is the whole.
        n_dropped = x.shape[1] - branch.shape[1]
        if n_dropped:
            x = x[:, n_dropped:]
        total = x + branch
        return total if self.norm_first else self.norm(total)
