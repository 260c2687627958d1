"""Rows: one forecast each, whatever the order, the selection or the gap."""

import warnings
from functools import cache

import numpy as np
import pandas as pd
import pytest
from hypothesis import Phase, given, settings
from hypothesis import strategies as st

# The first counterexample is shown as it is: shrinking it would take minutes of forecasts.
QUICK = settings(
    deadline=None, derandomize=True, phases=[Phase.explicit, Phase.generate]
)

#: What both estimators promise.
both = pytest.mark.parametrize("truths", ["numbers", "classes"], indirect=True)


def inputs(df, mode):
    return df.drop(columns="load") if mode == "features" else df


@pytest.fixture(scope="module")
def whole(fitted, frame):
    """Give the function (mode, n) -> forecasts of all n rows; each is asked for once."""
    return cache(lambda mode, n: fitted(mode).predict(inputs(frame(n), mode)))


@pytest.mark.slow
@both
@settings(QUICK, max_examples=12)
@given(seed=st.integers(0, 2**31))
def test_the_order_of_rows_changes_no_forecast(fitted, whole, frame, mode, seed):
    """A dated row is placed by its label, not by where it stands."""
    X = inputs(frame(80), mode)
    order = np.random.default_rng(seed).permutation(80)
    np.testing.assert_array_equal(
        fitted(mode).predict(X.iloc[order]), whole(mode, 80)[order]
    )


@pytest.mark.slow
@both
@settings(QUICK, max_examples=12)
@given(chosen=st.sets(st.integers(0, 59), min_size=1))
def test_any_subset_of_the_training_rows_gets_the_same_forecasts(
    fitted, whole, frame, mode, chosen
):
    """In-sample contexts come from the stored history, so dropped rows are not missed."""
    X, rows = inputs(frame(60), mode), sorted(chosen)
    np.testing.assert_array_equal(
        fitted(mode).predict(X.iloc[rows]), whole(mode, 60)[rows]
    )


@pytest.mark.slow
@both
@settings(QUICK, max_examples=12)
@given(last=st.integers(60, 99), chosen=st.sets(st.integers(0, 3), min_size=1))
def test_a_later_subset_that_keeps_all_rows_before_its_blocks_gets_the_same_forecasts(
    without_known, whole_without_known, frame, last, chosen
):
    """Only rows before the block are history; within the block any may be left out."""
    X = frame(100)[["flow", "load"]]
    block = 60 + (last - 60) // 4 * 4
    rows = [*range(60, block), *(block + place for place in sorted(chosen))]
    found, expected = without_known.predict(X.iloc[rows]), whole_without_known[rows]
    np.testing.assert_array_equal(found, expected)


@pytest.fixture(scope="module", params=["frame", "both"])
def without_known(request, small, frame):
    df = frame(60)[["flow", "load"]]
    return small(target="load").fit(df, df["load"] if request.param == "both" else None)


@pytest.fixture(scope="module")
def whole_without_known(without_known, frame):
    return without_known.predict(frame(100)[["flow", "load"]])


@pytest.mark.slow
@both
@settings(QUICK, max_examples=12)
@given(stop=st.integers(61, 100))
def test_later_rows_get_the_same_forecasts_when_all_rows_before_them_are_kept(
    fitted, whole, frame, mode, stop
):
    """Values known ahead count up to their own step: what follows a row does not reach it."""
    X = inputs(frame(100), mode)
    np.testing.assert_array_equal(
        fitted(mode).predict(X[60:stop]), whole(mode, 100)[60:stop]
    )


@both
def test_a_dropped_row_with_values_known_ahead_is_reported(fitted, frame, mode):
    """Its known values count for the rows after it in the block: held, and said so."""
    X = inputs(frame(64), mode)
    with pytest.warns(UserWarning, match="they are forward-filled there"):
        fitted(mode).predict(X[62:])


