"""Forecasts that are asked about: their values, times, and the windows that they were made from."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from skinformer import validation
from skinformer.estimators.base import BaseInformer
from skinformer.estimators.ranging import AskedSteps
from skinformer.estimators.regressor import InformerRegressor
from skinformer.estimators.rolling import block_starts
from skinformer.estimators.seen import SeenWindow, WindowModel, WindowRecorder
from skinformer.evaluation.ahead import take_apart
from skinformer.timeline.arrays import Float64Array, IntArray

__all__ = ["AskedForecasts", "ask", "asked_steps", "labels_of", "seen_windows"]


@dataclass(frozen=True)
class AskedForecasts:
    """
    Forecasts, and what they were made from.

    Parameters
    ----------
    model : InformerRegressor
        Fitted.
    steps : AskedSteps
        Where they lie.
    labels : dict of str to Index of shape (n,)
        Their ``time``, and ``series`` of a panel.
    values, points : ndarray of float64, shape (n, n_targets)
        As `predict` gives them, and before quantiles are calibrated.
    windows : list of SeenWindow
        What they were made from.
    window, ahead : ndarray of int64, shape (n,)
        The window of each, and its step there, from 0.

    Examples
    --------
    >>> from skinformer import InformerRegressor
    >>> df = pd.DataFrame({"load": np.sin(np.arange(90.0))})
    >>> sizes = {"seq_len": 8, "pred_len": 2, "d_model": 8, "n_heads": 2, "max_iter": 1}
    >>> model = InformerRegressor("load", **sizes).fit(df)
    >>> ask(model, None).ahead.tolist()
    [0, 1]
    """

    model: InformerRegressor
    steps: AskedSteps
    labels: dict[str, pd.Index]
    values: Float64Array
    points: Float64Array
    windows: list[SeenWindow]
    window: IntArray
    ahead: IntArray

    def models(self) -> list[WindowModel]:
        """Give the fit as a function of each window."""
        forecaster = self.model._forecaster
        return [WindowModel(forecaster, window, self.steps.clock) for window in self.windows]

    def in_units(self, points: Float64Array) -> Float64Array:
        """
        Put standardised points into the targets' units.

        Parameters
        ----------
        points : ndarray of float64, shape (n, n_targets)
            Of each forecast.

        Returns
        -------
        ndarray of float64, shape (n, n_targets)
            Within the targets' bounds.
        """
        series = np.minimum(
            self.steps.place.series[self.steps.track], self.model.timeline_.n_series
        )
        return self.model.scaler_.with_unseen().inverse(points, series)

    def table(self, **columns: Sequence[Hashable]) -> pd.DataFrame:
        """
        Lay out a row for each forecast, each target and each of so many items.

        Parameters
        ----------
        **columns : sequence of length n_items
            What the items are, one column or more.

        Returns
        -------
        DataFrame of shape (n * n_targets * n_items, …)
            ``time``, ``series``, ``ahead``, ``target`` and these columns.
        """
        n_items = len(next(iter(columns.values())))
        k = self.values.shape[1]
        rows = np.repeat(np.arange(len(self.ahead)), k * n_items)
        targets = np.empty(k, dtype=object)
        targets[:] = list(self.model.roles_.targets)
        named: dict[str, Any] = {name: index[rows] for name, index in self.labels.items()}
        named["ahead"] = self.ahead[rows] + 1
        named["target"] = np.tile(np.repeat(targets, n_items), len(self.ahead))
        for name, items in columns.items():
            each = np.empty(n_items, dtype=object)
            each[:] = list(items)
            named[name] = np.tile(each, len(self.ahead) * k)
        return pd.DataFrame(named)


def ask(estimator: Any, X: Any) -> AskedForecasts:
    """
    Make forecasts and keep what they are made from.

    Parameters
    ----------
    estimator : InformerRegressor, or a Pipeline or search that ends in one
        Fitted.
    X : DataFrame, Series, array-like or None
        Rows for `predict`; None for the steps of `forecast()`.

    Returns
    -------
    AskedForecasts
        In X's order.

    Raises
    ------
    TypeError
        If the estimator forecasts no numbers, or by other means.

    Examples
    --------
    >>> from skinformer import InformerRegressor
    >>> df = pd.DataFrame({"load": np.sin(np.arange(90.0))})
    >>> sizes = {"seq_len": 8, "pred_len": 2, "d_model": 8, "n_heads": 2, "max_iter": 1}
    >>> model = InformerRegressor("load", **sizes).fit(df)
    >>> len(ask(model, df[:7]).windows)
    4
    """
    transformers, model = take_apart(estimator)
    if not isinstance(model, InformerRegressor):
        validation.raise_not_explained(model)
    X, steps = asked_steps(transformers, model, X)
    recorder = WindowRecorder.of(model._forecaster)
    head = model.head_
    if head.level is None:
        values = points = head.point(recorder.forecast(*steps[:5]))
    else:
        points = head.point(recorder.rolled(*steps[:5])[0])
        values = model._points(steps)
    windows, window, ahead = seen_windows(recorder, steps)
    labels = labels_of(model, X, steps)
    return AskedForecasts(model, steps, labels, values, points, windows, window, ahead)


def asked_steps(transformers: list[Any], model: BaseInformer, X: Any) -> tuple[Any, AskedSteps]:
    """
    Place rows as `predict` would, or the steps after the history.

    Parameters
    ----------
    transformers : list
        Fitted steps before the model.
    model : BaseInformer
        The last step.
    X : DataFrame, Series, array-like or None
        Rows for `predict`; None for the steps of `forecast()`.

    Returns
    -------
    tuple of X and AskedSteps
        X as the model sees it, and where it lies.

    Examples
    --------
    >>> from skinformer import InformerRegressor
    >>> df = pd.DataFrame({"load": np.sin(np.arange(90.0))})
    >>> sizes = {"seq_len": 8, "pred_len": 2, "d_model": 8, "n_heads": 2, "max_iter": 1}
    >>> model = InformerRegressor("load", **sizes).fit(df)
    >>> asked_steps([], model, None)[1].steps
    array([90, 91])
    """
    validation.check_fitted(model)
    if X is None:
        return None, model._asked_ahead(None, None)
    for transformer in transformers:
        X = transformer.transform(X)
    return X, model._asked_rows(X)


def seen_windows(
    recorder: WindowRecorder, steps: AskedSteps
) -> tuple[list[SeenWindow], IntArray, IntArray]:
    """
    Find what forecasts were made from.

    Parameters
    ----------
    recorder : WindowRecorder
        It has made them.
    steps : AskedSteps
        Where they lie.

    Returns
    -------
    tuple of list of SeenWindow, and two ndarray of int64, shape (n,)
        The windows by track and time, the window of each forecast, and its step there, from 0.

    Examples
    --------
    >>> from skinformer import InformerRegressor
    >>> df = pd.DataFrame({"load": np.sin(np.arange(90.0))})
    >>> sizes = {"seq_len": 8, "pred_len": 2, "d_model": 8, "n_heads": 2, "max_iter": 1}
    >>> model = InformerRegressor("load", **sizes).fit(df)
    >>> steps, recorder = asked_steps([], model, None)[1], WindowRecorder.of(model._forecaster)
    >>> _ = recorder.forecast(*steps[:5])
    >>> seen_windows(recorder, steps)[1:]
    (array([0, 0]), array([0, 1]))
    """
    start = block_starts(steps.place, steps.track, steps.steps, recorder.sizes.pred_len)
    keys, window = np.unique(np.stack([steps.track, start]), axis=1, return_inverse=True)
    windows = [recorder.seen[int(track), int(step)] for track, step in keys.T]
    return windows, window.reshape(-1), steps.steps - start


def labels_of(model: BaseInformer, X: Any, steps: AskedSteps) -> dict[str, pd.Index]:
    """
    Give the times of forecasts as X has them, and the series of a panel.

    Parameters
    ----------
    model : BaseInformer
        Fitted.
    X : DataFrame, Series, array-like or None
        As it sees them.
    steps : AskedSteps
        Where they lie.

    Returns
    -------
    dict of str to Index of shape (n,)
        ``time``, and ``series`` of a panel.

    Examples
    --------
    >>> from skinformer import InformerRegressor
    >>> df = pd.DataFrame({"load": np.sin(np.arange(90.0))})
    >>> sizes = {"seq_len": 8, "pred_len": 2, "d_model": 8, "n_heads": 2, "max_iter": 1}
    >>> model = InformerRegressor("load", **sizes).fit(df)
    >>> labels_of(model, None, asked_steps([], model, None)[1])["time"].tolist()
    [90, 91]
    """
    index = steps.labels if X is None else getattr(X, "index", None)
    if not isinstance(index, pd.Index):
        return {"time": steps.clock.labels(steps.steps)}
    time, series = validation.time_labels(index)
    if model.series_ is None or series is None:
        return {"time": time}
    return {"time": time, "series": series}
