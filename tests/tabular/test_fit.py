"""Any regressor forecasts windows, and learns nothing it must not know."""

from dataclasses import replace
from typing import ClassVar

import numpy as np
import pandas as pd
import pytest
from sklearn.ensemble import HistGradientBoostingRegressor, RandomForestRegressor
from sklearn.linear_model import LinearRegression, Ridge
from sklearn.neighbors import KNeighborsRegressor
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from skinformer.tabular.features import LEVEL, Columns
from skinformer.tabular.fit import fit_tabular
from skinformer.tabular.regressors import default_regressors
from skinformer.timeline.clock import RowClock, clock_for
from skinformer.timeline.cycle import CalendarEffect
from skinformer.timeline.timeline import Timeline

TREES = HistGradientBoostingRegressor(max_iter=10, max_leaf_nodes=15)


def hours(n_rows, n_series=1, *, seed=0, n_known=1, noise=0.1):
    """Series with a day's rhythm, a level of their own, and a driver of a hidden strength."""
    generator = np.random.default_rng(seed)
    known = generator.normal(size=(n_series, n_rows, n_known))
    rhythm = np.sin(np.arange(n_rows) * np.pi / 12)
    target = (
        rhythm + known.sum(axis=2) + noise * generator.normal(size=(n_series, n_rows))
    )
    values = np.concatenate([target[..., None], known], axis=2).reshape(-1, 1 + n_known)
    times = pd.date_range("2024-01-01", periods=3, freq="h")
    clock = clock_for(times, times.freq).starting_at(times[0])
    first_row = np.arange(n_series + 1) * n_rows
    zero = np.zeros(n_series, dtype=np.int64)
    return Timeline(values.astype(np.float32), None, first_row, zero, clock)


def forecast(fit, timeline, origins):
    begin = timeline.first_row[
        np.searchsorted(timeline.first_row[1:], origins, side="right")
    ]
    steps = timeline.steps_of(origins)
    return fit.forecast(timeline.values, begin, origins, steps, timeline.clock)


COLUMNS = Columns(1, 0, 1, 0, 6)


@pytest.mark.parametrize(
    "regressor",
    [
        pytest.param(None, marks=pytest.mark.slow),
        TREES,
        LinearRegression(),
        Ridge(),
        RandomForestRegressor(10, min_samples_leaf=5),
        KNeighborsRegressor(),
        make_pipeline(StandardScaler(), Ridge()),
    ],
    ids=str,
)
def test_any_regressor_beats_the_mean_and_the_last_day(regressor):
    timeline = hours(800)
    fit = fit_tabular(timeline.head(np.array([700])), COLUMNS, regressor=regressor)
    origins = np.arange(700, 790)
    got = forecast(fit, timeline, origins)
    assert got.shape == (90, 6, 1)
    assert got.dtype == np.float32
    truth = timeline.values[origins[:, None] + np.arange(6), :1]
    day = timeline.values[origins[:, None] + np.arange(6) - 24, :1]
    error = np.abs(got - truth).mean()
    assert error < 0.75 * min(np.abs(truth).mean(), np.abs(day - truth).mean())


def test_the_users_regressor_is_left_as_it_is_and_seeded():
    """A parameter of an estimator must survive `fit`, and two fits must agree."""
    forest = RandomForestRegressor(5)
    timeline = hours(300)
    first, second = (fit_tabular(timeline, COLUMNS, regressor=forest) for _ in range(2))
    origins = np.arange(200, 290)
    np.testing.assert_array_equal(
        forecast(first, timeline, origins), forecast(second, timeline, origins)
    )
    assert not hasattr(forest, "estimators_")
    assert forest.random_state is None
    other = fit_tabular(timeline, COLUMNS, regressor=forest, random_state=1)
    assert (
        forecast(other, timeline, origins) != forecast(first, timeline, origins)
    ).any()
    own = fit_tabular(
        timeline, COLUMNS, regressor=RandomForestRegressor(5, random_state=7)
    )
    assert own.members[0].regressor.regressor.random_state == 7


