"""The seasons of a table's rows: named by the user, or found where no calendar tells."""

from dataclasses import replace

import numpy as np

from skinformer.timeline.arrays import Float64Array
from skinformer.timeline.seasons import calendar_seasons
from skinformer.timeline.spectrum import search_period
from skinformer.timeline.timeline import Table


def name_seasons(table: Table, seasons: tuple[int, ...], *, search: bool) -> Table:
    """Return the table on a clock with its seasons.

    seasons: that the user named; none leaves them to the calendar.
    search: whether targets may show one where the calendar has none.
    """
    if search and not seasons and not calendar_seasons(table.clock):
        # What grows smoothly for years, such as a population, looks like some of a slow wave.
        least_seasons = 4.0 if table.clock.dated else 2.25
        period = search_period(_known_rows(table), least_seasons=least_seasons)
        seasons = (period,) if period > 1 else ()
    if not seasons:
        return table
    return replace(table, clock=replace(table.clock, seasons=seasons))


def _known_rows(table: Table) -> list[Float64Array]:
    """Return the rows of each series and target, with lines across gaps; none of rare rows."""
    found = []
    for column in table.targets:
        for values in table.by_series(column.astype(np.float64)):
            known = np.flatnonzero(np.isfinite(values))
            if len(known) > 0.6 * len(values):
                rows = np.arange(known[0], known[-1] + 1)
                found.append(np.interp(rows, known, values[known]))
    return found
