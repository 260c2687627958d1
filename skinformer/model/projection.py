"""Linear layers whose class is what they are for.

Initialisation (`initialization.py`) and the optimiser's groups (`optimizer_groups.py`) are
decided by these classes and never by parameter names.
"""

from collections.abc import Sequence

import torch
from torch import Tensor, nn
from torch.nn import functional as F


class InputLinear(nn.Linear):
    """Linear map that brings data into the model's width.

    For the value encoder and the calendar's projections; not for maps between hidden states.
    It is always initialised by Xavier's rule, whatever ``init`` says.

    in_features, out_features: widths of input and output.
    bias: whether a bias is added.

    **Shape**: input ``(..., in_features)``, output ``(..., out_features)``.

    NOTE[DIFF]: the specification draws every linear layer from N(0, 0.02²). Content embedded so is
    35 times smaller than the position code added to it; Xavier's rule is used here instead.

    Glorot and Bengio (2010).
    >>> InputLinear(3, 8, bias=True)(torch.zeros(2, 5, 3)).shape
    torch.Size([2, 5, 8])
    """


class HiddenLinear(nn.Linear):
    """Linear map between hidden states: attention, feed-forward and gate matrices.

    The class marks the matrices that Muon may update; embeddings, convolutions and the final
    projection are not of this class.

    in_features, out_features: widths of input and output.
    bias: whether a bias is added.

    **Shape**: input ``(..., in_features)``, output ``(..., out_features)``.

    Jordan et al. (2024), Muon.
    >>> HiddenLinear(8, 8, bias=False)(torch.zeros(2, 5, 8)).shape
    torch.Size([2, 5, 8])
    """


class ResidualOutput(HiddenLinear):
    """Last linear map of a residual sublayer: W_O of attention, W_2 of the feed-forward.

    The class marks the matrices that ``init="scaled"`` shrinks by the square root of the
    number of residual sublayers; nothing else differs from `HiddenLinear`.

    in_features, out_features: widths of input and output.
    bias: whether a bias is added.

    **Shape**: input ``(..., in_features)``, output ``(..., out_features)``.

    Radford et al. (2019), Language Models are Unsupervised Multitask Learners.
    >>> ResidualOutput(16, 8, bias=False)(torch.zeros(2, 5, 16)).shape
    torch.Size([2, 5, 8])
    """


def fused_linear(x: Tensor, layers: Sequence[nn.Linear]) -> Sequence[Tensor]:
    """Apply linear layers, all with or all without a bias, to one input by a single product.

    The outputs, (..., out_features) each, are views of it. Each layer keeps its own parameter, so
    that Xavier's bounds and Muon's orthogonalisation see one projection at a time, as C lists them.
    """
    # PERF: joining the weights copies 3·d² numbers; one product over a wide matrix keeps both
    # threads busy and reads x once.
    weight = torch.cat([layer.weight for layer in layers])
    bias = None
    if layers[0].bias is not None:
        bias = torch.cat([layer.bias for layer in layers])
    fused = F.linear(x, weight, bias)
    sizes = [layer.out_features for layer in layers]
    return torch.split_with_sizes(fused, sizes, dim=-1)
