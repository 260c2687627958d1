"""Scores as scikit-learn's scorers, and ranges through Pipelines and searches."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import KW_ONLY, dataclass
from functools import partial
from typing import Any

import numpy as np
import pandas as pd

from skinformer.evaluation import scores
from skinformer.evaluation.ahead import raise_no_ranges, take_apart
from skinformer.evaluation.truth import stored_truth
from skinformer.reading.prediction import read_truth_of
from skinformer.timeline.arrays import Float64Array
from skinformer.validation.arguments import (
    check_choice,
    check_coverage,
    check_levels,
    check_row_count,
)
from skinformer.validation.truth import numeric_truth

#: Scores by the names that follow "neg_".
_POINTS: dict[str, Callable[..., float]] = {
    "mase": scores.mase,
    "rmsse": scores.rmsse,
    "smape": scores.smape,
    "wape": scores.wape,
}
_QUANTILES: dict[str, Callable[..., float]] = {
    "crps": scores.crps_of_quantiles,
    "pinball": scores.pinball_loss,
    "wql": scores.weighted_quantile_loss,
}
_INTERVALS: dict[str, Callable[..., float]] = {
    "width": scores.interval_width,
    "winkler": scores.winkler_score,
}
_LOSSES = [*_POINTS, *_QUANTILES, *_INTERVALS, "coverage_error"]
#: Every name; what is better when it is lower is turned round, as scikit-learn does.
_NAMES = ("coverage", *(f"neg_{name}" for name in _LOSSES))


def predict_interval(estimator: Any, X: Any, coverage: float = 0.9) -> Float64Array:
    """
    Ask the last step of a Pipeline, or the best one of a search, for intervals.

    Parameters
    ----------
    estimator : InformerRegressor, Pipeline or search
        Fitted.
    X : DataFrame, Series or array-like of shape (n_samples, n_features)
        Rows as the Pipeline takes them.
    coverage : float, default=0.9
        Share of the truth that is to lie within, in (0, 1).

    Returns
    -------
    ndarray of float64, shape (n_samples, 2) or (n_samples, n_targets, 2)
        Lower and upper bounds, in y's units.

    Raises
    ------
    TypeError
        If the estimator forecasts points alone.

    Examples
    --------
    >>> import numpy as np, pandas as pd
    >>> from sklearn.pipeline import make_pipeline
    >>> from sklearn.preprocessing import StandardScaler
    >>> from skinformer import InformerRegressor
    >>> df = pd.DataFrame({"load": np.sin(np.arange(200.0)) + 1e-3 * np.arange(200) % 0.1})
    >>> small = InformerRegressor(
    ...     "load", seq_len=24, pred_len=6, d_model=8, n_heads=2, max_iter=1, random_state=0
    ... )
    >>> scaler = StandardScaler().set_output(transform="pandas")
    >>> model = make_pipeline(scaler, small).fit(df[:180], df["load"][:180])
    >>> predict_interval(model, df[180:]).shape
    (20, 2)
    """
    rows, last = _rows_for_last(estimator, X, "predict_interval")
    interval: Float64Array = last.predict_interval(rows, coverage)
    return interval


def predict_quantiles(
    estimator: Any, X: Any, levels: Sequence[float] | None = None
) -> Float64Array:
    """
    Ask the last step of a Pipeline, or the best one of a search, for quantiles.

    Parameters
    ----------
    estimator : InformerRegressor, Pipeline or search
        Fitted.
    X : DataFrame, Series or array-like of shape (n_samples, n_features)
        Rows as the Pipeline takes them.
    levels : sequence of float, default=None
        Levels in (0, 1); None for those that `loss` lists.

    Returns
    -------
    ndarray of float64, shape (n_samples, n_levels) or (n_samples, n_targets, n_levels)
        In the order of the levels, in y's units.

    Raises
    ------
    TypeError
        If the estimator forecasts points alone.

    Examples
    --------
    >>> import numpy as np, pandas as pd
    >>> from skinformer import InformerRegressor
    >>> df = pd.DataFrame({"load": np.sin(np.arange(200.0)) + 1e-3 * np.arange(200) % 0.1})
    >>> model = InformerRegressor(
    ...     "load", seq_len=24, pred_len=6, d_model=8, n_heads=2, max_iter=1, random_state=0
    ... )
    >>> predict_quantiles(model.fit(df[:180]), df[180:], [0.1, 0.5, 0.9]).shape
    (20, 3)
    """
    rows, last = _rows_for_last(estimator, X, "predict_quantiles")
    quantiles: Float64Array = last.predict_quantiles(rows, levels)
    return quantiles


@dataclass(frozen=True)
class ForecastScorer:
    """
    A score that cross-validation and searches take as ``scoring``.

    scikit-learn's `make_scorer` knows no intervals, and no NaN in the truth; this calls the
    estimator itself, the last step of a Pipeline for intervals and quantiles.

    Parameters
    ----------
    score : str
        "neg_mase", "neg_rmsse", "neg_wape", "neg_smape" of `predict`; "neg_pinball", "neg_wql",
        "neg_crps" of `predict_quantiles`; "neg_width", "neg_winkler", "coverage" and
        "neg_coverage_error" (distance from the coverage asked for) of `predict_interval`.
    levels : sequence of float, default=(0.1, 0.2, …, 0.9)
        Of quantiles.
    coverage : float, default=0.9
        Of intervals.
    season : int, default=1
        Rows of a season, for MASE and RMSSE.
    y_train : Series, DataFrame or array-like, default=None
        Truth by which MASE and RMSSE scale errors; labelled rows from X's first one on are left
        out. None: what a fitted `InformerRegressor` keeps.

    Raises
    ------
    ValueError
        If there is no such score, level or coverage.

    See Also
    --------
    skip_missing : Lets a metric of scikit-learn leave out missing truths.

    Examples
    --------
    >>> import numpy as np, pandas as pd
    >>> from sklearn.model_selection import TimeSeriesSplit, cross_val_score
    >>> from skinformer import InformerRegressor
    >>> from skinformer.evaluation import ForecastScorer
    >>> df = pd.DataFrame({"load": np.sin(np.arange(200.0)) + 1e-3 * np.arange(200) % 0.1})
    >>> model = InformerRegressor(
    ...     "load", seq_len=24, pred_len=6, d_model=8, n_heads=2, max_iter=1, random_state=0
    ... )
    >>> cv = TimeSeriesSplit(2, test_size=12)
    >>> cross_val_score(model, df, df["load"], cv=cv, scoring=ForecastScorer("neg_mase")).shape
    (2,)
    """

    score: str
    _: KW_ONLY
    levels: Sequence[float] = (0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9)
    coverage: float = 0.9
    season: int = 1
    y_train: Any = None

    def __post_init__(self) -> None:
        """Check the names and numbers."""
        check_choice("score", self.score, _NAMES)
        check_levels(self.levels)
        check_coverage(self.coverage)
        check_row_count("season", self.season)

    def __call__(self, estimator: Any, X: Any, y: Any = None, sample_weight: Any = None) -> float:
        """
        Score a fitted estimator.

        Parameters
        ----------
        estimator : InformerRegressor, Pipeline, search, or any regressor for scores of points
            Fitted.
        X : DataFrame, Series or array-like of shape (n_samples, n_features)
            Rows to forecast.
        y : array-like of shape (n_samples,) or (n_samples, n_targets), default=None
            The truth; None takes it from X's target column(s).
        sample_weight : array-like of shape (n_samples,), default=None
            Weight of each row; MASE and RMSSE have none.

        Returns
        -------
        float
            The higher, the better, but for "coverage", which is best where it was asked to be.
        """
        name = self.score.removeprefix("neg_")
        truth = _truth(estimator, X, y)
        if name in _POINTS:
            measure = self._of_points(name, estimator, truth, sample_weight)
            return -measure(truth, estimator.predict(X))
        weighted = {"sample_weight": sample_weight}
        if name in _QUANTILES:
            quantiles = predict_quantiles(estimator, X, self.levels)
            return -_QUANTILES[name](truth, quantiles, levels=self.levels, **weighted)
        interval = predict_interval(estimator, X, self.coverage)
        if name in ("coverage", "coverage_error"):
            reached = scores.interval_coverage(truth, interval, **weighted)
            return reached if name == "coverage" else -abs(reached - self.coverage)
        options = weighted if name == "width" else {**weighted, "coverage": self.coverage}
        return -_INTERVALS[name](truth, interval, **options)

    def _of_points(
        self, name: str, estimator: Any, truth: Any, sample_weight: Any
    ) -> Callable[[Any, Any], float]:
        if name in ("smape", "wape"):
            return partial(_POINTS[name], sample_weight=sample_weight)
        last = take_apart(estimator)[1]
        if self.y_train is not None:
            trained = _before(self.y_train, truth)
        elif hasattr(last, "timeline_"):
            trained = stored_truth(last)
        else:
            raise ValueError(
                f"{type(last).__name__} does not keep its training rows, by which errors are "
                "scaled. Pass them as y_train=, such as y_train=df['load']; rows from X's first "
                "one on are left out."
            )
        return partial(_POINTS[name], y_train=trained, season=self.season)


def _rows_for_last(estimator: Any, X: Any, method: str) -> tuple[Any, Any]:
    """Give rows as the last step takes them, and this step, which must have the method."""
    transformers, last = take_apart(estimator)
    if not hasattr(last, method):
        raise_no_ranges(last, method)
    for transformer in transformers:
        X = transformer.transform(X)
    return X, last


def _truth(estimator: Any, X: Any, y: Any) -> Any:
    """Find the truth of rows, under their labels."""
    if y is None:
        transformers, last = take_apart(estimator)
        if not hasattr(last, "roles_"):
            raise ValueError(
                f"y=None needs an InformerRegressor, which knows its target; {type(last).__name__} "
                "does not. Pass the truth, such as y=X['load']."
            )
        for transformer in transformers:
            X = transformer.transform(X)
        y = read_truth_of(last, X, None, last.roles_)
    index = getattr(y, "index", getattr(X, "index", None))
    values = np.asarray(numeric_truth(y))
    if index is None:
        return values
    return pd.DataFrame(values, index=index) if values.ndim == 2 else pd.Series(values, index=index)


def _before(rows: Any, truth: Any) -> Any:
    """Give the rows before the first one of the truth, where both are labelled."""
    if not (hasattr(rows, "index") and hasattr(truth, "index")):
        return rows
    times, first = rows.index.get_level_values(-1), truth.index.get_level_values(-1).min()
    return rows[times < first]
