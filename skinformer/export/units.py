"""Columns into the units of the network, and forecasts into those of the targets, in torch."""

from typing import Any

import torch
from torch import Tensor, nn

from skinformer.timeline.scaling import Scaler

#: Logarithms beyond which double precision has no number.
_FARTHEST = 700.0


class Units(nn.Module):
    """Put columns into the units of the network, and its forecasts into those of the targets.

    A row of each table belongs to a series, the last one to all that the fit did not hold; one row
    alone is that of all.

    scaler: of the fit; what each number means is said at `TargetScale` and `Limits`.

    In float64, so that 1e8 ± 1 keeps its digits. A missing value, NaN, becomes a number; which
    were missing, the caller remembers.

    **Shape**: past ``(batch, length, n_columns)``, forecasts ``(batch, pred_len, n_targets)``,
    series ``(batch,)`` or None.
    >>> import numpy as np
    >>> from skinformer.timeline.target_scale import TargetScale
    >>> one = np.ones((1, 1))
    >>> targets = TargetScale(floor=-one, low=one, logs=one < 0, smear=0 * one)
    >>> units = Units(Scaler(7 * one, 2 * one, targets))
    >>> units.standardise(torch.tensor([[[11.0]]]), None, first=0).item()
    2.0
    >>> [values.item() for values in units.restore(torch.tensor([[[-8.0]]]), None)]
    [-1.0, -9.0]
    """

    mean: Tensor
    scale: Tensor
    logs: Tensor
    low: Tensor
    smear: Tensor
    floor: Tensor
    top: Tensor
    rise: Tensor
    width: Tensor

    def __init__(self, scaler: Scaler) -> None:
        super().__init__()
        targets: Any = scaler.targets  # a regressor's always has it
        limits = scaler.limits
        self.is_limited = limits is not None
        self.takes_logs = bool(targets.logs.any())
        tables = {"mean": scaler.mean, "scale": scaler.scale}
        tables |= {
            name: getattr(targets, name) for name in ("logs", "low", "smear", "floor")
        }
        if limits is not None:
            tables |= limits._asdict()
        for name, table in tables.items():
            self.register_buffer(name, torch.tensor(table))

    def row(self, table: Tensor, series: Tensor | None) -> Tensor:
        """Return each window's row of a table, (n_series, …): (batch, …), or (1, …) without series.

        series: (batch,), of each window; those that are none of the fit's have the last row. None
        for the only one.
        """
        if series is None:
            return table
        last = len(table) - 1
        known = (series >= 0) & (series < last)
        return table[torch.where(known, series, last)]

    def standardise(
        self, values: Tensor, series: Tensor | None, *, first: int
    ) -> Tensor:
        """Return consecutive columns, (batch, length, n), in deviations from the mean, float32.

        first: place of the first column; either 0, or behind the targets.
        """
        # No nan_to_num: exporters know its largest numbers in single precision alone.
        values = values.masked_fill(values.isnan(), 0.0)
        columns = slice(first, first + values.shape[-1])
        if first == 0 and self.takes_logs:
            k = self.logs.shape[1]
            targets = values[..., :k]
            low = self.row(self.low, series)[:, None]
            logs = torch.where(targets < low, low, targets).log()
            targets = torch.where(self.row(self.logs, series)[:, None], logs, targets)
            values = torch.cat([targets, values[..., k:]], dim=-1)
        mean = self.row(self.mean[:, columns], series)[:, None]
        scale = self.row(self.scale[:, columns], series)[:, None]
        return ((values - mean) / scale).float()

    def limit(self, forecast: Tensor, past: Tensor, series: Tensor | None) -> Tensor:
        """Compress what of a forecast, (batch, pred_len, n_targets), goes beyond the limits.

        past: (batch, length, n_columns), windows, the targets first; all is standardised.
        """
        if not self.is_limited:
            return forecast
        seen = past[..., : forecast.shape[-1]].amax(dim=1)
        knee = torch.maximum(self.row(self.top, series), seen) + self.row(
            self.rise, series
        )
        knee = knee[:, None]
        width = self.row(self.width, series)[:, None]
        beyond = forecast > knee
        over = torch.where(beyond, forecast - knee, 1.0)
        return torch.where(beyond, knee + width / (1 + width / over), forecast)

    def restore(self, forecast: Tensor, series: Tensor | None) -> tuple[Tensor, Tensor]:
        """Put forecasts, (batch, pred_len, n_targets), into the targets' units, within bounds.

        Beside them stands what `standardise` makes the given forecasts of.
        """
        k = forecast.shape[-1]
        mean = self.row(self.mean[:, :k], series)[:, None]
        plain = forecast.double() * self.row(self.scale[:, :k], series)[:, None] + mean
        values = plain
        if self.takes_logs:
            logs = self.row(self.logs, series)[:, None]
            raised = plain + self.row(self.smear, series)[:, None]
            values = torch.where(logs, _exp(raised), plain)
            plain = torch.where(logs, _exp(plain), plain)
        floor = self.row(self.floor, series)[:, None]
        return torch.where(values < floor, floor, values), plain


def _exp(values: Tensor) -> Tensor:
    return values.clamp(-_FARTHEST, _FARTHEST).exp()
