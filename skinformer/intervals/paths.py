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
from scipy.special import ndtr, ndtri

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
    shared = random.normal(size=(n_paths, len(times)))
    levels = np.empty((len(series), n_paths, *scores.shape[1:]), dtype=np.float32)
    for place, (windows, is_own) in enumerate(
        _windows(residuals.series, series, random)
    ):
        weights = shared[:, time[windows]]
        in_common = scores[windows] if is_own else common[time[windows]]
        total = np.tensordot(weights, in_common, axes=1)
        variance = (in_common**2).sum(axis=0)
        if not is_own:
            apart = scores[windows] - in_common
            total += np.tensordot(random.normal(size=weights.shape), apart, axes=1)
            variance += (apart**2).sum(axis=0)
        # Where all errors are the usual one, nothing is known of what goes together.
        independent = random.normal(size=(n_paths, 1, 1))
        deviation = np.sqrt(np.where(variance > 0, variance, 1.0))
        levels[place] = ndtr(np.where(variance > 0, total / deviation, independent))
    return levels


def normal_scores(residuals: Residuals) -> Float64Array:
    """Transform errors to a normal law by their rank among all of the same step.

    >>> none = np.zeros(3, dtype=np.int64)
    >>> errors = np.array([[[5.0]], [[-1.0]], [[900.0]]], dtype=np.float32)
    >>> normal_scores(Residuals(errors, 3.0, none, none)).ravel().round(2)
    array([ 0.  , -0.97,  0.97])
    """
    errors = residuals.filled
    scores = np.empty(errors.shape)
    for step in range(errors.shape[1]):
        near = residuals.near(errors, step)
        for target in range(errors.shape[2]):
            pooled = np.sort(near[:, target])
            own = errors[:, step, target]
            n_less = pooled.searchsorted(own)
            n_less_or_equal = pooled.searchsorted(own, side="right")
            scores[:, step, target] = ndtri(
                (n_less + n_less_or_equal) / (2 * len(pooled))
            )
    return scores


def common_scores(scores: Float64Array, time: IntArray) -> Float64Array:
    """Estimate what series had in common at each time: (n_times, pred_len, n_targets).

    time: (n_windows,), that of each window.

    It is their mean, made so small that its square is the mean product of two series at one time:
    the mean of few series that have nothing in common is not zero either.
    """
    count = np.bincount(time)[:, None, None]
    total = np.zeros((len(count), *scores.shape[1:]))
    squares = np.zeros_like(total)
    np.add.at(total, time, scores)
    np.add.at(squares, time, scores**2)
    n_pairs = (count * (count - 1)).sum() * scores[0].size
    product = (total**2 - squares).sum() / max(n_pairs, 1)
    mean = total / count
    square = (mean**2 * count).sum() / scores.size
    share = max(product, 0.0) / square if square > 0 else 0.0
    return np.asarray(mean * np.sqrt(share))


def _windows(
    owner: IntArray, series: IntArray, random: Any
) -> Iterator[tuple[IntArray, bool]]:
    """Iterate over series: the windows whose errors each one has, and whether they are its own."""
    order = np.argsort(owner, kind="stable")
    known, first = np.unique(owner[order], return_index=True)
    parts = np.split(order, first[1:])
    place = np.minimum(np.searchsorted(known, series), len(known) - 1)
    own = known[place] == series
    n_new = int((~own).sum())
    place[~own] = random.randint(len(known), size=n_new)
    for number, is_own in zip(place, own, strict=True):
        yield parts[number], bool(is_own)
