"""update: later history without training."""

import copy
import itertools

import numpy as np
import pandas as pd
import pytest

from skinformer import InformerRegressor, load


@pytest.fixture
def inputs(modes, mode):
    """Give X and y of a frame in the mode, y only where it is needed."""

    def give(df):
        X, y = modes.inputs(mode, df)
        return (X, y) if mode == "features" else (X, None)

    return give


@pytest.fixture
def fresh(fitted):
    """Give a function (mode) -> a copy of what was fitted to 60 rows, to update."""
    return lambda mode: copy.deepcopy(fitted(mode))


def future(df, mode):
    X = df.copy()
    X["load"] = np.nan
    return X.drop(columns="load") if mode == "features" else X


def test_the_next_forecast_starts_after_the_updated_rows(fresh, mode, frame, inputs):
    """That is what an update is for."""
    df = frame(74)
    estimator = fresh(mode)
    assert estimator.update(*inputs(df[60:70])) is estimator
    forecast = estimator.forecast(future(df[70:], mode))
    pd.testing.assert_index_equal(forecast.index, df.index[70:])


def test_an_update_in_parts_is_an_update_at_once(fresh, mode, frame, inputs):
    """Only the history counts, not how often it came."""
    df = frame(84)
    one, two = fresh(mode), fresh(mode)
    one.update(*inputs(df[60:80]))
    for start in range(60, 80, 5):
        two.update(*inputs(df[start : start + 5]))
    pd.testing.assert_frame_equal(
        one.forecast(future(df[80:], mode)), two.forecast(future(df[80:], mode))
    )
    np.testing.assert_array_equal(one.timeline_.values, two.timeline_.values)


def test_an_update_with_missing_targets_in_parts_is_an_update_at_once(
    fresh, mode, frame, inputs
):
    """Missing targets are filled by forecasts from what was observed before them."""
    df = frame(84)
    df.loc[df.index[[65, 73, 74]], "load"] = np.nan
    one, two = fresh(mode), fresh(mode)
    one.update(*inputs(df[60:80]))
    for start in range(60, 80, 4):  # whole blocks
        two.update(*inputs(df[start : start + 4]))
    np.testing.assert_allclose(one.timeline_.values, two.timeline_.values, atol=1e-5)
    assert np.isfinite(one.timeline_.values).all()


@pytest.mark.slow
@pytest.mark.parametrize("runs", [[0], [1, 2], [3, 4, 5, 6, 7, 8], [0, 5, 9, 10]])
def test_an_update_and_a_forecast_fill_missing_runs_alike(modes, frame, runs):
    """`forecast(rows)` is `update(rows).forecast()` that changes nothing."""
    df = frame(74)
    estimator = modes.fit("frame", df[:60], known_future=None)
    rows = df[60:].copy()
    rows.iloc[runs, 2] = np.nan
    forecast = estimator.forecast(rows)
    pd.testing.assert_frame_equal(
        forecast, estimator.update(rows).forecast(), check_freq=False
    )


@pytest.mark.slow
@pytest.mark.parametrize("size", [1, 3, 5])
def test_an_update_in_parts_of_any_size_fills_missing_runs_as_one_at_once(
    fresh, frame, size
):
    """No border of blocks has a say in what stands for a missing truth."""
    df = frame(80)
    df.iloc[[62, 67, 68, 74], 2] = np.nan
    one, two = (fresh("frame") for _ in range(2))
    one.update(df[60:])
    # A border within a gap, as at 68, would begin the gap anew.
    borders = [border for border in [*range(60, 80, size), 80] if border != 68]
    for start, stop in itertools.pairwise(borders):
        two.update(df[start:stop])
    np.testing.assert_array_equal(one.timeline_.values, two.timeline_.values)


def test_an_update_with_missing_targets_leaves_no_gap(fresh, mode, frame, inputs):
    """The next context must be numbers."""
    df = frame(74)
    df.loc[df.index[66:70], "load"] = np.nan
    estimator = fresh(mode).update(*inputs(df[60:70]))
    assert np.isfinite(estimator.timeline_.values).all()
    assert estimator.forecast(future(df[70:], mode)).notna().all(axis=None)


def test_the_weights_and_the_scale_stay(fresh, mode, frame, inputs):
    """Nothing is trained; only the history grows."""
    df = frame(70)
    estimator = fresh(mode)
    weights = {name: w.clone() for name, w in estimator.module_.state_dict().items()}
    mean = estimator.scaler_.mean.copy()
    estimator.update(*inputs(df[60:]))
    np.testing.assert_array_equal(estimator.scaler_.mean, mean)
    for name, weight in estimator.module_.state_dict().items():
        assert (weight == weights[name]).all(), name


