"""Panels: several series under (series, time), and never a window across two of them."""

import warnings

import numpy as np
import pandas as pd
import pytest
from flat_parameters import with_parts

from skinformer import InformerRegressor
from skinformer.judging.cutoffs import cut_windows


@pytest.fixture(scope="module", params=["frame", "both", "features"])
def case(request, modes, panel):
    """Give the mode, the training panel, a longer one, and the fit."""
    df = panel()
    longer = panel(n=(75, 50, 40))
    return request.param, df, longer, modes.fit(request.param, df)


def test_no_training_window_crosses_a_border(small, panel):
    """A window of two series would teach a jump that never happens."""
    df = panel()
    estimator = small(target="load").fit(df)
    training, _ = cut_windows(estimator.timeline_, estimator.sizes_, None)
    origins = training.thinned(training.count)
    series = np.repeat([0, 1, 2], [60, 40, 25])
    windows = origins[:, None] + np.arange(-12, 4)
    assert windows.min() >= 0
    assert (series[windows] == series[origins][:, None]).all()
    assert len(origins) == (60 - 15) + (40 - 15) + (25 - 15)
    assert len(set(origins)) == len(origins)


def test_training_and_validation_windows_share_no_truth_in_any_series(small, panel):
    """What a series is judged by it must not have been trained on."""
    estimator = small(target="load").fit(panel(n=(60, 40, 60)))
    split = np.array([54, 90, 154])
    training, held_out = (
        part.thinned(part.count)
        for part in cut_windows(estimator.timeline_, estimator.sizes_, split)
    )
    series = np.repeat([0, 1, 2], [60, 40, 60])
    assert (training + 3 < split[series[training]]).all()
    assert (held_out >= split[series[held_out]]).all()
    assert set(series[held_out]) == {0, 1, 2}


def test_every_series_is_standardised_by_itself(small, panel):
    """A big series must not flatten a small one."""
    df = panel()
    estimator = small(target="load", early_stopping=False).fit(df)
    means = df.groupby("site")["load"].mean()
    np.testing.assert_allclose(estimator.scaler_.mean[:, 0], means, rtol=1e-9)
    flow = df.groupby("site")["flow"].std(ddof=0)
    at = [
        *estimator.roles_.targets,
        *estimator.roles_.past,
        *estimator.roles_.known,
    ].index("flow")
    np.testing.assert_allclose(estimator.scaler_.scale[:, at], flow, rtol=1e-9)


def test_series_of_a_panel_change_alike_in_their_units(small, panel):
    """In deviations a series that trends has next to no changes, and holds all sums."""
    df = panel(n=(60, 60, 60))[["load"]]
    of_b = df.index.get_level_values("site") == "b"
    df.loc[of_b, "load"] += 1e4 * np.arange(60)
    estimator = small(target="load", early_stopping=False).fit(df)
    changes = df.groupby("site")["load"].apply(lambda y: y.diff(24).abs().mean())
    ratio = changes / estimator.scaler_.scale[:, 0]
    assert ratio.max() < 1.3 * ratio.min()
    deviation = df.groupby("site")["load"].std(ddof=0)
    assert np.median(deviation / estimator.scaler_.scale[:, 0]) == pytest.approx(
        1, rel=1e-6
    )


@pytest.mark.filterwarnings("ignore:.* is (taken|replaced) :UserWarning")
def test_a_typing_error_is_no_unit(small, panel):
    """In units of a million everything else that a series does would be nothing."""
    df = panel(n=(60, 60, 60))[["load"]]
    wrong = df.copy()
    wrong.iloc[70, 0] *= 3
    clean, typed = (
        small(early_stopping=False).fit(rows).scaler_.scale[1, 0]
        for rows in (df, wrong)
    )
    assert typed < 2 * clean


