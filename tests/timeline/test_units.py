"""Forecasts come in the units that the truth came in."""

import numpy as np
import pytest
from sklearn.compose import TransformedTargetRegressor
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import MinMaxScaler, RobustScaler, StandardScaler

#: Logarithms among the classical forecasters of short tables see where zero is.
pytestmark = pytest.mark.usefixtures("long_tables")


@pytest.mark.slow
@pytest.mark.parametrize(
    "scaler",
    [
        StandardScaler(),
        MinMaxScaler((-3, 7)),
        RobustScaler(),
        StandardScaler(with_mean=False),
    ],
    ids=str,
)
def test_a_scaler_before_the_estimator_does_not_change_the_units_of_y(
    small, frame, scaler
):
    """X's target is scaled, y is not: the affine link maps one to the other."""
    df = frame(80)
    pipe = make_pipeline(scaler, small(target="load")).set_output(transform="pandas")
    pipe.fit(df[:60], df["load"][:60])
    plain = small(target="load").fit(df[:60], df["load"][:60])
    np.testing.assert_allclose(pipe.predict(df), plain.predict(df), rtol=1e-3)
    assert pipe.score(df, df["load"]) == pytest.approx(
        plain.score(df, df["load"]), abs=0.02
    )


def test_the_link_holds_for_several_targets_one_by_one(small, frame):
    """Each target has its own two numbers."""
    df = frame(80)
    targets = ["load", "flow"]
    pipe = make_pipeline(StandardScaler(), small(target=targets)).set_output(
        transform="pandas"
    )
    forecasts = pipe.fit(df[:60], df[targets][:60]).predict(df)
    assert abs(forecasts[:, 0].mean() - 1000) < 50
    assert abs(forecasts[:, 1].mean() - 3) < 3
    links = np.array(pipe[-1].roles_.links)
    np.testing.assert_allclose(links[:, 1], df[targets][:60].mean(), rtol=1e-6)
    np.testing.assert_allclose(links[:, 0], df[targets][:60].std(ddof=0), rtol=1e-6)


def test_the_link_works_with_missing_values_on_both_sides(small, frame):
    """The two numbers are fitted where both are observed."""
    df = frame(80)
    df.loc[df.index[[3, 30]], "load"] = np.nan
    y = df["load"].copy()
    y.iloc[[7, 31]] = np.nan
    pipe = make_pipeline(StandardScaler(), small(target="load")).set_output(
        transform="pandas"
    )
    forecasts = pipe.fit(df[:60], y[:60]).predict(df)
    assert np.isfinite(forecasts).all()
    assert abs(forecasts.mean() - 1000) < 50


def test_a_relation_that_is_not_affine_is_refused(small, frame):
    """Forecasts of log(load) in units of load need more than two numbers."""
    df = frame(60)
    with pytest.raises(
        ValueError, match="y is not the column 'load' of X up to scale and shift"
    ):
        small(target="load").fit(df.assign(load=np.log(df["load"] - 800)), df["load"])


def test_forecast_comes_in_the_units_of_y(small, frame):
    """Behind a scaler a forecast in deviations would be useless."""
    df = frame(60)
    pipe = make_pipeline(StandardScaler(), small(target="load")).set_output(
        transform="pandas"
    )
    pipe.fit(df, df["load"])
    assert abs(pipe[-1].forecast()["load"].mean() - 1000) < 100


def test_update_behind_a_scaler_takes_y_in_its_own_units(small, frame):
    """History given by update must not be mapped twice."""
    df = frame(80)
    pipe = make_pipeline(StandardScaler(), small(target="load")).set_output(
        transform="pandas"
    )
    pipe.fit(df[:60], df["load"][:60])
    later = pipe[:-1].transform(df[60:64])
    block = pipe.predict(df[60:68])[4:]  # from the same history, given in X
    pipe[-1].update(later, df["load"][60:64])
    np.testing.assert_allclose(pipe[-1].forecast()["load"], block, rtol=1e-6)
    without_y = make_pipeline(pipe[0], small(target="load")).set_output(
        transform="pandas"
    )
    without_y.fit(df[:60], df["load"][:60])
    without_y[-1].update(later)
    np.testing.assert_allclose(
        without_y[-1].forecast()["load"], pipe[-1].forecast()["load"], rtol=1e-5
    )


@pytest.mark.parametrize(
    "transformer", [StandardScaler(), MinMaxScaler((-3, 7))], ids=str
)
def test_a_transformed_target_comes_back_in_its_own_units(small, frame, transformer):
    """TransformedTargetRegressor scales y and strips its name; `target` still finds it."""
    df = frame(80)
    wrapped = TransformedTargetRegressor(small(target="load"), transformer=transformer)
    wrapped.fit(df[:60], df["load"][:60])
    plain = small(target="load").fit(df[:60], df["load"][:60])
    np.testing.assert_allclose(wrapped.predict(df), plain.predict(df), rtol=1e-3)


@pytest.mark.slow
@pytest.mark.parametrize(
    "dtype", ["int64", "int32", "float32", "Float64", "Int64", "float16"]
)
def test_any_numeric_dtype_gives_the_same_forecasts(small, frame, dtype):
    """Counts come as integers, databases give nullable columns: the numbers are the same."""
    df = frame(70).round().astype("float64")
    wanted = small(target="load").fit(df[:60]).predict(df)
    other = small(target="load").fit(df[:60].astype(dtype))
    forecasts = other.predict(df.astype(dtype))
    assert forecasts.dtype == np.float64
    np.testing.assert_allclose(forecasts, wanted, rtol=1e-5)


