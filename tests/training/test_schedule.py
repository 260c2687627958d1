import itertools
import math

import pytest

from skinformer.training.schedule import (
    SCHEDULES,
    WARMUP_CAP,
    learning_rate_multiplier,
    warmup_steps,
)


def curve(schedule, total, warmup, n=None):
    return [
        learning_rate_multiplier(s, schedule=schedule, total_steps=total, warmup=warmup)
        for s in range(n or total)
    ]


@pytest.mark.parametrize("schedule", SCHEDULES)
@pytest.mark.parametrize(("total", "warmup"), [(1, 0), (1, 1), (10, 0), (10, 10), (500, 25)])
def test_multipliers_lie_in_0_1_and_no_step_is_wasted(schedule, total, warmup):
    """A first step of zero length is a batch for nothing; S = S_w must not divide by zero."""
    assert all(0 < m <= 1 for m in curve(schedule, total, warmup, n=2 * total))


@pytest.mark.parametrize("schedule", SCHEDULES)
def test_a_short_fit_reaches_its_peak(schedule):
    """2000 steps of warm-up would hold a fit of 500 steps below 2.5 % of the learning rate."""
    warmup = warmup_steps(total_steps=500, warmup_fraction=0.05)
    multipliers = curve(schedule, 500, warmup)
    assert warmup == 25
    assert max(multipliers) == multipliers[24] == 1


def test_warm_up_is_capped_at_2000_steps():
    """A long fit needs no longer warm-up than a middling one."""
    assert warmup_steps(total_steps=10**6, warmup_fraction=0.1) == WARMUP_CAP == 2000
    assert warmup_steps(total_steps=10**6, warmup_fraction=0.0) == 0


@pytest.mark.parametrize("schedule", SCHEDULES)
def test_warm_up_is_a_straight_line_from_the_first_step(schedule):
    """The first step has 1 / S_w of the peak, the last one all of it."""
    assert curve(schedule, 100, 4)[:4] == [0.25, 0.5, 0.75, 1.0]


def test_cosine_follows_its_formula():
    """Half a cosine from the end of the warm-up to 10 % at the last step."""
    for step in range(20, 120):
        progress = (step + 1 - 20) / (120 - 20)
        expected = 0.1 + 0.9 * 0.5 * (1 + math.cos(math.pi * progress))
        got = learning_rate_multiplier(step, schedule="cosine", total_steps=120, warmup=20)
        assert got == pytest.approx(expected)


def test_linear_follows_its_formula():
    """A straight line from the end of the warm-up to 10 % at the last step."""
    assert curve("linear", 12, 2)[2:] == pytest.approx([1 - 0.09 * k for k in range(1, 11)])


@pytest.mark.parametrize("schedule", ["cosine", "linear"])
def test_progress_is_clamped(schedule):
    """The cosine of the note climbs again after the last step."""
    assert curve(schedule, 10, 2, n=25)[9:] == pytest.approx([0.1] * 16)


@pytest.mark.parametrize("schedule", SCHEDULES)
def test_no_schedule_rises_after_the_warm_up(schedule):
    """What rises late undoes the decay."""
    after = curve(schedule, 50, 10, n=80)[9:]
    assert all(later <= earlier for earlier, later in itertools.pairwise(after))


def test_constant_stays_at_the_peak():
    """Also beyond the last step."""
    assert set(curve("constant", 10, 3, n=30)[3:]) == {1.0}


def test_noam_is_the_published_curve_scaled_to_a_peak_of_one():
    """min(t**-0.5, t * w**-1.5) peaks at w**-0.5; the learning rate is to be the peak."""
    expected = [math.sqrt(40) * min(t**-0.5, t * 40**-1.5) for t in range(1, 201)]
    assert curve("noam", 200, 40) == pytest.approx(expected)
