"""Initial values of the weights, by the class of the layer that owns them."""

from collections.abc import Callable

import torch
from torch import nn

from skinformer.model.decoder import Decoder
from skinformer.model.encoder import Encoder
from skinformer.model.linear import InputLinear, ResidualOutput
from skinformer.model.linear_path import KnownFuturePath
from skinformer.model.residual import Residual

__all__ = ["initialize"]

_STD = 0.02


def initialize(model: nn.Module, *, init: str) -> None:
    """Set the initial weights of a model, in place.

    Norms and temperatures keep the values they are built with.

    Parameters
    ----------
    model : nn.Module
        The model.
    init : {"normal", "xavier", "scaled"}
        Rule for linear and convolution weights: N(0, 0.02²); Xavier uniform; or Xavier uniform
        with the output matrix of each residual sublayer divided by the square root of the
        number of residual sublayers of its stack (2 per encoder layer, 3 per decoder layer).

    Notes
    -----
    Whatever the rule: biases are 0, embeddings N(0, 0.02²), the maps from data to the model's
    width (`InputLinear`) Xavier uniform, the linear path of the covariates 0. Draws come from
    torch's global generator.

    NOTE[DIFF]: C scales by 1/√(4·n_layers), for four residual sublayers in a layer of another
    architecture; here the sublayers are counted.

    References
    ----------
    Note on the Informer (N), section 9.5; training configuration (C), "Weight
    Initialization".

    Examples
    --------
    >>> import torch
    >>> from torch import nn
    >>> from skinformer.model.initialization import initialize
    >>> layer = nn.Linear(4, 4)
    >>> initialize(layer, init="normal")
    >>> layer.bias.tolist()
    [0.0, 0.0, 0.0, 0.0]
    """
    draws: dict[str, Callable[[torch.Tensor], torch.Tensor]] = {
        "normal": _normal,
        "xavier": nn.init.xavier_uniform_,
        "scaled": nn.init.xavier_uniform_,
    }
    for module in model.modules():
        _initialize_module(module, draw=draws[init])
    if init == "scaled":
        _scale_residual_outputs(model)


def _normal(weight: torch.Tensor) -> torch.Tensor:
    return nn.init.normal_(weight, std=_STD)


def _initialize_module(module: nn.Module, *, draw: Callable[[torch.Tensor], torch.Tensor]) -> None:
    if isinstance(module, KnownFuturePath):
        nn.init.zeros_(module.weight)
    elif isinstance(module, nn.Embedding):
        _normal(module.weight)
    elif isinstance(module, nn.Linear | nn.Conv1d):
        if isinstance(module, InputLinear):
            nn.init.xavier_uniform_(module.weight)
        else:
            draw(module.weight)
        if module.bias is not None:
            nn.init.zeros_(module.bias)


@torch.no_grad()
def _scale_residual_outputs(model: nn.Module) -> None:
    stacks = [module for module in model.modules() if isinstance(module, Encoder | Decoder)]
    for stack in stacks:
        n_sublayers = sum(isinstance(module, Residual) for module in stack.modules())
        for module in stack.modules():
            if isinstance(module, ResidualOutput):
                module.weight /= n_sublayers**0.5
