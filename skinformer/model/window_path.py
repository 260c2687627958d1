"""The path from a window to the steps ahead beside the network: linear, and trained."""

import torch
from torch import Tensor, nn


class WindowPath(nn.Linear):
    """Forecast each target by its own window: the last value, and a linear map of distances to it.

    A step ahead that looks like one of yesterday's is a linear function of the window. Attention
    has to find this through the phases of tokens; here it is there from the first step of training
    on, and what is left is the network's (notes/decisions.md).

    seq_len, pred_len: steps of the window and of the forecast, at least 1.

    ``ŷ = x_L + W (x − x_L) + b``, one W for all targets, 0 at the start;
    O(pred_len · seq_len · n_targets).

    **Shape**: input ``(batch, seq_len, n_targets)``, output ``(batch, pred_len, n_targets)``,
    float32.

    NOTE[DIFF]: the paper has no path of the window; a hybrid model has one beside the network.
    `LinearPath` is the one that is fitted in closed form, which the network then corrects.

    Zhang (2003), Time Series Forecasting Using a Hybrid ARIMA and Neural Network Model.
    >>> WindowPath(seq_len=3, pred_len=2)(torch.tensor([[[1.0], [2.0], [4.0]]])).flatten().tolist()
    [4.0, 4.0]
    """

    def __init__(self, *, seq_len: int, pred_len: int) -> None:
        super().__init__(seq_len, pred_len)

    def reset_parameters(self) -> None:
        """Set the weights to zero."""
        nn.init.zeros_(self.weight)
        nn.init.zeros_(self.bias)

    def forward(self, past: Tensor) -> Tensor:
        """Forecast from values of the targets, (batch, seq_len, n_targets)."""
        # In float32 also under autocast, as the last value is the level of all steps.
        with torch.autocast(past.device.type, enabled=False):
            last = past[:, -1:].float()
            distance = (past - last).transpose(1, 2)  # (batch, n_targets, seq_len)
            change = super().forward(distance)
            return change.transpose(1, 2) + last
