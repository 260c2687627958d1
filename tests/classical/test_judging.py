"""Weights come from each series' own errors, shrunk to the panel's."""

import numpy as np
import pytest

from skinformer.classical.judging import ErrorAccumulator, origin_distances

NAN = np.nan
NAMES = ["last", "mean", "median"]


def add(accumulator, series, forecast, truth):
    """Add forecasts of some series, all of which have level 0 before."""
    accumulator.add(np.array(series), forecast, truth, np.zeros(len(truth)))


def accumulated(errors, n_origins=12, names=NAMES):
    """Add for each series (row) constant errors of candidates (columns), at some origins."""
    errors = np.asarray(errors, dtype=float)
    accumulator = ErrorAccumulator(len(errors), names)
    forecast = np.repeat(errors[:, :, None], 3, axis=2)
    for _ in range(n_origins):
        add(accumulator, np.arange(len(errors)), forecast, np.zeros((len(errors), 3)))
    return accumulator


def weights(*args, **options):
    return accumulated(*args, **options).weights()[0]


# --- origins ----------------------------------------------------------------------------------


def test_origins_lie_a_third_of_the_horizon_apart():
    assert origin_distances(12, 1) == list(range(4, 97, 4))
    assert origin_distances(13, 1)[:2] == [4, 8]


@pytest.mark.parametrize("pred_len", [1, 2, 5])
def test_origins_of_short_forecasts_are_neighbours(pred_len):
    assert origin_distances(pred_len, 1) == list(range(1, 25))


@pytest.mark.parametrize(
    ("n_series", "n"), [(0, 24), (400, 24), (1000, 10), (90000, 8)]
)
def test_a_large_panel_is_judged_at_fewer_origins(n_series, n):
    assert len(origin_distances(3, n_series)) == n


# --- errors -----------------------------------------------------------------------------------


def test_errors_are_relative_to_the_best_and_the_median_candidate():
    accumulator = ErrorAccumulator(1, NAMES)
    add(accumulator, [0], np.array([[[7.0], [9], [13]]]), np.array([[5.0]]))
    # Errors of 2, 4 and 8 in units of (2 + 4) / 2.
    np.testing.assert_allclose(accumulator.errors[0], [2 / 3, 4 / 3, 8 / 3])
    np.testing.assert_allclose(accumulator.typical, 4 / 3)


def test_steps_whose_truth_is_unknown_are_not_judged():
    forecast = np.array([[[7.0, 99, 5], [9, 5, 5], [13, 5, 5]]])
    accumulator = ErrorAccumulator(1, NAMES)
    add(accumulator, [0], forecast, np.array([[5.0, NAN, NAN]]))
    np.testing.assert_allclose(
        accumulator.errors[0] / accumulator.counts[0], [2 / 3, 4 / 3, 8 / 3]
    )
    np.testing.assert_allclose(accumulator.total, 3**-0.5)


def test_a_candidate_that_cannot_forecast_is_not_asked():
    accumulator = accumulated([[1.0, 2.0, NAN], [1.0, 2.0, 3.0]], n_origins=1)
    assert (accumulator.counts > 0).tolist() == [[True, True, False], [True] * 3]
    assert np.isnan(accumulator.log_errors()).tolist() == [
        [False, False, True],
        [False] * 3,
    ]


def test_series_that_are_not_at_an_origin_keep_their_sums():
    accumulator = ErrorAccumulator(3, NAMES)
    add(accumulator, [2, 0], np.ones((2, 3, 1)), np.zeros((2, 1)))
    assert (accumulator.total > 0).tolist() == [True, False, True]


def test_origins_count_as_many_as_they_are_if_they_weigh_alike():
    accumulator = ErrorAccumulator(2, NAMES)
    for _ in range(7):
        add(accumulator, [0], np.ones((1, 3, 1)), np.zeros((1, 1)))
    np.testing.assert_allclose(accumulator.n_origins, [7, 0])


# --- weights ----------------------------------------------------------------------------------


@pytest.mark.parametrize("n_series", [1, 3])
def test_who_is_twice_as_good_gets_most(n_series):
    found = weights([[2.0, 1.0, 2.0]] * n_series)
    assert found.shape == (n_series, 3)
    assert (found[:, 1] > 0.95).all()


def test_weights_are_shares():
    found, panel = accumulated(
        np.random.default_rng(0).uniform(1, 2, size=(5, 3))
    ).weights()
    np.testing.assert_allclose(found.sum(axis=1), 1, rtol=1e-6)
    np.testing.assert_allclose(panel.sum(), 1, rtol=1e-6)
    assert panel.shape == (3,)
    assert found.dtype == panel.dtype == np.float32
    assert min(found.min(), panel.min()) > 0


def test_equal_errors_have_equal_weights():
    np.testing.assert_allclose(
        weights([[1.0, 1.0, 1.0], [5.0, 5.0, 5.0]]), 1 / 3, rtol=1e-6
    )


