"""Weights of the blend: what proved itself on every stretch counts."""

import warnings
from contextlib import nullcontext

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from skinformer.ridge.blend import (
    choose_strengths,
    choose_weights,
    errors_by_target,
    mixed_errors,
)

N = 400


def make_stretch(forecasts, truth):
    forecasts, truth = np.asarray(forecasts), np.asarray(truth)
    errors = forecasts - truth
    return errors @ errors.T / len(truth)


def noisy(deviations, *, n_stretches=4, signal=1.0, seed=0):
    """Give stretches on which each candidate is the truth and noise of its own."""
    rng, out = np.random.default_rng(seed), []
    for i in range(n_stretches):
        truth = signal * rng.normal(size=N)
        at = [np.broadcast_to(d, n_stretches)[i] for d in deviations]
        out.append(make_stretch([truth + d * rng.normal(size=N) for d in at], truth))
    return out


def weigh(stretches, margins=0.0):
    n = len(stretches[0])
    margins = np.broadcast_to(margins, n)
    return choose_weights(stretches, np.arange(n), margins=margins)


def first_weights(stretches, margins=0.0):
    errors = np.array([np.diag(stretch) + 1e-9 for stretch in stretches])
    worst = np.log(errors / errors.min(axis=1, keepdims=True)).max(axis=0) + margins
    first = np.exp(-(worst - worst.min()) / 0.1)
    return first / first.sum()


def price(stretches, weights, margins=0.0):
    """Give what the weights are said to minimise."""
    first = first_weights(stretches, margins)

    def error(s, w):
        return w @ s @ w + 1e-9

    mean = np.mean([error(s, weights) / error(s, first) for s in stretches])
    some = weights > 1e-12
    return mean + 0.1 * (weights[some] * np.log(weights[some] / first[some])).sum()


def test_errors_of_forecasts_are_their_mean_squares():
    """The quadratic form stands for forecasts that are not kept."""
    rng = np.random.default_rng(0)
    forecasts, truth = rng.normal(size=(5, N)), rng.normal(size=N)
    expected = ((forecasts - truth) ** 2).mean(axis=1)
    np.testing.assert_allclose(
        np.diag(make_stretch(forecasts, truth)), expected, rtol=1e-6
    )


def test_a_perfect_forecast_has_no_negative_error():
    """Rounding must not make a logarithm of it fail."""
    truth = np.random.default_rng(0).normal(size=N) * 1e6
    stretch, both = make_stretch([truth, truth], truth), np.arange(2)
    assert (mixed_errors([stretch], np.array([0.5, 0.5]), both) > 0).all()
    assert np.isfinite(choose_weights([stretch], both, margins=np.zeros(2))).all()


def test_each_candidate_gets_the_strength_of_the_least_mean_error():
    """A strength is chosen over all stretches, not the last."""
    sooner, later = [0.5, 0.1, 0.9, 0.8, 0.9, 0.3], [0.5, 0.6, 0.1, 0.8, 0.9, 0.9]
    truth = np.ones(N)
    stretches = [
        make_stretch([truth + d for d in row], truth) for row in (sooner, later)
    ]
    # Sums of squares: .50, .37, .82 of the first candidate, 1.28, 1.62, .90 of the second.
    np.testing.assert_array_equal(choose_strengths(stretches, 3), [1, 2])


def test_half_of_what_judges_a_target_is_its_own():
    """In units of the best forecast's mean error; a target of large errors decides no more."""
    one = [np.diag([1.0, 4.0]), np.diag([3.0, 4.0])]
    other = [np.diag([90.0, 10.0]), np.diag([70.0, 30.0])]
    stretches = [np.stack(both) for both in zip(one, other, strict=True)]
    found = [
        [np.diag(errors).tolist() for errors in target]
        for target in errors_by_target(stretches)
    ]
    # Least mean errors: 2 and 20, of both together 24.
    expected = [
        [[0.25 + 91 / 48, 1.0 + 14 / 48], [0.75 + 73 / 48, 1.0 + 34 / 48]],
        [[2.25 + 91 / 48, 0.25 + 14 / 48], [1.75 + 73 / 48, 0.75 + 34 / 48]],
    ]
    np.testing.assert_allclose(found, expected, rtol=1e-6)


@pytest.mark.slow
@settings(max_examples=40)
@given(
    st.integers(1, 6).flatmap(
        lambda n: st.lists(
            st.lists(st.floats(0, 1e6), min_size=n, max_size=n), min_size=1, max_size=4
        )
    )
)
def test_weights_are_not_negative_and_sum_to_1(deviations):
    """A blend of forecasts stays between them."""
    rng = np.random.default_rng(0)
    truth = rng.normal(size=30)
    stretches = [
        make_stretch([truth + d * rng.normal(size=30) for d in row], truth)
        for row in deviations
    ]
    weights = weigh(stretches)
    assert np.isfinite(weights).all()
    assert (weights >= 0).all()
    assert weights.sum() == pytest.approx(1)


def test_a_single_candidate_has_all_the_weight():
    """Whatever its errors."""
    assert weigh(noisy([3.0])) == pytest.approx([1.0])


def test_a_candidate_that_failed_on_one_stretch_counts_for_nothing():
    """It was the best one elsewhere; the future may be of the fourth kind."""
    weights = weigh(noisy([0.5, 0.5, (0.4, 0.4, 0.4, 2.0)]))
    assert weights[2] < 0.01


@pytest.mark.parametrize("seed", [3, 4])
def test_nothing_warns_where_another_thread_shows_what_is_hidden(seed, monkeypatch):
    """Filters of warnings belong to the process: one thread's end undoes another's."""
    monkeypatch.setattr(warnings, "catch_warnings", nullcontext)
    monkeypatch.setattr(warnings, "simplefilter", lambda *_: None)
    deviations = np.random.default_rng(seed).uniform(0.3, 2.0, size=10)
    weigh(noisy(deviations, seed=seed))


