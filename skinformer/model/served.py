"""Windows in units in, forecasts in units out: what is exported, with nothing left outside."""

import torch
from torch import Tensor, nn

from skinformer.model.corrected import Corrected
from skinformer.model.dates import calendar_fields
from skinformer.model.informer import Informer

#: Logarithms beyond which double precision has no number.
_FARTHEST = 700.0


class Units(nn.Module):
    """Put columns into the units of the network, and its forecasts into those of the targets.

    A row of each table belongs to a series, the last one to all that the fit did not hold; one row
    alone is everyone's.

    mean, scale: (n_series, n_columns), of each column; of targets of which logarithms are taken, of
    these.
    logs: (n_series, n_targets), where logarithms are taken.
    low, smear, floor: (n_series, n_targets), what smaller values count as, what is added to
    forecasts of logarithms, and what no forecast falls below.
    limits: (n_series, n_targets), the largest value so far, how far beyond it forecasts go freely,
    and how far beyond that at most, standardised.

    In float64, so that 1e8 ± 1 keeps its digits. A missing value, NaN, becomes a number; which
    were missing, the caller remembers.

    **Shape**: past ``(batch, length, n_columns)``, forecasts ``(batch, pred_len, n_targets)``,
    series ``(batch,)`` or None.
    >>> import torch
    >>> from skinformer.model.served import Units
    >>> one = torch.ones(1, 1, dtype=torch.float64)
    >>> tables = {"mean": 7 * one, "scale": 2 * one, "low": one, "smear": 0 * one, "floor": -one}
    >>> units = Units(logs=one < 0, **tables)
    >>> units.standardise(11 * one[None], None, first=0).item()
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

    def __init__(
        self,
        *,
        mean: Tensor,
        scale: Tensor,
        logs: Tensor,
        low: Tensor,
        smear: Tensor,
        floor: Tensor,
        limits: tuple[Tensor, ...] = (),
    ) -> None:
        super().__init__()
        self.is_limited = bool(limits)
        for name, table in zip(("top", "rise", "width"), limits, strict=False):
            self.register_buffer(name, table)
        self.register_buffer("mean", mean)
        self.register_buffer("scale", scale)
        self.register_buffer("logs", logs)
        self.register_buffer("low", low)
        self.register_buffer("smear", smear)
        self.register_buffer("floor", floor)
        self.takes_logs = bool(logs.any())

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
    """Forecast windows of raw values: scaling, calendar, ridges, network and trust in one.

    For export: it takes what a row says, and no caller can get its units wrong. Numbers equal those
    of `predict` for a frame that holds the window and nothing before it.

    module: in evaluation mode, with one output of each step and target.
    units: of the fit.
    trust: (n_series, n_targets), how much the network's correction counts for each series; 1 where
    there are no ridges.
    static: (n_series, n_static), standardised values of the last columns; NaN where rows say them.
    n_targets, n_past, n_known: numbers of columns: targets, past-only, known ahead.
    seq_len, pred_len: steps of a window, and those that are forecast.
    calendar: names of the calendar fields.
    embeds_series: whether the series is one more category of a step.
    mean_step: mean length of a step, where positions are continuous in time.
    may_miss: whether covariates may be NaN to the network; else they are held at their last value.

    Missing values, NaN, count as in `predict`: before the first known value of a column stands
    its training mean, covariates are held at their last value, and rows before the first known
    target that say nothing else are rows before the series began. A target that is missing
    after a known one, or throughout, is a gap that an earlier forecast has to fill (`fed_back`):
    all forecasts of such a window are NaN.

    **Shape**: see `forward`.
    >>> import torch
    >>> from torch import nn
    >>> from skinformer.model.served import ServedForecast, Units
    >>> class Last(nn.Module):
    ...     def forward(self, past, future, *times):
    ...         return past[:, -1:]
    >>> one = torch.ones(1, 1, dtype=torch.float64)
    >>> tables = {"mean": 7 * one, "scale": 2 * one, "low": one, "smear": 0 * one, "floor": -one}
    >>> served = ServedForecast(
    ...     module=Last(), units=Units(logs=one < 0, **tables), trust=one,
    ...     static=torch.zeros(1, 0), n_targets=1, n_past=0, n_known=0, seq_len=2, pred_len=1,
    ...     calendar=(), embeds_series=False, mean_step=None, may_miss=False,
    ... )
    >>> served(torch.tensor([[[torch.nan], [11.0]], [[11.0], [torch.nan]]]))[0].flatten().tolist()
    [11.0, nan]
    """

    static: Tensor
    trust: Tensor

    def __init__(
        self,
        *,
        module: Informer | Corrected,
        units: Units,
        trust: Tensor,
        static: Tensor,
        n_targets: int,
        n_past: int,
        n_known: int,
        seq_len: int,
        pred_len: int,
        calendar: tuple[str, ...],
        embeds_series: bool,
        mean_step: float | None,
        may_miss: bool,
    ) -> None:
        super().__init__()
        self.module, self.units = module, units
        self.register_buffer("trust", trust)
        self.register_buffer("static", static)
        self.n_targets, self.n_past, self.n_known = n_targets, n_past, n_known
        self.n_varying = n_targets + n_past + n_known - static.shape[1]
        self.seq_len, self.pred_len = seq_len, pred_len
        self.calendar, self.embeds_series = calendar, embeds_series
        self.mean_step, self.may_miss = mean_step, may_miss

    def forward(
        self,
        past: Tensor,
        future: Tensor | None = None,
        series: Tensor | None = None,
        time: Tensor | None = None,
        instant: Tensor | None = None,
    ) -> tuple[Tensor, Tensor]:
        """Forecast a batch of windows.

        past: (batch, seq_len, n_columns), targets, past-only columns and columns known ahead, in
        units; NaN is missing.
        future: (batch, pred_len, n_known), columns known ahead in the steps to forecast, if there
        are any.
        series: (batch,), the number of each window's series, of a panel; any other number is a new
        one.
        time: (batch, seq_len + pred_len), what the wall shows at each step, in microseconds since
        1970, with a calendar.
        instant: (batch, seq_len + pred_len), time of each step in microseconds (steps, where they
        have no dates), from any start, with ``position="continuous"``.

        Forecasts, (batch, pred_len, n_targets), float64, are in the targets' units. Beside them is
        what stands in a later `past` for a truth that is missing: another number only where
        logarithms or bounds are between.
        """
        k = self.n_targets
        values, absent = self.units.standardise(past, series, first=0), past.isnan()
        targets, unknown = _held(values[..., :k], absent[..., :k])
        gap = absent[..., :k] & ~unknown
        lost = gap.flatten(1).any(dim=1) | unknown[:, -1].any(dim=1)
        before = unknown.all(dim=-1) & absent[..., k : self.n_varying].all(dim=-1)
        columns = slice(k, k + self.n_past)
        seen = [targets, self._covariates(values[..., columns], absent[..., columns], before)]
        ahead = [values.new_zeros(past.shape[0], self.pred_len, k + self.n_past)]
        if future is not None:
            known = self._known(values, absent, before, future, series)
            seen.append(known[:, : self.seq_len])
            ahead.append(known[:, self.seq_len :])
        inputs: list[Tensor | None] = [torch.cat(seen, dim=-1), torch.cat(ahead, dim=-1)]
        inputs += [*self._categories(series, time), *self._times(instant)]
        forecast, fed_back = self.units.restore(self._limited(inputs, series), series)
        lost = lost[:, None, None]
        return forecast.masked_fill(lost, torch.nan), fed_back.masked_fill(lost, torch.nan)

    def _limited(self, inputs: list[Tensor | None], series: Tensor | None) -> Tensor:
        """Forecast; ridges and network are limited before they are mixed."""
        if not isinstance(self.module, Corrected):
            return self._limit(self.module(*inputs), inputs, series)
        alone = self.module.path(*inputs[:4])
        whole = self.module(*inputs, found=alone)
        low, high = (self._limit(each, inputs, series) for each in (alone, whole))
        return low + self.units.row(self.trust, series)[:, None] * (high - low)

    def _limit(
        self, forecast: Tensor, inputs: list[Tensor | None], series: Tensor | None
    ) -> Tensor:
        past = inputs[0]
        if not self.units.is_limited or past is None:
            return forecast
        return self.units.limit(forecast, past, series)

    def _covariates(self, values: Tensor, absent: Tensor, before: Tensor) -> Tensor:
        """Hold covariates, or leave them missing; the mean before a series began."""
        if self.may_miss:
            held = values.masked_fill(absent, torch.nan)
        else:
            held, _ = _held(values, absent)
        return held.masked_fill(absent & before[..., None], 0.0)

    def _known(
        self, values: Tensor, absent: Tensor, before: Tensor, future: Tensor, series: Tensor | None
    ) -> Tensor:
        """Give the columns known ahead, (batch, seq_len + pred_len, n_known)."""
        first = self.n_targets + self.n_past
        ahead = self.units.standardise(future, series, first=first)
        values = torch.cat([values[..., first:], ahead], dim=1)
        absent = torch.cat([absent[..., first:], future.isnan()], dim=1)
        before = torch.cat([before, torch.zeros_like(absent[:, self.seq_len :, 0])], dim=1)
        n_static = self.static.shape[1]
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
        fields = []
        if time is not None and self.calendar:
            fields.append(calendar_fields(time, self.calendar))
        if series is not None and self.embeds_series:
            numbers = torch.arange(len(self.units.mean), device=series.device)
            own = self.units.row(numbers, series)[:, None, None]
            fields.append(own.expand(-1, self.seq_len + self.pred_len, 1))
        if not fields:
            return None, None
        joined = torch.cat(fields, dim=-1)
        return joined[:, : self.seq_len], joined[:, self.seq_len :]

    def _times(self, instant: Tensor | None) -> tuple[Tensor | None, Tensor | None]:
        """Give the times of past and future steps, in mean steps from the first to forecast."""
        if instant is None or self.mean_step is None:
            return None, None
        passed = instant - instant[:, self.seq_len : self.seq_len + 1]
        times = (passed / self.mean_step).float()
        return times[:, : self.seq_len], times[:, self.seq_len :]


def _held(values: Tensor, absent: Tensor) -> tuple[Tensor, Tensor]:
    """Hold each column at its last value, 0 before the first one; and tell where that is."""
    values = values.masked_fill(absent, 0.0)
    # Each turn reaches twice as far back; a graph has no running maximum.
    reach = 1
    while reach < values.shape[1]:
        nothing, unknown = torch.zeros_like(values[:, :reach]), torch.ones_like(absent[:, :reach])
        earlier = torch.cat([nothing, values[:, :-reach]], dim=1)
        values = torch.where(absent, earlier, values)
        absent = absent & torch.cat([unknown, absent[:, :-reach]], dim=1)
        reach *= 2
    return values, absent


def _exp(values: Tensor) -> Tensor:
    return values.clamp(-_FARTHEST, _FARTHEST).exp()
