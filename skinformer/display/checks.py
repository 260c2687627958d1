"""What pictures are made of: fits that tell of themselves, results with what is drawn."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from numbers import Integral
from typing import Any

import pandas as pd


def check_drawn_once(options: dict[str, Any]) -> None:
    """Raise if a picture of overlapping forecasts is asked for."""
    if "step" in options:
        raise ValueError(
            f"step={options['step']!r} is no option of a picture, where each time is drawn once. "
            "Draw the rows of one distance, table[table['ahead'] == 1] of a backtest, by "
            "from_predictions."
        )


def check_drawn_target(target: Any, names: list[Any]) -> None:
    """Raise if a target to draw is not forecast."""
    if target not in names:
        raise ValueError(f"target={target!r} is not forecast; the targets are {names}.")


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


def drawn_map(maps: Sequence[Any], where: str, layer: int, origin: Any) -> Any:
    """Give the map of a layer, of the first origin for None; raise if there is none."""
    there = [each for each in maps if (each.where, each.layer) == (where, layer)]
    if not there:
        known = list(dict.fromkeys((each.where, each.layer) for each in maps))
        raise ValueError(
            f"where={where!r}, layer={layer!r} is none of the maps; they are of {known}."
        )
    if len({each.series for each in there}) > 1:
        raise ValueError(
            f"maps hold {len({each.series for each in there})} series: one is drawn. Pass "
            f"[m for m in maps if m.series == {there[0].series!r}]."
        )
    found = [each for each in there if origin is None or each.origin == origin]
    if not found:
        raise ValueError(
            f"origin={origin!r} is none of the maps; they begin at {there[0].origin} to "
            f"{there[-1].origin}."
        )
    return found[0]


def check_drawn_head(head: Any, n_heads: int) -> None:
    """Raise if a head is none of a layer's."""
    whole = type(head) is not bool and isinstance(head, Integral)
    if head is not None and not (whole and 1 <= head <= n_heads):
        raise ValueError(
            f"head={head!r} must be one of 1 to {n_heads}, or None for all heads beside one "
            "another."
        )


def check_drawn_axes(n_given: int, n_heads: int) -> None:
    """Raise if there are not as many axes as heads to draw."""
    if n_given != n_heads:
        raise ValueError(
            f"ax holds {n_given} axes for {n_heads} heads. Pass one for each, or head=1 for one "
            "alone."
        )
