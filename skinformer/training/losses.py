"""Losses: one error per target value, and their weighted mean.

A loss is a function ``(output, target) -> errors`` with one error per target value; the trainer
takes their mean over the values that are present. All of it is float32.
"""

from collections.abc import Callable, Sequence

import torch
from torch import Tensor
from torch.nn import functional

Loss = Callable[[Tensor, Tensor], Tensor]


def squared_error(output: Tensor, target: Tensor) -> Tensor:
    """Return ``(output - target)**2``; its mean is minimised by the conditional mean."""
    return (output.float() - target.float()).square()


def absolute_error(output: Tensor, target: Tensor) -> Tensor:
    """Return ``|output - target|``; its mean is minimised by the conditional median."""
    return (output.float() - target.float()).abs()


def huber_error(output: Tensor, target: Tensor) -> Tensor:
    """Return the Huber loss: ``e**2 / 2`` for errors up to 1, then ``|e| - 1 / 2``."""
    return functional.huber_loss(output.float(), target.float(), reduction="none")


def quantile_error(
    output: Tensor, target: Tensor, *, levels: Sequence[float]
) -> Tensor:
    """Return the mean over levels of the quantile (pinball) loss.

    levels: of the output's last axis.

    ``max(tau * (y - q), (tau - 1) * (y - q))``: at level 0.9 a forecast that is too low is nine
    times as bad as one too high. NOTE[DIFF]: the specification prints the branches the other
    way round, so that its level 0.9 learns the 10 % quantile.
    """
    output = output.float()
    # Filled on the device: a copy of numbers from the host would wait for it.
    tau = torch.stack([output.new_full((), level) for level in levels])
    short = target.float().unsqueeze(-1) - output  # (..., n_levels)
    errors = torch.maximum(tau * short, (tau - 1) * short)
    return errors.mean(-1)


def cross_entropy(
    output: Tensor, target: Tensor, *, label_smoothing: float, z_weight: float
) -> Tensor:
    """Return the cross-entropy of logits, (*target.shape, K), with label smoothing and the z-loss.

    label_smoothing: eps, probability taken from the true class and shared equally by the others.
    z_weight: weight of ``logsumexp(logits)**2``, which keeps logits from drifting; 1e-4 is usual.

    ``z_weight * logsumexp**2 - (1 - eps) * log p_true - eps / (K - 1) * sum(log p_other)``.
    torch's own ``label_smoothing`` is another distribution: it spreads ``eps / K`` over all
    classes, the true one included. Never smooth a continuous target.
    """
    logits = output.float()
    n_classes = logits.shape[-1]
    log_probability = torch.log_softmax(logits, -1)
    classes = target.long().unsqueeze(-1)
    true = log_probability.gather(-1, classes).squeeze(-1)
    others = log_probability.sum(-1) - true
    share_of_each = label_smoothing / max(1, n_classes - 1)
    smoothed = (1 - label_smoothing) * true + share_of_each * others
    z_loss = z_weight * torch.logsumexp(logits, -1).square()
    return z_loss - smoothed


LOSSES = {"mse": squared_error, "mae": absolute_error, "huber": huber_error}


def total_weight(target: Tensor, *, weight: Tensor | None) -> Tensor:
    """Return the sum of the weights (None: 1 everywhere), the denominator of a mean."""
    if weight is None:
        n_values = float(target.numel())
        return torch.full((), n_values, device=target.device)
    return weight.sum(dtype=torch.float32)


def weighted_mean(errors: Tensor, *, weight: Tensor | None, total: Tensor) -> Tensor:
    """Return ``sum(weight * errors) / total``, or 0 where nothing is present.

    total: sum of the weights of all batches that share the mean (several with accumulation).
    """
    if weight is not None:
        errors = errors * weight
    return errors.sum() / torch.where(total > 0, total, 1.0)
