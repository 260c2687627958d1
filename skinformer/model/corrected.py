"""A forecast found in closed form, and a network that corrects it."""

from typing import Any

import torch
from torch import Tensor, nn

from skinformer.model.informer import Informer
from skinformer.model.outputs import match_axes

__all__ = ["Corrected"]


class Corrected(nn.Module):
    """Add to a path's forecast the share of a network's correction that is trusted.

    For the hybrid default; without a path the network forecasts alone.

    path: what is corrected; it has no parameters to train.
    network: built with ``forecasts_distance=True``, so that it corrects nothing before it is
    trained, and mostly with ``reads_forecast=True``, so that it sees what it corrects.
    middle: of several outputs the one that is the forecast; None where there is one alone.

    `trust` is what the network's correction is multiplied by, in [0, 1]; 1 while it is trained.

    ``ŷ = path(x) + trust · network(x, path(x))``: the decoder sees, in place of masked targets,
    what is corrected, so that a bound that ridges do not know can be learnt. Of several outputs
    the middle one; the others keep their distances from it, since the path does not say how sure it
    is.

    NOTE[DIFF]: N 1 masks all targets ahead with 0. What is written there is no truth: the path's
    forecast, in training that of a path which has not seen the window's time.

    **Shape**: those of `Informer`.

    Time-series chapter (T), section 7.5.1, hybrid models.
    >>> class Last(nn.Module):
    ...     def forward(self, past, future, *calendar):
    ...         return past[:, -1:]
    >>> class One(nn.Module):
    ...     reads_forecast = False
    ...     def forward(self, past, future, *times):
    ...         return torch.ones(1, 1, 1)
    >>> module = Corrected(Last(), One())
    >>> _ = module.trust.fill_(0.5)
    >>> module(torch.tensor([[[1.0], [7.0]]]), torch.zeros(1, 1, 1)).item()
    7.5
    """

    trust: Tensor
    path: Any

    def __init__(self, path: nn.Module, network: Informer, *, middle: int | None = None) -> None:
        super().__init__()
        self.path, self.network, self.middle = path, network, middle
        self.register_buffer("trust", torch.ones(()))

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
        trust: Tensor | None = None,
        found: Tensor | None = None,
    ) -> Tensor:
        """Forecast windows as `Informer` does, (batch, pred_len, n_targets, *outputs), float32.

        trust: each window's own share, (batch, n_targets), where series are judged one by one; None
        takes the module's.
        found: the forecast that is corrected, (batch, pred_len, n_targets), where another path made
        it; None asks the module's path.
        """
        times = past_calendar, future_calendar, past_time, future_time
        if found is None:
            found = self.path(past, future, past_calendar, future_calendar)
        forecast: Tensor = found
        correction: Tensor = self.network(past, self.guide(future, found), *times)
        share = self.trust if trust is None else match_axes(trust[:, None], correction)
        if self.middle is not None:
            untrusted = (1 - share) * correction[..., self.middle, None]
            return match_axes(forecast, correction) + correction - untrusted
        return match_axes(forecast, correction) + share * correction

    def guide(self, future: Tensor, found: Tensor) -> Tensor:
        """Put the forecast into the future's target columns, if the network reads it."""
        if not self.network.reads_forecast:
            return future
        return torch.cat([found.to(future.dtype), future[..., found.shape[-1] :]], dim=-1)
