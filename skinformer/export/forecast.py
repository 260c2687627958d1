"""The module that is exported: raw windows in, forecasts in units out, with nothing outside."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from skinformer.ensemble.building import ModelSizes
from skinformer.export.bounds import ExportedBounds
from skinformer.export.units import MonthFactors, OwnSize, Tables, Units
from skinformer.model.corrected import correct
from skinformer.timeline.arrays import Float64Array


class ExportedForecast(nn.Module):
    """Forecast windows of raw values: scaling, members and their weights in one.

    Numbers equal those of `predict` for a frame that holds the window and nothing before it.

    members: modules by name, as `Member.export` gives them; what one corrects stands before it.
    bases: the member that each corrects, or None.
    weights: of members by name, (n_series, 1 or pred_len, n_targets); they add up to 1.
    units, bounds: of the fit.
    months: what months do to targets; None for nothing.
    own_size: of new series; None where there are none.
    sizes: of the fit. Covariates that may miss are NaN to the network; else they are held at their
    last value.

    Missing values, NaN, count as in `predict`: before the first known value of a column stands
    its training mean, covariates are held at their last value, and rows before the first known
    target that say nothing else are rows before the series began. A target that is missing
    after a known one, or throughout, is a gap that an earlier forecast has to fill (`fed_back`):
    all forecasts of such a window are NaN.

    **Shape**: see `forward`.
    >>> from skinformer.bounds.bounds import Bounds
    >>> from skinformer.cleaning.closures import Closures
    >>> from skinformer.timeline.scaling import Scaler
    >>> from skinformer.timeline.target_scale import TargetScale
    >>> class Last(nn.Module):
    ...     def forward(self, past, future, *times):
    ...         return past[:, -1:]
    >>> one = np.ones((1, 1))
    >>> targets = TargetScale(floor=-one, low=one, logs=one < 0, smear=0 * one)
    >>> sizes = ModelSizes(1, 0, 0, 0, 0, (), seq_len=2, pred_len=1, patch_len=1)
    >>> graph = ExportedForecast(
    ...     {"last": Last()},
    ...     bases={"last": None},
    ...     weights={"last": one[None]},
    ...     units=Units(Scaler(7 * one, 2 * one, targets)),
    ...     bounds=ExportedBounds(Bounds(), Closures(), n_rows=1, of_mean=True),
    ...     sizes=sizes,
    ... )
    >>> graph(torch.tensor([[[torch.nan], [11.0]], [[11.0], [torch.nan]]]))[0].flatten().tolist()
    [11.0, nan]
    """

    members: Any

    def __init__(
        self,
        members: Mapping[str, nn.Module],
        *,
        bases: Mapping[str, str | None],
        weights: Mapping[str, Float64Array],
        units: Units,
        bounds: ExportedBounds,
        sizes: ModelSizes,
        months: MonthFactors | None = None,
        own_size: OwnSize | None = None,
    ) -> None:
        super().__init__()
        self.members = nn.ModuleDict(members)
        self.bases = bases
        self.weights = nn.ParameterDict()
        for name, table in weights.items():
            self.weights[name] = torch.tensor(table)
        self.units = units
        self.bounds = bounds
        self.sizes = sizes
        self.months = months
        self.own_size = own_size

    def forward(
        self,
        past: Tensor,
        future: Tensor | None = None,
        series: Tensor | None = None,
        calendar: Tensor | None = None,
        steps: Tensor | None = None,
        months: Tensor | None = None,
    ) -> tuple[Tensor, Tensor]:
        """Forecast a batch of windows.

        past: (batch, seq_len, n_columns), targets, past-only columns and columns known ahead, in
        units; NaN is missing.
        future: (batch, pred_len, n_known), columns known ahead in the steps to forecast, if there
        are any.
        series: (batch,), the number of each window's series, of a panel; any other number is a new
        one.
        calendar: (batch, seq_len + pred_len, n_fields), calendar fields, counted from 0.
        steps: (batch, seq_len + pred_len), steps on the wall from the first row of the fit on.
        months: (batch, seq_len + pred_len), kinds of months: seven times the days beyond 28, and
        the weekday of the first one, from 0 for Monday on.

        Forecasts, (batch, pred_len, n_targets), float64, are in the targets' units. Beside them is
        what stands in a later `past` for a truth that is missing: another number only where
        logarithms or bounds are between.
        """
        row = self.units.row(series)
        if self.months is None:
            return self._forecast(past, future, calendar, steps, row)
        n_targets = self.sizes.n_targets
        before, ahead = self._split(self.months(months, row))
        comparable = torch.cat(
            [past[..., :n_targets] / before, past[..., n_targets:]], dim=-1
        )
        forecast, fed_back = self._forecast(comparable, future, calendar, steps, row)
        return forecast * ahead, fed_back * ahead

    def _forecast(
        self,
        past: Tensor,
        future: Tensor | None,
        calendar: Tensor | None,
        steps: Tensor | None,
        row: Any,
    ) -> tuple[Tensor, Tensor]:
        """Forecast windows of rows that months do nothing to, see `forward`."""
        units = self.units.of_windows(row)
        bounds = self.bounds.of_windows(row)
        n_targets = self.sizes.n_targets
        # 1. Rows of the window and ahead, as a fit sees them.
        rows = self._standardise(past, future, units)
        rows = self._without_closures(rows, steps, row)
        known = ~rows[:, : self.sizes.seq_len, :n_targets].isnan()
        rows, lost = self._fill(rows)
        window, ahead = self._split(rows)
        gain, shift = self._size_of(window, known, row)
        window = self._resize(window, known, gain, shift)
        # 2. Forecasts of all members, near what was seen, and weighted.
        found = self._predict(window, ahead, self._categories(calendar, row))
        mean = self._weigh(self._limit(found, window, known, bounds), row)
        # 3. The joint forecast within all bounds, in units.
        mean = self.bounds.level(mean, window, known, bounds)
        mean = ((mean - shift) / gain).float()
        steps_ahead = None if steps is None else steps[:, self.sizes.seq_len :]
        open_or_zero = self.bounds.zeros(mean, ahead, steps_ahead, row, bounds)
        unbounded, _ = self.units.restore(open_or_zero, units)
        forecast = self.bounds.below_ceilings(unbounded, bounds)
        _, fed_back = self.units.restore(mean, units)
        return (
            forecast.masked_fill(lost, torch.nan),
            fed_back.masked_fill(lost, torch.nan),
        )

    def _standardise(
        self, past: Tensor, future: Tensor | None, units: Tables
    ) -> Tensor:
        """Standardise the window and the steps ahead, where unknown columns are 0."""
        sizes = self.sizes
        n_unknown = sizes.n_targets + sizes.n_past
        window = self.units.standardise(past, units, first=0)
        ahead = window.new_zeros(past.shape[0], sizes.pred_len, n_unknown)
        if future is not None:
            known = self.units.standardise(future, units, first=n_unknown)
            ahead = torch.cat([ahead, known], dim=-1)
        return torch.cat([window, ahead], dim=1)

    def _without_closures(self, rows: Tensor, steps: Tensor | None, row: Any) -> Tensor:
        """Take zeros of the window that a closure explains as missing."""
        if steps is None:
            return rows
        sizes = self.sizes
        window, ahead = self._split(rows)
        window = self.bounds.without_closures(
            window, steps[:, : sizes.seq_len], row, sizes.n_targets
        )
        return torch.cat([window, ahead], dim=1)

    def _fill(self, rows: Tensor) -> tuple[Tensor, Tensor]:
        """Fill in missing values: the mean before a series began, then the last value.

        Covariates that may miss stay NaN. Return also which windows have a gap, (batch, 1, 1).
        """
        sizes = self.sizes
        targets = rows[..., : sizes.n_targets]
        covariates = rows[..., sizes.n_targets :]
        held_targets, unknown = _hold(targets)
        # Before a series began there are neither targets so far nor varying covariates.
        missing = covariates.isnan()
        n_varying = sizes.n_past + sizes.n_known - sizes.n_static
        varying_missing = missing[..., :n_varying]
        is_empty = varying_missing.all(dim=-1, keepdim=True)
        is_before = unknown.all(dim=-1, keepdim=True) & is_empty
        if not sizes.may_miss:
            covariates, _ = _hold(covariates)
        covariates = covariates.masked_fill(missing & is_before, 0.0)
        filled = torch.cat([held_targets, covariates], dim=-1)
        return filled, self._has_gap(targets, unknown)

    def _size_of(self, window: Tensor, known: Tensor, row: Any) -> Sequence[Tensor]:
        """Return by what targets of windows are multiplied, and what is added to them."""
        if self.own_size is None:
            one = window.new_ones(1, 1, 1)
            return one, 0 * one
        return self.own_size(window[..., : self.sizes.n_targets], known, row)

    def _resize(
        self, window: Tensor, known: Tensor, gain: Tensor, shift: Tensor
    ) -> Tensor:
        """Multiply targets of windows and add to them, from their first known row on."""
        n_targets = self.sizes.n_targets
        targets = window[..., :n_targets]
        has_begun = known.any(dim=2, keepdim=True).cumsum(dim=1) > 0
        resized = torch.where(has_begun, (targets * gain + shift).float(), targets)
        return torch.cat([resized, window[..., n_targets:]], dim=-1)

    def _has_gap(self, targets: Tensor, unknown: Tensor) -> Tensor:
        """Whether a window misses a target after a known one, or throughout, (batch, 1, 1)."""
        never_known = unknown[:, self.sizes.seq_len - 1].any(dim=1)
        gap = targets.isnan() & ~unknown
        lost = never_known | gap.flatten(1).any(dim=1)
        return lost[:, None, None]

    def _split(self, rows: Tensor) -> Sequence[Tensor]:
        """Split rows into those of the window and those ahead."""
        lengths = [self.sizes.seq_len, self.sizes.pred_len]
        return torch.split(rows, lengths, dim=1)

    def _predict(
        self, window: Tensor, ahead: Tensor, categories: Sequence[Tensor | None]
    ) -> dict[str, Tensor]:
        """Forecast by all members, each after the one that it corrects."""
        found = {}
        for name, module in self.members.items():
            base = self.bases[name]
            if base is None:
                found[name] = module(window, ahead, *categories)
            else:
                found[name] = correct(module, found[base], window, ahead, *categories)
        return found

    def _categories(self, calendar: Tensor | None, row: Any) -> Sequence[Tensor | None]:
        """Return the categories of past and future steps."""
        sizes = self.sizes
        categories = []
        if calendar is not None:
            categories.append(calendar)
        if sizes.n_series:
            length = sizes.seq_len + sizes.pred_len
            series = row[:, None, None].expand(-1, length, 1)
            categories.append(series)
        if not categories:
            return None, None
        joined = torch.cat(categories, dim=-1)
        return self._split(joined)

    def _limit(
        self, found: dict[str, Tensor], window: Tensor, known: Tensor, bounds: Any
    ) -> dict[str, Tensor]:
        """Keep forecasts of members that are weighted near what was seen."""
        return {
            name: self.bounds.limit(found[name], window, known, bounds)
            for name in self.weights
        }

    def _weigh(self, found: dict[str, Tensor], row: Any) -> Tensor:
        """Compute the weighted mean of the forecasts of members."""
        weighted = [
            weights[row] * found[name] for name, weights in self.weights.items()
        ]
        mean = torch.stack(weighted).sum(dim=0)
        return mean.float()


def _hold(rows: Tensor) -> tuple[Tensor, Tensor]:
    """Hold each column at its last value, 0 before the first one; and find where that is."""
    is_known = ~rows.isnan()
    n_known = is_known.cumsum(dim=1)
    number = torch.from_numpy(np.arange(rows.shape[1]))
    # The numbers of known rows, ascending: a graph has no running maximum.
    known_rows = torch.where(is_known, number[:, None], number[-1])
    ascending, _ = known_rows.sort(dim=1)
    place = (n_known - 1).clamp(min=0)
    last_known = ascending.gather(1, place)
    held = rows.gather(1, last_known)
    unknown = n_known == 0
    held = held.masked_fill(unknown, 0.0)
    return held, unknown
