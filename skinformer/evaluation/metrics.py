"""Errors of forecasts whose truth may be missing."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import numpy.typing as npt
from sklearn.utils import check_consistent_length

from skinformer.validation.truth import check_any_truth, numeric_truth, score_weight


class skip_missing:  # noqa: N801 – used as a function, a class so that it can be pickled
    """
    Make a metric of scikit-learn leave out rows whose truth is missing.

    Parameters
    ----------
    metric : callable
        ``metric(y_true, y_pred, *, sample_weight=None, …)``, such as
        `sklearn.metrics.mean_absolute_error`.

    See Also
    --------
    sklearn.metrics.make_scorer : Turns the result into a scorer for cross-validation.

    Examples
    --------
    >>> from sklearn.metrics import make_scorer, mean_absolute_error
    >>> from skinformer.evaluation import skip_missing
    >>> metric = skip_missing(mean_absolute_error)
    >>> metric([1.0, float("nan"), 3.0], [2.0, 9.0, 3.0])
    0.5
    >>> scorer = make_scorer(metric, greater_is_better=False)
    """

    def __init__(self, metric: Callable[..., float]) -> None:
        if not callable(metric):
            raise TypeError(
                f"metric={metric!r} must be a function metric(y_true, y_pred). Pass one of "
                "sklearn.metrics, such as mean_absolute_error."
            )
        self.metric = metric
        self.__name__ = getattr(metric, "__name__", type(metric).__name__)

    def __call__(
        self,
        y_true: npt.ArrayLike,
        y_pred: npt.ArrayLike,
        *,
        sample_weight: npt.ArrayLike | None = None,
        **options: object,
    ) -> float:
        """
        Measure the rows whose truth is known.

        Parameters
        ----------
        y_true : array-like of shape (n,) or (n, n_targets)
            The truth; a row with a NaN is left out.
        y_pred : array-like of the same shape
            Forecasts of it.
        sample_weight : array-like of shape (n,), default=None
            Weight of each row.
        **options : object
            More arguments of the metric.

        Returns
        -------
        float
            What the metric gives.
        """
        truth, forecast = numeric_truth(y_true), np.asarray(y_pred)
        check_consistent_length(truth, forecast)
        known = ~np.isnan(truth.reshape(len(truth), -1)).any(axis=1)
        check_any_truth(int(known.sum()))
        weight = score_weight(sample_weight, len(truth))
        if weight is not None:
            options["sample_weight"] = weight[known]
        return self.metric(truth[known], forecast[known], **options)
