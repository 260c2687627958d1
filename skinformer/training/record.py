"""What a fit is told and what it reports."""

from dataclasses import dataclass, field
from typing import NamedTuple

from skinformer.training.losses import Loss


@dataclass(frozen=True, kw_only=True)
class TrainerSettings:
    """How to train; every value is resolved, none is "auto".

    Attributes
    ----------
    max_iter : int >= 1
        Epochs at most.
    n_iter_no_change : int >= 1
        Epochs without an improvement after which the fit stops; needs validation batches.
    tol : float >= 0
        An improvement is a validation loss that is lower than the best so far by more than this.
    learning_rate, muon_learning_rate : float > 0
        Peak rates of AdamW and of Muon.
    weight_decay : float >= 0
        See `make_optimizers`.
    optimizer : {"adamw", "muon"}
        "adamw" for all parameters, or "muon" for those of the group "matrix".
    schedule : {"cosine", "linear", "constant", "noam"}
        See `learning_rate_multiplier`.
    warmup_fraction : float in [0, 1]
        Share of the steps with a rising learning rate; 2000 steps at most.
    max_grad_norm : float > 0 or None
        Bound of the gradients' global norm; None turns clipping off.
    accumulate : int >= 1
        Batches that share one optimiser step.
    precision : {"fp32", "bf16", "fp16"}
        See `check_precision`.
    loss : {"mse", "mae", "huber"} or callable
        See `as_loss`.

    Examples
    --------
    >>> settings = TrainerSettings(
    ...     max_iter=50, n_iter_no_change=5, tol=1e-4, learning_rate=1e-3,
    ...     muon_learning_rate=0.02, weight_decay=0.1, optimizer="adamw", schedule="cosine",
    ...     warmup_fraction=0.05, max_grad_norm=1.0, accumulate=1, precision="fp32", loss="mse")
    >>> settings.schedule
    'cosine'
    """

    max_iter: int
    n_iter_no_change: int
    tol: float
    learning_rate: float
    muon_learning_rate: float
    weight_decay: float
    optimizer: str
    schedule: str
    warmup_fraction: float
    max_grad_norm: float | None
    accumulate: int
    precision: str
    loss: str | Loss


class EpochRow(NamedTuple):
    """One epoch.

    Attributes
    ----------
    epoch : int
        1 for the first.
    loss : float
        Weighted mean over the present training values, in the order and with the weights of the
        epoch's own steps.
    validation_loss : float
        The same over the validation batches after the epoch; NaN without them.
    learning_rate : float
        AdamW's (Muon's where nothing is left to AdamW), at the epoch's last step.
    gradient_norm : float
        Mean over the steps, before clipping, of those that are finite; NaN if none is.
    seconds : float
        Wall time of training and validation.

    Examples
    --------
    >>> EpochRow(1, 0.9, 0.8, 1e-3, 0.5, 2.0).validation_loss
    0.8
    """

    epoch: int
    loss: float
    validation_loss: float
    learning_rate: float
    gradient_norm: float
    seconds: float


@dataclass(kw_only=True)
class TrainingRecord:
    """The course of a fit.

    Attributes
    ----------
    rows : list of EpochRow
        One per finished epoch.
    best_iter : int
        Epoch whose weights the module now has; 0 for those it came with.
    best_loss : float
        Validation loss of that epoch (training loss without validation); infinite before the
        first epoch.
    stopped : {"", "converged", "max_iter", "callback", "interrupted"}
        Why the fit ended; "" while it goes on.

    Examples
    --------
    >>> TrainingRecord(rows=[EpochRow(1, 0.9, 0.8, 1e-3, 0.5, 2.0)]).n_iter
    1
    """

    rows: list[EpochRow] = field(default_factory=list)
    best_iter: int = 0
    best_loss: float = float("inf")
    stopped: str = ""

    @property
    def n_iter(self) -> int:
        """Number of finished epochs."""
        return len(self.rows)
