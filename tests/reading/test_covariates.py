"""Covariates: which kind reaches which forecast."""

import numpy as np
import pandas as pd
import pytest


@pytest.fixture(scope="module")
def case(small, frame):
    """Fit with one column of each kind; give it with 12 later rows."""
    df = frame(72)
    df.insert(0, "calendar__hour_sin", np.sin(np.arange(72)))
    return df, small(target="load", known_future=["price"]).fit(df[:60])


def moved(case, column, rows, amount=5.0):
    df, estimator = case
    changed = df.copy()
    changed.iloc[rows, df.columns.get_loc(column)] += amount
    return estimator.predict(changed[60:]) != estimator.predict(df[60:])


@pytest.mark.parametrize("row", range(60, 64))
def test_past_only_values_after_the_origin_do_not_matter(case, row):
    """They are measured after the forecast is made."""
    assert not moved(case, "flow", row)[:4].any()


@pytest.mark.parametrize("column", ["flow", "price", "calendar__hour_sin", "load"])
def test_every_kind_of_column_counts_up_to_the_origin(case, column):
    """A covariate without effect would be a column ignored."""
    assert moved(case, column, 63)[4:8].all()


@pytest.mark.parametrize("column", ["price", "calendar__hour_sin"])
@pytest.mark.parametrize("row", range(60, 64))
def test_values_known_ahead_reach_the_forecast_of_their_own_step(case, column, row):
    """Ordinary regression data must be learnt: the feature of a row belongs to that row."""
    change = moved(case, column, row)
    assert change[row - 60]


def test_the_features_mode_reaches_its_own_step(fitted, frame):
    """All of X is known at the step it stands at."""
    X = frame(64)[["flow", "price"]]
    base = fitted("features").predict(X)
    for row in range(60, 64):
        changed = X.copy()
        changed.iloc[row] += 5
        assert fitted("features").predict(changed)[row] != base[row]


def test_the_calendar_reaches_the_forecast(small, frame):
    """The same values at another hour are another forecast."""
    df = frame(60)[["load"]]
    one = small().fit(df)
    shifted = one.predict(df.shift(freq="7h")[:40])
    np.testing.assert_raises(
        AssertionError,
        np.testing.assert_array_equal,
        shifted[12:36],
        one.predict(df)[12:36],
    )


def test_rows_may_have_their_columns_in_another_order_only_if_scikit_learn_allows_it(
    case,
):
    """scikit-learn refuses another order of names; silently swapped columns would be worse."""
    df, estimator = case
    with pytest.raises(ValueError, match="same order"):
        estimator.predict(df[df.columns[::-1]])


def test_held_values_are_counted_and_named(case):
    """A value held over a gap is a guess; it is said which and for how many steps."""
    df, estimator = case
    late = df[60:].copy()
    late["load"] = np.nan
    late["flow"] = np.nan
    with pytest.warns(UserWarning, match="forward-filled there") as caught:
        estimator.predict(late)
    assert [str(w.message) for w in caught] == [
        "past covariates ['flow'] have no values at 8 steps that the forecast "
        "needs: they are forward-filled there."
    ]


def test_values_are_held_at_the_last_one_known(case):
    """Holding is what the warning says: repeating the last value gives the same numbers."""
    df, estimator = case
    late = df[60:].copy()
    late.iloc[3:, late.columns.get_loc("flow")] = np.nan
    with pytest.warns(UserWarning, match="forward-filled"):
        held = estimator.predict(late)
    by_hand = late.copy()
    by_hand["flow"] = by_hand["flow"].ffill()
    np.testing.assert_array_equal(held, estimator.predict(by_hand))


def test_a_constant_column_changes_nothing_but_is_allowed(small, frame):
    """One value in training has no deviation; it must not become a division by zero."""
    df = frame(70).assign(load2=lambda d: d["load"])
    df["flow"] = 4.0
    df = df[["flow", "load"]]
    estimator = small().fit(df[:60])
    assert np.isfinite(estimator.predict(df)).all()
    df.loc[df.index[60:], "flow"] = 5.0
    assert np.isfinite(estimator.predict(df)).all()


def test_many_columns_need_no_names_one_by_one(small, frame):
    """Ten covariates work as one does."""
    df = frame(60)
    wide = pd.concat(
        [df.drop(columns="load").add_suffix(f"_{j}") for j in range(5)], axis=1
    )
    estimator = small(target="load").fit(wide.assign(load=df["load"]))
    assert len(estimator.roles_.past) == 10


@pytest.mark.parametrize("mode", ["frame", "both"])
def test_past_only_values_after_the_origin_change_no_forecast(small, frame, mode):
    """Beyond pred_len a measured channel is held, whatever X says of its future."""
    df = frame(80)
    y = (df["load"][:60],) if mode == "both" else ()
    estimator = small(target="load").fit(df[:60], *y)
    later = df[60:75].copy()
    later.loc[later.index[4:], "load"] = np.nan
    other = later.copy()
    other.loc[other.index[4:], ["flow", "price"]] += 5
    with pytest.warns(UserWarning, match="they are forward-filled there"):
        forecasts = [estimator.forecast(rows) for rows in (later, other)]
    np.testing.assert_array_equal(*forecasts)


def test_no_column_known_ahead_may_be_written_as_a_tuple(small, frame):
    """As defaults are that nobody may change."""
    df = frame(60)
    one, other = (
        small(members=["ridges"], known_future=known).fit(df) for known in ((), [])
    )
    pd.testing.assert_frame_equal(one.forecast(), other.forecast(), check_exact=True)
