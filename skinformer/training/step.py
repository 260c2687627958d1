"""Forward, backward, clip, step: what happens between two values of the parameters."""

import math
from collections.abc import Iterable, Sequence

import torch
from torch import Tensor, nn
from torch.amp import GradScaler

from skinformer.training.bare_optimizers import BareOptimizer
from skinformer.training.batch import Batch, to_device
from skinformer.training.losses import Loss, total_weight, weighted_mean
from skinformer.training.precision import autocast


def accumulate_gradients(
    module: nn.Module,
    batches: Sequence[Batch],
    *,
    loss: Loss,
    precision: str,
    device: torch.device,
    scaler: GradScaler,
) -> tuple[Tensor, Tensor]:
    """Set the gradients to those of the mean loss over the batches of one step.

    Returned are ``sum(weight * error) / sum(weight)`` over all values of all batches, and
    ``sum(weight)``. A batch counts by the values it has: the mean of the batches' own means would
    favour the values of batches where many are missing. Old gradients are dropped; new ones add up
    in the parameters' own type, float32, and only one batch at a time has its activations in
    memory.
    """
    batches = [to_device(batch, device=device) for batch in batches]
    module.zero_grad()
    totals = [total_weight(batch.target, weight=batch.weight) for batch in batches]
    total = torch.stack(totals).sum()
    means = []
    for batch in batches:
        with autocast(precision, device=device):
            output = module(*batch.inputs)
        errors = loss(output, batch.target)
        mean = weighted_mean(errors, weight=batch.weight, total=total)
        torch.autograd.backward(scaler.scale(mean))
        means.append(mean.detach())
    return torch.stack(means).sum(), total


def clip_and_step(
    optimizers: Sequence[BareOptimizer],
    *,
    parameters: Iterable[nn.Parameter],
    max_norm: float | None,
    scaler: GradScaler,
) -> Tensor:
    """Unscale, clip, and step if all gradients are finite; return the norm before clipping.

    Nothing is read from the device.
    """
    for optimizer in optimizers:
        scaler.unscale_(optimizer)
    bound = math.inf if max_norm is None else max_norm
    norm = nn.utils.clip_grad_norm_(parameters, bound)
    # Not scaler.step: it asks each optimiser by itself, and one whose gradients did not overflow
    # would step where another is held back. Nor a branch: it would wait for the device.
    overflow = (~torch.isfinite(norm)).float()
    for optimizer in optimizers:
        optimizer.found_inf = overflow
        optimizer.step()
    scaler.update()
    return norm


@torch.no_grad()
def mean_loss(
    module: nn.Module,
    batches: Iterable[Batch],
    *,
    loss: Loss,
    precision: str,
    device: torch.device,
) -> float:
    """Return the weighted mean loss over all values of some batches; an error if there are none."""
    sums = []
    for own_batch in batches:
        batch = to_device(own_batch, device=device)
        with autocast(precision, device=device):
            output = module(*batch.inputs)
        total = total_weight(batch.target, weight=batch.weight)
        errors = loss(output, batch.target)
        mean = weighted_mean(errors, weight=batch.weight, total=total)
        sums.append(torch.stack((mean * total, total)))
    sum_of_all = torch.stack(sums).double().sum(0)
    error, present = sum_of_all.tolist()  # the only read
    if not present:
        raise ValueError(
            "the validation batches hold no target value: all are missing."
        )
    return error / present
