"""What the linear path found: a blend of ridges as one map."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from skinformer.algebra import product
from skinformer.ridge.sums import Windows, mixed_features
from skinformer.timeline.arrays import Float64Array, IntArray
from skinformer.timeline.cycle import CalendarEffect

__all__ = ["LinearFit", "PhaseMaps", "mixed_rows"]


class PhaseMaps(NamedTuple):
    """Maps that turn with the phase of a cycle, mostly the time of the day at the origin.

    places: (n_fields, 60), how cells of the calendar are numbered, see `Cells`.
    waves: (n_times, n_waves), 1, and sines and cosines of each time; a cell's number modulo
    `n_times` is its time.
    own: (seq_len, n_own), what is read of a target's distances: by each number the share of each
    row.
    others: (seq_len, n_others), what is read of those of every column that is not known ahead.
    weights: (n_targets, n_waves * (n_own + n_columns * n_others + 1), pred_len), from what is read,
    and 1, times each wave to what is added to the forecast.
    """

    places: IntArray
    waves: Float64Array
    own: Float64Array
    others: Float64Array
    weights: Float64Array


class LinearFit(NamedTuple):
    """The blend as one linear map, and how it came about.

    own: (n_groups, seq_len, pred_len), from a target's distances to its own future; one group is
    shared by all targets.
    mixed: (n_features, pred_len * n_targets), from the last rows of all columns, their last values
    and 1; see `MixedSums`.
    effect: (n_known, n_targets), what columns known ahead do to the targets of their own row,
    whatever the time.
    blend: weight of each candidate.
    apart: the same blend learnt without the windows of one time each: where the time ends among the
    windows' times, ascending, and the fit, whose forecasts of that time are out of sample.
    calendar: what calendar and columns known ahead do, in place of `effect`.
    phases: what is added to the forecast by the time of the day.
    """

    own: Float64Array
    mixed: Float64Array | None
    effect: Float64Array
    blend: dict[str, float]
    apart: tuple[tuple[int, LinearFit], ...] = ()
    calendar: CalendarEffect | None = None
    phases: PhaseMaps | None = None

    def blended(self, windows: Windows) -> Float64Array:
        """Forecast distances from the last values, (n, pred_len, n_targets), without `phases`."""
        past, shape = windows.past, windows.future.shape
        seen = np.ascontiguousarray(past[..., : shape[2]].transpose(2, 0, 1))
        out: Float64Array = product(seen, self.own).transpose(1, 2, 0)
        if self.mixed is not None:
            features = mixed_features(windows, length=mixed_rows(self, past.shape[2]))
            out = out + product(features, self.mixed).reshape(shape)
        return out


def mixed_rows(fit: LinearFit, n_columns: int) -> int:
    """Tell over how many rows `mixed` looks, 0 without such a map."""
    return 0 if fit.mixed is None else (len(fit.mixed) - 1) // n_columns - 1
