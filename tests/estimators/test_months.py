"""Months that differ in days and weekdays: forecasts stay in the units of the target everywhere."""

import numpy as np
import pandas as pd
import pytest
import torch

import skinformer
from skinformer import InformerClassifier, InformerRegressor
from skinformer.estimators import fitting
from skinformer.evaluation import backtest, explain, forecast_parts
from skinformer.serving import window_inputs
from skinformer.timeline.months import MonthEffects

P = {"seq_len": 24, "pred_len": 12, "random_state": 0}
MONTHS = pd.date_range("2004-01-01", periods=168, freq="MS")
N_FIT = 144


def daily_sums(seed=0, level=50.0):
    """Add up days: a level, more on Saturdays, and a season."""
    days = pd.date_range("2004-01-01", "2017-12-31")
    rng = np.random.default_rng(seed)
    y = level * (1 + 0.5 * (days.day_of_week == 5))
    y *= 1 + 0.2 * np.sin(2 * np.pi * days.day_of_year / 365)
    y *= 1 + 0.05 * rng.standard_normal(len(days))
    return pd.Series(y, days).resample("MS").sum()


@pytest.fixture(scope="module")
def frame():
    df = pd.DataFrame({"sales": daily_sums(), "mean": 5.0})
    df["mean"] += np.random.default_rng(1).standard_normal(len(df)) / 3
    return df


@pytest.fixture(scope="module")
def model(frame):
    model = InformerRegressor(["sales", "mean"], **P).fit(frame[:N_FIT])
    assert model._months_.logs is not None
    return model


@pytest.fixture(scope="module")
def factors(model):
    clock = model.timeline_.clock
    steps = clock.steps(MONTHS)
    table = model._months_.factors(clock, steps, np.zeros(len(steps), dtype=int))
    return pd.DataFrame(table, MONTHS, ["sales", "mean"])


