"""`base`: what is fitted without the network, and that a regressor on features joins in."""

import pickle
import re
import warnings
from unittest import mock

import numpy as np
import pandas as pd
import pytest
from blends import base_blend, judged_members, trust
from flat_parameters import with_parts
from sklearn.ensemble import HistGradientBoostingRegressor, RandomForestRegressor
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.model_selection import GridSearchCV, TimeSeriesSplit
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from skinformer import InformerRegressor
from skinformer.ensemble import tabular

P = {
    "seq_len": 24,
    "pred_len": 6,
    "d_model": 8,
    "n_heads": 2,
    "max_iter": 1,
    "random_state": 0,
}


def weekly(n=1600, seed=0):
    """Give hours whose level depends on the day of the week, which 24 hours cannot see."""
    rng = np.random.default_rng(seed)
    hours = pd.date_range("2024-01-01", periods=n, freq="h")
    day = np.array([0, 1, 4, 2, 6, -5, -6])[hours.day_of_week]
    load = 50 + 5 * np.sin(hours.hour * np.pi / 12) + 2 * day + 0.3 * rng.normal(size=n)
    return pd.DataFrame({"load": load}, index=hours)


@pytest.fixture(scope="module")
def df():
    return weekly()


@pytest.fixture(scope="module")
def fitted(df):
    """Trees beside ridges, on 1560 rows."""
    return InformerRegressor("load", **with_parts(**P)).fit(df[:1560])


def error(model, df):
    return float(np.abs(model.predict(df)[1560:] - df["load"][1560:]).mean())


# --- who takes part --------------------------------------------------------------------------


@pytest.mark.slow
def test_trees_take_part_where_there_are_rows_for_them(fitted, df):
    """And see a cycle that is longer than the window."""
    linear = InformerRegressor(
        "load",
        **with_parts(members=["classical", "ridges", "network"], calendar=None, **P),
    ).fit(df[:1560])
    assert "trees" not in base_blend(linear)
    assert list(linear.ensemble_.members) == ["ridges", "network"]
    assert base_blend(fitted)["trees"] > 0.1  # the ridges know the week, too
    assert error(fitted, df) < 0.7 * error(linear, df)


def test_the_share_of_trees_is_told(fitted):
    """Whoever forecasts is named, and all together are the whole."""
    blend = fitted.series_blend_
    assert list(blend)[:2] == ["trees", "ridges"]
    assert blend.sum(axis=1).to_numpy() == pytest.approx(1)
    assert sum(base_blend(fitted).values()) == pytest.approx(1, abs=1e-3)
    others = blend[["trees", "ridges"]].sum(axis=1).mean()
    assert trust(fitted) == pytest.approx(1 - others)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("n", "parameters"),
    [
        (1400, {}),
        (1560, {"loss": 0.9}),
        (1560, {"members": ["classical", "ridges", "network"]}),
        (1560, {"members": ["network"]}),
    ],
    ids=str,
)
def test_trees_take_no_part(df, n, parameters):
    """Few rows tell them nothing; they forecast means and medians, no quantiles."""
    with mock.patch.object(tabular, "fit_tabular") as fit:
        model = InformerRegressor("load", **with_parts(**P, **parameters)).fit(df[:n])
    assert not fit.called
    assert "trees" not in model.ensemble_.members


def test_without_rows_to_judge_by_there_are_no_trees(df):
    """What nobody could prove is not believed."""
    model = InformerRegressor("load", **with_parts(early_stopping=False, **P)).fit(
        df[:1560]
    )
    assert ("trees" in model.ensemble_.members, trust(model)) == (False, 1.0)


def test_any_regressor_is_fitted_as_a_clone_and_named(df):
    """However few the rows: it was asked for."""
    base = make_pipeline(StandardScaler(), Ridge(alpha=5.0))
    model = InformerRegressor(
        "load", **with_parts(members=["classical", "ridges", base, "network"], **P)
    ).fit(df[:900])
    assert not hasattr(base[-1], "coef_")
    assert base_blend(model)["Ridge"] > 0.3
    assert (
        model.ensemble_.members["Ridge"].fit.members[0].regressor.regressor[-1].alpha
        == 5.0
    )