@pytest.mark.parametrize("regressor", [TREES, LinearRegression(), Ridge()], ids=str)
def test_a_forecast_does_not_depend_on_others(regressor):
    """The estimator promises the same forecast of a row, whatever is asked for with it."""
    timeline = hours(500, 2)
    fit = fit_tabular(timeline, COLUMNS, regressor=regressor)
    origins = np.arange(300, 490)
    together = forecast(fit, timeline, origins)
    for i in (0, 17, 189):
        np.testing.assert_array_equal(
            together[[i]], forecast(fit, timeline, origins[[i]])
        )
    np.testing.assert_array_equal(
        together[::-1], forecast(fit, timeline, origins[::-1])
    )


def test_where_a_series_lies_among_the_rows_changes_nothing():
    """At a forecast the history is laid out elsewhere, and only as far as it is read."""
    timeline = hours(900)
    fit = fit_tabular(timeline, COLUMNS, regressor=TREES)
    origin = np.array([880])
    whole = forecast(fit, timeline, origin)
    shift = 880 - fit.look_back
    rows = timeline.values[shift : 880 + 6]
    nothing = np.zeros(1, dtype=np.int64)
    part = fit.forecast(rows, nothing, origin - shift, origin, timeline.clock)
    np.testing.assert_array_equal(whole, part)


def test_truths_from_the_stop_on_are_not_learnt():
    """A judge's rows must not have been seen."""
    timeline, stop = hours(600), np.array([400])
    changed = timeline.values.copy()
    changed[400:, 0] = 99.0
    other = Timeline(
        changed,
        None,
        *[getattr(timeline, n) for n in ("first_row", "first_step")],
        timeline.clock,
    )
    origins = np.arange(300, 395)
    got = [
        forecast(
            fit_tabular(rows.head(stop), COLUMNS, regressor=TREES), timeline, origins
        )
        for rows in (timeline, other)
    ]
    np.testing.assert_array_equal(*got)


def test_missing_truths_are_not_learnt():
    """They hold the value before them, which would teach that nothing ever changes."""
    timeline = hours(600)
    missing = np.random.default_rng(2).random((600, 1)) < 0.3
    changed = timeline.values.copy()
    changed[missing[:, 0], 0] = 20.0
    other = Timeline(
        changed, None, timeline.first_row, timeline.first_step, timeline.clock
    )
    fit = fit_tabular(other, COLUMNS, missing=missing, regressor=LinearRegression())
    assert np.abs(forecast(fit, timeline, np.arange(300, 590))).max() < 15


class Spy(Ridge):
    """Tells what it was fitted to."""

    seen: ClassVar[list] = []

    def fit(self, X, y, sample_weight=None):
        Spy.seen.append((len(X), sample_weight))
        return super().fit(X, y, sample_weight)


def test_truths_of_weight_zero_are_not_learnt_and_others_count_by_it():
    timeline = hours(600)
    weight = np.random.default_rng(0).integers(0, 3, size=(600, 1)).astype(np.float32)
    parts = timeline.first_row, timeline.first_step, timeline.clock
    Spy.seen.clear()
    fit_tabular(Timeline(timeline.values, weight, *parts), COLUMNS, regressor=Spy())
    [(_, given)] = Spy.seen
    assert set(given) == {1.0, 2.0}
    neighbours = fit_tabular(
        Timeline(timeline.values, weight, *parts),
        COLUMNS,
        regressor=KNeighborsRegressor(),
    )  # takes no weights
    assert np.isfinite(forecast(neighbours, timeline, np.array([300]))).all()


def test_missing_values_pass_through_every_regressor():
    """Columns known ahead may be NaN where the network learns vectors for that."""
    timeline = hours(500)
    timeline.values[::3, 1] = np.nan
    for regressor in (TREES, Ridge()):
        fit = fit_tabular(timeline, COLUMNS, regressor=regressor)
        assert np.isfinite(forecast(fit, timeline, np.arange(5, 490))).all()


