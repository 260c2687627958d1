"""Results of backtests: what they must hold, their groups and quantiles, one beside another."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pandas as pd

from skinformer.validation.arguments import check_choice

_KEYS = ["series", "origin", "time", "ahead", "target"]


def check_result(result: Any, *needed: str, of: str = "", advice: str = "") -> None:
    """Raise if a frame is not what `backtest` gives, or holds nothing to compare with."""
    lacking = [each for each in needed if each not in getattr(result, "columns", ())]
    if lacking:
        raise ValueError(
            f"results{of} lack the column {lacking[0]!r}: this is made of what `backtest` gives. "
            f"Pass such a frame{advice}."
        )
    if not result["actual"].notna().any():
        raise ValueError(
            f"results{of} hold no known truth: there is nothing to compare with. Pass backtests of "
            "rows that were observed."
        )


def named_results(results: Any, *needed: str) -> dict[str, pd.DataFrame]:
    """Give backtests by name, a single one by none; raise if they are none."""
    tables = dict(results) if isinstance(results, Mapping) else {"": results}
    for name, table in tables.items():
        of = f" of {name!r}" if name else ""
        check_result(table, *needed, of=of, advice=", or several of them by name, {'model': frame}")
    if not tables:
        raise ValueError("results={} holds no backtest. Pass one by name, {'model': frame}.")
    return {str(name): table for name, table in tables.items()}


def aligned(results: Mapping[str, pd.DataFrame], reference: str) -> dict[str, pd.DataFrame]:
    """Sort backtests of the same rows, so that rows of the same place are of the same forecast.

    Rows are ordered by series, origin, time and target, and numbered anew. It is a ValueError if
    they are not those of the reference.

    >>> one = pd.DataFrame({"time": [2, 1], "actual": [5.0, 7.0]})
    >>> aligned({"one": one}, "one")["one"]["actual"].tolist()
    [7.0, 5.0]
    """
    tables = {
        name: table.sort_values([key for key in _KEYS if key in table], ignore_index=True)
        for name, table in results.items()
    }
    check_choice("reference", reference, tables)
    labels = tables[reference].filter(items=_KEYS)
    for name, table in tables.items():
        if not table.filter(items=_KEYS).equals(labels):
            raise ValueError(
                f"results of {name!r} and {reference!r} are of different rows: run both backtests "
                "on the same X with the same start, horizon and step."
            )
    return tables


def group_key(result: pd.DataFrame, by: Any) -> pd.Series:
    """Tell which group each row of a backtest belongs to, `by` as in `summary`.

    >>> days = pd.date_range("2024-01-01", periods=2, freq="D")
    >>> group_key(pd.DataFrame({"time": days}), "day_of_week").tolist()
    [0, 1]
    """
    if isinstance(by, str) and by in result:
        return result[by]
    times = pd.Index(result["time"])
    if callable(by):
        return pd.Series(by(times), index=result.index, name=getattr(by, "__name__", "group"))
    if not hasattr(times, str(by)):
        raise ValueError(
            f"by={by!r} is neither a column of the result, {list(result.columns)}, nor a field of "
            "its times, such as 'hour'. Pass one of these, or a function of the times."
        )
    return pd.Series(getattr(times, by), index=result.index, name=by)


def quantile_columns(result: pd.DataFrame) -> dict[float, str]:
    """Find the columns of a backtest's quantiles, by their levels, ascending.

    >>> quantile_columns(pd.DataFrame(columns=["actual", "q0.9", "q0.05"]))
    {0.05: 'q0.05', 0.9: 'q0.9'}
    """
    names = [name for name in result if isinstance(name, str) and name.startswith("q0.")]
    return dict(sorted((float(name[1:]), name) for name in names))