@pytest.mark.slow
@both
def test_every_single_row_after_the_history_is_forecast_by_its_block(
    without_known, frame
):
    """One row of the first block, alone, is what the whole block gives for it."""
    df, estimator = frame(64)[["flow", "load"]], without_known
    whole = estimator.predict(df[60:])
    for row in range(4):
        assert (estimator.predict(df[60 + row : 61 + row]) == whole[row]).all()


@both
def test_rows_that_are_dropped_are_forecast_as_rows_whose_target_is_missing(
    small, frame
):
    """A dropped row is a step of unknown history, no more and no less."""
    df = frame(76)[["load"]]
    estimator = small().fit(df[:60])
    hidden = df[60:].copy()
    hidden.iloc[3:9] = np.nan
    whole = estimator.predict(hidden)
    kept = [0, 1, 2, *range(9, 16)]
    with pytest.warns(
        UserWarning, match="^there are no rows for 6 time steps .frequency 'h'., the"
    ):
        dropped = estimator.predict(hidden.iloc[kept])
    np.testing.assert_array_equal(dropped, whole[kept])


@both
def test_a_step_without_a_row_before_an_observed_one_is_told(small, frame):
    """Nothing else would say that its forecast stands for what may only have got lost."""
    df = frame(76)[["load"]]
    estimator = small().fit(df[:60])
    rows = df[60:].drop(df.index[64])
    message = f"^there are no rows for 1 time step .frequency 'h'., the first {df.index[64]}: their"
    for ask in (estimator.predict, estimator.forecast):
        with pytest.warns(UserWarning, match=message):
            ask(rows[::-1])
    ahead = rows.astype(object)
    ahead.iloc[3:] = None  # rows to forecast, of which some alone are asked for
    estimator.predict(ahead)
    estimator.predict(df[20:60:3])  # what the history holds


@pytest.mark.filterwarnings("ignore:there are no rows for:UserWarning")
@both
def test_where_training_lacked_rows_others_may_lack(small, frame):
    df = frame(140)[["load"]].drop(frame(140).index[[30, 31]])
    estimator = small().fit(df[:110])
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        estimator.predict(df[110:].drop(df.index[115]))


@both
def test_a_gap_after_training_is_forecast_and_dropped(small, frame):
    """TimeSeriesSplit(gap=g) leaves rows out; the target alone needs nothing in between."""
    df = frame(80)[["load"]]
    estimator = small().fit(df[:60])
    recursive = estimator.predict(pd.concat([df[60:65].where([[False]] * 5), df[65:]]))
    np.testing.assert_array_equal(estimator.predict(df[65:]), recursive[5:])


@pytest.mark.slow
@both
def test_blocks_are_anchored_at_the_end_of_the_history_and_not_at_the_first_row_of_x(
    small, frame
):
    """Anchored at X's first row, forecasts would change with what else is asked for."""
    df = frame(80)[["load"]]
    estimator = small().fit(df[:60])
    whole = estimator.predict(df)
    for start in range(61):
        np.testing.assert_array_equal(estimator.predict(df[start:]), whole[start:])


def test_update_moves_the_anchor(small, frame):
    """After an update the next block starts at the new end, whatever the old borders were."""
    df = frame(80)[["load"]]
    estimator = small().fit(df[:60]).update(df[60:62])
    expected = estimator.forecast()["load"].to_numpy()
    np.testing.assert_array_equal(estimator.predict(df[62:66]), expected)


@both
def test_repeated_calls_and_split_calls_agree(fitted, frame, mode):
    """Asking in two calls is asking in one, if the history of the second is given."""
    X = inputs(frame(80), mode)
    estimator = fitted(mode)
    whole = estimator.predict(X)
    np.testing.assert_array_equal(estimator.predict(X[:31]), whole[:31])
    np.testing.assert_array_equal(estimator.predict(X), whole)


