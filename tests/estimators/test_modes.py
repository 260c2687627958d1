"""The three modes: what is truth, what is history, what is known ahead."""

import re
from functools import partial

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.compose import ColumnTransformer
from sklearn.model_selection import TimeSeriesSplit, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import (
    FunctionTransformer,
    MaxAbsScaler,
    MinMaxScaler,
    PolynomialFeatures,
    PowerTransformer,
    QuantileTransformer,
    RobustScaler,
    SplineTransformer,
    StandardScaler,
)

from skinformer import CalendarFeatures, InformerClassifier, InformerRegressor


@pytest.fixture(scope="session")
def small(small):
    """Fit the network alone: roles of columns are no matter of who forecasts."""
    return partial(small, members=["network"])


def roles(estimator):
    found = estimator.roles_
    return found.mode, found.targets, found.past, found.known


def test_a_frame_alone_forecasts_its_last_column_from_all(small, frame):
    """`fit(df)` works as written; the other columns are known only up to the present."""
    estimator = small().fit(frame(60))
    assert roles(estimator) == ("frame", ("load",), ("flow", "price"), ())


def test_y_that_names_a_column_is_that_column(small, frame):
    """Named scorers need y; the history is X's own column."""
    df = frame(60)
    assert roles(small().fit(df, df["flow"])) == (
        "both",
        ("flow",),
        ("price", "load"),
        (),
    )


def test_the_target_parameter_wins_over_the_name_of_y(small, frame):
    """TransformedTargetRegressor strips y's name, so `target` is looked at first."""
    df = frame(60)
    estimator = small(target="load").fit(df, df["load"].rename("flow"))
    assert roles(estimator)[:2] == ("both", ("load",))
    assert roles(small(target="load").fit(df, df["load"].to_numpy()))[0] == "both"


def test_y_that_is_no_column_makes_all_of_x_known_ahead(small, frame):
    """That a feature is in X at predict time means that it is known then."""
    df = frame(60)
    estimator = small().fit(df[["flow", "price"]], df["load"])
    assert roles(estimator) == ("features", ("load",), (), ("flow", "price"))


@pytest.mark.parametrize("prefix", ["", "cal__", "union__cal__"])
def test_columns_of_calendar_features_are_known_ahead_without_being_named(
    small, frame, prefix
):
    """The calendar is always known, however many transformers put their names before it."""
    df = frame(60)
    df.insert(0, f"{prefix}calendar__hour_sin", np.sin(np.arange(60)))
    assert roles(small().fit(df))[3] == (f"{prefix}calendar__hour_sin",)


def test_the_calendar_behind_a_column_transformer_is_known_ahead(small, frame):
    """What a transformer named "calendar" passes through is a measurement all the same."""
    split = ColumnTransformer(
        [("calendar", CalendarFeatures(["hour"]), ["flow", "load"])]
    )
    estimator = small(target="calendar__load")
    pipe = make_pipeline(split, estimator).set_output(transform="pandas").fit(frame(60))
    assert roles(pipe[-1])[2:] == (
        ("calendar__flow",),
        ("calendar__calendar__hour_sin", "calendar__calendar__hour_cos"),
    )


@pytest.mark.parametrize("with_y", [False, True])
def test_columns_of_two_levels_come_back_with_both(small, frame, with_y):
    """A forecast is joined to the rows it goes on from."""
    df = frame(60)
    df.columns = pd.MultiIndex.from_product(
        [["load"], df.columns], names=["kind", "site"]
    )
    y = df["load", "load"] if with_y else None
    estimator = small().fit(df, y)
    pd.testing.assert_index_equal(estimator.forecast().columns, df.columns[[2]])
    pd.testing.assert_index_equal(estimator.make_future_frame().columns, df.columns)
    assert pd.concat([df.iloc[:, [2]], estimator.forecast()]).columns.nlevels == 2
    features = small().fit(df.iloc[:, :2], df["load", "load"])
    pd.testing.assert_index_equal(features.roles_.target_labels, df.columns[[2]])


def test_a_tuple_is_the_name_of_one_target(small, frame):
    """Columns of two levels are named so; a list means several."""
    df = frame(60)
    df.columns = pd.MultiIndex.from_product([["load"], df.columns])
    for wanted, one in ((("load", "flow"), True), ([("load", "flow")], False)):
        read = small(target=wanted).fit(df).roles_
        assert (read.targets, read.one_dimensional) == ((("load", "flow"),), one)


