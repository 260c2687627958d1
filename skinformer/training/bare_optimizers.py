"""Optimisers of torch without its compiler, whose import takes longer than a small fit."""

from inspect import unwrap
from typing import Any

from torch import no_grad
from torch.optim import AdamW, Muon, Optimizer


class _Bare(Optimizer):
    # PERF: torch wraps these so that its compiler leaves them alone, and the first call of one
    # imports the compiler: 800 modules, 2 s. Nothing here is ever compiled.
    add_param_group = unwrap(Optimizer.add_param_group)
    state_dict = unwrap(Optimizer.state_dict)
    load_state_dict = unwrap(Optimizer.load_state_dict)
    zero_grad = unwrap(Optimizer.zero_grad)


class BareAdamW(_Bare, AdamW):
    """Steps as `torch.optim.AdamW` does, without gradients: not ``differentiable``."""

    step: Any = no_grad()(unwrap(AdamW.step))


class BareMuon(_Bare, Muon):
    """Steps as `torch.optim.Muon` does."""

    step: Any = no_grad()(unwrap(Muon.step))