def test_more_origins_are_believed_more():
    one, four, six, many = (weights([[1.0, 1.2, 1.2]], n)[0, 0] for n in (1, 4, 6, 24))
    assert 0.4 < one < four < six
    assert many < 0.9


def test_a_wild_time_decides_no_more_than_a_quiet_one():
    accumulator = accumulated([[1.0, 2.0, 2.0]], n_origins=6)
    add(accumulator, [0], 1e9 * np.array([[[2.0], [1], [1]]]), np.zeros((1, 1)))
    assert accumulator.weights()[0][0].argmax() == 0


def test_a_series_that_was_not_judged_has_the_panels_weights():
    accumulator = ErrorAccumulator(3, NAMES)
    errors = np.array([[[1.0], [2], [3]], [[1.5], [1], [3]]])
    add(accumulator, [0, 1], errors, np.zeros((2, 1)))
    found, panel = accumulator.weights()
    np.testing.assert_array_equal(found[2], panel)
    assert panel[0] > panel[1] > 2 * panel[2]


def test_the_errors_of_a_panel_move_the_weights_of_a_series():
    """Where errors are other ones at each origin, what one series shows may be chance."""
    own = [1.0, 1.3, 1.6]
    alone = weights([own], 6)[0]
    rng = np.random.default_rng(0)
    usual = np.array([own] + [[1.6, 1.3, 1.0]] * 30)
    accumulator = ErrorAccumulator(31, NAMES)
    for _ in range(6):
        errors = usual * np.exp(0.3 * rng.normal(size=usual.shape))
        errors[0] = own
        forecast = np.repeat(errors[:, :, None], 3, axis=2)
        add(accumulator, np.arange(31), forecast, np.zeros((31, 3)))
    beside = accumulator.weights()[0][0]
    assert alone.argmax() == 0
    assert beside.argmax() == 2


def test_a_series_differs_from_its_panel_by_its_own_errors():
    found = weights([[1.0, 1.3, 1.6]] + [[1.6, 1.3, 1.0]] * 30)
    assert found[0, 0] > 5 * found[1, 0]


def test_who_was_never_asked_counts_as_usual():
    """As the median candidate, not as the best or the worst."""
    names = ["last", "mean", "median", "other", "unasked"]
    found, panel = accumulated([[1.0, 1.2, 1.4, 1.2, NAN]] * 3, names=names).weights()
    for each in (*found, panel):
        np.testing.assert_allclose(each[4], each[1], rtol=1e-5)


def test_who_was_asked_elsewhere_counts_as_there():
    found = weights([[1.0, 1.2, NAN], [1.0, 1.2, 1.0]])
    assert found[0, 0] > found[0, 2] > 2 * found[0, 1]


def test_a_single_lucky_origin_proves_little():
    """A quarter of an origin of the typical candidate stands beside each one's own."""
    accumulator = ErrorAccumulator(1, ["last", "mean", "median", "often", "once"])
    for once in [0.1] + [NAN] * 11:
        errors = np.array([[[1.0], [1.0], [1.0], [0.1], [once]]])
        add(accumulator, [0], errors, np.zeros((1, 1)))
    usual, good = 1 / 0.55, 0.1 / 0.55
    often, once = ((n * good + 0.25 * usual) / (n + 0.25) for n in (12, 1))
    found = accumulator.log_errors()[0, [0, 3, 4]]
    np.testing.assert_allclose(found, np.log([usual, often, once]), atol=1e-5)


def test_seasons_never_asked_are_preferred():
    names = ["last", "season 12", "level + season 12", "drift"]
    found, panel = accumulated([[1.0, NAN, NAN, 1.0]] * 2, names=names).weights()
    for each in (*found, panel):
        assert each[1] == pytest.approx(each[2])
        assert each[1] > 2.7 * each[0]  # a factor e
        assert each[3] == pytest.approx(each[0])


def test_seasons_that_were_asked_are_judged_by_their_errors():
    names = ["last", "season 12", "drift"]
    assert weights([[1.0, 1.0, 1.0]], names=names)[0, 1] == pytest.approx(1 / 3)


def test_where_nothing_was_judged_only_what_repeats_counts():
    names = [
        "last",
        "mean",
        "drift",
        "log theta",
        "damped + season 4",
        "ridge 4",
        "line",
    ]
    found, panel = ErrorAccumulator(2, names).weights()
    for each in (*found, panel):
        np.testing.assert_allclose(each, [1, 0, 0, 0, 0, 0, 0])


def test_where_nothing_was_judged_seasons_are_preferred():
    found = ErrorAccumulator(
        1, ["last", "season 4", "level + both seasons", "drift"]
    ).weights()[0][0]
    assert found[1] > 2.7 * found[0]
    assert found[0] > found[2] == found[3] == 0


# --- final forecasts --------------------------------------------------------------------------


