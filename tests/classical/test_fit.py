"""The blend of classical candidates: what it must go on with, and who may disturb whom."""

from dataclasses import replace
from typing import NamedTuple

import numpy as np
import pandas as pd
import pytest

from skinformer.classical import fit as fitting
from skinformer.classical.candidates import Sizes
from skinformer.classical.fit import fit_classical
from skinformer.classical.judging import ErrorAccumulator, origin_distances
from skinformer.classical.ridges import fit_ridges
from skinformer.classical.windows import SeriesRows, UnitWindows
from skinformer.timeline.clock import RowClock, clock_for

NAN = np.nan
SIZES = Sizes(seq_len=200, pred_len=4, seasons=(4,), ridge_rows=24, period=4)
MONTHS = Sizes(seq_len=200, pred_len=12, seasons=(12,), ridge_rows=24, period=12)
WAVE = 10 * np.sin(np.arange(12) * np.pi / 6)


class Drawn(NamedTuple):
    """A series and what comes after it."""

    past: np.ndarray
    future: np.ndarray


def monthly(n_rows, *, seed=0, noise=1.0, horizon=12):
    rng = np.random.default_rng(seed)
    values = (
        50
        + np.resize(WAVE, n_rows + horizon)
        + noise * rng.normal(size=n_rows + horizon)
    )
    return Drawn(values[:n_rows], values[n_rows:])


def make_panel(n_series=40, *, seed=0, level=50.0):
    """Give series of 20 to 60 rows with trends, seasons and noise of their own."""
    rng = np.random.default_rng(seed)
    series = []
    for n in rng.integers(20, 60, n_series):
        rows = np.arange(n)
        season = rng.normal(size=4)[rows % 4] * 3
        noise = rng.normal(size=n).cumsum() * 0.5 + rng.normal(size=n)
        series.append(level + rng.normal() * 0.3 * rows + season + noise)
    return series


def filled(values):
    """Hold the last value where there is none; before the first one it is that."""
    return pd.Series(values, dtype=float).ffill().bfill().fillna(0).to_numpy()


def fitted(series, sizes=SIZES, *, of_mean=False, clock=None):
    """Fit series that end together; NaN was not observed."""
    longest = max(len(one) for one in series)
    steps = np.concatenate([np.arange(longest - len(one), longest) for one in series])
    return fit_classical(
        SeriesRows(
            np.concatenate([filled(one) for one in series]),
            np.concatenate([~np.isnan(one) for one in series]),
            steps,
            np.cumsum([0, *(len(one) for one in series)]),
            clock or RowClock(),
        ),
        sizes,
        of_mean=of_mean,
    )


def windows_of(series, *, end=None, owner=None, before=0.0, clock=None, seq_len=200):
    """Cut the last rows of series; in front of them stands what is no row of theirs."""
    n, end = len(series), max(len(one) for one in series) if end is None else end
    past, known = np.full((n, seq_len), before), np.zeros((n, seq_len), dtype=bool)
    for i, one in enumerate(series):
        rows = one[-seq_len:]
        past[i, seq_len - len(rows) :] = filled(rows)
        known[i, seq_len - len(rows) :] = ~np.isnan(rows)
    return UnitWindows(
        past=past,
        length=np.array([min(len(one), seq_len) for one in series]),
        known=known,
        steps=np.full(n, end),
        series=np.arange(n) if owner is None else np.array(owner),
        clock=RowClock() if clock is None else clock,
    )


def forecasts(series, sizes=SIZES, *, of_mean=False):
    """Forecast what follows each series."""
    return fitted(series, sizes, of_mean=of_mean).forecast(windows_of(series))


@pytest.fixture
def entries(monkeypatch):
    """Record what is added up: series, forecast, truth, level."""
    seen, add = [], ErrorAccumulator.add

    def spy(self, *args):
        seen.append(args)
        add(self, *args)

    monkeypatch.setattr(ErrorAccumulator, "add", spy)
    return seen


PANEL = make_panel()
FIT = fitted(PANEL)
FORECASTS = FIT.forecast(windows_of(PANEL))


# --- what goes on -----------------------------------------------------------------------------


def test_a_season_goes_on_through_a_hole_of_half_its_rows():
    drawn = monthly(72)
    drawn.past[20:56] = NAN
    assert np.abs(forecasts([drawn.past], MONTHS)[0] - drawn.future).mean() < 1.5


