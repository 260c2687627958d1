"""Contributions: against brute force through `predict`, and sums that are the forecasts."""

import copy
import re
from functools import cache
from itertools import permutations
from unittest.mock import patch

import numpy as np
import pandas as pd
import pytest
from sklearn.linear_model import LinearRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import PowerTransformer, StandardScaler
from sklearn.tree import DecisionTreeRegressor

from skinformer import InformerClassifier, InformerRegressor
from skinformer.evaluation import explain, forecast_parts, importance
from skinformer.evaluation.players import UsualValues, default_blocks
from skinformer.timeline.clock import clock_for

SIZES = {"seq_len": 24, "pred_len": 6, "d_model": 8, "n_heads": 2, "max_iter": 1, "random_state": 0}
TRAIN = 408  # an odd number of each hour: then no median lies between two values
TREES = DecisionTreeRegressor(max_depth=6, random_state=0)

pytestmark = pytest.mark.filterwarnings(
    "ignore:series .* take no part:UserWarning", "ignore:past-only columns:UserWarning"
)


def make_frame(n=430, seed=0):
    hours = pd.date_range("2024-01-01", periods=n, freq="h", name="hour")
    rng = np.random.default_rng(seed)
    temp, wind = rng.normal(size=(2, n)).cumsum(axis=1) / 5
    price = np.repeat(rng.normal(size=n // 6 + 1), 6)[:n]
    load = 60 + 9 * np.sin(hours.hour * np.pi / 12) + 2 * temp - 4 * price + rng.normal(size=n)
    columns = {"temp": temp, "wind": wind, "price": price, "load": load}
    return pd.DataFrame(columns, index=hours)


def fit(df, trust=0.75, **changes):
    """Fit a model of which everybody has a share, whatever a fit this small proves."""
    with patch("skinformer.selection.mean_share", return_value=8):  # two fifths
        model = InformerRegressor(**{"target": "load", **SIZES, **changes}).fit(df)
    if model.base_blend_ and "ridges" in model.ensemble_.members:
        model.ensemble_ = model.ensemble_.trusting(trust)
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
    return fit(df[:TRAIN], members=["classical", "ridges", TREES, "network"])


class Oracle:
    """Forecasts by `predict`, each once, of frames in which some columns' past is the usual one."""

    def __init__(self, model, df):
        self.model, self.df = model, df[: TRAIN + 6].copy()
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
    model = fit(df[:TRAIN], trust=trust, members=["classical", "ridges", TREES, "network"])
    speak = {"ridges", "DecisionTreeRegressor"} | ({"network"} if trust else set())
    assert set(forecast_parts(model)["part"]) == speak
    oracle, names = Oracle(model, df), list(df)
    expected = {name: np.zeros(6) for name in names}
    orders = list(permutations(names))
    for order in orders:
        for i, name in enumerate(order):
            expected[name] += oracle(order[: i + 1]) - oracle(order[:i])
    got = explain(model, blocks=[]).pivot_table("contribution", "time", "source")
    scale = np.abs(oracle(names)).max()
    for name in names:
        np.testing.assert_allclose(got[name], expected[name] / len(orders), atol=1e-6 * scale)
    np.testing.assert_allclose(got["baseline"], oracle([]), rtol=1e-6)
    np.testing.assert_allclose(got.sum(axis=1), oracle(names), rtol=1e-6)


@pytest.mark.slow
def test_occlusion_is_the_forecast_less_that_without_a_column(mixed, df):
    """And what does not add up is told apart."""
    oracle, names = Oracle(mixed, df), list(df)
    got = explain(mixed, blocks=[], method="occlusion").pivot_table(
        "contribution", "time", "source"
    )
    whole = oracle(names)
    for name in names:
        expected = whole - oracle([other for other in names if other != name])
        np.testing.assert_allclose(got[name], expected, atol=1e-6 * np.abs(whole).max())
    rest = whole - oracle([]) - got[names].sum(axis=1)
    np.testing.assert_allclose(got["interactions"], rest, atol=1e-6 * np.abs(whole).max())


@pytest.mark.slow
def test_a_sample_is_near_the_exact_values(mixed):
    """Blocks of lags are too many to enumerate."""
    exact = explain(mixed, n_evaluations=1 << 12)["contribution"]
    few = explain(mixed, n_evaluations=200)["contribution"]
    assert 0 < np.abs(few - exact).max() < 0.1 * np.abs(exact[1:]).std()


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
        "members": ["classical", "ridges", TREES, "network"],
    },
    "median": {"loss": [0.1, 0.5, 0.9], "members": ["classical", "ridges", TREES, "network"]},
    "a quantile": {"loss": 0.9},
    "absolute errors": {"loss": "mae", "members": ["classical", "ridges", TREES, "network"]},
    "logarithms": {"target_transform": "log", "members": ["classical", "ridges", TREES, "network"]},
    "logarithms of ridges": {
        "target_transform": "log",
        "members": ["classical", "ridges", "network"],
    },
    "a transformer": {
        "target_transform": PowerTransformer(),
        "members": ["classical", "ridges", "network"],
    },
    "missing covariates": {
        "embeddings": ["missing"],
        "members": ["classical", "ridges", TREES, "network"],
    },
    "no calendar": {"calendar": None, "position": "continuous"},
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
    for method in ("shapley", "occlusion"):
        reasons = explain(model, later, method=method, n_evaluations=64)
        np.testing.assert_allclose(sums(reasons), forecast.ravel(), rtol=1e-6)
        assert reasons["contribution"].notna().all()
    calibrated = (reasons["source"] == "calibration").any()
    assert calibrated == (case == "median")
    ahead = reasons.drop_duplicates("time")
    assert ahead["time"].tolist() == later.index.tolist()
    assert ahead["ahead"].tolist() == [*range(1, 7), *range(1, 7), 1, 2]


def test_the_steps_after_the_history_need_no_rows(mixed):
    """As `forecast()`."""
    reasons = explain(mixed, n_evaluations=16)
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
        "load", known_future=["price"], members=["classical", "ridges", "network"], **SIZES
    ).fit(train)
    new = make_frame(40, seed=9)
    rows = pd.concat([panel.drop(train.index), pd.concat({"new": new}, names=["site", "hour"])])
    reasons = explain(model, rows, n_evaluations=32)
    forecast = model.predict(rows)
    np.testing.assert_allclose(sums(reasons), forecast, rtol=1e-6)
    assert reasons["series"].unique().tolist() == ["a", "b", "c", "new"]
    assert list(reasons)[:5] == ["time", "series", "ahead", "target", "source"]


