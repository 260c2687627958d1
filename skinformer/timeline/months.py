"""What months of different length and weekdays do to targets: factors of each kind of month."""

from __future__ import annotations

from dataclasses import replace
from typing import NamedTuple

import numpy as np

from skinformer.timeline.arrays import AnyArray, Float64Array, IntArray
from skinformer.timeline.calendar import KIND_OF_MONTH, calendar_at
from skinformer.timeline.clock import Clock, wall_times
from skinformer.timeline.seasons import step_days
from skinformer.timeline.timeline import Table


class MonthEffects(NamedTuple):
    """
    By what the number of days and their weekdays multiply targets.

    Rows are divided by these factors before anything is fitted to them, and forecasts are
    multiplied by those of their months.

    Attributes
    ----------
    logs : ndarray of shape (n_series + 1, 28, n_targets) or None
        Logarithms of the factors of each kind of month; the last ones are of series that the fit
        did not hold. None where months do nothing.
    """

    logs: Float64Array | None = None

    def factors(
        self, clock: Clock, steps: IntArray, series: IntArray
    ) -> Float64Array | None:
        """Return the factors of steps of series, (n, n_targets); None where months do nothing."""
        if self.logs is None:
            return None
        kind = calendar_at(clock, steps, [KIND_OF_MONTH])[:, 0]
        known = np.minimum(series, len(self.logs) - 1)
        return np.exp(self.logs[known, kind])

    def taken_off(self, table: Table) -> Table:
        """Divide the targets of rows by the factors of their months."""
        factors = self.factors(table.clock, table.steps, table.series)
        if factors is None:
            return table
        targets = [
            None if column is None else column / factor
            for column, factor in zip(table.targets, factors.T, strict=True)
        ]
        return replace(table, columns=targets + table.covariates)


def is_monthly(clock: Clock) -> bool:
    """Whether each step of a clock lies in the month after that of the step before."""
    if not clock.dated or not 28 <= step_days(clock) <= 31:
        return False
    dates = wall_times(clock.labels(np.arange(121)))
    months = 12 * dates.year + dates.month
    return bool((np.diff(months) == 1).all())


def kinds_of_months() -> tuple[AnyArray, AnyArray]:
    """
    List what distinguishes kinds of months.

    Returns
    -------
    tuple of ndarray
        The number of days of each kind, (28,), and how often each has each weekday, from Monday on,
        (28, 7).

    Examples
    --------
    >>> n_days, weekdays = kinds_of_months()
    >>> n_days[8].item(), weekdays[8].tolist()
    (29, [4, 5, 4, 4, 4, 4, 4])
    """
    n_days, first = np.divmod(np.arange(28), 7)
    n_days += 28
    place = (np.arange(7) - first[:, None]) % 7
    return n_days, 4 + (place < (n_days - 28)[:, None])