@both
def test_more_rows_than_one_chunk_get_the_same_forecasts_in_any_number(small, frame):
    """Matrix products round by shape: a forecast must not depend on its neighbours."""
    df = frame(400)
    estimator = small(target="load").fit(df[:200])
    whole = estimator.predict(df)
    rng = np.random.default_rng(0)
    for size in (1, 2, 3, 50, 127, 129, 199):
        rows = rng.choice(200, size, replace=False)
        np.testing.assert_array_equal(estimator.predict(df.iloc[rows]), whole[rows])
    for stop in (201, 230, 331):
        np.testing.assert_array_equal(estimator.predict(df[:stop]), whole[:stop])


# --- X as its own timeline -------------------------------------------------------------------


@pytest.mark.filterwarnings(
    "ignore:X holds .* forecast as a separate series:UserWarning"
)
@pytest.mark.parametrize(
    "start", ["2023-01-01 00:30", "2024-01-02 00:20", "2024-05-01 00:59"]
)
def test_rows_off_the_grid_are_their_own_timeline_anchored_at_their_first_row(
    fitted, frame, start
):
    """Rows half a step beside the training rows share no step with them."""
    estimator = fitted("both")
    X = frame(pd.date_range(start, periods=30, freq="h"), seed=3)
    whole = estimator.predict(X)
    assert np.isfinite(whole).all()
    changed = X.copy()
    changed.iloc[3, 2] += 300
    moved = estimator.predict(changed) != whole
    assert not moved[:4].any()
    assert moved[4:16].all()


@pytest.mark.filterwarnings(
    "ignore:X holds .* forecast as a separate series:UserWarning"
)
@pytest.mark.parametrize("start", ["2023-06-01 00:00", "2023-12-31 20:00"])
def test_rows_before_the_history_take_their_context_from_x(fitted, frame, start):
    """Nothing that is stored lies before them."""
    estimator = fitted("frame")
    X = frame(pd.date_range(start, periods=40, freq="h"), seed=3)
    X = X[X.index < pd.Timestamp("2024-01-01")]
    whole = estimator.predict(X)
    np.testing.assert_array_equal(
        estimator.predict(X.assign(load=X["load"] * 1.0)), whole
    )
    other = X.copy()
    other.iloc[-2:, 2] += 200.0
    np.testing.assert_array_equal(estimator.predict(other), whole)


@pytest.mark.filterwarnings("ignore:.* is (taken|replaced) :UserWarning")
@pytest.mark.filterwarnings(
    "ignore:X holds .* forecast as a separate series:UserWarning"
)
def test_the_first_rows_of_another_timeline_see_the_training_mean_only(fitted, frame):
    """Nothing is known before them: the forecast cannot depend on X's values at all."""
    estimator = fitted("frame")
    index = pd.date_range("2023-06-01 00:30", periods=4, freq="h")
    low, high = frame(index), frame(index)
    high["load"] += 5000
    high["flow"] -= 5
    np.testing.assert_array_equal(estimator.predict(low), estimator.predict(high))


def test_in_sample_values_of_x_win_over_the_stored_ones(fitted, frame):
    """Permutation importance shuffles a column of the training rows and must see an effect."""
    df = frame(60)
    for column in ("flow", "load"):
        changed = df.copy()
        changed[column] = df[column].to_numpy()[::-1]
        assert (
            fitted("frame").predict(changed)[12:] != fitted("frame").predict(df)[12:]
        ).any()


# --- plain arrays ------------------------------------------------------------------------------


@pytest.mark.slow
@pytest.mark.filterwarnings(
    "ignore:the column .* of X is y on another scale:UserWarning"
)
@pytest.mark.parametrize("with_y", [False, True])
def test_the_training_array_is_recognised_and_any_other_follows_it(
    small, frame, with_y
):
    """An array has no clock: content tells the training rows, all else comes after them."""
    df = frame(80)
    values, y = df.to_numpy(), df["load"].to_numpy() if with_y else None
    estimator = small().fit(values[:60], None if y is None else y[:60])
    dated = frame(80).reset_index(drop=True)
    numbered = small().fit(
        dated[:60], None if y is None else pd.Series(y[:60], name="other")
    )
    expected = numbered.predict(dated)
    np.testing.assert_array_equal(estimator.predict(values[:60]), expected[:60])
    np.testing.assert_array_equal(
        estimator.predict(values[:60].tolist()), expected[:60]
    )
    np.testing.assert_array_equal(estimator.predict(values[60:]), expected[60:])


