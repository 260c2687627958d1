"""What all scores share: checks of their arrays, and means over rows and targets."""

from typing import Any

import numpy as np

from skinformer.timeline.arrays import Float64Array
from skinformer.validation.truth import check_any_truth, numeric_truth, score_weight


def read_scored(
    y_true: Any, y_pred: Any, *behind: int
) -> tuple[Float64Array, Float64Array]:
    """Return truth and forecasts as (n, n_targets, *behind); raise where they do not fit.

    It is a ValueError, too, if forecasts are missing where the actual value is known, or if it is
    known nowhere.
    """
    y = numeric_truth(y_true)
    y_pred = np.asarray(y_pred, dtype=np.float64)
    columns = y.reshape(len(y), -1)
    shape = (*columns.shape, *behind)
    # Axes of one value may be left out.
    axes = np.broadcast_to(0.0, shape).squeeze().shape
    same_axes = y_pred.squeeze().shape == axes
    same_rows = y_pred.shape[:1] == y.shape[:1]
    if not (same_axes and same_rows and y_pred.size):
        raise ValueError(
            f"forecasts of shape {y_pred.shape} do not fit actual values of shape {y.shape}: they "
            f"need shape {(*y.shape, *behind)}."
        )
    y_pred = y_pred.reshape(shape)
    is_known = ~np.isnan(columns)
    check_any_truth(is_known)
    n_missing = np.isnan(y_pred[is_known]).sum()
    if n_missing:
        raise ValueError(
            f"forecasts hold {n_missing} NaN where the actual value is known: a score "
            "of the other rows would favour a model that forecasts only the easy "
            "ones. Forecast all of them."
        )
    return columns, y_pred


def mean_score(errors: Float64Array, sample_weight: Any) -> float:
    """Average over the rows that are known, then over the targets that have any."""
    return ratio_score(errors, np.ones_like(errors), sample_weight)


def ratio_score(errors: Float64Array, sizes: Float64Array, sample_weight: Any) -> float:
    """Divide sums over the rows that are known, then average over the targets that have any."""
    weights = score_weight(sample_weight, len(errors))
    is_known = ~np.isnan(errors)
    total = weights @ np.where(is_known, errors, 0.0)
    size = weights @ np.where(is_known, sizes, 0.0)
    with np.errstate(all="ignore"):
        ratios = total / size
    is_scored = is_known.any(axis=0)
    return float(ratios[is_scored].mean())
