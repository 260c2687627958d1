"""What all transformers share: scikit-learn's own checks, the kinds of input, the messages."""

import pickle
import re

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils.estimator_checks import (
    check_param_validation,
    parametrize_with_checks,
)
from versions import TEXT

from skinformer import CalendarFeatures, MaskFuture, SlidingWindow

EVERY = [CalendarFeatures(), SlidingWindow(seq_len=2, lag=1), MaskFuture(pred_len=2)]

# Arrays have no dates, of which CalendarFeatures warns; test_calendar_features.py sees to that.
pytestmark = pytest.mark.filterwarnings(
    "ignore:X has no dates, so no calendar columns:UserWarning"
)

every = pytest.mark.parametrize("transformer", EVERY, ids=lambda t: type(t).__name__)


def hours(n=12, start="2024-01-01", tz=None):
    index = pd.date_range(start, periods=n, freq="h", tz=tz, name="when")
    values = np.random.default_rng(0).normal(size=(n, 2))
    return pd.DataFrame(values, index=index, columns=["load", "temp"])


def panel(**frames):
    return pd.concat(frames, names=["series"])


def raises(error, message):
    """Expect an error with this message, word for word."""
    return pytest.raises(error, match=f"^{re.escape(message)}$")


# --- scikit-learn's checks ----------------------------------------------------------------------

PLACE = "rows of a plain array have only their place"


def expected_failures(transformer):
    if isinstance(transformer, CalendarFeatures):
        return {}
    return {
        "check_methods_sample_order_invariance": PLACE,
        "check_methods_subset_invariance": PLACE,
    }


@parametrize_with_checks(EVERY, expected_failed_checks=expected_failures)
def test_the_checks_of_sklearn_pass(estimator, check):
    """A transformer that fails one breaks somewhere in a Pipeline or a search."""
    check(estimator)


@every
def test_parameters_are_validated_as_in_sklearn(transformer):
    """A wrong type is named with what is allowed, before any row is read."""
    check_param_validation(type(transformer).__name__, transformer)


@every
def test_sklearn_sees_that_missing_values_pass(transformer):
    """Imputers and searches read the tag."""
    assert transformer.__sklearn_tags__().input_tags.allow_nan


# --- rows in, rows out --------------------------------------------------------------------------


@every
def test_the_index_of_a_frame_is_kept(transformer):
    """The estimator after it in a Pipeline reads the time from the index."""
    for X in (hours(), hours(tz="Europe/Berlin"), panel(a=hours(), b=hours())):
        out = clone(transformer).fit(X).transform(X)
        pd.testing.assert_index_equal(out.index, X.index)
        assert list(out.columns) == list(
            clone(transformer).fit(X).get_feature_names_out()
        )


@every
def test_the_input_is_left_alone(transformer):
    """The caller's frame is not ours to change."""
    X = hours()
    before = X.copy()
    clone(transformer).fit_transform(X)
    pd.testing.assert_frame_equal(X, before)
    values = X.to_numpy().copy()
    values.flags.writeable = False
    clone(transformer).fit_transform(values)


@every
def test_a_series_is_a_frame_of_one_column(transformer):
    """One load curve is the commonest input of all."""
    X = hours()["load"]
    pd.testing.assert_frame_equal(
        clone(transformer).fit(X).transform(X),
        clone(transformer).fit(X.to_frame()).transform(X.to_frame()),
    )


@every
def test_arrays_give_arrays_with_named_columns(transformer):
    """Without names the columns count up, as everywhere in scikit-learn."""
    X = hours().to_numpy()
    fitted = clone(transformer).fit(X)
    out = fitted.transform(X)
    assert isinstance(out, np.ndarray)
    names = fitted.get_feature_names_out()
    assert len(names) == out.shape[1]
    assert all(name.startswith(("x0", "x1")) for name in names)
    given = fitted.get_feature_names_out(["load", "temp"])
    assert [name.replace("load", "x0").replace("temp", "x1") for name in given] == list(
        names
    )


