"""Panels of short series: classical forecasters speak where rows are too few for windows."""

from itertools import pairwise

import numpy as np
import pandas as pd
import pytest
from blends import base_blend, trust
from flat_parameters import with_parts
from sklearn.model_selection import GridSearchCV, TimeSeriesSplit

from skinformer import InformerRegressor, Training
from skinformer.classical.fit import fit_classical
from skinformer.classical.windows import SeriesRows, UnitWindows

pytestmark = pytest.mark.filterwarnings("ignore:parameters of the network:UserWarning")

P = {
    "seq_len": 24,
    "pred_len": 4,
    "d_model": 16,
    "n_heads": 2,
    "max_iter": 1,
    "random_state": 0,
}
LENGTHS = {"a": 40, "b": 18, "c": 9, "d": 60, "e": 5}


def months(n, *, end="2024-12-01"):
    return pd.date_range(end=end, periods=n, freq="MS")


def seasonal(n, seed, level=100.0):
    rng = np.random.default_rng(seed)
    t = np.arange(n)
    return level * (
        1 + 0.02 * t + 0.2 * np.sin(t * np.pi / 6) + 0.02 * rng.normal(size=n)
    )


@pytest.fixture
def panel():
    """Five series of unequal length and size that end together."""
    series = {
        name: pd.DataFrame({"y": seasonal(n, i, 10.0**i)}, index=months(n))
        for i, (name, n) in enumerate(LENGTHS.items())
    }
    return pd.concat(series, names=["shop", "month"])


@pytest.fixture
def model(panel):
    return InformerRegressor("y", **with_parts(**P)).fit(panel)


def test_short_series_are_forecast_by_what_they_have(panel, model):
    """None of these holds a look-back of 96 and a forecast; each has a forecast of its own size."""
    default = InformerRegressor("y", pred_len=4, random_state=0).fit(panel)
    for fitted in (model, default):
        forecast = fitted.forecast()["y"]
        last = panel.groupby(level=0)["y"].last()
        ratio = forecast.groupby(level=0).mean() / last
        assert ratio.between(0.5, 2).all()
        assert (forecast.groupby(level=0).size() == 4).all()


@pytest.mark.filterwarnings("error:.*network:UserWarning")
def test_a_network_that_is_not_trained_is_nothing_to_act_on(panel):
    """The advice to shorten the look-back cost 20 s and gained 1.5 %."""
    model = InformerRegressor("y", pred_len=4, random_state=0).fit(panel)
    assert trust(model) == 0
    assert len(model.history_) == model.n_iter_ == 0
    assert sum(base_blend(model).values()) == pytest.approx(1, abs=0.5)
    assert len(base_blend(model)) > 2


def test_parameters_of_a_network_without_a_share_are_named(panel):
    """A search over them compares equal forecasts; what is behind it is said once."""
    with pytest.warns(UserWarning, match="network") as caught:
        InformerRegressor("y", **with_parts(**P | {"n_heads": 4})).fit(panel)
    assert str(caught[0].message) == (
        "parameters of the network (network__d_model, network__n_heads) have no "
        "effect on this fit: series are too short to train it, and other members make "
        "the forecasts (see leaderboard()). Set or search parameters of these, such "
        "as seq_len, members and known_future; with members=['network'] the network "
        "forecasts alone."
    )
    assert caught[0].filename == __file__


@pytest.mark.slow
def test_a_search_over_a_network_that_adds_nothing_says_so():
    """Of all folds and candidates: nothing that was searched has a share."""
    hours = pd.date_range("2024-01-01", periods=400, freq="h")
    load = pd.Series(np.random.default_rng(0).normal(size=400), hours, name="load")
    model = InformerRegressor(
        "load",
        seq_len=24,
        pred_len=6,
        members=["ridges", "network"],
        random_state=0,
        training=Training(max_iter=1),
    )
    search = GridSearchCV(
        model, {"network__dropout": [0.1, 0.3]}, cv=TimeSeriesSplit(2, test_size=12)
    )
    with pytest.warns(
        UserWarning,
        match=r"network \(network__dropout\) .*: on validation rows it adds no",
    ):
        search.fit(load.to_frame(), load)