def test_names_that_are_no_text_are_asked_for_at_predict(small, frame):
    """scikit-learn compares strings only; the rest ended in a KeyError."""
    df = frame(60).set_axis([1, 2, 3], axis=1)
    message = (
        "X has columns [7] that fit did not see: columns are found by their names. "
        "Rename them, or fit on an array, whose columns are found by position."
    )
    with pytest.raises(ValueError, match=f"^{re.escape(message)}$"):
        small().fit(df).predict(df.rename(columns={2: 7}))


@pytest.mark.parametrize(
    ("target", "shape"),
    [("load", (60,)), (["load"], (60, 1)), (["flow", "load"], (60, 2))],
)
def test_a_name_gives_one_dimension_and_a_list_two(small, frame, target, shape):
    """The shape follows from what was typed, not from how many targets there are."""
    df = frame(60)
    forecasts = small(target=target).fit(df).predict(df)
    assert forecasts.shape == shape
    assert forecasts.dtype == np.float64


@pytest.mark.parametrize("columns", [["load"], ["load", "flow"]])
@pytest.mark.parametrize("given", ["both", "features"])
def test_the_dimensions_of_y_are_those_of_the_forecasts(small, frame, columns, given):
    """scikit-learn's scorers subtract predict from y: (n, 1) against (n,) would broadcast."""
    df = frame(60)
    X = df if given == "both" else df[["price"]]
    two = small().fit(X, df[columns])
    assert two.predict(X).shape == (60, len(columns))
    one = small().fit(X, df["load"])
    assert one.predict(X).shape == (60,)
    assert roles(two)[0] == roles(one)[0] == given
    assert list(two.forecast(X).columns if given == "both" else columns) == columns


def test_targets_forecast_together_keep_their_order(small, frame):
    """A list asks for columns in its own order, whatever theirs is in X."""
    df = frame(60)
    one = small(target=["load", "flow"]).fit(df)
    forecasts = one.predict(df)
    assert forecasts[:, 0].mean() > 500 > forecasts[:, 1].mean()
    assert list(one.forecast().columns) == ["load", "flow"]


def test_both_mode_without_scaling_is_frame_mode(small, frame):
    """Y in X's own units says nothing new, so forecasts must be the same numbers."""
    df = frame(80)
    one = small(target="load").fit(df[:60])
    two = small(target="load").fit(df[:60], df["load"][:60])
    np.testing.assert_allclose(two.predict(df), one.predict(df), rtol=1e-5)


def test_features_mode_forecasts_without_any_truth_at_predict_time(small, frame):
    """The history is y of the training, then the model's own forecasts: X never holds y."""
    df = frame(100)
    estimator = small().fit(df[["price"]][:60], df["load"][:60])
    later = estimator.predict(df[["price"]][60:])
    np.testing.assert_array_equal(
        later, estimator.forecast(df[["price"]][60:])["load"].to_numpy()
    )


@pytest.mark.parametrize("names", [[3, 5, 9], [0, 1, 2]])
def test_columns_may_be_named_by_integers(small, frame, names):
    """A frame made from an array has integer names; they need not be 0, 1, 2."""
    df = frame(60).set_axis(names, axis=1)
    estimator = small(target=names[0]).fit(df)
    assert estimator.roles_.targets == (names[0],)
    np.testing.assert_array_equal(
        estimator.predict(estimator.make_future_frame()[[*names]]),
        estimator.forecast().to_numpy()[:, 0],
    )


def test_a_target_by_position_works_on_an_array(small, frame):
    """An array has no names; positions take their place."""
    df = frame(60)
    estimator = small(target=0).fit(df.to_numpy())
    assert abs(estimator.forecast()[0].mean() - 3) < 3


def test_a_copy_of_y_under_another_name_is_its_history(small, frame):
    """Known ahead it would hold the answer; so X's other columns are read as beside a target."""
    df = frame(60)
    X = df[["flow", "price"]].assign(copy=df["load"])
    with pytest.warns(
        UserWarning, match="column 'copy' of X is y on another scale"
    ) as caught:
        model = small().fit(X, df["load"])
    assert sum("copy" in str(each.message) for each in caught) == 1
    plain = small().fit(df[["flow", "price", "load"]], df["load"])
    np.testing.assert_array_equal(model.forecast(), plain.forecast())
    assert list(model.forecast()) == ["load"]