def test_a_season_goes_on_where_half_of_the_rows_were_not_observed():
    drawn = monthly(72)
    drawn.past[np.random.default_rng(1).random(72) < 0.5] = NAN
    assert np.abs(forecasts([drawn.past], MONTHS)[0] - drawn.future).mean() < 1.5


def test_held_values_are_no_truths():
    """They are flat: who believes them forecasts nothing but flat lines."""
    drawn = monthly(72)
    drawn.past[-14:] = NAN
    fit = fitted([drawn.past], MONTHS)
    assert np.abs(fit.forecast(windows_of([drawn.past]))[0] - drawn.future).mean() < 1.5
    flat = [i for i, name in enumerate(fit.names) if "season" not in name]
    assert fit.weights[0, flat].sum() < 0.05


def test_closed_days_are_forecast_as_their_neighbours_and_the_others_as_they_are():
    sizes = Sizes(200, 7, (7,), 24, 7)
    rng = np.random.default_rng(0)
    every = 30 + np.resize([0.0, 2, 4, 6, 9, 0, 0], 91) + 0.2 * rng.normal(size=91)
    every[np.isin(np.arange(91) % 7, (5, 6))] = NAN
    got = forecasts([every[:84]], sizes)[0]
    np.testing.assert_allclose(got[:5], every[84:89], atol=1)
    assert (got[5:] > 29).all()
    assert (got[5:] < 40).all()


