"""What no forecast may be, in torch: the steps of `Bounds`, by the same names."""

from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from skinformer.bounds.bounds import Bounds
from skinformer.bounds.closed_ahead import ClosedAhead
from skinformer.bounds.lone_sales import MANY
from skinformer.bounds.reach import MARGIN
from skinformer.cleaning.closed_dates import ClosedDates
from skinformer.cleaning.closures import Closures
from skinformer.export.units import Tables
from skinformer.timeline.arrays import AnyArray
from skinformer.timeline.dates import DaySteps, number_of_date


class ExportedBounds(nn.Module):
    """Keep forecasts of windows to what `Bounds` says; it alone says why.

    bounds: of the fit.
    closures: of the fit, for zeros that the window holds.
    n_rows: number of series that are told apart, new ones behind them; 1 for one series alone.
    of_mean: whether the forecast is a mean.

    **Shape**: forecasts ``(batch, pred_len, n_targets)``, windows ``(batch, seq_len, n_columns)``,
    steps ``(batch, length)``; see `Units` for rows and tables.
    >>> bounds = ExportedBounds(Bounds(), Closures(), n_rows=1, of_mean=True)
    >>> bounds.limit(torch.ones(1, 2, 1), torch.ones(1, 4, 1), None, {}).shape
    torch.Size([1, 2, 1])
    """

    def __init__(
        self, bounds: Bounds, closures: Closures, *, n_rows: int, of_mean: bool
    ) -> None:
        super().__init__()
        self.of_mean = of_mean
        tables = _tables(bounds)
        self.names = tuple(tables)
        for name, table in tables.items():
            self.register_buffer(name, torch.tensor(table[:n_rows]))
        # Phases are (n_rows, season, n_targets) each.
        phases = () if bounds.zero_phases is None else bounds.zero_phases.phases
        self.n_seasons = len(phases)
        for i, table in enumerate(phases):
            by_phase = np.moveaxis(table[:n_rows], 1, 2)
            self.register_buffer(f"dark_{i}", torch.tensor(by_phase))
        self.closures = closures.found
        if bounds.closed_zero is not None:
            zero = torch.tensor(bounds.closed_zero[:n_rows])
            self.register_buffer("closed_zero", zero)
        if bounds.closed_ahead is not None:
            self._keep_closures(bounds.closed_ahead, n_rows)
        in_days = None if bounds.clock is None else DaySteps.of(bounds.clock)
        self.has_dates = bounds.closed_dates is not None and in_days is not None
        if bounds.closed_dates is not None and in_days is not None:
            self._keep_dates(bounds.closed_dates, in_days, n_rows)

    def _keep_dates(self, closed: ClosedDates, in_days: DaySteps, n_rows: int) -> None:
        """Keep dates of closures, and the date of each day of four hundred years, which return."""
        first = in_days.first_week[0]
        days = (first + np.arange(146_097)).astype("datetime64[D]")
        self.register_buffer("date_of_day", torch.tensor(number_of_date(days)))
        since_first = torch.tensor(in_days.first_week) - first
        self.register_buffer("day_of_week", since_first)
        for name, dates in (("closed_dates", closed.dates), ("near", closed.near)):
            by_date = np.moveaxis(dates[:n_rows], 1, 2)
            self.register_buffer(name, torch.tensor(by_date))

    def _at_dates(self, name: str, row: Any, steps: Tensor) -> Tensor:
        """Look up dates of closures at steps of windows: (batch, length, n_targets)."""
        day_of_week = self.get_buffer("day_of_week")
        date_of_day = self.get_buffer("date_of_day")
        n_steps = len(day_of_week)
        weeks = torch.div(steps, n_steps, rounding_mode="floor")
        day = 7 * weeks + day_of_week[steps % n_steps]
        return _at_phases(
            self.get_buffer(name), row, date_of_day[day % len(date_of_day)]
        )

    def _keep_closures(self, ahead: ClosedAhead, n_rows: int) -> None:
        """Keep what columns known ahead tell."""
        for i, closure in enumerate(self.closures):
            value = ahead.value[i, :n_rows]
            weekly = closure.weekly[:n_rows, :, None]
            self.register_buffer(f"closed_value_{i}", torch.tensor(value))
            self.register_buffer(f"weekly_{i}", torch.tensor(weekly))

    @property
    def reads_steps(self) -> bool:
        """Whether anything goes by the time."""
        return bool(self.n_seasons or self.closures or self.has_dates)

    def of_windows(self, row: Any) -> Tables:
        """Return the rows of all tables, (batch, 1, n_targets), or (1, 1, n_targets)."""
        return {name: self.get_buffer(name)[row][:, None] for name in self.names}

    def without_closures(
        self, rows: Tensor, steps: Tensor | None, row: Any, n_targets: int
    ) -> Tensor:
        """Take zeros of a closure as missing, as a fit does: they say nothing of the level.

        rows: (batch, length, n_columns), standardised.
        """
        if steps is None:
            return rows
        if self.has_dates:
            rows = self._without_dates(rows, steps, row, n_targets)
        if not self.closures:
            return rows
        targets = list(rows[..., :n_targets].unbind(dim=-1))
        zero = self.get_buffer("closed_zero")[row][:, None]
        for i, closure in enumerate(self.closures):
            is_weekly = _at_phases(self.get_buffer(f"weekly_{i}"), row, steps)[..., 0]
            y = targets[closure.target]
            is_closed = self._is_closed(i, rows, row) & (y == zero[..., closure.target])
            targets[closure.target] = y.masked_fill(is_closed & ~is_weekly, torch.nan)
        return torch.cat([torch.stack(targets, dim=-1), rows[..., n_targets:]], dim=-1)

    def _without_dates(
        self, rows: Tensor, steps: Tensor, row: Any, n_targets: int
    ) -> Tensor:
        """Take zeros at dates of closures, and around them, as missing."""
        targets = rows[..., :n_targets]
        is_zero = targets == self.get_buffer("closed_zero")[row][:, None]
        is_closed = self._at_dates("near", row, steps) & is_zero
        open_targets = targets.masked_fill(is_closed, torch.nan)
        return torch.cat([open_targets, rows[..., n_targets:]], dim=-1)

    def _is_closed(self, number: int, rows: Tensor, row: Any) -> Tensor:
        """Whether the column of a closure tells it, (batch, length)."""
        value = self.get_buffer(f"closed_value_{number}")[row][:, None]
        return rows[..., self.closures[number].column] == value

    def limit(
        self, forecast: Tensor, past: Tensor, known: Tensor | None, tables: Tables
    ) -> Tensor:
        """Keep a member's forecast near what was seen.

        past: windows, filled; known: which of their targets were observed.
        """
        targets = past[..., : forecast.shape[-1]]
        if "lowest" in tables and known is not None:
            forecast = _within_reach(forecast, targets, known, tables)
        if "top" not in tables:
            return forecast
        largest = targets.amax(dim=1, keepdim=True)
        record = torch.maximum(tables["top"], largest)
        knee = record + tables["rise"]
        is_beyond = forecast > knee
        excess = torch.where(is_beyond, forecast - knee, 1.0)
        width = tables["width"]
        compressed = knee + width / (1 + width / excess)
        return torch.where(is_beyond, compressed, forecast)

    def level(
        self, forecast: Tensor, past: Tensor, known: Tensor, tables: Tables
    ) -> Tensor:
        """Set the joint forecast behind one sale after many zeros: the mean or zero."""
        n_targets = forecast.shape[-1]
        pred_len = forecast.shape[1]
        seq_len = past.shape[1]
        if "zero" not in tables or seq_len <= MANY:
            return forecast
        zero = tables["zero"]
        targets = past[..., :n_targets]
        is_sale = known & (targets != zero)
        n_known = known.sum(dim=1, keepdim=True)
        n_sales = is_sale.sum(dim=1, keepdim=True)
        # Known rows from each one on.
        n_behind = n_known - known.cumsum(dim=1) + known
        is_late = (is_sale & (n_behind <= pred_len)).any(dim=1, keepdim=True)
        is_lone = (n_sales == 1) & (n_known > MANY) & is_late
        if not self.of_mean:
            return torch.where(is_lone, zero, forecast)
        excess = torch.where(is_sale, targets - zero, 0.0).sum(dim=1, keepdim=True)
        return torch.where(is_lone, zero + excess / n_known.clamp(min=1), forecast)

    def zeros(
        self,
        forecast: Tensor,
        ahead: Tensor,
        steps: Tensor | None,
        row: Any,
        tables: Tables,
    ) -> Tensor:
        """Set the joint forecast to zero by the time, or by a column known ahead.

        ahead: (batch, pred_len, n_columns), rows to forecast, standardised.
        steps: (batch, pred_len), theirs.
        """
        for i in range(self.n_seasons):
            is_dark = _at_phases(self.get_buffer(f"dark_{i}"), row, steps)
            forecast = torch.where(is_dark, tables["zero"], forecast)
        if self.has_dates and steps is not None:
            is_closed = self._at_dates("closed_dates", row, steps)
            zero = self.get_buffer("closed_zero")[row][:, None]
            forecast = torch.where(is_closed, zero, forecast)
        if not self.closures:
            return forecast
        zero = self.get_buffer("closed_zero")[row][:, None]
        targets = list(forecast.unbind(dim=-1))
        for i, closure in enumerate(self.closures):
            is_closed = self._is_closed(i, ahead, row)
            j = closure.target
            targets[j] = torch.where(is_closed, zero[..., j], targets[j])
        return torch.stack(targets, dim=-1)

    def below_ceilings(self, values: Tensor, tables: Tables) -> Tensor:
        """Clip forecasts in units to the ceilings of rates."""
        if "ceiling" not in tables:
            return values
        ceiling = tables["ceiling"]
        return torch.where(values > ceiling, ceiling, values)


