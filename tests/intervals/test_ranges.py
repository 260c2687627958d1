"""Intervals, quantiles and paths: in the truth's units, calibrated, from the past alone."""

import copy
import pickle
import re
import warnings
from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.ensemble import RandomForestRegressor
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer, StandardScaler

from skinformer import InformerRegressor, load
from skinformer.ensemble.classical import Classical
from skinformer.ensemble.ensemble import EnsembleForecaster
from skinformer.ensemble.ridges import Ridges
from skinformer.evaluation import interval_coverage
from skinformer.intervals import calibration, changes
from skinformer.intervals.errors import proved_errors
from skinformer.intervals.windows import CalibrationWindows, choose_far_windows

LEVELS = [0.05, 0.5, 0.95]

pytestmark = pytest.mark.filterwarnings(
    "ignore:parameters of the network:UserWarning",
    "ignore:series .* take no part:UserWarning",
)


def hourly(n, *, seed=0, spread=1.0, walk=False):
    """Make a daily wave with noise, or a random walk."""
    noise = np.random.default_rng(seed).normal(size=n) * spread
    hours = pd.date_range("2024-01-01", periods=n, freq="h")
    wave = 10 * np.sin(hours.hour.to_numpy() * np.pi / 12)
    return pd.DataFrame(
        {"load": 50 + (noise.cumsum() if walk else wave + noise)}, index=hours
    )


@pytest.fixture(scope="module")
def rows():
    return hourly(900)


@pytest.fixture
def model(rows, small):
    return small(seq_len=24, pred_len=6).fit(rows[:600])


@pytest.mark.slow
def test_intervals_cover_what_they_are_asked_to(model, rows):
    """The point of it all; here every error has the same law."""
    for coverage in (0.5, 0.8, 0.95):
        interval = model.predict_interval(rows[600:], coverage)
        assert interval.shape == (300, 2)
        reached = interval_coverage(rows["load"][600:], interval)
        assert reached == pytest.approx(coverage, abs=0.07)


def test_the_points_are_those_of_predict_and_forecast(model, rows):
    """Whoever asks for ranges must not get another forecast."""
    forecast = model.forecast(coverage=0.8)
    assert list(forecast) == ["load", "load_0.1", "load_0.9"]
    pd.testing.assert_frame_equal(forecast[["load"]], model.forecast())
    future = model.make_future_frame()
    np.testing.assert_array_equal(
        forecast[["load_0.1", "load_0.9"]], model.predict_interval(future, 0.8)
    )
    by_level = model.forecast(horizon=9, levels=[0.9, 0.1])
    assert list(by_level) == ["load", "load_0.9", "load_0.1"]
    assert (by_level["load_0.9"] > by_level["load_0.1"]).all()


def test_the_order_of_rows_does_not_matter(model, rows):
    """A row's range belongs to its time, as its forecast does."""
    later = rows[600:660]
    shuffled = later.sample(frac=1, random_state=0)
    found = pd.Series(model.predict_quantiles(shuffled, [0.9])[:, 0], shuffled.index)
    np.testing.assert_array_equal(
        found[later.index], model.predict_quantiles(later, [0.9])[:, 0]
    )


@pytest.mark.filterwarnings("ignore:.* is (taken|replaced) :UserWarning")
def test_later_rows_change_no_range(model, rows):
    """Errors are looked at up to the origin and no further."""
    later = rows[600:642].copy()
    before = model.predict_quantiles(later, LEVELS)
    later.iloc[24:] = 1e4
    np.testing.assert_array_equal(
        model.predict_quantiles(later, LEVELS)[:30], before[:30]
    )
    assert not np.array_equal(model.predict_quantiles(later, LEVELS)[30:], before[30:])


def test_rows_of_x_tell_the_same_as_update(model, rows):
    """What X brings before a block, and what update brought, is the same past."""
    by_rows = model.predict_quantiles(rows[600:630], LEVELS)[24:]
    model.update(rows[600:624])
    by_update = model.predict_quantiles(rows[624:630], LEVELS)
    np.testing.assert_allclose(by_rows, by_update, rtol=1e-6)


