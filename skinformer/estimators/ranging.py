"""What is asked of an estimator beside points: intervals, quantiles, paths."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from sklearn.utils import check_random_state

from skinformer import validation
from skinformer.estimators.forecaster import StepForecaster
from skinformer.estimators.placement import Placement
from skinformer.estimators.ranges import RangeForecaster, Ranges
from skinformer.estimators.rolling import Observed
from skinformer.estimators.state import FittedState
from skinformer.timeline.arrays import Float64Array, IntArray
from skinformer.timeline.clock import Clock

__all__ = ["AskedSteps", "RangesMixin", "names_with_levels"]


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
        validation.check_fitted(self)
        if "_ranges_" not in vars(self):  # the same whoever asks, and whenever
            self._ranges_ = self.calibration_.ranges(self._forecaster)
        return self._ranges_

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
        validation.check_fitted(self)
        wanted = validation.check_range_levels(coverage, levels)
        asked = self._asked_ahead(X, horizon)
        values = self.head_.point(self._forecaster.forecast(*asked[:5]))
        names = self.roles_.target_labels
        if wanted is not None:
            quantiles = self._quantiles(asked, wanted)
            values = np.concatenate([values[..., None], quantiles], axis=2).reshape(len(values), -1)
            names = names_with_levels(names, wanted)
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
        tail = (1 - validation.check_coverage(coverage)) / 2
        return self.predict_quantiles(X, [tail, 1 - tail])

    def predict_quantiles(self, X: Any, levels: Sequence[float]) -> Float64Array:
        """
        Give quantiles for each row of X at its own time.

        Parameters
        ----------
        X : DataFrame, Series or array-like of shape (n_samples, n_features)
            Rows as `predict` takes them.
        levels : sequence of float
            Each in (0, 1): the share of the truth that is to lie below.

        Returns
        -------
        ndarray of float64, shape (n_samples, n_levels) or (n_samples, n_targets, n_levels)
            In the order of the levels; a higher level never lies below a lower one.

        Raises
        ------
        ValueError
            If the rows of the fit were too few to tell how far forecasts are off.

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
        wanted = validation.check_levels(levels)
        validation.check_fitted(self)
        quantiles = self._quantiles(self._asked_rows(X), wanted)
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
        n = validation.check_row_count("n", n)
        validation.check_fitted(self)
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

    def _quantiles(self, asked: AskedSteps, levels: Float64Array) -> Float64Array:
        ranges, outputs = self._range_outputs(asked)
        series = np.minimum(asked.place.series[asked.track], self.timeline_.n_series)
        return ranges.quantiles(outputs, levels, self.scaler_.with_unseen(), series)

    def _range_outputs(self, asked: AskedSteps) -> tuple[Ranges, Float64Array]:
        ranges = validation.check_ranges(self.ranges_)
        forecaster = RangeForecaster.of(self._forecaster, ranges, asked.observed)
        return ranges, forecaster.forecast(*asked[:5])

    @property
    def _forecaster(self) -> StepForecaster:
        raise NotImplementedError

    def _asked_rows(self, X: Any) -> AskedSteps:
        raise NotImplementedError

    def _asked_ahead(self, X: Any, horizon: int | None) -> AskedSteps:
        raise NotImplementedError


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
