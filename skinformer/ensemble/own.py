"""Ridges of each series of a panel, as a member."""

from dataclasses import dataclass

from skinformer.classical.per_series_ridges import OwnFit, fit_per_series_ridges
from skinformer.classical.windows import SeriesRows
from skinformer.ensemble.building import ModelSizes
from skinformer.ensemble.in_units import PerSeriesMember
from skinformer.stopwatch import timed
from skinformer.timeline.clock import Clock
from skinformer.timeline.seasons import calendar_seasons


@dataclass(frozen=True)
class OwnRidges(PerSeriesMember):
    """Ridges of each series, see `fit_per_series_ridges`."""

    fit: OwnFit

    name = "own_ridges"
    own_logs = True

    @staticmethod
    @timed("own_ridges")
    def fit_series(
        rows: SeriesRows,
        sizes: ModelSizes,
        *,
        of_mean: bool,
        whole: OwnFit | None,  # noqa: ARG004
    ) -> OwnFit:
        """Fit ridges over one and two seasons of each length, and over windows."""
        return fit_per_series_ridges(
            rows.values,
            rows.first_row,
            look_backs=look_backs(rows.clock, sizes.seq_len),
            pred_len=sizes.pred_len,
            of_mean=of_mean,
        )


def look_backs(clock: Clock, seq_len: int) -> tuple[int, ...]:
    """Choose over how many rows ridges look, ascending: four windows at most.

    >>> import pandas as pd
    >>> from skinformer.timeline.clock import clock_for
    >>> for freq in ("h", "D", "W"):
    ...     rows = pd.date_range("2024-01-01", periods=3, freq=freq)
    ...     print(look_backs(clock_for(rows, rows.freq), 96))
    (24, 48, 96, 168, 336)
    (7, 14, 96, 192, 365)
    (52, 104, 192)
    """
    seasons = calendar_seasons(clock)
    candidates = {*seasons, *(2 * season for season in seasons)}
    found = [rows for rows in candidates if rows <= 4 * seq_len]
    for rows in (seq_len, 2 * seq_len):
        # Two whose ratio is less than 1.3 say the same.
        if all(max(rows, other) >= 1.3 * min(rows, other) for other in found):
            found.append(rows)
    return tuple(sorted(found))
