"""Each classical candidate forecasts what its name says, whatever rows are missing."""

import numpy as np
import pytest

from skinformer.classical.candidates import candidate_names, forecast_candidates
from skinformer.classical.means import mean_log_shift
from skinformer.classical.past import Past

NAN = np.nan
WAVE = np.array([3.0, -1.0, -4.0, 2.0])
NOISY = 20 + np.random.default_rng(0).normal(size=(4, 40)).cumsum(axis=1)
GAPS = {"middle": slice(47, 62), "front": slice(0, 30), "end": slice(93, 100)}


def past_of(values, horizon=6, wall=None):
    values = np.atleast_2d(np.array(values, dtype=float))
    n_rows = values.shape[1] + horizon
    wall = np.arange(n_rows) if wall is None else wall
    return Past(values, np.broadcast_to(wall, (len(values), n_rows)))


def forecasts(values, seasons=(4,), *, of_mean=False, **options):
    """Name the forecasts of some windows."""
    found = forecast_candidates(past_of(values, **options), seasons, of_mean=of_mean)
    names = candidate_names(seasons, of_mean=of_mean)
    return dict(zip(names, found.swapaxes(0, 1), strict=True))


def spoilt(values, where):
    return np.where(np.isin(np.arange(100), np.arange(100)[GAPS[where]]), NAN, values)


def test_what_repeats_what_was_is_what_it_is_called():
    rows = [9, 8, 1, 2, 3, 4, 5, 6, 7, NAN]
    got = forecasts([rows, [NAN] * 8 + [5, 3]], horizon=3)
    assert got["last"].tolist() == [[7] * 3, [3] * 3]
    assert got["mean"].tolist() == [[5] * 3, [4] * 3]
    assert got["median"].tolist() == [[5] * 3, [4] * 3]
    assert got["season 4"][0].tolist() == [5, 6, 7]


def test_means_of_a_season_are_those_of_its_places():
    got = forecasts([4, 0, 4, 6, NAN, 6, 16, 12], (2,), horizon=3)
    np.testing.assert_allclose(got["means of season 2"], [[8, 6, 8]])


def test_what_is_recent_are_six_known_rows_or_two_seasons():
    rows = [90, 80, 1, 2, 3, NAN, 5, 6, 13, NAN]
    for seasons, mean, median in (((2,), 5, 4), ((), 5, 4), ((4,), 25, 5.5)):
        got = forecasts(rows, seasons)
        np.testing.assert_allclose(got["recent mean"], mean)
        np.testing.assert_allclose(got["recent median"], median)


def test_a_longer_past_is_four_seasons_or_a_horizon():
    rows = np.arange(60.0) ** 2
    for seasons, horizon, n in (((4,), 3, 16), ((), 3, 12), ((4,), 20, 20)):
        got = forecasts(rows, seasons, horizon=horizon)
        np.testing.assert_allclose(got["longer mean"], rows[-n:].mean())
        np.testing.assert_allclose(got["longer median"], np.median(rows[-n:]))


@pytest.mark.parametrize("where", [None, *GAPS])
def test_a_line_goes_on_through_gaps(where):
    rows, expected = 5 + 2 * np.arange(100.0), 205 + 2 * np.arange(6.0)
    got = forecasts(rows if where is None else spoilt(rows, where))
    np.testing.assert_allclose(got["line"][0], expected)
    np.testing.assert_allclose(got["drift"][0], expected, rtol=1e-4)


def test_growth_goes_on_by_logarithms():
    rows = np.exp(0.05 * np.arange(100.0))
    got = forecasts(rows, horizon=3)
    np.testing.assert_allclose(got["log line"][0], np.exp(0.05 * np.arange(100, 103)))
    np.testing.assert_allclose(
        got["log drift"][0], np.exp(0.05 * np.arange(100, 103)), rtol=1e-3
    )
    assert (got["line"] < got["log line"] / 1.5).all()


@pytest.mark.parametrize("where", [None, *GAPS])
def test_a_season_goes_on_through_gaps(where):
    rows = 10 + np.tile(WAVE, 25)
    got = forecasts(rows if where is None else spoilt(rows, where))
    for name in ("season 4", "means of season 4"):
        np.testing.assert_allclose(
            got[name][0], 10 + np.tile(WAVE, 2)[:6], err_msg=name
        )
    near = ["level", "damped", "theta", "drift", "line", "log level", "log line"]
    for name in [f"{one} + season 4" for one in near]:
        np.testing.assert_allclose(
            got[name][0], 10 + np.tile(WAVE, 2)[:6], atol=0.25, err_msg=name
        )


