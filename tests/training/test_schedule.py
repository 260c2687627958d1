import itertools
import math

import pytest

from skinformer.training.schedule import (
    WARMUP_CAP,
    learning_rate_multiplier,
    warmup_steps,
)


def curve(total, warmup, n=None):
    return [
        learning_rate_multiplier(s, total_steps=total, warmup=warmup)
        for s in range(n or total)
    ]


@pytest.mark.parametrize(
    ("total", "warmup"), [(1, 0), (1, 1), (10, 0), (10, 10), (500, 25)]
)
def test_multipliers_lie_in_0_1_and_no_step_is_wasted(total, warmup):
    """A first step of zero length is a batch for nothing; S = S_w must not divide by zero."""
    assert all(0 < m <= 1 for m in curve(total, warmup, n=2 * total))


def test_a_short_fit_reaches_its_peak():
    """2000 steps of warm-up would hold a fit of 500 steps below 2.5 % of the learning rate."""
    warmup = warmup_steps(total_steps=500, warmup_fraction=0.05)
    multipliers = curve(500, warmup)
    assert warmup == 25
    assert max(multipliers) == multipliers[24] == 1


def test_warm_up_is_capped_at_2000_steps():
    """A long fit needs no longer warm-up than a middling one."""
    assert warmup_steps(total_steps=10**6, warmup_fraction=0.1) == WARMUP_CAP == 2000
    assert warmup_steps(total_steps=10**6, warmup_fraction=0.0) == 0


def test_warm_up_is_a_straight_line_from_the_first_step():
    """The first step has 1 / S_w of the peak, the last one all of it."""
    assert curve(100, 4)[:4] == [0.25, 0.5, 0.75, 1.0]


def test_cosine_follows_its_formula():
    """Half a cosine from the end of the warm-up to 10 % at the last step."""
    for step in range(20, 120):
        progress = (step + 1 - 20) / (120 - 20)
        expected = 0.1 + 0.9 * 0.5 * (1 + math.cos(math.pi * progress))
        got = learning_rate_multiplier(step, total_steps=120, warmup=20)
        assert got == pytest.approx(expected)


def test_progress_is_clamped():
    """The cosine of the note climbs again after the last step."""
    assert curve(10, 2, n=25)[9:] == pytest.approx([0.1] * 16)


def test_no_schedule_rises_after_the_warm_up():
    """What rises late undoes the decay."""
    after = curve(50, 10, n=80)[9:]
    assert all(later <= earlier for earlier, later in itertools.pairwise(after))