def test_ranges_widen_as_update_brings_wilder_times(small):
    """An interval that was right last month covers half of this one's truth."""
    rows = hourly(1400)
    outliers = rows.copy()
    noise = np.random.default_rng(3).normal(size=500) * 4
    outliers.iloc[900:, 0] = rows["load"].iloc[900:] + noise
    model = small(seq_len=24, pred_len=6).fit(rows[:900])
    truth = outliers["load"][1100:]
    static = np.diff(model.predict_interval(rows[900:], 0.8)).mean()
    adapted = model.predict_interval(outliers[900:], 0.8)[200:]
    assert np.diff(adapted).mean() > 2.5 * static
    assert interval_coverage(truth, adapted) == pytest.approx(0.8, abs=0.07)


def test_one_shock_does_not_widen_ranges_for_long(model, rows):
    """A level shift spoils some forecasts, then they are as good as before."""
    shifted = rows[600:].copy()
    shifted.iloc[60:] += 40
    width = np.diff(model.predict_interval(shifted, 0.8))[:, 0]
    plain = np.diff(model.predict_interval(rows[600:], 0.8))[:, 0]
    assert width[66:90].mean() > 1.1 * plain[66:90].mean()
    np.testing.assert_allclose(width[-60:].mean(), plain[-60:].mean(), rtol=0.1)


def test_windows_of_several_forecasts_begin_apart_and_are_as_long_as_there_are_six(
    small,
):
    """Those between them took two fifths of the time of a fit, and told hardly more."""
    model = small(seq_len=24, pred_len=12, members=["ridges"]).fit(hourly(160))
    origins, horizon = choose_far_windows(model._forecaster, 13, None)
    assert horizon == 48
    assert len(origins) >= 6
    assert np.diff(np.sort(origins)).min() == 13
    assert origins.max() + horizon <= 160
    model = small(seq_len=24, pred_len=12, members=["ridges"]).fit(hourly(120))
    origins, horizon = choose_far_windows(model._forecaster, 13, None)
    assert (len(origins), horizon) == (6, 24)
    model = small(seq_len=24, pred_len=12, members=["ridges"]).fit(hourly(100))
    origins, _ = choose_far_windows(model._forecaster, 13, None)
    assert not len(origins)


def test_ranges_grow_with_the_distance_from_the_last_truth(small):
    """A random walk is as uncertain as its steps are many, also beyond one forecast."""
    rows = hourly(900, walk=True)
    model = small(seq_len=24, pred_len=6, calendar=None).fit(rows)
    far = np.diff(model.forecast(horizon=48, coverage=0.8)[["load_0.1", "load_0.9"]])[
        :, 0
    ]
    assert far[3] > 1.3 * far[0]
    assert far[20] > 1.2 * far[5]
    assert far[46] > 1.1 * far[20]
    holed = model.make_future_frame(18)
    np.testing.assert_allclose(
        np.diff(model.predict_interval(holed, 0.8))[:, 0], far[:18]
    )


def test_rows_that_are_missing_before_a_block_widen_it(small):
    """The context of later blocks holds forecasts there: their age counts."""
    rows = hourly(900, walk=True)
    model = small(seq_len=24, pred_len=6, calendar=None).fit(rows[:800])
    holed = rows[800:818].copy()
    full = np.diff(model.predict_interval(holed, 0.8))[:, 0]
    holed.iloc[6:12] = np.nan
    missing = np.diff(model.predict_interval(holed, 0.8))[:, 0]
    np.testing.assert_allclose(missing[:12], full[:12])
    assert (missing[12:] > 1.1 * full[12:]).all()


@pytest.mark.parametrize("target_transform", [None, "log"])
def test_counts_have_no_range_below_zero(small, target_transform):
    """A shop cannot sell less than nothing."""
    rng = np.random.default_rng(0)
    hours = pd.date_range("2024-01-01", periods=300, freq="h")
    counts = rng.poisson(1.2, size=300) + (target_transform == "log")
    df = pd.DataFrame({"sales": counts.astype(float)}, hours)
    model = small(seq_len=24, pred_len=6, target_transform=target_transform).fit(df)
    low = model.forecast(levels=[0.001, 0.5, 0.999])
    assert (low["sales_0.001"] >= 0).all()
    assert (low["sales_0.999"] > low["sales_0.5"]).all()


