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
    """Return ``(output - target)**2``; its mean is minimised by the conditional mean.

    Parameters
    ----------
    output : Tensor of shape (batch, pred_len, n_targets)
        Forecasts, in standard deviations of the target.
    target : Tensor of shape (batch, pred_len, n_targets)
        True values.

    Returns
    -------
    Tensor of shape (batch, pred_len, n_targets)
        Errors, float32.

    Examples
    --------
    >>> squared_error(torch.tensor([1.0, 2.0]), torch.tensor([1.0, 4.0]))
    tensor([0., 4.])
    """
    return (output.float() - target.float()).square()


def absolute_error(output: Tensor, target: Tensor) -> Tensor:
    """Return ``|output - target|``; its mean is minimised by the conditional median.

    Parameters
    ----------
    output : Tensor of shape (batch, pred_len, n_targets)
        Forecasts, in standard deviations of the target.
    target : Tensor of shape (batch, pred_len, n_targets)
        True values.

    Returns
    -------
    Tensor of shape (batch, pred_len, n_targets)
        Errors, float32.

    Examples
    --------
    >>> absolute_error(torch.tensor([1.0, 2.0]), torch.tensor([1.0, 4.0]))
    tensor([0., 2.])
    """
    return (output.float() - target.float()).abs()


def huber_error(*, delta: float) -> Loss:
    """Build the Huber loss: squared near 0, straight beyond `delta`.

    Parameters
    ----------
    delta : float > 0
        Where the parabola ends, in standard deviations of the target.

    Returns
    -------
    Loss
        ``e**2 / 2`` if ``|e| <= delta``, else ``delta * (|e| - delta / 2)``.

    Examples
    --------
    >>> huber_error(delta=1.0)(torch.tensor([1.0, 4.0]), torch.zeros(2))
    tensor([0.5000, 3.5000])
    """

    def _errors(output: Tensor, target: Tensor) -> Tensor:
        return functional.huber_loss(output.float(), target.float(), reduction="none", delta=delta)

    return _errors


def quantile_error(*, levels: Sequence[float]) -> Loss:
    """Build the quantile (pinball) loss of several levels at once.

    Parameters
    ----------
    levels : sequence of float in (0, 1)
        Quantile levels, in the order of the output's last axis.

    Returns
    -------
    Loss
        Takes `output` of shape ``(*target.shape, n_levels)``; gives the mean over the levels of
        ``max(tau * (y - q), (tau - 1) * (y - q))``.

    Notes
    -----
    NOTE[DIFF]: the time-series chapter prints the branches the other way round, so that its
    level 0.9 learns the 10 % quantile.

    Examples
    --------
    A forecast that is too low is nine times as bad as one too high, at level 0.9:

    >>> loss = quantile_error(levels=[0.9])
    >>> loss(torch.tensor([[0.0], [2.0]]), torch.tensor([1.0, 1.0]))
    tensor([0.9000, 0.1000])
    """
    fixed = tuple(levels)

    def _errors(output: Tensor, target: Tensor) -> Tensor:
        tau = torch.tensor(fixed, dtype=torch.float32, device=output.device)
        short = target.float().unsqueeze(-1) - output.float()  # (..., n_levels)
        return torch.maximum(tau * short, (tau - 1) * short).mean(-1)

    return _errors


def level_error(*, level: float) -> Loss:
    """Build the quantile loss of one level, for an output of the target's shape.

    Parameters
    ----------
    level : float in (0, 1)
        Share of the truth that shall lie below the forecast.

    Returns
    -------
    Loss
        `quantile_error` without the axis of levels.

    Examples
    --------
    >>> level_error(level=0.9)(torch.tensor([0.0, 2.0]), torch.tensor([1.0, 1.0]))
    tensor([0.9000, 0.1000])
    """
    errors = quantile_error(levels=[level])
    return lambda output, target: errors(output.unsqueeze(-1), target)


