"""What `fit` leaves on an estimator, by name and type: for the type checker, and for files."""

from typing import Any

import pandas as pd

from skinformer.cleaning.closures import Closures
from skinformer.cleaning.explained import Reasons
from skinformer.cleaning.outliers import OutlierBounds
from skinformer.ensemble.building import ModelSizes
from skinformer.ensemble.ensemble import Ensemble
from skinformer.ensemble.head import Head
from skinformer.estimators.parameters import Parameters
from skinformer.intervals.calibration import Calibration
from skinformer.judging.leaderboard import Standings
from skinformer.reading.labels import NumberReader
from skinformer.reading.layout import Layout
from skinformer.rolling.forecaster import StepForecaster
from skinformer.timeline.arrays import Float64Array, IntArray
from skinformer.timeline.months import MonthEffects
from skinformer.timeline.roles import Roles
from skinformer.timeline.scaling import Scaler
from skinformer.timeline.timeline import Timeline


class FittedState(Parameters):
    """Parameters, and what `fit` found; `InformerRegressor` describes each."""

    sizes_: ModelSizes
    layout_: Layout
    roles_: Roles
    timeline_: Timeline
    scaler_: Scaler
    head_: Head
    reader_: NumberReader
    n_features_in_: int
    feature_names_in_: Any
    series_: pd.Index | None
    _training_digest_: bytes
    _may_skip_: bool
    _closed_dates_: tuple[int, ...]
    _closures_: Closures
    _months_: MonthEffects
    _reasons_: Reasons
    _outlier_bounds_: OutlierBounds
    device_: str
    attention_: str
    precision_: str
    ensemble_: Ensemble
    _standings_: Standings
    calibration_: Calibration
    fit_times_: pd.DataFrame
    history_: pd.DataFrame
    loss_curve_: list[float]
    validation_scores_: list[float] | None
    n_iter_: int
    best_loss_: float

    @property
    def _target(self) -> Any:
        """The column(s) to forecast, as far as they or the columns beside them are named."""
        layout = vars(self).get("layout_", Layout())
        return layout.target if self.target is None else self.target

    def _truths(self, rows: IntArray) -> Float64Array:
        """Return targets of rows of the history, (n, n_targets), in units; NaN was missing."""
        timeline = self.timeline_
        truths = timeline.truths(rows, self.scaler_, self.sizes_.n_targets)
        places = self._forecaster.places(
            timeline.clock, timeline.steps_of(rows), timeline.series_of(rows)
        )
        return places.with_months(truths)

    @property
    def _forecaster(self) -> StepForecaster:
        """What the fit found, put together to forecast."""
        return StepForecaster(
            history=self.timeline_,
            scaler=self.scaler_,
            roles=self.roles_,
            sizes=self.sizes_,
            device=self.device_,
            head=self.head_,
            ensemble=self.ensemble_,
            closures=self._closures_,
            months=self._months_,
            n_jobs=self.n_jobs,
        )
