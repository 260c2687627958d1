"""Missing targets: masked in the loss, filled causally as context, never scored."""

import copy
import warnings

import numpy as np
import pandas as pd
import pytest
from hypothesis import Phase, given, settings
from hypothesis import strategies as st

from skinformer import InformerRegressor

# The first counterexample is shown as it is: shrinking it would take minutes of forecasts.
QUICK = settings(
    deadline=None, derandomize=True, phases=[Phase.explicit, Phase.generate]
)


@pytest.mark.slow
@settings(QUICK, max_examples=15)
@given(
    mode=st.sampled_from(["frame", "both", "features"]),
    runs=st.sets(st.integers(0, 75), max_size=50),
)
def test_any_pattern_of_missing_targets_gives_finite_forecasts(
    modes, frame, mode, runs
):
    """Real series have gaps anywhere, also at both ends."""
    df = frame(76)
    df.iloc[sorted(runs), 2] = np.nan
    X, y = modes.inputs(mode, df)
    estimator = modes.regressor(mode, max_iter=1)
    estimator.fit(X[:60], None if y is None else y[:60])
    assert np.isfinite(estimator.predict(X)).all()
    assert np.isfinite(estimator.timeline_.values).all()
    assert np.isfinite(estimator.history_["loss"]).all()


def test_a_missing_target_weighs_nothing_in_the_loss(modes, mode, frame, small):
    """A filler is no truth: what would stand there cannot change the weights' loss."""
    df = frame(60)
    df.iloc[30:40, 2] = np.nan
    estimator = modes.fit(mode, df)
    weight = estimator.timeline_.weight
    np.testing.assert_array_equal(weight[:, 0], ~df["load"].isna())


def test_sample_weights_and_missing_targets_are_combined(small, frame):
    """The weight of a missing truth is zero, whatever was asked for."""
    df = frame(60)
    df.iloc[5, 2] = np.nan
    estimator = small().fit(df, sample_weight=np.full(60, 3.0))
    expected = np.full(60, 1.5)  # beside the power of two near the greatest
    expected[5] = 0
    np.testing.assert_array_equal(estimator.timeline_.weight[:, 0], expected)


@pytest.mark.slow
def test_a_hole_within_fit_is_filled_as_an_update_fills_it(modes, mode, frame):
    """Held flat it would be the context of the next forecasts, and a bad one."""
    df = frame(80)
    df.iloc[[40, *range(66, 78)], 2] = np.nan
    X, y = modes.inputs(mode, df)
    whole = modes.fit(mode, df)
    late = copy.deepcopy(whole)
    late.timeline_ = late.timeline_.head(np.array([66]))
    late.update(X[66:], None if y is None else y[66:])
    np.testing.assert_array_equal(late.timeline_.values, whole.timeline_.values)
    assert len(np.unique(whole.timeline_.values[66:78, 0])) == 12


def test_forecasts_after_a_hole_are_nearly_those_without_it(small):
    """A sine with half a day missing before its end: held flat, the error was .17."""
    hours = pd.date_range("2024-01-01", periods=406, freq="h")
    df = pd.DataFrame({"load": np.sin(np.arange(406) * 2 * np.pi / 24)}, index=hours)
    runs = df[:400].copy()
    runs.iloc[382:394] = np.nan
    forecast = small(seq_len=24, pred_len=6).fit(runs).forecast()
    assert np.abs(forecast - df[400:]).max(axis=None) < 0.03


def test_before_the_first_truth_stands_the_training_mean(small, frame):
    """Nothing is known there that a forecast could be made from."""
    df = frame(60)[["load"]]
    df.iloc[:9] = np.nan
    np.testing.assert_array_equal(small().fit(df).timeline_.values[:9], 0.0)


def test_a_missing_target_after_the_history_is_filled_by_the_forecast_of_its_hole(
    small, frame
):
    """Later blocks see what one would have forecast when the truth stopped coming."""
    df = frame(72)[["load"]]
    estimator = small(members=["ridges", "network"]).fit(df[:60])
    runs = df[60:].copy()
    runs.iloc[[1, 2]] = np.nan
    filled = runs.copy()
    filled.iloc[[1, 2], 0] = estimator.forecast(df[60:61])["load"].to_numpy()[:2]
    np.testing.assert_allclose(
        estimator.predict(runs), estimator.predict(filled), rtol=1e-6
    )


