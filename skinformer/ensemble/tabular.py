"""A regressor on the features of steps ahead: boosted trees, or one of the user's."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Self

from skinformer.ensemble.building import ModelSizes
from skinformer.ensemble.fitting import FitRows
from skinformer.ensemble.member import Member
from skinformer.ensemble.names import TREES
from skinformer.ensemble.settings import FitSettings
from skinformer.ensemble.windows import Windows
from skinformer.stopwatch import timed
from skinformer.tabular.features import Columns
from skinformer.tabular.fit import TabularFit, fit_tabular, name_of
from skinformer.timeline.arrays import Float32Array


@dataclass(frozen=True)
class Tabular(Member):
    """Regressors on features, see `fit_tabular`."""

    fit: TabularFit

    #: A new series has the panel's scale, which may be far from its own: what is linear does not
    #: mind, and a tree knows no values but those that it has seen.
    forecasts_new = False
    cost = 4
    part = TREES

    @property
    def name(self) -> str:
        """What it is called in weights: trees, or the regressor's class."""
        return self.fit.name

    @property
    def look_back(self) -> int:
        """Rows before an origin that are read, where the series holds them."""
        return self.fit.look_back

    @property
    def plain_columns(self) -> tuple[int, ...]:
        """Columns known ahead that told little on later training rows."""
        return self.fit.maker.plain

    @classmethod
    def from_rows(
        cls,
        rows: FitRows,
        settings: FitSettings,
        *,
        plain: tuple[int, ...] | None = None,
    ) -> Self:
        """Fit the regressor; fewer trees do where they are fitted again with the split.

        plain: what is known of `plain_columns`; None for nothing.
        """
        regressor = settings.members[TREES]
        if isinstance(regressor, str):
            regressor = None
        with timed(name_of(regressor)):
            fit = fit_tabular(
                rows.timeline,
                columns_of(rows.sizes),
                missing=rows.missing,
                regressor=regressor,
                random_state=rows.seed,
                plain=plain,
                quick=settings.refits_on_all and not rows.is_whole,
                calendar=rows.calendar,
                of_mean=settings.head.of_mean,
                zero=rows.zero_of_targets,
            )
        return cls(fit)

    def refitted(self, rows: FitRows, settings: FitSettings) -> Self:
        """Return the same, fitted to all rows; the columns that tell little stay so."""
        return self.from_rows(rows, settings, plain=self.plain_columns)

    def forecast(
        self,
        windows: Windows,
        base: Float32Array | None = None,  # noqa: ARG002
    ) -> Float32Array:
        """Forecast windows, see `Member.forecast`."""
        return self.fit.forecast(
            windows.values,
            windows.begin,
            windows.origins,
            windows.steps,
            windows.buffer.clock,
        )


def columns_of(sizes: ModelSizes) -> Columns:
    """Describe what the columns are."""
    return Columns(
        sizes.n_targets, sizes.n_past, sizes.n_known, sizes.n_static, sizes.pred_len
    )