def test_quantiles_of_logarithms_are_no_means(small):
    """Forecasts of means are raised; a median that was raised too would cover too little below."""
    rng = np.random.default_rng(0)
    hours = pd.date_range("2024-01-01", periods=1200, freq="h")
    df = pd.DataFrame({"load": np.exp(rng.normal(size=1200))}, hours)
    model = small(seq_len=24, pred_len=6, target_transform="log").fit(df[:900])
    quantiles = model.predict_quantiles(df[900:], [0.5, 0.9])
    below = (df["load"].to_numpy()[900:, None] < quantiles).mean(axis=0)
    assert below == pytest.approx([0.5, 0.9], abs=0.08)
    assert model.predict(df[900:]).mean() > 1.2 * quantiles[:, 0].mean()


def test_a_transformer_that_falls_turns_no_level_round(small, rows):
    """The 95th percentile of minus y is minus the fifth of y."""
    skewed = rows.copy()
    skewed["load"] = 50 + np.random.default_rng(0).exponential(size=900)
    turned = FunctionTransformer(np.negative, np.negative)
    model = small(seq_len=24, pred_len=6, target_transform=turned).fit(skewed[:600])
    plain = small(seq_len=24, pred_len=6, target_transform=None).fit(skewed[:600])
    for level in (0.1, 0.9):
        a, b = (
            m.predict_quantiles(skewed[600:], [level]).mean() for m in (model, plain)
        )
        assert a == pytest.approx(b, abs=0.15)


def test_nothing_crosses_and_levels_come_in_their_order(model, rows):
    """In 10,000 pairs of levels at random."""
    rng = np.random.default_rng(0)
    levels = np.unique(rng.random(200))
    rng.shuffle(levels)
    quantiles = model.predict_quantiles(rows[600:660], levels)
    ordered = quantiles[:, np.argsort(levels)]
    assert (np.diff(ordered, axis=1) >= 0).all()
    assert quantiles.shape == (60, len(levels))


def test_several_targets_have_an_axis_of_their_own(small, frame):
    """Each target has errors of its own size."""
    df = frame(300)
    model = small(target=["flow", "load"], seq_len=12).fit(df[:200])
    interval = model.predict_interval(df[200:], 0.8)
    assert interval.shape == (100, 2, 2)
    widths = np.diff(interval)[..., 0].mean(axis=0)
    assert widths[1] > 3 * widths[0]
    assert list(model.forecast(coverage=0.8)) == [
        "flow", "flow_0.1", "flow_0.9", "load", "load_0.1", "load_0.9",
    ]  # fmt: skip
    quantiles = model.forecast(levels=LEVELS).to_numpy()[:, [1, 2, 3, 5, 6, 7]]
    np.testing.assert_array_equal(
        quantiles.reshape(-1, 2, 3),
        model.predict_quantiles(model.make_future_frame(), LEVELS),
    )
    paths = model.sample(7, horizon=3, random_state=0)
    assert paths.shape == (3, 14)
    assert paths.columns[8] == ("load", 1)
    single = small(target=["load"]).fit(df[:200])
    assert single.predict_interval(df[200:]).shape == (100, 1, 2)


@pytest.mark.slow
def test_series_of_a_panel_have_ranges_in_their_own_units(small, panel):
    """Pooled where series are short, and each in its own size; new series have ranges, too."""
    df = panel(n=(90, 80, 85))
    model = small(target="load").fit(df)
    width = model.forecast(coverage=0.8).diff(axis=1)["load_0.9"].groupby("site").mean()
    assert width["c"] > 20 * width["a"]
    new = pd.concat({"d": df.loc["a"]}, names=["site", "time"])
    found = model.forecast(new, coverage=0.8)
    assert (found["load_0.9"] > found["load_0.1"]).all()


def test_features_alone_are_enough(modes, frame):
    """In features mode the history of later blocks is the model's own forecasts."""
    df = frame(200)
    model = modes.fit("features", df[:150])
    interval = model.predict_interval(modes.X("features", df)[150:], 0.9)
    assert interval_coverage(df["load"][150:], interval) > 0.5


def test_units_are_those_of_y_through_a_pipeline(small, rows):
    """A Pipeline has no predict_interval; its last step has."""
    scaler = StandardScaler().set_output(transform="pandas")
    pipeline = make_pipeline(scaler, small(target="load", seq_len=24, pred_len=6))
    pipeline.fit(rows[:600], rows["load"][:600])
    shown = pipeline[:-1].transform(rows[600:])
    interval = pipeline[-1].predict_interval(shown, 0.8)
    assert interval_coverage(rows["load"][600:], interval) == pytest.approx(
        0.8, abs=0.08
    )
    quantiles = pipeline[-1].predict_quantiles(shown, [0.1, 0.9])
    np.testing.assert_allclose(quantiles, interval)


