"""Columns into the units of the network, and forecasts into those of the targets, in torch."""

from collections.abc import Sequence
from typing import Any, TypeAlias

import numpy as np
import torch
from torch import Tensor, nn

from skinformer.timeline.months import MonthEffects
from skinformer.timeline.scaling import Scaler

#: Numbers of windows' series by name, (batch, 1, n) each.
Tables: TypeAlias = dict[str, Tensor]


class Units(nn.Module):
    """Put columns into the units of the network, and its forecasts into those of the targets.

    A row of each table belongs to a series, the last one to all that the fit did not hold; one row
    alone is that of all.

    scaler: of the fit; what each number means is said at `TargetScale`.

    In float64, so that 1e8 ± 1 keeps its digits. A missing value, NaN, stays one.

    **Shape**: past ``(batch, length, n_columns)``, forecasts ``(batch, pred_len, n_targets)``,
    series ``(batch,)`` or None.
    >>> import numpy as np
    >>> from skinformer.timeline.target_scale import TargetScale
    >>> one = np.ones((1, 1))
    >>> targets = TargetScale(floor=-one, low=one, logs=one < 0, smear=0 * one)
    >>> units = Units(Scaler(7 * one, 2 * one, targets))
    >>> of_windows = units.of_windows(units.row(None))
    >>> units.standardise(torch.tensor([[[11.0]]]), of_windows, first=0).item()
    2.0
    >>> [values.item() for values in units.restore(torch.tensor([[[-8.0]]]), of_windows)]
    [-1.0, -9.0]
    """

    def __init__(self, scaler: Scaler) -> None:
        super().__init__()
        targets = scaler.targets
        self.last_row = len(scaler.mean) - 1
        self.takes_logs = bool(targets.logs.any())
        tables = {"mean": scaler.mean, "scale": scaler.scale}
        for name in ("logs", "low", "smear", "floor"):
            tables[name] = getattr(targets, name)
        for name, table in tables.items():
            self.register_buffer(name, torch.tensor(table))

    def of_windows(self, row: Any) -> Tables:
        """Return the rows of all tables, (batch, 1, n) each, or (1, 1, n) without series."""
        rows = {}
        for name, table in self.named_buffers():
            rows[name] = table[row][:, None]
        return rows

    def row(self, series: Tensor | None) -> Any:
        """Return which row of all tables is each window's, (batch,), or a slice without series.

        series: (batch,), of each window; those that are none of the fit's have the last row. None
        for the only one.
        """
        if series is None:
            return slice(None)
        is_known = (series >= 0) & (series < self.last_row)
        return torch.where(is_known, series, self.last_row)

    def standardise(self, values: Tensor, of_windows: Tables, *, first: int) -> Tensor:
        """Return consecutive columns, (batch, length, n), in deviations from the mean, float32.

        first: place of the first column; either 0, or behind the targets.
        """
        if first == 0 and self.takes_logs:
            values = self._take_logs(values, of_windows)
        columns = slice(first, first + values.shape[-1])
        mean = of_windows["mean"][..., columns]
        scale = of_windows["scale"][..., columns]
        standardised = (values - mean) / scale
        return standardised.float()

    def _take_logs(self, values: Tensor, of_windows: Tables) -> Tensor:
        """Take logarithms of targets, which are the first columns."""
        low = of_windows["low"]
        n_targets = low.shape[-1]
        targets = values[..., :n_targets]
        others = values[..., n_targets:]
        positive = torch.where(targets < low, low, targets)
        transformed = torch.where(of_windows["logs"], positive.log(), targets)
        return torch.cat([transformed, others], dim=-1)

    def restore(self, forecast: Tensor, of_windows: Tables) -> tuple[Tensor, Tensor]:
        """Put forecasts, (batch, pred_len, n_targets), into the targets' units, above the floor.

        Beside them stands what `standardise` makes the given forecasts of.
        """
        n_targets = forecast.shape[-1]
        mean = of_windows["mean"][..., :n_targets]
        scale = of_windows["scale"][..., :n_targets]
        fed_back = forecast.double() * scale + mean
        # What single precision made of a zero is zero again.
        rounding = 1e-7 * (mean.abs() + scale)
        fed_back = torch.where(fed_back.abs() < rounding, 0.0, fed_back)
        values = fed_back
        if self.takes_logs:
            logs = of_windows["logs"]
            mean_log = fed_back + of_windows["smear"]
            values = torch.where(logs, _exp(mean_log), fed_back)
            fed_back = torch.where(logs, _exp(fed_back), fed_back)
        floor = of_windows["floor"]
        bounded = torch.where(values < floor, floor, values)
        return bounded, fed_back


