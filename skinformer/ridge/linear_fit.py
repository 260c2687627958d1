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
    waves: (n_times, n_waves), 1, and sines and cosines of each time; a cell's number modulo
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

    def n_columns(self) -> int:
        """Return for how many first columns `others` are read, by the width of the weights."""
        n_read = self.weights.shape[1] // max(self.waves.shape[1], 1) - self.own.shape[1] - 1
        n_others = self.others.shape[1]
        return n_read // n_others if n_others else len(self.weights)

    def read(self, past: Float64Array, cell: npt.NDArray[np.integer]) -> Float64Array:
        """Lay out what the maps read of windows: (n_targets, n_windows, n_features).

        past: distances, (n_windows, seq_len, n_columns), of columns that are not known ahead.
        cell: of each origin, (n_windows,).
        """
        every, n = np.ascontiguousarray(past.transpose(2, 0, 1)), len(past)
        own = product(every[: len(self.weights)], self.own)
        others = product(every, self.others).transpose(1, 0, 2).reshape(n, -1)
        others = np.concatenate([others, np.ones((n, 1))], axis=1)
        seen = np.concatenate([own, np.broadcast_to(others, (len(own), *others.shape))], axis=2)
        turned = self.waves[cell % len(self.waves)]
        return np.asarray((turned[:, :, None] * seen[:, :, None]).reshape(len(own), n, -1))


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
        past, shape = windows.past, windows.future.shape
        seen = np.ascontiguousarray(past[..., : shape[2]].transpose(2, 0, 1))
        own, mixed = (np.asarray(maps, dtype=np.float64) for maps in (self.own, self.mixed))
        out: Float64Array = product(seen, own).transpose(1, 2, 0)
        if self.mixed_len:
            features = mixed_features(windows, length=self.mixed_len)
            out = out + product(features, mixed).reshape(shape)
        return out

    def rounded(self) -> LinearFit:
        """Round maps to float32, in which they forecast."""
        own, mixed, effect = (x.astype(np.float32) for x in (self.own, self.mixed, self.effect))
        phases = self.phases
        if phases is not None:
            phases = PhaseMaps(phases.places, *(x.astype(np.float32) for x in phases[1:]))
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