@pytest.mark.filterwarnings("ignore:X ends with .* without an actual value:UserWarning")
def test_missing_truths_do_no_harm(small, rows):
    """Neither in the history nor in later rows."""
    holed = rows.copy()
    holed.iloc[::7] = np.nan
    holed.iloc[590:600] = np.nan
    model = small(seq_len=24, pred_len=6).fit(holed[:600])
    interval = model.predict_interval(holed[600:], 0.8)
    assert np.isfinite(interval).all()
    assert interval_coverage(holed["load"][600:], interval) == pytest.approx(
        0.8, abs=0.1
    )


def test_what_fills_a_gap_needs_no_size(model, rows, monkeypatch):
    """Sizes need the forecasts of some 24 earlier windows, which a gap is filled without."""
    asked = rows[600:640].copy()
    whole = count_windows(model, asked, monkeypatch)
    asked.iloc[1:3] = np.nan  # inside of the first block: filled from its own first row
    assert count_windows(model, asked, monkeypatch) == whole + 1


def count_windows(model, asked, monkeypatch):
    """Count the windows that members forecast for the last interval of some rows."""
    model.predict_interval(asked)  # intervals are calibrated once
    n_windows = 0
    forecast = EnsembleForecaster.__call__

    def count(self, rows, origins):
        nonlocal n_windows
        n_windows += len(origins)
        return forecast(self, rows, origins)

    with monkeypatch.context() as watched:
        watched.setattr(EnsembleForecaster, "__call__", count)
        model.predict_interval(asked)
    return n_windows


def test_ranges_are_those_of_the_fit_whenever_they_are_asked_for(model, rows):
    """What update brought before somebody asked must not calibrate them."""
    requested = copy.deepcopy(model)
    early = requested.intervals_
    requested.forecast(horizon=7, coverage=0.8)
    far = requested.intervals_.far
    late = model.update(rows[600:700]).intervals_
    np.testing.assert_array_equal(early.residuals.errors, late.residuals.errors)
    np.testing.assert_array_equal(early.spread.typical, late.spread.typical)
    model.forecast(horizon=7, coverage=0.8)
    np.testing.assert_array_equal(far, model.intervals_.far)
    again = pickle.loads(pickle.dumps(model))
    np.testing.assert_array_equal(
        again.predict_interval(rows[700:]), model.predict_interval(rows[700:])
    )


def test_nobody_pays_who_does_not_ask(small, rows, monkeypatch):
    """A search fits a hundred models of which none is asked; a second question costs nothing."""
    calls = []
    found = calibration.calibrate

    def count(*args, **options):
        calls.append(1)
        return found(*args, **options)

    monkeypatch.setattr(calibration, "calibrate", count)
    model = small(seq_len=24, pred_len=6).fit(rows[:300])
    model.predict(rows[300:320])
    model.forecast()
    model.update(rows[300:301])
    assert calls == []
    model.predict_interval(rows[301:320])
    model.forecast(coverage=0.5)
    assert calls == [1]
    model.fit(rows[:400])
    model.forecast(coverage=0.5)
    assert calls == [1, 1]


def test_a_refit_that_learns_the_last_rows_makes_ranges_no_narrower(small, panel):
    """Classical forecasters choose by a series' end, so that its errors there are too small."""
    df = panel(n=(60, 60, 60), start=(0, 0, 0))
    model = small(target="load", seq_len=40).fit(df)
    assert "classical" in model.ensemble_.members
    assert model.intervals_.optimism[0] > 1.01


def test_what_forecasts_alone_is_proved_on_rows_that_it_was_not_fitted_to(
    small, panel, monkeypatch
):
    """What has seen the truth says nothing of errors."""
    df = panel(n=(60, 60, 60), start=(0, 0, 0))
    model = small(target="load", seq_len=40).fit(df)
    seen = []
    fit = Classical.from_timeline

    def spy(timeline, *args, **kwargs):
        seen.append(np.diff(timeline.first_row))
        return fit(timeline, *args, **kwargs)

    monkeypatch.setattr(Classical, "from_timeline", staticmethod(spy))
    forecaster, proved = asked(model, monkeypatch)
    origins = proved.origins - forecaster.history.first_row[[0, 1, 2]]
    np.testing.assert_array_equal(seen[0], origins)


