"""Windows in units in, forecasts in units out: what is exported, with nothing left outside."""

from collections.abc import Mapping
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from skinformer.ensemble.building import ModelSizes
from skinformer.ensemble.member import NETWORK, OWN_RIDGES, RIDGES, TREES
from skinformer.estimators.served_own import ServedOwnRidges
from skinformer.estimators.served_trees import ServedTrees
from skinformer.model.corrected import Corrected
from skinformer.model.dates import calendar_fields
from skinformer.model.informer import Informer
from skinformer.ridge.linear_path import LinearPath
from skinformer.timeline.arrays import Float32Array, Float64Array
from skinformer.timeline.scaling import Scaler

#: Logarithms beyond which double precision has no number.
_FARTHEST = 700.0


class Units(nn.Module):
    """Put columns into the units of the network, and its forecasts into those of the targets.

    A row of each table belongs to a series, the last one to all that the fit did not hold; one row
    alone is everyone's.

    scaler: of the fit; its tables, `TargetScale` and `Limits` tell what each number means.

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
        self.is_limited, self.takes_logs = limits is not None, bool(targets.logs.any())
        tables = {"mean": scaler.mean, "scale": scaler.scale}
        tables |= {name: getattr(targets, name) for name in ("logs", "low", "smear", "floor")}
        tables |= {} if limits is None else limits._asdict()
        for name, table in tables.items():
            self.register_buffer(name, torch.tensor(table))

    def row(self, table: Tensor, series: Tensor | None) -> Tensor:
        """Give each window its row of a table, (n_series, …): (batch, …), or (1, …) without series.

        series: (batch,), of each window; those that are none of the fit's have the last row. None
        for the only one.
        """
        if series is None:
            return table
        last = len(table) - 1
        known = (series >= 0) & (series < last)
        return table[torch.where(known, series, last)]

    def standardise(self, values: Tensor, series: Tensor | None, *, first: int) -> Tensor:
        """Give consecutive columns, (batch, length, n), in deviations from the mean, float32.

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
        knee = torch.maximum(self.row(self.top, series), seen) + self.row(self.rise, series)
        knee, width = knee[:, None], self.row(self.width, series)[:, None]
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


