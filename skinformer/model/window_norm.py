"""Normalisation of each window by its own mean and deviation, and the way back."""

from typing import NamedTuple

import torch
from torch import Tensor, nn

from skinformer.model.outputs import match_axes


class WindowStatistics(NamedTuple):
    """Mean and deviation (at least 1e-5) of the targets of windows, (batch, 1, n_targets)."""

    mean: Tensor
    scale: Tensor


class WindowNorm(nn.Module):
    """Normalise the unknown-future columns of a window by the window's own statistics.

    For series whose level or spread drifts: the model sees every window at mean 0 and
    deviation 1, and its forecast is put back with the same numbers. It has no parameters, and
    it is not the standardisation of the training data, which happens before.

    n_targets: number of target columns, the first of the input.
    n_past: number of past-only columns, right after the targets.
    may_miss: whether values may be NaN; looking for them takes longer than all the rest.

    ``z = (x - μ) / max(σ, 1e-5)``; μ and σ over the rows of the window, in float32. Columns
    known ahead, which come last, are left as they are: their future values must stay on the
    scale of their past. A masked future value, 0, stays 0 and thus means "the window's mean".
    The forecast is ``μ + max(σ, 1e-5) · ŷ``. O(length · n_inputs).

    **Shape**: input ``(batch, seq_len, n_inputs)``, output the same and `WindowStatistics`.

    Kim et al. (2022), Reversible Instance Normalization; the Informer has no such step.
    >>> norm = WindowNorm(n_targets=1, n_past=0, may_miss=False)
    >>> z, statistics = norm(torch.tensor([[[10.0], [12.0], [14.0]]]))
    >>> z.flatten()
    tensor([-1.2247,  0.0000,  1.2247])
    >>> norm.undo(z, statistics).flatten()
    tensor([10., 12., 14.])
    """

    def __init__(self, *, n_targets: int, n_past: int, may_miss: bool) -> None:
        super().__init__()
        self.may_miss = may_miss
        self.n_targets = n_targets
        self.n_columns = n_targets + n_past

    def forward(self, past: Tensor) -> tuple[Tensor, WindowStatistics]:
        """Normalise windows, (batch, seq_len, n_inputs): float32, and what `undo` needs.

        Columns are targets, past-only, known ahead; NaN, if there may be any, stays and does not
        count.
        """
        values = past[..., : self.n_columns].float()
        # Distances from the last row are exact for a constant window, whatever its level, so
        # that rounding of the mean cannot pass for a deviation.
        last = values[:, -1:]
        if self.may_miss:
            last = last.nan_to_num()
        distance = values - last
        centre = self._mean(distance)
        centred = distance - centre
        # The floor is on the variance: the root of 0 has an infinite gradient.
        floor = 1e-5
        variance = self._mean(centred.square()).clamp(min=floor**2)
        scale = variance.sqrt()
        normalised = centred / scale
        if past.shape[-1] > self.n_columns:
            known = past[..., self.n_columns :].float()
            normalised = torch.cat([normalised, known], dim=-1)
        mean = last + centre
        statistics = WindowStatistics(
            mean[..., : self.n_targets], scale[..., : self.n_targets]
        )
        return normalised, statistics

    def normalise_forecast(
        self, future: Tensor, statistics: WindowStatistics
    ) -> Tensor:
        """Normalise a forecast of the targets, the first columns, by its window.

        It is clipped to 10 deviations: those of a window that hardly moves mean nothing.
        >>> norm = WindowNorm(n_targets=1, n_past=0, may_miss=False)
        >>> _, statistics = norm(torch.tensor([[[10.0], [14.0]]]))
        >>> norm.normalise_forecast(torch.tensor([[[12.0], [16.0], [99.0]]]), statistics).tolist()
        [[[0.0], [2.0], [10.0]]]
        """
        n_targets = self.n_targets
        distance = future[..., :n_targets].float() - statistics.mean
        normalised = (distance / statistics.scale).clamp(-10, 10)
        others = future[..., n_targets:].float()
        return torch.cat([normalised, others], dim=-1)

    def _mean(self, values: Tensor) -> Tensor:
        """Average over the rows of each window, (batch, 1, n_columns); 0 where all are missing."""
        if self.may_miss:
            return values.nanmean(dim=1, keepdim=True).nan_to_num()
        return values.mean(dim=1, keepdim=True)

    def undo(
        self, forecast: Tensor, statistics: WindowStatistics, *, centre: bool = True
    ) -> Tensor:
        """Put a forecast, (batch, pred_len, n_targets, …), on the scale of its window.

        Without ``centre`` the mean is not added: a correction of another forecast has none.
        """
        scaled = forecast.float() * match_axes(statistics.scale, forecast)
        if not centre:
            return scaled
        return scaled + match_axes(statistics.mean, forecast)
