"""Results of backtests: what they must hold, tables by any group, one method beside another."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd
from pandas import DataFrame, Series
from scipy.special import stdtr

from skinformer.evaluation.range_scores import (
    interval_coverage,
    interval_width,
    pinball_loss,
)
from skinformer.frames import to_pandas
from skinformer.timeline.arrays import Float64Array
from skinformer.validation.arguments import check_choice


def summary(
    result: DataFrame, by: str | Callable[[Any], Any] | Sequence[Any] = "ahead"
) -> DataFrame:
    """
    Average the errors of a backtest by groups.

    Parameters
    ----------
    result : DataFrame
        A result of `backtest`.
    by : str, callable, or list of these, default="ahead"
        The groups: columns of the result ("ahead", "series", "target", "origin"), fields of its
        times ("hour", "day_of_week", "month"), or functions of the index of times.

    Returns
    -------
    DataFrame
        One row per group: ``n`` (the number of actual values), ``mae``, ``rmse`` and ``bias`` (the
        mean of forecast minus actual value). If there are quantiles, also ``pinball``, and
        ``coverage`` and ``width`` of the interval between the lowest and the highest.

    Raises
    ------
    ValueError
        If `result` is not a result of `backtest`, or if a group of `by` is unknown.

    See Also
    --------
    compare : Several backtests in one table.

    Examples
    --------
    >>> import numpy as np, pandas as pd
    >>> from skinformer.evaluation import SeasonalNaive, backtest, summary
    >>> df = pd.DataFrame({"load": [0.0, 1.0, 2.0, 3.0, 4.0, 5.0]})
    >>> result = backtest(SeasonalNaive().fit(df[:2]), df[2:], df["load"][2:], horizon=2)
    >>> summary(result)["mae"].tolist()
    [1.0, 2.0]
    """
    result = read_result(result, "time", "actual", "forecast")
    known = result[result["actual"].notna()]
    names = by if isinstance(by, list | tuple) and by else [by]
    groups = known.groupby([group_key(known, name) for name in names])
    errors = [_errors(part) for _, part in groups]
    return DataFrame(errors, index=groups.size().index)


def compare(
    results: Mapping[str, DataFrame], *, reference: str | None = None
) -> DataFrame:
    """
    Compare backtests of the same rows in one table.

    Parameters
    ----------
    results : mapping of str to DataFrame
        Results of `backtest`, by name.
    reference : str, default=None
        The result that the others are compared with, such as a seasonal naive forecast. None is
        the first.

    Returns
    -------
    DataFrame
        One row per result: ``mae``, ``rmse``, ``bias`` (and the columns that `summary` adds for
        quantiles), ``skill`` (1 - mae / mae of the reference), ``dm`` (the statistic of Diebold and
        Mariano, which is below zero if errors are smaller than those of the reference), and its
        two-sided ``p_value``.

    Raises
    ------
    ValueError
        If the results are of different rows.

    Notes
    -----
    The test of Diebold and Mariano [1]_ compares mean absolute errors origin by origin. It uses
    autocovariances as far as forecasts overlap, and the correction for few origins and Student's t
    distribution of Harvey, Leybourne and Newbold [2]_. If the corrected variance is not above zero,
    the statistic is NaN.

    References
    ----------
    .. [1] Diebold and Mariano (1995), Comparing Predictive Accuracy, Journal of Business and
       Economic Statistics 13, 253-263.
    .. [2] Harvey, Leybourne and Newbold (1997), Testing the equality of prediction mean squared
       errors, International Journal of Forecasting 13.

    Examples
    --------
    >>> import numpy as np, pandas as pd
    >>> from skinformer.evaluation import SeasonalNaive, backtest, compare
    >>> df = pd.DataFrame({"load": np.sin(np.arange(60.0) * np.pi / 6)})
    >>> results = {
    ...     str(season): backtest(
    ...         SeasonalNaive(season).fit(df[:24]), df[24:], df["load"][24:], horizon=3
    ...     )
    ...     for season in (1, 12)
    ... }
    >>> compare(results)["skill"].round(2).tolist()
    [0.0, 1.0]
    """
    tables = read_results(results, "origin", "time", "actual", "forecast")
    if reference is None:
        reference = next(iter(tables))
    tables = aligned(tables, reference)
    other = tables[reference]
    errors = {}
    tests = []
    for name, table in tables.items():
        errors[name] = _errors(table[table["actual"].notna()])
        tests.append(_diebold_mariano(table, other))
    measures = DataFrame.from_dict(errors, orient="index")
    mae = measures["mae"]
    other_mae = mae[reference]
    measures["skill"] = 1 - mae / other_mae if other_mae else np.nan
    measures[["dm", "p_value"]] = tests
    return measures


def _errors(part: DataFrame) -> dict[str, float]:
    """Average the errors of rows with a known actual value."""
    actual = part["actual"].to_numpy()
    error = part["forecast"].to_numpy() - actual
    errors = {
        "n": len(part),
        "mae": np.abs(error).mean(),
        "rmse": np.sqrt((error**2).mean()),
        "bias": error.mean(),
    }
    columns = quantile_columns(part)
    if columns:
        quantiles = part[list(columns.values())].to_numpy()
        interval = quantiles[:, [0, -1]]
        errors["pinball"] = pinball_loss(actual, quantiles, levels=list(columns))
        errors["coverage"] = interval_coverage(actual, interval)
        errors["width"] = interval_width(actual, interval)
    return errors


def _diebold_mariano(one: DataFrame, other: DataFrame) -> tuple[float, float]:
    """Test whether mean absolute errors differ: the statistic of [1]_ in `compare`, its p-value."""
    differences = _differences_by_origin(one, other)
    n = len(differences)
    h = _overlap(one)
    if n < 3 or h >= n or not differences.any():
        return np.nan, np.nan
    # 1. Squares, n**2 times the variance of a mean of autocorrelated numbers, and Harvey's
    # correction for few origins.
    mean = differences.mean()
    centred = differences - mean
    squares = centred @ centred
    for lag in range(1, h):
        squares += 2 * centred[lag:] @ centred[:-lag]
    n_effective = n + 1 - 2 * h + h * (h - 1) / n
    if squares <= 0 or n_effective <= 0:
        return np.nan, np.nan
    # 2. Student's law.
    statistic = mean * np.sqrt(n_effective * n / squares)
    p_value = 2 * stdtr(n - 1, -abs(statistic))
    return statistic, p_value


def _differences_by_origin(one: DataFrame, other: DataFrame) -> Float64Array:
    """Subtract mean absolute errors of two aligned results: (n_origins,), in time order."""
    error = (one["forecast"] - one["actual"]).abs()
    other_error = (other["forecast"] - other["actual"]).abs()
    differences = (error - other_error).groupby(one["origin"]).mean()
    return differences.dropna().to_numpy()


def _overlap(result: DataFrame) -> int:
    """Return how many origins at most lie in the time of one forecast, its own among them."""
    ends = result.groupby("origin")["time"].max()
    n_begun = ends.index.searchsorted(ends.to_numpy(), side="right")
    n_inside = n_begun - np.arange(len(ends))
    return int(n_inside.max())


def read_result(result: Any, *needed: str, name: Any = "") -> DataFrame:
    """Return a backtest as a frame of pandas; raise if it is none, or holds nothing to compare."""
    of = f" of {name!r}" if name else ""
    result = to_pandas(result)
    columns = getattr(result, "columns", ())
    for column in needed:
        if column not in columns:
            raise ValueError(
                f"results{of} lack the column {column!r}: pass a frame that `backtest` "
                "returns, or several of them by name, {'model': frame}."
            )
    if not result["actual"].notna().any():
        raise ValueError(
            f"results{of} have no actual values, so there is nothing to compare with. "
            "Pass backtests of observed rows."
        )
    return result


def read_results(results: Any, *needed: str) -> dict[Any, DataFrame]:
    """Return backtests by name, a single one by none; raise if they are none."""
    tables = results if isinstance(results, Mapping) else {"": results}
    if not tables:
        raise ValueError(
            "results={} contains no backtest. Pass backtests by name, {'model': frame}."
        )
    return {
        name: read_result(table, *needed, name=name) for name, table in tables.items()
    }


def named_results(results: Any, *needed: str) -> dict[str, DataFrame]:
    """Return backtests by names that are text, as pictures and reports need them."""
    tables = read_results(results, *needed)
    return {str(name): table for name, table in tables.items()}


def aligned(results: Mapping[str, DataFrame], reference: str) -> dict[str, DataFrame]:
    """
    Sort backtests of the same rows, so that rows of the same place are of the same forecast.

    Parameters
    ----------
    results : mapping of str to DataFrame
        A result of `backtest`.
    reference : str
        The one whose rows all of them must have; else it is a ValueError.

    Returns
    -------
    dict of str to DataFrame
        Rows ordered by series, origin, time and target, and numbered anew.

    Examples
    --------
    >>> one = pd.DataFrame({"time": [2, 1], "actual": [5.0, 7.0]})
    >>> aligned({"one": one}, "one")["one"]["actual"].tolist()
    [7.0, 5.0]
    """
    names = ["series", "origin", "time", "ahead", "target"]
    tables = {}
    for name, table in results.items():
        keys = [name for name in names if name in table]
        tables[name] = table.sort_values(keys, ignore_index=True)
    check_choice("reference", reference, tables)
    labels = tables[reference].filter(items=names)
    for name, table in tables.items():
        if not table.filter(items=names).equals(labels):
            raise ValueError(
                f"results of {name!r} and {reference!r} are of different rows: run both backtests "
                "on the same X with the same start, horizon and step."
            )
    return tables


def group_key(result: DataFrame, by: Any) -> Series:
    """
    Return which group each row of a backtest belongs to.

    Parameters
    ----------
    result : DataFrame
        A result of `backtest`.
    by : str or callable
        As in `summary`.

    Returns
    -------
    Series of shape (n_rows,)
        The group of each row.

    Examples
    --------
    >>> days = pd.date_range("2024-01-01", periods=2, freq="D")
    >>> group_key(pd.DataFrame({"time": days}), "day_of_week").tolist()
    [0, 1]
    """
    if isinstance(by, str) and by in result:
        return result[by]
    times = pd.Index(result["time"])
    if callable(by):
        groups = by(times)
        name = getattr(by, "__name__", "group")
    elif hasattr(times, str(by)):
        groups = getattr(times, by)
        name = by
    else:
        raise ValueError(
            f"by={by!r} is neither a column of the result, {list(result.columns)}, nor a field of "
            "its times, such as 'hour'. Pass one of these, or a function of the times."
        )
    return Series(groups, index=result.index, name=name)


def quantile_columns(result: DataFrame) -> dict[float, str]:
    """
    Find the columns of a backtest's quantiles.

    Parameters
    ----------
    result : DataFrame
        A result of `backtest`.

    Returns
    -------
    dict of float to str
        Names of columns by their levels, ascending.

    Examples
    --------
    >>> quantile_columns(pd.DataFrame(columns=["actual", "q0.9", "q0.05"]))
    {0.05: 'q0.05', 0.9: 'q0.9'}
    """
    columns = {}
    for name in result:
        if isinstance(name, str) and name.startswith("q0."):
            columns[float(name[1:])] = name
    return dict(sorted(columns.items()))
