"""What a member of an ensemble is: fitted values that forecast windows."""

from __future__ import annotations

from typing import Self

import numpy as np
from torch import nn

from skinformer.ensemble.fitting import FitRows
from skinformer.ensemble.settings import FitSettings
from skinformer.ensemble.windows import Windows
from skinformer.timeline.arrays import BoolArray, Float32Array, Float64Array


class Member:
    """A member of the ensemble: a frozen record of fitted values that forecasts and is saved.

    A member more is a subclass in a file of its own, and a line in the table of `members`.
    """

    #: Whether it forecasts windows whose first rows are missing; and series that the fit lacked.
    forecasts_short, forecasts_new = False, True
    #: By how much fewer windows ranges are found where it forecasts.
    cost = 1
    #: The member whose forecast it corrects, if there is one.
    base: str | None = None

    @property
    def name(self) -> str:
        """What it is called in weights, tables and pictures."""
        raise NotImplementedError

    @property
    def part(self) -> str:
        """The part of a fit by which its seconds are planned and limited."""
        return self.name

    @property
    def look_back(self) -> int:
        """Rows before an origin that it reads beyond the window's own."""
        return 0

    @property
    def fewest_rows(self) -> int:
        """Rows of a window below which it forecasts otherwise than from more."""
        return 0

    @property
    def blend(self) -> dict[str, float]:
        """Mean weights of the forecasters that it consists of."""
        return {self.name: 1.0}

    @property
    def series_blend(self) -> tuple[list[str], Float32Array]:
        """Their names and weights, (n_series * n_targets, n); (1, n) of the same ones for all."""
        return [self.name], np.ones((1, 1), dtype=np.float32)

    @property
    def plain_columns(self) -> tuple[int, ...]:
        """Columns known ahead of which it sees no more than the value at the step."""
        return ()

    @property
    def largest_product(self) -> int:
        """Products of two numbers in its largest product of matrices for one window."""
        return 0

    @classmethod
    def from_rows(cls, rows: FitRows, settings: FitSettings) -> Self:
        """Fit it to rows: to those before a cut-off, or to all."""
        raise NotImplementedError

    def refitted(self, rows: FitRows, settings: FitSettings) -> Self:
        """Return the same, fitted to all rows; what it chose before the cut-off may stay."""
        return self.from_rows(rows, settings)

    def forecast(
        self, windows: Windows, base: Float32Array | None = None
    ) -> Float32Array:
        """Forecast windows, standardised, (n, pred_len, n_targets); base: what it corrects."""
        raise NotImplementedError

    def knows_alone(self, windows: Windows) -> BoolArray | None:  # noqa: ARG002
        """Find what it alone can forecast, (n, pred_len, n_targets); None for nothing."""
        return None

    def without_events(self, windows: Windows) -> Windows | None:  # noqa: ARG002
        """Return windows without what it alone knows to come at dates; None for the same."""
        return None

    def log_widening(self, windows: Windows) -> Float64Array | None:  # noqa: ARG002
        """Return what is added to logs of errors' sizes, (n, pred_len, n_targets); None for 0."""
        return None

    def check_seconds(self, windows: Windows) -> None:
        """Raise ValueError if windows take longer than a forecaster of the user's may."""

    def fitted_before(self, rows: FitRows) -> Self | None:  # noqa: ARG002
        """Return the same, fitted to the rows before a cut-off; None where it learns nothing there.

        Asked of a forecaster of single series that was weighed beside no other.
        """
        return None

    def export(self) -> nn.Module | None:
        """Return the module that forecasts windows in a graph; None where there is none.

        It takes past, future and their calendars as `Informer` does, and gives (batch, pred_len,
        n_targets).
        """
        return None

    def on_device(self, device: str) -> Self:  # noqa: ARG002
        """Return a copy with tensors of its own, in evaluation mode."""
        return self