@pytest.mark.slow
def test_a_regressor_of_chance_is_seeded_by_the_estimator(df):
    """Two fits are equal, another seed is another forest."""
    base = RandomForestRegressor(n_estimators=3, max_depth=4)
    parameters = P | {"members": ["classical", "ridges", base, "network"]}
    one, two = (
        InformerRegressor("load", **with_parts(**parameters)).fit(df[:900])
        for _ in range(2)
    )
    np.testing.assert_array_equal(one.predict(df[:900]), two.predict(df[:900]))
    other = InformerRegressor(
        "load", **with_parts(**parameters | {"random_state": 1})
    ).fit(df[:900])
    forests = [
        m.ensemble_.members["RandomForestRegressor"].fit.members[0].regressor.regressor
        for m in (one, other)
    ]
    assert (
        forests[0].estimators_[0].random_state != forests[1].estimators_[0].random_state
    )


@pytest.mark.slow
def test_a_search_finds_the_regressor_and_its_parameters(df):
    """Lists of members are values of a grid; their estimators are cloned."""
    grid = {
        "members": [["ridges"], ["ridges", Ridge(), "network"], ["ridges", Ridge(1e6)]]
    }
    model = InformerRegressor("load", **with_parts(**P))
    search = GridSearchCV(model, grid, cv=TimeSeriesSplit(2, test_size=48)).fit(
        df[:700]
    )
    assert any(search.best_params_["members"] is each for each in grid["members"])
    assert not hasattr(grid["members"][1][1], "coef_")
    assert np.isfinite(search.cv_results_["mean_test_score"]).all()


@pytest.mark.parametrize(
    ("members", "message"),
    [
        (
            ["ridges", Ridge],
            "._ridge.Ridge'>, which is no member of a regressor: choose from",
        ),
        (
            ["ridges", LogisticRegression()],
            "holds LogisticRegression(), which is no member of a regressor",
        ),
        (
            ["ridges", 1],
            "members=['ridges', 1] holds 1, which is no member of a regressor: choose",
        ),
        (
            ["ridges", None],
            "holds None, which is no member of a regressor: choose from ['ridges', ",
        ),
        ("trees", "The 'members' parameter of InformerRegressor must be"),
        (
            ["ridge"],
            "members=['ridge'] holds 'ridge', which is no member of a regressor: choose",
        ),
        (
            ["ridges", "trees", Ridge()],
            "has a member twice: each name once, and one regressor or",
        ),
        (["ridges", "ridges"], "members=['ridges', 'ridges'] has a member twice"),
        (
            ["trees", "network"],
            "members=['trees', 'network'] lacks 'ridges', with which all",
        ),
        (
            [],
            "members=[] lacks 'ridges', with which all others are combined: add it, or pass",
        ),
    ],
)
def test_members_that_cannot_be_are_refused(df, members, message):
    """Before anything is fitted."""
    with pytest.raises(ValueError, match=re.escape(message)):
        InformerRegressor("load", **with_parts(members=members, **P)).fit(df)


def test_a_loss_of_the_networks_needs_it(df):
    """One quantile is learnt by nobody else."""
    with pytest.raises(
        ValueError, match=r"lacks 'network', the only member that learns this loss"
    ):
        InformerRegressor("load", **with_parts(members=["ridges"], loss=0.9, **P)).fit(
            df
        )


@pytest.mark.slow
@pytest.mark.parametrize("n_rows", [40, 150, 1560])
def test_ridges_alone_train_nothing_and_forecast_as_beside_a_silent_network(df, n_rows):
    """Quickly, quietly, and with all that ridges know, such as the hour's maps."""
    model = InformerRegressor(
        "load", **with_parts(members=["ridges"], **P | {"d_model": 12})
    )
    with warnings.catch_warnings(action="error"):
        model.fit(df[:n_rows])
    assert (trust(model), len(model.history_)) == (0.0, 0)
    beside = InformerRegressor(
        "load", **with_parts(members=["ridges", "network"], **P)
    ).fit(df[:n_rows])
    beside.ensemble_ = beside.ensemble_.with_network_share(0.0)
    np.testing.assert_allclose(model.forecast(), beside.forecast(), rtol=1e-6)