def test_a_part_of_the_training_array_is_not_recognised(small, frame):
    """Only the whole array is: a fold of it is taken to follow, as cross-validation needs."""
    values = frame(60).to_numpy()
    estimator = small().fit(values)
    follows = estimator.predict(values[:4])
    np.testing.assert_array_equal(follows, estimator.forecast()[2].to_numpy())


def test_an_array_of_another_dtype_with_the_same_content_is_recognised(small):
    """Cross-validation may hand a converted copy to score."""
    values = np.arange(120).reshape(60, 2) % 7
    estimator = small().fit(values)
    in_sample = estimator.predict(values)
    np.testing.assert_array_equal(
        estimator.predict(values.astype(np.float32)), in_sample
    )
    np.testing.assert_array_equal(
        estimator.predict(np.asfortranarray(values)), in_sample
    )


def test_a_series_is_a_frame_of_one_column(small, frame):
    """The simplest forecast needs no frame."""
    df = frame(70)[["load"]]
    one, two = small().fit(df["load"][:60]), small().fit(df[:60])
    np.testing.assert_array_equal(one.predict(df["load"]), two.predict(df))
    pd.testing.assert_frame_equal(one.forecast(), two.forecast())


# --- arrays and frames ---------------------------------------------------------------------------


@both
def test_a_model_of_arrays_takes_a_frame_by_place(small, frame):
    """As any estimator of scikit-learn, with its warning."""
    df = frame(80)
    estimator = small().fit(df.to_numpy()[:60])
    name = type(estimator).__name__
    sentence = f"X has feature names, but {name} was fitted without feature names"
    for method in (estimator.predict, estimator.forecast, estimator.score):
        with pytest.warns(UserWarning, match=sentence):
            given = method(df[60:])
        np.testing.assert_array_equal(given, method(df.to_numpy()[60:]))
    with pytest.warns(UserWarning, match=sentence):
        estimator.update(df[60:])
    assert estimator.timeline_.end_step == 80


def test_other_columns_without_text_as_names_are_refused(small, frame):
    """scikit-learn looks at names that are text alone; these went through to a KeyError."""
    df = frame(70).set_axis([2019, 2020, 2021], axis=1)
    estimator = small().fit(df[:60])
    np.testing.assert_array_equal(
        estimator.predict(df[60:]), estimator.predict(df[[2021, 2019, 2020]][60:])
    )
    with pytest.raises(ValueError, match="X has columns") as caught:
        estimator.predict(df[60:].set_axis([2020, 2021, 2022], axis=1))
    assert str(caught.value) == (
        "X has columns [2022] that fit did not see: columns are found by their names. "
        "Rename them, or fit on an array, whose columns are found by position."
    )


@pytest.mark.parametrize("given", ["frame", "features"])
def test_one_row_without_an_index_is_said_to_be_the_next_step(small, frame, given):
    """Row after row of a test array would all be forecast as the same step."""
    df = frame(64)
    X, y = (
        (df, None)
        if given == "frame"
        else (df.drop(columns="load"), df["load"].to_numpy())
    )
    estimator = small().fit(X.to_numpy()[:60], None if y is None else y[:60])
    with pytest.warns(UserWarning, match="rows without an index") as caught:
        estimator.predict(X.to_numpy()[60:61])
    assert str(caught[0].message) == (
        "rows without an index are assumed to follow the training data directly, in "
        "every call: this row is forecast as row 60. Pass later rows together with "
        "it, call update(X, y) after each, or give X an index."
    )
    assert caught[0].filename == __file__
    estimator.predict(X.to_numpy()[60:])
