"""
Find what the number of days of months, and their weekdays, do to monthly targets.

Sums over months grow with their days, and with the weekdays that come five times: a shop sells more
in a month with five Saturdays. Statistical offices call it the trading-day effect. It is found by
regression of logarithms: of each month's beside the mean of the months before and after, so that
neither a level nor a slow season matters; what months of the year have beyond it are random
effects. All series of a panel share it, and each may differ from that.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from skinformer.timeline.arrays import BoolArray, Float64Array
from skinformer.timeline.calendar import KIND_OF_MONTH, calendar_at
from skinformer.timeline.months import MonthEffects, is_monthly, kinds_of_months
from skinformer.timeline.timeline import Table

#: Months between two others below which nothing is learnt of their days, and of their weekdays:
#: three and five years.
_FEWEST_MONTHS = 34
_FEWEST_OF_WEEKDAYS = 58
#: Share of known values that have to be above zero.
_LEAST_POSITIVE = 0.9
#: Logarithm of the odds that targets grow with the days of months, above which they are taken to.
_SURE = np.log(10)
#: The ratio of variances below which effects of weekdays are chance. That of white noise, of which
#: neighbours are taken off, is below 4 in nine of ten cases.
_USUAL_RATIO = 4.0
#: Logarithm of the factor of a month at most: a quarter more or less.
_MOST_LOG = np.log(1.25)
#: The logarithm of the number of days, and six of the weekdays beside Sunday.
_N_EFFECTS = 7


def find_month_effects(table: Table) -> MonthEffects:
    """
    Find the effects of months on the targets of a fit.

    Parameters
    ----------
    table : Table
        Rows, sorted by series and step, consecutive within each series.

    Returns
    -------
    MonthEffects
        None of targets that are mostly not above zero, that have a ceiling or too few rows, or of
        which rows show none. Cost: products of 19 columns for each month of each series, and some
        arrays of all months by all series.
    """
    if not is_monthly(table.clock):
        return MonthEffects()
    n_series = len(table.first_row) - 1
    n_days, weekdays = kinds_of_months()
    contrasts = weekdays[:, :6] - weekdays[:, 6:]
    # A factor of one in the mean month.
    by_kind = np.column_stack([np.log(n_days / 30.4375), contrasts])
    logs = np.zeros((n_series + 1, len(by_kind), table.n_targets))
    for j in range(table.n_targets):
        effects = _effects_of_target(table, j, by_kind)
        logs[:, :, j] = np.clip(effects @ by_kind.T, -_MOST_LOG, _MOST_LOG)
    return MonthEffects(logs if logs.any() else None)


def _effects_of_target(table: Table, j: int, by_kind: Float64Array) -> Float64Array:
    """Return the effects on one target of each series, and of a new one, (n_series + 1, 7)."""
    changes = _Changes.of(table, j, by_kind)
    n_series = len(changes.values)
    effects = np.zeros((n_series + 1, _N_EFFECTS))
    if not changes.usable.any():
        return effects
    # 1. What all series share, by their weighted mean of each month.
    shared = _shared_effects(changes.mean_series())
    effects[-1] = shared
    # 2. By what each series differs; one that clearly moves more without the effect has none.
    given = changes.regression()
    left = given.without(shared)
    has_effect = changes.usable & (left.total <= 1.5 * given.total)
    effects[:-1][has_effect] = shared
    if n_series > 1:
        effects[:-1, 1:][has_effect] += left.weekdays()[has_effect]
    return effects


def _shared_effects(mean: _Regression) -> Float64Array:
    """Return effects on the mean of all series, (7,)."""
    effects = np.zeros(_N_EFFECTS)
    if mean.n_rows[0] < _FEWEST_MONTHS:
        return effects
    # The exponent of the number of days is 1, as of sums, or 0, as of means and prices.
    found, variance = mean.solve(range(_N_EFFECTS))
    log_odds = (found[0, 0] - 0.5) / variance[0, 0, 0]
    effects[0] = log_odds > _SURE
    effects[1:] = mean.without(effects).weekdays()[0]
    return effects


class _Changes(NamedTuple):
    """
    Logarithms of a target, each less the mean of the months before and after.

    Attributes
    ----------
    values : ndarray of shape (n_series, n_months)
        Changes; NaN where one of three values is missing, or not above zero.
    regressors : ndarray of shape (n_months, 19)
        The same of the effects of months, and behind them one for each month of the year.
    usable : ndarray of shape (n_series,)
        Series that are mostly above zero, and have no ceiling.
    """

    values: Float64Array
    regressors: Float64Array
    usable: BoolArray

    @classmethod
    def of(cls, table: Table, j: int, by_kind: Float64Array) -> _Changes:
        """Lay the series of a target side by side, and compare each month with those around it."""
        # 1. Series by month.
        first = table.steps.min()
        steps = np.arange(first, table.steps.max() + 1)
        y = np.full((len(table.first_row) - 1, len(steps)), np.nan)
        y[table.series, table.steps - first] = table.columns[j]
        # 2. Changes of their logarithms.
        usable = _are_usable(y)
        logs = np.log(np.where((y > 0) & usable[:, None], y, np.nan))
        values = _without_jumps(_less_neighbours(logs))
        # 3. Those of what months do, and the months of the year.
        kind, month = calendar_at(table.clock, steps, [KIND_OF_MONTH, "month"]).T
        effects = _less_neighbours(by_kind[kind].T).T
        of_year = np.eye(12)[month[1:-1]]
        return cls(values, np.column_stack([effects, of_year]), usable)

    def regression(self) -> _Regression:
        """Sum up the products of each series."""
        return _Regression.of(self.values, self.regressors)

    def mean_series(self) -> _Regression:
        """Sum up those of the weighted mean of all series, which are off together."""
        is_known = ~np.isnan(self.values)
        values = np.where(is_known, self.values, 0.0)
        squares = (values**2).sum(axis=1) / np.maximum(is_known.sum(axis=1), 1)
        # One that hardly changes has no more weight than two usual ones.
        squares += np.median(squares[self.usable])
        weight = np.divide(1.0, squares, out=np.zeros_like(squares), where=squares > 0)
        total = weight @ is_known
        mean = np.divide(
            weight @ values, total, out=np.full_like(total, np.nan), where=total > 0
        )
        return _Regression.of(mean[None], self.regressors)


def _are_usable(y: Float64Array) -> BoolArray:
    """Return which series, (n_series, n_months), are mostly above zero, and have no ceiling.

    Rates that reach their ceiling would be forecast beyond it.
    """
    n_known = (~np.isnan(y)).sum(axis=1)
    is_positive = (y > 0).sum(axis=1) >= _LEAST_POSITIVE * n_known
    greatest = np.fmax.reduce(y, axis=1, keepdims=True)
    at_ceiling = (y == greatest) & np.isin(greatest, [1.0, 100.0])
    return is_positive & (n_known > 0) & (at_ceiling.sum(axis=1) <= 2)


def _less_neighbours(values: Float64Array) -> Float64Array:
    """Take the mean of the values before and after off each, along the last axis."""
    return values[..., 1:-1] - (values[..., :-2] + values[..., 2:]) / 2


def _without_jumps(values: Float64Array) -> Float64Array:
    """Leave out what lies farther off than five deviations, by the median of distances."""
    distance = np.abs(values)
    is_known = ~np.isnan(values).all(axis=1)
    deviation = np.full((len(values), 1), np.inf)
    deviation[is_known, 0] = 1.4826 * np.nanmedian(distance[is_known], axis=1)
    return np.where(distance <= 5 * deviation, values, np.nan)


class _Regression(NamedTuple):
    """
    Sums of products of regressions, one for each series.

    Attributes
    ----------
    squares : ndarray of shape (n_series, 19, 19)
        Of regressors with each other.
    products : ndarray of shape (n_series, 19)
        Of regressors with changes.
    total : ndarray of shape (n_series,)
        Of changes with themselves.
    n_rows : ndarray of shape (n_series,)
        Number of changes.
    """

    squares: Float64Array
    products: Float64Array
    total: Float64Array
    n_rows: Float64Array

    @classmethod
    def of(cls, values: Float64Array, regressors: Float64Array) -> _Regression:
        """Sum up changes, (n_series, n_months), NaN for unknown ones."""
        is_known: BoolArray = ~np.isnan(values)
        known = np.where(is_known, values, 0.0)
        n = regressors.shape[1]
        pairs = (regressors[:, :, None] * regressors[:, None]).reshape(-1, n * n)
        squares = (is_known.astype(np.float64) @ pairs).reshape(-1, n, n)
        total = (known**2).sum(axis=1)
        return cls(squares, known @ regressors, total, is_known.sum(axis=1))

    def without(self, effects: Float64Array) -> _Regression:
        """Take known effects, (7,), off the changes."""
        all_effects = np.zeros(self.products.shape[1])
        all_effects[: len(effects)] = effects
        explained = self.squares @ all_effects
        total = self.total - (2 * self.products - explained) @ all_effects
        return self._replace(
            products=self.products - explained, total=np.maximum(total, 0.0)
        )

    def weekdays(self) -> Float64Array:
        """Return effects of weekdays, (n_series, 6), shrunk to 0 where chance makes as much."""
        found, variance = self.solve(range(1, _N_EFFECTS))
        explained = np.linalg.solve(variance, found[..., None])[..., 0]
        ratio = (found * explained).sum(axis=1) / found.shape[1]
        is_known = self.n_rows >= _FEWEST_OF_WEEKDAYS
        share = np.where(
            is_known, 1 - _USUAL_RATIO / np.maximum(ratio, _USUAL_RATIO), 0
        )
        return found * share[:, None]

    def solve(self, effects: range) -> tuple[Float64Array, Float64Array]:
        """
        Regress changes on some effects, beside random ones of the months of the year.

        Returns
        -------
        tuple of ndarray
            Effects, (n_series, k), and their variances, (n_series, k, k).
        """
        k = len(effects)
        chosen = [*effects, *range(_N_EFFECTS, self.products.shape[1])]
        squares = self.squares[:, chosen][:, :, chosen]
        products = self.products[:, chosen]
        # No regressor may be without any row.
        least = 1e-9 * np.eye(len(chosen))
        penalty = np.zeros(squares.shape)
        of_months = np.arange(k, len(chosen))
        ratio = np.ones(len(squares))
        for _ in range(8):
            penalty[:, of_months, of_months] = ratio[:, None]
            inverse: Any = np.linalg.inv(squares + penalty + least)
            found = (inverse @ products[..., None])[..., 0]
            variance, of_year = self._variances(found, inverse, squares, products, k)
            ratio = variance / np.maximum(of_year, 1e-12)
        return found[:, :k], inverse[:, :k, :k] * variance[:, None, None]

    def _variances(
        self,
        found: Float64Array,
        inverse: Float64Array,
        squares: Float64Array,
        products: Float64Array,
        k: int,
    ) -> tuple[Float64Array, Float64Array]:
        """Return the variance of what is left, and that of months of the year, (n_series,)."""
        explained = (squares @ found[..., None])[..., 0]
        left = self.total - ((2 * products - explained) * found).sum(axis=1)
        n_used = (inverse * squares).sum(axis=(1, 2))
        variance = np.maximum(left, 0.0) / np.maximum(self.n_rows - n_used, 1.0)
        uncertain = np.trace(inverse[:, k:, k:], axis1=1, axis2=2)
        of_year = (found[:, k:] ** 2).sum(axis=1) + variance * uncertain
        return np.maximum(variance, 1e-18), of_year / 12