def test_one_wild_value_bends_no_straight_line():
    """A rain gauge that once says 9831."""
    timeline, stop = hours(800), np.array([700])
    origins = np.arange(700, 790)
    truth = timeline.values[origins[:, None] + np.arange(6), :1]
    errors = []
    for outliers in (None, 9831.0):
        rows = timeline.values.copy()
        if outliers is not None:
            rows[300, 1] = outliers
        other = Timeline(
            rows, None, timeline.first_row, timeline.first_step, timeline.clock
        )
        fit = fit_tabular(other.head(stop), COLUMNS, regressor=Ridge())
        errors.append(np.abs(forecast(fit, other, origins) - truth).mean())
    assert errors[1] < 1.05 * errors[0]


def test_series_of_a_panel_are_learnt_together_and_kept_apart():
    """A short series is forecast by what long ones taught, and no row of another is read."""
    timeline = hours(300, 5)
    short = timeline.head(timeline.first_row[1:] - [0, 0, 0, 0, 250])
    fit = fit_tabular(short, COLUMNS, regressor=TREES)
    origins = timeline.first_row[4] + np.arange(60, 290)
    got = forecast(fit, timeline, origins)
    truth = timeline.values[origins[:, None] + np.arange(6), :1]
    assert np.abs(got - truth).mean() < 0.6 * np.abs(truth).mean()
    changed = timeline.values.copy()
    changed[: timeline.first_row[4]] = np.nan
    other = Timeline(
        changed, None, timeline.first_row, timeline.first_step, timeline.clock
    )
    np.testing.assert_array_equal(got, forecast(fit, other, origins))


@pytest.mark.parametrize("slope", [0.0, 0.02])
def test_trends_go_on(slope, monkeypatch):
    """Trees give no value that they have not seen, but distances from a level they have."""
    monkeypatch.setattr(
        "skinformer.tabular.fit.default_regressors", lambda *_, **__: (TREES, TREES)
    )
    timeline = hours(1000, noise=0.01)
    timeline.values[:, 0] += np.arange(1000) * slope
    fit = fit_tabular(timeline.head(np.array([800])), COLUMNS)
    assert fit.members[0].sight.anchor == (LEVEL if slope else None)
    origins = np.arange(980, 994)
    truth = timeline.values[origins[:, None] + np.arange(6), :1]
    # The level is a mean over 96 rows and more: some of the slope is lost, not all of it.
    assert (forecast(fit, timeline, origins) - truth).mean() > -2


@pytest.mark.parametrize("change", [-3.0, 3.0])
def test_one_of_the_default_regressors_goes_wherever_the_level_goes(
    change, monkeypatch
):
    """Trees that see levels expect each to return to what it was in training."""
    monkeypatch.setattr(
        "skinformer.tabular.fit.default_regressors", lambda *_, **__: (TREES, TREES)
    )
    timeline = hours(1000, noise=0.5)
    fit = fit_tabular(timeline, COLUMNS)
    fit = replace(fit, members=fit.members[1:])
    origins = np.arange(900, 990)
    before = forecast(fit, timeline, origins)
    timeline.values[:, 0] += change
    np.testing.assert_allclose(
        forecast(fit, timeline, origins), before + change, atol=0.1
    )


def crowds(n_rows, *, base=0.0, seed=0):
    """Make a crowd by day on nothing by night, or on a base, standardised, and its zero."""
    generator = np.random.default_rng(seed)
    timeline = hours(n_rows)
    by_day = np.maximum(np.sin(np.arange(n_rows) * np.pi / 12), 0)
    crowd = base + 100 * by_day * (1 + 0.05 * generator.normal(size=n_rows))
    timeline.values[:, 0] = (crowd - crowd.mean()) / crowd.std()
    return timeline, np.array([-crowd.mean() / crowd.std()])


@pytest.mark.parametrize("factor", [0.5, 2.0])
def test_an_empty_night_stays_empty_where_the_level_moves(factor, monkeypatch):
    """Half of a crowd is half of it at each hour: noon has less to lose than the mean says."""
    trees = HistGradientBoostingRegressor(learning_rate=0.2, max_iter=40)
    monkeypatch.setattr(
        "skinformer.tabular.fit.default_regressors", lambda *_, **__: (trees, trees)
    )
    timeline, zero = crowds(2000)
    fit = fit_tabular(timeline, COLUMNS, zero=zero)
    fit = replace(fit, members=fit.members[:1])
    origins = np.arange(1900, 1990)
    crowd = timeline.values[:, 0] - zero
    timeline.values[:, 0] = factor * crowd + zero
    truth = timeline.values[origins[:, None] + np.arange(6), :1]
    got = forecast(fit, timeline, origins)
    assert np.abs(got - truth).mean() < 0.03 * factor