def test_a_leak_is_named_in_both_mode_too(small, frame):
    """The contract: a column of X equal to y that is not the target is a leak."""
    df = frame(60).assign(copy=lambda d: d["load"])
    with pytest.warns(UserWarning, match="column 'copy' of X equals y"):
        small(target="load", known_future=["copy"]).fit(df, df["load"])


def test_a_copy_is_found_although_y_has_missing_values(small, frame):
    """NaN in y must not hide it."""
    df = frame(60)
    y = df["load"].copy()
    y.iloc[[20, 30]] = np.nan
    with pytest.warns(UserWarning, match="column 'copy' of X is y on another scale"):
        model = small().fit(df[["price"]].assign(copy=df["load"]), y)
    assert model.roles_.mode == "both"


# --- scalers that are given the target, too ----------------------------------------------------

STRAIGHT = {
    "standard": StandardScaler(),
    "robust": RobustScaler(),
    "minmax": MinMaxScaler(),
    "maxabs": MaxAbsScaler(),
    "falling": FunctionTransformer(lambda X: -2 * np.asarray(X)),
    "prefixed": ColumnTransformer(
        [("s", StandardScaler(), ["load"])], remainder="passthrough"
    ),
    "named": ColumnTransformer(
        [("s", StandardScaler(), ["load"])], remainder="passthrough"
    ).set_output(transform="pandas"),
    "powers": PolynomialFeatures(2),
}
BENT = {
    "power": PowerTransformer(),
    "quantile": QuantileTransformer(n_quantiles=50),
    "log": FunctionTransformer(lambda X: np.log1p(np.asarray(X))),
    "splines": SplineTransformer(),
}


def noise(n=120):
    days = pd.date_range("2024-01-01", periods=n)
    return pd.DataFrame({"load": np.random.default_rng(0).normal(100, 20, n)}, days)


@pytest.mark.filterwarnings(
    "ignore:the training rows had a time index",
    "ignore:the column .* of X is y on another scale",
)
@pytest.mark.parametrize("name", STRAIGHT)
def test_a_scaled_copy_of_noise_is_not_known_ahead(name):
    """A pipeline as everybody writes it had a score of .99999 on noise."""
    df = noise()
    ridges = InformerRegressor(
        seq_len=14, pred_len=7, members=["ridges"], calendar=None
    )
    scaled = make_pipeline(clone(STRAIGHT[name]), ridges)
    cv = TimeSeriesSplit(2)
    score = cross_val_score(scaled, df, df["load"], cv=cv)
    honest = cross_val_score(ridges, df, df["load"], cv=cv)
    assert (score < 0.1).all()
    if name != "powers":  # whose squares are past values of their own
        np.testing.assert_allclose(score, honest, atol=1e-3)


@pytest.mark.parametrize("name", BENT)
def test_a_bent_copy_of_y_is_refused_with_the_line_to_type(name):
    """From its own scale there is no straight way back to y's units."""
    df = noise()
    model = InformerRegressor(seq_len=14, pred_len=7, members=["ridges"])
    with pytest.raises(ValueError, match=r"is y .* on another scale") as raised:
        make_pipeline(BENT[name], model).fit(df, df["load"])
    assert "ColumnTransformer([('drivers', transformer, drivers)]" in str(raised.value)


@pytest.mark.filterwarnings("ignore:the column .* of X is y on another scale")
def test_scaled_copies_of_several_targets_and_of_a_panel_are_found():
    """Each is history of its own; forecasts come in y's units."""
    rng = np.random.default_rng(0)
    days = pd.date_range("2024-01-01", periods=60)
    two = pd.DataFrame({"a": rng.normal(100, 20, 60), "b": rng.normal(5, 1, 60)}, days)
    model = InformerRegressor(seq_len=14, pred_len=7, members=["ridges"])
    pipeline = make_pipeline(StandardScaler(), model).fit(two, two[["b", "a"]])
    assert pipeline[-1].roles_.targets == (1, 0)
    forecast = pipeline[-1].forecast()
    assert list(forecast) == ["b", "a"]
    assert forecast["a"].between(60, 140).all()
    panel = pd.concat(
        {"x": two[["a"]], "y": 10 * two[["a"]] + rng.normal(size=(60, 1))}
    )
    pipeline = make_pipeline(StandardScaler().set_output(transform="pandas"), model)
    fitted = pipeline.fit(panel.rename(columns={"a": "other"}), panel["a"])
    assert fitted[-1].roles_.targets == ("other",)
    level = fitted[-1].forecast().groupby(level=0)["a"].mean()
    assert level["y"] > 5 * level["x"] > 250