def _within_reach(
    forecast: Tensor, targets: Tensor, known: Tensor, tables: Tables
) -> Tensor:
    """Clip forecasts one and a half widths beyond what the fit and the window have seen."""
    least = targets.masked_fill(~known, torch.inf).amin(dim=1, keepdim=True)
    greatest = targets.masked_fill(~known, -torch.inf).amax(dim=1, keepdim=True)
    low = torch.minimum(tables["lowest"], least)
    high = torch.maximum(tables["highest"], greatest)
    margin = MARGIN * (high - low).clamp(min=1)
    return torch.minimum(torch.maximum(forecast, low - margin), high + margin)


def _tables(bounds: Bounds) -> dict[str, AnyArray]:
    """Return numbers of each series and target by name, as far as there are any."""
    tables: dict[str, AnyArray] = {}
    if bounds.reach is not None:
        tables["lowest"] = _with_new(bounds.reach.low, -np.inf)
        tables["highest"] = _with_new(bounds.reach.high, np.inf)
    if bounds.limits is not None:
        tables |= bounds.limits._asdict()
    if bounds.zero is not None:
        tables["zero"] = bounds.zero
    if bounds.ceilings is not None and np.isfinite(bounds.ceilings).any():
        tables["ceiling"] = bounds.ceilings
    return tables


def _with_new(table: AnyArray, value: float) -> AnyArray:
    """Append a row, of series that the fit did not hold."""
    row = np.full((1, table.shape[1]), value, dtype=table.dtype)
    return np.concatenate([table, row])


def _at_phases(table: Tensor, row: Any, steps: Any) -> Tensor:
    """Look up phases, (n_rows, season, n), at steps of windows: (batch, length, n)."""
    phase = steps % table.shape[1]
    if isinstance(row, slice):
        return table[0][phase]
    return table[row[:, None], phase]
