"""Ridges of each series as a torch module, on windows that are put back into their units."""

import numpy as np
import torch
from torch import Tensor, nn

from skinformer.classical.own import OwnRidge
from skinformer.ensemble.in_units import SeriesUnits
from skinformer.ensemble.own import OwnRidges
from skinformer.timeline.arrays import AnyArray


class ServedOwnRidges(nn.Module):
    """Forecast windows by ridges of each series, in float64, as `OwnRidges` does.

    member: of the fit; its scaler, with a series more for new ones, tells the units.

    **Shape**: standardised values ``(batch, look_back + pred_len, n_columns)``, those ahead zero
    but for columns known ahead; the first row with a known target ``(batch,)``; the row of each
    series in tables ``(batch,)``, or ``(1,)`` for the only one; the forecast
    ``(batch, pred_len, n_targets)``.
    >>> from skinformer import InformerRegressor
    >>> wave = np.sin(np.arange(200.0) / 4)[:, None]
    >>> model = InformerRegressor(seq_len=24, pred_len=2, members=["ridges"]).fit(wave)
    >>> member = OwnRidges.of_timeline(
    ...     model.timeline_, model.sizes_, model.scaler_, of_mean=True
    ... )
    >>> served, only = ServedOwnRidges(member), torch.zeros(1, dtype=torch.int64)
    >>> served(torch.zeros(3, member.look_back + 2, 1), torch.tensor([0, 9, 40]), only).shape
    torch.Size([3, 2, 1])
    """

    def __init__(self, member: OwnRidges) -> None:
        super().__init__()
        fit, k, n_rows = member.fit, member.n_targets, len(member.scaler.mean)
        self.seq_len, self.pred_len, self.n_targets = fit.seq_len, fit.pred_len, k
        self.ridges = nn.ModuleList(_Ridge(ridge) for ridge in fit.ridges)
        rows, logs = np.arange(n_rows), member.own_logs
        units = [SeriesUnits.of(member.scaler, rows, j, own_logs=logs) for j in range(k)]
        tables = (np.stack(columns, axis=1) for columns in zip(*units, strict=True))
        self.mean, self.deviation, self.low = map(_buffer, tables)
        # Ridges hold all series for the first target, then for the second; the last is a new one's.
        place = (n_rows - 1) * np.arange(k) + rows[:, None]
        place[-1] = (n_rows - 1) * k
        self.place, self.effect = _buffer(place), _buffer(member.effect)

    def forward(self, values: Tensor, begin: Tensor, row: Tensor) -> Tensor:
        """Forecast windows; 0, the training mean, where nothing is known."""
        first, effect = values.shape[1] - self.pred_len - self.seq_len, self._effect(values)
        past = (values[..., : self.n_targets].double() - effect)[:, first : first + self.seq_len]
        begin = (begin - first).clamp(min=0)[:, None]
        # What stands before the first known row is that row, for the logarithms' and bounds' sake.
        kept = torch.from_numpy(np.arange(self.seq_len)).maximum(begin).clamp(max=self.seq_len - 1)
        past = past.gather(1, kept[..., None].expand(-1, -1, self.n_targets)).transpose(1, 2)
        length, units = self.seq_len - begin, (self.mean[row], self.deviation[row], self.low[row])
        found = self._in_units(_raw(past, *units), length[..., None], self.place[row])
        ahead = _standardised(found, *units).transpose(1, 2) + effect[:, -self.pred_len :]
        return ahead.masked_fill(length[..., None] == 0, 0.0).float()

    def _effect(self, values: Tensor) -> Tensor:
        """Tell what columns known ahead do to the targets of each row."""
        if not len(self.effect):
            return torch.zeros_like(values[..., : self.n_targets], dtype=torch.float64)
        known = values[..., -len(self.effect) :].double()
        return known.masked_fill(known.isnan(), 0.0) @ self.effect

    def _in_units(self, past: Tensor, length: Tensor, place: Tensor) -> Tensor:
        """Forecast (batch, n_targets, seq_len), as `OwnFit.forecast` does."""
        if not len(self.ridges):
            return past[..., -1:].expand(-1, -1, self.pred_len)
        low, high = past.amin(dim=-1, keepdim=True), past.amax(dim=-1, keepdim=True)
        each = zip(*(ridge(past, length, place) for ridge in self.ridges), strict=True)
        weights, found = map(torch.stack, each)
        total = weights.sum(dim=0)
        weights = torch.cat([weights[:1].masked_fill(total == 0, 1.0), weights[1:]])
        weights = weights / weights.sum(dim=0)
        # Where a ridge does not count its exponential may be infinite.
        found = found.masked_fill(weights == 0, 0.0).mul(weights).sum(dim=0)
        ahead = torch.from_numpy(np.arange(1.0, self.pred_len + 1))
        room = (high - low) * (1 + 3 * ahead / length.clamp(min=1))
        return found.clamp(low - room, high + room)


class _Ridge(nn.Module):
    """Maps of one look-back, see `OwnRidge`."""

    def __init__(self, ridge: OwnRidge) -> None:
        super().__init__()
        self.logs, self.n_rows = ridge.logs, len(ridge.shared)
        self.shared, self.directions = _buffer(ridge.shared), _buffer(ridge.directions)
        self.own, self.weight = _buffer(ridge.own), _buffer(ridge.weight)
        self.log_shift = _buffer(ridge.log_shift)

    def forward(self, past: Tensor, length: Tensor, place: Tensor) -> tuple[Tensor, Tensor]:
        """Weigh and forecast windows, (batch, n_targets, seq_len)."""
        positive = past.amin(dim=-1, keepdim=True) > 0
        able = (length >= self.n_rows) & (positive | (not self.logs))
        weight = torch.where(able, self.weight[place][..., None].double(), 0.0)
        seen = past[..., -self.n_rows :]
        seen = torch.where(positive, seen, 1.0).log() if self.logs else seen
        middle = seen.mean(dim=-1, keepdim=True)
        seen = seen - middle
        read = (seen @ self.directions)[..., None, :] @ self.own[place].double()
        found = middle + seen @ self.shared + read.squeeze(-2)
        if not self.logs:
            return weight, found
        found = found.clamp(middle - 30, middle + 30) + self.log_shift[place][..., None]
        return weight, found.exp()


def _raw(values: Tensor, mean: Tensor, deviation: Tensor, low: Tensor) -> Tensor:
    """Undo standardising, as `SeriesUnits.raw` does."""
    values = values * deviation + mean
    zero = values.abs() < 1e-6 * (mean.abs() + deviation)
    return torch.where(low.isnan(), values.masked_fill(zero, 0.0), values.exp())


def _buffer(array: AnyArray) -> Tensor:
    return nn.Buffer(torch.tensor(array))


def _standardised(values: Tensor, mean: Tensor, deviation: Tensor, low: Tensor) -> Tensor:
    logs = torch.where(values < low, low, values).log()
    return (torch.where(low.isnan(), values, logs) - mean) / deviation
