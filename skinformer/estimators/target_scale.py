"""How targets are transformed before they are standardised: asked for, or proved on held-out rows.

Under "auto" a series takes logarithms where ridges on them, fitted before the validation split,
forecast its split better, in its own units, than ridges on the values do. The ridges see one target
at a time and half of the windows, so that both together cost less than the path itself.
"""

from collections.abc import Hashable
from dataclasses import replace
from functools import partial
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
import torch
from sklearn.base import clone

from skinformer.ensemble.batches import WindowBatches
from skinformer.ensemble.building import ModelSizes
from skinformer.ensemble.fitting import cut_windows
from skinformer.ensemble.head import Head
from skinformer.ensemble.ridges import linear_fit
from skinformer.ensemble.settings import FitSettings
from skinformer.model.corrected import Corrected
from skinformer.model.informer import Informer
from skinformer.ridge.sums import Problem, gather
from skinformer.selection import shrinkage
from skinformer.threads import threads_for
from skinformer.timeline.arrays import AnyArray, BoolArray, Float64Array, IntArray
from skinformer.timeline.roles import Roles
from skinformer.timeline.scaling import Scaler, fit_scaler
from skinformer.timeline.target_scale import (
    FittedTransformer,
    apply,
    observe_records,
    observe_targets,
)
from skinformer.timeline.timeline import Table, Timeline, build_timeline, first_known
from skinformer.timeline.windows import origins_between, window_rows
from skinformer.validation.truth import check_positive, check_transformer, raise_unfit_transform