def test_a_series_shorter_than_a_season_has_the_unit_of_its_changes(small, panel):
    """The panel's season makes of a change from row to row what it is over one."""
    t = np.arange(96)
    wave = (
        10 * np.sin(t * np.pi / 12) + np.random.default_rng(0).normal(size=96) + 0.5 * t
    )
    hours = pd.date_range("2024-01-01", periods=96, freq="h")
    whole = {
        name: pd.DataFrame({"load": wave * (1 + i)}, hours)
        for i, name in enumerate("abc")
    }
    short = pd.concat(whole | {"d": whole["a"][-20:]}, names=["site", "time"])
    scale = small(early_stopping=False).fit(short).scaler_.scale[:, 0]
    np.testing.assert_allclose(scale[:3] / scale[0], [1, 2, 3], rtol=1e-6)
    assert 0.5 < scale[3] / scale[0] < 2


def test_rows_of_the_tail_have_no_say_in_units(small, panel):
    """What a series is judged by would already stand in what it is judged in."""
    df = panel(n=(60, 60, 60))[["load"]]
    changed = df.copy()
    last = changed.groupby("site").cumcount(ascending=False) < 4
    level = df.groupby("site")["load"].transform("mean")[
        last
    ]  # a value far off is no truth
    factors = np.random.default_rng(0).uniform(0, 3, last.sum())
    changed.loc[last, "load"] = level + factors * (df.loc[last, "load"] - level)
    one, two = (small(early_stopping=True).fit(rows).scaler_ for rows in (df, changed))
    np.testing.assert_array_equal(one.scale, two.scale)


def test_every_series_is_forecast_at_its_own_level(case, modes):
    """Levels of 1e3, 1e5 and 1e7 must not mix."""
    mode, _, longer, estimator = case
    forecasts = pd.Series(estimator.predict(modes.X(mode, longer)), index=longer.index)
    for site, level in [("a", 1e3), ("b", 1e5), ("c", 1e7)]:
        np.testing.assert_allclose(forecasts[site], level, rtol=0.5)


@pytest.mark.filterwarnings("ignore:.* is (taken|replaced) :UserWarning")
def test_no_series_reaches_another(case, modes):
    """The forecasts of a series do not move with the values of the others."""
    mode, _, longer, estimator = case
    X = modes.X(mode, longer)
    before = pd.Series(estimator.predict(X), index=X.index)
    changed = X.copy()
    changed.loc["b"] = changed.loc["b"].to_numpy() * -3
    after = pd.Series(estimator.predict(changed), index=X.index)
    np.testing.assert_array_equal(after.drop("b"), before.drop("b"))
    if mode != "features":  # of features, what they are found to do may be nothing
        assert (after["b"] != before["b"]).any()
    alone = estimator.predict(X.loc[["a"]])
    np.testing.assert_array_equal(alone, before["a"])


@pytest.mark.filterwarnings("ignore:.* is taken as missing:UserWarning")
def test_no_target_reaches_its_own_block(case, modes):
    """Causality holds within every series, each with its own anchor."""
    mode, _, longer, estimator = case
    if mode == "features":
        return
    before = pd.Series(estimator.predict(longer), index=longer.index)
    for site, end, length in [("a", 60, 75), ("b", 40, 50), ("c", 25, 40)]:
        changed = longer.copy()
        row = longer.index.get_loc((site, longer.loc[site].index[end + 5]))
        changed.iloc[row, 2] *= 1.7
        after = pd.Series(estimator.predict(changed), index=longer.index)
        moved = np.flatnonzero((after[site] != before[site]).to_numpy())
        assert moved.min() == end + 8
        assert (after.drop(site) == before.drop(site)).all()
        assert moved.max() < length


def test_rows_may_come_in_any_order_and_selection(case, modes):
    """Labels place rows, in panels as in single series."""
    mode, df, longer, estimator = case
    X = modes.X(mode, longer)
    whole = estimator.predict(X)
    order = np.random.default_rng(0).permutation(len(X))
    np.testing.assert_array_equal(estimator.predict(X.iloc[order]), whole[order])
    inside = np.flatnonzero(longer.index.isin(df.index))
    rows = np.random.default_rng(1).choice(inside, 40, replace=False)
    np.testing.assert_array_equal(estimator.predict(X.iloc[rows]), whole[rows])


def test_rows_sorted_by_time_fit_as_rows_sorted_by_series(small, panel):
    """Both are how people keep panels."""
    df = panel(start=(0, 0, 0))
    by_time = df.sort_index(level="time", kind="stable")
    one, two = small(target="load").fit(df), small(target="load").fit(by_time)
    np.testing.assert_array_equal(
        pd.Series(two.predict(by_time), index=by_time.index).loc[df.index],
        one.predict(df),
    )


