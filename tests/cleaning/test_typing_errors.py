"""Typing errors: one value in one series of four hundred must not be heard in the others."""

import copy
import pickle
import re
from functools import cache

import numpy as np
import pandas as pd
import pytest
from flat_parameters import with_parts
from sklearn.preprocessing import FunctionTransformer

from skinformer import InformerClassifier, InformerRegressor, Network, Training, load
from skinformer.evaluation import backtest

P = {
    "seq_len": 24,
    "pred_len": 6,
    "d_model": 16,
    "n_heads": 2,
    "max_iter": 2,
    "random_state": 0,
}
pytestmark = pytest.mark.filterwarnings("ignore:.* is (taken|replaced) :UserWarning")


def days(n, seed):
    rng, t = np.random.default_rng(seed), np.arange(n)
    values = 50 + 10 * seed + 8 * np.sin(t * 2 * np.pi / 7) + rng.normal(size=n)
    return pd.DataFrame({"y": values}, pd.date_range("2024-01-01", periods=n, freq="D"))


def panel(n):
    return pd.concat({f"s{i}": days(n, i) for i in range(6)}, names=["shop", "day"])


def spoilt(frame, kind):
    """Spoil the last series, or all there is."""
    frame = frame.copy()
    values = frame["y"].to_numpy(copy=True)
    if kind == "last":
        values[-1] *= 1e6
    elif kind == "middle":
        values[-60] *= 1e6
    else:
        values[-20:] = 1e5 * np.random.default_rng(0).normal(size=20)
    return frame.assign(y=values)


def forecast_of(rows, early_stopping):
    return (
        InformerRegressor("y", **with_parts(early_stopping=early_stopping, **P))
        .fit(rows)
        .forecast()["y"]
    )


@pytest.fixture(scope="module")
def unspoilt():
    """Give the function that tells what is forecast of a panel without garbage."""
    return cache(lambda early_stopping: forecast_of(panel(150), early_stopping))


@pytest.mark.slow
@pytest.mark.parametrize(
    ("early_stopping", "kind"),
    [("auto", "last"), ("auto", "middle"), ("auto", "twenty"), (True, "last")],
)
def test_garbage_in_one_series_changes_the_others_by_less_than_a_percent(
    early_stopping, kind, unspoilt
):
    """It moved them by thousands of times their size: ridges are fitted to squares."""
    one = unspoilt(early_stopping)
    other = forecast_of(spoilt(panel(150), kind), early_stopping)
    for name in [f"s{i}" for i in range(5)]:
        error = np.abs(other[name] - one[name]).mean()
        assert error < 0.01 * one[name].abs().mean()
    if kind != "twenty":
        assert other["s5"].between(50, 150).all()


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["last", "middle"])
@pytest.mark.parametrize("n", [100, 1000])
def test_a_table_is_forecast_as_if_the_value_were_missing(kind, n):
    """A forecast of ten billion is no answer to a typing error."""
    truth = days(n + 6, 0)["y"].to_numpy()[n:]
    forecast = (
        InformerRegressor("y", **with_parts(**P))
        .fit(spoilt(days(n, 0), kind))
        .forecast()["y"]
    )
    assert np.abs(forecast - truth).mean() < 4


def test_a_warning_names_the_value():
    """What is taken as missing has to be told, with what to do."""
    df = panel(60)
    df.iloc[-70, 0] = 1e7
    with pytest.warns(UserWarning, match="taken as missing") as caught:
        InformerRegressor("y", **with_parts(**P)).fit(df)
    message = next(
        str(w.message) for w in caught if "taken as missing" in str(w.message)
    )
    assert message == (
        "'y'=1e+07 at 2024-02-20 00:00:00 of series 's4' is taken as missing: 81.3199 "
        "to 99.4631 is usual there, and one such value would distort all forecasts. "
        "Correct it; if it is right, fit the logarithms (target_transform='log')."
    )


def test_who_asks_for_logarithms_is_believed():
    """The advice of the warning is one that helps."""
    df = days(100, 0)
    df.iloc[50, 0] = 1e7
    model = InformerRegressor("y", **with_parts(target_transform="log", **P)).fit(df)
    assert model.timeline_.weight is None


