"""The module that is exported: raw windows in, forecasts in units out, with nothing outside."""

from collections.abc import Mapping
from typing import cast

import numpy as np
import torch
from torch import Tensor, nn

from skinformer.ensemble.building import ModelSizes
from skinformer.export.units import Units
from skinformer.model.corrected import correct
from skinformer.model.informer import Informer
from skinformer.timeline.arrays import Float64Array


class ExportedForecast(nn.Module):
    """Forecast windows of raw values: scaling, members and their weights in one.

    Numbers equal those of `predict` for a frame that holds the window and nothing before it.

    members: modules by name, as `Member.export` gives them; what one corrects stands before it.
    bases: the member that each corrects, or None.
    weights: of members by name, (n_series, 1 or pred_len, n_targets); they add up to 1.
    units: of the fit.
    sizes: of the fit. Covariates that may miss are NaN to the network; else they are held at their
    last value.

    Missing values, NaN, count as in `predict`: before the first known value of a column stands
    its training mean, covariates are held at their last value, and rows before the first known
    target that say nothing else are rows before the series began. A target that is missing
    after a known one, or throughout, is a gap that an earlier forecast has to fill (`fed_back`):
    all forecasts of such a window are NaN.

    **Shape**: see `forward`.
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
    ...     sizes=sizes,
    ... )
    >>> graph(torch.tensor([[[torch.nan], [11.0]], [[11.0], [torch.nan]]]))[0].flatten().tolist()
    [11.0, nan]
    """

    def __init__(
        self,
        members: Mapping[str, nn.Module],
        *,
        bases: Mapping[str, str | None],
        weights: Mapping[str, Float64Array],
        units: Units,
        sizes: ModelSizes,
    ) -> None:
        super().__init__()
        self.members = nn.ModuleDict(members)
        self.bases = dict(bases)
        self.weights = nn.ParameterDict(
            {n: torch.tensor(each) for n, each in weights.items()}
        )
        self.units = units
        self.sizes = sizes

    def forward(
        self,
        past: Tensor,
        future: Tensor | None = None,
        series: Tensor | None = None,
        calendar: Tensor | None = None,
    ) -> tuple[Tensor, Tensor]:
        """Forecast a batch of windows.

        past: (batch, seq_len, n_columns), targets, past-only columns and columns known ahead, in
        units; NaN is missing.
        future: (batch, pred_len, n_known), columns known ahead in the steps to forecast, if there
        are any.
        series: (batch,), the number of each window's series, of a panel; any other number is a new
        one.
        calendar: (batch, seq_len + pred_len, n_fields), calendar fields, counted from 0.

        Forecasts, (batch, pred_len, n_targets), float64, are in the targets' units. Beside them is
        what stands in a later `past` for a truth that is missing: another number only where
        logarithms or bounds are between.
        """
        n_targets = self.sizes.n_targets
        values = self.units.standardise(past, series, first=0)
        absent = past.isnan()
        targets, unknown = _held(values[..., :n_targets], absent[..., :n_targets])
        gap = absent[..., :n_targets] & ~unknown
        no_forecast = gap.flatten(1).any(dim=1) | unknown[:, -1].any(dim=1)
        window, ahead = self._rows(values, absent, targets, unknown, future, series)

        mixed = self._mixed(window, ahead, self._categories(calendar, series), series)
        forecast, fed_back = self.units.restore(mixed, series)
        lost = no_forecast[:, None, None]
        return forecast.masked_fill(lost, torch.nan), fed_back.masked_fill(
            lost, torch.nan
        )

    def _rows(
        self,
        values: Tensor,
        absent: Tensor,
        targets: Tensor,
        unknown: Tensor,
        future: Tensor | None,
        series: Tensor | None,
    ) -> tuple[Tensor, Tensor]:
        """Return standardised rows of the window and ahead, as a fit sees them."""
        sizes = self.sizes
        first_known = sizes.n_targets + sizes.n_past
        n_varying = first_known + sizes.n_known - sizes.n_static
        before = unknown.all(dim=-1) & absent[..., sizes.n_targets : n_varying].all(
            dim=-1
        )

        columns = slice(sizes.n_targets, first_known)
        past = self._covariates(values[..., columns], absent[..., columns], before)
        window = torch.cat([targets, past], dim=-1)
        ahead = values.new_zeros(values.shape[0], sizes.pred_len, first_known)
        if future is None:
            return window, ahead
        # Columns known ahead, of both.
        standardised = self.units.standardise(future, series, first=first_known)
        known = torch.cat([values[..., first_known:], standardised], dim=1)
        missing = torch.cat([absent[..., first_known:], future.isnan()], dim=1)
        not_before = torch.zeros_like(missing[:, sizes.seq_len :, 0])
        known = self._covariates(known, missing, torch.cat([before, not_before], dim=1))
        window = torch.cat([window, known[:, : sizes.seq_len]], dim=-1)
        return window, torch.cat([ahead, known[:, sizes.seq_len :]], dim=-1)

    def _covariates(self, values: Tensor, absent: Tensor, before: Tensor) -> Tensor:
        """Hold covariates, or leave them missing; the mean before a series began."""
        may_miss = self.sizes.may_miss
        held = (
            values.masked_fill(absent, torch.nan)
            if may_miss
            else _held(values, absent)[0]
        )
        return held.masked_fill(absent & before[..., None], 0.0)

    def _mixed(
        self,
        window: Tensor,
        ahead: Tensor,
        categories: tuple[Tensor | None, Tensor | None],
        series: Tensor | None,
    ) -> Tensor:
        """Forecast by all members, limit each, and weigh them."""
        found: dict[str, Tensor] = {}
        for name, module in self.members.items():
            base = self.bases[name]
            if base is None:
                found[name] = module(window, ahead, *categories)
            else:
                network = cast(Informer, module)
                found[name] = correct(network, found[base], window, ahead, *categories)
        weighted = []
        for name, weights in self.weights.items():
            limited = self.units.limit(found[name], window, series)
            weighted.append(self.units.row(weights, series) * limited)
        return torch.stack(weighted).sum(dim=0).float()

    def _categories(
        self, calendar: Tensor | None, series: Tensor | None
    ) -> tuple[Tensor | None, Tensor | None]:
        """Return the categories of past and future steps."""
        sizes = self.sizes
        categories = [] if calendar is None else [calendar]
        if series is not None and sizes.n_series:
            number = self.units.row(torch.arange(len(self.units.mean)), series)
            length = sizes.seq_len + sizes.pred_len
            categories.append(number[:, None, None].expand(-1, length, 1))
        if not categories:
            return None, None
        joined = torch.cat(categories, dim=-1)
        return joined[:, : sizes.seq_len], joined[:, sizes.seq_len :]


def _held(values: Tensor, absent: Tensor) -> tuple[Tensor, Tensor]:
    """Hold each column at its last value, 0 before the first one; and find where that is."""
    count = (~absent).cumsum(dim=1)
    row = torch.from_numpy(np.arange(values.shape[1]))
    # The numbers of known rows, ascending: a graph has no running maximum.
    known = torch.where(absent, row[-1], row[:, None]).sort(dim=1)[0]
    held = values.gather(1, known.gather(1, (count - 1).clamp(min=0)))
    return held.masked_fill(count == 0, 0.0), count == 0
