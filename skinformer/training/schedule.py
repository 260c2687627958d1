"""Learning-rate schedules: pure functions from a step to a multiplier of the peak.

Both optimisers multiply their own peak by the same number.
"""

import math
from collections.abc import Callable

WARMUP_CAP = 2000  # steps
FLOOR = 0.1  # of the peak, at the end of a decay


def warmup_steps(*, total_steps: int, warmup_fraction: float) -> int:
    """Return the steps of the linear warm-up, ``min(2000, round(warmup_fraction * total_steps))``.

    NOTE[DIFF]: the training configuration asks for 2000 steps or 1 % of the fit, "whichever is
    larger". A fit of 500 steps would then end at a quarter of the peak, and after the configured
    decay at 2.5 % of it. Here 2000 is the cap, not the minimum.
    """
    return min(WARMUP_CAP, round(warmup_fraction * total_steps))


#: Share of the peak after a share of the steps behind the warm-up.
DECAYS: dict[str, Callable[[float], float]] = {
    "cosine": lambda progress: FLOOR + (1 - FLOOR) * (1 + math.cos(math.pi * progress)) / 2,
    "linear": lambda progress: 1 - (1 - FLOOR) * progress,
    "constant": lambda _: 1.0,
}
SCHEDULES = (*DECAYS, "noam")


def learning_rate_multiplier(step: int, *, schedule: str, total_steps: int, warmup: int) -> float:
    """Return the share of the peak learning rate, in (0, 1], for the step after ``step`` others.

    With ``t = step + 1``, ``S`` total and ``S_w`` warm-up steps: ``t / S_w`` up to ``S_w``, then
    ``decay(progress)``, ``progress = min(1, (t - S_w) / (S - S_w))``; "noam" is
    ``min(t / S_w, sqrt(S_w / t))``.

    NOTE[DIFF]: the mathematical note counts from 0 (a first step of zero length), divides by zero
    at ``S = S_w`` and lets the cosine climb again after ``S``; the training configuration
    multiplies ramp and decay, which goes wrong before ``S_w``, where its cosine's argument is
    negative. Here steps count from 1, the decay starts after the ramp and progress is clamped.

    NOTE[DIFF]: the transformer notes' Noam formula ``min(t**-0.5, t * S_w**-1.5)`` peaks at
    ``S_w**-0.5``; it is multiplied by ``sqrt(S_w)`` here, so that the peak is the learning rate.
    """
    done = step + 1
    if done <= warmup:
        return done / warmup
    if schedule == "noam":
        return math.sqrt(max(1, warmup) / done)
    progress = (done - warmup) / max(1, total_steps - warmup)
    return DECAYS[schedule](min(1.0, progress))
