"""How much each member counts: by its errors on windows that it was not fitted to.

A panel and short tables are weighed series by series, a long table by stretches of its validation
split: what one series tells is little, and what a long one tells differs by step ahead.
"""

from collections.abc import Sequence
from itertools import pairwise

import numpy as np
import torch

from skinformer import selection
from skinformer.ensemble.batches import WindowBatches
from skinformer.ensemble.fitting import FitRows
from skinformer.ensemble.head import Head
from skinformer.model.corrected import Corrected
from skinformer.threads import threads_for
from skinformer.timeline.arrays import BoolArray, Float32Array, Float64Array, IntArray
from skinformer.timeline.windows import Origins, window_rows

#: Windows of a series by which it is weighed, spread over its validation split; two where there
#: would be more than so many of all series.
_N_ORIGINS, _MOST_WINDOWS = 64, 20_000
#: A difference of so much in the log error makes a factor e in the weight.
_TEMPERATURE = 0.1
#: Steps from equal weights towards those of the least joint error, and their size; how many other
#: series make these count for half.
_N_STEPS, _STEP, _OTHERS = 30, 4.0, 20
#: Times the error of the best from which on a member's joint error is not looked at.
_FAR = 1.5
#: How far the difference of a series' own log errors from the panel's is believed: windows
#: overlap, and are hardly more than one or two forecasts.
_OWN = 0.2
#: Windows for each row that ridges look back, below which they count less from the start.
_WINDOWS_A_ROW = 10
#: Weight that is not worth a forecast.
_NEGLIGIBLE = 0.01