# --- what it is judged by, and fitted to -------------------------------------------------------


def spied_fits(df, **parameters):
    """Give the rows of the first series that each fit saw, and the columns that it was told of."""
    fits = []
    fit = tabular.fit_tabular

    def spy(timeline, columns, **options):
        fits.append((int(timeline.first_row[1]), options["plain"]))
        return fit(timeline, columns, **options)

    with mock.patch.object(tabular, "fit_tabular", spy):
        members = ["classical", "ridges", Ridge(), "network"]
        InformerRegressor(
            "load", **with_parts(**{"members": members} | P | parameters)
        ).fit(df)
    return fits


@pytest.mark.slow
def test_it_is_judged_on_rows_that_it_was_not_fitted_to(df):
    """Then fitted to all; with early_stopping=True no forecaster has seen the last rows."""
    assert spied_fits(df[:600]) == [(540, None), (600, ())]
    assert spied_fits(df[:600], early_stopping=True) == [(540, None)]
    panel = pd.concat({"a": df[:300], "b": df[300:600]}, names=["site", "time"])
    both = spied_fits(panel, members=["ridges", Ridge()])
    assert both == [(270, None), (300, ())]  # series by series


def trees_of(members):
    fitted = members["trees"].fit.members
    return [len(member.regressor.regressor._predictors) for member in fitted]


@pytest.mark.slow
def test_fewer_trees_judge_than_forecast(fitted, df, monkeypatch):
    """Unless who is judged is who forecasts."""
    assert trees_of(fitted.ensemble_.members) == [300, 300]
    judged = judged_members(monkeypatch)
    InformerRegressor("load", **with_parts(**P)).fit(df[:1560])
    assert trees_of(judged) == [200, 200]
    stopped = InformerRegressor("load", **with_parts(early_stopping=True, **P)).fit(
        df[:1560]
    )
    assert trees_of(judged) == trees_of(stopped.ensemble_.members) == [300, 300]


def test_truths_that_were_missing_are_not_learnt(df):
    """Held values in their place would be."""
    runs = df[:1000].copy()
    runs.iloc[300:330] = np.nan
    seen = []
    fit = tabular.fit_tabular
    with mock.patch.object(
        tabular,
        "fit_tabular",
        lambda *a, **k: seen.append(k["missing"]) or fit(*a, **k),
    ):
        InformerRegressor(
            "load",
            **with_parts(members=["classical", "ridges", Ridge(), "network"], **P),
        ).fit(runs)
    assert np.flatnonzero(seen[0]).tolist() == list(range(300, 330))


@pytest.mark.slow
def test_each_step_ahead_has_its_own_share():
    """The last values tell the next one, and little of what comes after a day."""
    rng = np.random.default_rng(0)
    n = 6500  # twelve forecasts in the split
    noise = np.zeros(n)
    for t in range(1, n):
        noise[t] = 0.9 * noise[t - 1] + rng.normal()
    frame = weekly(n) + noise[:, None]
    model = InformerRegressor("load", **with_parts(**P | {"pred_len": 48})).fit(frame)
    share = model.ensemble_.weights_of("trees")[0, :, 0]
    assert share[0] < share[-1] - 0.1
    assert share.shape == (48,)
    assert np.abs(np.diff(share[6:])).max() < 0.15  # neighbours far ahead are alike


def test_a_regressor_that_errs_has_no_share(df):
    """And is not kept, nor fitted again."""

    class Wrong(Ridge):
        def predict(self, X):
            return 100 - super().predict(X)

    model = InformerRegressor(
        "load", **with_parts(members=["classical", "ridges", Wrong(), "network"], **P)
    ).fit(df[:1560])
    assert "Wrong" not in model.ensemble_.members
    assert base_blend(model).get("Wrong", 0) == 0


