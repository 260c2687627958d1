"""Values that cannot be: typing errors among the targets, which would be heard in every forecast.

Ridges and networks learn from squares. One value of a panel that is a million times too large
changed the forecasts of all its other series by thousands of times their size.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pandas as pd

from skinformer import validation
from skinformer.estimators.units import typical_changes
from skinformer.reading.training import TrainingRows
from skinformer.timeline.arrays import BoolArray
from skinformer.timeline.timeline import Table

__all__ = ["without_wild_values"]

#: Usual changes that a value may lie off its series' median. Deaths in a first wave are 900 off,
#: prices at their caps 600; a factor of a thousand in one value is tens of thousands.
_FARTHEST = 10_000.0
#: That of all values of a series that holds such a one: errors seldom come alone.
_BESIDE = 1000.0


def without_wild_values(rows: TrainingRows) -> TrainingRows:
    """
    Take targets that are beyond all measure as missing.

    Parameters
    ----------
    rows : TrainingRows
        Of a fit.

    Returns
    -------
    TrainingRows
        The same where there are none. Wild is what lies more than ten thousand of its series' mean
        absolute changes from the series' median, and a thousand where there is such a value; the
        changes are those from row to row, with rare ones cut. Of a series that hardly ever changes
        nothing is.

    Warns
    -----
    UserWarning
        If there are any; the message names one.
    """
    table = rows.table
    columns, weight = list(table.columns), table.weight
    found = 0
    for j in range(table.n_targets):
        wild = _wild(table, j)
        if not wild.any():
            continue
        at = int(np.flatnonzero(wild)[0])
        if not found:
            label = table.clock.labels(table.steps[[at]])[0]
            name = None if rows.series is None else rows.series[table.series[at]]
            example = rows.roles.targets[j], float(table.columns[j][at]), label, name
        found += int(wild.sum())
        columns[j] = np.where(wild, np.nan, table.columns[j].astype(np.float64))
        weight = np.ones((len(wild), table.n_targets)) if weight is None else weight.copy()
        weight[wild, j] = 0.0
    if not found:
        return rows
    validation.warn_of_wild_values(found, *example)
    return rows._replace(table=replace(table, columns=columns, weight=weight))


def _wild(table: Table, j: int) -> BoolArray:
    column, first_row = table.columns[j].astype(np.float64), table.first_row
    change = typical_changes(column, first_row[:-1], first_row[1:])
    middle = pd.Series(column).groupby(table.series).median().to_numpy()
    with np.errstate(over="ignore", invalid="ignore"):
        away = np.abs(column - middle[table.series])
    away /= np.where(change > 0, change, np.inf)[table.series]
    farthest = np.fmax.reduceat(away, first_row[:-1])
    return np.asarray((away > _BESIDE) & (farthest > _FARTHEST)[table.series])