@pytest.mark.slow
def test_a_day_and_a_week_go_on():
    """Yesterday was one of the days of twelve more, today is none."""
    rng, rows = np.random.default_rng(0), np.arange(24 * 28)
    week = np.isin(rows // 24 % 7, (2, 5))
    every = 50 + 10 * np.sin(rows * np.pi / 12) + 12 * week + rng.normal(size=len(rows))
    past, future = every[:-24], every[-24:]
    both, day = (
        fitted([past], Sizes(700, 24, seasons, 48, 24)).forecast(
            windows_of([past], seq_len=700)
        )
        for seasons in ((24, 168), (24,))
    )
    assert np.abs(both[0] - future).mean() < 2
    assert np.abs(day[0] - future).mean() > 4


def test_exactly_two_seasons_of_months_go_on():
    drawn = monthly(24)
    assert np.abs(forecasts([drawn.past], MONTHS)[0] - drawn.future).mean() < 2


def test_one_season_of_months_is_likely_one():
    """No origin has a season before it, so nothing can be proved."""
    drawn = monthly(12)
    fit = fitted([drawn.past], MONTHS)
    got = fit.forecast(windows_of([drawn.past]))[0]
    assert np.corrcoef(got, drawn.future)[0, 1] > 0.8
    assert (
        sum(
            w
            for w, name in zip(fit.weights[0], fit.names, strict=True)
            if "season" in name
        )
        > 0.8
    )


@pytest.mark.parametrize("seed", range(4))
def test_a_line_of_one_season_is_not_a_season_that_begins_anew(seed):
    """The season would leap from the end of the line back to where this began."""
    rows = np.arange(64) + 2 * np.random.default_rng(seed).normal(size=64)
    sizes = SIZES._replace(seasons=(52,), pred_len=8)
    got = forecasts([rows[:52]], sizes)[0]
    assert np.abs(got - rows[52:60]).mean() < 10  # a season is off by 52


def test_a_year_of_sales_that_ends_with_christmas_is_one():
    """December's leap up, and back in January, is none of a line."""
    year = np.array([80.0, 82, 90, 88, 93, 91, 90, 92, 94, 97, 105, 140])
    drawn = year + np.random.default_rng(0).normal(size=12)
    got = forecasts([drawn], MONTHS)[0]
    assert np.abs(got - year).mean() < np.abs(drawn[-1] - year).mean() / 3


def test_final_forecasts_are_those_from_the_end_and_go_from_the_last_rows(monkeypatch):
    """Of the horizon of twelve months the last four make the level."""
    seen, compare = [], ErrorAccumulator.compare_final

    def spy(self, series, forecast, level, leaps):
        seen.append((forecast, level, leaps))
        compare(self, series, forecast, level, leaps)

    monkeypatch.setattr(ErrorAccumulator, "compare_final", spy)
    past = monthly(40).past
    fit = fitted([past], MONTHS)
    [(forecast, level, leaps)] = seen
    np.testing.assert_allclose(level, past[-4:].mean())
    drift = fit.names.index("drift")
    beyond = forecast[0, drift, 0] - past[-3:].max()
    change = np.sqrt((np.diff(past) ** 2).mean())
    np.testing.assert_allclose(leaps[0, drift], beyond / change)
    np.testing.assert_allclose(forecast[0, fit.names.index("season 12")], past[-12:])


@pytest.fixture
def ridge_ends(monkeypatch):
    """Record the rows behind the last one that shared ridges learn, a fit after the other."""
    ends = []

    def spy(values, begin, end, *sizes, **loss):
        ends.append(end)
        return fit_ridges(values, begin, end, *sizes, **loss)

    monkeypatch.setattr(fitting, "fit_ridges", spy)
    return ends


def test_ridges_of_many_windows_serve_several_origins(ridge_ends, entries):
    """Of 14,880 windows 8,192 are learnt: one more row of a series changes next to nothing."""
    rng = np.random.default_rng(0)
    fitted([rng.normal(size=400) for _ in range(40)])
    # The final ones, and those behind which 24 and 3 origins lie: a twentieth of 400 rows.
    first_ends = [int(end[0]) for end in ridge_ends]
    assert first_ends == [400, 397, 376]
    assert len(entries) == 24


def test_ridges_of_few_windows_learn_all_rows_before_each_origin(ridge_ends):
    fitted(PANEL)
    assert len(ridge_ends) == 1 + 24


def test_walks_of_one_season_are_not_forecast_to_repeat_it():
    """Where seasons can be judged, they are."""
    walks = np.random.default_rng(0).normal(size=(30, 40)).cumsum(axis=1)
    got = forecasts(list(walks), MONTHS)
    assert np.abs(got[:, 0] - walks[:, -1]).mean() < 1


def test_the_season_follows_the_clock_on_the_wall_in_the_fit_and_in_windows():
    hours = pd.date_range("2025-03-10", periods=24 * 28, freq="h", tz="Europe/Paris")
    clock = clock_for(hours, hours.freq)
    steps = np.arange(24 * 27)
    every = 50 + 20.0 * (hours.hour.to_numpy() == 8)
    sizes = Sizes(200, 24, (24,), 48, 24)
    change = int(np.flatnonzero(hours.day == 30)[0])
    assert len(np.unique(clock.wall_steps(steps) - steps)) == 2
    past = every[
        : change + 24
    ]  # windows, and some of the origins, lie across the change
    fit = fitted([past], sizes, clock=clock)
    for end in (change + 24, change):
        windows = windows_of([every[:end]], end=end, clock=clock)
        np.testing.assert_allclose(
            fit.forecast(windows)[0], every[end : end + 24], atol=1
        )


def test_the_season_is_judged_by_the_clock_on_the_wall(entries):
    """At every origin, before the change and behind it, what repeats an exact day has no error."""
    hours = pd.date_range("2025-03-25", periods=24 * 8, freq="h", tz="Europe/Paris")
    clock = clock_for(hours, hours.freq)
    fit = fitted(
        [(hours.hour.to_numpy() % 24) ** 1.5],
        Sizes(200, 24, (24,), 48, 24),
        clock=clock,
    )
    place = fit.names.index("season 24")
    pairs = [(forecast[:, place], truth) for _, forecast, truth, *_ in entries]
    missed = [
        np.nanmax(np.abs(ahead - truth))
        for ahead, truth in pairs
        if np.isfinite(ahead).all()
    ]
    assert len(missed) == 21
    assert max(missed) < 1e-9


def test_a_product_is_forecast_from_its_launch_on():
    drawn = monthly(60)
    launched = np.concatenate([np.zeros(30), drawn.past])
    fit = fitted([launched], MONTHS)
    assert fit.begun.tolist() == [30]
    np.testing.assert_allclose(
        fit.forecast(windows_of([launched])), forecasts([drawn.past], MONTHS), rtol=1e-6
    )


def rare_sales(n_series=30, n_rows=36, seed=0):
    """Draw sales of one to three pieces in one month of four."""
    rng = np.random.default_rng(seed)
    shape = n_series, n_rows
    return list(rng.integers(1, 4, size=shape) * 1.0 * (rng.random(shape) < 0.25))


def test_medians_of_rare_sales_are_zero():
    """Beside them means, trends and ridges lie above zero, and so did a mean of all."""
    assert (forecasts(rare_sales(), MONTHS) == 0).mean() > 0.95
    assert (forecasts(rare_sales(), MONTHS, of_mean=True) > 0.1).mean() > 0.95


def test_means_of_rare_sales_are_those_of_many_rows():
    """Absolute errors chose what forecast zero, or the last sale for all months to come."""
    series = [np.append(sales, 3.0) for sales in rare_sales()]
    found = forecasts(series, MONTHS, of_mean=True)
    usual = np.mean([sales.mean() for sales in series])
    assert found.mean() == pytest.approx(usual, rel=0.15)
    assert found.max() < 1.5


def test_a_first_sale_is_no_launch_where_sales_are_rare():
    """What came before it, 26 months without one, says that the next month has none, too."""
    late = np.append(np.zeros(26), 2.0)
    beside_rare = fitted([*rare_sales(), late], MONTHS)
    assert beside_rare.begun[-1] < 0
    assert not beside_rare.forecast(windows_of([late], owner=[30])).any()
    beside_others = fitted(
        [late, *(monthly(40, seed=i).past for i in range(5))], MONTHS
    )
    assert beside_others.begun[0] == 39  # the last step of all


def test_a_short_series_is_as_rare_as_others_are():
    """Two months without a sale between two with one say little."""
    short = np.array([50.0, 0.0, 0.0, 48.0])
    often = [monthly(40, seed=i).past for i in range(5)]
    for others, expected in ((often, False), (rare_sales(), True)):
        series = [short, *others]
        rows = SeriesRows(
            np.concatenate(series),
            np.ones(sum(map(len, series)), dtype=bool),
            np.concatenate([np.arange(len(one)) for one in series]),
            np.cumsum([0, *map(len, series)]),
            RowClock(),
        )
        is_rare, new_is_rare = fitting.find_rare(rows, 1)
        assert bool(is_rare[0]) is new_is_rare is expected


def test_goods_of_one_season_are_not_rare():
    """Two thirds of their rows are zero, as of nights and closed days, too."""
    year = np.array([0.0] * 8 + [30.0, 50.0, 60.0, 20.0])
    rng = np.random.default_rng(0)
    sales = [np.tile(year, 4) * rng.uniform(0.8, 1.2, 48) for _ in range(10)]
    found = forecasts(sales, MONTHS)
    assert (found[:, :8] < 3).all()
    assert (found[:, 9:11] > 30).all()


def test_a_new_series_is_rare_where_most_are():
    new = np.array([0.0, 3.0, 0.0, 0.0, 0.0, 1.0])
    windows = windows_of([new], owner=[-1])
    assert not fitted(rare_sales(), MONTHS).forecast(windows).any()
    often = [monthly(40, seed=i).past for i in range(5)]
    assert fitted(often, MONTHS).forecast(windows).any()


def test_a_product_that_is_sold_no_longer_is_forecast_at_zero():
    """Ridges of the panel would go on, and a season of what was sold."""
    ended = np.concatenate([monthly(40).past, np.zeros(12)])
    alone = forecasts([ended], MONTHS)
    beside = forecasts(
        [ended, monthly(60, seed=1).past, monthly(50, seed=2).past], MONTHS
    )
    assert not alone.any()
    assert not beside[0].any()
    assert beside[1:].min() > 20


def test_what_was_sold_for_less_than_a_year_may_be_sold_again():
    """The season is the longest one that candidates know."""
    paused = np.concatenate([monthly(11).past, np.zeros(48)])
    assert forecasts([paused], MONTHS).any()
    ended = np.concatenate([monthly(12).past, np.zeros(48)])
    assert not forecasts([ended], MONTHS).any()


def test_a_launch_beside_longer_series_is_a_step_of_their_clock():
    launched = np.concatenate([np.zeros(30), monthly(20).past])
    assert fitted([monthly(90).past, launched], MONTHS).begun.tolist() == [0, 70]


def test_steps_before_a_launch_are_left_out_of_windows():
    drawn = monthly(60)
    fit = fitted([np.concatenate([np.zeros(30), drawn.past])], MONTHS)
    ends = [
        np.concatenate([np.full(10, value), drawn.past[:40]]) for value in (0.0, 700.0)
    ]
    one, two = (fit.forecast(windows_of([end], end=70)) for end in ends)
    np.testing.assert_allclose(one, two)


def test_growth_and_seasons_that_multiply_go_on():
    rows, rng = np.arange(48), np.random.default_rng(0)
    curves = [
        np.exp(rate * rows + np.tile(rng.normal(size=4), 12) * 0.3)
        for rate in rng.uniform(0.02, 0.06, 20)
    ]
    got = forecasts([curve[:-4] for curve in curves])
    truth = np.stack([curve[-4:] for curve in curves])
    assert np.median(np.abs(got / truth - 1)) < 0.03


def test_trends_go_on():
    rng = np.random.default_rng(0)
    slopes = rng.uniform(1, 3, 20)
    series = [
        100 + slope * np.arange(50) + rng.normal(size=50) * 0.2 for slope in slopes
    ]
    expected = 100 + slopes[:, None] * np.arange(50, 54)
    assert np.abs(forecasts(series) - expected).max() < 1


@pytest.mark.parametrize("value", [0.0, 3.3, -2.0])
def test_a_constant_goes_on(value):
    np.testing.assert_allclose(forecasts([np.full(40, value)]), value, rtol=1e-6)


@pytest.mark.parametrize("n_rows", [1, 2, 3])
def test_who_has_few_rows_keeps_near_them(n_rows):
    got = forecasts([np.array([4.0, 5.0, 4.5])[:n_rows]])
    assert ((got >= 4) & (got <= 5)).all()


@pytest.mark.slow
def test_sums_of_means_of_skewed_noise_are_right():
    rng = np.random.default_rng(0)
    values = 20 * rng.lognormal(-0.32, 0.8, size=(60, 40))
    means, medians = (
        forecasts(
            list(values), SIZES._replace(seasons=(), period=1), of_mean=of_mean
        ).mean()
        for of_mean in (True, False)
    )
    assert means == pytest.approx(20, rel=0.07)
    assert medians < 0.85 * means


# --- who may disturb whom ---------------------------------------------------------------------


def test_the_order_of_series_does_not_matter():
    order = np.random.default_rng(1).permutation(len(PANEL))
    np.testing.assert_allclose(
        forecasts([PANEL[i] for i in order]), FORECASTS[order], rtol=1e-4
    )


@pytest.mark.parametrize("factor", [1e6, 1e-6])
def test_a_series_in_other_units_is_forecast_in_them_and_disturbs_none(factor):
    """A pooled unit would let the large series speak for all."""
    scaled = forecasts([PANEL[0] * factor, *PANEL[1:]])
    np.testing.assert_allclose(scaled[0], factor * FORECASTS[0], rtol=1e-4)
    np.testing.assert_allclose(scaled[1:], FORECASTS[1:], rtol=1e-4)


@pytest.mark.slow
def test_a_shift_without_logarithms_shifts_the_forecasts():
    below = [series - 1e4 for series in PANEL]
    shifted = [series - 2e4 for series in PANEL]
    np.testing.assert_allclose(forecasts(shifted), forecasts(below) - 1e4, atol=1e-2)


@pytest.mark.parametrize("garbage", [1e9, -1e9, 0.0])
def test_garbage_at_one_series_end_changes_no_other_by_a_fiftieth(garbage):
    spoilt = PANEL[0].copy()
    spoilt[-5:] = garbage * np.array([1, -1, 1, 1, -0.5])
    changed = forecasts([spoilt, *PANEL[1:]])
    assert np.isfinite(changed).all()
    np.testing.assert_allclose(changed[1:], FORECASTS[1:], rtol=0.02)


def test_odd_series_get_finite_forecasts_and_disturb_none():
    spikes = np.zeros(40)
    spikes[[5, 20, 33]] = 7
    odd = [
        np.zeros(40),
        np.full(40, 3.0),
        spikes,
        np.array([5.0]),
        np.array([1.0, 2.0]),
    ]
    got = forecasts([*PANEL, *odd])
    assert np.isfinite(got).all()
    np.testing.assert_allclose(got[:40], FORECASTS, rtol=0.05)
    np.testing.assert_array_equal(got[40], 0)
    np.testing.assert_allclose(got[41], 3, rtol=1e-6)
    assert ((got[42] >= 0) & (got[42] <= 7)).all()
    np.testing.assert_allclose(got[43], 5, rtol=1e-6)


@pytest.mark.parametrize("place", [0, 20, 40])
def test_a_series_of_one_row_and_one_of_none_have_the_panels_weights(place):
    series = [*PANEL[:place], np.array([5.0]), np.array([]), *PANEL[place:]]
    fit = fitted(series)
    for i in (place, place + 1):
        np.testing.assert_array_equal(fit.weights[i], fit.panel_weights)
    held = [i for i in range(len(series)) if i != place + 1]
    got = fit.forecast(windows_of([series[i] for i in held], owner=held))
    np.testing.assert_allclose(got[place], 5, rtol=1e-6)
    np.testing.assert_allclose(np.delete(got, place, axis=0), FORECASTS, rtol=1e-3)


def test_a_window_is_forecast_the_same_beside_others():
    windows = windows_of(PANEL)
    for i in (0, 7, 39):
        alone = FIT.forecast(
            UnitWindows(*(part[[i]] for part in windows[:-1]), windows.clock)
        )
        np.testing.assert_allclose(alone[0], FORECASTS[i], rtol=1e-9)


@pytest.mark.slow
def test_batches_do_not_matter():
    """Of 256 windows."""
    many = windows_of(PANEL * 8, owner=[*range(40)] * 8)
    np.testing.assert_allclose(
        FIT.forecast(many), np.tile(FORECASTS, (8, 1)), rtol=1e-9
    )


@pytest.mark.parametrize("owner", [range(40), [-1] * 40])
@pytest.mark.parametrize("before", [NAN, 1e9])
def test_what_stands_before_a_window_does_not_matter(before, owner):
    windows = windows_of(PANEL, before=before, owner=owner)
    windows = windows._replace(known=np.ones_like(windows.known))
    wanted = FIT.forecast(windows_of(PANEL, owner=owner))
    np.testing.assert_array_equal(FIT.forecast(windows), wanted)


def test_what_is_filled_where_nothing_was_observed_does_not_matter():
    drawn = monthly(72)
    drawn.past[20:50] = NAN
    fit, windows = fitted([drawn.past], MONTHS), windows_of([drawn.past])
    other = windows._replace(past=np.where(windows.known, windows.past, 55.0))
    np.testing.assert_array_equal(fit.forecast(other), fit.forecast(windows))


def test_what_is_filled_where_nothing_was_observed_moves_no_weight():
    drawn, steps = monthly(72), np.arange(72)
    known = (steps < 20) | (steps >= 50)
    held, other = (
        np.where(known, drawn.past, value) for value in (drawn.past[19], 55.0)
    )
    one, two = (
        fit_classical(
            SeriesRows(rows, known, steps, np.array([0, 72]), RowClock()),
            MONTHS,
            of_mean=True,
        )
        for rows in (held, other)
    )
    np.testing.assert_array_equal(one.weights, two.weights)


def test_where_nothing_is_known_what_is_filled_is_forecast():
    windows = windows_of([np.full(30, 7.0)], owner=[3])
    got = FIT.forecast(windows._replace(known=np.zeros_like(windows.known)))
    np.testing.assert_allclose(got, 7, rtol=1e-6)


# --- weights and bounds -----------------------------------------------------------------------


def test_weights_are_shares_of_distinct_candidates():
    assert FIT.weights.shape == (len(PANEL), len(FIT.names))
    assert len(set(FIT.names)) == len(FIT.names)
    np.testing.assert_allclose(FIT.weights.sum(axis=1), 1, rtol=1e-5)
    np.testing.assert_allclose(FIT.panel_weights.sum(), 1, rtol=1e-5)
    assert (FIT.weights >= 0).all()


def test_a_series_alone_has_no_ridges_to_share():
    alone, beside = fitted(PANEL[:1]), fitted(PANEL[:3])
    assert not any("ridge" in name for name in alone.names)
    assert any("ridge" in name for name in beside.names)


def test_a_series_that_the_fit_did_not_hold_is_forecast_by_the_panels_weights():
    other = make_panel(5, seed=9)
    got = FIT.forecast(windows_of(other, owner=[-1] * 5))
    every = np.repeat(FIT.panel_weights[None], len(PANEL), axis=0)
    like = replace(FIT, weights=every, begun=np.zeros(len(PANEL), dtype=int))
    np.testing.assert_allclose(got, like.forecast(windows_of(other)), rtol=1e-9)
    assert np.abs(got / FIT.forecast(windows_of(other)) - 1).max() > 0.005


def test_a_series_that_the_fit_did_not_hold_is_alive_from_its_first_row_on():
    drawn = monthly(60)
    fit = fitted([np.concatenate([np.zeros(30), drawn.past])], MONTHS)
    early = [monthly(40, seed=1).past]
    new, held = (
        fit.forecast(windows_of(early, end=40, owner=[one]))[0] for one in (-1, 0)
    )
    assert np.abs(new - monthly(40, seed=1).future).mean() < 2
    assert np.abs(held - monthly(40, seed=1).future).mean() > 3


def test_candidates_that_cannot_forecast_a_window_leave_their_weight_to_the_others():
    short = windows_of([np.array([3.0, 5.0])], owner=[0])
    got = FIT.forecast(short)
    assert ((got > 2) & (got < 7)).all()


def alone(name):
    """Let one candidate forecast for the panel."""
    weights = np.array([one == name for one in FIT.names], dtype=np.float32)
    assert weights.sum() == 1
    return replace(FIT, weights=np.repeat(weights[None], len(PANEL), axis=0))


@pytest.mark.parametrize(
    ("name", "n_rows"), [("season 4", 3), ("ridge 16 from drift 0.03", 15)]
)
def test_a_window_for_which_nobody_else_can_forecast_has_the_last_value(name, n_rows):
    rows = np.random.default_rng(0).normal(50, 5, size=n_rows + 1)
    short, long = (windows_of([part], end=60, owner=[0]) for part in (rows[1:], rows))
    np.testing.assert_allclose(alone(name).forecast(short), rows[-1], rtol=1e-6)
    assert np.ptp(alone(name).forecast(long)) > 0.1


def test_ridges_forecast_nothing_beyond_a_spread_outside_of_what_was_seen():
    rows = np.exp(np.arange(24.0))
    got = alone("log ridge 16 from drift 0.03").forecast(
        windows_of([rows], end=60, owner=[0])
    )
    np.testing.assert_allclose(got[0, -1], 2 * rows[-1] - rows[0], rtol=1e-5)


def test_forecasts_stay_above_zero_where_the_series_did():
    steep = [60.0 - 1.5 * np.arange(39) for _ in range(2)]
    assert (forecasts(steep) >= 0).all()
    assert forecasts([series - 10 for series in steep]).max() < -7.5


def test_each_series_has_the_bound_of_its_own():
    """Also where batches take the longest first."""
    series = [
        30 - 1.5 * np.arange(19.0),
        60 - 1.5 * np.arange(49.0),
        40 - 1.5 * np.arange(26.0),
    ]
    series[2] += 10
    low = forecasts(series).min(axis=1)
    assert low[0] == pytest.approx(0, abs=1e-6)
    assert low[1] < -12
    assert low[2] > 0


def test_later_rows_below_zero_end_the_bound():
    fit = fitted([60.0 - 1.5 * np.arange(39)])
    later = np.concatenate([[30.0], -3.0 - 0.1 * np.arange(38)])
    assert (fit.forecast(windows_of([later], end=78)) < -3).all()


def test_series_that_the_fit_did_not_hold_are_bound_where_all_others_were():
    steep = [60.0 - 1.5 * np.arange(39), 50.0 + np.sin(np.arange(39.0))]
    falling = windows_of([60.0 - 1.5 * np.arange(39)], owner=[-1])
    assert (fitted(steep).forecast(falling) >= 0).all()
    assert (fitted([steep[0], steep[1] - 60]).forecast(falling) < 0).any()


def test_a_jump_does_not_explode():
    jump = np.ones(30)
    jump[-1] = 1000
    got = forecasts([*PANEL, jump])[-1]
    assert (got <= 1999).all()
    assert (got >= 0).all()


# --- judging ----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("seq_len", "pred_len", "period"), [(4, 1, 1), (30, 7, 12), (24, 40, 4)]
)
def test_odd_sizes_work(seq_len, pred_len, period):
    sizes = Sizes(seq_len, pred_len, (period,) if period > 1 else (), seq_len, period)
    got = fitted(PANEL, sizes).forecast(windows_of(PANEL, seq_len=seq_len))
    assert got.shape == (len(PANEL), pred_len)
    assert np.isfinite(got).all()


