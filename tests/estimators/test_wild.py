"""Typing errors: one value in one series of four hundred must not be heard in the others."""

import numpy as np
import pandas as pd
import pytest

from skinformer import InformerRegressor

P = {"seq_len": 24, "pred_len": 6, "d_model": 16, "n_heads": 2, "max_iter": 2, "random_state": 0}
pytestmark = pytest.mark.filterwarnings("ignore:.* taken as missing:UserWarning")


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


@pytest.mark.parametrize("kind", ["last", "middle", "twenty"])
@pytest.mark.parametrize("early_stopping", ["auto", True])
def test_garbage_in_one_series_changes_the_others_by_less_than_a_percent(kind, early_stopping):
    """It moved them by thousands of times their size: ridges are fitted to squares."""
    df = panel(150)
    one, other = (
        InformerRegressor("y", early_stopping=early_stopping, **P).fit(rows).forecast()["y"]
        for rows in (df, spoilt(df, kind))
    )
    for name in [f"s{i}" for i in range(5)]:
        error = np.abs(other[name] - one[name]).mean()
        assert error < 0.01 * one[name].abs().mean()
    if kind != "twenty":
        assert other["s5"].between(50, 150).all()


@pytest.mark.parametrize("kind", ["last", "middle"])
@pytest.mark.parametrize("n", [100, 200, 1000])
def test_a_table_is_forecast_as_if_the_value_were_missing(kind, n):
    """A forecast of ten billion is no answer to a typing error."""
    truth = days(n + 6, 0)["y"].to_numpy()[n:]
    forecast = InformerRegressor("y", **P).fit(spoilt(days(n, 0), kind)).forecast()["y"]
    assert np.abs(forecast - truth).mean() < 4


def test_a_warning_names_the_value():
    """What is taken as missing has to be told, with what to do."""
    df = panel(60)
    df.iloc[-70, 0] = 1e7
    with pytest.warns(UserWarning, match="taken as missing") as caught:
        InformerRegressor("y", **P).fit(df)
    message = next(str(w.message) for w in caught if "taken as missing" in str(w.message))
    assert message == (
        "targets are taken as missing (1 in all), such as 'y'=1e+07 at 2024-02-20 00:00:00 of "
        "series 's4': they lie more than a thousand times farther from the median than the series "
        "changes from row to row. Correct them, or make them NaN; if they are right, fit the "
        "logarithms (target_transform='log')."
    )


@pytest.mark.filterwarnings("error:.* taken as missing:UserWarning")
@pytest.mark.parametrize(
    "values",
    [
        np.repeat([0.0, 1.0], [2400, 1]),  # a valve that opens once
        np.exp(np.arange(200) / 10),  # growth by a factor of e in ten rows
        np.append(np.random.default_rng(0).normal(size=199), 300.0),  # a price at its cap
        np.random.default_rng(0).standard_cauchy(size=300),
    ],
    ids=["rare", "growth", "spike", "heavy tails"],
)
def test_what_may_be_right_is_believed(values):
    """A forecaster that forgets what it does not like is worse than a typing error."""
    InformerRegressor("y", **P | {"max_iter": 1}).fit(pd.DataFrame({"y": values}))


def test_who_asks_for_logarithms_is_believed():
    """The advice of the warning is one that helps."""
    df = days(100, 0)
    df.iloc[50, 0] = 1e7
    model = InformerRegressor("y", target_transform="log", **P).fit(df)
    assert model.timeline_.weight is None
