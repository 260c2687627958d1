"""A forecast found in closed form, and a network that corrects it."""

from typing import Any

import torch
from torch import Tensor, nn

from skinformer.model.informer import Informer
from skinformer.model.outputs import match_axes


def correct(
    network: Informer,
    found: Tensor,
    past: Tensor,
    future: Tensor,
    *times: Tensor | None,
) -> Tensor:
    """Add a network's correction to a forecast, (batch, pred_len, n_targets), that it sees.

    The other arguments, and what comes back, are those of `Informer`.
    """
    if network.layout.reads_forecast:
        others = future[..., found.shape[-1] :]
        future = torch.cat([found.to(future.dtype), others], dim=-1)
    correction = network(past, future, *times)
    return match_axes(found, correction) + correction


class Corrected(nn.Module):
    """Add a network's correction to a path's forecast.

    For the hybrid default; without a path the network forecasts alone. How much the correction
    counts is a matter of the ensemble's weights.

    path: what is corrected; it has no parameters to train.
    network: built with ``forecasts_distance=True``, so that it corrects nothing before it is
    trained, and mostly with ``reads_forecast=True``, so that it sees what it corrects.

    ``ŷ = path(x) + network(x, path(x))``: the decoder sees, in place of masked targets, what is
    corrected, so that a bound that ridges do not know can be learnt.

    NOTE[DIFF]: the paper masks all targets ahead with 0. Here stands the path's forecast, in
    training that of a path which has not seen the window's time.

    **Shape**: those of `Informer`.

    Zhang (2003), Time Series Forecasting Using a Hybrid ARIMA and Neural Network Model.
    >>> from types import SimpleNamespace
    >>> class Last(nn.Module):
    ...     def forward(self, past, future, *calendar):
    ...         return past[:, -1:]
    >>> class One(nn.Module):
    ...     layout = SimpleNamespace(reads_forecast=False)
    ...     def forward(self, past, future, *times):
    ...         return torch.ones(1, 1, 1)
    >>> module = Corrected(Last(), One())
    >>> module(torch.tensor([[[1.0], [7.0]]]), torch.zeros(1, 1, 1)).item()
    8.0
    """

    path: Any

    def __init__(self, path: nn.Module, network: Informer) -> None:
        super().__init__()
        self.path = path
        self.network = network

    @property
    def largest_product(self) -> int:
        """Products of two numbers in the network's largest product, for one window."""
        return self.network.largest_product

    def forward(
        self,
        past: Tensor,
        future: Tensor,
        past_calendar: Tensor | None = None,
        future_calendar: Tensor | None = None,
        past_time: Tensor | None = None,
        future_time: Tensor | None = None,
        found: Tensor | None = None,
    ) -> Tensor:
        """Forecast windows as `Informer` does, (batch, pred_len, n_targets, *outputs), float32.

        found: the forecast that is corrected, (batch, pred_len, n_targets), where another path made
        it; None asks the module's path.
        """
        if found is None:
            found = self.path(past, future, past_calendar, future_calendar)
        times = (past_calendar, future_calendar, past_time, future_time)
        return correct(self.network, found, past, future, *times)