@pytest.mark.parametrize(
    ("df", "transform"),
    [
        (days(100, 0), "'log'"),
        ((days(100, 0) - 45).clip(lower=0), "FunctionTransformer(np.log1p, np.expm1)"),
        (days(100, 0) - 50, None),
    ],
    ids=["positive", "zeros", "negative"],
)
def test_the_advice_of_logarithms_is_one_that_can_be_taken(df, transform):
    """On a table with zeros, logarithms were advised, and an error."""
    df = df.copy()
    df.iloc[50, 0] = 1e7
    with pytest.warns(
        UserWarning, match=r"^'y'=1e\+07 at .* is taken as missing"
    ) as caught:
        InformerRegressor("y", **with_parts(**P)).fit(df)
    message = str(caught[0].message)
    if transform is None:
        assert message.endswith(" Correct it.")
        return
    assert message.endswith(f"fit the logarithms (target_transform={transform}).")
    scope = {"np": np, "FunctionTransformer": FunctionTransformer}
    model = InformerRegressor(
        "y", **with_parts(target_transform=eval(transform, scope), **P)
    ).fit(df)
    assert model.timeline_.weight is None


def test_a_warning_of_later_rows_says_what_is_usual_after_those_before():
    """The value is one of another hour."""
    rows = quiet()
    fitted = InformerRegressor("y", **with_parts(**P | {"members": ["ridges"]})).fit(
        rows[:1008]
    )
    spoilt = rows[1008:1021].copy()
    spoilt.iloc[-1] = 4
    with pytest.warns(UserWarning, match="taken as missing") as caught:
        fitted.forecast(spoilt)
    low, high = re.search(
        r": (\S+) to (\S+) is usual there", str(caught[0].message)
    ).groups()
    assert (
        4 < float(low) < float(rows.iloc[1019, 0]) < float(high) <= rows["y"].max() + 1
    )
    assert "target_transform='log'" in str(caught[0].message)


def quiet():
    """Give counts of 4 at night, and of 200 at noon."""
    rng, t = np.random.default_rng(0), np.arange(1021)
    y = (100 - 98 * np.cos(t * 2 * np.pi / 24)) * np.exp(
        0.1 * rng.normal(size=1021)
    ) + 2
    return pd.DataFrame({"y": y}, pd.date_range("2026-01-01", periods=1021, freq="h"))


def hourly(n):
    rng, t = np.random.default_rng(0), np.arange(n)
    x = rng.normal(size=n)
    y = 50 + 10 * np.sin(2 * np.pi * t / 24) + 3 * x + rng.normal(size=n)
    return pd.DataFrame(
        {"y": y, "x": x}, pd.date_range("2026-01-01", periods=n, freq="h")
    )


LINEAR = P | {"members": ["classical", "ridges", "network"], "max_iter": 1}
HOURS = hourly(360)


@pytest.fixture(scope="module")
def model():
    return InformerRegressor("y", **with_parts(known_future=["x"], **LINEAR)).fit(
        HOURS[:300]
    )


def test_an_outlier_of_the_context_is_not_heard_in_forecasts(model):
    """One value a thousand times too large moved the next forecast by 5,000."""
    rows = HOURS[300:336].assign(y=HOURS["y"].where(np.arange(360) < 330))
    usual = model.forecast(rows)["y"]
    for back in (1, 2, 20):
        spoilt = rows.copy()
        spoilt.iloc[30 - back, 0] *= 1000
        with pytest.warns(UserWarning, match=r"^'y'=.* is taken as missing"):
            forecast = model.forecast(spoilt)["y"]
        pd.testing.assert_index_equal(forecast.index, usual.index)
        assert np.abs(forecast - usual).max() < 3
    with pytest.warns(UserWarning, match="taken as missing"):
        updated = copy.deepcopy(model).update(spoilt[:30])
    np.testing.assert_allclose(updated.forecast(rows[30:])["y"], forecast, rtol=1e-5)
    assert np.abs(model.predict(spoilt) - model.predict(rows)).max() < 5


