"""How much each member counts: by its errors on windows that it was not fitted to.

A panel and short tables are weighed series by series, a long table by stretches of its validation
split: one series tells little, and what a long one tells differs by step ahead.
"""

from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np
import torch
from torch import Tensor

from skinformer.ensemble.batches import WindowBatches
from skinformer.ensemble.head import Head
from skinformer.judging.proof import Proof
from skinformer.model.corrected import Corrected
from skinformer.selection import (
    MOST_STRETCHES,
    SHARES,
    finite_logs,
    log_errors,
    mean_errors,
    mean_log_share,
    nearby_steps,
    shrinkage,
    softmax,
    stretch_sums,
    time_stretches,
    upper_bound_share,
)
from skinformer.threads import threads_for
from skinformer.timeline.arrays import BoolArray, Float32Array, Float64Array, IntArray

#: How far a series' own errors count: windows overlap, and are hardly more than two forecasts.
_OWN = 0.2
#: A difference of so much in the log error makes a factor e in the weight.
_TEMPERATURE = 0.1
#: Other series at which weights of the joint forecast count for half.
_JOINT_PRIOR = 20


def weigh_series(
    proof: Proof,
    *,
    n_series: int,
    prior: Mapping[str, float],
    parts: Mapping[str, float] | None = None,
    joint: bool = True,
) -> Float64Array:
    """Weigh members by each series' relative errors: (n_series + 1, 1, n_targets, n_members).

    prior: log weights to begin with, by name; 0 for others.
    parts: what members get of the weight below, by name; all of it for others, who share the rest.
    joint: whether the error of the joint forecast counts, too.

    Sums are 1. The last row is the panel's, for new series and those without windows; all are equal
    where nothing tells them apart. With e the logs of a series' mean absolute errors, less their
    mean over members, and m the mean of e over all n targets of all series::

        w ∝ v exp(prior - 0.2 (e - m) / 0.1)
        v = (1 - s) softmax(-m / 0.1) + s joint,  s = (n - 1) / (n - 1 + 20)

    So neither the size of a series nor one that went wild decides for the others. The more series
    there are, the more count weights by which the joint forecast errs little: a member that errs
    elsewhere than the others has more than by its own errors.
    """
    forecasts = list(proof.forecasts.values())
    y, weight, series = proof.y, proof.weight, proof.windows.series
    errors = [mean_errors(y_pred, y, weight, series, n_series) for y_pred in forecasts]
    logs, known = log_errors(np.stack(errors, axis=2))
    mean_logs = logs[known].sum(axis=0) / max(known.sum(), 1)
    weights = softmax(-mean_logs / _TEMPERATURE)
    if joint:
        weights = _with_joint_weights(weights, proof, mean_logs, known)
    log_weights = finite_logs(weights)
    log_weights += [prior.get(name, 0.0) for name in proof.forecasts]
    # New series have no errors of their own.
    own = np.where(known[:, :, None], logs - mean_logs, 0.0)
    own = np.pad(own, [(0, 1), (0, 0), (0, 0)])
    log_weights = log_weights - _OWN * own / _TEMPERATURE
    part = np.array([(parts or {}).get(name, 1.0) for name in proof.forecasts])
    kept = part * softmax(log_weights)
    # What a member does not get is shared by those that have all of theirs, as they stand.
    left = 1 - kept.sum(axis=-1, keepdims=True)
    others = softmax(np.where(part < 1, -np.inf, log_weights))
    weights = kept + left * others
    return np.asarray(weights)[:, None]


def _with_joint_weights(
    weights: Float64Array, proof: Proof, mean_logs: Float64Array, known: BoolArray
) -> Float64Array:
    """Mix weights of members, (n_members,), with those of the lowest error of their weighted mean.

    mean_logs: of each member's relative errors; known: (n_series, n_targets), where errors count.
    """
    # Means of iterates that begin even would leave something to errors far above the best.
    near = mean_logs <= mean_logs.min() + np.log(1.5)
    forecasts = np.stack(list(proof.forecasts.values()), axis=-1)
    residuals = forecasts[..., near] - proof.y[..., None]
    joint = _joint_weights(residuals, proof.weight, proof.windows.series, known)
    share = shrinkage(max(known.sum() - 1, 0), _JOINT_PRIOR)
    weights = (1 - share) * weights
    weights[near] += share * joint
    return weights


def _joint_weights(
    residuals: Float32Array, weight: Float32Array, series: IntArray, known: BoolArray
) -> Float64Array:
    """Find weights of a low error of the joint forecast: mean iterates of mirror descent.

    residuals: (n_windows, pred_len, n_targets, n_members).
    known: (n_series, n_targets), whose errors count, each relative to its members' mean.
    """
    n_iter = 30
    step_size = 4.0
    counts = known[series][:, None, :, None]
    counted = np.where(counts, residuals, 0.0).astype(np.float64)
    rate = step_size * _rates(counted, weight, series, known)
    rates = (weight * rate[series, None]).ravel()
    n_members = counted.shape[3]
    flat = counted.reshape(-1, n_members)
    scores = np.zeros(n_members)
    total = np.zeros(n_members)
    for _ in range(n_iter):
        weights = softmax(scores)
        total += weights
        scores -= (np.sign(flat @ weights) * rates) @ flat
    return total / n_iter


