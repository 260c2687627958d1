"""Steps that a forecast is requested of: those of the rows of X, or those after the history."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from skinformer.estimators.cleaning import clean_later_rows
from skinformer.estimators.reading import fitted_rows
from skinformer.estimators.state import FittedState
from skinformer.reading.prediction import read_prediction
from skinformer.rolling import future
from skinformer.rolling.blocks import Observed, RequestedSteps
from skinformer.rolling.placement import Placement, after_history
from skinformer.timeline.arrays import IntArray
from skinformer.timeline.clock import Clock, join_series
from skinformer.timeline.timeline import Table
from skinformer.validation.arguments import check_horizon
from skinformer.validation.rows import check_after_context, warn_of_skipped_steps


class _ForecastOrigins(NamedTuple):
    """Where forecasts begin: rows of X, the place of each series, and what names its steps.

    series: numbers of those that are forecast.
    """

    observed: Observed
    place: Placement
    clock: Clock
    names: pd.Index | None
    series: IntArray


class RequestMixin(FittedState):
    """Steps to forecast, placed in time."""

    def _read_prediction(self, X: Any) -> Table:
        """Read rows to forecast."""
        rows = self.reader_.encode_rows(self.layout_.read_rows(X))
        table = read_prediction(self, rows, fitted_rows(self))
        return clean_later_rows(self, self.reader_.one_hot(table))[0]

    def _place(self, table: Table, observed: Observed) -> tuple[Placement, Observed]:
        """Place rows; warn of steps between them without a row, where training had none."""
        placed = self._forecaster.place(table, observed)
        if not self._may_skip_:
            warn_of_skipped_steps(table, self.timeline_, self.roles_)
        return placed

    def _requested_rows(self, X: Any) -> RequestedSteps:
        """Place the rows of X."""
        forecaster = self._forecaster
        table = self._read_prediction(X)
        check_after_context(table, self.timeline_, self.timeline_.forecast_from)
        place, observed = self._place(table, forecaster.observe(table))
        observed = observed.without(table.outliers)
        return RequestedSteps(
            observed, observed.segment, table.steps, place, table.clock
        )

    def _requested_ahead(self, X: Any, horizon: int | None) -> RequestedSteps:
        """Place the steps after the history, or after that of X."""
        if horizon is not None:
            check_horizon(horizon)
        origins = self._origins_of_history() if X is None else self._origins_of_rows(X)
        observed, place, clock, names, series = origins
        lengths = future.steps_of_rows(observed, place, self.sizes_.pred_len)
        n_steps = np.zeros_like(lengths)
        n_steps[series] = lengths[series] if horizon is None else int(horizon)
        is_asked = future.asked_steps(
            observed,
            place,
            n_steps,
            clock,
            may_skip=horizon is None and self._may_skip_,
            closed_dates=self._closed_dates_,
        )
        future.check_known_ahead(
            observed,
            place,
            is_asked,
            clock=clock,
            roles=self.roles_,
            sizes=self.sizes_,
            names=names,
        )
        segment, ahead = np.nonzero(is_asked)
        steps = place.anchor[segment] + ahead
        return RequestedSteps(
            observed,
            segment,
            steps,
            place,
            clock,
            join_series(names, place.series[segment], clock.labels(steps)),
        )

    def _origins_of_history(self) -> _ForecastOrigins:
        """Place forecasts of all series behind the history."""
        history = self.timeline_
        return _ForecastOrigins(
            future.nothing_observed(history),
            after_history(history),
            history.clock,
            self.series_,
            np.arange(history.n_series),
        )

    def _origins_of_rows(self, X: Any) -> _ForecastOrigins:
        """Read later history, and place forecasts of its series behind it."""
        forecaster = self._forecaster
        history = self.timeline_
        table = self._read_prediction(X)
        observed = forecaster.observe(table)
        table, observed = future.without_early(table, observed, history)
        check_after_context(table, history, history.first_step)
        place, observed = self._place(table, observed)
        place = future.after_observed(place, observed, self.sizes_.n_targets)
        observed = observed.without(table.outliers)
        observed = future.without_later(observed, place, self.sizes_)
        return _ForecastOrigins(
            observed, place, table.clock, table.names, np.unique(observed.segment)
        )
