"""Optimisers of torch without its compiler, and without waits for a device."""

import math
from collections import defaultdict
from collections.abc import Iterable
from inspect import unwrap
from typing import Any, TypeAlias

import torch
from torch import Tensor, no_grad
from torch.optim import AdamW, Muon, Optimizer

#: Parameters and their options, as `Optimizer.param_groups` lists them.
ParamGroup: TypeAlias = dict[str, Any]


class BareOptimizer(Optimizer):
    """What both have in common.

    `found_inf` is a float tensor on the parameters' device: where it is 1 steps change nothing, as
    in torch's own fused optimisers. None stands for 0.
    """

    # PERF: torch wraps these so that its compiler leaves them alone, and the first call of one
    # imports the compiler: 800 modules, 2 s. Nothing here is ever compiled.
    add_param_group = unwrap(Optimizer.add_param_group)
    state_dict = unwrap(Optimizer.state_dict)
    load_state_dict = unwrap(Optimizer.load_state_dict)

    found_inf: Tensor | None = None


class BareAdamW(BareOptimizer, AdamW):
    """Steps as `torch.optim.AdamW` does, without gradients: not ``differentiable``."""

    step: Any = no_grad()(unwrap(AdamW.step))


class BareMuon(BareOptimizer, Muon):
    """Steps as `torch.optim.Muon` without an ``adjust_lr_fn``, matrices of one shape together.

    PERF: torch orthogonalises one matrix after the other, some 400 kernels of microseconds on a
    GPU. On a CPU (18 matrices, 2 threads) batches take 1.5 instead of 6.6 ms at width 32, 7.5
    instead of 14 at 128, and nothing less from 256 on.
    """

    @no_grad()
    def step(self, closure: Any = None) -> None:  # type: ignore[override]  # noqa: ARG002
        """Step all matrices that have a gradient; a closure is not called."""
        for group in self.param_groups:
            for matrices in _by_shape(group["params"]):
                self._step_batch(matrices, group)

    def _step_batch(self, matrices: list[Any], group: ParamGroup) -> None:
        """Step matrices of one shape together."""
        buffers = [self._momentum_buffer(matrix) for matrix in matrices]
        weights = torch.stack(matrices)
        old_mean = torch.stack(buffers)
        gradients = torch.stack([matrix.grad for matrix in matrices])

        momentum = group["momentum"]
        mean = old_mean.lerp(gradients, 1 - momentum)
        update = mean
        if group["nesterov"]:
            update = gradients.lerp(mean, momentum)
        direction = _orthogonalise(update, group).to(weights)
        stepped = _stepped(weights, direction, group)

        self._write(stepped, unless_held_back=weights, into=matrices)
        self._write(mean, unless_held_back=old_mean, into=buffers)

    def _write(
        self, new: Tensor, *, unless_held_back: Tensor, into: list[Tensor]
    ) -> None:
        """Copy new values, or the old ones where `found_inf` is 1, into tensors of their own."""
        if self.found_inf is not None:
            new = torch.where(self.found_inf.bool(), unless_held_back, new)
        torch._foreach_copy_(into, new.unbind())

    def _momentum_buffer(self, matrix: Tensor) -> Tensor:
        """Return the running mean of a matrix's gradients; zeros at first."""
        state = self.state[matrix]
        if "momentum_buffer" not in state:
            state["momentum_buffer"] = torch.zeros_like(matrix)
        return state["momentum_buffer"]


def _stepped(weights: Tensor, direction: Tensor, group: ParamGroup) -> Tensor:
    """Return decayed weights, (n, n_rows, n_columns), moved against orthogonal directions."""
    n_rows, n_columns = weights.shape[1:]
    learning_rate = group["lr"]
    length = learning_rate * math.sqrt(max(1, n_rows / n_columns))
    decay = learning_rate * group["weight_decay"]
    return weights * (1 - decay) - direction * length


def _orthogonalise(matrices: Tensor, group: ParamGroup) -> Tensor:
    """Bring the singular values of matrices, (n, n_rows, n_columns), near 1; bfloat16.

    Newton-Schulz iterations ``X ← a X + (b G + c G²) X`` with ``G = X Xᵀ``, from X of unit norm, as
    `torch.optim.Muon` has them.
    """
    a, b, c = group["ns_coefficients"]
    n_rows, n_columns = matrices.shape[-2:]
    is_tall = n_rows > n_columns
    x = matrices.bfloat16()
    if is_tall:
        x = x.mT
    norm = x.norm(dim=(-2, -1), keepdim=True)
    x = x / norm.clamp(min=group["eps"])
    for _ in range(group["ns_steps"]):
        gram = x @ x.mT
        gram = torch.baddbmm(gram, gram, gram, beta=b, alpha=c)
        x = torch.baddbmm(x, gram, x, beta=a)
    return x.mT if is_tall else x


def _by_shape(parameters: Iterable[Tensor]) -> Iterable[list[Tensor]]:
    """Group the parameters that have a gradient by their shape, in order."""
    groups = defaultdict(list)
    for parameter in parameters:
        if parameter.grad is not None:
            groups[parameter.shape].append(parameter)
    return groups.values()
