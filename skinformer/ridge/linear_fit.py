"""What the linear path found: a blend of ridges as one map, the calendar, and turning maps."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np

from skinformer.ridge.roots import Roots
from skinformer.timeline.arrays import BoolArray, Float32Array, IntArray
from skinformer.timeline.cycle import CalendarEffect


class PhaseMaps(NamedTuple):
    """Maps that turn with the phase of a cycle, mostly the time of the day at the origin.

    A linear map with coefficients that vary, ``Σ_j φ_j(t) [r, 1] W_j`` (Hastie and Tibshirani,
    1993, Varying-coefficient models).

    places: (n_fields, 60), how cells of the calendar are numbered, see `Cycle`.
    waves: (n_times, n_waves), 1, and cosines and sines of each time; a cell's number modulo
    `n_times` is its time.
    own: (seq_len, n_own), what is read of a target's distances: by each number the share of each
    row.
    others: (seq_len, n_others), what is read of those of every column that is not known ahead.
    weights: (n_targets, n_waves * (n_own + n_columns * n_others + 1), pred_len), from what is read,
    and 1, times each wave to what is added to the forecast.
    """

    places: IntArray
    waves: Float32Array
    own: Float32Array
    others: Float32Array
    weights: Float32Array


@dataclass(frozen=True)
class LinearFit:
    """All that a linear path knows, in float32; `LinearPath` forecasts by it, and files hold it.

    ``ŷ = y_L + (y - y_L) W_own + [x - x_L, x_L, 1] W_mixed``.

    own: (n_groups, seq_len, pred_len), from a target's distances to its own future; one group is
    shared by all targets.
    mixed: (n_features, pred_len * n_targets), from the last rows of all columns, their last values
    and 1; see `mixed_features`. No features where `mixed_len` is 0.
    mixed_len: rows that `mixed` looks at.
    effect: (n_known, n_targets), what columns known ahead do to the targets of their own row,
    whatever the time; it is taken off the window and added to the forecast.
    blend: weight of each candidate, the mean of all targets.
    calendar: what calendar and columns known ahead do, in place of `effect`.
    phases: what is added to the forecast by the time of the day.
    roots: targets whose square roots all of this is about; None where there are none.
    """

    own: Float32Array
    mixed: Float32Array
    mixed_len: int
    effect: Float32Array
    blend: dict[str, float]
    calendar: CalendarEffect | None = None
    phases: PhaseMaps | None = None
    roots: Roots | None = None


def is_near(borders: IntArray, times: IntArray, pred_len: int) -> BoolArray:
    """Return which windows share truths with windows on the other side of a border in time.

    >>> is_near(np.array([10]), np.arange(6, 14), 3)
    array([False, False,  True,  True,  True,  True, False, False])
    """
    distance = np.abs(times[:, None] - borders + 0.5)
    return (distance < pred_len - 0.5).any(axis=1)


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

    def fold_of(self, times: IntArray) -> IntArray:
        """Return the number of the fold that has not learnt windows of these times.

        What follows the last window that a path could learn from belongs to the last time.
        """
        return np.searchsorted(self._borders, times, side="right")

    def is_near_border(self, times: IntArray, pred_len: int) -> BoolArray:
        """Return which windows share truths with those of another fold."""
        return is_near(self._borders, times, pred_len)

    @property
    def _borders(self) -> IntArray:
        """The times at which all folds but the first begin."""
        return np.array([end for end, _ in self.folds[:-1]], dtype=np.int64)

    def of_roots(self, roots: Roots) -> LinearFits:
        """Return the fits, found for roots of targets, as those of the targets themselves."""
        before = replace(self.before, roots=roots)
        is_refitted = self.final is not self.before
        return LinearFits(
            before,
            replace(self.final, roots=roots) if is_refitted else before,
            tuple((end, replace(fit, roots=roots)) for end, fit in self.folds),
        )