@every
def test_output_as_pandas_has_the_names_and_values_of_the_array(transformer):
    """In a Pipeline set_output is how names and times reach the next step."""
    X = hours()
    fitted = clone(transformer).set_output(transform="pandas").fit(X)
    out = fitted.transform(X)
    pd.testing.assert_frame_equal(out, clone(transformer).fit(X).transform(X))
    array = X.to_numpy()
    fitted = clone(transformer).set_output(transform="pandas").fit(array)
    assert list(fitted.transform(array).columns) == list(fitted.get_feature_names_out())


@every
def test_clones_and_pickles_give_the_same_rows(transformer):
    """Searches clone; servers unpickle."""
    X, later = hours(), hours(start="2024-01-01 12:00")
    fitted = clone(transformer).fit(X)
    expected = fitted.transform(later)
    again = pickle.loads(pickle.dumps(fitted))
    pd.testing.assert_frame_equal(again.transform(later), expected)
    pd.testing.assert_frame_equal(clone(fitted).fit(X).transform(later), expected)
    assert clone(fitted).get_params() == transformer.get_params()


@every
def test_transforming_changes_no_state(transformer):
    """What one call saw must not show in the next."""
    X = hours()
    fitted = clone(transformer).fit(X)
    before = pickle.dumps(fitted)
    fitted.transform(hours(start="2024-01-03 07:00"))
    fitted.transform(X.iloc[3:5])
    assert pickle.dumps(fitted) == before


@every
def test_columns_may_hold_any_kind_of_number(transformer):
    """Counts, flags, nullable integers with gaps and Python objects are numbers too."""
    X = hours(5)
    X["int"] = [1, 2, 3, 4, 6]
    X["bool"] = [True, False, True, True, False]
    X["single"] = np.arange(5, dtype=np.float32)
    X["null"] = pd.array([1, None, 3, 4, 5], dtype="Int64")
    X["object"] = pd.Series([1, 2.5, None, 4, 5], dtype=object, index=X.index)
    expected = clone(transformer).fit_transform(X.astype(np.float64))
    pd.testing.assert_frame_equal(clone(transformer).fit_transform(X), expected)


@every
def test_refitting_forgets_the_rows_before(transformer):
    """A fit on an array after one on dates is a fit on an array."""
    array = hours().to_numpy()[:7]
    again = clone(transformer).fit(panel(a=hours(), b=hours())).fit(array)
    np.testing.assert_array_equal(
        again.transform(array), clone(transformer).fit(array).transform(array)
    )


@every
def test_a_scaler_before_it_keeps_the_time_with_pandas_output(transformer):
    """Scalers drop the index unless told not to."""
    X = hours()
    steps = make_pipeline(StandardScaler(), clone(transformer)).set_output(
        transform="pandas"
    )
    out = steps.fit_transform(X)
    scaled = (X - X.mean()) / X.std(ddof=0)
    pd.testing.assert_frame_equal(out, clone(transformer).fit_transform(scaled))


# --- messages -----------------------------------------------------------------------------------


@every
def test_not_fitted_is_said_as_in_sklearn(transformer):
    """Callers catch NotFittedError."""
    name = type(transformer).__name__
    message = (
        f"This {name} instance is not fitted yet. Call 'fit' with appropriate arguments before "
        "using this estimator."
    )
    with raises(NotFittedError, message):
        clone(transformer).transform(hours())
    with raises(NotFittedError, message):
        clone(transformer).get_feature_names_out()


@every
@pytest.mark.parametrize("call", ["fit", "transform"])
def test_no_rows_are_refused(transformer, call):
    """An empty selection is a mistake upstream."""
    fitted = clone(transformer).fit(hours())
    message = "Found array with 0 sample(s) while a minimum of 1 is required."
    with raises(ValueError, message):
        getattr(fitted, call)(hours().iloc[:0])


@every
def test_columns_of_one_name_are_refused(transformer):
    """Which of the two is meant nobody can say."""
    X = hours().set_axis(["load", "load"], axis=1)
    with raises(
        ValueError, "X has several columns named 'load': give each its own name."
    ):
        clone(transformer).fit(X)