def test_a_forecast_is_that_of_the_classical_fit(panel, model):
    """In units and out again: nothing is lost on the way through the scaler."""
    values = panel["y"].to_numpy()
    first_row = np.concatenate([[0], np.cumsum(list(LENGTHS.values()))])
    sizes = model.ensemble_.members["classical"].fit.candidates.sizes
    known, steps = np.ones(len(values), dtype=bool), model.timeline_.steps
    fit = fit_classical(
        SeriesRows(values, known, steps, first_row, model.timeline_.clock),
        sizes,
        of_mean=True,
    )
    past = np.zeros((5, sizes.seq_len))
    for i, (start, end) in enumerate(pairwise(first_row)):
        past[i, start - end :] = values[start:end]
    length = np.array(list(LENGTHS.values()))
    given = np.ones(past.shape, dtype=bool), model.timeline_.end_step, np.arange(5)
    windows = UnitWindows(past, length, *given, model.timeline_.clock)
    got = model.forecast()["y"].to_numpy().reshape(5, 4)
    np.testing.assert_allclose(got, fit.forecast(windows), rtol=1e-4)


@pytest.mark.filterwarnings("ignore:.* is taken as missing:UserWarning")
def test_later_rows_move_the_forecast_and_earlier_ones_are_forecast_from_before(
    panel, model
):
    """`update`, `predict` on new rows and in the sample: one origin each, before the row."""
    later = panel.groupby(level=0).tail(2).copy()
    later.index = later.index.set_levels(
        later.index.levels[1] + pd.DateOffset(months=2), level=1
    )
    before = model.forecast(horizon=6)
    model.update(later * 1.3)  # twice as much would be an outlier
    after = model.forecast(horizon=4)
    shared = after.index.intersection(before.index)
    assert (after.loc[shared, "y"] > before.loc[shared, "y"]).mean() > 0.9


@pytest.mark.filterwarnings("ignore:.* is (taken|replaced) :UserWarning")
def test_in_the_sample_no_row_is_forecast_from_itself(panel, model):
    """Changing the last row of a series changes no forecast of its rows."""
    changed = panel.copy()
    ends = ~changed.index.get_level_values(0).duplicated(keep="last")
    changed.loc[ends, "y"] *= 10
    np.testing.assert_array_equal(model.predict(changed), model.predict(panel))


def test_series_that_were_not_fitted_are_forecast_from_their_own_rows(panel, model):
    """By the weights of the panel and a scale of their own."""
    new = pd.concat(
        {"z": pd.DataFrame({"y": seasonal(20, 9, 1e5)}, index=months(20))},
        names=["shop", "month"],
    )
    forecast = model.forecast(new, horizon=3)["y"]
    assert forecast.between(0.5 * new["y"].min(), 2 * new["y"].max()).all()


def test_recursion_goes_beyond_the_horizon(model):
    """Blocks are fed back as everywhere."""
    long = model.forecast(horizon=11)["y"]
    short = model.forecast(horizon=4)["y"]
    for name in LENGTHS:
        np.testing.assert_array_equal(long.loc[name][:4], short.loc[name])
    assert np.isfinite(long).all()


def test_counts_are_never_forecast_below_zero():
    """A shop that sells 0 to 3 pieces a month does not sell -0.1."""
    rng = np.random.default_rng(0)
    panel = pd.concat(
        {
            i: pd.DataFrame(
                {"y": rng.poisson(0.3, 30) * np.linspace(2, 0, 30).round()}, months(30)
            )
            for i in range(20)
        },
        names=["part", "month"],
    )
    assert (
        InformerRegressor("y", **with_parts(**P)).fit(panel).forecast(horizon=12)["y"]
        >= 0
    ).all()


def test_several_targets_are_forecast_each_by_itself(panel):
    """A second target is a second panel of series."""
    frame = panel.assign(z=-panel["y"] * 7)
    both = InformerRegressor(["y", "z"], **with_parts(**P)).fit(frame).forecast()
    assert list(both.columns) == ["y", "z"]
    assert (both["y"] > 0).all()
    assert (both["z"] < 0).all()


