"""Cleaning of rows before a fit or a forecast, with a warning of what was found first."""

from dataclasses import replace
from typing import Any

import numpy as np

from skinformer.cleaning.closures import Closures
from skinformer.cleaning.explained import Reasons
from skinformer.cleaning.hung import Hung, find_hung
from skinformer.cleaning.incomplete import Incomplete, find_incomplete
from skinformer.cleaning.outliers import Outlier, OutlierBounds, find_outliers
from skinformer.cleaning.units import UnitChange, in_last_unit
from skinformer.ensemble.settings import FitSettings
from skinformer.estimators.state import FittedState
from skinformer.timeline.arrays import BoolArray
from skinformer.timeline.timeline import Table
from skinformer.validation.truth import (
    warn_of_hung,
    warn_of_incomplete,
    warn_of_left_range,
    warn_of_other_unit,
    warn_of_outliers,
)
from skinformer.validation.warning import of_series


def clean_training_rows(
    model: FittedState, table: Table, settings: FitSettings
) -> Table:
    """Put the rows of a fit into one unit, and other values in place of outliers."""
    # A transformation that the user chose knows the range of the targets.
    targets = settings.head.in_units and settings.target_transform is None
    table, changes = in_last_unit(table, targets=targets)
    if changes:
        column, label = _names_of(model, table, changes[0])
        warn_of_other_unit(len(changes), changes[0].factor, column, label)
    table = _without_closures(model, table, settings)
    if settings.head.in_units:
        table = _without_hung(model, table)
    model._reasons_ = Reasons.of(table, len(model.roles_.past))
    explained = model._reasons_.in_rows(table)
    cleaned = find_outliers(table, explained, targets=targets)
    if settings.head.in_units:
        incomplete = find_incomplete(
            cleaned[0], model._reasons_.explained_by_columns(table)
        )
        if incomplete:
            table = _without_incomplete(model, table, incomplete)
            cleaned = find_outliers(table, explained, targets=targets)
    table, model._outlier_bounds_, outliers = cleaned
    _warn_of_outliers(model, table, outliers, least=np.inf)
    return table


def _without_closures(model: FittedState, table: Table, settings: FitSettings) -> Table:
    """Take zeros of a fit as missing where a future covariate explains them."""
    closures = Closures()
    if settings.head.in_units:
        closures = Closures.of(table, len(model.roles_.past))
    model._closures_ = closures
    return table.without_unused(closures.in_rows(table))


def _without_incomplete(
    model: FittedState, table: Table, found: list[Incomplete]
) -> Table:
    """Take targets of last periods that are not complete as missing, and warn of them."""
    first = found[0]
    column, label = _names_of(model, table, first)
    is_panel = model.series_ is not None
    warn_of_incomplete(
        len(found), first.value, first.expected, column, label, is_panel=is_panel
    )
    return table.without([(each.row, each.column) for each in found])


def _without_hung(model: FittedState, table: Table) -> Table:
    """Take last rows that repeat one value as missing, and warn of them."""
    found = find_hung(table)
    if not found:
        return table
    first = found[0]
    column, label = _names_of(model, table, first)
    warn_of_hung(len(found), first.stop - first.row, first.value, column, label)
    return table.without([(slice(hung.row, hung.stop), hung.column) for hung in found])


def clean_later_rows(model: FittedState, table: Table) -> tuple[Table, OutlierBounds]:
    """Clean rows after the fit; return also the bounds to go by once they are history."""
    closed = model._closures_.in_rows(table)
    given = table
    table = table.without_unused(closed)
    explained = model._reasons_.in_rows(table)
    table, bounds, outliers = model._outlier_bounds_.clean(
        table, model.timeline_, explained
    )
    if closed is not None:
        table = _marked_as_closed(table, given, closed)
    least = model.scaler_.targets.floor.min()
    if least >= 0:
        least = bounds.least(table.n_targets)
    _warn_of_outliers(model, table, outliers, least=least)
    return table, bounds


def _marked_as_closed(table: Table, given: Table, closed: BoolArray) -> Table:
    """Return targets of closures as they were given, and marked: observed, but not used."""
    n_targets = table.n_targets
    marks = closed if table.outliers is None else closed | table.outliers
    return replace(
        table,
        columns=given.columns[:n_targets] + table.columns[n_targets:],
        weight=given.weight,
        outliers=marks,
    )


def _warn_of_outliers(
    model: FittedState, table: Table, outliers: list[Outlier], *, least: float
) -> None:
    """Warn of the outliers of rows, if there are any, and name the first one.

    least: target of the history, as far as it is known.
    """
    if not outliers:
        return
    first = outliers[0]
    column, label = _names_of(model, table, first)
    warn_of_outliers(
        len(outliers),
        first,
        column,
        label,
        missing=first.column < table.n_targets,
        least=min(least, _least_target(table, outliers)),
    )


def _least_target(table: Table, outliers: list[Outlier]) -> float:
    """Find the least target of rows, with the outliers that were taken out of them."""
    least = np.inf
    for column in table.targets:
        if column is not None:
            values = column.astype(np.float64)
            least = min(least, np.nanmin(values, initial=np.inf))
    for outlier in outliers:
        if outlier.column < table.n_targets:
            least = min(least, outlier.value)
    return least


def _names_of(
    model: FittedState, table: Table, place: Outlier | UnitChange | Incomplete | Hung
) -> tuple[Any, str]:
    """Return the name of a column, and when and in which series something is there."""
    roles = model.roles_
    # Encoded labels of one target take several columns, before all others.
    from_end = place.column - len(table.columns)
    column = roles.source_of((*roles.targets, *roles.past, *roles.known)[from_end])
    label = str(table.clock.labels(table.steps[[place.row]])[0])
    if model.series_ is not None:
        label += f" of series {model.series_[table.series[place.row]]!r}"
    return column, label


def warn_beyond_fit(model: FittedState) -> None:
    """Warn, once a fit, where targets of a season lie beyond all that trees have learnt."""
    seen = vars(model).get("_seen_range_")
    if seen is None:
        return
    left = seen.find_left(model.timeline_)
    if not left.any():
        return
    vars(model)["_seen_range_"] = None
    series, target = np.argwhere(left)[0]
    warn_of_left_range(
        int(left.sum()), model.roles_.targets[target], of_series(model.series_, series)
    )
