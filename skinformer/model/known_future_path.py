"""The path of columns known ahead beside the network: linear, and trained."""

import torch
from torch import Tensor, nn


class KnownFuturePath(nn.Linear):
    """Add to each forecast step a linear function of that step's known covariates.

    For effects such as a price or a holiday that act on the level of the series at once: the
    path is added after the window normalisation is undone, so a covariate's effect is not
    multiplied by the deviation of the window. It is no substitute for the transformer's own
    use of the covariates, which see non-linear effects.

    n_known, n_targets: numbers of columns known ahead, at least 1, and of targets.

    `weight`, (n_targets, n_known), is the effect of one standardised unit of each covariate on each
    standardised target. Zero at the start: the untrained path adds no noise to the forecast, and
    since its gradient is the covariate times the error it leaves zero with the first step.

    ``ŷ_t ← ŷ_t + W c_t``, one W for all steps, no bias (the projection has one);
    O(pred_len · n_known · n_targets).

    **Shape**: input ``(batch, pred_len, n_known)``, output ``(batch, pred_len, n_targets)``,
    float32.

    NOTE[DIFF]: the paper has no linear path; a hybrid model has one beside the network. This is
    the part of it that is trained; `LinearPath` is the other.

    Zhang (2003), Time Series Forecasting Using a Hybrid ARIMA and Neural Network Model.
    >>> path = KnownFuturePath(n_known=2, n_targets=1)
    >>> path(torch.ones(1, 3, 2)).flatten().tolist()
    [0.0, 0.0, 0.0]
    """

    def __init__(self, *, n_known: int, n_targets: int) -> None:
        super().__init__(n_known, n_targets, bias=False)

    def reset_parameters(self) -> None:
        """Set the weights to zero."""
        nn.init.zeros_(self.weight)

    def forward(self, known: Tensor) -> Tensor:
        """Return the effect of known covariates, (batch, pred_len, n_known), on targets."""
        # In float32 also under autocast: bf16 keeps three digits of a covariate.
        with torch.autocast(known.device.type, enabled=False):
            return super().forward(known.float())