def test_trees_that_know_their_rows_by_heart_make_ranges_no_narrower(small, frame):
    """A tree grown to its leaves has no error on the rows that it was fitted to."""
    df = frame(900)
    noise = 5 * np.random.default_rng(1).normal(size=900)
    df["load"] = 30 * (df["price"] - 20).abs() + noise  # which no ridge finds
    tree = RandomForestRegressor(10, random_state=0)
    model = small(
        target="load",
        known_future=["price"],
        members=["classical", "ridges", tree, "network"],
    ).fit(df[:600])
    assert model.ensemble_.weights_of("RandomForestRegressor").max() > 0.5
    assert model.intervals_.optimism[0] > 1.3
    assert (
        interval_coverage(df["load"][600:], model.predict_interval(df[600:], 0.8)) > 0.7
    )


def test_a_network_alone_is_judged_by_rows_that_it_was_not_trained_on(small, rows):
    """It may know the others by heart."""
    model = small(seq_len=24, pred_len=6, members=["network"]).fit(rows[:600])
    windows = len(model.intervals_.residuals.errors)
    assert windows < 100
    assert (
        interval_coverage(rows["load"][600:], model.predict_interval(rows[600:], 0.8))
        > 0.75
    )


def test_calibration_warns_of_nothing(small, frame):
    """It forecasts far ahead, where past-only columns are held; nobody asked for that."""
    df = frame(400)
    model = small(target="load").fit(df)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        model.forecast(coverage=0.9)


def test_paths_go_on_together(small):
    """Sums over a day have the spread of a random walk's, not of independent steps."""
    rows = hourly(900, walk=True)
    model = small(seq_len=24, pred_len=6, calendar=None).fit(rows)
    paths = model.sample(400, random_state=0)
    assert list(paths.columns) == list(range(400))
    pd.testing.assert_index_equal(paths.index, model.forecast().index)
    apart = paths.sub(paths.mean(axis=1), axis=0)
    together = apart.sum().std()
    independent = np.sqrt((apart.std(axis=1) ** 2).sum())
    assert together > 1.8 * independent
    pd.testing.assert_frame_equal(paths, model.sample(400, random_state=0))
    assert not paths.equals(model.sample(400, random_state=1))


def test_paths_have_the_quantiles_of_their_rows(model):
    """One law, asked in two ways; also beyond one forecast."""
    paths = model.sample(2000, horizon=15, random_state=0)
    levels = model.forecast(horizon=15, levels=[0.1, 0.5, 0.9]).to_numpy()[:, 1:]
    found = paths.quantile([0.1, 0.5, 0.9], axis=1).T.to_numpy()
    width = levels[:, 2] - levels[:, 0]
    assert np.abs(found - levels).max() < 0.25 * width.max()
    assert not np.allclose(paths.to_numpy()[0] - paths.to_numpy()[0].mean(),
                           paths.to_numpy()[6] - paths.to_numpy()[6].mean())  # fmt: skip


def test_series_that_share_nothing_are_drawn_independently(small, panel):
    """Two shops that share nothing: the same errors would double the spread of their sum."""
    df = panel(n=(90, 90, 90), start=(0, 0, 0))
    paths = small(target="load").fit(df).sample(300, random_state=0)
    first = paths.groupby("site").first()
    assert abs(np.corrcoef(first.loc["a"], first.loc["b"])[0, 1]) < 0.4


def test_sums_over_series_that_share_their_days_are_as_unsure(small):
    """Drawn one by one, errors of twenty shops would level out, and a total be too sure."""
    rng = np.random.default_rng(0)
    days = pd.date_range("2024-01-01", periods=120, name="day")
    shared = rng.normal(size=120)
    shops = {f"s{i}": 50 + 3 * shared + rng.normal(size=120) for i in range(20)}
    ends = {name: pd.DataFrame({"y": y[: 120 - i]}, days[: 120 - i])
            for i, (name, y) in enumerate(shops.items())}  # fmt: skip
    model = small(target="y", seq_len=14, pred_len=7, members=["ridges"])
    model.fit(pd.concat(ends, names=["shop", "day"]))
    paths = model.sample(300, random_state=0)
    first = paths.groupby("shop").first()
    assert first.sum().std() > 0.75 * first.std(axis=1).sum()
    mean, point = paths.mean(axis=1).groupby("shop").sum(), model.forecast()["y"]
    np.testing.assert_allclose(mean, point.groupby("shop").sum(), rtol=0.02)