@pytest.mark.slow
def test_the_order_of_series_changes_no_forecast():
    """Which series an export writes first is nothing to learn from; all members speak."""
    hours = pd.date_range("2026-01-01", periods=200, freq="h")
    parts = {}
    for j, name in enumerate("abcd"):
        rng = np.random.default_rng(j)
        wave = 50 + 10 * j + 10 * np.sin(2 * np.pi * np.arange(200) / 24 + j)
        temp = rng.normal(size=200)
        load = wave + 2 * temp + rng.normal(size=200)
        parts[name] = pd.DataFrame({"temp": temp, "load": load}, index=hours)
    sizes = {"seq_len": 24, "pred_len": 6, "d_model": 16, "n_heads": 2, "max_iter": 1}
    forecasts = [
        InformerRegressor("load", **with_parts(random_state=0, **sizes))
        .fit(pd.concat({name: parts[name] for name in order}))
        .forecast()
        for order in ("abcd", "dbac")
    ]
    pd.testing.assert_frame_equal(*forecasts, rtol=1e-9)


def test_forecast_follows_the_end_of_each_series(small, panel):
    """Series that end on different days are forecast from different days."""
    df = panel()
    forecast = small().fit(df[["load"]]).forecast()
    assert forecast.index.names == ["site", "time"]
    for site, rows in df.groupby("site"):
        last = rows.index.get_level_values("time")[-1]
        expected = pd.date_range(last, periods=5, freq="h")[1:]
        assert list(forecast.loc[site].index) == list(expected)
    assert list(dict.fromkeys(forecast.index.get_level_values(0))) == ["a", "b", "c"]


def test_predicting_the_future_frame_is_forecasting(small, panel):
    """The two ways to the next steps agree for every series."""
    estimator = small().fit(panel()[["load"]])
    future = estimator.make_future_frame(6)
    forecast = estimator.forecast(horizon=6)
    pd.testing.assert_index_equal(future.index, forecast.index)
    np.testing.assert_array_equal(estimator.predict(future), forecast["load"])


def test_an_update_may_bring_rows_of_some_series(small, panel):
    """Not every sensor reports at once."""
    df = panel()[["load"]]
    later = panel(n=(66, 40, 28))[["load"]]
    new = later[~later.index.isin(df.index)]
    estimator = small().fit(df)
    untouched = estimator.forecast().loc["b"]
    estimator.update(new)
    forecast = estimator.forecast()
    assert forecast.loc["a"].index[0] == pd.Timestamp("2024-01-01") + pd.Timedelta(
        hours=66
    )
    assert forecast.loc["c"].index[0] == pd.Timestamp("2024-01-01") + pd.Timedelta(
        hours=33
    )
    pd.testing.assert_frame_equal(forecast.loc["b"], untouched)


# --- series that training did not hold -------------------------------------------------------


def unseen_rows(panel, n=40):
    rows = panel(n=(n, n, n), start=(0, 10, 20), seed=9).loc[["b"]]
    return rows.rename(index={"b": "new"}, level=0)


@pytest.fixture(scope="module")
def estimator(small, panel):
    """Give what was fitted to a panel; nothing that follows changes it."""
    return small(target="load").fit(panel())


def test_an_unseen_series_is_its_own_timeline(estimator, panel):
    """It brings its context, and its first rows are forecast from the training mean."""
    rows = unseen_rows(panel)
    before = estimator.predict(rows)
    assert np.isfinite(before).all()
    changed = rows.copy()
    changed.iloc[:4, 2] *= 1.1
    after = estimator.predict(changed)
    np.testing.assert_array_equal(after[:4], before[:4])
    bounded = (after[4:16] == 0) & (before[4:16] == 0)  # no series was below zero
    assert ((after[4:16] != before[4:16]) | bounded).all()
    assert not bounded.all()