def compared(moves, errors=(1.0, 1.0, 1.0), truth=1.0, leaps=(0.0, 0.0, 0.0)):
    """Weigh candidates by how far their final forecasts leave a level that truths left by 1."""
    accumulator = ErrorAccumulator(2, NAMES)
    forecast = truth + np.repeat(np.array([errors] * 2)[:, :, None], 4, axis=2)
    for _ in range(12):
        add(accumulator, [0, 1], forecast, np.full((2, 4), truth))
    final = np.repeat(np.array([moves], dtype=float)[:, :, None], 4, axis=2)
    leaps = np.array([leaps])
    accumulator.compare_final(np.array([0]), final, np.zeros(1), leaps)
    return accumulator.weights()[0]


def test_a_final_forecast_that_goes_farther_than_usual_counts_less():
    """As if its error at one origin more were so much larger."""
    found = compared([1.0, 3.0, -6.0])
    power = 4 * 6**0.5 / (1 + 12)
    np.testing.assert_allclose(
        found[0, 0] / found[0, 1:], [1.5**power, 3**power], rtol=0.05
    )
    np.testing.assert_allclose(found[1], 1 / 3, rtol=1e-6)  # it was not compared


def test_who_was_never_asked_has_its_final_forecast_alone_to_speak_for_it():
    found = compared([1.0, 1.0, 6.0], errors=(1.0, 1.0, NAN))
    assert found[1, 2] > 1000 * found[0, 2]


@pytest.mark.parametrize("leap", [0.0, 1.0, 3.0])
def test_who_was_never_asked_counts_less_the_farther_it_leaps(leap):
    """As normal changes of such a size are rarer than none."""
    found = compared([0.0] * 3, errors=(1.0, 1.0, NAN), leaps=(0.0, 0.0, leap))
    expected = np.exp(-(leap**2) / 2)
    np.testing.assert_allclose(found[0, 2] / found[0, 0], expected, rtol=1e-5)


def test_who_was_asked_may_leap():
    found = compared([0.0] * 3, leaps=(0.0, 2.0, 9.0))
    np.testing.assert_allclose(found[0], 1 / 3, rtol=1e-6)


def test_a_leap_counts_so_much_and_no_more():
    """It does not outweigh all else: the first step may be a holiday."""
    found = compared([0.0] * 3, errors=(1.0, 1.0, NAN), leaps=(0.0, 0.0, 99.0))
    np.testing.assert_allclose(found[0, 2] / found[0, 0], np.exp(-6), rtol=1e-5)


def test_twice_as_far_as_usual_is_fine():
    np.testing.assert_allclose(compared([0.0, 2.0, -2.0])[0], 1 / 3, rtol=1e-6)


def test_a_candidate_without_a_final_forecast_loses_nothing():
    np.testing.assert_allclose(compared([0.0, NAN, 1.0])[0], 1 / 3, rtol=1e-6)


def test_where_nothing_moved_nothing_is_unusual():
    found = compared([1.0, 2.0, 9.0], truth=0.0)
    np.testing.assert_allclose(found[0], found[1])


def test_a_forecast_without_error_gets_most_and_breaks_nothing():
    found = weights([[0.0, 1.0, 1.0], [0.0, 0.0, 0.0]])
    assert np.isfinite(found).all()
    assert found[0, 0] > 0.99


# --- series' own errors beside the panel's ----------------------------------------------------


def panel_of_errors(own, *, n_series=60, n_origins=8, seed=0):
    """Judge a panel by errors of which so much is each series' own, and the rest chance."""
    rng = np.random.default_rng(seed)
    lasting = own * rng.normal(size=(n_series, len(NAMES)))
    accumulator = ErrorAccumulator(n_series, NAMES)
    for _ in range(n_origins):
        chance = rng.normal(size=lasting.shape)
        errors = np.exp(0.3 * (lasting + chance))
        forecast = np.repeat(errors[:, :, None], 3, axis=2)
        add(accumulator, np.arange(n_series), forecast, np.zeros((n_series, 3)))
    return accumulator


def test_own_errors_are_believed_as_far_as_other_origins_say_the_same():
    lasting = panel_of_errors(2.0).origins_of_others()
    some = panel_of_errors(0.6).origins_of_others()
    chance = panel_of_errors(0.0).origins_of_others()
    assert 1 <= lasting < 4
    assert lasting < some < 9
    assert 9 < chance <= 12


def test_few_series_say_little_of_how_far_own_errors_are_believed():
    few = panel_of_errors(2.0, n_series=3).origins_of_others()
    assert 8 < few < 12
    assert panel_of_errors(2.0, n_series=1).origins_of_others() == 12
    assert panel_of_errors(2.0, n_origins=4).origins_of_others() == 12


def test_the_best_of_each_series_has_more_weight_where_series_differ_for_good():
    accumulator = panel_of_errors(2.0)
    found, _ = accumulator.weights()
    accumulator.origins_of_others = lambda: 12.0
    by_twelve, _ = accumulator.weights()
    best = accumulator.errors.argmin(axis=1)
    rows = np.arange(len(best))
    assert found[rows, best].mean() > by_twelve[rows, best].mean() + 0.02
