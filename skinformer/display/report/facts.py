"""The numbers of one target's backtest, from which all parts of a report are made."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import pandas as pd

from skinformer.evaluation.comparison import compare, group_key, quantile_columns, summary
from skinformer.evaluation.scores import wape
from skinformer.timeline.clock import is_dated, timestamps


@dataclass(frozen=True)
class TargetFacts:
    """Errors of one target.

    tables: of each forecaster, rows of `backtest` whose truth and forecasts are known; the first is
    reported.
    reference: which of them the others are measured by, or None.

    >>> rows = {"target": "load", "actual": [2.0, 2.0], "forecast": [1.0, 2.0], "ahead": [1, 2]}
    >>> table = pd.DataFrame({"origin": [5, 5], "time": [5, 6], **rows})
    >>> facts = TargetFacts("load", "MW", {"model": table}, None)
    >>> facts.comparison.loc["model", ["mae", "wape"]].tolist()
    [0.5, 0.25]
    """

    target: Any
    unit: str | None
    tables: dict[str, pd.DataFrame]
    reference: str | None

    @property
    def name(self) -> str:
        """The forecaster that is reported."""
        return next(iter(self.tables))

    @property
    def main(self) -> pd.DataFrame:
        """Its rows."""
        return self.tables[self.name]

    @cached_property
    def comparison(self) -> pd.DataFrame:
        """Errors of each forecaster, as `compare` gives them, and WAPE."""
        table = compare(self.tables, reference=self.reference or self.name)
        return table.assign(wape=[_share(rows) for rows in self.tables.values()])

    @cached_property
    def levels(self) -> dict[float, str]:
        """Quantiles of the forecaster that is reported, if two of them bound a range."""
        found = quantile_columns(self.main)
        return found if len(found) > 1 else {}

    @property
    def requested(self) -> float:
        """Share of the truth that the widest range is meant to hold."""
        return max(self.levels) - min(self.levels)

    @cached_property
    def cycle(self) -> str | None:
        """The field of time that errors may go by: hour, day of the week, month."""
        times = pd.Index(self.main["time"].unique()).sort_values()
        if not is_dated(times) or len(times) < 3:
            return None
        step: Any = timestamps(times).to_series().diff().median()
        field = "month"
        if step <= pd.Timedelta(hours=12):
            field = "hour"
        elif step <= pd.Timedelta(days=1):
            field = "day_of_week"
        n_groups = len(group_key(self.main, field).unique())
        return field if n_groups > 1 else None

    @property
    def groups(self) -> list[str]:
        """What errors are shown by: steps ahead and the cycle, where there are several of them."""
        groups = []
        if self.main["ahead"].max() > 1:
            groups.append("ahead")
        if self.cycle is not None:
            groups.append(self.cycle)
        return groups

    @cached_property
    def series(self) -> pd.DataFrame | None:
        """Errors of each series, the largest WAPE first; None where there is one series."""
        if "series" not in self.main or self.main["series"].nunique() < 2:
            return None
        shares = {name: _share(rows) for name, rows in self.main.groupby("series")}
        table = summary(self.main, "series")
        table["wape"] = pd.Series(shares)
        return table.sort_values("wape", ascending=False, kind="stable")

    @cached_property
    def nearest(self) -> pd.DataFrame:
        """The forecast of each time and series that was made last, in the order of time."""
        keys = ["series", "time"] if "series" in self.main else ["time"]
        by_distance = self.main.sort_values("ahead", kind="stable")
        nearest = by_distance.drop_duplicates(keys)
        return nearest.sort_values("time", kind="stable")

    def with_unit(self, value: float) -> str:
        """Write a value with the unit of the target."""
        text = as_number(value)
        return text if self.unit is None else f"{text} {self.unit}"


def _share(rows: pd.DataFrame) -> float:
    return wape(rows["actual"], rows["forecast"])


def split_targets(
    results: Mapping[str, pd.DataFrame], unit: Any, reference: str | None
) -> list[TargetFacts]:
    """Split results by target, without rows of which a truth or a forecast is unknown.

    The results have the same rows in the same order; a target without a known truth is left out.
    """
    first = next(iter(results.values()))
    known = first["actual"].notna()
    for table in results.values():
        known &= table["forecast"].notna()
    targets = []
    for target, rows in known[known].groupby(first["target"], sort=False, observed=True):
        tables = {name: table.loc[rows.index] for name, table in results.items()}
        own_unit = unit.get(target) if isinstance(unit, Mapping) else unit
        targets.append(TargetFacts(target, own_unit, tables, reference))
    return targets


def as_number(value: Any) -> str:
    """Write a number with three digits, from 1000 on with all before the point.

    >>> as_number(0.012345), as_number(1234567.8), as_number(-3.0), as_number(float("nan"))
    ('0.0123', '1,234,568', '−3', '–')
    """
    number = float(value) + 0.0  # no sign of zero
    if not math.isfinite(number):
        return "–"
    text = f"{number:,.0f}" if abs(number) >= 1000 else f"{number:.3g}"
    return text.replace("-", "−")


def as_percent(share: Any) -> str:
    r"""Write a share in per cent.

    >>> as_percent(0.1234), as_percent(2.5)
    ('12.3\xa0%', '250\xa0%')
    """
    number = as_number(100 * float(share))
    return number if number == "–" else f"{number}\N{NO-BREAK SPACE}%"