def test_what_learns_is_judged_on_rows_that_it_has_not_seen(monkeypatch):
    """Ridges that knew the truth would look better than any candidate that cannot."""
    seen = []

    def spy(values, begin, end, *args, **options):
        seen.append((begin, end))
        return fit_ridges(values, begin, end, *args, **options)

    monkeypatch.setattr("skinformer.classical.fit.fit_ridges", spy)
    fitted(PANEL)
    last = np.cumsum([len(series) for series in PANEL])
    first = np.concatenate([[0], last[:-1]])
    for (begin, end), distance in zip(
        seen, [0, *origin_distances(4, 40)], strict=False
    ):
        np.testing.assert_array_equal(begin, first)
        np.testing.assert_array_equal(end, np.maximum(last - distance, first))
    assert len(seen) > 15


def test_truths_are_the_rows_behind_each_origin(entries):
    rows = np.arange(30.0) ** 2
    rows[27] = NAN
    fitted([rows, rows[:3]])
    for (series, _, truth, _), distance in zip(
        entries, origin_distances(4, 2), strict=True
    ):
        assert series.tolist() == [0]
        ahead = np.append(rows, [NAN] * 4)[30 - distance : 34 - distance]
        np.testing.assert_array_equal(truth, [ahead])


def test_a_series_is_judged_from_three_known_rows_on(entries):
    rows = np.arange(10.0) ** 2
    rows[[1, 3, 9]] = NAN  # three are known before row 5
    fitted([rows])
    ahead = [np.append(rows, [NAN] * 4)[origin : origin + 4] for origin in (8, 7, 6, 5)]
    np.testing.assert_array_equal(
        np.concatenate([truth for _, _, truth, _ in entries]), ahead
    )