@pytest.mark.parametrize("base", [200.0, -50.0])
def test_what_is_far_from_zero_or_below_it_has_no_multiples(base):
    """A base load does not halve with what comes on top of it, nor does a temperature."""
    timeline, zero = crowds(1000, base=base)
    fit = fit_tabular(timeline, COLUMNS, zero=zero)
    assert np.isnan(fit.zero).all()
    assert all(member.sight.unit is None for member in fit.members)


def default_trees_of(monkeypatch, timeline, columns, **options):
    """Fit, and tell what trees were asked for."""
    requested = []

    def few(*, simple, quick):
        requested.append((simple, quick))
        return TREES, TREES

    monkeypatch.setattr("skinformer.tabular.fit.default_regressors", few)
    return fit_tabular(timeline, columns, **options), requested[0]


@pytest.mark.parametrize(
    ("n_series", "n_known", "simple"), [(1, 0, True), (1, 1, False), (2, 0, False)]
)
@pytest.mark.parametrize("quick", [True, False])
def test_one_table_without_columns_known_ahead_takes_small_trees(
    n_series, n_known, simple, quick, monkeypatch
):
    timeline = hours(300, n_series, n_known=n_known)
    columns = Columns(1, 0, n_known, 0, 6)
    _, requested = default_trees_of(monkeypatch, timeline, columns, quick=quick)
    assert requested == (simple, quick)


@pytest.mark.parametrize("simple", [True, False])
def test_fewer_trees_are_fewer(simple):
    final, judged = (
        default_regressors(simple=simple, quick=quick) for quick in (False, True)
    )
    assert all(
        one.max_iter > two.max_iter for one, two in zip(final, judged, strict=True)
    )


def test_small_trees_have_fewer_leaves():
    small, large = (default_regressors(simple=simple) for simple in (True, False))
    assert all(
        one.max_leaf_nodes < other.max_leaf_nodes
        for one, other in zip(small, large, strict=True)
    )


@pytest.mark.parametrize("n_known", [0, 1])
def test_one_of_the_default_regressors_does_not_see_what_is_usual(n_known, monkeypatch):
    """When nothing is as usual, it is not led by it."""
    timeline, columns = hours(600, n_known=n_known), Columns(1, 0, n_known, 0, 6)
    fit, _ = default_trees_of(monkeypatch, timeline, columns)
    n_features = fit.members[0].regressor.used.max() + 1
    places = np.zeros((1, 60), dtype=np.int64)
    places[0, :24] = np.arange(24)
    level, known = np.random.default_rng(0).normal(size=(2, 24, 1))
    bounds = np.tile([[-5.0], [5.0]], (1, n_known))
    usual = CalendarEffect(
        level, np.tile(known[:, :, None], (1, n_known, 1)), bounds, places, ("hour",)
    )
    fit, _ = default_trees_of(monkeypatch, timeline, columns, calendar=usual)
    own = {n_features, n_features + 1}
    assert own <= set(fit.members[0].regressor.used)
    assert not own & set(fit.members[1].regressor.used)
    named = fit_tabular(timeline, columns, calendar=usual, regressor=TREES)
    assert own <= set(named.members[0].regressor.used)


def test_several_targets_share_a_regressor_that_tells_them_apart():
    generator = np.random.default_rng(0)
    known = generator.normal(size=(800, 1))
    values = np.hstack([2 * known, -known, known]).astype(np.float32)
    zero = np.zeros(1, dtype=np.int64)
    timeline = Timeline(values, None, np.array([0, 800]), zero, RowClock())
    fit = fit_tabular(timeline, Columns(2, 0, 1, 0, 6), regressor=TREES)
    origins = np.arange(600, 790)
    got = forecast(fit, timeline, origins)
    truth = values[origins[:, None] + np.arange(6), :2]
    assert (
        np.abs(got - truth).mean(axis=(0, 1)) < 0.5 * np.abs(truth).mean(axis=(0, 1))
    ).all()