def test_column_names_of_tuples_keep_their_levels(small, rows):
    """Columns of two levels stay such."""
    names = pd.MultiIndex.from_tuples([("north", "load")], names=["site", "what"])
    df = pd.DataFrame(rows[:200].to_numpy(), rows.index[:200], names)
    found = small(target=[("north", "load")]).fit(df).forecast(levels=[0.5]).columns
    assert found.tolist() == [("north", "load"), ("north", "load_0.5")]
    assert found.names == ["site", "what"]


def test_several_coverages_are_one_call(model):
    """As the picture takes them: all bounds, ascending, each once."""
    found = model.forecast(coverage=(0.8, 0.5, 0.8))
    assert list(found) == ["load", "load_0.1", "load_0.25", "load_0.75", "load_0.9"]
    np.testing.assert_array_equal(found, model.forecast(levels=[0.1, 0.25, 0.75, 0.9]))


def test_no_quantile_has_the_name_of_a_target(small, frame):
    """Two columns of one name cannot be told apart."""
    df = frame(120)[["load", "flow"]].set_axis(["load", "load_0.1"], axis=1)
    found = small(target=list(df), members=["ridges"]).fit(df).forecast(coverage=0.8)
    assert list(found) == [
        "load", "load__0.1", "load__0.9", "load_0.1", "load_0.1__0.1", "load_0.1__0.9",
    ]  # fmt: skip


@pytest.mark.slow
@pytest.mark.parametrize(
    ("call", "message"),
    [
        (
            lambda model, rows: model.forecast(coverage=[]),
            "levels of coverage=[] must be a list of numbers between 0 and 1, each once, such as "
            "[0.1, 0.5, 0.9].",
        ),
        (
            lambda model, rows: model.forecast(coverage=0.9, levels=[0.5]),
            "coverage=0.9 and levels=[0.5] ask for quantiles twice: pass one of them; a coverage "
            "of 0.9 is levels=[0.05, 0.95].",
        ),
        (
            lambda model, rows: model.predict_interval(rows, 95),
            "coverage=95 must be a number between 0 and 1: the share of actual values that "
            "should lie inside, such as 0.9.",
        ),
        (
            lambda model, rows: model.predict_quantiles(rows, 0.5),
            "levels=0.5 must be a list of numbers between 0 and 1, each once, such as [0.1, 0.5, "
            "0.9].",
        ),
        (
            lambda model, rows: model.sample(0),
            "n=0 must be a whole number from 1 to 1,000,000: it counts the paths that are drawn.",
        ),
    ],
)
def test_what_cannot_be_asked_is_refused(model, rows, call, message):
    """In the words of what was asked."""
    with pytest.raises(ValueError, match=f"^{re.escape(message)}$"):
        call(model, rows[600:])


@pytest.mark.slow
@pytest.mark.parametrize("n", [8, 12, 17, 30, 45, 60])
def test_few_rows_have_ranges_too(small, n):
    """Wide ones; a handful of windows is no reason to fail."""
    df = hourly(n + 8)
    model = small().fit(df[:n])
    found = model.predict_quantiles(df[n:], [0.1, 0.5, 0.9])
    assert np.isfinite(found).all()
    assert (found[:, 2] > found[:, 0]).all()


@pytest.mark.slow
@pytest.mark.parametrize("n", [48, 52, 57, 63])
def test_windows_that_begin_before_a_short_series_have_ranges_too(small, n):
    """The mean of the training stands before it, as in any forecast."""
    df = hourly(n + 8)
    model = small(seq_len=24, pred_len=6).fit(df[:n])
    assert np.isfinite(model.predict_interval(df[n:])).all()
    assert np.isfinite(model.sample(3, random_state=0)).all(axis=None)
    assert np.isfinite(model.forecast(coverage=0.8)).all(axis=None)


