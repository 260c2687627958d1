"""Initial values of the weights, by the class of the layer that owns them."""

from contextlib import ContextDecorator
from functools import partial
from typing import Any

import torch
from torch import nn
from torch.overrides import TorchFunctionMode

from skinformer.model.dropout import reseed
from skinformer.model.generators import make_generator
from skinformer.model.known_future_path import KnownFuturePath
from skinformer.model.projection import InputLinear, ResidualOutput
from skinformer.model.residual import Residual
from skinformer.model.stack import Stack
from skinformer.model.window_path import WindowPath


class without_draws(ContextDecorator, TorchFunctionMode):  # noqa: N801 - as those of contextlib
    """Build layers without drawing from torch's global generator, in this thread alone.

    Every draw that names no generator is skipped. Other threads may draw at the same time. Weights
    are undefined until `initialize` draws them from a generator of its own.
    >>> before = torch.get_rng_state()
    >>> with without_draws():
    ...     _ = nn.Linear(4, 4)
    >>> torch.equal(torch.get_rng_state(), before)
    True
    """

    #: How torch's layers draw their weights.
    draws = (
        nn.init.kaiming_uniform_,
        nn.init.normal_,
        nn.init.uniform_,
        torch.Tensor.normal_,
        torch.Tensor.uniform_,
    )

    def __torch_function__(
        self, func: Any, types: Any, args: tuple[Any, ...] = (), kwargs: Any = None
    ) -> Any:
        """Do what a function of torch does, unless it draws."""
        kwargs = kwargs or {}
        if func in self.draws and kwargs.get("generator") is None:
            return args[0] if args else kwargs["tensor"]
        return func(*args, **kwargs)


def initialize(model: nn.Module, *, init: str, seed: int) -> None:
    """Set the initial weights of a model and seed its dropout, in place; no global generator moves.

    init: "normal", N(0, 0.02²); "xavier", Xavier uniform; "scaled", Xavier uniform with the output
    matrix of each residual sublayer divided by the square root of the number of residual sublayers
    of its stack (2 per encoder layer, 3 per decoder layer).

    It is the rule of linear and convolution weights. Whatever it is: biases are 0, embeddings
    N(0, 0.02²), the maps from data to the model's width (`InputLinear`) Xavier uniform, the linear
    paths of covariates and windows 0; norms and temperatures keep the values they are built with.

    NOTE[DIFF]: the BF16 recipe scales by 1/√(4·n_layers), for four residual sublayers in a layer of
    another architecture; here the sublayers are counted.

    References: Glorot and Bengio (2010); Radford et al. (2019), Language Models are Unsupervised
    Multitask Learners.
    """
    if any(weight.is_meta for weight in model.parameters()):
        return  # shapes alone: torch imports its compiler to draw what holds no numbers
    generator = make_generator(seed)
    xavier = partial(nn.init.xavier_uniform_, generator=generator)
    normal = partial(nn.init.normal_, std=0.02, generator=generator)
    draws = {"normal": normal, "xavier": xavier, "scaled": xavier}
    for module in model.modules():
        if isinstance(module, KnownFuturePath | WindowPath):
            module.reset_parameters()
        elif isinstance(module, nn.Embedding):
            normal(module.weight)
        elif isinstance(module, nn.Linear | nn.Conv1d):
            draw = xavier if isinstance(module, InputLinear) else draws[init]
            draw(module.weight)
            if module.bias is not None:
                nn.init.zeros_(module.bias)
    if init == "scaled":
        _scale_residual_outputs(model)
    reseed(model, seed)


@torch.no_grad()
def _scale_residual_outputs(model: nn.Module) -> None:
    for stack in model.modules():
        if not isinstance(stack, Stack):
            continue
        modules = list(stack.modules())
        n_sublayers = sum(isinstance(module, Residual) for module in modules)
        for module in modules:
            if isinstance(module, ResidualOutput):
                module.weight /= n_sublayers**0.5