def cross_entropy(*, label_smoothing: float, z_weight: float) -> Loss:
    """Build the cross-entropy of classes, with label smoothing and the z-loss.

    Parameters
    ----------
    label_smoothing : float in [0, 1)
        Probability taken from the true class and shared equally by the ``K - 1`` others.
    z_weight : float >= 0
        Weight of ``logsumexp(logits)**2``, which keeps the logits from drifting; 1e-4 is usual.

    Returns
    -------
    Loss
        Takes `output` (logits) of shape ``(*target.shape, K)`` and integer class numbers.

    Notes
    -----
    ``z_weight * logsumexp**2 - (1 - eps) * log p_true - eps / (K - 1) * sum(log p_other)``.
    torch's own ``label_smoothing`` is another distribution: it spreads ``eps / K`` over all
    classes, the true one included. Never smooth a continuous target.

    Examples
    --------
    >>> loss = cross_entropy(label_smoothing=0.0, z_weight=0.0)
    >>> loss(torch.zeros(2, 4), torch.tensor([0, 3]))
    tensor([1.3863, 1.3863])
    """

    def _errors(output: Tensor, target: Tensor) -> Tensor:
        logits = output.float()
        n_classes = logits.shape[-1]
        log_probability = torch.log_softmax(logits, -1)
        true = log_probability.gather(-1, target.long().unsqueeze(-1)).squeeze(-1)
        others = log_probability.sum(-1) - true
        smoothed = (1 - label_smoothing) * true + label_smoothing / max(1, n_classes - 1) * others
        return z_weight * torch.logsumexp(logits, -1).square() - smoothed

    return _errors


LOSSES: dict[str, Loss] = {
    "mse": squared_error,
    "mae": absolute_error,
    "huber": huber_error(delta=1.0),
}


def as_loss(loss: str | Loss) -> Loss:
    """Return the loss function of a name; a function is returned as it is.

    Parameters
    ----------
    loss : {"mse", "mae", "huber"} or callable
        "huber" bends at one standard deviation.

    Returns
    -------
    Loss
        The function.

    Raises
    ------
    ValueError
        If the name is unknown.

    Examples
    --------
    >>> as_loss("mae").__name__
    'absolute_error'
    """
    if callable(loss):
        return loss
    if loss not in LOSSES:
        raise ValueError(f"loss={loss!r}: must be one of {', '.join(LOSSES)}.")
    return LOSSES[loss]


def total_weight(target: Tensor, *, weight: Tensor | None) -> Tensor:
    """Return the sum of the weights of a batch: the denominator of its mean.

    Parameters
    ----------
    target : Tensor
        True values; gives the number of values and the device.
    weight : Tensor of the target's shape or None
        0 where missing; None means 1 everywhere.

    Returns
    -------
    Tensor of shape ()
        Float32.

    Examples
    --------
    >>> total_weight(torch.zeros(2, 3, 1), weight=None)
    tensor(6.)
    """
    if weight is None:
        return torch.full((), float(target.numel()), device=target.device)
    return weight.sum(dtype=torch.float32)


def weighted_mean(errors: Tensor, *, weight: Tensor | None, total: Tensor) -> Tensor:
    """Return ``sum(weight * errors) / total``, or 0 where nothing is present.

    Parameters
    ----------
    errors : Tensor
        From a loss.
    weight : Tensor of the same shape or None
        0 where the target is missing; None means 1 everywhere.
    total : Tensor of shape ()
        Sum of the weights of all batches that share the mean (more than one with accumulation).

    Returns
    -------
    Tensor of shape ()
        Float32.

    Examples
    --------
    >>> weight = torch.tensor([1.0, 0.0, 3.0])
    >>> weighted_mean(torch.tensor([4.0, 100.0, 8.0]), weight=weight, total=weight.sum())
    tensor(7.)
    """
    if weight is not None:
        errors = errors * weight
    return errors.sum() / torch.where(total > 0, total, 1.0)