@pytest.mark.parametrize("seed", [0, 1, 2])
def test_weights_of_many_candidates_that_differ_by_decades_are_no_worse_than_the_best(
    seed,
):
    """Those of most error have no weight to move, and no slope that tells of it."""
    deviations = 10 ** np.random.default_rng(seed).uniform(-2, 3, size=50)
    stretches = noisy(deviations, seed=seed)
    weights = weigh(stretches)
    assert weights.sum() == pytest.approx(1.0)
    assert weights[np.argmin(deviations)] > 0.3
    best = np.eye(len(weights))[np.argmin(deviations)]
    for start in (first_weights(stretches), best):
        assert price(stretches, weights) <= price(stretches, start) + 1e-9


def test_identical_candidates_share_equally():
    """Nothing speaks for one of them; a copy must not add to what both stand for either way."""
    rng = np.random.default_rng(0)
    stretches = []
    for _ in range(4):
        truth = rng.normal(size=N)
        one, other = truth + 0.5 * rng.normal(size=N), truth + 0.5 * rng.normal(size=N)
        stretches.append(make_stretch([one, other, one], truth))
    weights = weigh(stretches)
    assert weights[0] == pytest.approx(weights[2], rel=1e-9)


def test_the_best_of_all_dominates():
    """A blend must not water down a forecast that is far ahead on every stretch."""
    assert weigh(noisy([0.1, 1.0, 1.0, 2.0]))[0] > 0.999


def test_candidates_that_err_apart_are_mixed():
    """The mean of two forecasts with errors of their own has half the error."""
    weights = weigh(noisy([0.5, 0.5]))
    np.testing.assert_allclose(weights, 0.5, atol=0.1)


def test_candidates_in_another_order_have_their_weights_in_another_order():
    """No candidate is favoured by its place."""
    stretches = noisy([0.5, 0.6, 0.55, 1.0])
    order = np.array([2, 0, 3, 1])
    turned = [s[np.ix_(order, order)] for s in stretches]
    np.testing.assert_allclose(weigh(turned), weigh(stretches)[order], atol=1e-6)


@pytest.mark.parametrize("factor", [0.1, 100.0])
def test_the_unit_of_the_series_does_not_matter(factor):
    """Errors are compared as ratios."""
    stretches = noisy([0.5, 0.6, 0.55, 1.0])
    scaled = [s * factor**2 for s in stretches]
    np.testing.assert_allclose(weigh(scaled), weigh(stretches), atol=1e-4)


def test_all_candidates_without_error_share_equally():
    """A constant series is forecast by each of them."""
    zero = np.zeros((3, 3))
    np.testing.assert_allclose(weigh([zero] * 4), 1 / 3)


def test_only_the_chosen_strengths_are_read():
    """The forecasts of other strengths are there, and may be anything."""
    stretches = noisy([0.5, 9.0, 9.0, 0.6])  # two candidates with two strengths
    np.testing.assert_array_equal(choose_strengths(stretches, 2), [0, 1])
    used = np.array([0, 3])
    alone = [s[np.ix_(used, used)] for s in stretches]
    np.testing.assert_allclose(
        choose_weights(stretches, used, margins=np.zeros(2)), weigh(alone)
    )


def check_minimum(stretches, margins=0.0, near=1e-4):
    """Compare the price of the weights with that of others nearby and far off."""
    weights, first = weigh(stretches, margins), first_weights(stretches, margins)
    least = price(stretches, weights, margins)
    rng = np.random.default_rng(0)
    others = [first, *rng.dirichlet(np.ones(len(first)), size=200)]
    others += [np.full(len(first), 1 / len(first))]
    nearby = [weights * np.exp(0.2 * rng.normal(size=len(first))) for _ in range(100)]
    others += [w / w.sum() for w in nearby]
    assert least <= min(price(stretches, w, margins) for w in others) + near


@pytest.mark.parametrize("margins", [0.0, (0.2, 0.0, 0.05, 0.0)])
@pytest.mark.parametrize("signal", [0.5, 1.0, 10.0])
def test_the_weights_minimise_what_they_are_said_to(signal, margins):
    """An oracle without gradients: no other weights cost less."""
    check_minimum(noisy([1.0, 1.05, 0.95, 1.02], signal=signal), np.asarray(margins))


def test_a_doubtful_candidate_counts_less_until_it_is_better():
    """A map with many weights wins some stretch by chance."""
    stretches = noisy([0.5, 0.5, 0.5])
    plain, doubted = weigh(stretches), weigh(stretches, (0.2, 0.0, 0.0))
    assert doubted[0] < plain[0]
    assert weigh(noisy([0.2, 0.5, 0.5]), (0.2, 0.0, 0.0))[0] > 0.9


def test_the_same_doubt_of_all_is_none():
    """Only differences of margin mean anything."""
    stretches = noisy([0.5, 0.6, 0.55])
    np.testing.assert_allclose(weigh(stretches, 0.2), weigh(stretches), atol=1e-6)


def test_the_weights_minimise_it_for_a_series_that_is_forecast_well():
    """Where forecasts explain all but 1e-4 of the variance, the mixture matters as much."""
    check_minimum(noisy([1.0, 1.05, 0.95, 1.02], signal=100.0))


def test_a_hopeless_candidate_does_not_disturb_the_others():
    """Its weight is 0; that of the others should be what it would be without it."""
    stretches = noisy([1.0, 1.05, 0.95, 1.02, 1e4])
    good = np.arange(4)
    without = [s[np.ix_(good, good)] for s in stretches]
    np.testing.assert_allclose(weigh(stretches)[:4], weigh(without), atol=0.01)