def test_an_unseen_series_changes_no_other(estimator, panel):
    """A new sensor in X must not move the forecasts of the known ones."""
    known = panel(n=(75, 50, 40))
    together = pd.concat([known, unseen_rows(panel)])
    np.testing.assert_array_equal(
        estimator.predict(together)[: len(known)], estimator.predict(known)
    )
    np.testing.assert_array_equal(
        estimator.predict(together)[len(known) :], estimator.predict(unseen_rows(panel))
    )


def test_an_unseen_series_is_forecast_after_its_last_row(estimator, panel):
    """forecast(X) follows X's history for a series that fit never saw."""
    rows = unseen_rows(panel)
    forecast = estimator.forecast(rows)
    last = rows.index.get_level_values("time")[-1]
    assert list(forecast.loc["new"].index) == list(
        pd.date_range(last, periods=5, freq="h")[1:]
    )


def test_an_unseen_series_without_history_is_refused(estimator, panel):
    """Nothing is known of it; the training mean would pass for a forecast."""
    with pytest.raises(ValueError, match="nothing to forecast") as caught:
        estimator.predict(unseen_rows(panel).assign(load=np.nan))
    assert str(caught.value) == (
        "X has rows of series that fit did not see without an observed target: there is nothing "
        "to forecast them from. Add their targets, or drop these rows."
    )


def test_an_update_of_an_unseen_series_is_refused_by_name(estimator, panel):
    """There is no history to follow; fit is what takes in a new series."""
    with pytest.raises(ValueError, match="new"):
        estimator.update(unseen_rows(panel))


def test_an_unseen_series_without_history_is_refused_in_features_mode(modes, panel):
    """Features alone say nothing of a series whose target was never seen."""
    estimator = modes.fit("features", panel())
    with pytest.raises(ValueError, match="X does not contain the history of y"):
        estimator.predict(unseen_rows(panel).drop(columns="load"))


# --- shapes of panels ------------------------------------------------------------------------


def test_a_panel_of_one_series_forecasts_as_that_series_alone(small, panel):
    """A label in front of the time changes no number."""
    df = panel().loc[["a"]]
    one, two = small().fit(df), small().fit(df.loc["a"])
    np.testing.assert_array_equal(one.predict(df), two.predict(df.loc["a"]))


def test_a_series_too_short_for_a_window_is_forecast_all_the_same(small, panel):
    """New shops have little history; others teach the network."""
    df = panel(n=(60, 40, 3))
    with pytest.warns(UserWarning, match="series") as caught:
        estimator = small(target="load").fit(df)
    assert str(caught[0].message) == (
        "series ['c'] take no part in training: before the validation rows they have "
        "no window of seq_len=12 + pred_len=4 = 16 rows with an actual value to learn "
        "from. They are forecast with what was learnt from the other series."
    )
    assert np.isfinite(estimator.predict(df)).all()
    assert len(estimator.forecast()) == 12


@pytest.mark.filterwarnings("ignore:series .* take no part in training:UserWarning")
@pytest.mark.filterwarnings("ignore:X ends with .* without an actual value:UserWarning")
def test_a_closed_series_and_a_new_one_do_not_stop_a_fit(small, panel):
    """The only series with windows ends in missing values: validation lies before them."""
    df = panel(n=(90, 10, 5)).loc[["a", "b"]]
    df.iloc[60:90, 2] = np.nan
    estimator = small(target="load").fit(df)
    assert np.isfinite(estimator.history_["validation_loss"]).all()
    assert len(estimator.forecast()) == 8
    one = small(target="load").fit(df.loc["a"])
    assert np.isfinite(one.history_["validation_loss"]).all()


@pytest.mark.slow
@pytest.mark.parametrize(
    "kind", ["days", "business days", "month ends", "monthly periods", "ints"]
)
def test_panels_run_on_any_clock(small, frame, kind):
    """Two levels of labels, whatever the second one counts."""
    n = 60
    index = {
        "days": pd.date_range("2024-01-01", periods=n, freq="D", tz="Europe/Berlin"),
        "business days": pd.date_range("2024-01-01", periods=n, freq="B"),
        "month ends": pd.date_range("2015-01-31", periods=n, freq="ME"),
        "monthly periods": pd.period_range("2015-01", periods=n, freq="M"),
        "ints": pd.RangeIndex(n),
    }[kind]
    df = pd.concat({7: frame(index[:50]), 3: frame(index[10:40])}, names=["shop", "t"])[
        ["load"]
    ]
    forecast = small().fit(df).forecast(horizon=6)
    assert list(forecast.loc[7].index) == list(index[50:56])
    assert list(forecast.loc[3].index) == list(index[40:46])