def _rates(
    residuals: Float64Array, weight: Float32Array, series: IntArray, known: BoolArray
) -> Float64Array:
    """Return how much an error of each target counts, (n_series, n_targets): equal parts of all."""
    size = np.zeros(known.shape)
    errors = np.abs(residuals).mean(axis=3) * weight
    np.add.at(size, series, errors.sum(axis=1))
    n_known = max(known.sum(), 1)
    return np.divide(
        1 / n_known, size, out=np.zeros_like(size), where=known & (size > 0)
    )


def prior_of_windows(n_windows: int, seq_len: int) -> float:
    """Return the log weight to begin with of a map of `seq_len` rows, fitted to windows.

    It is 0 from ten windows a row on, else the log of their part of these.
    """
    return float(np.log(min(1.0, n_windows / (10 * seq_len))))


def without_negligible(weights: Float64Array) -> Float64Array:
    """Set weights to 0 that are not worth a forecast."""
    weights = np.where(weights < 0.01, 0.0, weights)
    return np.asarray(weights / weights.sum(axis=-1, keepdims=True))


class Doubt(NamedTuple):
    """How far a challenger of the ridges is believed.

    margin: standard errors by which it has to gain on those before it.
    part: what it gets of the share that is best on the split, from 0 to 1.
    """

    margin: float
    part: float = 1.0


def weigh_steps(
    proof: Proof, stretches: IntArray, doubts: Sequence[Doubt]
) -> Float64Array:
    """Weigh members of one series by steps ahead: (2, pred_len, n_targets, n_members).

    stretches: that of each window.
    doubts: how far each but the first is believed.

    Sums are 1; both rows are equal, for the series and for new ones. The first member begins alone.
    The others are added one after the other: at each step a member has the share of the lowest
    error beside the joint forecast so far, or a part of it, and all before it have what is left.
    """
    first, *others = proof.forecasts.values()
    joint = first.copy()
    weights = [np.ones(proof.y.shape[1])]
    for forecast, doubt in zip(others, doubts, strict=True):
        best = _share_at_steps(proof, joint, forecast, stretches, doubt.margin)
        share = doubt.part * best
        weights = [(1 - share) * weight for weight in weights] + [share]
        joint += share[:, None].astype(np.float32) * (forecast - joint)
    at_steps = np.stack(weights, axis=-1)[None, :, None]
    n_rows, n_targets = 2, proof.y.shape[2]
    return np.tile(at_steps, (n_rows, 1, n_targets, 1))


def _share_at_steps(
    proof: Proof,
    one: Float32Array,
    other: Float32Array,
    stretches: IntArray,
    margin: float,
) -> Float64Array:
    """Find the share of the second of two forecasts at each step ahead, (pred_len,).

    It is the one that does best on average over the stretches of the windows, see `mean_log_share`.
    """
    first, second = torch.from_numpy(one), torch.from_numpy(other)
    y, weight = torch.from_numpy(proof.y), torch.from_numpy(proof.weight)
    with threads_for(0):
        losses = _losses_of_shares(first, second, y, weight, proof.head)
    pred_len = proof.y.shape[1]
    total = stretch_sums(losses.numpy(), stretches) @ nearby_steps(pred_len)
    best = [
        mean_log_share(total[:, :, step], margin=margin) for step in range(pred_len)
    ]
    return np.array(SHARES)[best]


def _losses_of_shares(
    one: Tensor, other: Tensor, y: Tensor, weight: Tensor | float, head: Head
) -> Tensor:
    """Compute the loss of each share of the second of two forecasts, (n, n_shares, pred_len)."""
    losses = []
    for share in SHARES:
        error = head.point_error(torch.lerp(one, other, share), y)
        losses.append((error * weight).sum(dim=2))
    return torch.stack(losses, dim=1).double()


def network_share(
    module: Corrected, validation: WindowBatches, *, steps: IntArray, head: Head
) -> float:
    """Find the share of the network's correction that is sure to help on later rows.

    module: trained, in evaluation mode.
    steps: the time of each validation window.

    See `upper_bound_share`; 0 if the rows are too few for two stretches that hold a forecast each.
    """
    losses = network_losses(module, validation, steps, head)
    return SHARES[upper_bound_share(losses)]


def network_losses(
    module: Corrected, validation: WindowBatches, steps: IntArray, head: Head
) -> Float64Array:
    """Compute the loss of each share of the correction in each stretch, (n_stretches, n_shares).

    There are no stretches where the rows are too few for two that hold a forecast each.
    """
    stretches = time_stretches(
        steps, validation.source.sizes.pred_len, n_most=MOST_STRETCHES
    )
    if stretches is None:
        return np.empty((0, len(SHARES)))
    losses = []
    n_products = validation.batch_size * module.largest_product
    with threads_for(n_products), torch.inference_mode():
        for batch in validation:
            of_batch = _losses_of_shares(
                module.path(*batch.inputs[:4]),
                head.point(module(*batch.inputs)),
                batch.target,
                1.0 if batch.weight is None else batch.weight,
                head,
            )
            losses.append(of_batch.sum(dim=2).cpu().numpy())
    return stretch_sums(np.concatenate(losses), stretches)
