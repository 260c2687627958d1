"""Rows that the history does not lead to: far ahead, before it, between its steps."""

import warnings

import numpy as np
import pandas as pd
import pytest

from skinformer.rolling.missing_runs import LONGEST_CHAIN

P = {"seq_len": 24, "pred_len": 6, "d_model": 16, "n_heads": 2}
REACH = LONGEST_CHAIN * P["pred_len"]


def wave(start, n):
    hours = pd.Timestamp("2024-01-01") + pd.to_timedelta(
        np.arange(start, start + n), unit="h"
    )
    values = 10 * np.sin(np.arange(start, start + n) * 2 * np.pi / 24)
    return pd.DataFrame({"load": values}, index=hours)


@pytest.fixture(scope="module")
def model(small):
    """Fit 400 hours of a sine of amplitude 10, which can be forecast far ahead."""
    return small(**P).fit(wave(0, 400))


@pytest.mark.parametrize("gap", [23, 24, 25, 100])
def test_a_gap_is_bridged_whatever_its_length(model, gap):
    """One step more than seq_len turned forecasts into the training mean."""
    rows = wave(400 + gap, 12)
    if gap <= 24:
        observed = model.predict(rows)
    else:
        with pytest.warns(UserWarning, match="after the history"):
            observed = model.predict(rows)
    assert np.abs(observed - rows["load"]).max() < 0.5
    np.testing.assert_array_equal(
        model.predict(rows * np.nan), model.forecast(horizon=gap + 12)["load"][gap:]
    )


def test_rows_far_ahead_with_history_are_warned_of(model):
    """The rows between are known to the user, most likely, and update takes them."""
    with pytest.warns(UserWarning, match="after the history") as caught:
        one = model.predict(wave(500, 1))
    assert str(caught[0].message) == (
        "X begins 100 steps after the history: the steps between are forecast, and the first "
        "forecasts of X build on them. Call update with the rows between to forecast from what was "
        "observed."
    )
    assert caught[0].filename == __file__
    np.testing.assert_array_equal(one, model.predict(wave(500, 1) * np.nan))


def test_features_far_ahead_are_reached_by_recursion(small, frame):
    """There X never holds history: the same numbers, whatever the distance, and no warning."""
    df = frame(160)[["price", "load"]]
    model = small().fit(df[["price"]][:60], df["load"][:60])
    whole = model.predict(df[["price"]][60:])
    with pytest.warns(UserWarning, match="future covariates"):
        assert np.isfinite(model.predict(df[["price"]][140:])).all()
    assert np.isfinite(whole).all()


def test_one_wrong_date_is_refused_at_once(model):
    """Ten years of forecasts for a typing error took half a minute."""
    rows = pd.concat([wave(400, 5), wave(400 + 87_600, 1)])
    sentence = (
        "X holds a row at 2034-01-14 16:00:00, and 87,595 of the steps before it are unknown: "
        f"each would have to be forecast, and the limit is {REACH:,}. Check the labels "
        "of X.index, or call update with the rows between."
    )
    for X in (rows, rows * np.nan):
        for method in (model.predict, model.forecast):
            with pytest.raises(ValueError, match="the limit is") as caught:
                method(X)
            assert str(caught.value) == sentence


def test_rows_beyond_reach_are_their_own_timeline(model):
    """A model of last decade may still be tried on today's rows."""
    rows = wave(400 + 87_600, 60)
    with pytest.warns(UserWarning, match="too far") as caught:
        forecast = model.predict(rows)
    assert str(caught[0].message) == (
        "X begins 87,600 steps after the history: too far to forecast the steps between, so X is "
        "forecast as a separate series, and its first rows are forecast from the training mean. "
        "Call update with the rows between to forecast from what was observed."
    )
    assert np.abs(forecast[30:] - rows["load"][30:]).max() < 0.5
    with pytest.raises(ValueError, match="are unknown"):
        model.predict(rows * np.nan)


@pytest.mark.slow
def test_a_long_horizon_that_is_asked_for_has_no_bound(small, frame):
    """A bound is for steps that nobody asked for."""
    model = small(pred_len=1, members=["ridges"]).fit(frame(60)[["load"]])
    assert len(model.forecast(horizon=LONGEST_CHAIN + 1)) == LONGEST_CHAIN + 1


def test_rows_on_both_sides_of_the_history_do_not_reach_each_other(small):
    """One row from before training made all the others their own timeline."""
    df = wave(0, 520)
    model = small(**P).fit(df[100:400])
    late = [df[100:130], df[350:500], df[430:450]]
    early = [df[40:100], df[99:100], df[:1]]
    for after in late:
        expected = _quietly(model.predict, after)
        for before in early:
            both = _quietly(model.predict, pd.concat([after, before]))
            np.testing.assert_array_equal(both[: len(after)], expected)
            np.testing.assert_array_equal(
                both[len(after) :], _quietly(model.predict, before)
            )
    assert (
        np.abs(_quietly(model.predict, df[40:100])[30:] - df["load"][70:100]).max()
        < 1.5
    )


def _quietly(method, X):
    with warnings.catch_warnings():
        warnings.filterwarnings(
            "ignore", message="X (holds|begins)", category=UserWarning
        )
        return method(X)


def test_a_hole_before_the_history_is_forecast_like_any_other(model):
    """Rows of their own are no excuse for a flat context."""
    rows = wave(-80, 80)
    rows.iloc[50:62] = np.nan
    forecast = _quietly(model.predict, rows)
    assert np.abs(forecast[62:] - wave(-80, 80)["load"][62:]).max() < 1


def test_rows_before_the_history_are_warned_of(model):
    """The stored rows are their future, and of no use."""
    with pytest.warns(UserWarning, match="before the training data") as caught:
        model.predict(wave(-30, 30))
    assert str(caught[0].message) == (
        "X holds 30 rows before the training data: such rows are forecast as a separate "
        "series, the first of them from the training mean. Add rows that follow the "
        "history directly with update."
    )


def test_rows_between_the_steps_are_warned_of(model):
    """Half past the hour there is no row of the history before them."""
    X = wave(100, 30)
    X.index += pd.Timedelta("30min")
    with pytest.warns(UserWarning, match="between the steps") as caught:
        model.predict(X)
    assert str(caught[0].message).startswith(
        "X holds 30 rows between the steps of the training data ('h'): such rows are forecast as "
        "a separate series,"
    )


@pytest.mark.parametrize(
    ("shift", "where"),
    [
        ("-30h", "before the training data"),
        ("30min", "between the steps of the training data ('h')"),
    ],
)
def test_rows_elsewhere_without_any_history_are_refused(model, shift, where):
    """The training mean would pass for a forecast."""
    X = wave(0, 20) * np.nan
    X.index += pd.Timedelta(shift)
    with pytest.raises(ValueError, match="nothing to forecast") as caught:
        model.predict(X)
    assert str(caught.value) == (
        f"X has rows {where} without an observed target: there is nothing to forecast them from. "
        "Add their targets, or drop these rows."
    )


def test_a_row_long_before_the_history_costs_nothing(model):
    """Its date may be wrong by a century; no row between is made."""
    X = pd.concat([wave(-876_000, 1), wave(400, 6)])
    with pytest.warns(UserWarning, match="1 row before the training data"):
        both = model.predict(X)
    np.testing.assert_array_equal(both[1:], model.predict(wave(400, 6)))
