"""Learning-rate schedules: pure functions from a step to a multiplier of the peak.

Both optimisers multiply their own peak by the same number.
"""

import math

WARMUP_CAP = 2000  # steps
FLOOR = 0.1  # of the peak, at the end of a decay


def warmup_steps(*, total_steps: int, warmup_fraction: float) -> int:
    """Return the number of steps of the linear warm-up.

    Parameters
    ----------
    total_steps : int
        Optimiser steps of the whole fit.
    warmup_fraction : float in [0, 1]
        Share of the steps spent on warming up.

    Returns
    -------
    int
        ``min(2000, round(warmup_fraction * total_steps))``.

    Notes
    -----
    NOTE[DIFF]: the training configuration asks for 2000 steps or 1 % of the fit, "whichever is
    larger". A fit of 500 steps would then end at a quarter of the peak, and after the configured
    decay at 2.5 % of it. Here 2000 is the cap, not the minimum.

    Examples
    --------
    >>> warmup_steps(total_steps=500, warmup_fraction=0.05)
    25
    """
    return min(WARMUP_CAP, round(warmup_fraction * total_steps))


def constant(*, progress: float) -> float:
    """Return 1: no decay after the warm-up.

    Parameters
    ----------
    progress : float in [0, 1]
        Share of the steps after the warm-up that are done.

    Returns
    -------
    float
        1.

    Examples
    --------
    >>> constant(progress=0.5)
    1.0
    """
    del progress
    return 1.0


def linear(*, progress: float) -> float:
    """Return ``1 - 0.9 * progress``: a straight line from 1 to 10 %.

    Parameters
    ----------
    progress : float in [0, 1]
        Share of the steps after the warm-up that are done.

    Returns
    -------
    float
        Multiplier in [0.1, 1].

    Examples
    --------
    >>> linear(progress=0.5)
    0.55
    """
    return 1 - (1 - FLOOR) * progress


def cosine(*, progress: float) -> float:
    """Return ``0.1 + 0.9 * (1 + cos(pi * progress)) / 2``: half a cosine from 1 to 10 %.

    Parameters
    ----------
    progress : float in [0, 1]
        Share of the steps after the warm-up that are done.

    Returns
    -------
    float
        Multiplier in [0.1, 1].

    Examples
    --------
    >>> cosine(progress=0.5)
    0.55
    """
    return FLOOR + (1 - FLOOR) * (1 + math.cos(math.pi * progress)) / 2


DECAYS = {"cosine": cosine, "linear": linear, "constant": constant}
SCHEDULES = (*DECAYS, "noam")


def learning_rate_multiplier(step: int, *, schedule: str, total_steps: int, warmup: int) -> float:
    """Return the share of the peak learning rate that one step uses.

    Parameters
    ----------
    step : int
        Number of steps already taken: 0 for the first.
    schedule : {"cosine", "linear", "constant", "noam"}
        What follows the linear warm-up.
    total_steps : int
        Optimiser steps of the whole fit; without effect on "constant" and "noam".
    warmup : int
        Steps of the warm-up, from `warmup_steps`.

    Returns
    -------
    float
        In (0, 1], and exactly 1 at the last step of the warm-up.

    Raises
    ------
    ValueError
        If `schedule` is not one of the four.

    Notes
    -----
    With ``t = step + 1``, ``S`` total and ``S_w`` warm-up steps: ``t / S_w`` up to ``S_w``, then
    ``decay(progress)``, ``progress = min(1, (t - S_w) / (S - S_w))``; "noam" is
    ``min(t / S_w, sqrt(S_w / t))``.

    NOTE[DIFF]: the mathematical note counts from 0 (a first step of zero length), divides by zero
    at ``S = S_w`` and lets the cosine climb again after ``S``; the training configuration
    multiplies ramp and decay, which goes wrong before ``S_w``, where its cosine's argument is
    negative. Here steps count from 1, the decay starts after the ramp and progress is clamped.

    NOTE[DIFF]: the transformer notes' Noam formula ``min(t**-0.5, t * S_w**-1.5)`` peaks at
    ``S_w**-0.5``; it is multiplied by ``sqrt(S_w)`` here, so that the peak is the learning rate.

    Examples
    --------
    >>> [learning_rate_multiplier(s, schedule="linear", total_steps=8, warmup=4)
    ...  for s in (0, 3, 7)]
    [0.25, 1.0, 0.1]
    """
    if schedule not in SCHEDULES:
        raise ValueError(f"schedule={schedule!r}: must be one of {', '.join(SCHEDULES)}.")
    done = step + 1
    if done <= warmup:
        return done / warmup
    if schedule == "noam":
        return math.sqrt(max(1, warmup) / done)
    progress = (done - warmup) / max(1, total_steps - warmup)
    return DECAYS[schedule](progress=min(1.0, progress))
