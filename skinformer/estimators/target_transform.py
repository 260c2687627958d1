"""How targets are transformed before they are standardised, where this is asked for."""

from collections.abc import Hashable
from dataclasses import replace
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
from skinformer.timeline.arrays import Float32Array, Float64Array, IntArray
from skinformer.timeline.roles import Roles
from skinformer.timeline.scaling import Scaler, fit_scaler
from skinformer.timeline.target_scale import (
    FittedTransformer,
    TargetScale,
    apply,
    fit_soft_clip,
    observe_targets,
)
from skinformer.timeline.timeline import Table, Timeline, first_known
from skinformer.timeline.windows import origins_between
from skinformer.training.batch import Batch
from skinformer.validation.truth import (
    check_positive,
    check_transformer,
    raise_unfit_transform,
)


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
    first_row = table.first_row
    start = first_row[:-1]
    stop = first_row[1:]
    if split is not None:
        # A series that is unknown before it has its own size, not the others'.
        stop = np.where(first_known(table.missing, first_row) < split, split, stop)
    return fit_scaler(
        table.columns,
        start,
        stop,
        static=table.static_columns(),
        targets=_fit_targets(
            table, settings, origins_between(start, stop - 1), roles, names
        ),
    )


def _fit_targets(
    table: Table,
    settings: FitSettings,
    rows: IntArray,
    roles: Roles,
    names: pd.Index | None,
) -> TargetScale:
    """Find the bounds of targets, and fit the transformation that is asked for.

    rows: those that the transformation is fitted to.
    """
    columns = table.columns
    wanted = settings.target_transform
    targets, least = observe_targets(columns, table.first_row, table.n_targets)
    if wanted is None:
        return targets
    if wanted == "log":
        is_positive = least > 0
        check_positive(least, is_positive, roles.targets, names)
        targets = replace(targets, logs=is_positive)
        return fit_soft_clip(targets, columns, table.first_row, settings.pred_len)
    transformers = []
    for column, name in zip(columns, roles.targets, strict=False):
        values = column[rows].astype(np.float64)
        values = values[~np.isnan(values)]
        transformers.append(_fit_transformer(wanted, values, name, settings.head))
    return replace(targets, transformers=tuple(transformers))


def _fit_transformer(
    transformer: Any, values: Float64Array, name: Hashable, head: Head
) -> FittedTransformer:
    """Fit a clone to all training values of a target, and check that it gives them back."""
    fitted = clone(transformer)
    distinct = np.unique(values)
    try:
        fitted.fit(values[:, None])
        transformed = apply(fitted.transform, distinct)
        restored = apply(fitted.inverse_transform, transformed)
    except ValueError as error:
        raise_unfit_transform(transformer, name, distinct, error)
    largest = np.abs(distinct).max()
    check_transformer(
        transformer,
        name,
        lost=np.abs(restored - distinct).max(),
        reach=max(1e-4 * np.ptp(distinct), 1e-6 * largest),
        is_decreasing=not head.allows_ridges and bool((np.diff(transformed) < 0).any()),
    )
    return FittedTransformer(fitted, transformed.min(), transformed.max())


def with_smearing_factor(
    scaler: Scaler,
    module: Informer | Corrected,
    validation: WindowBatches | None,
    *,
    timeline: Timeline,
    head: Head,
) -> Scaler:
    """Find the factors that make means of exponentials of forecast logarithms.

    module: trained, its path not fitted again yet, which alone forecasts where there is one.
    validation: windows of the split, of the rows of `timeline`.

    The scaler is as it was where there are no logarithms, no validation windows, or another loss
    than squared errors, whose forecast is a median or another quantile: these need none. Else it
    has Duan's smearing estimate, the mean of the exponentials of residuals, here about their mean:
    what a split drifted is no matter of units. A series' factor is shrunk to 1, for others' say
    nothing of one that is nearly periodic, and is 2 at most.

    Duan (1983), Smearing Estimate: A Nonparametric Retransformation Method, Journal of the American
    Statistical Association 78.
    """
    scale = scaler.targets
    if validation is None or not (head.of_mean and scale.logs.any()):
        return scaler
    n_known, of_residuals, of_exponentials = _residual_sums(
        scaler, module, validation, timeline.series_of(validation.draw())
    )
    is_found = scale.logs & (n_known > 0)
    divisor = np.where(is_found, n_known, 1.0)
    mean_exponential = np.where(is_found, of_exponentials / divisor, 1.0)
    smear = np.log(mean_exponential) - of_residuals / divisor
    # Each row of the split tells how noisy a series is: of six on it counts for half.
    share = shrinkage(n_known / validation.source.sizes.pred_len, 6.0)
    smear = np.where(is_found, np.clip(share * smear, 0.0, np.log(2.0)), 0.0)
    return replace(scaler, targets=replace(scale, smear=smear))


def _residual_sums(
    scaler: Scaler,
    module: Informer | Corrected,
    validation: WindowBatches,
    series: IntArray,
) -> Float64Array:
    """Count known actual values, and add up residuals of logarithms and their exponentials.

    series: that of each window.

    (3, n_series, n_targets); no residual counts for more than 3.
    """
    n_targets = validation.source.sizes.n_targets
    deviation = scaler.scale[:, None, :n_targets]
    sums = np.zeros((len(deviation), 3, n_targets))
    n_done = 0
    n_products = validation.batch_size * module.largest_product
    with threads_for(n_products), torch.inference_mode():
        for batch in validation:
            standardised = _residuals(module, batch)
            n_windows = len(standardised)
            of_series = series[n_done : n_done + n_windows]
            n_done += n_windows
            residuals = np.clip(standardised * deviation[of_series], -3.0, 3.0)
            parts = np.stack(
                [np.ones_like(residuals), residuals, np.exp(residuals)], axis=1
            )
            parts *= _known_truths(batch)[:, None]
            np.add.at(sums, of_series, parts.sum(axis=2))
    return sums.swapaxes(0, 1)


def _residuals(module: Informer | Corrected, batch: Batch) -> Float32Array:
    """Compute the residuals of a batch, standardised."""
    if isinstance(module, Corrected):
        y_pred = module.path(*batch.inputs[:4])
    else:
        y_pred = module(*batch.inputs)
    return np.asarray((batch.target - y_pred).cpu().numpy())


def _known_truths(batch: Batch) -> Float64Array:
    """Return 1 for a known truth and 0 for a missing one, (n_windows, pred_len, n_targets)."""
    if batch.weight is None:
        return np.ones(batch.target.shape)
    return (batch.weight.cpu().numpy() > 0).astype(np.float64)
