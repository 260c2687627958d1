"""Optimisers of torch without its compiler, whose import takes longer than a small fit."""

from inspect import unwrap
from typing import Any

from torch import no_grad
from torch.optim import AdamW, Muon, Optimizer

__all__ = ["BareAdamW", "BareMuon"]


class _Bare(Optimizer):
    # PERF: torch wraps these so that its compiler leaves them alone, and the first call of one
    # imports the compiler: 800 modules, 2 s. Nothing here is ever compiled.
    add_param_group = unwrap(Optimizer.add_param_group)
    state_dict = unwrap(Optimizer.state_dict)
    load_state_dict = unwrap(Optimizer.load_state_dict)
    zero_grad = unwrap(Optimizer.zero_grad)


class BareAdamW(_Bare, AdamW):
    """
    AdamW; parameters, attributes and results are those of `torch.optim.AdamW`.

    It steps without gradients: not ``differentiable``.

    Examples
    --------
    >>> import torch
    >>> p = torch.nn.Parameter(torch.tensor([1.0]))
    >>> p.grad = torch.tensor([8.0])
    >>> BareAdamW([p], lr=0.5, weight_decay=0.0).step()
    >>> p.data
    tensor([0.5000])
    """

    step: Any = no_grad()(unwrap(AdamW.step))


class BareMuon(_Bare, Muon):
    """
    Muon; parameters, attributes and results are those of `torch.optim.Muon`.

    Examples
    --------
    >>> import torch
    >>> p = torch.nn.Parameter(torch.eye(2))
    >>> p.grad = torch.eye(2)
    >>> BareMuon([p], lr=0.5, weight_decay=0.0).step()
    >>> bool((p < 1).diagonal().all())
    True
    """

    step: Any = no_grad()(unwrap(Muon.step))
