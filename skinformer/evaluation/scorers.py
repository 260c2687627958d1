"""Scores as scikit-learn's scorers, of ranges too, through Pipelines and searches."""

from collections.abc import Sequence
from dataclasses import KW_ONLY, dataclass
from typing import Any

import numpy as np
from pandas import DataFrame, Series

from skinformer.estimators.state import FittedState
from skinformer.evaluation.ahead import raise_no_ranges, rows_for_last, split_last_step
from skinformer.evaluation.range_scores import (
    crps_of_quantiles,
    interval_coverage,
    interval_width,
    pinball_loss,
    weighted_quantile_loss,
    winkler_score,
)
from skinformer.evaluation.scores import mase, rmsse, smape, wape
from skinformer.reading.prediction import read_y_true
from skinformer.timeline.clock import join_series
from skinformer.validation.arguments import (
    check_choice,
    check_coverage,
    check_levels,
    check_row_count,
)
from skinformer.validation.truth import numeric_truth

#: Scores by the names that follow "neg_", and the method whose forecasts each is of.
_SCORES: dict[str, Any] = {
    "mase": (mase, "predict"),
    "rmsse": (rmsse, "predict"),
    "smape": (smape, "predict"),
    "wape": (wape, "predict"),
    "crps": (crps_of_quantiles, "predict_quantiles"),
    "pinball": (pinball_loss, "predict_quantiles"),
    "wql": (weighted_quantile_loss, "predict_quantiles"),
    "width": (interval_width, "predict_interval"),
    "winkler": (winkler_score, "predict_interval"),
    "coverage": (interval_coverage, "predict_interval"),
    "coverage_error": (interval_coverage, "predict_interval"),
}


@dataclass(frozen=True)
class ForecastScorer:
    """
    Score forecasts, quantiles or intervals in cross-validation and searches.

    An instance is passed as ``scoring``. Unlike scorers of `make_scorer`, it can score intervals
    and quantiles, which it requests from the last step of a Pipeline, and it leaves out rows whose
    actual value is missing.

    Parameters
    ----------
    score : str
        "neg_mase", "neg_rmsse", "neg_wape", "neg_smape" of `predict`; "neg_pinball", "neg_wql",
        "neg_crps" of `predict_quantiles`; "neg_width", "neg_winkler", "coverage" and
        "neg_coverage_error" (distance from the requested coverage) of `predict_interval`.
    levels : sequence of float, default=(0.1, 0.2, …, 0.9)
        The levels of quantiles.
    coverage : float, default=0.9
        The coverage of intervals.
    season : int, default=1
        Number of rows in a season, for MASE and RMSSE.
    y_train : Series, DataFrame or array-like, default=None
        The training rows by which MASE and RMSSE scale errors. Labelled rows from the first row of
        X on are left out. None uses the rows that a fitted `InformerRegressor` keeps.

    Raises
    ------
    ValueError
        If there is no such score, level or coverage.

    See Also
    --------
    skip_missing : Lets a metric of scikit-learn leave out missing actual values.

    Examples
    --------
    >>> import numpy as np, pandas as pd
    >>> from sklearn.model_selection import TimeSeriesSplit, cross_val_score
    >>> from skinformer import InformerRegressor, Network, Training
    >>> from skinformer.evaluation import ForecastScorer
    >>> df = pd.DataFrame({"load": np.sin(np.arange(200.0)) + 1e-3 * np.arange(200) % 0.1})
    >>> model = InformerRegressor(
    ...     "load", seq_len=24, pred_len=6, network=Network(d_model=8, n_heads=2),
    ...     training=Training(max_iter=1), random_state=0
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
        names = [f"neg_{name}" for name in _SCORES if name != "coverage"]
        check_choice("score", self.score, ["coverage", *names])
        check_levels(self.levels)
        check_coverage(self.coverage)
        check_row_count("season", self.season)

    def __call__(
        self, estimator: Any, X: Any, y: Any = None, sample_weight: Any = None
    ) -> float:
        """
        Score a fitted estimator.

        Parameters
        ----------
        estimator : InformerRegressor, Pipeline, search, or any regressor for scores of points
            The fitted estimator.
        X : DataFrame, Series or array-like of shape (n_samples, n_features)
            Rows to forecast.
        y : array-like of shape (n_samples,) or (n_samples, n_targets), default=None
            The actual values; None takes them from X's target column(s).
        sample_weight : array-like of shape (n_samples,), default=None
            Weight of each row; MASE and RMSSE have none.

        Returns
        -------
        float
            The higher, the better, but for "coverage", which is best as requested.
        """
        name = self.score.removeprefix("neg_")
        compute_score, method = _SCORES[name]
        y_true = _truth(estimator, X, y)
        options = {"sample_weight": sample_weight}
        if name in ("mase", "rmsse"):
            y_train = self._trained(estimator, y_true)
            options = {"y_train": y_train, "season": self.season}
        elif method == "predict_quantiles":
            options["levels"] = self.levels
        elif name == "winkler":
            options["coverage"] = self.coverage
        y_pred = self._forecast(estimator, X, method)
        score: float = compute_score(y_true, y_pred, **options)
        # What is better when it is lower is turned round, as scikit-learn does.
        if name == "coverage":
            return score
        if name == "coverage_error":
            return -abs(score - self.coverage)
        return -score

    def _forecast(self, estimator: Any, X: Any, method: str) -> Any:
        """Forecast rows by a method; ranges by that of the last step, or raise if it has none."""
        if method == "predict":
            return estimator.predict(X)
        rows, last = rows_for_last(estimator, X)
        if not hasattr(last, method):
            raise_no_ranges(last, method)
        shares = self.levels if method == "predict_quantiles" else self.coverage
        return getattr(last, method)(rows, shares)

    def _trained(self, estimator: Any, y_true: Any) -> Any:
        """Find the truth by which errors are scaled."""
        y_train = self.y_train
        if y_train is None:
            last = split_last_step(estimator)[1]
            if hasattr(last, "timeline_"):
                return _stored_truth(last)
            raise ValueError(
                f"{type(last).__name__} does not keep its training rows, which are "
                "needed to scale errors. Pass them as y_train, such as "
                "y_train=df['load']; rows from the first row of X on are left out."
            )
        labelled = Series | DataFrame
        if not (isinstance(y_train, labelled) and isinstance(y_true, labelled)):
            return y_train
        first = y_true.index.get_level_values(-1).min()
        return y_train[y_train.index.get_level_values(-1) < first]


def _stored_truth(model: FittedState) -> DataFrame:
    """Return the targets of all rows that `fit` and `update` saw: (n_rows, n_targets).

    They are in the units of the target, series after series; NaN where one was missing. Rounded to
    single precision, in which rows are kept.
    """
    timeline = model.timeline_
    rows = np.arange(len(timeline.values))
    values = model._truths(rows)
    times = timeline.clock.labels(timeline.steps)
    labels = join_series(model.series_, timeline.series, times)
    return DataFrame(values, index=labels, columns=model.roles_.target_labels)


def _truth(estimator: Any, X: Any, y: Any) -> Any:
    """Find the truth of rows, under their labels."""
    if y is None:
        X, last = rows_for_last(estimator, X)
        if not hasattr(last, "roles_"):
            raise ValueError(
                f"y=None needs an InformerRegressor, which knows its target; {type(last).__name__} "
                "does not. Pass the actual values, such as y=X['load']."
            )
        X = last.layout_.read_rows(X)
        y = read_y_true(last, X, None, last.roles_)
    values = numeric_truth(y)
    for rows in (y, X):
        if isinstance(rows, Series | DataFrame):
            return DataFrame(values, rows.index)
    return values