@pytest.mark.slow
def test_series_may_be_named_by_categories(small, panel):
    """Groupby keys are often categorical."""
    df = panel()
    sites = pd.CategoricalIndex(
        df.index.get_level_values(0), categories=["c", "b", "a", "none"]
    )
    labelled = df.set_axis(
        pd.MultiIndex.from_arrays(
            [sites, df.index.get_level_values(1)], names=df.index.names
        )
    )
    one, two = small().fit(df), small().fit(labelled)
    np.testing.assert_array_equal(one.predict(df), two.predict(labelled))


def test_a_hole_in_one_series_is_named(small, panel):
    """A gap is a gap in a panel, too; borders between series are none."""
    df = panel()
    with pytest.warns(
        UserWarning,
        match=r"^there are no rows for 1 time step .frequency 'h'., the first 2024-01-02 16:00:00",
    ):
        small().fit(df.drop(df.index[70]))


def test_one_label_in_two_series_is_no_duplicate_but_twice_in_one_is(small, panel):
    """Series share their hours."""
    df = panel()
    with pytest.raises(
        ValueError, match=r"holds 1 duplicated timestamp, the first \('b', "
    ):
        small().fit(pd.concat([df, df.iloc[[70]]]))


def test_missing_targets_are_filled_within_their_series(small, panel):
    """The first row of a series must not be filled by the last of another."""
    df = panel()
    runs = df.copy()
    runs.iloc[60:63, 2] = np.nan
    estimator = small(target="load").fit(runs)
    np.testing.assert_array_equal(estimator.timeline_.values[60:63, 0], 0.0)


def test_the_affine_link_holds_for_a_panel(modes, small, panel):
    """A scaler in a Pipeline sees all series as one column."""
    df = panel(level=1000.0)
    scaled = df.assign(load=(df["load"] - 17) / 300)
    one = small(target="load").fit(scaled, df["load"])
    two = small(target="load").fit(df, df["load"])
    np.testing.assert_allclose(one.predict(scaled), two.predict(df), rtol=1e-3)


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:series .* take no part in training:UserWarning")
@pytest.mark.parametrize("n_known", [1, 6, 9])
def test_rows_without_a_truth_before_a_series_begins_change_nothing(n_known):
    """A pivoted table has them for new products: they were forecast at the level of the others."""
    rng = np.random.default_rng(0)
    months = pd.date_range("2020-01-01", periods=60, freq="MS")
    parts = {
        f"s{i}": pd.Series(100 + 3 * rng.normal(size=60), months) for i in range(8)
    }
    late = pd.Series(5000 * (1 + 0.03 * rng.normal(size=n_known)), months[-n_known:])
    found = []
    for series in (late, late.reindex(months)):
        panel = pd.concat(parts | {"late": series}, names=["shop", "month"]).to_frame(
            "y"
        )
        model = InformerRegressor("y", seq_len=6, pred_len=3, random_state=0).fit(panel)
        found.append(model.forecast().loc["late", "y"])
        assert found[-1].between(4500, 5500).all()
    np.testing.assert_allclose(*found, rtol=0.02)


@pytest.mark.slow
@pytest.mark.parametrize("factor", [1e6, 1e9, 1e13])
def test_a_small_series_below_zero_beside_a_large_one_stays_there(factor):
    """Below the rounding of another series it was taken for zero, and bounded by it."""
    rng = np.random.default_rng(0)
    months = pd.date_range("2020-01-01", periods=40, freq="MS")
    parts = {
        "small": -0.5 + 0.01 * rng.normal(size=40),
        "large": factor * (100 + rng.random(40)),
    }
    panel = pd.concat(
        {k: pd.Series(v, months) for k, v in parts.items()}, names=["shop", "month"]
    )
    model = InformerRegressor("y", seq_len=12, pred_len=3, random_state=0).fit(
        panel.to_frame("y")
    )
    assert model.forecast().loc["small", "y"].between(-0.55, -0.45).all()


