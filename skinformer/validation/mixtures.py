"""Columns that a reducer such as PCA has mixed, and a truth that went into the mixture."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from skinformer.timeline.arrays import Float64Array
from skinformer.validation.warning import warn_user

__all__ = ["warn_of_mixed_truth"]

#: Columns looked at, at most: a reducer is there to leave few.
_MOST = 256
#: Rows for each column, without which a mixture cannot be told from chance.
_ROWS_EACH = 8
#: Cosine between columns, and share of a truth that they leave, that are roundings (float32).
_ROUNDING = 1e-4


def warn_of_mixed_truth(columns: Sequence[npt.NDArray[Any]], truth: Float64Array) -> None:
    """
    Warn where features are a reducer's output, and add up to the truth at their own step.

    Such columns are uncorrelated to the last digit, which measured ones never are. A reducer that
    dropped components cannot be found out: then no sum is exact.

    Parameters
    ----------
    columns : sequence of ndarray of shape (n,)
        Features, which count as known ahead.
    truth : ndarray of shape (n, n_targets)
        NaN is missing.
    """
    if not 2 <= len(columns) <= _MOST or len(truth) < _ROWS_EACH * (len(columns) + 1):
        return
    if not _uncorrelated(np.column_stack(columns[:2])):  # settles it for nearly every fit
        return
    features = np.column_stack(columns).astype(np.float64)
    if _uncorrelated(features) and any(_adds_up(features, y) for y in truth.T):
        warn_user(
            "the columns of X are uncorrelated and add up to y at their own step, as those of PCA "
            "do where y was among its columns: they count as known ahead, and hold the answer. "
            "Reduce the other columns alone, ColumnTransformer([('pca', PCA(), drivers)], "
            "remainder='passthrough', verbose_feature_names_out=False), with "
            "set_output(transform='pandas') and target=, or leave the reducer out.",
        )


def _uncorrelated(features: Float64Array) -> bool:
    """Tell whether columns are orthogonal, as they are (truncated SVD) or about their means."""
    if not np.isfinite(features).all():
        return False
    return any(_orthogonal(rows) for rows in (features, features - features.mean(axis=0)))


def _orthogonal(rows: Float64Array) -> bool:
    products = rows.T @ rows
    length = np.sqrt(np.diag(products))
    some = length > _ROUNDING * length.max(initial=0.0)  # others are what rounding left
    cosines = products[np.ix_(some, some)] / np.outer(length[some], length[some])
    return bool(some.sum() > 1 and np.abs(cosines - np.eye(some.sum())).max() < _ROUNDING)


def _adds_up(features: Float64Array, y: Float64Array) -> bool:
    """Tell whether a truth that varies is a sum of columns, each times a number, and of one."""
    present = ~np.isnan(y)
    y, rows = y[present], features[present]
    rows = np.column_stack([rows, np.ones(len(y))])
    if len(y) < _ROWS_EACH * rows.shape[1] or np.ptp(y) == 0:
        return False
    weights = np.linalg.lstsq(rows, y, rcond=None)[0]
    return bool(np.std(y - rows @ weights) < _ROUNDING * np.std(y))
