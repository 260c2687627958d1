"""The schedule of learning rates: a pure function from a step to a multiplier of the peak.

Both optimisers multiply their own peak by the same number.
"""

import math

WARMUP_CAP = 2000  # steps


def warmup_steps(*, total_steps: int, warmup_fraction: float) -> int:
    """Return the steps of the linear warm-up, ``min(2000, round(warmup_fraction * total_steps))``.

    NOTE[DIFF]: the BF16 recipe asks for 2000 steps or 1 % of the fit, "whichever is
    larger". A fit of 500 steps would then end at a quarter of the peak, and after the configured
    decay at 2.5 % of it. Here 2000 is the cap, not the minimum.
    """
    return min(WARMUP_CAP, round(warmup_fraction * total_steps))


def learning_rate_multiplier(step: int, *, total_steps: int, warmup: int) -> float:
    """Return the share of the peak learning rate, in (0, 1], for the step after ``step`` others.

    With ``t = step + 1``, ``S`` total and ``S_w`` warm-up steps: ``t / S_w`` up to ``S_w``, then
    half a cosine to a tenth, ``.1 + .9 (1 + cos πp) / 2``, ``p = min(1, (t - S_w) / (S - S_w))``.

    NOTE[DIFF]: the specification counts from 0 (a first step of zero length), divides by zero
    at ``S = S_w`` and lets the cosine climb again after ``S``; the BF16 recipe
    multiplies ramp and decay, which goes wrong before ``S_w``, where its cosine's argument is
    negative. Here steps count from 1, the decay starts after the ramp and progress is clamped.
    """
    done = step + 1
    if done <= warmup:
        return done / warmup
    n_decaying = max(1, total_steps - warmup)
    progress = min(1.0, (done - warmup) / n_decaying)
    cosine = math.cos(math.pi * progress)
    return 0.1 + 0.9 * (1 + cosine) / 2
