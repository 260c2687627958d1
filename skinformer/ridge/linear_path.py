"""The linear path as a module of torch: what was found in closed form; nothing is trained."""

from collections.abc import Mapping
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from skinformer.algebra import tensor_of
from skinformer.ridge.linear_fit import LinearFit
from skinformer.timeline.cycle import number_cells


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
        self.fit = fit
        self.mixed_len = fit.mixed_len
        self.n_known, self.n_targets = fit.effect.shape
        self.calendar = None if fit.calendar is None else _Calendar(fit.calendar)
        self.phases = None if fit.phases is None else Phases(fit.phases)
        self.roots = None if fit.roots is None else _Buffers(fit.roots)
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
            past = self.seen(self.in_roots(past))
            future = self.seen(future)
            # 1. Take off what calendar and columns known ahead do.
            effect = self._effect(past, past_calendar)
            targets, others = past.tensor_split([self.n_targets], dim=-1)
            rest = torch.cat([targets - effect, others], dim=-1)
            # 2. Map distances from the last value.
            last = rest[:, -1:]
            distance = rest - last
            mapped = self.map_distances(distance, last[:, 0])
            forecast = last[..., : self.n_targets] + mapped
            forecast = forecast + self._turned(distance, future_calendar)
            # 3. Add what they do ahead.
            forecast = forecast + self._effect(future, future_calendar)
            return (
                forecast if self.roots is None else self.roots.record.squared(forecast)
            )

    def in_roots(self, past: Tensor) -> Tensor:
        """Take the roots of targets, the first columns of a window, that are forecast by these."""
        if self.roots is None:
            return past
        targets, others = past.tensor_split([self.n_targets], dim=-1)
        return torch.cat([self.roots.record.of(targets.float()), others], dim=-1)

    def seen(self, values: Tensor) -> Tensor:
        """Fill NaN by the mean, and clip columns known ahead to what a `calendar` has seen."""
        values = values.float().nan_to_num()
        return values if self.calendar is None else self.calendar.within(values)

    def map_distances(self, distance: Tensor, last: Tensor) -> Tensor:
        """Forecast distances from the last values, (batch, pred_len, n_targets), without `phases`.

        Maps to the left, windows as columns: then a product rounds the same wherever in the batch a
        window stands, which rows of a product do not.

        distance: windows less their last values, (batch, seq_len, n_inputs).
        last: the last values, (batch, n_inputs).
        """
        own = self.own.mT
        by_target = distance[:, -own.shape[2] :, : self.n_targets].permute(2, 1, 0)
        forecast = (own @ by_target).permute(2, 1, 0)
        if self.mixed_len:
            recent = distance[:, -self.mixed_len :].flatten(1)
            features = torch.cat([recent, last, torch.ones_like(last[:, :1])], dim=1)
            mixed = self.mixed.T @ features.T  # (pred_len · n_targets, batch)
            forecast = forecast + mixed.T.reshape(forecast.shape)
        return forecast

    def _turned(self, distance: Tensor, calendar: Tensor | None) -> Tensor | float:
        """Map distances by the time of the day of the first step ahead; 0 without a calendar."""
        if self.phases is None or calendar is None:
            return 0.0
        return self.phases(
            distance[..., : distance.shape[-1] - self.n_known], calendar[:, 0]
        )

    def _effect(self, values: Tensor, calendar: Tensor | None) -> Tensor:
        """Return the effect of calendar and columns known ahead on some steps."""
        known = values[..., values.shape[-1] - self.n_known :]
        if self.calendar is not None and calendar is not None:
            return self.calendar(known, calendar)
        return known @ self.effect


class _Buffers(nn.Module):
    """A record of arrays, which are buffers here: they share memory where they are of float32."""

    def __init__(self, record: Any) -> None:
        super().__init__()
        self._given = record
        _keep(self, record._asdict())

    @property
    def record(self) -> Any:
        """The record, with tensors in place of arrays."""
        return self._given._replace(**dict(self.named_buffers(recurse=False)))


class _Calendar(_Buffers):
    """A `CalendarEffect`.

    Every number is made of its own step alone, element by element, so that it is the same in any
    batch.
    """

    def forward(self, known: Tensor, categories: Tensor) -> Tensor:
        """Return the effect on each step, (batch, length, n_targets).

        known: standardised, without NaN, (batch, length, n_known).
        categories: calendar fields first, (batch, length, n_categories), int64.
        """
        effect = self.record
        added: Tensor = effect.of_rows(known, number_cells(effect.places, categories))
        return added

    def within(self, values: Tensor) -> Tensor:
        """Clip columns known ahead, the last of (…, n_inputs), to what was seen."""
        effect = self.record
        n_known = effect.known.shape[1]
        others, known = values.tensor_split([values.shape[-1] - n_known], dim=-1)
        low, high = effect.bounds
        return torch.cat([others, known.clamp(low, high)], dim=-1)


class Phases(_Buffers):
    """`PhaseMaps` as a module.

    >>> from skinformer.ridge.linear_fit import PhaseMaps
    >>> one = np.ones((1, 1), np.float32)
    >>> nothing = np.zeros((1, 0), np.float32)
    >>> places = np.zeros((1, 60), np.int64)
    >>> maps = PhaseMaps(places, one, one, nothing, np.ones((1, 2, 1), np.float32))
    >>> Phases(maps)(torch.tensor([[[2.0]]]), torch.tensor([[0]])).item()
    3.0
    """

    def forward(self, distance: Tensor, categories: Tensor) -> Tensor:
        """Return what is added to forecasts, (batch, pred_len, n_targets).

        distance: windows less their last values, without columns known ahead, (batch, seq_len,
        n_columns).
        categories: calendar fields first, of the first step of the forecast, (batch, n_categories).
        """
        maps = self.record
        features = self.read(distance, number_cells(maps.places, categories))
        added: Tensor = maps.weights.mT @ features
        return added.permute(2, 1, 0)

    def read(self, distance: Tensor, cell: Tensor) -> Tensor:
        """Lay out what the maps read of windows, (n_targets, n_features, batch).

        Maps to the left, windows as columns, as in `LinearPath`.

        cell: of each origin, (batch,).
        """
        maps = self.record
        n_targets = len(maps.weights)
        waves = maps.waves[cell % len(maps.waves)].T
        by_column = distance[:, -len(maps.own) :].permute(2, 1, 0)
        own = maps.own.T @ by_column[:n_targets]
        others = (maps.others.T @ by_column).flatten(0, 1)
        others = torch.cat([others, torch.ones_like(by_column[0, :1])])
        read = torch.cat([own, others.expand(n_targets, -1, -1)], dim=1)
        return (waves[:, None] * read[:, None]).flatten(1, 2)


def _keep(module: nn.Module, found: Mapping[str, object]) -> None:
    """Register arrays as buffers, of float32 where they hold no whole numbers."""
    for name, array in found.items():
        if isinstance(array, np.ndarray):
            tensor = tensor_of(array)
            if tensor.is_floating_point():
                tensor = tensor.float()
            module.register_buffer(name, tensor)