class OwnSize(nn.Module):
    """What makes targets of new series as large as usual ones, see `rolling.own_size`.

    scaler: of the fit, with that of new series as its last row.

    **Shape**: windows ``(batch, seq_len, n_targets)`` to gain and shift ``(batch, 1, n_targets)``.
    >>> import numpy as np
    >>> from skinformer.timeline.target_scale import TargetScale
    >>> one = np.ones((2, 1))
    >>> targets = TargetScale(floor=0 * one, low=one, logs=one < 0, smear=0 * one)
    >>> own_size = OwnSize(Scaler(4 * one, 3 * one, targets))
    >>> window = torch.full((1, 2, 1), -1.0)  # a value of 1, where 5 is usual
    >>> known = torch.full((1, 2, 1), True)
    >>> [part.item() for part in own_size(window, known, torch.tensor([1]))]
    [5.0, 5.333333333333333]
    """

    mean: Tensor
    scale: Tensor
    usual: Tensor
    logs: Tensor
    has_zero: Tensor

    def __init__(self, scaler: Scaler) -> None:
        super().__init__()
        targets = scaler.targets
        n_targets = targets.n_targets
        mean, scale = scaler.mean[-1, :n_targets], scaler.scale[-1, :n_targets]
        tables = {
            "mean": mean,
            "scale": scale,
            "usual": np.hypot(mean, scale),
            "logs": targets.logs[-1],
            "has_zero": targets.floor[-1] == 0,
        }
        for name, table in tables.items():
            self.register_buffer(name, torch.tensor(table))
        self.last_row = len(scaler.mean) - 1

    def forward(self, window: Tensor, known: Tensor, row: Tensor) -> Sequence[Tensor]:
        """Return gain and shift of windows, (batch, 1, n_targets) each; 1 and 0 of fitted series.

        window: (batch, seq_len, n_targets), standardised; known: which values count.
        row: (batch,), of each window's series.
        """
        in_units = window.double() * self.scale + self.mean
        in_units = torch.where(known, in_units, 0.0)
        n_known = known.sum(dim=1, keepdim=True)
        counted = n_known.clamp(min=1)
        # 1. By the level of logarithms, or by the root mean square.
        level = in_units.sum(dim=1, keepdim=True) / counted
        shift = torch.where(n_known > 0, (self.mean - level) / self.scale, 0.0)
        largest = in_units.abs().amax(dim=1, keepdim=True)
        has_size = largest > 0
        unit = torch.where(has_size, largest, 1.0)
        mean_square = (in_units / unit).square().sum(dim=1, keepdim=True) / counted
        size = unit * mean_square.sqrt()
        gain = torch.where(has_size, self.usual / size, 1.0)
        # 2. Levels as of temperatures are resized where they are far from usual ones alone.
        far = 4.0
        is_far = (gain > far) | (gain < 1 / far)
        gain = torch.where((self.has_zero | is_far) & ~self.logs, gain, 1.0)
        shift = torch.where(self.logs, shift, (gain - 1) * self.mean / self.scale)
        # 3. Series of the fit have scales of their own.
        is_new = (row == self.last_row)[:, None, None]
        return torch.where(is_new, gain, 1.0), torch.where(is_new, shift, 0.0)


class MonthFactors(nn.Module):
    """By what months multiply targets.

    months: of the fit; the last row of its table belongs to series that the fit did not hold.
    n_rows: rows of the table that are kept.

    **Shape**: kinds of months ``(batch, length)`` to factors ``(batch, length, n_targets)``.
    >>> import numpy as np
    >>> logs = np.log(np.arange(1.0, 29.0))[None, :, None]
    >>> factors = MonthFactors(MonthEffects(logs), 1)
    >>> factors(torch.tensor([[27, 0]]), slice(None)).flatten().tolist()
    [28.0, 1.0]
    """

    factors: Tensor

    def __init__(self, months: MonthEffects, n_rows: int) -> None:
        super().__init__()
        assert months.logs is not None
        self.register_buffer("factors", torch.tensor(np.exp(months.logs[:n_rows])))

    def forward(self, kinds: Tensor, row: Any) -> Tensor:
        """Return the factors of months of windows, whose rows of the table are given."""
        of_windows = self.factors[row].expand(kinds.shape[0], -1, -1)
        n_targets = of_windows.shape[-1]
        place = kinds[..., None].expand(-1, -1, n_targets)
        return of_windows.gather(1, place)


def _exp(values: Tensor) -> Tensor:
    farthest = 700.0  # beyond, double precision has no exponential
    return values.clamp(-farthest, farthest).exp()
