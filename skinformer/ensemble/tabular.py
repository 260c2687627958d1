"""A regressor on the features of steps ahead as one of the forecasters that share a forecast."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
import torch
from torch import Tensor

from skinformer.ensemble.batches import WindowSource
from skinformer.ensemble.building import ModelSizes
from skinformer.ensemble.fitting import FitRows
from skinformer.ensemble.predicting import predict_windows
from skinformer.ensemble.settings import FitSettings
from skinformer.ridge.proof import MOST_STRETCHES, SHARES, cut_stretches, mean_share
from skinformer.stopwatch import timed
from skinformer.tabular.features import Columns
from skinformer.tabular.fit import TabularFit, first_known, fit_tabular
from skinformer.threads import threads_for
from skinformer.timeline.arrays import Float32Array, Float64Array, IntArray
from skinformer.timeline.windows import window_rows
from skinformer.training.losses import Loss

__all__ = ["Challenger", "fit_tabular_path", "forecast_windows", "judge_tabular"]

#: Values that are forecast to judge a long table.
_MOST_VALUES = 20_000
#: Steps ahead share what they prove: so far apart, in doublings, that it counts for e^-½.
_WIDTH = 0.5
#: Standard errors by which trees have to gain on ridges where they see no more than these do:
#: without, their errors on ETTh2 were 1.074 of those (docs/drivers.md).
_DOUBT = 1.0


class Challenger(NamedTuple):
    """A regressor beside ridges and network, and its share of each step ahead."""

    fit: TabularFit
    share: Float64Array


@timed("trees")
def fit_tabular_path(
    rows: FitRows,
    settings: FitSettings,
    *,
    before_tail: bool = False,
    plain: tuple[int, ...] | None = None,
) -> TabularFit:
    """Fit the regressor to the rows of an estimator, see `fit_tabular`.

    before_tail: whether the validation tail's truths are left out; then fewer trees do, where they
    are fitted again with them.
    plain: columns known ahead that are known to tell little, see `FeatureMaker`; None finds them.
    """
    return fit_tabular(
        rows.timeline,
        _columns(rows.sizes),
        missing=rows.missing,
        stop=rows.tail if before_tail else None,
        regressor=None if isinstance(settings.regressor, str) else settings.regressor,
        random_state=rows.seed,
        plain=plain,
        quick=before_tail and settings.early_stopping is not True,
        calendar=rows.calendars[0 if before_tail else 1],
    )


def forecast_windows(fit: TabularFit, rows: FitRows, origins: IntArray) -> Float32Array:
    """Forecast windows of the training rows, standardised: (n_windows, pred_len, n_targets)."""
    timeline = rows.timeline
    begin = first_known(timeline, rows.missing)[timeline.series_of(origins)]
    return fit.forecast(timeline.values, begin, origins, timeline.steps_of(origins), timeline.clock)


@timed("trees")
def judge_tabular(
    path: Callable[..., Tensor], source: WindowSource, rows: FitRows, settings: FitSettings
) -> Challenger | None:
    """Find the regressor's share in the forecasts of a long table, beside the linear path.

    path: the linear path, fitted before the validation tail, which there is.

    The regressor is fitted before the tail; its share in each step ahead is the one that does best
    on the stretches of the tail on average, see `mean_share`. None where it can prove nothing.
    """
    origins = rows.tails.thinned(max(_MOST_VALUES // (source.pred_len * rows.sizes.n_targets), 32))
    times = rows.timeline.steps_of(origins)
    stretches = cut_stretches(times, source.pred_len, n_most=MOST_STRETCHES)
    sees_more = rows.sizes.n_known > 0 or not isinstance(settings.regressor, str)
    # Trees that see no more than ridges do need all stretches: what few long forecasts say of a
    # level holds for their season alone, and cost 26 % on ETTh1, 336 steps ahead (docs/drivers.md).
    if stretches is None or not (sees_more or stretches.max() + 1 == MOST_STRETCHES):
        return None
    fit = fit_tabular_path(rows, settings, before_tail=True)
    linear = predict_windows(lambda *inputs: path(*inputs[:4]), source, origins)
    tabular = forecast_windows(fit, rows, origins)
    with threads_for(0):
        losses = _losses(linear, tabular, rows, origins, settings.head.point_error)
    total = np.zeros((int(stretches.max()) + 1, *losses.shape[1:]))
    np.add.at(total, stretches, losses)
    total = total @ _nearby(source.pred_len)
    doubt = 0.0 if rows.sizes.n_known else _DOUBT
    best = [mean_share(total[:, :, step], doubt=doubt) for step in range(source.pred_len)]
    return Challenger(fit, np.array(SHARES)[best])


def _losses(
    one: Float32Array, other: Float32Array, rows: FitRows, origins: IntArray, error: Loss
) -> Float64Array:
    """Give the loss of each window with each share of the other forecast, by step ahead."""
    timeline, n_targets = rows.timeline, rows.sizes.n_targets
    ahead = window_rows(origins, rows.sizes.pred_len)
    truth = torch.from_numpy(timeline.values[ahead, :n_targets])
    weight = torch.ones_like(truth)
    if timeline.weight is not None:
        weight = torch.from_numpy(timeline.weight[ahead])
    start, end = torch.from_numpy(one), torch.from_numpy(other)
    losses = [(error(torch.lerp(start, end, share), truth) * weight).sum(dim=2) for share in SHARES]
    return torch.stack(losses, dim=1).double().numpy()


def _nearby(pred_len: int) -> Float64Array:
    """Weigh steps by how near they are: neighbours far ahead are alike, the first few are not."""
    place = np.log2(np.arange(pred_len) + 1.0)
    weights: Float64Array = np.exp(-0.5 * ((place[:, None] - place) / _WIDTH) ** 2)
    return weights


def _columns(sizes: ModelSizes) -> Columns:
    return Columns(sizes.n_targets, sizes.n_past, sizes.n_known, sizes.n_static, sizes.pred_len)