@pytest.mark.parametrize("where", [None, *GAPS])
def test_a_season_on_a_line_goes_on_through_gaps(where):
    every = 5 + 0.7 * np.arange(106) + np.resize(WAVE, 106)
    got = forecasts(every[:100] if where is None else spoilt(every[:100], where))
    for name in ("line + season 4", "drift + season 4"):
        np.testing.assert_allclose(got[name][0], every[100:], atol=0.5, err_msg=name)


def test_a_season_that_grows_goes_on_by_logarithms():
    every = np.exp(0.02 * np.arange(106) + 0.1 * np.resize(WAVE, 106))
    got = forecasts(every[:100])
    np.testing.assert_allclose(got["log line + season 4"][0], every[100:], rtol=0.03)


def test_the_level_of_noise_is_its_mean_and_that_of_a_walk_its_end():
    noise = np.random.default_rng(0).normal(size=(20, 100))
    got, walk = forecasts(noise), forecasts(noise.cumsum(axis=1))
    assert np.abs(got["level"][:, 0] - noise.mean(axis=1)).mean() < 0.2
    assert np.abs(walk["level"] - walk["last"]).mean() < 0.2


def test_theta_goes_on_by_half_the_slope():
    got = forecasts(NOISY)
    slope = np.polyfit(np.arange(40), NOISY.T, 1)[0]
    expected = got["level"] + slope[:, None] / 2 * np.arange(1, 7)
    np.testing.assert_allclose(got["theta"], expected)


def test_a_damped_trend_goes_on_ever_more_slowly():
    steps = np.diff(forecasts(2 * np.arange(60.0))["damped"][0])
    assert (steps > 1).all()
    assert (np.diff(steps) < 0).all()


def two_seasons(n_rows):
    day = np.resize(WAVE, n_rows)
    week = np.resize(np.repeat([0.0, 6.0, -2.0, 0.0, 3.0, -7.0, 0.0], 4), n_rows)
    return 50 + day + week


def test_both_seasons_go_on():
    every = two_seasons(6 * 28)
    got = forecasts(every[:-28], (4, 28), horizon=28)
    missed = {
        name: np.abs(forecast[0] - every[-28:]).mean() for name, forecast in got.items()
    }
    assert missed["level + both seasons"] < 0.8
    assert missed["level + season 4"] > 2


def test_a_long_season_that_was_seen_twice_is_believed_by_two_thirds():
    week = np.resize(np.repeat([0.0, 6.0, -2.0, 0.0, 3.0, -7.0, 0.0], 4), 56)
    seen = {n: forecasts(np.tile(week, n), (4, 28), horizon=28) for n in (1, 10)}
    two, twenty = (np.ptp(got["line + both seasons"]) / 13 for got in seen.values())
    assert two == pytest.approx(2 / 3, abs=0.1)
    assert twenty == pytest.approx(20 / 21, abs=0.05)


@pytest.mark.parametrize(("n_rows", "able"), [(41, False), (42, True)])
def test_both_seasons_are_told_apart_from_one_and_a_half_long_ones_on(n_rows, able):
    got = forecasts(two_seasons(n_rows), (4, 28))
    assert np.isfinite(got["level + both seasons"]).all() == able


@pytest.mark.parametrize(("n_rows", "able"), [(11, False), (12, True)])
def test_a_season_longer_than_a_window_is_no_forecast(n_rows, able):
    padded = np.pad(NOISY[:, :n_rows], ((0, 0), (30, 0)), constant_values=NAN)
    for name, forecast in forecasts(padded, (12,)).items():
        assert np.isfinite(forecast).all() == (able or "season" not in name), name
        assert np.isnan(forecast).all() == (not able and "season" in name), name


def test_a_season_needs_three_known_rows():
    rows = np.array(
        [[5, NAN, NAN, NAN, NAN, NAN, 6, NAN], [5, NAN, NAN, 7, NAN, NAN, 6, NAN]]
    )
    assert np.isfinite(forecasts(rows)["season 4"]).all(axis=1).tolist() == [
        False,
        True,
    ]


def test_places_never_observed_are_forecast_as_their_neighbours():
    rows = np.tile([NAN, 2.0, 8.0, NAN], 6)
    got = forecasts(rows, horizon=4)
    for name in ("season 4", "means of season 4"):
        np.testing.assert_allclose(got[name], [[2, 2, 8, 8]], err_msg=name)
    assert all(np.isfinite(forecast).all() for forecast in got.values())