def test_ridges_are_read_off_exactly(df):
    """What is linear has no interactions, and one evaluation budget is as good as another."""
    model = fit(df[:TRAIN], trust=0.0, members=["classical", "ridges", "network"], loss="mae")
    exact = explain(model, n_evaluations=2)
    occluded = explain(model, method="occlusion")
    rest = occluded["source"] == "interactions"
    scale = np.abs(exact["contribution"]).max()
    np.testing.assert_allclose(occluded.loc[rest, "contribution"], 0, atol=1e-5 * scale)
    one, other = exact["contribution"], occluded.loc[~rest, "contribution"]
    np.testing.assert_allclose(one, other, atol=1e-5 * scale)


@pytest.mark.slow
@pytest.mark.parametrize("transform", ["log", PowerTransformer()])
def test_a_transformation_of_ridges_is_brute_force_in_units(df, transform):
    """Shares of a logarithm are no shares of the forecast."""
    model = fit(
        df[:TRAIN],
        trust=0.0,
        members=["classical", "ridges", "network"],
        target_transform=transform,
        loss="mae",
    )
    oracle, names = Oracle(model, df), list(df)
    got = explain(model, blocks=[]).pivot_table("contribution", "time", "source")
    orders = list(permutations(names))
    expected = np.zeros(6)
    for order in orders:
        i = order.index("load")
        expected += oracle(order[: i + 1]) - oracle(order[:i])
    np.testing.assert_allclose(got["load"], expected / len(orders), atol=1e-6 * 60)