@pytest.mark.filterwarnings("ignore:series .* take no part in training:UserWarning")
def test_the_last_series_may_have_no_row_before_the_split():
    """Its place among the others decided whether there were intervals."""
    parts = {f"s{i}": np.arange(n) % 5 + 100.0 for i, n in enumerate((36, 36, 36, 1))}
    months = pd.date_range("2020-01-01", periods=36, freq="MS")
    panel = {k: pd.Series(v, months[: len(v)]) for k, v in parts.items()}
    panel = pd.concat(panel, names=["shop", "month"]).to_frame("y")
    model = InformerRegressor("y", seq_len=24, pred_len=12, random_state=0).fit(panel)
    assert np.isfinite(model.forecast(coverage=0.8)).all(axis=None)


@pytest.mark.slow
def test_a_series_of_which_nothing_is_known_is_forecast_as_others_are():
    """Nor does it take anything from them, such as the limit of their logarithms."""
    months = pd.date_range("2020-01-01", periods=40, freq="MS")
    y = 50 + np.random.default_rng(0).normal(size=40)
    unknown = pd.Series(np.nan, months)
    for sign, scale in ((1, "log"), (-1, None)):
        panel = {
            "a": pd.Series(sign * y, months),
            "b": unknown,
            "c": pd.Series(sign * y, months),
        }
        df = pd.concat(panel, names=["shop", "month"]).to_frame("y")
        model = InformerRegressor(
            "y", seq_len=6, pred_len=3, target_transform=scale, random_state=0
        )
        with warnings.catch_warnings(action="ignore", category=UserWarning):
            forecast = model.fit(df).forecast()["y"]
        assert (sign * forecast).between(40, 60).all()
        if scale == "log":
            assert np.isfinite(model.scaler_.targets.rise[[0, 2]]).all()


@pytest.mark.filterwarnings("ignore:.* is (taken|replaced) :UserWarning")
def test_an_outlier_two_rows_after_the_first_season_is_quiet():
    """The only change of seasonal rises was missing; NumPy warned of it."""
    y = 100 + np.random.default_rng(0).normal(size=14)
    y[13] = 1e6
    df = pd.DataFrame({"y": y}, pd.date_range("2020-01-01", periods=14, freq="MS"))
    model = InformerRegressor("y", seq_len=6, pred_len=3, random_state=0).fit(df)
    assert model.forecast()["y"].between(90, 110).all()


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:series .* take no part in training:UserWarning")
def test_a_late_series_rises_on():
    """Its mean in front of its rows would bend the trend."""
    rng = np.random.default_rng(0)
    months = pd.date_range("2016-01-01", periods=100, freq="MS")
    parts = {
        f"s{i}": pd.Series(100 + 3 * rng.normal(size=100), months) for i in range(8)
    }
    rising = pd.Series(
        5000 * (1 + 0.05 * np.arange(12) + 0.01 * rng.normal(size=12)), months[-12:]
    )
    panel = pd.concat(parts | {"late": rising.reindex(months)}, names=["shop", "month"])
    model = InformerRegressor("y", seq_len=24, pred_len=3, random_state=0).fit(
        panel.to_frame("y")
    )
    assert model.forecast().loc["late", "y"].mean() > 1.03 * rising.iloc[-1]


@pytest.mark.filterwarnings("ignore:series .* take no part in training:UserWarning")
def test_a_late_series_has_a_size_of_its_own():
    """In the units of others, a million times as large, nothing would be left of it."""
    rng = np.random.default_rng(0)
    months = pd.date_range("2020-01-01", periods=60, freq="MS")
    parts = {
        name: pd.Series(1e6 * (100 + rng.normal(size=60)), months) for name in "ac"
    }
    late = pd.Series(50 + rng.normal(size=3), months[-3:]).reindex(months)
    panel = pd.concat(parts | {"b": late}, names=["shop", "month"]).to_frame("y")
    model = InformerRegressor("y", seq_len=6, pred_len=3, random_state=0).fit(panel)
    assert model.forecast().loc["b", "y"].between(45, 55).all()
