"""Contributions: against brute force through `predict`, and sums that are the forecasts."""

import re
from itertools import permutations
from unittest.mock import patch

import numpy as np
import pandas as pd
import pytest
from blends import base_blend
from flat_parameters import with_parts
from sklearn.linear_model import LinearRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import PowerTransformer, StandardScaler
from sklearn.tree import DecisionTreeRegressor

from skinformer import InformerClassifier, InformerRegressor
from skinformer.evaluation import explain, forecast_parts, importance
from skinformer.evaluation.usual import usual_values

SIZES = {
    "seq_len": 24,
    "pred_len": 6,
    "d_model": 8,
    "n_heads": 2,
    "max_iter": 1,
    "random_state": 0,
}
TRAIN = 408  # an odd number of each hour: then no median lies between two values
TREES = DecisionTreeRegressor(max_depth=6, random_state=0)

pytestmark = pytest.mark.filterwarnings(
    "ignore:series .* take no part:UserWarning", "ignore:past covariates:UserWarning"
)


def make_frame(n=430, seed=0):
    hours = pd.date_range("2024-01-01", periods=n, freq="h", name="hour")
    rng = np.random.default_rng(seed)
    temp, wind = rng.normal(size=(2, n)).cumsum(axis=1) / 5
    price = np.repeat(rng.normal(size=n // 6 + 1), 6)[:n]
    load = (
        60
        + 9 * np.sin(hours.hour * np.pi / 12)
        + 2 * temp
        - 4 * price
        + rng.normal(size=n)
    )
    columns = {"temp": temp, "wind": wind, "price": price, "load": load}
    return pd.DataFrame(columns, index=hours)


def fit(df, trust=0.75, **changes):
    """Fit a model of which everybody has a share, whatever a fit this small proves."""
    with patch(
        "skinformer.judging.weights.mean_log_share", return_value=8
    ):  # two fifths
        model = InformerRegressor(
            **with_parts(**{"target": "load", **SIZES, **changes})
        ).fit(df)
    if base_blend(model) and "ridges" in model.ensemble_.members:
        model.ensemble_ = model.ensemble_.with_network_share(trust)
    return model


def sums(reasons):
    """Add up the contributions of each forecast, in order."""
    keys = [key for key in ("series", "time", "target") if key in reasons]
    return reasons.groupby(keys, sort=False)["contribution"].sum().to_numpy()


@pytest.fixture(scope="module")
def df():
    return make_frame()


@pytest.fixture(scope="module")
def mixed(df):
    """Fit ridges, network and trees."""
    return fit(df[:TRAIN], members=["ridges", TREES, "network"])


class Oracle:
    """Forecasts by `predict`, each once, of frames in which some columns' past is the usual one."""

    def __init__(self, model, df, n_ahead=6):
        self.model, self.df = model, df[: TRAIN + n_ahead].copy()
        self.df.iloc[TRAIN:] = np.nan
        past = self.df[:TRAIN]
        hourly = past.groupby(past.index.hour).median()
        self.usual = hourly.loc[past.index.hour].set_axis(past.index)
        self.known = {}

    def __call__(self, inside):
        inside = frozenset(inside)
        if inside not in self.known:
            self.known[inside] = self.forecast(inside)
        return self.known[inside]

    def forecast(self, inside):
        shown = self.df.copy()
        for name in set(shown) - inside:
            shown.loc[shown.index[:TRAIN], name] = self.usual[name]
        return self.model.predict(shown)[TRAIN:]


@pytest.mark.slow
@pytest.mark.parametrize("trust", [0.0, 0.75])
def test_four_columns_have_the_values_of_brute_force(df, trust):
    """The definition, written down with nothing but `predict`: all orders of the columns."""
    model = fit(df[:TRAIN], trust=trust, members=["ridges", TREES, "network"])
    speak = {"ridges", "DecisionTreeRegressor"} | ({"network"} if trust else set())
    assert set(forecast_parts(model)["part"]) == speak
    oracle, names = Oracle(model, df), list(df)
    expected = {name: np.zeros(6) for name in names}
    orders = list(permutations(names))
    for order in orders:
        for i, name in enumerate(order):
            expected[name] += oracle(order[: i + 1]) - oracle(order[:i])
    got = explain(model).pivot_table("contribution", "time", "source")
    scale = np.abs(oracle(names)).max()
    for name in names:
        np.testing.assert_allclose(
            got[name], expected[name] / len(orders), atol=1e-6 * scale
        )
    np.testing.assert_allclose(got["baseline"], oracle([]), rtol=1e-6)
    np.testing.assert_allclose(got.sum(axis=1), oracle(names), rtol=1e-6)


@pytest.mark.slow
def test_a_group_of_columns_comes_and_goes_together(mixed, df):
    """Two orders, of the group and the column that is left, with nothing but `predict`."""
    oracle, weather = Oracle(mixed, df), ["temp", "wind", "price"]
    found = explain(mixed, groups={"weather": weather})
    assert found["source"].unique().tolist() == ["baseline", "weather", "load"]
    got = found.pivot_table("contribution", "time", "source")
    first, last = oracle(weather) - oracle([]), oracle(list(df)) - oracle(["load"])
    scale = np.abs(oracle([])).max()
    np.testing.assert_allclose(got["weather"], (first + last) / 2, atol=1e-6 * scale)
    np.testing.assert_allclose(got.sum(axis=1), oracle(list(df)), rtol=1e-6)


def test_what_is_missing_is_forecast_from_the_usual_past_too(mixed, df):
    """The second block stands on the first, which nobody measured."""
    oracle = Oracle(mixed, df, n_ahead=12)
    reasons = explain(mixed, oracle.df[TRAIN:])
    got = reasons.pivot_table("contribution", "time", "source")
    np.testing.assert_allclose(got["baseline"], oracle([]), rtol=1e-6)
    np.testing.assert_allclose(got.sum(axis=1), oracle(list(df)), rtol=1e-6)


def test_before_the_first_truth_nothing_is_usual(df):
    """A series that begins late in a table is forecast as one that begins late."""
    late = df[:TRAIN].copy()
    late.loc[late.index[:-20], "load"] = np.nan
    panel = pd.concat({"a": df[:TRAIN], "b": late}, names=["site", "hour"])
    model = fit(panel, members=["ridges", "network"])
    shown = late.copy()
    shown.iloc[-20:] = late[-20:].median()
    ahead = pd.DataFrame(np.nan, index=df.index[TRAIN : TRAIN + 6], columns=list(df))
    shown = pd.concat({"b": pd.concat([shown, ahead])}, names=["site", "hour"])
    got = explain(model).query("source == 'baseline' and series == 'b'")["contribution"]
    np.testing.assert_allclose(got, model.predict(shown)[-6:], rtol=1e-6)


def with_more(df):
    """Add columns, of which all orders are too many."""
    rng = np.random.default_rng(1)
    more = {f"more{i}": rng.normal(size=len(df)).cumsum() / 5 for i in range(3)}
    return df.assign(load=df["load"] + 3 * more["more0"], **more)[[*more, *df]]


@pytest.mark.slow
def test_drawn_orders_are_exact_where_the_forecast_is_a_sum(df):
    """As that of ridges is: an order is as good as another."""
    more = with_more(df)
    model = fit(more[:TRAIN], trust=0.0, members=["ridges", "network"])
    few, other = (
        explain(model, n_permutations=2, random_state=seed) for seed in (0, 1)
    )
    scale = np.abs(few["contribution"]).max()
    np.testing.assert_allclose(
        few["contribution"], other["contribution"], atol=1e-5 * scale
    )
    np.testing.assert_allclose(sums(few), model.forecast()["load"], rtol=1e-6)


@pytest.mark.slow
def test_what_two_columns_do_together_is_halved(df):
    """An order and its reverse are as good as all orders, and one order is not."""
    more = with_more(df)
    both = (more["price"] > 0) & (more["more0"] > 0)
    more["load"] = 60 + 30 * both + 0.1 * more["wind"]
    pairs = DecisionTreeRegressor(max_depth=2, random_state=0)
    model = fit(
        more[:TRAIN], members=["ridges", pairs], known_future=["price", "more0"]
    )
    ahead = more[TRAIN : TRAIN + 12]
    few = explain(model, ahead, n_permutations=2, random_state=1)["contribution"]
    exact = explain(model, ahead, n_permutations=400)["contribution"]
    np.testing.assert_allclose(few, exact, atol=1e-5 * np.abs(few).max())


@pytest.mark.slow
def test_more_orders_are_nearer_to_all_of_them(df):
    """Trees are no sum."""
    more = with_more(df)
    model = fit(more[:TRAIN], members=["ridges", TREES])
    exact, few, many = (
        explain(model, n_permutations=n, random_state=3)["contribution"]
        for n in (1000, 2, 50)
    )
    assert 0 < np.abs(many - exact).mean() < np.abs(few - exact).mean()


CASES = {
    "default": {},
    "a regressor": {"members": ["classical", "ridges", TREES, "network"]},
    "known ahead": {
        "members": ["classical", "ridges", TREES, "network"],
        "known_future": ["price"],
    },
    "ridges": {"members": ["classical", "ridges", "network"]},
    "the network alone": {"members": ["network"]},
    "two targets": {
        "target": ["load", "temp"],
        "members": ["ridges", TREES, "network"],
    },
    "median": {"loss": [0.1, 0.5, 0.9], "members": ["ridges", TREES, "network"]},
    "a quantile": {"loss": 0.9},
    "absolute errors": {"loss": "mae", "members": ["ridges", TREES, "network"]},
    "logarithms": {
        "target_transform": "log",
        "members": ["classical", "ridges", TREES, "network"],
    },
    "logarithms of ridges": {
        "target_transform": "log",
        "members": ["ridges", "network"],
    },
    "a transformer": {
        "target_transform": PowerTransformer(),
        "members": ["ridges", "network"],
    },
    "missing covariates": {
        "embeddings": ["missing"],
        "members": ["ridges", TREES, "network"],
    },
    "no calendar": {
        "calendar": None,
        "position": "continuous",
        "members": ["ridges", "network"],
    },
}


@pytest.mark.slow
@pytest.mark.parametrize("case", CASES)
def test_contributions_are_the_forecast(df, case):
    """Whatever forecasts: a reason that is left out would be worse than none."""
    df = df.copy()
    df.iloc[40:44, 3] = df.iloc[TRAIN - 9 : TRAIN - 7, 3] = np.nan
    if case == "missing covariates":
        df.iloc[TRAIN - 12, 0] = np.nan
    model = fit(df[:TRAIN], **CASES[case])
    later = df[TRAIN : TRAIN + 14]  # three blocks, the last one not whole
    forecast = model.predict(later)
    reasons = explain(model, later)
    np.testing.assert_allclose(sums(reasons), forecast.ravel(), rtol=1e-6)
    assert reasons["contribution"].notna().all()
    calibrated = (reasons["source"] == "calibration").any()
    assert calibrated == (case == "median")
    ahead = reasons.drop_duplicates("time")
    assert ahead["time"].tolist() == later.index.tolist()
    assert ahead["ahead"].tolist() == [*range(1, 7), *range(1, 7), 1, 2]


def test_the_steps_after_the_history_need_no_rows(mixed):
    """As `forecast()`."""
    reasons = explain(mixed)
    forecast = mixed.forecast()
    np.testing.assert_allclose(sums(reasons), forecast["load"], rtol=1e-6)
    assert reasons["time"].unique().tolist() == forecast.index.tolist()


@pytest.mark.slow
def test_each_series_of_a_panel_has_its_own_reasons():
    """New ones too, whose usual values are the training means."""
    parts = {name: make_frame(130, seed=i) * 10**i for i, name in enumerate("abc")}
    panel = pd.concat(parts, names=["site", "hour"])
    train = panel.groupby("site", group_keys=False).head(120)
    model = InformerRegressor(
        "load",
        **with_parts(
            known_future=["price"], members=["classical", "ridges", "network"], **SIZES
        ),
    ).fit(train)
    new = make_frame(40, seed=9)
    rows = pd.concat(
        [panel.drop(train.index), pd.concat({"new": new}, names=["site", "hour"])]
    )
    reasons = explain(model, rows)
    forecast = model.predict(rows)
    np.testing.assert_allclose(sums(reasons), forecast, rtol=1e-6, atol=1e-9)
    assert reasons["series"].unique().tolist() == ["a", "b", "c", "new"]
    assert list(reasons)[:5] == ["time", "series", "ahead", "target", "source"]


def test_known_values_ahead_count_for_their_column(df):
    """A price of the forecast steps is read from X."""
    model = fit(
        df[:TRAIN], members=["ridges", TREES, "network"], known_future=["price"]
    )
    later = df[TRAIN : TRAIN + 6].copy()
    usual = explain(model, later).query("source == 'price'")["contribution"]
    later["price"] = df["price"].median() - 3.0
    low = explain(model, later).query("source == 'price'")["contribution"]
    assert (low > usual + 2).all()


@pytest.mark.filterwarnings("ignore:.* is (taken|replaced) :UserWarning")
def test_nothing_from_the_origin_on_is_read_but_what_is_known_there(df):
    """An explanation that looks ahead would explain another forecast."""
    model = fit(
        df[:TRAIN], members=["ridges", TREES, "network"], known_future=["price"]
    )
    later = df[TRAIN : TRAIN + 6].copy()
    expected = explain(model, later)
    changed = later.assign(load=999.0, temp=-99.0, wind=np.nan)
    pd.testing.assert_frame_equal(explain(model, changed), expected)
    later.loc[later.index[3] :, "price"] = (
        7.0  # a later price is none of an earlier hour's reasons
    )
    half = explain(model, later)
    first = expected["ahead"] <= 3
    pd.testing.assert_frame_equal(half[first], expected[first])


def test_a_row_has_its_reasons_whatever_rows_are_asked_with_it(mixed, df):
    """Orders that are drawn must not depend on the rows."""
    later = df[TRAIN : TRAIN + 12]
    every = explain(mixed, later)
    one = explain(mixed, later[:9].iloc[::-1])
    merged = one.merge(every, on=["time", "source"], suffixes=("", "_of_all"))
    np.testing.assert_array_equal(merged["contribution"], merged["contribution_of_all"])
    again = explain(mixed, later)
    pd.testing.assert_frame_equal(again, every)


def test_usual_values_give_nothing(df):
    """A column that never moves explains nothing."""
    flat = df.assign(wind=5.0)
    reasons = explain(fit(flat[:TRAIN], members=["ridges", TREES, "network"]))
    assert (reasons.query("source == 'wind'")["contribution"] == 0).all()


def test_a_pipeline_is_explained_in_its_last_steps_columns(df):
    """And in the units of what the last step was fitted to."""
    scaled = make_pipeline(
        StandardScaler().set_output(transform="pandas"),
        InformerRegressor("load", **with_parts(**SIZES)),
    ).fit(df[:TRAIN], df["load"][:TRAIN])
    reasons = explain(scaled, df[TRAIN : TRAIN + 6])
    np.testing.assert_allclose(
        sums(reasons), scaled.predict(df[TRAIN : TRAIN + 6]), rtol=1e-6
    )


def test_parts_make_the_forecast_by_their_shares(mixed, df):
    """Who said it."""
    later = df[TRAIN : TRAIN + 9]
    parts = forecast_parts(mixed, later)
    assert set(parts["part"]) == {"ridges", "network", "DecisionTreeRegressor"}
    each = (parts["weight"] * parts["forecast"]).groupby(parts["time"]).sum()
    np.testing.assert_allclose(each, mixed.predict(later), rtol=1e-6)
    np.testing.assert_allclose(parts.groupby("time")["weight"].sum(), 1.0)
    alone = forecast_parts(fit(df[:TRAIN], members=["network"]))
    assert set(alone["part"]) == {"network"}
    assert (alone["weight"] == 1).all()


def test_usual_goes_by_the_clock_on_the_wall():
    """In summer people still come at eight."""
    hours = pd.date_range("2024-03-20", periods=500, freq="h", tz="Europe/Berlin")
    df = pd.DataFrame({"load": hours.hour.astype(float)}, index=hours)
    model = InformerRegressor(
        "load", **with_parts(members=["classical", "ridges", "network"], **SIZES)
    ).fit(df)
    clock, history = model.timeline_.clock, model.timeline_
    steps = history.steps_of(np.arange(500))
    np.testing.assert_array_equal(
        usual_values(history, 0, steps, clock), history.values
    )


def test_what_cannot_be_explained_is_refused(df, mixed):
    """In words that say what to do."""
    text = "groups: column='rain' must be one of ['load', 'price', 'temp', 'wind']."
    with pytest.raises(ValueError, match=re.escape(text)):
        explain(mixed, groups={"weather": ["rain"]})
    for groups in ({"a": ["temp"], "b": ["temp", "wind"]}, {"wind": ["temp"]}):
        with pytest.raises(
            ValueError,
            match="contain a column twice, or a group has the name of a column",
        ):
            explain(mixed, groups=groups)
    text = (
        "n_permutations=1 must be a whole number from 2 to 1,000,000: orders of groups."
    )
    with pytest.raises(ValueError, match=re.escape(text)):
        explain(mixed, n_permutations=1)
    with pytest.raises(
        ValueError, match=r"random_state=1\.5 must be a whole number from 0 to"
    ):
        explain(mixed, random_state=1.5)
    with pytest.raises(
        TypeError,
        match=re.escape(
            "LinearRegression cannot be explained: contributions are computed for an "
            "InformerRegressor, whose forecasts are numbers. Pass a fitted one, or a "
            "Pipeline or search that ends in one; scikit-learn's "
            "permutation_importance takes any estimator."
        ),
    ):
        explain(LinearRegression(), df)
    with pytest.raises(TypeError, match=r"^InformerClassifier cannot be explained"):
        forecast_parts(InformerClassifier("load", **with_parts(**SIZES)), df)


@pytest.mark.slow
def test_importance_is_the_mean_absolute_contribution_of_a_column():
    """Of both targets alike, whatever their units are."""
    df = make_frame()
    df["load2"] = 1000 * df["load"]
    model = fit(df[:TRAIN], target=["load", "load2"], members=["ridges"])
    X = df[TRAIN - 24 : TRAIN + 12]
    reasons = explain(model, X)
    table = reasons.pivot_table("contribution", ["target", "time"], "source", "sum")
    size = table.drop(columns="baseline").abs().groupby("target").mean()
    expected = size.div(size.sum(axis=1), axis=0).mean().sort_values(ascending=False)
    found = importance(model, X)
    pd.testing.assert_series_equal(found, expected, check_names=False)
    pd.testing.assert_series_equal(model.importance(X), found)
    assert found.sum() == pytest.approx(1)
    assert found.name == "importance"


@pytest.mark.slow
def test_importance_leaves_out_what_is_no_column():
    """What calibration adds is of no column."""
    df = make_frame()
    model = fit(df[:TRAIN], loss=[0.1, 0.5, 0.9], members=["ridges", "network"])
    found = importance(model)
    assert set(found.index) == {"load", "temp", "wind", "price"}
    assert found.is_monotonic_decreasing


@pytest.mark.slow
def test_series_count_alike_whatever_their_units_are():
    """A series in thousandths is not a thousandth of the panel."""
    df = make_frame()[["price", "load"]]
    other = df.assign(load=df["load"].to_numpy()[::-1])
    settings = {"members": ["ridges"], "known_future": ["price"]}
    found = []
    for scale in (1, 1000):
        panel = pd.concat({"a": df, "b": other * [1, scale]}, names=["site", "hour"])
        found.append(fit(panel, **settings).importance(panel.groupby(level=0).tail(30)))
    pd.testing.assert_series_equal(*found, rtol=1e-3)


def test_of_what_never_changes_nothing_is_important():
    index = pd.date_range("2024-01-01", periods=100, freq="h")
    model = fit(pd.DataFrame({"load": np.ones(100)}, index=index), members=["ridges"])
    assert model.importance().to_dict() == {"load": 0.0}