def test_a_boolean_column_is_a_number(small, frame):
    """Holidays come as booleans."""
    df = frame(60).assign(holiday=np.arange(60) % 9 == 0)
    as_int = df.assign(holiday=df["holiday"].astype(int))
    one, two = (
        small(target="load", known_future=["holiday"]).fit(part).predict(part)
        for part in (df, as_int)
    )
    np.testing.assert_array_equal(one, two)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("shift", "scale"), [(1e8, 1.0), (0.0, 1e-8), (-1e6, 1e6), (5.0, 1e9)]
)
def test_units_may_be_changed_before_or_after_the_fit(small, frame, shift, scale):
    """1e8 ± 1 must keep its digits: values are centred before they are rounded."""
    df = frame(80)[["load"]]
    plain = (small().fit(df[:60]).predict(df) - 1000) / 50
    other = (df - 1000) / 50 * scale + shift
    forecasts = (small().fit(other[:60]).predict(other) - shift) / scale
    np.testing.assert_allclose(forecasts, plain, atol=5e-3)


@pytest.mark.slow
@pytest.mark.parametrize("unit", [1e-300, 1e-40, 1e40, 1e160, 1e300, 1e304])
def test_no_unit_is_too_large_or_too_small(small, frame, unit):
    """Single precision ends at 3e38, double squares at 1e154, sums of sixty rows at 3e306."""
    df = frame(60)[["flow", "load"]]
    plain = small().fit(df).forecast()["load"]
    np.testing.assert_allclose(
        small().fit(df * unit).forecast()["load"] / unit, plain, rtol=1e-6
    )


@pytest.mark.slow
@pytest.mark.parametrize("value", [0.1, 7.0, 1e8])
def test_a_constant_target_behind_a_scaler_keeps_its_units(small, frame, value):
    """StandardScaler makes it 0, and 0.1 is not the mean of many 0.1."""
    df = frame(60).assign(load=value)
    pipe = make_pipeline(StandardScaler(), small(target="load")).set_output(
        transform="pandas"
    )
    np.testing.assert_allclose(pipe.fit(df, df["load"]).predict(df), value)


def test_a_boolean_target_is_a_number(small, frame):
    """Whether it rained is forecast as a share."""
    df = frame(60)
    df["load"] = df["load"] > 1000
    as_float = df.astype(float)
    for y in (None, df["load"]):
        forecasts = small().fit(df, y).predict(df)
        np.testing.assert_array_equal(
            forecasts, small().fit(as_float).predict(as_float)
        )


def test_a_constant_target_is_forecast_as_itself(small, frame):
    """A deviation of zero must not become a division by zero."""
    df = frame(60).assign(load=7.0)
    forecasts = small(target="load", window_norm=True).fit(df).predict(df)
    np.testing.assert_allclose(forecasts, 7.0, atol=3)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("n", "value"), [(200, 5.0), (520, 5.0), (200, 1e306), (200, -1e306)]
)
def test_a_constant_of_hours_is_forecast_with_its_ranges(small, frame, n, value):
    """What ridges see of it by the time of the day is singular."""
    df = frame(n)[["load"]] * 0 + value
    model = small(seq_len=24, pred_len=6).fit(df)
    np.testing.assert_allclose(model.forecast(coverage=0.8), value, rtol=1e-6)


@pytest.mark.slow
@pytest.mark.parametrize("known", [None, ["price"]])
@pytest.mark.parametrize("price", [0.0, 3.0])
def test_constant_columns_make_no_difference_to_a_constant(small, frame, known, price):
    """Nothing varies, and nothing is divided by."""
    df = frame(206)[["price", "load"]].assign(price=price, load=5.0)
    model = small(target="load", known_future=known, seq_len=24, pred_len=6).fit(
        df[:200]
    )
    later = df[["price"]][200:] if known else None
    np.testing.assert_allclose(model.forecast(later, coverage=0.8), 5.0, rtol=1e-6)


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:series .* take no part:UserWarning")
def test_a_constant_series_of_a_panel_is_forecast_as_itself(small, panel):
    """Beside series that vary."""
    df = panel(n=(60, 60, 60), start=(0, 0, 0))[["load"]]
    df.loc["b"] = 5.0
    forecast = small().fit(df).forecast(coverage=0.8)
    assert np.isfinite(forecast).all(axis=None)
    np.testing.assert_allclose(forecast.loc["b"], 5.0, rtol=1e-3)


@pytest.mark.slow
@pytest.mark.parametrize("greatest", [5e-324, 1e-300, 1e300, 1e308])
def test_weights_count_beside_each_other(small, frame, greatest):
    """Their unit says nothing, and squares of it must not run over."""
    df = frame(60)[["load"]]
    weight = np.where(np.arange(60) % 3 == 0, 0.0, 1.0)
    same = small().fit(df, sample_weight=weight).forecast()
    unit = small().fit(df, sample_weight=weight * greatest).forecast()
    np.testing.assert_allclose(unit, same, rtol=0.05)
    some = np.where(np.arange(60) % 7 == 0, greatest, 1.0)
    assert np.isfinite(small().fit(df, sample_weight=some).forecast(coverage=0.8)).all(
        axis=None
    )
