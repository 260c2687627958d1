"""What the linear path found: a blend of ridges as one map, the calendar, and turning maps."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from skinformer.algebra import product
from skinformer.ridge.sums import Windows, mixed_features
from skinformer.timeline.arrays import Float64Array, Floats, IntArray
from skinformer.timeline.cycle import CalendarEffect


class PhaseMaps(NamedTuple):
    """Maps that turn with the phase of a cycle, mostly the time of the day at the origin.

    A linear map with coefficients that vary, ``Σ_j φ_j(t) [r, 1] W_j`` (Hastie and Tibshirani,
    1993, Varying-coefficient models).

    places: (n_fields, 60), how cells of the calendar are numbered, see `Cells`.
    waves: (n_times, n_waves), 1, and cosines and sines of each time; a cell's number modulo
    `n_times` is its time.
    own: (seq_len, n_own), what is read of a target's distances: by each number the share of each
    row.
    others: (seq_len, n_others), what is read of those of every column that is not known ahead.
    weights: (n_targets, n_waves * (n_own + n_columns * n_others + 1), pred_len), from what is read,
    and 1, times each wave to what is added to the forecast.
    """

    places: IntArray
    waves: Floats
    own: Floats
    others: Floats
    weights: Floats

    def read(self, past: Float64Array, cell: npt.NDArray[np.integer]) -> Float64Array:
        """Lay out what the maps read of windows: (n_targets, n_windows, n_features).

        past: distances, (n_windows, seq_len, n_columns), of columns that are not known ahead.
        cell: of each origin, (n_windows,).
        """
        n, n_targets = len(past), len(self.weights)
        by_column = np.ascontiguousarray(past.transpose(2, 0, 1))
        own = product(by_column[:n_targets], self.own)
        others = product(by_column, self.others).transpose(1, 0, 2).reshape(n, -1)
        others = np.column_stack([others, np.ones(n)])
        read = np.concatenate([own, np.broadcast_to(others, (n_targets, *others.shape))], axis=2)
        waves = self.waves[cell % len(self.waves)]
        return np.asarray((waves[:, :, None] * read[:, :, None]).reshape(n_targets, n, -1))


@dataclass(frozen=True)
class LinearFit:
    """All that a linear path knows; `LinearPath` forecasts by it, and files hold it.

    ``ŷ = y_L + (y - y_L) W_own + [x - x_L, x_L, 1] W_mixed``.

    own: (n_groups, seq_len, pred_len), from a target's distances to its own future; one group is
    shared by all targets.
    mixed: (n_features, pred_len * n_targets), from the last rows of all columns, their last values
    and 1; see `mixed_features`. No features where `mixed_len` is 0.
    mixed_len: rows that `mixed` looks at.
    effect: (n_known, n_targets), what columns known ahead do to the targets of their own row,
    whatever the time; it is taken off the window and added to the forecast.
    blend: weight of each candidate.
    calendar: what calendar and columns known ahead do, in place of `effect`.
    phases: what is added to the forecast by the time of the day.
    """

    own: Floats
    mixed: Floats
    mixed_len: int
    effect: Floats
    blend: dict[str, float]
    calendar: CalendarEffect | None = None
    phases: PhaseMaps | None = None

    def blended(self, windows: Windows) -> Float64Array:
        """Forecast distances from the last values, (n, pred_len, n_targets), without `phases`."""
        shape = windows.future.shape
        by_target = windows.past[..., : shape[2]].transpose(2, 0, 1)
        out = product(np.ascontiguousarray(by_target), self.own.astype(np.float64))
        out = out.transpose(1, 2, 0)
        if self.mixed_len:
            features = mixed_features(windows, length=self.mixed_len)
            out = out + product(features, self.mixed.astype(np.float64)).reshape(shape)
        return np.asarray(out)

    def rounded(self) -> LinearFit:
        """Round maps to float32, in which they forecast."""
        phases = self.phases
        if phases is not None:
            phases = PhaseMaps(phases.places, *(x.astype(np.float32) for x in phases[1:]))
        own, mixed = self.own.astype(np.float32), self.mixed.astype(np.float32)
        effect = self.effect.astype(np.float32)
        return replace(self, own=own, mixed=mixed, effect=effect, phases=phases)


class LinearFits(NamedTuple):
    """The linear path of a fit, and what the network is trained beside.

    before: fitted before the validation split.
    final: the same blend fitted again with the split, or the first once more.
    folds: the blend learnt without the windows of one time each: where the time ends among the
    windows' times, ascending, and the fit, whose forecasts of that time are out of sample.
    """

    before: LinearFit
    final: LinearFit
    folds: tuple[tuple[int, LinearFit], ...] = ()

    def rounded(self) -> LinearFits:
        """Round all maps to float32."""
        folds = tuple((end, fit.rounded()) for end, fit in self.folds)
        return LinearFits(self.before.rounded(), self.final.rounded(), folds)
