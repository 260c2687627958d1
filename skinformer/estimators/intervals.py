"""What is asked of an estimator beside points: intervals, quantiles, paths."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
import pandas as pd
from sklearn.utils import check_random_state

from skinformer.estimators.requests import RequestMixin
from skinformer.intervals.forecaster import IntervalForecaster, Intervals
from skinformer.intervals.paths import draw_levels
from skinformer.intervals.runs import fewest_rows
from skinformer.rolling.blocks import RequestedSteps
from skinformer.rolling.forecaster import StepForecaster
from skinformer.threads import limited
from skinformer.timeline.arrays import Float64Array
from skinformer.validation.arguments import (
    check_count,
    check_coverage,
    check_fitted,
    check_levels,
    check_range_levels,
    check_ranges,
)


class IntervalsMixin(RequestMixin):
    """Forecasts of numbers, with intervals, quantiles and paths by how far these are off."""

    @property
    def intervals_(self) -> Intervals | None:
        """The errors behind prediction intervals; None if there are too few rows."""
        check_fitted(self)
        if "_intervals_" not in vars(self):  # the same whoever asks, and whenever
            with limited(self.n_jobs):
                self._intervals_ = self.calibration_.intervals(self._forecaster)
        return self._intervals_

    def forecast(
        self,
        X: Any = None,
        horizon: int | None = None,
        *,
        coverage: float | Sequence[float] | None = None,
        levels: Sequence[float] | None = None,
    ) -> pd.DataFrame:
        """
        Forecast the steps after the history.

        Parameters
        ----------
        X : DataFrame, Series or array-like, default=None
            Later history (rows with an observed target), future covariates (rows with a missing
            target, or without the column), or both. The fitted model is not changed.
        horizon : int, default=None
            Number of steps to forecast, at least 1. None means the rows of X after the history, for
            each series its own; without such rows `pred_len`.
        coverage : float or sequence of float, default=None
            Coverage of the prediction intervals, whose bounds are appended as columns; for several
            coverages all bounds, ascending, each once.
        levels : sequence of float, default=None
            Levels of quantiles, one further column each; not together with `coverage`.

        Returns
        -------
        DataFrame of shape (horizon, n_targets) or (horizon, n_targets * (1 + n_levels))
            Forecasts with their timestamps, in the index's time zone and frequency; for several
            series (those of X, if X is given) this number of rows each, under a MultiIndex. The
            quantiles of a target follow it, such as "load_0.05" and "load_0.95" for a coverage of
            0.9; "load__0.05" and so on if such a name is another target's.

        Raises
        ------
        ValueError
            If a future covariate lacks a value at one of the steps, or if there were too few rows
            in the fit for prediction intervals.

        Examples
        --------
        >>> import numpy as np, pandas as pd
        >>> from skinformer import InformerRegressor
        >>> months = pd.date_range("2020-01-01", periods=48, freq="MS")
        >>> df = pd.DataFrame({"sales": np.arange(48.0) % 12}, index=months)
        >>> model = InformerRegressor("sales", seq_len=12, pred_len=6).fit(df)
        >>> list(model.forecast(coverage=0.8))
        ['sales', 'sales_0.1', 'sales_0.9']
        """
        check_fitted(self)
        wanted = check_range_levels(coverage, levels)
        return self.layout_.write(self._forecast_frame(X, horizon, wanted), X)

    def _forecast_frame(
        self, X: Any, horizon: int | None, wanted: Float64Array
    ) -> pd.DataFrame:
        """Forecast, with quantiles of the levels that are wanted, labelled in the index."""
        requested = self._requested_ahead(X, horizon)
        values = self._with_quantiles(requested, wanted)
        values = values.reshape(len(values), -1)
        return pd.DataFrame(
            values,
            index=requested.labels,
            columns=_names_with_levels(self.roles_.target_labels, wanted),
        )

    def predict_interval(self, X: Any, coverage: float = 0.9) -> Float64Array:
        """
        Return a prediction interval for each row of X at its own time.

        Parameters
        ----------
        X : DataFrame, Series or array-like of shape (n_samples, n_features)
            Rows as `predict` takes them.
        coverage : float, default=0.9
            Share of actual values that should lie inside, in (0, 1). The rest is split equally
            above and below.

        Returns
        -------
        ndarray of float64, shape (n_samples, 2) or (n_samples, n_targets, 2)
            Lower and upper bounds in y's units.

        Raises
        ------
        ValueError
            If there were too few rows in the fit for prediction intervals.

        See Also
        --------
        predict_quantiles : Any levels at once.

        Notes
        -----
        The width follows the errors of the windows that ended before the origin of a row:
        intervals are narrow after quiet times, and wider after a shift, once `update` has added the
        actual values.

        Examples
        --------
        >>> import numpy as np, pandas as pd
        >>> from skinformer import InformerRegressor, Network, Training
        >>> df = pd.DataFrame({"load": np.random.default_rng(0).random(200)})
        >>> model = InformerRegressor(
        ...     seq_len=24, pred_len=6, network=Network(d_model=8, n_heads=2),
        ...     training=Training(max_iter=1), random_state=0
        ... ).fit(df[:180])
        >>> low, high = model.predict_interval(df[180:], coverage=0.8).T
        >>> low.shape, bool((low < high).all())
        ((20,), True)
        """
        tail = (1 - check_coverage(coverage)) / 2
        return self.predict_quantiles(X, [tail, 1 - tail])

    def predict_quantiles(
        self, X: Any, levels: Sequence[float] | None = None
    ) -> Float64Array:
        """
        Return quantiles for each row of X at its own time.

        Parameters
        ----------
        X : DataFrame, Series or array-like of shape (n_samples, n_features)
            Rows as `predict` takes them.
        levels : sequence of float, default=None
            Each in (0, 1): the share of actual values that should lie below. None: those that
            `loss` lists, ascending.

        Returns
        -------
        ndarray of float64, shape (n_samples, n_levels) or (n_samples, n_targets, n_levels)
            In the order of the levels; a higher level never lies below a lower one.

        Raises
        ------
        ValueError
            If there were too few rows in the fit for prediction intervals, or if neither
            `levels` nor `loss` lists any.

        Examples
        --------
        >>> import numpy as np, pandas as pd
        >>> from skinformer import InformerRegressor, Network, Training
        >>> df = pd.DataFrame({"load": np.random.default_rng(0).random(200)})
        >>> model = InformerRegressor(
        ...     seq_len=24, pred_len=6, network=Network(d_model=8, n_heads=2),
        ...     training=Training(max_iter=1), random_state=0
        ... ).fit(df[:180])
        >>> model.predict_quantiles(df[180:], levels=[0.1, 0.5, 0.9]).shape
        (20, 3)
        """
        check_fitted(self)
        if levels is None:
            levels = getattr(self.head_, "levels", None)
        wanted = check_levels(levels)
        quantiles = self._with_quantiles(self._requested_rows(X), wanted)[..., 1:]
        return quantiles[:, 0] if self.roles_.one_dimensional else quantiles

    def sample(
        self,
        n: int,
        X: Any = None,
        horizon: int | None = None,
        *,
        random_state: Any = None,
    ) -> pd.DataFrame:
        """
        Draw sample paths of the steps after the history.

        Parameters
        ----------
        n : int
            Number of paths, at least 1.
        X : DataFrame, Series or array-like, default=None
            Rows as for `forecast`.
        horizon : int, default=None
            Number of steps, at least 1; None as in `forecast`.
        random_state : int, RandomState or None, default=None
            Seed of the paths.

        Returns
        -------
        DataFrame of shape (n_rows, n) or (n_rows, n_targets * n)
            The rows of `forecast`, and one column per path, 0 … n - 1; for several targets the
            columns have two levels, (target, path).

        Raises
        ------
        ValueError
            If there were too few rows in the fit for prediction intervals.

        Notes
        -----
        The steps, targets and series of a path depend on each other as the errors of earlier
        forecasts did, so that sums over a day, or over all shops, have the right spread. Beyond
        `pred_len`, errors are drawn anew every `pred_len` steps. With ``loss="mse"``, whose
        forecast is a mean, the mean of many paths is the forecast.

        Examples
        --------
        >>> import numpy as np, pandas as pd
        >>> from skinformer import InformerRegressor, Network, Training
        >>> hours = pd.date_range("2024-01-01", periods=200, freq="h")
        >>> df = pd.DataFrame({"load": np.random.default_rng(0).random(200)}, index=hours)
        >>> model = InformerRegressor(
        ...     seq_len=24, pred_len=6, network=Network(d_model=8, n_heads=2),
        ...     training=Training(max_iter=1), random_state=0
        ... )
        >>> paths = model.fit(df).sample(100, random_state=0)
        >>> paths.shape, bool(paths.sum().quantile(0.9) < 6 * paths.quantile(0.9, axis=1).max())
        ((6, 100), True)
        """
        n = check_count("n", n, "it counts the paths that are drawn")
        check_fitted(self)
        requested = self._requested_ahead(X, horizon)
        paths = self._draw_paths(requested, n, check_random_state(random_state))
        columns: Any = range(n)
        if not self.roles_.one_dimensional:
            columns = list(itertools.product(self.roles_.target_labels, columns))
        paths = paths.reshape(len(paths), -1)
        frame = pd.DataFrame(paths, index=requested.labels, columns=pd.Index(columns))
        return self.layout_.write(frame, X)

    def _draw_paths(
        self, requested: RequestedSteps, n: int, random: np.random.RandomState
    ) -> Float64Array:
        """Draw n paths, (n_rows, n_targets, n), whose errors are drawn anew for each block."""
        forecaster = self._interval_forecaster()
        outputs = forecaster.standardised(requested)
        intervals = forecaster.intervals_of(outputs)
        scaler = self.scaler_.with_unseen()
        places = forecaster.places_of(requested)
        ahead = requested.steps - requested.place.anchor[requested.segment]
        block = ahead // self.sizes_.pred_len
        paths = np.empty((len(outputs), self.sizes_.n_targets, n))
        for number in np.unique(block):
            rows = block == number
            levels = draw_levels(intervals.residuals, requested.place.series, n, random)
            drawn = intervals.paths(
                self.head_,
                outputs[rows],
                levels[requested.segment[rows]],
                scaler,
                places.series[rows],
            )
            paths[rows] = forecaster.bounds.below_ceilings(drawn, places.series[rows])
        return places.with_months(paths)

    def _with_quantiles(
        self, requested: RequestedSteps, levels: Float64Array
    ) -> Float64Array:
        """Return what `predict` does, and quantiles behind it, (n, n_targets, 1 + n_levels)."""
        forecaster = self._forecaster_of(levels)
        outputs = forecaster.standardised(requested)
        return forecaster.forecasts(outputs, levels, forecaster.places_of(requested))

    def _forecaster_of(self, levels: Float64Array) -> StepForecaster:
        """Return what forecasts points and, where any are asked for, quantiles."""
        if self.head_.level is None and not len(levels):
            return self._forecaster
        return self._interval_forecaster()

    def _interval_forecaster(self) -> IntervalForecaster:
        """Return what forecasts the sizes of errors, too."""
        intervals = check_ranges(self.intervals_, fewest_rows(self.sizes_.seq_len))
        return IntervalForecaster.of(
            self._forecaster, intervals, self._intervals_beyond
        )

    def _intervals_beyond(self) -> Intervals:
        """Return intervals that know the steps after `pred_len`, found when first asked for."""
        found = check_ranges(self.intervals_, fewest_rows(self.sizes_.seq_len))
        if found.far is None:
            with limited(self.n_jobs):
                found = self.calibration_.with_steps_beyond(self._forecaster, found)
            self._intervals_ = found
        return found


def _names_with_levels(targets: pd.Index, levels: Float64Array) -> pd.Index:
    """Name the columns of targets, and behind each its quantiles.

    Of names with several levels the last one tells.
    >>> _names_with_levels(pd.Index(["load", "load_0.1"]), np.array([0.1])).tolist()
    ['load', 'load__0.1', 'load_0.1', 'load_0.1__0.1']
    >>> _names_with_levels(pd.Index(["load"]), np.array([0.05, 0.95])).tolist()
    ['load', 'load_0.05', 'load_0.95']
    """
    between = "_"
    while set(targets) & set(_quantile_names(targets, levels, between)):
        between += "_"  # two columns of one name could not be told apart
    names = []
    for target in targets:
        names += [target, *_quantile_names([target], levels, between)]
    labels: pd.Index = pd.Index(names, tupleize_cols=targets.nlevels > 1)
    return labels.set_names(targets.names)


def _quantile_names(
    targets: Iterable[Any], levels: Float64Array, between: str
) -> list[Any]:
    """Name the quantiles of targets."""
    names: list[Any] = []
    for target, level in itertools.product(targets, levels):
        ending = f"{between}{level:g}"
        if isinstance(target, tuple):
            names.append((*target[:-1], f"{target[-1]}{ending}"))
        else:
            names.append(f"{target}{ending}")
    return names