class ServedForecast(nn.Module):
    """Forecast windows of raw values: scaling, calendar, all members and their weights in one.

    For export: it takes what a row says, and no caller can get its units wrong. Numbers equal those
    of `predict` for a frame that holds the window and nothing before it.

    module: network, ridges or both, in evaluation mode, with one output of each step and target.
    units: of the fit.
    weights: of members by name, (n_series, 1 or pred_len, n_targets); they add up to 1.
    static: (n_series, n_static), standardised values of the last columns; NaN where rows say them.
    sizes: of the fit. Covariates that may miss are NaN to the network; else they are held at their
    last value.
    look_back: rows before the forecast that windows have, `seq_len` at least.
    trees, own: boosted trees and ridges of each series beside the module, if they count.

    Missing values, NaN, count as in `predict`: before the first known value of a column stands
    its training mean, covariates are held at their last value, and rows before the first known
    target that say nothing else are rows before the series began. A target that is missing
    after a known one, or throughout, is a gap that an earlier forecast has to fill (`fed_back`):
    all forecasts of such a window are NaN.

    **Shape**: see `forward`.
    >>> import numpy as np
    >>> from skinformer.timeline.target_scale import TargetScale
    >>> class Last(nn.Module):
    ...     def forward(self, past, future, *times):
    ...         return past[:, -1:]
    >>> one = np.ones((1, 1))
    >>> targets = TargetScale(floor=-one, low=one, logs=one < 0, smear=0 * one)
    >>> units = Units(Scaler(7 * one, 2 * one, targets))
    >>> sizes = ModelSizes(1, 0, 0, 0, 0, (), seq_len=2, pred_len=1, patch_len=1)
    >>> weights = {"network": one[None]}
    >>> fit = {"weights": weights, "static": np.zeros((1, 0)), "sizes": sizes, "look_back": 2}
    >>> served = ServedForecast(Last(), units, **fit)
    >>> served(torch.tensor([[[torch.nan], [11.0]], [[11.0], [torch.nan]]]))[0].flatten().tolist()
    [11.0, nan]
    """

    static: Tensor

    def __init__(
        self,
        module: Informer | Corrected | LinearPath,
        units: Units,
        *,
        weights: Mapping[str, Float64Array],
        static: Float32Array,
        sizes: ModelSizes,
        look_back: int,
        trees: ServedTrees | None = None,
        own: ServedOwnRidges | None = None,
    ) -> None:
        super().__init__()
        self.module, self.units, self.trees, self.own = module, units, trees, own
        self.sizes, self.look_back = sizes, look_back
        self.unread = look_back - sizes.seq_len  # rows that ridges and network do not see
        self.weights = nn.ParameterDict({n: torch.tensor(each) for n, each in weights.items()})
        self.register_buffer("static", torch.tensor(static))

    def forward(
        self,
        past: Tensor,
        future: Tensor | None = None,
        series: Tensor | None = None,
        time: Tensor | None = None,
        instant: Tensor | None = None,
    ) -> tuple[Tensor, Tensor]:
        """Forecast a batch of windows.

        past: (batch, look_back, n_columns), targets, past-only columns and columns known ahead, in
        units; NaN is missing.
        future: (batch, pred_len, n_known), columns known ahead in the steps to forecast, if there
        are any.
        series: (batch,), the number of each window's series, of a panel; any other number is a new
        one.
        time: (batch, look_back + pred_len), what the wall shows at each step, in microseconds since
        1970, with a calendar.
        instant: (batch, look_back + pred_len), time of each step in microseconds (steps, where they
        have no dates), from any start, with ``position="continuous"``.

        Forecasts, (batch, pred_len, n_targets), float64, are in the targets' units. Beside them is
        what stands in a later `past` for a truth that is missing: another number only where
        logarithms or bounds are between.
        """
        sizes, k = self.sizes, self.sizes.n_targets
        n_varying = k + sizes.n_past + sizes.n_known - sizes.n_static
        values, absent = self.units.standardise(past, series, first=0), past.isnan()
        targets, unknown = _held(values[..., :k], absent[..., :k])
        gap = absent[..., :k] & ~unknown
        lost = gap.flatten(1).any(dim=1) | unknown[:, -1].any(dim=1)
        before = unknown.all(dim=-1) & absent[..., k:n_varying].all(dim=-1)
        columns = slice(k, k + sizes.n_past)
        seen = [targets, self._covariates(values[..., columns], absent[..., columns], before)]
        ahead = [values.new_zeros(past.shape[0], sizes.pred_len, k + sizes.n_past)]
        if future is not None:
            known = self._known(values, absent, before, future, series)
            seen.append(known[:, : self.look_back])
            ahead.append(known[:, self.look_back :])
        rows = torch.cat([torch.cat(part, dim=-1) for part in (seen, ahead)], dim=1)
        found, begin = {}, unknown.all(dim=-1).sum(dim=1)
        if self.trees is not None:
            found[TREES] = self.trees(rows, begin, time)
        if self.own is not None:
            found[OWN_RIDGES] = self.own(rows, begin, self._number(series))
        window, future = rows.narrow(1, self.unread, sizes.seq_len), rows[:, self.look_back :]
        found |= self._found(window, future, *self._categories(series, time), *self._times(instant))
        forecast, fed_back = self.units.restore(self._mixed(found, window, series, begin), series)
        lost = lost[:, None, None]
        return forecast.masked_fill(lost, torch.nan), fed_back.masked_fill(lost, torch.nan)

    def _found(self, past: Tensor, *others: Tensor | None) -> dict[str, Tensor]:
        """Forecast by ridges and network, as far as there are any."""
        if isinstance(self.module, LinearPath):
            return {RIDGES: self.module(past, *others[:3])}
        if not isinstance(self.module, Corrected):
            return {NETWORK: self.module(past, *others)}
        alone = self.module.path(past, *others[:3])
        return {RIDGES: alone, NETWORK: self.module(past, *others, found=alone)}

    def _mixed(
        self, found: dict[str, Tensor], past: Tensor, series: Tensor | None, begin: Tensor
    ) -> Tensor:
        """Weigh forecasts, each of which is limited before."""
        units = self.units
        found = {name: units.limit(found[name], past, series) for name in self.weights}
        each = [units.row(w, series) * found[name] for name, w in self.weights.items()]
        mixed = torch.stack(each).sum(dim=0).float()
        if self.own is None:
            return mixed
        # All others see whole windows, as in `EnsembleForecaster.weights`.
        short = (begin > self.unread)[:, None, None]
        return torch.where(short, found[OWN_RIDGES], mixed)

    def _covariates(self, values: Tensor, absent: Tensor, before: Tensor) -> Tensor:
        """Hold covariates, or leave them missing; the mean before a series began."""
        may_miss = self.sizes.may_miss
        held = values.masked_fill(absent, torch.nan) if may_miss else _held(values, absent)[0]
        return held.masked_fill(absent & before[..., None], 0.0)

    def _known(
        self, values: Tensor, absent: Tensor, before: Tensor, future: Tensor, series: Tensor | None
    ) -> Tensor:
        """Give the columns known ahead, (batch, look_back + pred_len, n_known)."""
        first = self.sizes.n_targets + self.sizes.n_past
        ahead = self.units.standardise(future, series, first=first)
        values = torch.cat([values[..., first:], ahead], dim=1)
        absent = torch.cat([absent[..., first:], future.isnan()], dim=1)
        before = torch.cat([before, torch.zeros_like(absent[:, self.look_back :, 0])], dim=1)
        n_static = self.sizes.n_static
        if n_static:
            static = self.units.row(self.static, series)[:, None].expand(*values.shape[:2], -1)
            stays = static.isnan()
            rows = torch.where(stays, values[..., -n_static:], static)
            missing = absent[..., -n_static:] & (stays | before[..., None])
            values = torch.cat([values[..., :-n_static], rows], dim=-1)
            absent = torch.cat([absent[..., :-n_static], missing], dim=-1)
        return self._covariates(values, absent, before)

    def _categories(
        self, series: Tensor | None, time: Tensor | None
    ) -> tuple[Tensor | None, Tensor | None]:
        """Give the categories of past and future steps."""
        fields, seq_len, sizes = [], self.sizes.seq_len, self.sizes
        if time is not None and sizes.calendar_fields:
            fields.append(calendar_fields(time[:, self.unread :], sizes.calendar_fields))
        if series is not None and sizes.n_series:
            own = self._number(series)[:, None, None]
            fields.append(own.expand(-1, seq_len + sizes.pred_len, 1))
        if not fields:
            return None, None
        joined = torch.cat(fields, dim=-1)
        return joined[:, :seq_len], joined[:, seq_len:]

    def _number(self, series: Tensor | None) -> Tensor:
        """Give the row of tables that each window has: (batch,), or (1,) without series."""
        return self.units.row(torch.arange(len(self.units.mean)), series)

    def _times(self, instant: Tensor | None) -> tuple[Tensor | None, Tensor | None]:
        """Give the times of past and future steps, in mean steps from the first to forecast."""
        end, mean_step = self.look_back, self.sizes.mean_step
        if instant is None or mean_step is None:
            return None, None
        times = ((instant - instant[:, end : end + 1]) / mean_step).float()
        return times[:, self.unread : end], times[:, end:]


def _held(values: Tensor, absent: Tensor) -> tuple[Tensor, Tensor]:
    """Hold each column at its last value, 0 before the first one; and tell where that is."""
    count, row = (~absent).cumsum(dim=1), torch.from_numpy(np.arange(values.shape[1]))
    # The numbers of known rows, ascending: a graph has no running maximum.
    known = torch.where(absent, row[-1], row[:, None]).sort(dim=1)[0]
    held = values.gather(1, known.gather(1, (count - 1).clamp(min=0)))
    return held.masked_fill(count == 0, 0.0), count == 0


def _exp(values: Tensor) -> Tensor:
    return values.clamp(-_FARTHEST, _FARTHEST).exp()