@pytest.mark.slow
def test_the_network_draws_fewer_windows_where_it_has_a_small_share(fitted, df):
    """What it costs goes by what it can bring; without a bound none is set."""
    drawn = {}
    train = "skinformer.estimators.fitting.train"
    for max_windows in (10_000, None):
        with (
            mock.patch(train, side_effect=KeyboardInterrupt) as spy,
            pytest.raises(KeyboardInterrupt),
        ):
            InformerRegressor("load", **with_parts(max_windows=max_windows, **P)).fit(
                df[:1560]
            )
        drawn[max_windows] = spy.call_args.kwargs["training"].n_drawn
        assert spy.call_args.kwargs["validation"].n_drawn == 156 - 6 + 1
    assert drawn[None] == 1560 - 156 - 24 - 6 + 1
    assert drawn[10_000] == 1000 < drawn[None]


# --- forecasts -------------------------------------------------------------------------------


def test_forecasts_look_back_further_than_the_window(fitted, df):
    """Four weeks of hours, which the history holds; X brings no more than a day."""
    assert fitted.ensemble_.look_back == 4 * 168 + 1
    later = df[1560:1590]
    together = fitted.predict(df)[1560:1590]
    np.testing.assert_allclose(fitted.predict(later), together, rtol=1e-6)


def test_a_forecast_depends_on_no_other_that_is_asked_for(fitted, df):
    """Nor on the order of rows."""
    later = df[1560:].copy()
    whole = fitted.predict(later)
    for part in (later[:7], later[7:9], later[::-1]):
        place = later.index.get_indexer(part.index)
        np.testing.assert_array_equal(
            fitted.predict(part)[place < 6], whole[place[place < 6]]
        )


@pytest.mark.filterwarnings("ignore:.* is taken as missing:UserWarning")
def test_no_forecast_changes_with_what_comes_after_its_origin(fitted, df):
    """Four weeks of lags must not make one of them a step of the future."""
    later = df[1560:1578].copy()
    before = fitted.predict(later)
    for row in range(18):
        changed = later.copy()
        changed.iloc[row] += 40
        after = fitted.predict(changed)
        block = row // 6 * 6 + 6
        np.testing.assert_array_equal(after[:block], before[:block])
        if block < 18:
            assert (after[block:] != before[block:]).any()


def test_rows_that_update_brings_are_looked_back_at(fitted, df):
    """`update` then `forecast` is `forecast` of the same rows, and of `predict`."""
    model = pickle.loads(pickle.dumps(fitted))
    later = df[1560:1584]
    told = model.forecast(later)
    np.testing.assert_allclose(model.update(later).forecast(), told, rtol=1e-6)
    rows = pd.concat([later, df[1584:1590] * np.nan])
    np.testing.assert_allclose(fitted.predict(rows)[-6:], told["load"], rtol=1e-6)


