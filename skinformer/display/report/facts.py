"""The numbers of one target's backtest, from which all parts of a report are made."""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import pandas as pd
from pandas import DataFrame, Series

from skinformer.display.axes import as_number
from skinformer.evaluation.comparison import compare, quantile_columns, summary
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
    tables: dict[str, DataFrame]
    reference: str | None

    @property
    def name(self) -> str:
        """The forecaster that is reported."""
        return next(iter(self.tables))

    @property
    def main(self) -> DataFrame:
        """Its rows."""
        return self.tables[self.name]

    @cached_property
    def comparison(self) -> DataFrame:
        """Errors of each forecaster, as `compare` gives them, and WAPE."""
        table = compare(self.tables, reference=self.reference or self.name)
        shares = {name: _wape(rows) for name, rows in self.tables.items()}
        return table.assign(wape=Series(shares))

    @property
    def errors(self) -> Any:
        """The row of the forecaster that is reported."""
        return self.comparison.loc[self.name]

    @cached_property
    def levels(self) -> dict[float, str]:
        """Quantiles of the forecaster that is reported, if two of them bound a range."""
        found = quantile_columns(self.main)
        return found if len(found) > 1 else {}

    @cached_property
    def groups(self) -> list[str]:
        """What errors are shown by: steps ahead, and a field of time, where they differ."""
        groups = ["ahead"] if self.main["ahead"].max() > 1 else []
        times: Any = pd.Index(self.main["time"].unique()).sort_values()
        if not is_dated(times):
            return groups
        step: Any = timestamps(times).to_series().diff().median()
        fields = ["hour", "day_of_week"] if step <= pd.Timedelta(days=1) else ["month"]
        cycles = [field for field in fields if len(getattr(times, field).unique()) > 1]
        return groups + cycles[:1]

    @cached_property
    def series(self) -> DataFrame | None:
        """Errors of each series, the largest WAPE first; None where there is one series."""
        if self.main["series"].nunique() < 2:
            return None
        shares = self.main.groupby("series")[["actual", "forecast"]].apply(_wape)
        table = summary(self.main, "series").assign(wape=shares)
        return table.sort_values("wape", ascending=False, kind="stable")

    @cached_property
    def nearest(self) -> DataFrame:
        """The forecast of each time and series that was made last, in the order of time."""
        by_distance = self.main.sort_values("ahead", kind="stable")
        nearest = by_distance.drop_duplicates(["series", "time"])
        return nearest.sort_values("time", kind="stable")

    def with_unit(self, value: float) -> str:
        """Write a value with the unit of the target."""
        text = as_number(value)
        return text if self.unit is None else f"{text} {self.unit}"


def _wape(rows: DataFrame) -> float:
    return wape(rows["actual"], rows["forecast"])


def split_targets(
    results: Mapping[str, DataFrame], unit: Any, reference: str | None
) -> list[TargetFacts]:
    """Split results by target, without rows of which a truth or a forecast is unknown.

    The results have the same rows in the same order; a target without a known truth is left out.
    """
    first = next(iter(results.values()))
    known = first["actual"].notna()
    for table in results.values():
        known &= table["forecast"].notna()
    targets = []
    for target, rows in known[known].groupby(
        first["target"], sort=False, observed=True
    ):
        tables = {}
        for name, table in results.items():
            series = table.get("series", "")
            tables[name] = table.assign(series=series).loc[rows.index]
        own_unit = unit.get(target) if isinstance(unit, Mapping) else unit
        targets.append(TargetFacts(target, own_unit, tables, reference))
    return targets


def as_percent(share: Any) -> str:
    """Write a share in per cent.

    >>> as_percent(0.1234), as_percent(2.5)
    ('12.3%', '250%')
    """
    number = as_number(100 * float(share))
    return number if number == "–" else f"{number}%"
