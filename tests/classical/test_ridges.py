"""Ridges that the series of a panel share."""

from dataclasses import replace

import numpy as np

from skinformer.classical import ridges as ridges_module
from skinformer.classical.candidates import Sizes
from skinformer.classical.means import mean_log_shift
from skinformer.classical.past import Past
from skinformer.classical.ridges import fit_ridges, look_backs, ridge_names, scaled_as
from skinformer.classical.windows import ridge_maps, unit_of
from skinformer.timeline.windows import pasts

SIZES = Sizes(seq_len=16, pred_len=3, seasons=(4,), ridge_rows=16, period=4)


def panel(slopes, n_rows=60, seed=0):
    """Series of the same autoregression around trends, of different sizes."""
    rng = np.random.default_rng(seed)
    out = []
    for i, slope in enumerate(slopes):
        away = np.zeros(n_rows)
        for row in range(1, n_rows):
            away[row] = 0.6 * away[row - 1] + rng.normal()
        out.append(10.0**i * (20 + slope * np.arange(n_rows) + away))
    values = np.concatenate(out)
    return (
        values,
        np.arange(len(slopes)) * n_rows,
        (np.arange(len(slopes)) + 1) * n_rows,
    )


def learnt(values, begin, end):
    shared = fit_ridges(values, begin, end, SIZES, of_mean=False)
    past, length = pasts(values, begin, end, 16)
    return shared, past, length


def test_a_ridge_goes_on_with_the_trend_of_each_series_whatever_its_size():
    # On distances alone, in pooled units, it would shrink trends to those of the largest series.
    values, begin, end = panel([3.0, -3.0, 2.0, -2.0, 3.0, -3.0])
    shared, past, length = learnt(values, begin, end)
    got = shared.forecast(past, length)
    named = dict(zip(ridge_names(16, 4), got.transpose(1, 0, 2), strict=True))
    moved = (
        named["ridge 16 from drift 0.03"][:, -1] - past[:, -1]
    ) / 10.0 ** np.arange(6)
    np.testing.assert_allclose(moved, [9, -9, 6, -6, 9, -9], atol=3)


def test_nothing_behind_the_end_is_learnt():
    values, begin, end = panel([1.0, 2.0])
    spoilt = values.copy()
    spoilt[50:60] = spoilt[110:] = 1e6
    early = end - 10
    one, two = (
        fit_ridges(v, begin, early, SIZES, of_mean=False) for v in (values, spoilt)
    )
    for key, maps in one.maps.items():
        np.testing.assert_array_equal(maps, two.maps[key])


def test_a_window_too_short_for_a_ridge_has_none():
    values, begin, end = panel([1.0, 2.0])
    shared, past, _ = learnt(values, begin, end)
    got = shared.forecast(past, np.array([16, 15]))
    rows = np.array(
        [int(name.split("ridge ")[1].split()[0]) for name in ridge_names(16, 4)]
    )
    np.testing.assert_array_equal(np.isnan(got).all(axis=2), [rows > 16, rows > 15])
    assert (np.isfinite(got).all(axis=2) == ~np.isnan(got).all(axis=2)).all()


def test_a_window_with_anything_but_positive_values_has_no_logarithms():
    values, begin, end = panel([1.0, 2.0])
    shared, past, length = learnt(values, begin, end)
    past[0, 3] = 0.0
    got = np.isfinite(shared.forecast(past, length)).all(axis=2)
    logs = np.array([name.startswith("log") for name in ridge_names(16, 4)])
    np.testing.assert_array_equal(got, [~logs, np.ones(len(logs), dtype=bool)])


def test_too_few_windows_teach_no_ridge():
    values, begin, end = panel([1.0, 2.0])
    shared = fit_ridges(values, begin, begin + 10, SIZES, of_mean=False)
    past, length = pasts(values, begin, end, 16)
    assert {rows for _, _, rows in shared.maps} == set()
    assert np.isnan(shared.forecast(past, length)).all()


def test_a_window_repeats_its_last_season_and_its_last_value_before_it():
    values, begin, end = panel([1.0, 2.0])
    shared, past, _ = learnt(values, begin, end)
    season = scaled_as(shared, past, np.array([16, 3])).anchors["season"]
    np.testing.assert_array_equal(season[0], past[0, -4:-1])
    np.testing.assert_array_equal(season[1], past[1, [-1, -3, -2]])