def make_week(n=2300):
    """Make hours of a week, and a price that acts by the hour and holds for half a day."""
    frame = make_frame(n, seed=3)
    week, hour = 20 * np.random.default_rng(9).normal(size=168), frame.index.hour
    price = np.random.default_rng(4).normal(size=n // 12 + 1)
    frame["price"] = np.repeat(price, 12)[:n]
    frame["load"] += week[24 * frame.index.day_of_week + hour]
    frame["load"] -= 6 * frame["price"] * np.where(hour < 9, 2.0, -1.0)
    return frame[["price", "load"]]


@pytest.fixture(scope="module")
def weeks():
    """Fit ridges beside what the calendar and a price do, and a network."""
    frame = make_week()
    model = fit(frame[:2200], members=["classical", "ridges", "network"], known_future=["price"])
    assert model.module_.path.calendar.known.shape == (24, 1, 1)
    return model, frame


@pytest.fixture(params=[0.0, 0.75])
def week(weeks, request):
    model, frame = copy.copy(weeks[0]), weeks[1]
    model.ensemble_ = model.ensemble_.trusting(request.param)
    return model, frame, request.param


FAR = {"as usual": [], "ahead": [2202, 2203], "before": [2190, 2195], "both": [2188, 2199, 2204]}


def by_parts(model, shown):
    """Give what there is to explain, and the forecast that knows some of it, each made once."""
    usual = UsualValues.of(model.timeline_, 0).at(np.arange(2206), model.timeline_.clock)
    usual = usual * model.scaler_.scale[0] + model.scaler_.mean[0]
    places = {"load": (slice(2200), 1), "price": (slice(2200), 0), "ahead": (slice(2200, None), 0)}

    @cache
    def forecast(inside):
        mixed = pd.DataFrame(usual[:, ::-1].astype(float), index=shown.index, columns=list(shown))
        for name in inside:
            mixed.iloc[places[name]] = shown.iloc[places[name]].to_numpy()
        return model.predict(mixed[2172:])[-6:]

    return places, lambda inside: forecast(frozenset(inside))


@pytest.mark.slow
@pytest.mark.parametrize("far", FAR)
def test_contributions_beside_a_calendar_are_those_of_brute_force(week, far):
    """Also where a price lies beyond all that was seen, and counts as the highest one."""
    model, frame, trust = week
    shown = frame[:2206].copy()
    shown.iloc[FAR[far], 0] = [12.0, -12.0, 12.0][: len(FAR[far])]
    places, forecast = by_parts(model, shown)
    expected = {name: np.zeros(6) for name in places}
    orders = list(permutations(places))
    for order in orders:
        for i, name in enumerate(order):
            gain = forecast(order[: i + 1]) - forecast(order[:i])
            expected[name] += gain / len(orders)
    reasons = explain(model, shown[2172:], blocks=[])
    reasons = reasons[reasons["time"] >= shown.index[2200]]
    scale = np.abs(shown.iloc[places["load"]]).max()
    np.testing.assert_allclose(sums(reasons), forecast(places), rtol=1e-6)
    reasons["source"] = reasons["source"].where(reasons["lag"] != "ahead", "ahead")
    got = reasons.pivot_table("contribution", "time", "source")
    for name, values in expected.items():
        np.testing.assert_allclose(got[name], values, atol=2e-6 * scale, err_msg=name)
    np.testing.assert_allclose(got["baseline"], forecast([]), atol=2e-6 * scale)
    if trust == 0.0:  # ridges are linear: an order is as good as another
        for name, values in expected.items():
            rest = forecast(places) - forecast([other for other in places if other != name])
            np.testing.assert_allclose(rest, values, atol=2e-6 * scale)


def test_known_values_ahead_are_told_apart(df):
    """What a price of the forecast steps does is no matter of its past."""
    model = fit(
        df[:TRAIN], members=["classical", "ridges", TREES, "network"], known_future=["price"]
    )
    later = df[TRAIN : TRAIN + 6].copy()
    later["price"] = df["price"].median() - 3.0
    low = explain(model, later).query("source == 'price'").groupby("lag")["contribution"].mean()
    assert set(low.index) == {"1", "2-24", "25-168", "169-673", "ahead"}
    assert low["ahead"] > 3 * low.drop("ahead").abs().max()


@pytest.mark.filterwarnings("ignore:.* is (taken|replaced) :UserWarning")
def test_nothing_from_the_origin_on_is_read_but_what_is_known_there(df):
    """An explanation that looks ahead would explain another forecast."""
    model = fit(
        df[:TRAIN], members=["classical", "ridges", TREES, "network"], known_future=["price"]
    )
    later = df[TRAIN : TRAIN + 6].copy()
    expected = explain(model, later, n_evaluations=64)
    changed = later.assign(load=999.0, temp=-99.0, wind=np.nan)
    pd.testing.assert_frame_equal(explain(model, changed, n_evaluations=64), expected)
    later.loc[later.index[3] :, "price"] = 7.0  # a later price is none of an earlier hour's reasons
    half = explain(model, later, n_evaluations=64)
    first = expected["ahead"] <= 3
    pd.testing.assert_frame_equal(half[first], expected[first])


def test_a_row_has_its_reasons_whatever_rows_are_asked_with_it(mixed, df):
    """Orders that are drawn must not depend on the rows."""
    later = df[TRAIN : TRAIN + 12]
    every = explain(mixed, later, n_evaluations=64)
    one = explain(mixed, later[:9].iloc[::-1], n_evaluations=64)
    merged = one.merge(every, on=["time", "source", "lag"], suffixes=("", "_of_all"))
    np.testing.assert_array_equal(merged["contribution"], merged["contribution_of_all"])
    again = explain(mixed, later, n_evaluations=64, random_state=0)
    pd.testing.assert_frame_equal(again, every)


def test_usual_values_give_nothing(df):
    """A column that never moves explains nothing."""
    flat = df.assign(wind=5.0)
    reasons = explain(
        fit(flat[:TRAIN], members=["classical", "ridges", TREES, "network"]), n_evaluations=64
    )
    assert (reasons.query("source == 'wind'")["contribution"] == 0).all()


def test_a_pipeline_is_explained_in_its_last_steps_columns(df):
    """And in the units of what the last step was fitted to."""
    scaled = make_pipeline(
        StandardScaler().set_output(transform="pandas"), InformerRegressor("load", **SIZES)
    ).fit(df[:TRAIN], df["load"][:TRAIN])
    reasons = explain(scaled, df[TRAIN : TRAIN + 6], n_evaluations=16)
    np.testing.assert_allclose(sums(reasons), scaled.predict(df[TRAIN : TRAIN + 6]), rtol=1e-6)


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
    model = InformerRegressor("load", members=["classical", "ridges", "network"], **SIZES).fit(df)
    clock, history = model.timeline_.clock, model.timeline_
    usual = UsualValues.of(history, 0)
    assert usual.season == 24
    steps = history.steps_of(np.arange(500))
    np.testing.assert_array_equal(usual.at(steps, clock), history.values)


def test_blocks_follow_the_clock():
    """Last value, last hour, last day, last week."""
    quarters = pd.date_range("2024-01-01", periods=3, freq="15min")
    assert default_blocks(clock_for(quarters, quarters.freq), 700, 24) == [1, 4, 96, 672]
    df = pd.DataFrame({"load": np.sin(np.arange(150.0))})
    reasons = explain(
        InformerRegressor("load", members=["classical", "ridges", "network"], **SIZES).fit(df)
    )
    assert reasons["lag"].unique().tolist() == ["", "1", "2-6", "7-24"]
    reasons = explain(
        InformerRegressor("load", members=["classical", "ridges", "network"], **SIZES).fit(df),
        blocks=[3, 99],
    )
    assert reasons["lag"].unique().tolist() == ["", "1-3", "4-24"]


def test_what_cannot_be_explained_is_refused(df, mixed):
    """In words that say what to do."""
    with pytest.raises(
        ValueError,
        match=re.escape(
            "blocks=[24, 1] must be whole numbers above 0 that rise: the oldest lag of each block, "
            "as in blocks=[1, 24, 168]; blocks=[] makes one block of each column."
        ),
    ):
        explain(mixed, blocks=[24, 1])
    for blocks in (24, [0], [1.5], "a", [True]):
        with pytest.raises(ValueError, match="must be whole numbers above 0 that rise"):
            explain(mixed, blocks=blocks)
    with pytest.raises(
        ValueError, match=re.escape("method='shap' must be one of ['occlusion', 'shapley'].")
    ):
        explain(mixed, method="shap")
    with pytest.raises(
        ValueError,
        match=re.escape(
            "n_evaluations=1 must be a whole number from 2 to 1,000,000: forecasts of a window "
            "with blocks replaced."
        ),
    ):
        explain(mixed, n_evaluations=1)
    with pytest.raises(ValueError, match=r"random_state=1\.5 must be a whole number from 0 to"):
        explain(mixed, random_state=1.5)
    with pytest.raises(
        TypeError,
        match=re.escape(
            "LinearRegression cannot be explained: contributions are read off the windows of an "
            "InformerRegressor, whose forecasts are numbers. Pass a fitted one, or a Pipeline or "
            "search that ends in one; scikit-learn's permutation_importance takes any estimator."
        ),
    ):
        explain(LinearRegression(), df)
    with pytest.raises(TypeError, match=r"^InformerClassifier cannot be explained"):
        forecast_parts(InformerClassifier("load", **SIZES), df)


@pytest.mark.slow
def test_importance_is_the_mean_absolute_contribution_of_a_column():
    """Lags of a column count together, of both targets alike, whatever their units are."""
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
    """Interactions and calibration are nobody's."""
    df = make_frame()
    model = fit(df[:TRAIN], loss=[0.1, 0.5, 0.9])
    found = importance(model, method="occlusion")
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
