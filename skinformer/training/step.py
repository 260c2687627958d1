"""Forward, backward, clip, step: what happens between two values of the parameters."""

from collections.abc import Iterable, Sequence

import torch
from torch import Tensor, nn
from torch.amp import GradScaler
from torch.optim import Optimizer

from skinformer import ranks
from skinformer.training.batch import Batch, to_device
from skinformer.training.losses import Loss, total_weight, weighted_mean
from skinformer.training.optimizers import clip_gradients, step_if_finite
from skinformer.training.parallel import add_up_gradients, own_windows
from skinformer.training.precision import autocast


def accumulate_gradients(
    module: nn.Module,
    batches: Sequence[Batch],
    *,
    loss: Loss,
    precision: str,
    device: torch.device,
    scaler: GradScaler | None,
) -> tuple[Tensor, Tensor]:
    """Set the gradients to those of the mean loss over several batches.

    Parameters
    ----------
    module : Module
        The module; its old gradients are dropped.
    batches : sequence of Batch
        Batches of one step. Only one at a time has its activations in memory. Ranks that share
        the fit work on a part of each.
    loss : Loss
        One error per target value.
    precision : {"fp32", "bf16", "fp16"}
        See `autocast`.
    device : torch.device
        Where the module lives.
    scaler : GradScaler or None
        Scales the gradients in "fp16".

    Returns
    -------
    mean : Tensor of shape ()
        ``sum(weight * error) / sum(weight)`` over all values of all batches, float32.
    total : Tensor of shape ()
        ``sum(weight)``.

    Notes
    -----
    A batch counts by the values it has. The mean of the batches' own means would favour the values
    of batches where many are missing; their sum would grow with the number of batches. Gradients
    add up in the parameters' own type, float32.

    Examples
    --------
    >>> from skinformer.training.losses import squared_error
    >>> module = nn.Linear(1, 1, bias=False)
    >>> _ = nn.init.zeros_(module.weight)
    >>> one, three = torch.ones(1, 1, 1), torch.ones(3, 1, 1)
    >>> batches = [Batch((one,), one, None), Batch((three,), 3 * three, None)]
    >>> mean, total = accumulate_gradients(module, batches, loss=squared_error, precision="fp32",
    ...                                    device=torch.device("cpu"), scaler=None)
    >>> float(mean), float(total), float(module.weight.grad)
    (7.0, 4.0, -5.0)
    """
    batches = [to_device(batch, device=device) for batch in batches]
    for parameter in module.parameters():
        parameter.grad = None
    total = torch.stack([total_weight(b.target, weight=b.weight) for b in batches]).sum()
    means = []
    for batch in batches:
        with own_windows(module, batch) as own:
            with autocast(precision, device=device):
                output = module(*own.inputs)
            mean = weighted_mean(loss(output, own.target), weight=own.weight, total=total)
            scaled = mean if scaler is None else scaler.scale(mean)
            torch.autograd.backward(scaled)
        means.append(mean.detach())
    return add_up_gradients(module, torch.stack(means).sum()), total


def clip_and_step(
    optimizers: Sequence[Optimizer],
    *,
    parameters: Iterable[nn.Parameter],
    max_norm: float | None,
    scaler: GradScaler | None,
) -> Tensor:
    """Unscale, clip and take one step with all optimisers; none if a gradient is not finite.

    Parameters
    ----------
    optimizers : sequence of Optimizer
        From `make_optimizers`.
    parameters : iterable of Parameter
        All trainable parameters.
    max_norm : float > 0 or None
        See `clip_gradients`.
    scaler : GradScaler or None
        The scaler of `accumulate_gradients`.

    Returns
    -------
    Tensor of shape ()
        Global norm of the unscaled gradients before clipping, float32.

    Examples
    --------
    >>> from skinformer.training.optimizers import make_optimizers
    >>> p = nn.Parameter(torch.tensor([1.0]))
    >>> p.grad = torch.tensor([8.0])
    >>> optimizers = make_optimizers({"matrix": [], "decayed": [], "plain": [p]},
    ...     optimizer="adamw", learning_rate=0.5, muon_learning_rate=0.02, weight_decay=0.1)
    >>> float(clip_and_step(optimizers, parameters=[p], max_norm=1.0, scaler=None))
    8.0
    >>> p.data
    tensor([0.5000])
    """
    if scaler is not None:
        for optimizer in optimizers:
            scaler.unscale_(optimizer)
    norm = clip_gradients(parameters, max_norm=max_norm)
    # Not scaler.step: it asks each optimiser by itself, and one whose gradients did not overflow
    # would step where another is held back.
    step_if_finite(optimizers, norm=norm)
    if scaler is not None:
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
    """Return the weighted mean loss over all values of some batches.

    Parameters
    ----------
    module : Module
        In evaluation mode.
    batches : iterable of Batch
        At least one.
    loss : Loss
        One error per target value.
    precision : {"fp32", "bf16", "fp16"}
        See `autocast`.
    device : torch.device
        Where the module lives.

    Returns
    -------
    float
        The mean.

    Raises
    ------
    ValueError
        If the batches hold no value at all.

    Examples
    --------
    >>> from skinformer.training.losses import absolute_error
    >>> batch = Batch((torch.zeros(2, 1, 1),), torch.tensor([[[1.0]], [[3.0]]]), None)
    >>> mean_loss(nn.Identity(), [batch], loss=absolute_error, precision="fp32",
    ...           device=torch.device("cpu"))
    2.0
    """
    sums = []
    for batch in (to_device(batch, device=device) for batch in batches):
        with own_windows(module, batch) as own, autocast(precision, device=device):
            output = module(*own.inputs)
        total = total_weight(own.target, weight=own.weight)
        mean = weighted_mean(loss(output, own.target), weight=own.weight, total=total)
        sums.append(torch.stack((mean * total, total)))
    summed = torch.stack(sums).double().sum(0)
    ranks.add_up([summed])
    error, present = summed.tolist()  # the only read
    if not present:
        raise ValueError("the validation batches hold no target value: all are missing.")
    return float(error / present)
