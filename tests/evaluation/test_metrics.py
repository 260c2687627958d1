"""Errors of forecasts whose truth may be missing."""

import pickle
import re

import numpy as np
import pandas as pd
import pytest
from sklearn import metrics

from skinformer.evaluation import skip_missing


def test_known_truth_gives_scikit_learns_error():
    """Without missing truth the number must be the one that everybody else prints."""
    rng = np.random.default_rng(0)
    actual, forecast = rng.normal(size=(2, 50, 3))
    for metric in (metrics.mean_absolute_error, metrics.r2_score):
        assert skip_missing(metric)(actual, forecast) == metric(actual, forecast)


def test_a_row_of_several_targets_needs_all_of_them():
    """A row nobody measured in full can be neither right nor wrong."""
    metric = skip_missing(metrics.mean_absolute_error)
    assert metric([[1.0, np.nan], [1.0, 1.0]], [[7.0, 7.0], [2.0, 2.0]]) == 1.0


def test_missing_forecast_is_not_left_out():
    """A model must not gain by forecasting only the easy rows."""
    with pytest.raises(ValueError, match="NaN"):
        skip_missing(metrics.mean_absolute_error)([1.0, 2.0], [1.0, np.nan])


def test_skip_missing_leaves_out_rows_and_their_weights():
    """Weights of the rows that are left out must go with them."""
    metric = skip_missing(metrics.mean_absolute_error)
    truth, forecast = [1.0, np.nan, 3.0], [2.0, 9.0, 3.0]
    assert metric(truth, forecast) == 0.5
    assert metric(truth, forecast, sample_weight=[3.0, 5.0, 1.0]) == 0.75


def test_skip_missing_pickles_and_keeps_the_metrics_name():
    """Cross-validation in several processes sends the scorer along."""
    metric = pickle.loads(pickle.dumps(skip_missing(metrics.r2_score)))
    assert metric.__name__ == "r2_score"
    assert metric([1.0, 2.0], [1.0, 2.0]) == 1.0


def test_pandas_na_is_a_missing_truth():
    """What nullable columns and read_json hold."""
    metric = skip_missing(metrics.mean_absolute_error)
    for dtype in ("Float64", object):
        assert metric(pd.Series([1.0, pd.NA, 3.0], dtype=dtype), [2.0, 9.0, 3.0]) == 0.5


@pytest.mark.parametrize(
    ("arguments", "weight", "message"),
    [
        (
            ([np.nan], [1.0]),
            None,
            "score found no row whose actual value is known: every one holds a NaN. Pass rows with "
            "observed targets.",
        ),
        (
            ([1.0, 2.0], [1.0]),
            None,
            "Found input variables with inconsistent numbers of samples: [2, 1]",
        ),
        (
            ([1.0, np.nan], [1.0, 2.0]),
            [1.0],
            "sample_weight.shape == (1,), expected (2,)!",
        ),
        (([], []), None, "Found array with 0 sample(s) (shape=(0,)) while a minimum of 1 is "
         "required."),
    ],
)  # fmt: skip
def test_rows_that_do_not_fit_are_errors(arguments, weight, message):
    """Said in one sentence instead of by an index of numpy's."""
    with pytest.raises(ValueError, match=f"^{re.escape(message)}$"):
        skip_missing(metrics.mean_absolute_error)(*arguments, sample_weight=weight)