@pytest.mark.slow
def test_a_panel_shares_one_regressor(df):
    """Each series by what it proves; a new one by the panel's share."""
    parts = {
        name: weekly(400, seed) * 10.0**name for name, seed in ((0, 1), (1, 2), (2, 3))
    }
    panel = pd.concat(parts, names=["site", "time"])
    base = HistGradientBoostingRegressor(max_iter=20)
    model = InformerRegressor(
        "load", **with_parts(members=["classical", "ridges", base, "network"], **P)
    ).fit(panel)
    assert model.series_blend_["HistGradientBoostingRegressor"].max() > 0.2
    new = pd.concat({9: weekly(400, 9)[:300]}, names=["site", "time"])
    truth = weekly(400, 9)["load"][300:306]
    assert np.abs(model.forecast(new)["load"].to_numpy() - truth).mean() < 10


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:.* is (taken|replaced) :UserWarning")
def test_covariates_gaps_and_a_wild_value(df):
    """A gauge that once says 9831, gaps in the target: as good as without."""
    base = HistGradientBoostingRegressor(max_iter=20, learning_rate=0.3)
    rng = np.random.default_rng(1)
    rain = rng.exponential(size=len(df))
    frame = df.assign(load=df["load"] + 3 * rain, rain=rain)
    messy = frame.copy()
    messy.iloc[700, 1] = 9831.0
    messy.iloc[300:330, 0] = np.nan
    errors = []
    for rows in (frame, messy):
        model = InformerRegressor(
            "load",
            **with_parts(
                known_future=["rain"],
                members=["classical", "ridges", base, "network"],
                **P,
            ),
        ).fit(rows[:1560])
        errors.append(np.abs(model.predict(frame)[1560:] - frame["load"][1560:]).mean())
    assert errors[0] < 1.5  # the rain alone moves the load by 3
    assert errors[1] < 1.1 * errors[0] + 0.05


@pytest.mark.slow
def test_columns_that_tell_nothing_are_named(df):
    """Of noise the value at the step is enough."""
    long, rng = weekly(3000), np.random.default_rng(2)
    rain, noise = rng.exponential(size=(2, len(long)))
    frame = long.assign(load=long["load"] + 3 * rain, noise=noise, rain=rain)
    base = HistGradientBoostingRegressor(max_iter=30)
    model = InformerRegressor(
        "load",
        **with_parts(
            known_future=["noise", "rain"],
            members=["classical", "ridges", base, "network"],
            **P,
        ),
    ).fit(frame)
    assert weak_covariates(model) == ["noise"]
    without = InformerRegressor(
        "load", **with_parts(members=["classical", "ridges", "network"], **P)
    )
    assert weak_covariates(without.fit(df[:300])) == []


def weak_covariates(model):
    """Name the columns known ahead of which trees see no more than the value at the step."""
    members = model.ensemble_.members.values()
    plain = sorted({i for member in members for i in member.plain_columns})
    return [model.roles_.known[i] for i in plain]


def test_a_forecast_does_not_depend_on_later_rows_known_ahead():
    """`predict(X[:k])` is `predict(X)[:k]`: no feature reads a row after its step."""
    long, rng = weekly(1000), np.random.default_rng(3)
    price = rng.normal(size=len(long))
    frame = long.assign(load=long["load"] + 3 * price, price=price)
    base = HistGradientBoostingRegressor(max_iter=20)
    model = InformerRegressor(
        "load",
        **with_parts(
            known_future=["price"],
            members=["classical", "ridges", base, "network"],
            **P,
        ),
    ).fit(frame[:990])
    assert model.ensemble_.weights_of("HistGradientBoostingRegressor").max() > 0.5
    later = frame[990:].assign(load=np.nan)
    whole = model.predict(later)
    for stop in range(1, len(later)):
        np.testing.assert_array_equal(model.predict(later[:stop]), whole[:stop])


@pytest.mark.parametrize(("n", "n_series"), [(40, 1), (500, 1), (40, 2), (500, 2)])
def test_classical_forecasters_alone_forecast_series_of_any_length(n, n_series):
    """It is what they were asked for; beside others they leave long series to these."""
    t = np.arange(n)
    rows = pd.DataFrame({"load": 10 + np.sin(t / 4 * np.pi) + 0.01 * np.cos(t)})
    df = rows if n_series == 1 else pd.concat({"a": rows, "b": 2 * rows})
    model = InformerRegressor(
        "load", seq_len=16, pred_len=8, members=["classical"]
    ).fit(df)
    weights = {
        name: model.ensemble_.weights_of(name).mean()
        for name in model.ensemble_.members
    }
    assert weights == {"classical": 1.0, "network": 0.0}
    ahead = 10 + np.sin(np.arange(n, n + 8) / 4 * np.pi)
    error = np.abs(model.forecast()["load"][:8] - ahead).mean()
    assert error < np.abs(ahead - 10).mean()  # that of the mean