def test_means_of_logarithms_lie_above_their_medians_by_the_noise():
    rng = np.random.default_rng(0)
    values = np.exp(rng.normal(0, 0.4, size=120))
    begin, end = np.array([0, 60]), np.array([60, 120])
    past, _ = pasts(values, begin, end, 16)
    past[1, :7], length = past[1, 7], np.array([16, 9])
    shared = fit_ridges(values, begin, end, SIZES, of_mean=True)
    raised, plain = (
        replace(shared, of_mean=of_mean).forecast(past, length)
        for of_mean in (True, False)
    )
    n_plain = raised.shape[1] // 2
    np.testing.assert_array_equal(raised[:, :n_plain], plain[:, :n_plain])
    real = np.where(np.arange(16) >= 16 - length[:, None], np.log(past), np.nan)
    expected = mean_log_shift(Past(real, np.broadcast_to(np.arange(16), (2, 16))), 4)
    assert expected.min() > 0.02
    for i, shift in enumerate(expected):
        by = np.log(raised[i, n_plain:] / plain[i, n_plain:])
        np.testing.assert_allclose(by[~np.isnan(by)], shift)


def test_look_backs_are_seasons_and_fit():
    assert look_backs(96, 12) == (12, 24, 48, 96)
    assert look_backs(3, 1) == ()
    assert len(ridge_names(3, 1)) == 0


def test_the_unit_is_not_blown_up_by_a_trend():
    # The deviation of this series is 170 times its seasonal difference's noise.
    past = 5.0 * np.arange(40)[None]
    np.testing.assert_allclose(unit_of(past, np.array([40]), 1), 5)
    np.testing.assert_allclose(unit_of(past, np.array([40]), 4), 20)


def test_the_unit_of_a_window_goes_by_its_own_length():
    """Windows of a season at most are measured by neighbours, and padding counts nowhere."""
    past = np.array([[7.0, 7.0, 1.0, 2.0, 4.0], [0.0, 1.0, 3.0, 2.0, 5.0]])
    np.testing.assert_allclose(unit_of(past, np.array([3, 5]), 3), [1.5, 3.0])


def test_what_windows_are_made_of_is_multiplied_once_for_both_anchors(monkeypatch):
    """Means weigh all windows alike: the same equations for both, with other right sides."""
    solved = []

    def spy(gram, cross, strengths):
        solved.append(cross.shape[1])
        return ridge_maps(gram, cross, strengths)

    monkeypatch.setattr(ridges_module, "ridge_maps", spy)
    values, begin, end = panel([1.0, 2.0])
    fit = fit_ridges(values, begin, end, SIZES, of_mean=True)
    n_fitted = len({(scale, rows) for scale, _, rows in fit.maps})
    assert solved == [2 * SIZES.pred_len] * n_fitted


def test_windows_of_garbage_hardly_move_the_shared_maps():
    # One series with spikes would have most of all sums, and the others its map.
    values, begin, end = panel([1.0, -1.0, 0.5, -0.5, 0.0, 0.7, -0.7, 0.3])
    spoilt = values.copy()
    spoilt[begin[-1] + np.array([20, 33, 41, 50])] *= np.array([1e7, -1e7, 1e7, -1e5])
    shared, past, length = learnt(values, begin, end)
    other = fit_ridges(spoilt, begin, end, SIZES, of_mean=False)
    forecasts = [one.forecast(past, length)[:-1] for one in (shared, other)]
    moved = (
        np.abs(forecasts[1] - forecasts[0]) / unit_of(past, length, 4)[:-1, None, None]
    )
    assert np.nanmean(moved) < 0.1
    assert np.nanmax(moved) < 1


def test_a_series_that_repeats_itself_exactly_hardly_moves_the_shared_maps():
    # Its seasonal differences are 0, so that in units of them all its distances are endless.
    values, begin, end = panel([1.0, -1.0, 0.5, -0.5, 0.0, 0.7, -0.7, 0.3])
    repeating = values.copy()
    repeating[begin[-1] :] = np.resize([1.0, 5.0, 2.0, 3.0], 60)
    shared, past, length = learnt(values, begin, end)
    other = fit_ridges(repeating, begin, end, SIZES, of_mean=False)
    forecasts = [one.forecast(past, length)[:-1] for one in (shared, other)]
    moved = (
        np.abs(forecasts[1] - forecasts[0]) / unit_of(past, length, 4)[:-1, None, None]
    )
    assert np.nanmean(moved) < 0.2