def test_what_is_known_ahead_moves_the_forecast(panel):
    """A promotion adds as much to every series, in its own deviations."""
    rng = np.random.default_rng(0)
    frame = panel.assign(promotion=rng.integers(0, 2, len(panel)))
    deviation = frame.groupby(level=0)["y"].transform("std")
    frame["y"] += 2 * deviation * frame["promotion"]
    model = InformerRegressor("y", **with_parts(known_future=["promotion"], **P)).fit(
        frame
    )
    future = model.make_future_frame(horizon=4)
    without, with_it = (
        model.forecast(future.assign(promotion=float(value)))["y"].to_numpy()
        for value in (0, 1)
    )
    added = (
        (with_it - without) / np.repeat(deviation.groupby(level=0).first(), 4)
    ).to_numpy()
    assert (added > 0.9).all()


def test_one_short_series_is_forecast_too():
    """Thirty months of one shop are what a new user has."""
    frame = pd.DataFrame({"y": seasonal(30, 0)}, index=months(30))
    forecast = (
        InformerRegressor("y", pred_len=6, random_state=0).fit(frame).forecast()["y"]
    )
    truth = seasonal(36, 0)[30:]
    assert np.abs(forecast.to_numpy() / truth - 1).mean() < 0.1


@pytest.mark.parametrize("options", [{"members": ["network"]}, {"loss": 0.9}])
def test_without_the_path_whole_windows_are_needed(options, panel):
    """The network alone, and quantiles, have nothing else to speak."""
    with pytest.raises(
        ValueError, match=r"^n_samples=60 is too few: 100 .* seq_len=96 \+ pred_len=4"
    ):
        InformerRegressor("y", **with_parts(pred_len=4, **options)).fit(panel)


def test_one_row_is_too_few():
    """There is nothing to forecast from, or nothing to compare with."""
    frame = pd.DataFrame({"y": [1.0]}, index=months(1))
    with pytest.raises(
        ValueError,
        match=r"^n_samples=1 is too few: 2 consecutive rows are needed, one to",
    ):
        InformerRegressor("y", freq="MS").fit(frame)


@pytest.mark.filterwarnings("ignore:.* is (taken|replaced) :UserWarning")
def test_garbage_in_one_series_leaves_the_others_alone(panel):
    """A typing error in one of 400 must not be heard in 399."""
    spoilt = panel.copy()
    spoilt.loc[("d", spoilt.loc["d"].index[-1]), "y"] *= 1e6
    one = InformerRegressor("y", **with_parts(**P)).fit(panel).forecast()["y"]
    other = InformerRegressor("y", **with_parts(**P)).fit(spoilt).forecast()["y"]
    for name in set(LENGTHS) - {"d"}:
        np.testing.assert_allclose(other.loc[name], one.loc[name], rtol=0.05)


@pytest.mark.slow
def test_longer_series_keep_their_ridges_and_their_network(panel):
    """Two and a half windows' lengths in the median series."""
    long = pd.concat(
        {i: pd.DataFrame({"y": seasonal(90, i)}, index=months(90)) for i in range(2)},
        names=["shop", "month"],
    )
    fitted = InformerRegressor("y", **with_parts(**P)).fit(long)
    assert fitted.n_iter_ == 1
    assert list(fitted.series_blend_)[-2:] == ["ridges", "network"]
    short = P | {"seq_len": 3, "pred_len": 1}
    whole = {"own_ridges", "ridges", "network"}
    # A year.
    assert (
        not set(InformerRegressor("y", **with_parts(**short)).fit(long).series_blend_)
        <= whole
    )
    days = pd.concat(
        {
            i: part.droplevel(0).set_axis(pd.date_range("2024-01-01", periods=90))
            for i, part in long.groupby(level=0)
        },
        names=["shop", "day"],
    )
    assert (
        set(InformerRegressor("y", **with_parts(**short)).fit(days).series_blend_)
        <= whole
    )