def test_a_forecast_after_an_outlier_begins_after_it():
    """It was observed: the steps asked for are those behind it."""
    model = InformerRegressor("y", **with_parts(**LINEAR)).fit(HOURS[["y"]][:300])
    spoilt = HOURS[["y"]][300:310].copy()
    spoilt.iloc[-1] *= 1e6
    forecast = model.forecast(spoilt)
    assert list(forecast.index) == list(HOURS.index[310:316])
    assert np.abs(forecast["y"] - HOURS["y"][310:316]).max() < 15


def test_whether_a_value_is_an_outlier_does_not_depend_on_later_ones(model):
    """Neither the truth after an origin nor a second outlier moves an earlier forecast."""
    early = HOURS[300:].copy()
    early.iloc[10, 0] *= 100
    late = early.copy()
    late.iloc[30:, 0] *= 1000
    late.iloc[40, 0] = 0.0
    one, other = (
        backtest(model, rows, horizon=6, step=3).set_index(["origin", "time"])[
            "forecast"
        ]
        for rows in (early, late)
    )
    before = one.index.get_level_values("origin") <= HOURS.index[330]
    np.testing.assert_array_equal(one[before], other[before])


def test_a_backtest_judges_as_a_forecast_does(model):
    """All origins at once, or each with the rows before it."""
    rows = HOURS[300:].copy()
    rows.iloc[[10, 11, 31], 0] *= 1000
    rows.iloc[20, 1] = 500.0
    result = backtest(model, rows, horizon=6, step=1).set_index(["origin", "time"])[
        "forecast"
    ]
    for start in (11, 12, 13, 25, 32, 50):
        given = rows[: start + 6].copy()
        given.iloc[start:, 0] = np.nan
        forecast = model.forecast(given)["y"]
        np.testing.assert_allclose(result[rows.index[start]], forecast, rtol=1e-4)


@pytest.mark.parametrize("rows", [[150], [150, 151], [298, 299]])
def test_outliers_of_the_fit_change_little(model, rows):
    """Alone or two in a row, anywhere."""
    spoilt = HOURS[:300].copy()
    spoilt.iloc[rows, 0] *= 1000
    other = InformerRegressor("y", **with_parts(known_future=["x"], **LINEAR)).fit(
        spoilt
    )
    errors = [
        np.abs(one.predict(HOURS[300:].assign(y=np.nan)) - HOURS["y"][300:]).mean()
        for one in (model, other)
    ]
    assert errors[1] < 1.1 * errors[0]


def test_outliers_of_a_column_known_ahead_are_replaced(model):
    """In the fit, in the context and ahead; what came of it was 1,500 here."""
    spoilt = HOURS.copy()
    spoilt.iloc[150, 1] = 500.0
    with pytest.warns(
        UserWarning, match=r"^'x'=500 .* is replaced by an earlier value"
    ):
        other = InformerRegressor("y", **with_parts(known_future=["x"], **LINEAR)).fit(
            spoilt[:300]
        )
    ahead = HOURS[300:306].assign(y=np.nan)
    usual = model.forecast(ahead)["y"]
    assert np.abs(other.forecast(ahead)["y"] - usual).max() < 2
    ahead.iloc[2, 1] = 500.0
    with pytest.warns(UserWarning, match="replaced by"):
        assert np.abs(model.forecast(ahead)["y"] - usual).max() < 15


def test_one_series_of_a_panel_does_not_bend_what_a_promotion_does():
    """One 50 for 50,000 took the effect from all 30 products."""
    rng, parts = np.random.default_rng(0), {}
    for i in range(8):
        promo = (rng.random(66) < 0.2).astype(float)
        y = (50 + i) * (1 + 0.3 * promo) + 3 * rng.normal(size=66)
        weeks = pd.date_range("2024-01-07", periods=66, freq="W")
        parts[f"p{i}"] = pd.DataFrame({"y": y, "promo": promo}, weeks)
    df = pd.concat(parts, names=["product", "week"])
    late = df.index.get_level_values(1) >= df.index.get_level_values(1)[60]
    spoilt = df.copy()
    spoilt.iloc[3 * 66 + 30, 0] *= 1000
    ratios = []
    for rows in (df, spoilt):
        model = InformerRegressor(
            "y", **with_parts(known_future=["promo"], **LINEAR)
        ).fit(rows[~late])
        on, off = (
            model.forecast(df[late].assign(y=np.nan, promo=on))["y"]
            for on in (1.0, 0.0)
        )
        ratios.append((on / off).mean())
    assert ratios[0] > 1.2
    assert ratios[1] == pytest.approx(ratios[0], rel=0.02)