@pytest.mark.filterwarnings("ignore:.* is taken as missing:UserWarning")
def test_one_missing_target_of_two_leaves_the_other_as_history(small, frame):
    """Each target has its own gaps."""
    df = frame(72)[["flow", "load"]]
    estimator = small(target=["flow", "load"]).fit(df[:60])
    runs = df[60:].copy()
    runs.iloc[1, 0] = np.nan
    base = estimator.predict(runs)
    runs.iloc[1, 1] += 300
    assert (estimator.predict(runs)[4:8] != base[4:8]).all()
    assert np.isfinite(base).all()


def test_past_only_values_may_be_missing_after_the_history(small, frame):
    """What is measured later is not known: no error, and within one block no difference."""
    df = frame(64)
    estimator = small(target="load", known_future=["price"]).fit(df[:60])
    unknown = df[60:].copy()
    unknown["flow"] = np.nan
    np.testing.assert_array_equal(
        estimator.predict(unknown), estimator.predict(df[60:])
    )


def test_score_takes_the_rows_that_have_a_truth(modes, mode, frame):
    """In every mode: a missing truth must not make the score NaN."""
    df = frame(70)
    df.iloc[[3, 62, 69], 2] = np.nan
    estimator = modes.fit(mode, df[:60])
    X, _ = modes.inputs(mode, df)
    assert np.isfinite(estimator.score(X, df["load"]))
    if mode != "features":
        assert estimator.score(X) == pytest.approx(estimator.score(X, df["load"]))


def test_rows_without_any_truth_have_no_score(modes, frame):
    """There is nothing to say; scikit-learn's r2_score refuses an empty truth as well."""
    df = frame(70)
    estimator = modes.fit("frame", df[:60])
    future = df[60:64].copy()
    future["load"] = np.nan
    with pytest.raises(ValueError, match="actual value"):
        estimator.score(future)


def test_a_window_without_any_truth_trains_nothing(small, frame):
    """A batch of weight zero must not divide by zero."""
    df = frame(100)
    df.iloc[20:80, 2] = np.nan
    estimator = small(batch_size=4, max_iter=2).fit(df)
    assert np.isfinite(estimator.history_["loss"]).all()
    assert np.isfinite(estimator.predict(df)).all()


@pytest.mark.filterwarnings("ignore:X ends with .* without an actual value:UserWarning")
def test_one_single_truth_is_enough_to_fit(small, frame):
    """A deviation of one value is zero; it must not become a division by zero."""
    df = frame(60)
    df.iloc[:30, 2] = np.nan
    df.iloc[31:, 2] = np.nan
    assert np.isfinite(small().fit(df).predict(df)).all()


def test_missing_nullable_values_are_missing(small, frame):
    """pd.NA is how nullable columns say NaN."""
    df = frame(60)
    df.iloc[[7, 8], 2] = np.nan
    nullable = df.astype({"load": "Float64"})
    np.testing.assert_array_equal(
        small().fit(nullable).predict(nullable), small().fit(df).predict(df)
    )


@pytest.mark.filterwarnings("ignore:X ends with .* without an actual value:UserWarning")
@pytest.mark.parametrize("mode", ["frame", "features"])
def test_a_missing_end_is_filled_as_an_update_fills_it(modes, frame, mode):
    """Steps without truth after the last observation are forecast, in fit as in update."""
    df = frame(66)
    df.iloc[60:, df.columns.get_loc("load")] = np.nan
    names = [name for name in df if name != "load"]

    def give(rows):
        return (rows[names], rows["load"]) if mode == "features" else (rows,)

    late = modes.fit(mode, df[:60])
    values = late.update(*give(df[60:])).timeline_.values[60:, 0]
    whole = modes.fit(mode, df)
    filled = whole.timeline_.values[60:, 0]
    assert len(np.unique(filled)) > 1
    assert np.abs(filled - values).max() < 3  # another fit, the same kind of values
    assert (whole.timeline_.weight[60:] == 0).all()


def test_last_rows_without_a_truth_are_told_where_they_are_a_forecast_or_more():
    """A file's rows to come are no history: forecasts would begin after them, unseen."""
    index = pd.date_range("2024-01-01", periods=60, freq="h")
    df = pd.DataFrame({"load": np.arange(60.0) % 7}, index=index)
    model = InformerRegressor("load", seq_len=12, pred_len=4, members=["ridges"])
    df.loc[index[-5:], "load"] = np.nan
    with pytest.warns(
        UserWarning,
        match=r"^X ends with 5 steps without an actual value: forecasts begin after",
    ):
        model.fit(df)
    assert model.forecast().index[0] == index[-1] + pd.Timedelta(hours=1)
    panel = pd.concat({"a": df, "b": df.fillna(1)}, names=["shop", "time"])
    with warnings.catch_warnings(action="error"):
        model.fit(df[:-2])  # a gap shorter than a forecast is one
        model.fit(panel)  # one of them goes on