@pytest.mark.slow
def test_the_weights_of_each_series_are_told(panel, model):
    """Which forecaster speaks for which shop, by name; their mean is the blend."""
    weights = model.series_blend_
    pd.testing.assert_index_equal(weights.index, model.series_)
    assert weights.sum(axis=1).between(0.5, 1.001).all()
    for name, mean in base_blend(model).items():
        assert weights[name].mean() == pytest.approx(mean, abs=1e-4)
    both = InformerRegressor(["y", "z"], **with_parts(**P)).fit(
        panel.assign(z=-panel["y"] * 7)
    )
    assert both.series_blend_.index[5] == ("a", "z")
    alone = (
        InformerRegressor("y", **with_parts(**P)).fit(panel.loc["d"][:35]).series_blend_
    )
    assert list(alone.index) == ["y"]
    assert alone.sum(axis=1).between(0.5, 1.001).all()
    assert "network" not in alone


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:X ends with .* without an actual value:UserWarning")
def test_rows_without_truth_at_the_end_are_no_truths():
    """Held values are flat: who believes them forecasts nothing but flat lines."""
    t = np.arange(300)
    parts = {}
    for i in range(4):
        noise = 0.1 * np.random.default_rng(i).normal(size=300)
        y = 50 + 10 * i + 20 * np.sin(t * 2 * np.pi / 7 + i) + noise
        parts[i] = pd.DataFrame(
            {"y": y}, pd.date_range("2024-01-01", periods=300, freq="D")
        )
    panel = pd.concat(parts, names=["shop", "day"])
    closed = panel[panel.groupby(level=0).cumcount() < 294].copy()
    closed.loc[closed.groupby(level=0).cumcount() >= 264, "y"] = np.nan
    for options in (P | {"pred_len": 6}, P | {"pred_len": 6, "seq_len": 240}):
        forecast = (
            InformerRegressor("y", **with_parts(**options)).fit(closed).forecast()["y"]
        )
        truth = panel["y"].loc[forecast.index]
        assert np.abs(forecast - truth).mean() < 2


@pytest.mark.filterwarnings("ignore:.* is (taken|replaced) :UserWarning")
def test_an_update_below_zero_ends_the_bound(panel):
    """A shop that begins to take back more than it sells is forecast to go on."""
    model = InformerRegressor("y", **with_parts(**P)).fit(panel)
    later = pd.concat(
        {
            name: pd.DataFrame(
                {"y": -20 + np.random.default_rng(0).normal(size=40)},
                pd.date_range("2025-01-01", periods=40, freq="MS"),
            )
            for name in LENGTHS
        },
        names=["shop", "month"],
    )
    forecast = model.update(later).forecast()["y"]
    # What is left of a season of the level before, which was a thousand times as high for "d".
    assert (forecast.drop("d") < -10).all()
    assert (forecast.loc["d"] < 0.03 * panel.loc["d", "y"].mean()).all()


@pytest.mark.parametrize("level", [50.0, 1000.0])
def test_zero_is_no_bound_to_logarithms(level):
    """Standardised logarithms lie below zero as often as above it."""
    frame = pd.concat(
        {i: pd.DataFrame({"y": np.repeat(level, 30)}, months(30)) for i in range(4)},
        names=["shop", "month"],
    )
    later = pd.concat(
        {
            i: pd.DataFrame({"y": np.repeat(10.0, 30)}, months(30, end="2027-06-01"))
            for i in range(4)
        },
        names=["shop", "month"],
    )
    model = (
        InformerRegressor("y", **with_parts(target_transform="log", **P))
        .fit(frame)
        .update(later)
    )
    np.testing.assert_allclose(model.forecast()["y"], 10, rtol=0.15)


def test_the_bound_is_that_of_the_series_not_of_what_an_effect_leaves():
    """A loss in months of clearance is below zero, however positive the rest is."""
    rng = np.random.default_rng(0)
    clearance = np.arange(30) % 3 == 0
    parts = {
        i: pd.DataFrame(
            {
                "clearance": clearance.astype(float),
                "y": 10 + rng.normal(size=30) - 30 * clearance,
            },
            months(30),
        )
        for i in range(6)
    }
    panel = pd.concat(parts, names=["shop", "month"])
    model = InformerRegressor("y", **with_parts(known_future=["clearance"], **P)).fit(
        panel
    )
    future = model.make_future_frame(horizon=3).assign(clearance=[1.0, 0.0, 0.0] * 6)
    forecast = model.forecast(future)["y"].to_numpy().reshape(6, 3)
    assert (forecast[:, 0] < -10).all()
    assert (forecast[:, 1:] > 5).all()