@pytest.mark.parametrize("members", ["auto", ["classical"]])
@pytest.mark.parametrize(("seq_len", "fewest"), [(28, 4), (2, 3), (1, 2)])
def test_too_few_rows_have_no_ranges(seq_len, fewest, members):
    """The message says how many are enough; the forecast itself is there."""
    df = pd.DataFrame({"load": [1.0, 2.0, 4.0, 3.0]})
    enough = InformerRegressor("load", seq_len=seq_len, pred_len=14, members=members)
    enough.fit(df[:fewest])
    assert np.isfinite(enough.forecast(coverage=0.9)).all(axis=None)
    if fewest == 2:  # one row alone cannot be fitted
        return
    model = clone(enough).fit(df[: fewest - 1])
    assert np.isfinite(model.forecast()).all(axis=None)
    message = (
        "prediction intervals need errors of earlier forecasts, but no row of the fit "
        "with an observed target could be forecast from the rows before it. Fit on more "
        f"rows, at least {fewest} of one series, and the last of them with an observed "
        "target."
    )
    with pytest.raises(ValueError, match=f"^{re.escape(message)}$"):
        model.forecast(coverage=0.9)


def asked(model, monkeypatch):
    """Ask for the ranges of a fit; return the forecaster and what is proved."""
    seen = []
    calibrate = calibration.calibrate

    def spy(*given, **options):
        seen.append(given)
        return calibrate(*given, **options)

    with monkeypatch.context() as patch:
        patch.setattr(calibration, "calibrate", spy)
        assert model.intervals_ is not None
    return seen[0]


@pytest.mark.parametrize("members", [["ridges"], ["ridges", "classical"]])
def test_ranges_read_what_the_fit_has_proved(small, rows, members, monkeypatch):
    """The final members know the split; those that were weighed on it forecast it once."""
    model = small(seq_len=24, pred_len=6, members=members).fit(rows[:300])
    forecasts = []
    forecast = Ridges.forecast

    def count(member, windows, base=None):
        forecasts.append(len(windows))
        return forecast(member, windows, base)

    monkeypatch.setattr(Ridges, "forecast", count)
    for kind in (Ridges, Classical):
        monkeypatch.setattr(kind, "from_rows", None)  # nothing is fitted again
    forecaster, proved = asked(model, monkeypatch)
    assert set(members) <= proved.forecasts.keys()
    n_calibrated = len(model.intervals_.residuals.errors)
    assert forecasts[0] == n_calibrated + len(proved.origins)
    assert len(forecasts) == 1
    model._intervals_beyond()
    assert len(forecasts) == 1 + 4, "and blocks of steps beyond one forecast"
    assert (proved.origins >= model.calibration_.split).all()
    # Those of calibration, and the errors of what was proved.
    ahead = proved.origins[:, None] + np.arange(6)
    y = forecaster.history.values[ahead, :1]
    joint = np.zeros_like(y)
    for name, forecast in proved.forecasts.items():
        joint += model.ensemble_.weights_of(name)[0] * forecast
    np.testing.assert_allclose(
        proved_errors(forecaster, proved), y - joint, rtol=0, atol=1e-5
    )


def test_a_quantile_is_proved_by_the_network_and_its_ridges(small, rows):
    """No other member forecasts a quantile, and the ridges have learnt the split since."""
    model = small(seq_len=24, pred_len=6, loss=0.9).fit(rows[:300])
    assert model.calibration_.proved.forecasts.keys() == {"ridges", "network"}
    assert model.intervals_.optimism[0] > 1


def test_optimism_makes_errors_of_fitted_rows_larger(small, panel, monkeypatch):
    """Those of calibration, and those of the windows before an origin."""
    model = small(target="load", seq_len=40).fit(panel(n=(60, 60, 60), start=(0, 0, 0)))
    forecaster, proved = asked(model, monkeypatch)
    # Without the level of what was proved, and beside no random walk.
    monkeypatch.setattr(calibration, "shrinkage", lambda *_: 0.0)
    monkeypatch.setattr(changes, "shrinkage", lambda *_: 1.0)
    plain, wide = (calibration.calibrate(forecaster, part) for part in (None, proved))
    assert wide.optimism.min() > 1.01
    apart = wide.spread.typical - plain.spread.typical
    np.testing.assert_allclose(
        apart, np.log(wide.optimism)[None].repeat(len(apart), 0), atol=1e-6
    )
    monkeypatch.setattr(type(model), "intervals_", plain)
    width = np.diff(model.forecast(coverage=0.8))[:, 1]
    monkeypatch.setattr(
        type(model), "intervals_", replace(plain, optimism=3 * plain.optimism)
    )
    assert (np.diff(model.forecast(coverage=0.8))[:, 1] > 1.5 * width).all()