@pytest.mark.slow
def test_forecasts_are_judged_on_rows_before_the_origin_alone(entries):
    """What comes is not seen, whoever forecasts."""
    fitted(PANEL[:2])
    whole = [forecast for _, forecast, *_ in entries]
    entries.clear()
    fitted([np.concatenate([series[:-4], 2 * series[-4:]]) for series in PANEL[:2]])
    cut = [forecast for _, forecast, *_ in entries]
    for distance, before, after in zip(origin_distances(4, 2), whole, cut, strict=True):
        if distance >= 4:
            np.testing.assert_array_equal(after, before)
        else:
            assert (after != before).any()


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
def test_a_series_unknown_behind_an_origin_is_fitted():
    """Its last rows may all be missing."""
    rows = np.arange(600)
    values = 10 + 3 * np.sin(rows * 2 * np.pi / 7)
    known = rows < 560
    series = SeriesRows(values, known, rows, np.array([0, 600]), RowClock())
    fit = fit_classical(series, Sizes(21, 14, (7,), 21, 7), of_mean=False)
    assert np.isfinite(fit.weights).all()


def make_totals(n_rows, n_series=20):
    """Give counts so far, of waves that come and go at times of their own: (n_series, n_rows)."""
    rng = np.random.default_rng(0)
    rows = np.arange(n_rows)
    week = np.array([1.0, 1.0, 1.2, 1.1, 1.4, 0.5, 0.3])[rows % 7]
    middle = rng.uniform(70, 170, size=(n_series, 1))
    rate = 0.1 + 50 * week * np.exp(-(((rows - middle) / 19) ** 2))
    return 1000 + rng.poisson(rate).cumsum(axis=1).astype(float)


@pytest.mark.parametrize("of_mean", [False, True])
def test_running_totals_rise_as_they_did_last_week(of_mean):
    n_rows, horizon = 150, 14
    whole = make_totals(n_rows + horizon)
    past, future = np.split(whole, [n_rows], axis=1)
    sizes = Sizes(200, horizon, (7,), 56, 7, of_totals=True)
    got = forecasts(list(past), sizes, of_mean=of_mean)
    last_week = np.diff(past[:, -8:])
    repeated = past[:, -1:] + np.cumsum(np.tile(last_week, 2), axis=1)
    assert np.abs(got - future).mean() < 1.1 * np.abs(repeated - future).mean()
    assert (np.diff(got, prepend=past[:, -1:]) > -1).all()