def test_a_copy_of_some_targets_alone_is_refused():
    df = noise().assign(other=lambda d: np.roll(d["load"], 3))
    with pytest.raises(ValueError, match="one of y's targets on another scale"):
        InformerRegressor(seq_len=14, pred_len=7).fit(
            df[["load"]].to_numpy(), df.to_numpy()
        )


def test_classes_under_other_numbers_are_refused():
    """An encoder that was given the labels, too, would have told them ahead."""
    labels = np.random.default_rng(0).integers(0, 3, 80)
    with pytest.raises(ValueError, match="its classes under other labels"):
        InformerClassifier(seq_len=6, pred_len=2).fit(
            10.0 - 3 * labels[:, None], labels
        )


def test_the_calendar_reaches_dated_rows_only_and_can_be_chosen(small, frame):
    """The estimator makes its own calendar; a parameter turns it off or picks its fields."""
    df = frame(60)
    assert "hour" in small().fit(df).sizes_.calendar_fields
    assert small(calendar=None).fit(df).sizes_.calendar_fields == ()
    assert small(calendar=["weekday"]).fit(df).sizes_.calendar_fields == ("weekday",)
    assert small().fit(df.reset_index(drop=True)).sizes_.calendar_fields == ()


def test_sample_weight_multiplies_the_loss_and_nothing_else(small, frame):
    """Standardisation and history stay; equal weights change nothing, zeros hide rows."""
    df = frame(60)
    plain = small(target="load").fit(df)
    ones = small(target="load").fit(df, sample_weight=np.ones(60))
    np.testing.assert_allclose(ones.predict(df), plain.predict(df), rtol=1e-5)
    some = small(target="load").fit(df, sample_weight=np.arange(60) % 3)
    np.testing.assert_array_equal(some.scaler_.mean, plain.scaler_.mean)
    np.testing.assert_array_equal(some.timeline_.values, plain.timeline_.values)
    assert (some.predict(df) != plain.predict(df)).any()


def test_the_truth_of_a_row_without_weight_does_not_train(small, frame):
    """A weight of zero takes the row's truth out of the loss, though it stays context."""
    df = frame(60)
    y = df["load"].to_numpy().copy()
    weight = np.ones(60)
    weight[-2:] = 0  # no context reaches behind the last window
    X = df[["price"]]
    fits = []
    for last in (1000.0, 1001.0):
        y[-2:] = last
        one = small(calendar=None).fit(X, y, sample_weight=weight)
        fits.append({name: w.clone() for name, w in one.module_.state_dict().items()})
    # The scale moves by the changed values, so weights agree only nearly.
    for name, value in fits[0].items():
        np.testing.assert_allclose(
            value.numpy(), fits[1][name].numpy(), atol=5e-3, err_msg=name
        )


def test_early_stopping_is_off_below_one_window_and_two_forecasts(small, frame):
    """Below seq_len + 2 pred_len rows there is nothing left to validate on."""
    # Beside ridges, a network is not trained on so few rows.
    alone = small(members=["network"])
    assert np.isnan(alone.fit(frame(19)).history_["validation_loss"]).all()
    assert np.isfinite(alone.fit(frame(20)).history_["validation_loss"]).all()


def test_fitted_attributes_say_what_was_learnt(small, frame):
    """They are what scikit-learn's tools and readers look at."""
    estimator = small(max_iter=2).fit(frame(60))
    assert list(estimator.feature_names_in_) == ["flow", "price", "load"]
    assert estimator.n_features_in_ == 3
    assert (
        estimator.n_iter_ == len(estimator.loss_curve_) == len(estimator.history_) <= 2
    )
    assert not hasattr(small().fit(frame(60).to_numpy()), "feature_names_in_")
    assert isinstance(estimator.forecast(), pd.DataFrame)