def test_files_and_pickles_judge_alike(model, tmp_path):
    """What is usual is kept; a context holds the rows that values are compared with."""
    model.save(tmp_path / "model.skinformer", history="context")
    spoilt = HOURS[300:336].assign(y=HOURS["y"].where(np.arange(360) < 330))
    spoilt.iloc[20, 0] *= 1000
    expected = model.forecast(spoilt)
    for other in (
        load(tmp_path / "model.skinformer"),
        pickle.loads(pickle.dumps(model)),
    ):
        pd.testing.assert_frame_equal(other.forecast(spoilt), expected)


def test_a_new_level_is_believed_row_by_row():
    """What came before is kept by `update`: else no step would ever be the third row of one."""
    model = InformerRegressor("y", **with_parts(**LINEAR)).fit(HOURS[["y"]][:300])
    later = HOURS[["y"]][300:330] * 1000
    for i in range(len(later)):
        model.update(later[i : i + 1])
    assert model.forecast()["y"].between(20_000, 90_000).all()


def test_rows_in_another_unit_are_brought_to_that_of_the_last_ones():
    """Kilowatts, then watts: forecasts are in watts, as if all rows had been."""
    watts = HOURS[:300].copy()
    watts["y"] = 50 + watts["y"] - watts["y"].min()
    mixed = watts.copy()
    mixed.iloc[:180, 0] /= 1000
    one = InformerRegressor("y", **with_parts(known_future=["x"], **LINEAR)).fit(watts)
    with pytest.warns(
        UserWarning, match=r"^'y' is 1000 times as large from 2026-01-08 12:00:00"
    ):
        other = InformerRegressor("y", **with_parts(known_future=["x"], **LINEAR)).fit(
            mixed
        )
    ahead = HOURS[300:306].assign(y=np.nan)
    np.testing.assert_allclose(other.predict(ahead), one.predict(ahead), rtol=1e-6)


def test_a_column_in_another_unit_ahead_is_not_believed(model):
    """However long it lasts: nothing was learnt of such values."""
    rows = HOURS[300:360].copy()
    spoilt = rows.assign(x=rows["x"] * 1000)
    clean, other = (model.predict(each)[:24] for each in (rows, spoilt))
    errors = [np.abs(each - rows["y"][:24]).mean() for each in (clean, other)]
    assert errors[1] < 10 * errors[0]


def test_an_outlier_beside_classes_is_told_without_advice_on_logarithms():
    """There is no target among the rows to forecast whose least value would tell."""
    rng = np.random.default_rng(0)
    X = pd.DataFrame({"price": rng.normal(10, 1, 80)})
    y = np.where(X["price"] > 10, "high", "low")
    model = InformerClassifier(
        seq_len=6,
        pred_len=2,
        random_state=0,
        network=Network(d_model=8, n_heads=2),
        training=Training(max_iter=1),
    ).fit(X[:70], y[:70])
    later = X[70:].copy()
    later.iloc[3, 0] = 1e6
    with pytest.warns(UserWarning, match="'price'=1e\\+06") as caught:
        model.predict(later)
    assert not any("logarithm" in str(each.message) for each in caught)


def test_an_outlier_among_whole_numbers_is_found_after_the_fit():
    """Integers know no infinity."""
    counts = days(150, 0).round().astype(np.int64)
    model = InformerRegressor("y", **with_parts(members=["ridges"], **P)).fit(
        counts[:120]
    )
    later = counts[120:].copy()
    later.iloc[10] = 10**6
    forecast = model.predict(later)
    clean = model.predict(counts[120:])
    np.testing.assert_allclose(forecast[20:], clean[20:], atol=5)