#: Windows that the two ridges learn from, and that they forecast, at most, and the rows that they
#: look back: the question is which of two is better, not how good it can be.
_MAX_WINDOWS, _LONGEST = 20_000, 256
#: Relative error by which logarithms have to be better.
_MARGIN = 0.03
#: Forecasts of its own at which a series counts as much as the panel does for it.
_PRIOR = 6.0
#: Stretches of a long split, of as many forecasts at least, all of which have to say the same.
_STRETCHES = 4
#: Series at which a panel is believed half: one alone must not believe itself.
_PANEL_PRIOR = 5.0
#: Log ratio of errors that counts at most, so that no series speaks for the others.
_LOUDEST = 1.0
#: Share of the training values' range by which a transformer may miss them.
_ROUND_TRIP = 1e-4
#: Forecast values that are compared at most.
_MAX_VALUES = 20_000_000
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

    Cost under "auto": none where no series is above zero throughout, else two fits of ridges to
    those that are, target by target, and to half their windows each. It is a ValueError if what is
    asked for cannot be done to the training rows.
    """
    end = stop = table.first_row[1:]
    if split is not None:  # a series that is unknown before it has its own size, not the others'
        stop = np.where(first_known(table.missing, table.first_row) < split, split, end)
    rows = table.first_row[:-1], stop
    make = partial(fit_scaler, table.columns, *rows, static=table.static_columns())
    plain, least = observe_targets(table.columns, table.first_row, table.n_targets)
    positive, wanted = least > 0, settings.target_transform
    limited = partial(
        observe_records, columns=table.columns, first_row=table.first_row, n_steps=settings.pred_len
    )
    if wanted == "log":
        check_positive(least, positive, roles.targets, names)
        return make(targets=limited(plain.with_logs(positive)))
    if wanted is not None and wanted != "auto":
        shapes = [
            _fit_transformer(wanted, column, rows, name, settings.head)
            for column, name in zip(table.columns, roles.targets, strict=False)
        ]
        return make(targets=replace(plain, transformers=tuple(shapes)))
    scaler = make(targets=plain)
    if wanted is None or split is None or not settings.linear_path or not positive.any():
        return scaler
    logs = np.zeros_like(positive)
    for j, some in enumerate(positive.T):
        if some.any():
            logs[some, j] = _judge_logs(_one_target(table, j, some), settings, (end - split)[some])
    return make(targets=limited(plain.with_logs(logs))) if logs.any() else scaler


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
    falls = not head.on_path and not (np.diff(out) >= 0).all()
    check_transformer(transformer, name, lost=lost, reach=reach, falls=falls)
    return FittedTransformer(fitted, float(out.min()), float(out.max()))


def _one_target(table: Table, j: int, wanted: BoolArray) -> Table:
    """Return one target of the wanted series as a panel of its own."""
    weight = None if table.weight is None else table.weight[:, [j]]
    one = replace(table, columns=[table.columns[j]], n_targets=1, weight=weight, names=None)
    one = one.take(wanted[table.series])
    return replace(one, series=(np.cumsum(wanted) - 1)[one.series])


class _HeldOut(NamedTuple):
    """How ridges erred on the validation split, by series.

    error: (n_series,), mean absolute or root mean square; NaN where nothing is known.
    n_forecasts: (n_series,), whole forecasts that the split of each series holds.
    stretches: (n_series, 4), the error in each stretch of a long split; NaN where there is none.
    """

    error: Float64Array
    n_forecasts: Float64Array
    stretches: Float64Array


def _judge_logs(table: Table, settings: FitSettings, n_split: IntArray) -> BoolArray:
    """Choose the series of a panel whose logarithms are forecast better than they are."""
    split = table.first_row[1:] - n_split
    rows = table.first_row[:-1], split
    plain, _ = observe_targets(table.columns, table.first_row, 1)
    fit = partial(fit_scaler, table.columns, *rows, static=[])
    values, logs = (fit(targets=plain.with_logs(taken)) for taken in (plain.logs, ~plain.logs))
    judge = partial(_held_out, table, settings=settings, split=split, unit=values.scale)
    return _better(judge(values), judge(logs))


def _held_out(
    table: Table, scaler: Scaler, *, settings: FitSettings, split: IntArray, unit: Float64Array
) -> _HeldOut:
    """Fit ridges before the split, and compare their forecasts with it in the target's units."""
    timeline = build_timeline(table, scaler, fill_covariates=True)
    seq_len, pred_len = settings.seq_len, settings.pred_len
    sizes = ModelSizes(1, 0, 0, 0, 0, (), seq_len, pred_len, settings.patch_len)
    windows = cut_windows(timeline, sizes, split)
    count = sum(part.count for part in windows)
    n_most, missing = min(-(-count // 2), _MAX_WINDOWS), table.missing
    short = sizes._replace(seq_len=min(seq_len, _LONGEST))
    fit = linear_fit(
        timeline, short, windows, missing=missing, split=split, refit=False, n_most=n_most
    )[0]
    problem = Problem(
        timeline.values, timeline.weight, None, 1, short.seq_len, pred_len, np.zeros((0, 1))
    )
    origins = windows[1].thinned(min(_MAX_WINDOWS, 1 + _MAX_VALUES // pred_len))
    series = timeline.series_of(origins)
    held = windows[1].high - windows[1].low + 1
    n_forecasts = np.where(held > 0, (held - 1) / pred_len + 1, 0.0)
    n_parts = np.clip(n_forecasts // _PRIOR, 1, _STRETCHES).astype(np.int64)
    stretch = (origins - windows[1].low[series]) * n_parts[series] // held[series]
    total, weight = np.zeros((2, timeline.n_series, _STRETCHES))
    for part in gather(problem, origins):
        n = len(part.last)
        rows, owner, place = window_rows(origins[:n], pred_len), series[:n], stretch[:n]
        origins, series, stretch = origins[n:], series[n:], stretch[n:]
        forecast = fit.blended(part)[..., 0] + part.last
        each = np.repeat(owner, pred_len)
        forecast = scaler.inverse(forecast.reshape(-1, 1), each).reshape(n, pred_len)
        known = part.weight[:, :, 0]
        with np.errstate(over="ignore"):
            apart = np.abs(forecast - table.columns[0][rows]) / unit[owner]
            apart = np.where(known > 0, apart**2 if settings.head.of_mean else apart, 0.0)
        np.add.at(total, (owner, place), (apart * known).sum(axis=1))
        np.add.at(weight, (owner, place), known.sum(axis=1))
    total, weight = (np.column_stack([x.sum(axis=1), x]) for x in (total, weight))
    error = np.divide(total, weight, out=np.full(total.shape, np.nan), where=weight > 0)
    error = np.sqrt(error) if settings.head.of_mean else error
    error[:, 1:][n_parts == 1] = np.nan
    return _HeldOut(error[:, 0], n_forecasts, error[:, 1:])


def _better(values: _HeldOut, logs: _HeldOut) -> BoolArray:
    """Return whose logarithms are forecast better, each as far as it can prove it."""
    judged = (values.error > 0) & (logs.error > 0)  # NaN: no
    ratio = np.zeros(len(judged))
    ratio[judged] = np.log(logs.error[judged]) - np.log(values.error[judged])
    np.clip(ratio, -_LOUDEST, _LOUDEST, out=ratio)
    panel = ratio.sum() / (judged.sum() + _PANEL_PRIOR)
    share = np.where(judged, shrinkage(values.n_forecasts, _PRIOR), 0.0)
    better: BoolArray = share * ratio + (1 - share) * panel < -_MARGIN
    # A season of one year, however many forecasts it holds, says little about the next.
    unsure = logs.stretches > np.exp(-_MARGIN) * values.stretches  # NaN: no
    return np.asarray(better & ~unsure.any(axis=1))


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
