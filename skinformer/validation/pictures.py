"""What pictures are made of: backtests with the columns they need, fits that tell of themselves."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any

import pandas as pd

__all__ = [
    "check_any_epoch",
    "check_any_pair",
    "check_any_time",
    "check_drawn_fit",
    "check_drawn_lines",
    "check_drawn_reasons",
    "check_drawn_time",
    "check_one_forecast",
    "check_result",
    "named_results",
]


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


def check_drawn_lines(quantiles: Collection[float], pairs: Collection[Any]) -> None:
    """Raise if a result has no two quantiles between which to count truths."""
    if not quantiles:
        raise ValueError(
            "results hold no quantiles. Make them by backtest(..., levels=[0.1, 0.9]) or "
            "coverage=0.8."
        )
    if not pairs:
        raise ValueError(
            f"results hold the levels {list(quantiles)}, of which no two make an interval. Draw "
            "kind='levels', or add levels on the other side of 0.5."
        )


def check_one_forecast(table: pd.DataFrame) -> None:
    """Raise if there are several forecasts of one time."""
    keys = [key for key in ("series", "time") if key in table]
    if table.duplicated(keys).any():
        raise ValueError(
            "results hold several forecasts of a time, whose errors are no sequence. Pass those "
            "of one distance, results[results['ahead'] == 1]."
        )


def check_drawn_fit(estimator: Any, attribute: str) -> None:
    """Raise if an estimator's fit does not tell what is drawn."""
    if not hasattr(estimator, attribute):
        raise TypeError(
            f"{type(estimator).__name__} has no {attribute}. Pass a fitted InformerRegressor, or "
            "a Pipeline or search that ends in one."
        )


def check_drawn_reasons(reasons: Any) -> None:
    """Raise if a frame is not what `explain` gives of one series."""
    needed = ("time", "target", "source", "lag", "contribution")
    lacking = [each for each in needed if each not in getattr(reasons, "columns", ())]
    if lacking:
        raise ValueError(
            f"reasons lack the column {lacking[0]!r}: a picture is made of what `explain` gives. "
            "Pass such a frame."
        )
    names = list(reasons["series"].unique()) if "series" in reasons else []
    if len(names) > 1:
        raise ValueError(
            f"reasons hold {len(names)} series: one is drawn. Pass "
            f"reasons[reasons['series'] == {names[0]!r}]."
        )


def check_drawn_time(time: Any, index: pd.Index) -> slice:
    """Give the places of forecasts at a time, such as an hour or a day; raise if there are none."""
    try:
        found = index.get_loc(time)
    except (KeyError, TypeError, ValueError):
        found = slice(0)
    places = found if isinstance(found, slice) else slice(int(found), int(found) + 1)
    if not len(index[places]):
        raise ValueError(
            f"time={time!r} has no forecast: they are of {index[0]} to {index[-1]}. Pass one of "
            "these, or a day."
        )
    return places


def check_any_epoch(n_epochs: int) -> None:
    """Raise if there was no training to draw."""
    if not n_epochs:
        raise ValueError(
            "history_ holds no epoch: the network was not trained, as these series are too short "
            "for it. SharesDisplay shows who forecasts them."
        )


def check_any_time(n_parts: int) -> None:
    """Raise if a fit's times are not known."""
    if not n_parts:
        raise ValueError(
            "fit_times holds no part, so there is nothing to draw. Pass the fit_times_ of a fitted "
            "estimator; files of earlier versions have none: fit again."
        )


def check_any_pair(n_targets: int) -> None:
    """Raise if no truth meets a forecast."""
    if not n_targets:
        raise ValueError(
            "results hold no row whose truth and whose forecasts are all known: there is nothing "
            "to report. Pass results without the forecaster that gives NaN."
        )
