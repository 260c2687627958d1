"""AdamW, Muon, and a step that is left out when the gradient is not finite."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import torch
from torch import Tensor, nn
from torch.optim import Optimizer

from skinformer.training.bare_optimizers import BareAdamW, BareMuon

BETAS = (0.9, 0.95)
EPS = 1e-8
MUON_MOMENTUM = 0.95
NEWTON_SCHULZ_STEPS = 5
OPTIMIZERS = ("adamw", "muon")
ParameterGroups = Mapping[str, Sequence[nn.Parameter]]


def check_partition(module: nn.Module, *, groups: ParameterGroups) -> None:
    """Check that each trainable parameter of a module is in exactly one group.

    Parameters
    ----------
    module : Module
        The module that is trained.
    groups : mapping of str to sequence of Parameter
        Keys "matrix", "decayed" and "plain".

    Raises
    ------
    ValueError
        If a parameter has no group (it would never be trained) or several (it would be stepped
        twice).

    Examples
    --------
    >>> linear = nn.Linear(2, 2)
    >>> check_partition(linear, groups={"matrix": [linear.weight], "plain": []})
    Traceback (most recent call last):
    ...
    ValueError: each trainable parameter needs exactly one role; wrong counts: bias (0).
    """
    held = [id(p) for group in groups.values() for p in group]
    counts = {name: held.count(id(p)) for name, p in module.named_parameters() if p.requires_grad}
    wrong = [f"{name} ({count})" for name, count in counts.items() if count != 1]
    if wrong:
        raise ValueError(
            f"each trainable parameter needs exactly one role; wrong counts: {', '.join(wrong)}."
        )


def make_optimizers(
    groups: ParameterGroups,
    *,
    optimizer: str,
    learning_rate: float,
    muon_learning_rate: float,
    weight_decay: float,
) -> list[Optimizer]:
    """Build the optimisers of a fit; each group keeps its peak rate as ``initial_lr``.

    Parameters
    ----------
    groups : mapping of str to sequence of Parameter
        "matrix" (attention, feed-forward and gate matrices: Muon), "decayed" (other matrices) and
        "plain" (biases, norms, embeddings, temperatures: never decayed).
    optimizer : {"adamw", "muon"}
        "adamw" steps everything by AdamW; "muon" steps the group "matrix" by Muon.
    learning_rate : float
        Peak learning rate of AdamW.
    muon_learning_rate : float
        Peak learning rate of Muon; without effect with "adamw".
    weight_decay : float
        Decoupled decay: matrices shrink by ``learning_rate * weight_decay`` a step.

    Returns
    -------
    list of Optimizer
        One or two; none of them is empty.

    Raises
    ------
    ValueError
        If `optimizer` is unknown.

    Notes
    -----
    AdamW: ``m = b1 m + (1 - b1) g``, ``v = b2 v + (1 - b2) g**2``, then
    ``theta -= lr * (m / (1 - b1**t) / (sqrt(v / (1 - b2**t)) + eps) + decay * theta)`` with
    ``b1 = 0.9``, ``b2 = 0.95``, ``eps = 1e-8``. NOTE[DIFF]: the transformer notes leave out the
    bias correction; the mathematical note and torch have it.

    NOTE[DIFF]: the training configuration gives Muon no decay of its own. Its learning rate is
    some 70 times AdamW's, so the same factor would decay matrices 70 times faster; Muon gets
    ``weight_decay * learning_rate / muon_learning_rate``, the same shrinkage per step.

    Examples
    --------
    >>> linear = nn.Linear(2, 2)
    >>> groups = {"matrix": [linear.weight], "decayed": [], "plain": [linear.bias]}
    >>> made = make_optimizers(groups, optimizer="muon", learning_rate=3e-4,
    ...                        muon_learning_rate=0.02, weight_decay=0.1)
    >>> [type(optimizer).__name__ for optimizer in made]
    ['BareMuon', 'BareAdamW']
    """
    if optimizer not in OPTIMIZERS:
        raise ValueError(f"optimizer={optimizer!r}: must be one of {', '.join(OPTIMIZERS)}.")
    matrix, decayed, plain = (_trainable(groups[k]) for k in ("matrix", "decayed", "plain"))
    made: list[Optimizer] = []
    # PERF: torch's Muon orthogonalises one matrix after the other. Stacking those of one shape
    # (18 matrices, CPU, 2 threads) would take 1.5 instead of 6.6 ms at width 32, 2.5 instead of
    # 7.6 at 64, 7.5 instead of 14 at 128, and nothing less from 256 on: under 10 % of a step from
    # width 64 on, more only for models so small that they train in seconds.
    if optimizer == "adamw":
        decayed = matrix + decayed
    elif matrix:
        made.append(
            BareMuon(
                matrix,
                lr=muon_learning_rate,
                weight_decay=weight_decay * learning_rate / muon_learning_rate,
                momentum=MUON_MOMENTUM,
                ns_steps=NEWTON_SCHULZ_STEPS,
            )
        )
    param_groups: list[dict[str, Any]] = [
        {"params": params, "weight_decay": decay}
        for params, decay in ((decayed, weight_decay), (plain, 0.0))
        if params
    ]
    if param_groups:
        fused = _can_fuse([p for group in param_groups for p in group["params"]])
        made.append(BareAdamW(param_groups, lr=learning_rate, betas=BETAS, eps=EPS, fused=fused))
    for group in _groups(made):
        group["initial_lr"] = group["lr"]
    return made


def set_learning_rates(optimizers: Iterable[Optimizer], *, multiplier: float) -> None:
    """Set every group to `multiplier` times its peak learning rate.

    Parameters
    ----------
    optimizers : iterable of Optimizer
        From `make_optimizers`.
    multiplier : float in [0, 1]
        From `learning_rate_multiplier`.

    Examples
    --------
    >>> optimizer = BareAdamW([{"params": [nn.Parameter(torch.ones(1))], "initial_lr": 0.01}])
    >>> set_learning_rates([optimizer], multiplier=0.5)
    >>> optimizer.param_groups[0]["lr"]
    0.005
    """
    for group in _groups(optimizers):
        group["lr"] = group["initial_lr"] * multiplier


def clip_gradients(parameters: Iterable[nn.Parameter], *, max_norm: float | None) -> Tensor:
    """Clip the gradients to a global norm and return the norm before clipping.

    Parameters
    ----------
    parameters : iterable of Parameter
        Their gradients, float32, already unscaled, are changed in place.
    max_norm : float or None
        Upper bound of the norm; None only measures.

    Returns
    -------
    Tensor of shape ()
        Euclidean norm of all gradients together; not finite if one of them is not.

    Notes
    -----
    ``g *= min(1, max_norm / (norm + 1e-6))``; the 1e-6 is torch's, the note has none.

    Examples
    --------
    >>> p = nn.Parameter(torch.zeros(2))
    >>> p.grad = torch.tensor([3.0, 4.0])
    >>> float(clip_gradients([p], max_norm=1.0))
    5.0
    >>> p.grad
    tensor([0.6000, 0.8000])
    """
    if max_norm is None:
        return nn.utils.get_total_norm([p.grad for p in parameters if p.grad is not None])
    # PERF: error_if_nonfinite=True would make the host read the norm in every step.
    return nn.utils.clip_grad_norm_(parameters, max_norm, error_if_nonfinite=False)


def step_if_finite(optimizers: Iterable[Optimizer], *, norm: Tensor) -> None:
    """Take one step with each optimiser, or none if the gradient norm is not finite.

    Parameters
    ----------
    optimizers : iterable of Optimizer
        From `make_optimizers`.
    norm : Tensor of shape ()
        From `clip_gradients`.

    Notes
    -----
    A skipped step leaves the parameters, the moments and the step counts as they were.

    Examples
    --------
    >>> p = nn.Parameter(torch.ones(1))
    >>> p.grad = torch.tensor([float("nan")])
    >>> step_if_finite([BareAdamW([p])], norm=torch.tensor(float("nan")))
    >>> p.data
    tensor([1.])
    """
    if reading_is_free(norm.device):
        if bool(torch.isfinite(norm)):
            for optimizer in optimizers:
                optimizer.step()
        return
    for optimizer in optimizers:
        step_without_reading(optimizer, norm=norm)


def reading_is_free(device: torch.device) -> bool:
    """Return whether a tensor's value can be read at once.

    Parameters
    ----------
    device : torch.device
        Where the tensor lives.

    Returns
    -------
    bool
        False on CUDA, where a read waits until all that is queued has been computed.

    Examples
    --------
    >>> reading_is_free(torch.device("cpu"))
    True
    """
    return device.type != "cuda"


def step_without_reading(optimizer: Optimizer, *, norm: Tensor) -> None:
    """Take one step or none without waiting for the device to know the norm.

    Parameters
    ----------
    optimizer : Optimizer
        Fused AdamW or Muon.
    norm : Tensor of shape ()
        From `clip_gradients`.

    Examples
    --------
    >>> p = nn.Parameter(torch.ones(1))
    >>> p.grad = torch.tensor([float("nan")])
    >>> step_without_reading(BareAdamW([p], fused=True), norm=torch.tensor(float("nan")))
    >>> p.data
    tensor([1.])
    """
    skip = ~torch.isfinite(norm)
    # PERF: the fused kernels leave parameters, moments and step counts alone where `found_inf`
    # is 1 - what torch.amp.GradScaler hands them; it costs nothing.
    if getattr(optimizer, "_step_supports_amp_scaling", False):
        optimizer.found_inf = skip.float()  # type: ignore[attr-defined]
        optimizer.step()
        del optimizer.found_inf  # type: ignore[attr-defined]
        return
    # Muon knows no such flag: step, then put the old values back on the device.
    params = [p for group in optimizer.param_groups for p in group["params"]]
    before = [p.detach().clone() for p in params]
    momenta = [[t.clone() for t in optimizer.state[p].values()] for p in params]
    for p in params:
        if p.grad is not None:
            p.grad = torch.where(skip, 0.0, p.grad)
    optimizer.step()
    with torch.no_grad():
        for p, old, old_momenta in zip(params, before, momenta, strict=True):
            p.copy_(torch.where(skip, old, p))
            for t, old_t in zip(optimizer.state[p].values(), old_momenta, strict=False):
                t.copy_(torch.where(skip, old_t, t))


def _trainable(parameters: Sequence[nn.Parameter]) -> list[nn.Parameter]:
    return [p for p in parameters if p.requires_grad]


def _groups(optimizers: Iterable[Optimizer]) -> list[dict[str, Any]]:
    return [group for optimizer in optimizers for group in optimizer.param_groups]


def _can_fuse(parameters: Sequence[nn.Parameter]) -> bool | None:
    # PERF: a step over 42 parameters of width 64 takes 0.4 ms fused, 1.4 ms with foreach and
    # 1.8 ms in a loop (CPU, 2 threads); at width 512 5.7, 25 and 15 ms. Bit-identical from call
    # to call and for 1 and 2 threads, and within 1e-7 of the loop after 150 steps.
    return True if all(p.device.type in {"cpu", "cuda"} for p in parameters) else None
