"""What is asked of an estimator beside points: intervals, quantiles, paths."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from sklearn.utils import check_random_state

from skinformer.ensemble.head import Head
from skinformer.estimators.forecaster import StepForecaster
from skinformer.estimators.placement import Placement
from skinformer.estimators.ranges import RangeForecaster, Ranges
from skinformer.estimators.rolling import Observed
from skinformer.estimators.state import FittedState
from skinformer.timeline.arrays import Float64Array, IntArray
from skinformer.timeline.clock import Clock
from skinformer.timeline.scaling import Scaler
from skinformer.validation.arguments import (
    check_count,
    check_coverage,
    check_fitted,
    check_range_levels,
    check_ranges,
    requested_levels,
    with_horizon,
)

__all__ = ["AskedSteps", "RangesMixin", "names_with_levels", "with_quantiles"]


class AskedSteps(NamedTuple):
    """
    Steps to forecast, in their places.

    Parameters
    ----------
    observed : Observed
        What X gives.
    track, steps : ndarray of int64, shape (n,)
        The steps.
    place : Placement
        The tracks.
    clock : Clock
        What the steps count.
    labels : Index of shape (n,), or None
        Of rows after the history; None for rows of X.
    """

    observed: Observed
    track: IntArray
    steps: IntArray
    place: Placement
    clock: Clock
    labels: pd.Index | None = None


class RangesMixin(FittedState):
    """Forecasts of numbers, with intervals, quantiles and paths by how far these are off."""

    @property
    def ranges_(self) -> Ranges | None:
        """How far forecasts are off, found when it is first asked for; None for too few rows."""
        check_fitted(self)
        if "_ranges_" not in vars(self):  # the same whoever asks, and whenever
            self._ranges_ = self.calibration_.ranges(self._forecaster)
        return self._ranges_

    @with_horizon
    def forecast(
        self,
        X: Any = None,
        horizon: int | None = None,
        *,
        coverage: float | None = None,
        levels: Sequence[float] | None = None,
    ) -> pd.DataFrame:
        """
        Forecast the steps after the history.

        Parameters
        ----------
        X : DataFrame, Series or array-like, default=None
            Later history (target observed), what is known of the future (target missing or left
            out), or both; told apart by the target. The fitted state stays as it was.
        horizon : int, default=None
            Steps to forecast, at least 1. None: the rows of X after the history, else
            `pred_len`.
        coverage : float, default=None
            Share of the truth that is to lie between two columns more.
        levels : sequence of float, default=None
            Levels of quantiles, one column more each; not together with `coverage`.

        Returns
        -------
        DataFrame of shape (horizon, n_targets) or (horizon, n_targets * (1 + n_levels))
            Forecasts with their timestamps, in the index's time zone and frequency; for several
            series (those of X, if X is given) horizon rows each, under a MultiIndex. Behind each
            target its quantiles, such as "load_0.05" and "load_0.95" for a coverage of 0.9.

        Raises
        ------
        ValueError
            If a column known ahead lacks a value at one of the steps, or if the rows of the fit
            were too few for ranges.
        """
        check_fitted(self)
        wanted = check_range_levels(coverage, levels)
        asked = self._asked_ahead(X, horizon)
        values = self._with_quantiles(asked, np.empty(0) if wanted is None else wanted)
        names = self.roles_.target_labels
        names = names if wanted is None else names_with_levels(names, wanted)
        values = values.reshape(len(values), -1)
        return pd.DataFrame(values, index=asked.labels, columns=names)

    def predict_interval(self, X: Any, coverage: float = 0.9) -> Float64Array:
        """
        Give an interval for each row of X at its own time.

        Parameters
        ----------
        X : DataFrame, Series or array-like of shape (n_samples, n_features)
            Rows as `predict` takes them.
        coverage : float, default=0.9
            Share of the truth that is to lie within, in (0, 1): as much of the rest lies above
            as below.

        Returns
        -------
        ndarray of float64, shape (n_samples, 2) or (n_samples, n_targets, 2)
            Lower and upper bounds in y's units.

        Raises
        ------
        ValueError
            If the rows of the fit were too few to tell how far forecasts are off.

        See Also
        --------
        predict_quantiles : Any levels at once.

        Notes
        -----
        The errors of the windows that ended before a row's origin are looked at: after quiet
        times intervals are narrow, and after a shift wider, as `update` brings the truth.

        Examples
        --------
        >>> import numpy as np, pandas as pd
        >>> from skinformer import InformerRegressor
        >>> df = pd.DataFrame({"load": np.random.default_rng(0).random(200)})
        >>> model = InformerRegressor(
        ...     seq_len=24, pred_len=6, d_model=8, n_heads=2, max_iter=1, random_state=0
        ... ).fit(df[:180])
        >>> low, high = model.predict_interval(df[180:], coverage=0.8).T
        >>> low.shape, bool((low < high).all())
        ((20,), True)
        """
        tail = (1 - check_coverage(coverage)) / 2
        return self.predict_quantiles(X, [tail, 1 - tail])

    def predict_quantiles(self, X: Any, levels: Sequence[float] | None = None) -> Float64Array:
        """
        Give quantiles for each row of X at its own time.

        Parameters
        ----------
        X : DataFrame, Series or array-like of shape (n_samples, n_features)
            Rows as `predict` takes them.
        levels : sequence of float, default=None
            Each in (0, 1): the share of the truth that is to lie below. None: those that `loss`
            lists, ascending.

        Returns
        -------
        ndarray of float64, shape (n_samples, n_levels) or (n_samples, n_targets, n_levels)
            In the order of the levels; a higher level never lies below a lower one.

        Raises
        ------
        ValueError
            If the rows of the fit were too few to tell how far forecasts are off, or if neither
            `levels` nor `loss` lists any.

        Examples
        --------
        >>> import numpy as np, pandas as pd
        >>> from skinformer import InformerRegressor
        >>> df = pd.DataFrame({"load": np.random.default_rng(0).random(200)})
        >>> model = InformerRegressor(
        ...     seq_len=24, pred_len=6, d_model=8, n_heads=2, max_iter=1, random_state=0
        ... ).fit(df[:180])
        >>> model.predict_quantiles(df[180:], levels=[0.1, 0.5, 0.9]).shape
        (20, 3)
        """
        check_fitted(self)
        wanted = requested_levels(levels, getattr(self.head_, "levels", None))
        quantiles = self._with_quantiles(self._asked_rows(X), wanted)[..., 1:]
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
        Draw paths of the steps after the history.

        Parameters
        ----------
        n : int
            Number of paths, at least 1.
        X : DataFrame, Series or array-like, default=None
            As `forecast` takes it.
        horizon : int, default=None
            Steps, at least 1; None as in `forecast`.
        random_state : int, RandomState or None, default=None
            Which paths.

        Returns
        -------
        DataFrame of shape (n_rows, n) or (n_rows, n_targets * n)
            Rows as those of `forecast`; columns 0 … n - 1, of several targets under
            (target, path).

        Raises
        ------
        ValueError
            If the rows of the fit were too few to tell how far forecasts are off.

        Notes
        -----
        The errors of a path are those of one earlier forecast, all steps and targets together,
        so that sums over a day have the right spread. Beyond `pred_len` another forecast's
        follow; series are drawn independently.

        Examples
        --------
        >>> import numpy as np, pandas as pd
        >>> from skinformer import InformerRegressor
        >>> hours = pd.date_range("2024-01-01", periods=200, freq="h")
        >>> df = pd.DataFrame({"load": np.random.default_rng(0).random(200)}, index=hours)
        >>> model = InformerRegressor(
        ...     seq_len=24, pred_len=6, d_model=8, n_heads=2, max_iter=1, random_state=0
        ... )
        >>> paths = model.fit(df).sample(100, random_state=0)
        >>> paths.shape, bool(paths.sum().quantile(0.9) < 6 * paths.quantile(0.9, axis=1).max())
        ((6, 100), True)
        """
        n = check_count("n", n, "it counts the paths that are drawn")
        check_fitted(self)
        asked = self._asked_ahead(X, horizon)
        ranges, outputs = self._range_outputs(asked)
        random = check_random_state(random_state)
        series = np.minimum(asked.place.series[asked.track], self.timeline_.n_series)
        scaler = self.scaler_.with_unseen()
        start = asked.steps - asked.place.anchor[asked.track]
        block = start // self.sizes_.pred_len
        n_windows = len(ranges.residuals.errors)
        first = random.randint(n_windows, size=(n, len(asked.place.series)))
        paths = [
            ranges.paths(outputs, (each[asked.track] + block) % n_windows, scaler, series)
            for each in first
        ]
        names = self.roles_.target_labels
        table = np.stack(paths, axis=2)
        columns: pd.Index = pd.Index(range(n))
        if not self.roles_.one_dimensional:
            columns = pd.Index([(name, i) for name in names for i in range(n)])
        return pd.DataFrame(table.reshape(len(table), -1), index=asked.labels, columns=columns)

    def _with_quantiles(self, asked: AskedSteps, levels: Float64Array) -> Float64Array:
        """Give what `predict` does, and quantiles behind it, (n, n_targets, 1 + n_levels)."""
        head = self.head_
        if head.level is None and not len(levels):
            return head.point(self._forecaster.forecast(*asked[:5]))[..., None]
        ranges, outputs = self._range_outputs(asked)
        series = np.minimum(asked.place.series[asked.track], self.timeline_.n_series)
        return with_quantiles(head, ranges, outputs, levels, self.scaler_.with_unseen(), series)

    def _range_outputs(self, asked: AskedSteps) -> tuple[Ranges, Float64Array]:
        ranges = check_ranges(self.ranges_)
        forecaster = RangeForecaster.of(self._forecaster, ranges, asked.observed)
        return ranges, forecaster.forecast(*asked[:5])

    @property
    def _forecaster(self) -> StepForecaster:
        raise NotImplementedError

    def _asked_rows(self, X: Any) -> AskedSteps:
        raise NotImplementedError

    def _asked_ahead(self, X: Any, horizon: int | None) -> AskedSteps:
        raise NotImplementedError