def series_origins(held_out: Origins) -> IntArray:
    """Choose windows to weigh by for each series: at most 64, spread over its split."""
    some = np.flatnonzero(held_out.high >= held_out.low)
    n_origins = min(max(_MOST_WINDOWS // max(len(some), 1), 2), _N_ORIGINS)
    place = np.arange(n_origins)
    low, high = held_out.low[some, None], held_out.high[some, None]
    return np.unique(low + (high - low) * place // (n_origins - 1))


def truths_of(rows: FitRows, origins: IntArray) -> tuple[Float32Array, Float32Array]:
    """Return truths and weights of windows, (n_windows, pred_len, n_targets)."""
    ahead = window_rows(origins, rows.sizes.pred_len)
    truth = rows.timeline.values[ahead, : rows.sizes.n_targets]
    weight = rows.timeline.weight
    return truth, np.ones_like(truth) if weight is None else weight[ahead]


def weigh_series(
    forecasts: Sequence[Float32Array],
    truth: Float32Array,
    weight: Float32Array | None,
    series: IntArray,
    *,
    n_series: int,
    prior: Float64Array | None = None,
    joint: bool = True,
) -> Float64Array:
    """Weigh members by each series' relative errors: (n_series + 1, n_targets, n_members).

    forecasts: of each of them, (n_windows, pred_len, n_targets), as are truth and weight.
    weight: of each truth; None where all weigh 1.
    series: that of each window.
    prior: (n_members,), logs of what each counts before it is judged; None for all the same.
    joint: whether the error of the joint forecast counts, too.

    Sums are 1. The last row is the panel's, for new series and those without windows; all are equal
    where nothing tells them apart. Compared are the logs of a series' mean absolute errors, less
    their mean over members. Those of a panel are averaged over all targets of all series; a series'
    own count for a fifth beside them. So neither the size of a series nor one that went wild
    decides for the others. The more series there are, the more count weights by which the joint
    forecast errs little: who errs elsewhere than the others has more than by its own errors.
    """
    errors = [selection.mean_errors(f, truth, weight, series, n_series) for f in forecasts]
    logs, known = selection.log_errors(np.stack(errors, axis=2))
    panel = logs[known].mean(axis=0) if known.any() else np.zeros(len(forecasts))
    own = np.where(known[:, :, None], logs - panel, 0.0)
    weights = selection.softmax(-panel / _TEMPERATURE)
    if joint:
        # What errs far more than the best is in the way of others: few steps start from even.
        near = panel <= panel.min() + np.log(_FAR)
        counts = np.ones_like(truth) if weight is None else weight
        off = np.stack(forecasts, -1)[..., near] - truth[..., None]
        together = np.zeros(len(forecasts))
        together[near] = _joint_weights(off, counts, series, known)
        share = selection.shrinkage(max(int(known.sum()) - 1, 0), _OTHERS)
        weights = (1 - share) * weights + share * together
    everyone = np.log(np.maximum(weights, np.finfo(float).tiny))
    if prior is not None:
        everyone = everyone + prior
    scores = everyone - _OWN * own / _TEMPERATURE
    return selection.softmax(np.concatenate([scores, np.broadcast_to(everyone, scores[:1].shape)]))


def _joint_weights(
    off: Float32Array, counts: Float32Array, series: IntArray, known: BoolArray
) -> Float64Array:
    """Find weights by which the joint forecast errs little: means over steps of mirror descent.

    off: (n_windows, pred_len, n_targets, n_members), how far forecasts are off.
    known: (n_series, n_targets), whose errors count, each relative to its members' mean.
    """
    off = np.where(known[series][:, None, :, None], off, 0.0).astype(np.float64)
    size = np.zeros(known.shape)
    np.add.at(size, series, (np.abs(off).mean(axis=3) * counts).sum(axis=1))
    some = known & (size > 0)
    parts = np.divide(_STEP / max(known.sum(), 1), size, out=np.zeros_like(size), where=some)
    flat, share = off.reshape(-1, off.shape[3]), (counts * parts[series, None]).ravel()
    scores = np.zeros((_N_STEPS, off.shape[3]))
    for now, after in pairwise(scores):
        after[:] = now - (np.sign(flat @ selection.softmax(now)) * share) @ flat
    return np.asarray(selection.softmax(scores).mean(axis=0))


def prior_of_windows(n_windows: int, seq_len: int) -> float:
    """
    Return what a map from windows counts before it is judged, as a log.

    Parameters
    ----------
    n_windows : int
        Windows that it was fitted to, at least 1.
    seq_len : int
        Rows that it looks back.

    Returns
    -------
    float
        0 from ten windows a row on; of fewer the log of their part of these.
    """
    return float(np.log(min(1.0, n_windows / (_WINDOWS_A_ROW * seq_len))))


def without_negligible(weights: Float64Array) -> Float64Array:
    """Leave out who hardly counts: what it costs is saved."""
    weights = np.where(weights < _NEGLIGIBLE, 0.0, weights)
    return np.asarray(weights / weights.sum(axis=-1, keepdims=True))


def weigh_steps(
    forecasts: tuple[Float32Array, Float32Array],
    rows: FitRows,
    origins: IntArray,
    stretches: IntArray,
    head: Head,
    *,
    margin: float,
) -> Float64Array:
    """Find the share of the second of two forecasts in each step ahead, (pred_len,).

    It is the one that does best on average over the stretches of the windows, see `mean_share`.
    """
    one, other, truth, weight = map(torch.from_numpy, (*forecasts, *truths_of(rows, origins)))
    with threads_for(0):
        mixed = (torch.lerp(one, other, share) for share in selection.SHARES)
        losses = [(head.point_error(each, truth) * weight).sum(dim=2) for each in mixed]
    total = selection.stretch_sums(torch.stack(losses, dim=1).double().numpy(), stretches)
    total = total @ selection.nearby_steps(rows.sizes.pred_len)
    best = [selection.mean_share(each, margin=margin) for each in np.moveaxis(total, 2, 0)]
    return np.array(selection.SHARES)[best]


def network_share(
    module: Corrected, held_out: WindowBatches, *, steps: IntArray, head: Head
) -> float:
    """Find the share of the network's correction that is sure to help on later rows.

    module: trained, in evaluation mode.
    steps: the time of each validation window.

    See `surest_share`; 0 if the rows are too few for two stretches that hold a forecast each.
    """
    losses = _network_losses(module, held_out, steps, head)
    return 0.0 if losses is None else selection.SHARES[selection.surest_share(losses)]


def network_gain(
    module: Corrected, held_out: WindowBatches, *, steps: IntArray, head: Head
) -> float:
    """Return what part of the ridges' loss the correction likely takes off on later rows.

    See `likely_gain`; 0 where `network_share` is for too few rows.
    """
    losses = _network_losses(module, held_out, steps, head)
    return 0.0 if losses is None else selection.likely_gain(losses)


def _network_losses(
    module: Corrected, held_out: WindowBatches, steps: IntArray, head: Head
) -> Float64Array | None:
    """Return the losses of each share of the network on stretches, (n_stretches, n_shares)."""
    cut = selection.cut_stretches(steps, held_out.source.pred_len, n_most=selection.MOST_STRETCHES)
    if cut is None:
        return None
    losses = []
    with threads_for(held_out.batch_size * module.largest_product), torch.inference_mode():
        for batch in held_out:
            alone = module.path(*batch.inputs[:4])
            together = head.point(module(*batch.inputs))
            weight = 1.0 if batch.weight is None else batch.weight
            mixed = (torch.lerp(alone, together, share) for share in selection.SHARES)
            each = [(head.point_error(m, batch.target) * weight).sum(dim=(1, 2)) for m in mixed]
            losses.append(torch.stack(each, dim=1).cpu().double().numpy())
    return selection.stretch_sums(np.concatenate(losses), cut)