@every
@pytest.mark.parametrize(
    ("values", "dtype", "example"),
    [
        (["a", "b", "c"], TEXT, "'a'"),
        (pd.Categorical(["x", "y", "z"]), "category", "'x'"),
        (
            pd.date_range("2024", periods=3, unit="us"),
            "datetime64[us]",
            "Timestamp('2024-01-01 00:00:00')",
        ),
    ],
    ids=["str", "category", "dates"],
)
def test_columns_without_numbers_are_named(transformer, values, dtype, example):
    """Windows of names need an encoder; scikit-learn's message names no column."""
    X = pd.DataFrame({"load": [1.0, 2.0, 3.0], "kind": values})
    passes = isinstance(transformer, CalendarFeatures | MaskFuture)
    if passes and not dtype.startswith("datetime"):
        out = clone(transformer).fit(X[["kind", "load"]]).transform(X[["kind", "load"]])
        assert out["kind"].dtype == X["kind"].dtype
        return
    message = (
        f"could not convert column 'kind' of dtype {dtype} to float: it holds {example}. Correct "
        "it, or make such values missing, X['kind'] = pd.to_numeric(X['kind'], errors='coerce'), "
        "or columns of 0 and 1, pd.get_dummies. Times and names of series belong in the index, "
        "X.set_index([series, time]), in a Pipeline by TimeIndex."
    )
    with raises(ValueError, message):
        clone(transformer).fit(X)


@every
def test_complex_columns_are_refused(transformer):
    """Dropping the imaginary part would change the values in silence."""
    X = hours(4).assign(phase=[1j, 2, 3, 4])
    with pytest.raises(ValueError, match=r"[Cc]omplex"):
        clone(transformer).fit(X)


@every
@pytest.mark.parametrize("call", ["fit", "transform"])
def test_infinity_is_refused_and_its_column_named(transformer, call):
    """A division by zero upstream, not a value."""
    X = hours()
    fitted = clone(transformer).fit(X)
    X.iloc[3, 1] = -np.inf
    message = "Input X (column 'temp') contains infinity or a value too large for dtype('float64')."
    with raises(ValueError, message):
        getattr(fitted, call)(X)
    with pytest.raises(ValueError, match=r"^Input X contains infinity"):
        fitted.fit(X.to_numpy())


@every
def test_three_levels_are_one_too_many(transformer):
    """Region and station name one series together."""
    X = pd.concat({"north": panel(a=hours())})
    message = (
        "X.index has 3 levels: two are needed, (series, time). Join the levels that name a "
        "series into one."
    )
    with raises(TypeError, message):
        clone(transformer).fit(X)


@every
@pytest.mark.parametrize(
    ("labels", "dtype", "convert"),
    [
        (
            ["1 May", "2 May", "3 May"],
            TEXT,
            "convert them, X.index = pd.to_datetime(X.index)",
        )
    ],
    ids=["str"],
)
def test_labels_without_an_order_in_time_are_refused(
    transformer, labels, dtype, convert
):
    """Dates read from a file as text sort by their letters."""
    X = hours(3).set_axis(labels)
    message = (
        f"X.index holds {dtype} labels, which have no order in time: {convert}, or number the "
        "rows, X.reset_index(drop=True)."
    )
    with raises(TypeError, message):
        clone(transformer).fit(X)


@every
@pytest.mark.parametrize("periods", [False, True])
def test_a_missing_time_is_refused(transformer, periods):
    """A row without a time has no place."""
    index = pd.DatetimeIndex(["2024-01-01", pd.NaT, "2024-01-03"])
    X = hours(3).set_axis(index.to_period("D") if periods else index)
    with raises(
        ValueError, "X.index holds NaT: every row needs its time. Drop those rows."
    ):
        clone(transformer).fit(X)


@every
def test_another_number_of_columns_is_refused(transformer):
    """In scikit-learn's own words, which callers know."""
    fitted = clone(transformer).fit(hours().to_numpy())
    message = (
        f"X has 1 features, but {type(transformer).__name__} "
        "is expecting 2 features as input."
    )
    with raises(ValueError, message):
        fitted.transform(hours().to_numpy()[:, :1])
