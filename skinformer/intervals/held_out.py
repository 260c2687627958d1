"""The forecaster of a fit as it was before it was fitted to its last rows, and windows of these."""

from __future__ import annotations

from dataclasses import replace
from typing import NamedTuple

import numpy as np

from skinformer.intervals.errors import forecast_windows, size_ratio
from skinformer.intervals.runs import FEWEST
from skinformer.intervals.spread import mean_size
from skinformer.rolling.forecaster import StepForecaster
from skinformer.timeline.arrays import Float64Array, IntArray
from skinformer.timeline.timeline import Timeline
from skinformer.timeline.windows import Origins, spread_places


class HeldOut(NamedTuple):
    """A forecaster that was not fitted to some windows.

    forecaster: with a history of its own.
    origins, own_origins: the windows, by rows of the whole history and of its own.
    """

    forecaster: StepForecaster
    origins: IntArray
    own_origins: IntArray

    def errors(self) -> Float64Array:
        """Return errors of the windows: (n, pred_len, n_targets)."""
        return forecast_windows(
            self.forecaster,
            self.own_origins,
        ).errors

    def optimism(self, forecaster: StepForecaster) -> Float64Array:
        """Divide errors of the windows by those of a forecaster that was fitted to them."""
        most = 4.0
        fitted = forecast_windows(forecaster, self.origins)
        return np.clip(
            size_ratio(
                self.errors(),
                fitted.errors,
            ),
            1.0,
            most,
        )


def before_refit(forecaster: StepForecaster, split: IntArray | None) -> HeldOut | None:
    """Return the forecaster as it was before it was fitted to the last rows, and windows of these.

    It is None where no window lies in these, or where none were held out and no member is fitted
    again.

    forecaster: the final one, whose weights are kept.
    split: the row at which each series' validation split begins; None for the last `pred_len` rows.

    Classical forecasters are chosen anew, before the split, on some of the series, since the final
    choice was made by the last rows. Where these are half of all rows, the choice is another one:
    in a panel it is replaced by the choice without the series' own errors if that is better.
    """
    timeline = forecaster.history
    # Whether a member is fitted to the last rows even where no rows are held out.
    members = forecaster.ensemble.members.values()
    needs_refit = any(member.needs_refit for member in members)
    if split is None:
        if not needs_refit:
            return None
        split = _last_rows(timeline, forecaster.sizes.pred_len)
    # 1. The series: of panels with costly members, some.
    chosen = np.arange(timeline.n_series)
    has_embedding = forecaster.sizes.n_series > 0  # of series by their numbers
    if needs_refit and not has_embedding:
        n_most = 256
        chosen = spread_places(timeline.n_series, n_most)
    # 2. The forecaster before the split, and windows behind it.
    held_out = _hold_out(forecaster, chosen, split)
    if not len(held_out.origins):
        return None
    # 3. The better choice of classical forecasters.
    if not needs_refit or timeline.n_series < FEWEST:
        return held_out
    earlier = held_out.forecaster
    shared = earlier.ensemble.with_shared_fit(forecaster.ensemble)
    other = held_out._replace(forecaster=replace(earlier, ensemble=shared))
    return min(held_out, other, key=_mean_error)


def _hold_out(
    forecaster: StepForecaster,
    chosen: IntArray,
    split: IntArray,
) -> HeldOut:
    """Return the forecaster of chosen series as it was before the split, and windows after it."""
    timeline = forecaster.history
    # 1. The rows of these series.
    history = timeline.of_series(chosen)
    n_before = split - timeline.first_row[:-1]
    own_split = history.first_row[:-1] + n_before[chosen]
    # 2. The forecaster that knew those before the split alone.
    scaler = forecaster.scaler.of_series(chosen)
    ensemble = forecaster.ensemble.before_split(
        chosen,
        history.head(own_split),
        forecaster.sizes,
        scaler,
    )
    earlier = replace(
        forecaster,
        history=history,
        scaler=scaler,
        ensemble=ensemble,
    )
    # 3. Windows of the others.
    n_most = 256 // ensemble.cost
    last = history.first_row[1:] - forecaster.sizes.pred_len
    own_origins = Origins(own_split, last).thinned(n_most)
    series = chosen[history.series_of(own_origins)]
    origins = timeline.find(series, history.steps_of(own_origins))
    return HeldOut(earlier, origins, own_origins)


def _last_rows(timeline: Timeline, pred_len: int) -> IntArray:
    """Return the first of the last `pred_len` rows of each series; of a short one of half of it."""
    first = timeline.first_row[:-1]
    end = timeline.first_row[1:]
    return np.maximum(
        end - pred_len,
        (first + end) // 2,
    )


def _mean_error(held_out: HeldOut) -> float:
    mean = mean_size(
        held_out.errors(),
        axis=(0, 1),
    )
    return float(np.nan_to_num(mean).sum())
