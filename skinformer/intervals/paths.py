"""Errors of sampled paths: steps, targets and series go together as they did in earlier forecasts.

The errors of all series that were forecast from one step of the clock are kept together, and a path
is a sum of such origins, each times a normal number that all series share. A panel has few of them,
often a dozen, so that one origin a path would make paths of a dozen kinds. Errors count by their
normal scores, so that no single one outweighs the others, and what is drawn are levels: each row's
own quantiles make them errors again.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from scipy.special import ndtri

from skinformer.intervals.residuals import Residuals
from skinformer.timeline.arrays import Float32Array, Float64Array, IntArray


def draw_levels(
    residuals: Residuals, series: IntArray, n_paths: int, random: Any
) -> Float32Array:
    """Draw levels of quantiles, (n_series, n_paths, pred_len, n_targets), each in (0, 1).

    series: those that are drawn, by their number in the fit; others are new ones.
    random: a RandomState.

    A series whose errors are not among the residuals has those of another at random. It shares with
    the rest what series have in common, and nothing more.
    """
    scores = normal_scores(residuals)
    times, time = np.unique(residuals.origins, return_inverse=True)
    common = common_scores(scores, time)
    wider = _widening(residuals.n_windows) * common
    scores += (wider - common)[time]
    common = wider
    weight_of_time = random.normal(size=(n_paths, len(times)))
    levels = np.empty((len(series), n_paths, *scores.shape[1:]), dtype=np.float32)
    chosen = _choose_windows(residuals.series, series, random)
    for place, (windows, is_own) in enumerate(chosen):
        at = time[windows]
        weights = weight_of_time[:, at]
        parts = scores[windows]
        if not is_own:
            own_weights = random.normal(size=weights.shape)
            parts = np.concatenate([common[at], parts - common[at]])
            weights = np.hstack([weights, own_weights])
        sums = _standard_sum(parts, weights, random)
        levels[place] = _stratified_levels(sums, random)
    return levels


def _widening(n_windows: float) -> float:
    """Return by how much what series have in common may be larger than in so many forecasts.

    Its size is known from these alone, however many series there are: the deviation of Student's
    law in that of the normal one.
    """
    freedom = max(n_windows - 1, 5.0)
    return float(np.sqrt(freedom / (freedom - 2)))


def _stratified_levels(sums: Float64Array, random: Any) -> Float64Array:
    """Turn sums, (n_paths, …), into levels, of which each of n equal shares holds one.

    So the mean of some hundred paths is that of their law (Latin hypercube sampling with
    dependence, Packham and Schmidt, 2010).
    """
    n_paths = len(sums)
    rank = sums.argsort(axis=0).argsort(axis=0)
    within = random.uniform(size=sums.shape)
    return np.clip((rank + within) / n_paths, 1e-9, 1 - 1e-9)


def _standard_sum(
    parts: Float64Array, weights: Float64Array, random: Any
) -> Float64Array:
    """Add up parts, (n_parts, pred_len, n_targets), by normal weights, (n_paths, n_parts).

    The sums have variance 1. Where all errors are the usual one, nothing is known of what goes
    together: independent ones stand there.
    """
    total = np.tensordot(weights, parts, axes=1)
    deviation = np.sqrt((parts**2).sum(axis=0))
    independent = random.normal(size=(len(weights), 1, 1))
    is_known = deviation > 0
    total /= np.where(is_known, deviation, 1.0)
    return np.where(is_known, total, independent)


def normal_scores(residuals: Residuals) -> Float64Array:
    """Transform errors to a normal law by their rank among all of the same step.

    >>> none = np.zeros(3, dtype=np.int64)
    >>> errors = np.array([[[5.0]], [[-1.0]], [[900.0]]], dtype=np.float32)
    >>> no_share = np.zeros(1)
    >>> residuals = Residuals(errors, 3.0, none, none, errors, no_share, no_share)
    >>> normal_scores(residuals).ravel().round(2)
    array([ 0.  , -0.97,  0.97])
    """
    errors = residuals.filled
    shares = np.empty(errors.shape)
    for step in range(errors.shape[1]):
        pooled = np.sort(residuals.near(errors, step), axis=0)
        for target, sample in enumerate(pooled.T):
            shares[:, step, target] = _share_below(errors[:, step, target], sample)
    return ndtri(shares)


def _share_below(values: Float32Array, sample: Float32Array) -> Float64Array:
    """Return the share of an ascending sample below each value; of equal ones half."""
    n_less = sample.searchsorted(values)
    n_less_or_equal = sample.searchsorted(values, side="right")
    return (n_less + n_less_or_equal) / (2 * len(sample))


def common_scores(scores: Float64Array, time: IntArray) -> Float64Array:
    """Estimate what series had in common at each time: (n_times, pred_len, n_targets).

    time: (n_windows,), that of each window.

    It is their mean, made so small that its square is the mean product of two series at one time:
    the mean of few series that have nothing in common is not zero either.
    """
    count = np.bincount(time)[:, None, None]
    total = np.zeros((len(count), *scores.shape[1:]))
    np.add.at(total, time, scores)
    # The mean product of two series, from (a + b)² = a² + b² + 2ab.
    n_pairs = (count * (count - 1)).sum() * scores[0].size
    products = (total**2).sum() - (scores**2).sum()
    mean_product = products / max(n_pairs, 1)
    mean = total / count
    mean_square = (mean**2 * count).sum() / scores.size
    if mean_product <= 0 or mean_square <= 0:
        return np.zeros_like(mean)
    return mean * np.sqrt(mean_product / mean_square)


def _choose_windows(
    owner: IntArray, series: IntArray, random: Any
) -> Iterator[tuple[IntArray, bool]]:
    """Iterate over series: the windows whose errors each one has, and whether they are its own."""
    order = np.argsort(owner, kind="stable")
    known, first = np.unique(owner[order], return_index=True)
    windows_of = np.split(order, first[1:])
    place = np.searchsorted(known, series)
    place = np.minimum(place, len(known) - 1)
    is_own = known[place] == series
    is_new = ~is_own
    place[is_new] = random.randint(len(known), size=is_new.sum())
    for i, number in enumerate(place):
        yield windows_of[number], bool(is_own[i])