def test_updated_rows_become_in_sample(fresh, modes, mode, frame, inputs):
    """After the update any subset of the old and new rows gets the same forecasts."""
    df = frame(72)
    estimator = fresh(mode).update(*inputs(df[60:]))
    X = modes.X(mode, df)
    whole = estimator.predict(X)
    for rows in ([71], [3, 70, 61], [60, 59]):
        np.testing.assert_array_equal(estimator.predict(X.iloc[rows]), whole[rows])


def test_features_alone_are_no_history(fresh, frame):
    """Without the truth there is nothing to update by."""
    df = frame(70)
    estimator = fresh("features")
    with pytest.raises(ValueError, match="without y") as caught:
        estimator.update(df[["flow", "price"]][60:])
    assert str(caught.value) == (
        "update(X) without y has no actual values: X holds features only. Pass update(X, y)."
    )


@pytest.mark.parametrize(
    ("start", "first"), [(61, "13:00"), (59, "11:00"), (0, "00:00")]
)
def test_rows_that_do_not_follow_directly_are_refused(
    fresh, mode, frame, inputs, start, first
):
    """A gap in the history would shift every later step."""
    df = frame(70)
    estimator = fresh(mode)
    with pytest.raises(ValueError, match="follow the history") as caught:
        estimator.update(*inputs(df[start:]))
    day = "2024-01-01" if start == 0 else "2024-01-03"
    assert str(caught.value) == (
        f"update got rows from {day} {first}:00 on: they must follow the history directly, from "
        "2024-01-03 12:00:00. Pass all rows since then; local times that skip or repeat an hour "
        "need their zone, tz_localize(zone), at fit, too."
    )
    assert estimator.timeline_.end_step == 60


def test_a_hole_within_the_rows_is_refused_by_its_place(fresh, frame):
    """The message must name what is wrong: the row after the gap and the one expected."""
    df = frame(70)
    estimator = fresh("frame")
    with pytest.raises(
        ValueError, match=r"2024-01-03 17:00:00 on: .* from 2024-01-03 16:00:00"
    ):
        estimator.update(df[60:].drop(df.index[64]))


def test_rows_off_the_grid_are_refused_with_the_right_time(fresh, frame):
    """Half an hour beside the history there is no next step."""
    estimator = fresh("frame")
    index = pd.date_range("2024-01-03 12:30", periods=5, freq="h")
    with pytest.raises(
        ValueError, match=r"from 2024-01-03 12:30:00 .* 2024-01-03 12:00:00"
    ):
        estimator.update(frame(index))


def test_x_and_y_with_different_indexes_are_refused(fresh, frame):
    """As in fit: rows belong together by their labels."""
    df = frame(70)
    estimator = fresh("features")
    with pytest.raises(ValueError, match="X and y have different indexes"):
        estimator.update(df[["flow", "price"]][60:], df["load"][59:69])


def test_a_failed_update_changes_nothing(fresh, frame):
    """After an error the estimator must still be what it was."""
    df = frame(70)
    estimator = fresh("frame")
    broken = df[60:].copy()
    broken.iloc[3, 0] = np.inf
    with pytest.raises(ValueError, match="'flow'"):
        estimator.update(broken)
    assert estimator.timeline_.end_step == 60


@pytest.fixture(scope="module")
def with_trees():
    """Return a model in which trees forecast, and the rows behind those of its fit."""
    rng = np.random.default_rng(0)
    time = pd.date_range("2024-01-01", periods=2000, freq="h")
    rain = np.maximum(rng.normal(size=2000), 0) * (time.hour > 12)
    y = 50 + 8 * np.sin(time.hour * np.pi / 12) + rng.normal(0, 2, 2000) + 4 * rain
    df = pd.DataFrame({"y": y, "rain": rain}, time)
    model = InformerRegressor(
        "y",
        known_future=["rain"],
        seq_len=24,
        pred_len=12,
        members=["ridges", "trees"],
        random_state=0,
    ).fit(df[:1800])
    assert model.ensemble_.weights_of("trees").any()
    return model, df[1800:]


def test_leaving_the_range_of_the_fit_is_warned_of_once(with_trees, tmp_path):
    """Trees know nothing there, and forecast in silence what they know."""
    model, later = with_trees
    model.save(tmp_path / "model")
    model = load(tmp_path / "model")
    model.update(later[:20])
    higher = later.assign(y=later["y"] + 40)
    model.update(higher[20:43])
    with pytest.warns(
        UserWarning, match="outside the range of the training data.*Call fit again"
    ):
        model.update(higher[43:44])
    model.update(higher[44:100])


def test_rows_within_the_range_of_the_fit_are_not_warned_of(with_trees):
    model, later = with_trees
    model = copy.deepcopy(model)
    higher = later["y"] + 15 * (np.arange(200) % 24 > 2)
    model.update(later.assign(y=higher))
    assert model._seen_range_ is not None
