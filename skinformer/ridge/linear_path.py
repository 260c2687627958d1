"""The linear path as a module of torch: what was found in closed form; nothing is trained."""

from collections.abc import Mapping

import numpy as np
import torch
from torch import Tensor, nn

from skinformer.algebra import tensor_of
from skinformer.ridge.linear_fit import LinearFit, PhaseMaps
from skinformer.timeline.cycle import CalendarEffect, number_cells


class LinearPath(nn.Module):
    """Forecast by a `LinearFit`; the network corrects it.

    Its numbers are buffers, in float32: gradient steps on its many weights would leave the ridge's
    solution for one that fits the training rows better and others worse.

    >>> nothing = np.zeros((0, 1))
    >>> path = LinearPath(LinearFit(np.zeros((1, 3, 2)), nothing, 0, nothing, {}))
    >>> path(torch.tensor([[[1.0], [2.0], [5.0]]]), torch.zeros(1, 2, 1)).flatten().tolist()
    [5.0, 5.0]
    """

    own: Tensor
    mixed: Tensor
    effect: Tensor

    def __init__(self, fit: LinearFit) -> None:
        super().__init__()
        self.fit, self.mixed_len = fit, fit.mixed_len
        self.n_known, self.n_targets = fit.effect.shape
        self.calendar = None if fit.calendar is None else _Calendar(fit.calendar)
        self.phases = None if fit.phases is None else _Phases(fit.phases)
        _keep(self, {"own": fit.own, "mixed": fit.mixed, "effect": fit.effect})

    def forward(
        self,
        past: Tensor,
        future: Tensor,
        past_calendar: Tensor | None = None,
        future_calendar: Tensor | None = None,
    ) -> Tensor:
        """Forecast windows, (batch, pred_len, n_targets), float32; NaN counts as the mean.

        past, future: standardised, (batch, length, n_inputs); of the future only columns known
        ahead, the last ones, are read.
        past_calendar, future_calendar: as of `Informer`, for `calendar` and `phases`.
        """
        with torch.autocast(past.device.type, enabled=False):
            past, future = (self.seen(x.float().nan_to_num()) for x in (past, future))
            return self._mapped(past, future, past_calendar, future_calendar)

    def seen(self, values: Tensor) -> Tensor:
        """Clip columns known ahead to what a `calendar` has seen."""
        return values if self.calendar is None else self.calendar.within(values)

    def _mapped(
        self,
        past: Tensor,
        future: Tensor,
        past_calendar: Tensor | None,
        future_calendar: Tensor | None,
    ) -> Tensor:
        targets = slice(self.n_targets)
        own = self.own.transpose(1, 2)
        taken_off = self._effect(past, past_calendar)
        if taken_off is not None:
            remain = past[..., targets] - taken_off
            past = torch.cat([remain, past[..., self.n_targets :]], dim=-1)
        last = past[:, -1:]  # (batch, 1, n_inputs)
        distance = past - last
        # Maps to the left, windows as columns: then a product rounds the same wherever in the
        # batch a window stands, which rows of a product do not.
        seen = distance[:, -own.shape[2] :, targets].permute(2, 1, 0)
        ahead = own @ seen  # (n_targets, pred_len, batch)
        forecast = last[..., targets] + ahead.permute(2, 1, 0)
        if self.mixed_len:
            recent = distance[:, -self.mixed_len :].flatten(1)
            ones = last.new_ones((last.shape[0], 1))
            features = torch.cat([recent, last[:, 0], ones], dim=1)
            mixed = self.mixed.T @ features.T  # (pred_len · n_targets, batch)
            forecast = forecast + mixed.T.reshape(forecast.shape)
        if self.phases is not None and future_calendar is not None:
            forecast = forecast + self.phases(distance, future_calendar[:, 0])
        added = self._effect(future, future_calendar)
        return forecast if added is None else forecast + added

    def _effect(self, values: Tensor, calendar: Tensor | None) -> Tensor | None:
        """Return the effect of columns known ahead on some steps; None where there is none."""
        known = values[..., values.shape[-1] - self.n_known :]
        if self.calendar is not None and calendar is not None:
            effect: Tensor = self.calendar(known, calendar)
            return effect
        return known @ self.effect if self.n_known else None


class _Calendar(nn.Module):
    """A `CalendarEffect`.

    Every number is made of its own step alone, element by element, so that it is the same in any
    batch.
    """

    places: Tensor
    level: Tensor
    known: Tensor
    bounds: Tensor
    year: Tensor

    def __init__(self, effect: CalendarEffect) -> None:
        super().__init__()
        _keep(self, effect._asdict())

    def forward(self, known: Tensor, categories: Tensor) -> Tensor:
        """Return the effect on each step, (batch, length, n_targets).

        known: standardised, without NaN, (batch, length, n_known).
        categories: calendar fields first, (batch, length, n_categories), int64.
        """
        cell = number_cells(self.places, categories)
        out = self.level[cell % len(self.level)]
        if len(self.year):
            time = cell % self.year.shape[1]
            out = out + self.year[cell // len(self.level), time]
        table = self.known
        if not table.shape[1]:
            return out
        if len(table) == 1:  # of many columns and targets: their products at once would be too many
            for column, effect in zip(known.unbind(-1), table[0], strict=True):
                out = out + column[..., None] * effect
        else:
            out = out + (known[..., None] * table[cell % len(table)]).sum(dim=-2)
        return out

    def within(self, values: Tensor) -> Tensor:
        """Clip columns known ahead, the last of (…, n_inputs), to what was seen."""
        n_known = self.known.shape[1]
        if not n_known:
            return values
        low, high = self.bounds
        known = values[..., -n_known:].clamp(low, high)
        return torch.cat([values[..., :-n_known], known], dim=-1)


class _Phases(nn.Module):
    """`PhaseMaps`."""

    places: Tensor
    waves: Tensor
    own: Tensor
    others: Tensor
    weights: Tensor

    def __init__(self, maps: PhaseMaps) -> None:
        super().__init__()
        self.n_columns = maps.n_columns()
        _keep(self, maps._asdict())

    def forward(self, distance: Tensor, categories: Tensor) -> Tensor:
        """Return what is added to forecasts, (batch, pred_len, n_targets).

        distance: windows less their last values, (batch, seq_len, n_inputs).
        categories: calendar fields first, of the first step of the forecast, (batch, n_categories).
        """
        cell = number_cells(self.places, categories)
        waves = self.waves[cell % len(self.waves)]
        maps = self.own, self.others, self.weights
        own, others, weights = (x.mT for x in maps)
        # Maps to the left, windows as columns, as in `LinearPath`.
        every = distance[:, -own.shape[1] :, : self.n_columns].permute(2, 1, 0)
        shared = (others @ every).flatten(0, 1)
        shared = torch.cat([shared, torch.ones_like(every[0, :1])])
        read = own @ every[: len(weights)]
        read = torch.cat([read, shared.expand(len(weights), -1, -1)], dim=1)
        turned = (waves.T[:, None] * read[:, None]).flatten(1, 2)
        added: Tensor = weights @ turned
        return added.permute(2, 1, 0)


def _keep(module: nn.Module, found: Mapping[str, object]) -> None:
    """Register arrays as buffers, which share memory with them where they are of float32."""
    for name, array in found.items():
        if isinstance(array, np.ndarray):
            tensor = tensor_of(array)
            module.register_buffer(name, tensor.float() if tensor.is_floating_point() else tensor)