def test_what_is_proved_corrects_the_level_of_sizes_as_far_as_windows_are_many(
    model, monkeypatch
):
    """Ranges that are too narrow, or too wide, come nearer to the truth."""
    forecaster, proved = asked(model, monkeypatch)
    levels, counts = {}, []
    for share in (0.0, 0.5, 1.0):
        monkeypatch.setattr(
            calibration, "shrinkage", lambda *n, s=share: counts.append(n) or s
        )
        found = calibration.calibrate(forecaster, proved)
        levels[share] = found.spread.typical
    assert len({counts[0], *counts}) == 1
    n_windows, prior = counts[0]
    assert 1 < n_windows <= len(proved.origins)
    assert n_windows * found.distance <= np.ptp(proved.origins) + found.distance
    shift = levels[1.0] - levels[0.0]
    assert 0.01 < np.abs(shift).min() == pytest.approx(np.abs(shift).max())
    np.testing.assert_allclose(levels[0.5] - levels[0.0], shift / 2)
    monkeypatch.undo()
    share = n_windows / (n_windows + prior)
    found = calibration.calibrate(forecaster, proved)
    np.testing.assert_allclose(found.spread.typical - levels[0.0], share * shift)


def test_windows_before_are_the_last_of_their_series_and_its_run():
    """Each ended before the window that it stands before."""
    timeline = SimpleNamespace(
        first_row=np.array([0, 100, 200]), series_of=lambda rows: rows // 100
    )
    origins, run = np.array([10, 20, 30, 15, 25, 150]), np.array([0, 0, 0, 1, 1, 2])
    windows = CalibrationWindows(origins, run, 6, 6)
    compared = np.array([41, 39, 35, 19, 155, 170, 99])
    found = calibration._windows_before(timeline, windows, compared, 10)
    before = [origins[row[row >= 0]].tolist() for row in found]
    assert before == [[30, 20, 10], [25, 15], [25, 15], [], [], [150], [30, 20, 10]]


@pytest.mark.slow
def test_ranges_beyond_the_windows_of_the_history_grow_as_theirs_did():
    """They went on as the first steps did, whose errors are those of noise."""
    random = np.random.default_rng(0)
    t = np.arange(700)
    y = 100 + 0.5 * t + 10 * np.sin(2 * np.pi * t / 7) + random.normal(0, 5, 700)
    rows = pd.DataFrame({"y": y}, pd.date_range("2024-01-01", periods=700, freq="D"))
    model = InformerRegressor(pred_len=14, members=["classical"], random_state=0).fit(
        rows
    )
    found = model.forecast(horizon=140, coverage=0.8)
    width = (found["y_0.9"] - found["y_0.1"]).to_numpy().reshape(10, 14).mean(axis=1)
    assert width[3] > 1.2 * width[0]
    assert width[9] > 1.4 * width[3]


def test_steps_beyond_one_forecast_are_looked_at_when_one_is_asked_for(
    small, rows, tmp_path, monkeypatch
):
    """They took two fifths of the seconds of intervals, and few ask for them."""
    model = small(seq_len=24, pred_len=6).fit(rows[:600])
    asked = []

    def choose_and_count(*given):
        asked.append(given)
        return choose_far_windows(*given)

    monkeypatch.setattr(calibration, "choose_far_windows", choose_and_count)
    near = model.forecast(coverage=0.8)
    model.sample(3, random_state=0)
    assert not asked
    assert model.intervals_.far is None
    beyond = model.forecast(horizon=7, coverage=0.8)
    pd.testing.assert_frame_equal(beyond[:6], near)
    model.sample(3, horizon=7, random_state=0)
    assert len(asked) == 1
    # A file holds no rows that they could be found from.
    other = small(seq_len=24, pred_len=6).fit(rows[:600])
    other.save(tmp_path / "model")
    loaded = load(tmp_path / "model")
    pd.testing.assert_frame_equal(loaded.forecast(horizon=7, coverage=0.8), beyond)


def test_steps_beyond_one_forecast_have_sizes_of_their_own(model, monkeypatch):
    """They are forecast from forecasts, which no window of calibration is."""
    before = np.diff(model.forecast(horizon=12, coverage=0.8))[:, 1]
    ranges = model.intervals_
    assert len(ranges.far) == 3 * 6
    monkeypatch.setattr(
        type(model), "intervals_", replace(ranges, far=ranges.far + np.log(2))
    )
    after = np.diff(model.forecast(horizon=12, coverage=0.8))[:, 1]
    np.testing.assert_allclose(after / before, [1] * 6 + [2] * 6, rtol=1e-5)
