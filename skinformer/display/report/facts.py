"""The numbers of one target's backtest, from which all parts of a report are made."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import pandas as pd

from skinformer.evaluation.comparison import compare, group_key, quantile_columns, summary
from skinformer.evaluation.scores import wape
from skinformer.timeline.clock import is_dated, timestamps

_HOUR, _DAY = pd.Timedelta(hours=1), pd.Timedelta(days=1)


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
        """A row for each forecaster, as `compare` gives, and the error's share of the truth."""
        table = compare(self.tables, reference=self.reference or self.name)
        shares = [wape(rows["actual"], rows["forecast"]) for rows in self.tables.values()]
        return table.assign(wape=shares)

    @property
    def row(self) -> Any:
        """The row of the forecaster that is reported."""
        return self.comparison.loc[self.name]

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
        times = timestamps(times)
        step = pd.Timedelta((times[1:] - times[:-1]).to_series().median())
        field = "hour" if step <= 12 * _HOUR else "day_of_week" if step <= _DAY else "month"
        return field if len(group_key(self.main, field).unique()) > 1 else None

    @property
    def groups(self) -> list[str]:
        """What errors are shown by: steps ahead and the cycle, where there are several of them."""
        ahead = "ahead" if len(self.main["ahead"].unique()) > 1 else None
        return [field for field in (ahead, self.cycle) if field is not None]

    @cached_property
    def has_series(self) -> bool:
        """Whether there are several series."""
        return "series" in self.main and len(self.main["series"].unique()) > 1

    def by(self, group: str) -> dict[str, pd.DataFrame]:
        """Average errors of each forecaster by groups, as `summary` does."""
        return {name: summary(table, group) for name, table in self.tables.items()}

    @cached_property
    def series(self) -> pd.DataFrame:
        """Errors of each series, also as a share of its truth, the worst share first."""
        table = summary(self.main, "series")
        parts = self.main.groupby("series", sort=True)
        shares = [wape(part["actual"], part["forecast"]) for _, part in parts]
        return table.assign(wape=shares).sort_values("wape", ascending=False, kind="stable")


def origin_errors(table: pd.DataFrame) -> pd.Series:
    """Average absolute errors by origin, in the order of time, and by series where there are any.

    Origins of which less than half of the most rows are known are left out.
    >>> rows = {"origin": [1, 2], "actual": [3.0, 4.0], "forecast": 1.0}
    >>> origin_errors(pd.DataFrame(rows)).tolist()
    [2.0, 3.0]
    """
    keys = [key for key in ("origin", "series") if key in table]
    grouped = (table["forecast"] - table["actual"]).abs().groupby([table[key] for key in keys])
    known = grouped.count()
    errors: pd.Series = grouped.mean()[2 * known >= known.max()]
    return errors


def split_targets(
    results: Mapping[str, pd.DataFrame], unit: Any, reference: str | None
) -> list[TargetFacts]:
    """Part results by target, without rows of which a truth or a forecast is unknown.

    The results have the same rows in the same order; a target without a known truth is left out.
    """
    first = next(iter(results.values()))
    known = first["actual"].notna()
    for table in results.values():
        known &= table["forecast"].notna()
    found = []
    for target, rows in known[known].groupby(first["target"], sort=False, observed=True):
        tables = {name: table.loc[rows.index] for name, table in results.items()}
        of = unit.get(target) if isinstance(unit, Mapping) else unit
        found.append(TargetFacts(target, of, tables, reference))
    return found