@pytest.fixture(scope="module")
def comparable(frame, factors):
    """Give a model of the same rows, with the effect of months taken off before."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(fitting, "find_month_effects", lambda _: MonthEffects())
        return InformerRegressor(["sales", "mean"], **P).fit((frame / factors)[:N_FIT])


def assert_times_factors(found, of_comparable, factors):
    """Compare forecasts with those of the comparable rows, times the factors of their months."""
    assert found.index.equals(of_comparable.index)
    for name in ("sales", "mean"):
        columns = [
            c for c in found if (c[0] if isinstance(c, tuple) else c).startswith(name)
        ]
        assert columns
        expected = of_comparable[columns].mul(factors[name], axis=0).dropna()
        np.testing.assert_allclose(found[columns], expected, rtol=1e-6)


def test_a_level_of_days_is_forecast_for_each_month():
    """Also for the leap day of a February, which that of the year before had not."""
    index = pd.date_range("2019-01-01", periods=60, freq="MS")
    df = pd.DataFrame({"sales": 10.0 * index.days_in_month}, index=index)
    forecast = InformerRegressor("sales", **P).fit(df).forecast()["sales"]
    expected = 10.0 * forecast.index.days_in_month
    assert forecast.index[1] == pd.Timestamp("2024-02-01")
    np.testing.assert_allclose(forecast, expected, rtol=1e-6)


def test_forecasts_and_intervals(model, comparable, factors):
    levels = [0.1, 0.9]
    assert_times_factors(
        model.forecast(levels=levels), comparable.forecast(levels=levels), factors
    )


def test_quantiles_of_a_loss(frame, factors):
    sales = frame[["sales"]]
    params = P | {"loss": [0.2, 0.5]}
    model = InformerRegressor("sales", **params).fit(sales[:N_FIT])
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(fitting, "find_month_effects", lambda _: MonthEffects())
        comparable = InformerRegressor("sales", **params)
        comparable.fit((sales / factors[["sales"]])[:N_FIT])
    found = model.forecast()
    expected = comparable.forecast().mul(factors["sales"], axis=0).dropna()
    np.testing.assert_allclose(found, expected, rtol=1e-5)


def test_means_are_not_divided(factors):
    assert (factors["mean"] == 1).all()
    assert np.ptp(factors["sales"]) > 0.1


def test_paths(model, comparable, factors):
    found = model.sample(20, random_state=0)
    assert_times_factors(found, comparable.sample(20, random_state=0), factors)


def test_later_rows_are_read_and_forecast(model, comparable, frame, factors):
    later = frame[N_FIT:].copy()
    later.iloc[3, 0] = np.nan
    index = later.index
    found = pd.DataFrame(model.predict(later), index, ["sales", "mean"])
    of_comparable = comparable.predict(later / factors.loc[index])
    expected = pd.DataFrame(of_comparable, index, ["sales", "mean"])
    assert_times_factors(found, expected, factors)


def test_updates(model, comparable, frame, factors, tmp_path):
    model.save(tmp_path / "model")
    updated = skinformer.load(tmp_path / "model").update(frame[N_FIT:-12])
    comparable.save(tmp_path / "comparable")
    other = skinformer.load(tmp_path / "comparable")
    other.update((frame / factors)[N_FIT:-12])
    assert_times_factors(updated.forecast(), other.forecast(), factors)


def test_stored_truths(model, frame):
    rows = np.arange(N_FIT)
    np.testing.assert_allclose(model._truths(rows), frame[:N_FIT], rtol=1e-5)


def test_backtests(model, comparable, frame, factors):
    some = {"levels": [0.2]}
    found = backtest(model, frame[N_FIT:], **some)
    expected = backtest(comparable, (frame / factors)[N_FIT:], **some)
    ratio = found["forecast"] / expected["forecast"]
    of_rows = factors.melt(ignore_index=False, var_name="target", value_name="factor")
    of_rows = of_rows.set_index("target", append=True)["factor"]
    of_rows = of_rows.rename_axis(["time", "target"])
    keys = found.reset_index()[["time", "target"]]
    np.testing.assert_allclose(
        ratio.to_numpy(), keys.join(of_rows, on=["time", "target"])["factor"], rtol=1e-6
    )


def test_members_and_contributions_add_up(model):
    forecast = model.forecast()["sales"]
    parts = forecast_parts(model).query("target == 'sales'")
    weighted = (parts["weight"] * parts["forecast"]).groupby(parts["time"]).sum()
    np.testing.assert_allclose(weighted, forecast, rtol=1e-5)
    reasons = explain(model).query("target == 'sales'")
    total = reasons.groupby("time")["contribution"].sum()
    np.testing.assert_allclose(total, forecast, rtol=1e-5)


@pytest.mark.parametrize("is_panel", [False, True], ids=["series", "panel"])
def test_exported_graphs(is_panel):
    df = pd.DataFrame({"sales": daily_sums()})
    if is_panel:
        parts = {name: daily_sums(i) for i, name in enumerate("ab")}
        df = pd.concat(parts, names=["shop", "time"]).to_frame("sales")
    model = InformerRegressor("sales", members=["ridges"], **P).fit(df)
    assert model._months_.logs is not None
    inputs, _ = window_inputs(df, model.signature_)
    tensors = {name: torch.from_numpy(array) for name, array in inputs.items()}
    forecast, fed_back = model.export_program().module()(**tensors)
    expected = model.forecast()["sales"]
    np.testing.assert_allclose(forecast.flatten(), expected, rtol=1e-5)
    np.testing.assert_allclose(fed_back.flatten(), expected, rtol=1e-5)


def test_a_series_that_the_fit_did_not_hold():
    parts = {name: daily_sums(i) for i, name in enumerate("abc")}
    df = pd.concat(parts, names=["shop", "time"]).to_frame("sales")
    model = InformerRegressor("sales", **P).fit(df.loc[["a", "b"]])
    new = df.loc[["c"]].copy()
    truth = new["sales"].iloc[-12:].to_numpy(copy=True)
    new.iloc[-12:] = np.nan
    y_pred = model.predict(new)[-12:]
    assert np.abs(y_pred / truth - 1).mean() < 0.03


def test_classes_have_no_factors():
    """Though numbers of classes grow with the days here."""
    labels = np.where(MONTHS.days_in_month > 30, "long", "few")
    labels[0] = "any"
    df = pd.DataFrame({"kind": labels}, index=MONTHS)
    model = InformerClassifier("kind", **P).fit(df)
    assert model._months_.logs is None
