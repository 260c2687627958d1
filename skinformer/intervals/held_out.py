"""The forecaster of a fit as it was before it was fitted to its last rows, and windows of these.

Widths of intervals are made of the final forecaster's errors. The earlier one's give two
corrections alone: the factor `optimism`, and one of the level of sizes.
"""

from __future__ import annotations

from dataclasses import replace
from typing import NamedTuple

import numpy as np

from skinformer.intervals.errors import forecast_windows, size_ratio
from skinformer.intervals.runs import FEWEST
from skinformer.intervals.spread import mean_size
from skinformer.intervals.windows import count_apart
from skinformer.rolling.forecaster import StepForecaster
from skinformer.timeline.arrays import Float64Array, IntArray
from skinformer.timeline.timeline import Timeline
from skinformer.timeline.windows import Origins, spread_places


class HeldOut(NamedTuple):
    """A forecaster that was not fitted to some windows: it corrects errors of the final one.

    earlier_forecaster: with a history of its own.
    origins, earlier_origins: the windows, by rows of the final forecaster's history and of the
    earlier one's.
    """

    earlier_forecaster: StepForecaster
    origins: IntArray
    earlier_origins: IntArray

    def held_out_errors(self) -> Float64Array:
        """Return the earlier forecaster's errors of the windows: (n, pred_len, n_targets)."""
        return forecast_windows(self.earlier_forecaster, self.earlier_origins).errors

    def optimism(self, final_forecaster: StepForecaster) -> Float64Array:
        """Return by what factor the final forecaster's errors of fitted rows are too small.

        A single window shows little of it, and the earlier forecaster of few rows knew far fewer:
        a large factor is believed where windows are several.
        """
        most = 4.0
        of_one_window = 1.25
        fitted = forecast_windows(final_forecaster, self.origins)
        ratio = np.clip(size_ratio(self.held_out_errors(), fitted.errors), 1.0, most)
        n_apart = count_apart(self.origins, final_forecaster.sizes.pred_len)
        share = 1 / n_apart**2
        return np.minimum(ratio, of_one_window**share * ratio ** (1 - share))


def hold_out_last_rows(
    forecaster: StepForecaster,
    split: IntArray | None,
) -> HeldOut | None:
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
    earlier = held_out.earlier_forecaster
    shared = earlier.ensemble.with_shared_fit(forecaster.ensemble)
    other = held_out._replace(earlier_forecaster=replace(earlier, ensemble=shared))
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
    earlier_split = history.first_row[:-1] + n_before[chosen]
    # 2. The forecaster that knew those before the split alone.
    scaler = forecaster.scaler.of_series(chosen)
    ensemble = forecaster.ensemble.before_split(
        chosen, history.head(earlier_split), forecaster.sizes, scaler
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
    earlier_origins = Origins(earlier_split, last).thinned(n_most)
    series = chosen[history.series_of(earlier_origins)]
    origins = timeline.find(series, history.steps_of(earlier_origins))
    return HeldOut(earlier, origins, earlier_origins)


def _last_rows(timeline: Timeline, pred_len: int) -> IntArray:
    """Return the first of the last `pred_len` rows of each series; of a short one of half of it."""
    first = timeline.first_row[:-1]
    end = timeline.first_row[1:]
    return np.maximum(end - pred_len, (first + end) // 2)


def _mean_error(held_out: HeldOut) -> float:
    mean = mean_size(held_out.held_out_errors(), axis=(0, 1))
    return float(np.nan_to_num(mean).sum())