def with_quantiles(
    head: Head,
    ranges: Ranges,
    outputs: Float64Array,
    levels: Float64Array,
    scaler: Scaler,
    series: IntArray,
) -> Float64Array:
    """
    Give forecasts and their quantiles in the truth's units.

    Parameters
    ----------
    head : Head
        Of the fit.
    ranges : Ranges
        Of the fit.
    outputs : ndarray of shape (n, n_targets, 3)
        From `RangeForecaster.forecast`.
    levels : ndarray of shape (n_levels,)
        In (0, 1).
    scaler : Scaler
        Of the fit, and of series that it did not hold.
    series : ndarray of int64, shape (n,)
        The series of each row.

    Returns
    -------
    ndarray of shape (n, n_targets, 1 + n_levels)
        What `predict` gives, and behind it the quantiles.
    """
    if head.level is not None:
        return ranges.quantiles(outputs, np.append(head.level, levels), scaler, series)
    points = scaler.inverse(outputs[..., 0].astype(np.float32), series)[..., None]
    return np.concatenate([points, ranges.quantiles(outputs, levels, scaler, series)], axis=2)


def names_with_levels(targets: pd.Index, levels: Float64Array) -> pd.Index:
    """
    Name the columns of targets and their quantiles.

    Parameters
    ----------
    targets : Index
        Names of the targets.
    levels : ndarray of shape (n_levels,)
        Of quantiles.

    Returns
    -------
    Index
        Each target, and behind it its quantiles; of names with several levels the last one tells.

    Examples
    --------
    >>> names_with_levels(pd.Index(["load"]), np.array([0.05, 0.95])).tolist()
    ['load', 'load_0.05', 'load_0.95']
    """
    names: list[Any] = []
    for target in targets:
        names.append(target)
        for level in levels:
            if isinstance(target, tuple):
                names.append((*target[:-1], f"{target[-1]}_{level:g}"))
            else:
                names.append(f"{target}_{level:g}")
    several = targets.nlevels > 1
    labels: pd.Index = pd.Index(names, tupleize_cols=several)
    return labels.set_names(targets.names)
