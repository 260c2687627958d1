"""Weights come from each series' own errors, shrunk to the panel's."""

import numpy as np
import pytest

from skinformer.classical.judging import Ledger, judging_offsets, kinds_of
from skinformer.classical.windows import Truths


def weights_of(ledger):
    """Weigh series of one kind."""
    same = np.zeros((len(ledger.counts), 2))
    return ledger.weights(same, same)


def entered(errors, counts=6):
    """Enter for each series (row) constant errors of candidates (columns), at some origins."""
    errors = np.asarray(errors, dtype=float)
    ledger = Ledger(*errors.shape)
    truth = Truths(np.zeros((len(errors), 3)), np.ones((len(errors), 3), dtype=bool))
    for _ in range(counts):
        forecast = np.repeat(errors[:, :, None], 3, axis=2)
        ledger.enter(np.arange(len(errors)), forecast, truth, np.ones(len(errors)))
    return ledger


def test_a_series_own_errors_count_as_its_origins_allow():
    # Twenty series prefer the first candidate, one prefers the last.
    errors = [[1.0, 1.2, 1.4]] * 20 + [[1.4, 1.2, 1.0]]
    few, many = (weights_of(entered(errors, counts)) for counts in (1, 60))
    assert few[0].argmax() == many[0].argmax() == few[-1].argmax() == 0
    assert many[-1, 2] > 10 * few[-1, 2]


def test_one_outlier_says_no_more_than_a_bad_forecast():
    # Squared or plain errors of one series would decide for all.
    calm = [[1.0, 1.2, 1.4]] * 20
    bad = weights_of(entered([*calm, [9.0, 1.2, 1.0]]))
    worse = weights_of(entered([*calm, [1e12, 1.2, 1.0]]))
    np.testing.assert_allclose(bad[:20], worse[:20], atol=0.05)


def test_a_series_that_was_not_judged_has_the_panels_weights():
    ledger = entered([[1.0, 1.2], [1.0, 1.3]])
    longer = Ledger(3, 2)
    for name in ("errors", "typical", "counts"):
        getattr(longer, name)[:2] = getattr(ledger, name)
    np.testing.assert_allclose(weights_of(longer)[2], longer.panel_weights(), rtol=1e-5)


def test_a_lone_series_is_believed_less_than_a_panel_that_agrees():
    # By six overlapping origins of its own, a random walk finds a trend.
    alone, together = (weights_of(entered([[1.0, 1.5]] * n))[0, 0] for n in (1, 100))
    assert 0.6 < alone < 0.9 < together


def test_the_first_candidate_is_alone_where_nothing_was_judged():
    np.testing.assert_array_equal(weights_of(Ledger(2, 3)), [[1, 0, 0]] * 2)


def test_errors_are_relative_to_the_unit_and_the_median_candidate():
    ledger = Ledger(1, 3)
    truth = Truths(np.array([[5.0, 5.0]]), np.array([[True, False]]))
    ledger.enter(np.array([0]), np.array([[[7.0, 9], [9, 0], [13, 0]]]), truth, np.array([2.0]))
    expected = np.log(np.array([1.05, 2.05, 4.05]) / 2.05)
    np.testing.assert_allclose(ledger.log_errors(slice(None))[0], expected, atol=1e-6)
    assert ledger.counts[0] == 0.5


@pytest.mark.parametrize("period", [1, 4, 12])
def test_origins_lie_inside_each_series_and_hold_a_truth(period):
    length = np.arange(120)
    offsets = judging_offsets(length, 8, period)
    assert (offsets[:, length < 4] == 0).all()
    assert ((offsets > 0).any(axis=0) == (length >= 4)).all()
    assert (offsets <= np.maximum(length - 2, 0)).all()
    long = length >= 8 + 5 * 2 + max(6, 2 * period)
    assert (offsets[:, long] >= 8).all()


def test_offsets_of_a_series_are_distinct():
    offsets = judging_offsets(np.array([100]), 3, 1)[:, 0]
    assert len(set(offsets)) == 6


def test_a_series_that_tells_little_is_weighed_like_those_of_its_kind():
    """Twenty of one kind prefer the first candidate, twenty of another the last."""
    ledger = entered([[1.0, 1.2, 1.4]] * 20 + [[1.4, 1.2, 1.0]] * 20 + [[1.2, 1.2, 1.2]] * 2)
    kinds = np.repeat([[0.0, 1.0], [0.5, 0.1], [0.0, 1.0], [0.5, 0.1]], [20, 20, 1, 1], axis=0)
    weights = ledger.weights(kinds, kinds)
    assert weights[-2, 0] > 1.2 * weights[-2, 2]
    assert weights[-1, 2] > 1.2 * weights[-1, 0]
    np.testing.assert_allclose(weights_of(ledger)[-2], weights_of(ledger)[-1])
    turned = ledger.weights(kinds, kinds[::-1])  # what it is now counts, not what it was
    assert turned[-1, 0] > 1.2 * turned[-1, 2]


def test_kinds_tell_noise_walks_and_lines_apart_in_any_unit():
    rng = np.random.default_rng(0)
    noise, steps = rng.normal(size=(2, 50, 400))
    rows = [10 + noise, np.cumsum(steps, axis=1), np.arange(400.0) + 0.01 * noise, 0 * noise]
    follows, size = kinds_of(np.concatenate(rows), np.full(200, 400)).reshape(4, 50, 2).T
    np.testing.assert_allclose(follows.mean(axis=0), [-0.5, 0, 1, 0], atol=0.02)
    assert size[:, 2].max() < size[:, 0].min()
    for factor in (1e-200, -1e200):
        scaled = kinds_of(rows[0] * factor, np.full(50, 400))
        np.testing.assert_allclose(scaled, kinds_of(rows[0], np.full(50, 400)), rtol=1e-9)


def test_kinds_do_not_see_what_stands_before_a_series():
    past = np.array([[1e9, -1e9, 3.0, 4.0, 2.0], [7.0] * 5])
    cut = kinds_of(past[:, 2:], np.array([3, 1]))
    np.testing.assert_array_equal(kinds_of(past, np.array([3, 1])), cut)
    np.testing.assert_array_equal(cut[1], [0, 0])