@pytest.mark.parametrize("seasons", [(), (4,), (4, 12)])
def test_columns_in_front_in_which_nothing_is_known_change_nothing(seasons):
    alone = forecasts(NOISY, seasons)
    wall = np.arange(-33, 46)
    behind = forecasts(
        np.pad(NOISY, ((0, 0), (33, 0)), constant_values=NAN), seasons, wall=wall
    )
    for name, forecast in alone.items():
        np.testing.assert_allclose(behind[name], forecast, rtol=1e-9, err_msg=name)


def test_a_window_is_forecast_the_same_beside_others():
    rows = np.concatenate([NOISY, NOISY - 50, NOISY * 1e6])
    rows[1, :20] = rows[2, 5:15] = rows[6, -3:] = NAN
    together = forecast_candidates(past_of(rows), (4, 12), of_mean=True)
    for i, row in enumerate(rows):
        alone = forecast_candidates(past_of(row), (4, 12), of_mean=True)[0]
        np.testing.assert_allclose(together[i], alone, rtol=1e-9)


@pytest.mark.parametrize("change", [8, 30, 41])
def test_the_season_follows_the_clock_on_the_wall(change):
    """From a row on the clock is an hour ahead, in the window or in the forecast."""
    wall = np.arange(46) + (np.arange(46) >= change)
    every = 10 + WAVE[wall % 4]
    got = forecasts(every[:40], wall=wall)
    for name in ("season 4", "means of season 4"):
        np.testing.assert_allclose(got[name][0], every[40:], err_msg=name)
    np.testing.assert_allclose(got["level + season 4"][0], every[40:], atol=0.5)


def test_there_are_logarithms_only_where_all_is_positive():
    rows = np.array([NOISY[0], NOISY[1] - NOISY[1].min(), NOISY[2] - 100])
    rows[0, :5] = NAN
    for name, forecast in forecasts(rows).items():
        able = np.isfinite(forecast).all(axis=1).tolist()
        assert able == [True, not name.startswith("log"), not name.startswith("log")], (
            name
        )


@pytest.mark.parametrize("of_mean", [False, True])
def test_nothing_is_forecast_beyond_a_spread_outside_of_what_was_seen(of_mean):
    jump = np.ones((4, 30))
    jump[0, -1], jump[1, :15], jump[2, 15:] = 1000, 1e-9, np.arange(1, 16) ** 9
    jump[3] = np.arange(30, 0, -1)
    low, high = jump.min(axis=1)[:, None], jump.max(axis=1)[:, None]
    got = forecasts(jump, horizon=50, of_mean=of_mean)
    for name, forecast in got.items():
        assert (forecast <= high + (high - low)).all(), name
        assert (forecast >= low - (high - low)).all(), name
    assert got["log line"][2, -1] == 2 * high[2] - low[2]
    assert got["line"][3, -1] == 2 * low[3] - high[3]


def test_logarithms_that_go_on_growing_overflow_nothing():
    got = forecasts(np.logspace(-200, 250, 30), horizon=50)
    assert all(np.isfinite(forecast).all() for forecast in got.values())


def test_a_constant_is_forecast_as_it_is():
    for name, forecast in forecasts(np.full((1, 30), 7.0)).items():
        np.testing.assert_allclose(forecast, 7, err_msg=name)


@pytest.mark.parametrize("seasons", [(), (4,), (4, 12)])
def test_forecasts_follow_a_shift_and_a_factor(seasons):
    got, moved = forecasts(NOISY, seasons), forecasts(NOISY + 1000, seasons)
    larger = forecasts(NOISY * 1e6, seasons)
    for name, forecast in got.items():
        np.testing.assert_allclose(
            larger[name], forecast * 1e6, rtol=1e-7, err_msg=name
        )
        if not name.startswith("log"):
            np.testing.assert_allclose(
                moved[name], forecast + 1000, rtol=1e-7, err_msg=name
            )


@pytest.mark.parametrize("of_mean", [False, True])
@pytest.mark.parametrize("seasons", [(), (4,), (4, 12)])
def test_names_are_distinct_and_the_first_is_the_last_value(seasons, of_mean):
    names = candidate_names(seasons, of_mean=of_mean)
    assert len(set(names)) == len(names)
    assert names[0] == "last"


def test_means_have_no_medians_and_raise_logarithms():
    rows = np.exp(np.random.default_rng(0).normal(0, 0.5, size=(3, 60)))
    medians, means = forecasts(rows), forecasts(rows, of_mean=True)
    assert set(medians) - set(means) == {"median", "longer median", "recent median"}
    shift = mean_log_shift(past_of(np.log(rows)), 4)
    assert shift.min() > 0.05
    for name, forecast in means.items():
        factor = np.exp(shift[:, None]) if name.startswith("log") else 1
        np.testing.assert_allclose(forecast, medians[name] * factor, err_msg=name)