def test_series_that_begin_with_missing_truths_begin_later():
    """What fills the rows before the first truth is a stopgap: no feature may read it."""
    timeline = hours(300)
    missing = np.zeros((300, 1), dtype=bool)
    missing[:100] = True
    got = []
    for filled in (0.0, 50.0):
        timeline.values[:100, 0] = filled
        fit = fit_tabular(timeline, COLUMNS, missing=missing, regressor=Ridge())
        origins = np.arange(150, 290)
        begin, steps = np.full(140, 100), timeline.steps_of(origins)
        got.append(fit.forecast(timeline.values, begin, origins, steps, timeline.clock))
    np.testing.assert_array_equal(*got)


def test_no_truth_at_all_is_refused():
    timeline = hours(60)
    with pytest.raises(ValueError, match="no actual value is left to learn from"):
        fit_tabular(timeline.head(np.array([0])), COLUMNS)


def test_the_number_of_pairs_is_bounded(monkeypatch):
    """Ten years of hours must not take ten times as long as one."""
    monkeypatch.setattr("skinformer.tabular.fit.MOST_PAIRS", 500)
    Spy.seen.clear()
    fit_tabular(hours(2000), COLUMNS, regressor=Spy())
    assert [count for count, _ in Spy.seen] == [500]


@pytest.mark.parametrize(
    ("n_known", "regressor", "n_pairs"),
    [(0, None, 400), (0, Spy(), 500), (1, None, 500)],
)
def test_small_trees_learn_from_fewer_pairs(n_known, regressor, n_pairs, monkeypatch):
    """A regressor of the user's may gain from more."""
    monkeypatch.setattr("skinformer.tabular.fit.MOST_PAIRS", 500)
    monkeypatch.setattr("skinformer.tabular.fit.MOST_PAIRS_OF_SMALL", 400)
    monkeypatch.setattr(
        "skinformer.tabular.fit.default_regressors", lambda **_: (Spy(), Spy())
    )
    Spy.seen.clear()
    fit_tabular(
        hours(2000, n_known=n_known), Columns(1, 0, n_known, 0, 6), regressor=regressor
    )
    assert {count for count, _ in Spy.seen} == {n_pairs}


def test_a_series_that_never_changes_goes_on():
    """Without a feature that varies there is nothing to learn from, but a level."""
    timeline = hours(200, n_known=0)
    timeline.values[:] = 0.0
    for regressor in (TREES, Ridge()):
        fit = fit_tabular(timeline, Columns(1, 0, 0, 0, 6), regressor=regressor)
        np.testing.assert_allclose(
            forecast(fit, timeline, np.array([150])), 0, atol=1e-9
        )


def test_columns_that_tell_nothing_are_seen_at_the_step_alone():
    """Five columns of noise cost 6 % of accuracy where each was looked at from eight sides."""
    timeline = hours(900, n_known=3)
    values = timeline.values.copy()
    values[:, 2] = np.random.default_rng(9).normal(size=900)
    parts = timeline.first_row, timeline.first_step, timeline.clock
    fit = fit_tabular(
        Timeline(values, None, *parts), Columns(1, 0, 3, 0, 6), regressor=TREES
    )
    assert fit.maker.plain == (1,)


def test_truths_beyond_all_bounds_are_not_learnt():
    """Squared errors of a series that explodes would know nothing of the others."""
    timeline = hours(300, 4)
    values = timeline.values.copy()
    values[600 + 280 : 900, 0] = 3000.0  # the end of the third series
    outliers = replace(timeline, values=values)
    fit = fit_tabular(outliers, COLUMNS, regressor=TREES)
    origins = np.array([150, 450, 1150])
    truth = timeline.values[origins[:, None] + np.arange(6), 0]
    assert np.abs(forecast(fit, outliers, origins)[..., 0] - truth).mean() < 1
