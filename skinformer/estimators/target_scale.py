"""How targets are transformed before they are standardised, where this is asked for."""

from collections.abc import Hashable
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np
import pandas as pd
import torch
from sklearn.base import clone

from skinformer.ensemble.batches import WindowBatches
from skinformer.ensemble.head import Head
from skinformer.ensemble.settings import FitSettings
from skinformer.model.corrected import Corrected
from skinformer.model.informer import Informer
from skinformer.selection import shrinkage
from skinformer.threads import threads_for
from skinformer.timeline.arrays import AnyArray, IntArray
from skinformer.timeline.roles import Roles
from skinformer.timeline.scaling import Scaler, fit_scaler
from skinformer.timeline.target_scale import (
    FittedTransformer,
    apply,
    observe_records,
    observe_targets,
)
from skinformer.timeline.timeline import Table, Timeline, first_known
from skinformer.timeline.windows import origins_between
from skinformer.validation.truth import check_positive, check_transformer, raise_unfit_transform

#: Rows of the split at which a series' factor for means counts half.
_PRIOR = 6.0
#: Share of the training values' range by which a transformer may miss them.
_ROUND_TRIP = 1e-4
#: Residuals of logarithms, and factors for means, that count at most.
_FARTHEST, _GREATEST = 3.0, 2.0


def fit_scale(
    table: Table,
    settings: FitSettings,
    roles: Roles,
    split: IntArray | None,
    names: pd.Index | None,
) -> Scaler:
    """Find how columns are standardised, and how targets are transformed before that.

    split: the row at which each series' validation split begins; its rows are left out.
    names: of the series.

    It is a ValueError if what is asked for cannot be done to the training rows.
    """
    end = stop = table.first_row[1:]
    if split is not None:  # a series that is unknown before it has its own size, not the others'
        stop = np.where(first_known(table.missing, table.first_row) < split, split, end)
    rows = table.first_row[:-1], stop
    make = partial(fit_scaler, table.columns, *rows, static=table.static_columns())
    plain, least = observe_targets(table.columns, table.first_row, table.n_targets)
    positive, wanted = least > 0, settings.target_transform
    if wanted is None:
        return make(targets=plain)
    if wanted == "log":
        check_positive(least, positive, roles.targets, names)
        logs = plain.with_logs(positive)
        return make(
            targets=observe_records(logs, table.columns, table.first_row, settings.pred_len)
        )
    shapes = [
        _fit_transformer(wanted, column, rows, name, settings.head)
        for column, name in zip(table.columns, roles.targets, strict=False)
    ]
    return make(targets=replace(plain, transformers=tuple(shapes)))


def _fit_transformer(
    transformer: Any, column: AnyArray, rows: tuple[IntArray, IntArray], name: Hashable, head: Head
) -> FittedTransformer:
    """Fit a clone to all training rows of a target, and look whether it gives them back."""
    values = column[origins_between(rows[0], rows[1] - 1)].astype(np.float64)
    values = values[~np.isnan(values)]
    fitted, distinct = clone(transformer), np.unique(values)
    try:
        fitted.fit(values[:, None])
        out = apply(fitted.transform, distinct)
        back = apply(fitted.inverse_transform, out)
    except ValueError as error:
        raise_unfit_transform(transformer, name, distinct, error)
    lost = float(np.abs(back - distinct).max())
    reach = max(_ROUND_TRIP * float(np.ptp(distinct)), 1e-6 * float(np.abs(distinct).max()))
    is_decreasing = not head.on_path and not (np.diff(out) >= 0).all()
    check_transformer(transformer, name, lost=lost, reach=reach, is_decreasing=is_decreasing)
    return FittedTransformer(fitted, float(out.min()), float(out.max()))


def smeared(
    scaler: Scaler,
    module: Informer | Corrected,
    held_out: WindowBatches | None,
    *,
    timeline: Timeline,
    head: Head,
) -> Scaler:
    """Find the factors that make means of exponentials of forecast logarithms.

    module: trained, its path not fitted again yet, which alone is asked where there is one.
    held_out: validation windows, of the rows of `timeline`.

    The scaler is as it was where there are no logarithms, no validation windows, or another loss
    than squared errors, whose forecast is a median or another quantile: these need none. Else it
    has Duan's smearing estimate, the mean of the exponentials of residuals, here about their mean:
    what a split drifted is no matter of units. A series' factor is shrunk to 1, for others' say
    nothing of one that is nearly periodic, and is 2 at most.

    Duan (1983), Smearing Estimate: A Nonparametric Retransformation Method, Journal of the American
    Statistical Association 78.
    """
    scale = scaler.targets
    if scale is None or held_out is None or not (head.of_mean and scale.logs.any()):
        return scaler
    origins = held_out.draw()
    series = timeline.series_of(origins)
    units, size = scaler.scale[:, None, : scale.n_targets], held_out.batch_size
    owners = np.split(series, range(size, len(series), size))
    raised, drift, weight = np.zeros((3, *scale.logs.shape))
    with threads_for(size * module.largest_product), torch.inference_mode():
        for batch, owner in zip(held_out, owners, strict=True):
            path = getattr(module, "path", None)
            forecast = module(*batch.inputs) if path is None else path(*batch.inputs[:4])
            apart = (batch.target - forecast).cpu().numpy() * units[owner]
            apart = np.clip(apart, -_FARTHEST, _FARTHEST)
            known = np.ones_like(apart) if batch.weight is None else batch.weight.cpu().numpy() > 0
            np.add.at(raised, owner, (np.exp(apart) * known).sum(axis=1))
            np.add.at(drift, owner, (apart * known).sum(axis=1))
            np.add.at(weight, owner, known.sum(axis=1))
    found = scale.logs & (weight > 0)
    smear = np.zeros(scale.logs.shape)
    smear[found] = np.log(raised[found] / weight[found]) - drift[found] / weight[found]
    n = weight / held_out.source.pred_len  # rows of the split: each tells how noisy a series is
    share = np.where(found, shrinkage(n, _PRIOR), 0.0)
    smear = np.clip(share * smear, 0.0, np.log(_GREATEST))
    return replace(scaler, targets=replace(scale, smear=np.where(scale.logs, smear, 0.0)))
