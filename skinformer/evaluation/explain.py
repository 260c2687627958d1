"""Why a forecast is what it is: what groups of columns, and members of the ensemble, give to it."""

from collections.abc import Hashable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import cache, partial
from itertools import chain, permutations
from typing import Any

import numpy as np
import pandas as pd
from pandas import DataFrame

from skinformer.ensemble.ensemble import EnsembleForecaster
from skinformer.ensemble.windows import Rows
from skinformer.estimators.regressor import InformerRegressor
from skinformer.evaluation.ahead import split_last_step
from skinformer.evaluation.recording import (
    RequestedForecasts,
    WatchedForecaster,
    requested_forecasts,
)
from skinformer.evaluation.usual import usual_values
from skinformer.progress import counted
from skinformer.rolling.own_size import Resized
from skinformer.timeline.arrays import Float32Array, Float64Array, IntArray
from skinformer.validation.arguments import check_choice, check_count


def explain(
    estimator: Any,
    X: Any = None,
    *,
    groups: Mapping[Hashable, Sequence[Hashable]] | None = None,
    n_permutations: int = 10,
    random_state: int = 0,
    verbose: int | bool = 0,
) -> DataFrame:
    """
    Compute the contribution of each column, or group of columns, to each forecast.

    Each forecast is split into a baseline and contributions, which add up to the forecast. The
    baseline is the forecast of the same model for the same time from a usual past. The usual value
    of a column is its median at this phase of the longest season (the week for hours, the day for
    minutes, the year for months) of which the history contains four. The effects of the calendar
    and of the series are part of the baseline.

    Parameters
    ----------
    estimator : InformerRegressor, or a Pipeline or search that ends in one
        The fitted estimator.
    X : DataFrame, Series or array-like of shape (n_samples, n_features), default=None
        Rows whose forecasts by `predict` are explained; None explains `forecast()`, the steps
        after the history.
    groups : mapping of hashable to sequence of column names, default=None
        Names of groups and their columns, such as ``{"weather": ["temp", "rain"]}``; targets may be
        among them. The columns of a group have one contribution. Columns that are in no group are
        groups of their own; with None all columns are.
    n_permutations : int, default=10
        Number of orders of the groups that are drawn if there are more than five groups. With up to
        five groups all orders are used.
    random_state : int, default=0
        Seed of the orders.
    verbose : int or bool, default=0
        Above 0: write how many forecasts are made, and the seconds that the others likely take.

    Returns
    -------
    DataFrame
        One row per forecast and source: ``time``, ``series`` (of a panel), ``ahead`` (steps from
        the origin, from 1), ``target``, ``source``, and ``contribution`` in the units of the
        target. The contributions of a forecast add up to it. Sources are "baseline" and the groups.
        With several quantiles as `loss`, there is also "calibration", the change of the median by
        the errors of the past.

    Raises
    ------
    TypeError
        If the estimator is not an `InformerRegressor`, nor ends in one.
    ValueError
        If X cannot be forecast, if `groups` contain a column twice or one that there is not, or if
        `n_permutations` is less than 2.

    See Also
    --------
    forecast_parts : The forecast of each member of the ensemble.
    skinformer.display.ContributionDisplay : A plot of the result.

    Notes
    -----
    Contributions are Shapley values [1]_: the change of the forecast when the values of a group
    replace the usual ones, averaged over the orders in which groups may do so. They are exact for
    up to five groups, and for any number if the forecast is a sum of effects of the groups, as that
    of ridges. Otherwise orders are drawn in pairs, each with its reverse [2]_, so that the joint
    effect of two groups is shared equally between them. The contributions add up to the forecast in
    all cases. To explain single lags, or for other baselines, use the package shap on a function of
    windows.

    Missing values stay missing. Contributions are not causal: the effect of a column may be
    assigned to another one that moves with it.

    Cost: up to 32 forecasts of five groups, ``n_permutations * n_groups`` of more.

    References
    ----------
    .. [1] Shapley (1953), A Value for n-Person Games, Contributions to the Theory of Games 2.
    .. [2] Castro, Gómez and Tejada (2009), Polynomial Calculation of the Shapley Value Based on
       Sampling, Computers and Operations Research 36, 1726-1730.

    Examples
    --------
    >>> import numpy as np, pandas as pd
    >>> from skinformer import InformerRegressor, Network, Training
    >>> from skinformer.evaluation import explain
    >>> hours = pd.date_range("2024-01-01", periods=200, freq="h")
    >>> df = pd.DataFrame({"load": np.sin(np.arange(200) * 2 * np.pi / 24)}, index=hours)
    >>> model = InformerRegressor(
    ...     seq_len=24, pred_len=6, network=Network(d_model=16, n_heads=2),
    ...     training=Training(max_iter=2), random_state=0
    ... )
    >>> reasons = explain(model.fit(df))
    >>> total = reasons.groupby("time")["contribution"].sum()
    >>> bool(np.allclose(total, model.forecast()["load"]))
    True
    """
    n_permutations = check_count(
        "n_permutations", n_permutations, "orders of groups", least=2
    )
    random_state = check_count("random_state", random_state, "it seeds orders", least=0)
    forecasts = _forecasts_of(estimator, X)
    roles = forecasts.model.roles_
    columns = [*roles.targets, *map(roles.source_of, (*roles.past, *roles.known))]
    named = _complete_groups(columns, groups)
    points = cache(
        partial(
            _forecast_from,
            forecasts,
            columns,
            list(named.values()),
            *_usual_rows(forecasts),
        )
    )
    orders = list(_orders(len(named), n_permutations, random_state))
    _forecast_all(points, orders, verbose=verbose)
    contributions = _contributions(forecasts, points, orders)
    sources = ["baseline", *named, "calibration"][: len(contributions)]
    table = forecasts.table(source=sources)
    return table.assign(contribution=np.stack(contributions, axis=2).ravel())


def _forecast_all(
    points: Any, orders: list[Sequence[int]], *, verbose: int | bool
) -> None:
    """Forecast from the own values of all sets of groups that orders pass, and keep forecasts.

    points: see `_contributions`.
    """
    inside = [frozenset(order[:n]) for order in orders for n in range(len(order) + 1)]
    distinct = list(dict.fromkeys(inside))
    for groups in counted(distinct, len(distinct), "explain", verbose=verbose):
        points(groups)


def _contributions(
    forecasts: RequestedForecasts, points: Any, orders: list[Sequence[int]]
) -> list[Float64Array]:
    """Return those of the baseline, of groups and, if there is one, of the calibration.

    points: forecasts from the own values of a set of groups, see `_forecast_from`.
    """
    everything = frozenset(orders[0])
    baseline = points(frozenset())
    values = np.zeros((len(everything), *baseline.shape))
    for order in orders:
        inside = frozenset[int]()
        before = baseline
        for group in order:
            inside = inside | {group}
            after = points(inside)
            values[group] += (after - before) / len(orders)
            before = after
    contributions = [baseline, *values]
    if forecasts.model.head_.level is not None:
        calibrated = forecasts.model._points(forecasts.steps)
        contributions.append(calibrated - points(everything))
    return contributions


def _complete_groups(
    columns: list[Hashable], groups: Any
) -> dict[Hashable, list[Hashable]]:
    """Return groups by name, and behind them one for each column that is in none of them."""
    given = groups or {}
    named = {name: list(members) for name, members in given.items()}
    grouped = list(chain(*named.values()))
    for column in grouped:
        check_choice("groups: column", column, columns)
    alone = {column: [column] for column in columns if column not in grouped}
    if len(set(grouped)) < len(grouped) or named.keys() & alone.keys():
        raise ValueError(
            f"groups={groups!r} contain a column twice, or a group has the name of a "
            "column that is in no group. Put each column into one group, and choose "
            "other names."
        )
    return named | alone


def _orders(n: int, n_permutations: int, seed: int) -> Iterator[Sequence[int]]:
    """Return all orders of up to five groups, else some that are drawn, each with its reverse."""
    if n <= 5:
        yield from permutations(range(n))
        return
    generator = np.random.default_rng(seed)
    n_pairs = -(-n_permutations // 2)
    for _ in range(n_pairs):
        order = generator.permutation(n).tolist()
        yield order
        yield order[::-1]


def _forecast_from(
    forecasts: RequestedForecasts,
    columns: list[Hashable],
    groups: list[list[Hashable]],
    usual: Float32Array,
    usual_given: Float32Array,
    inside: frozenset[int],
) -> Float64Array:
    """Forecast, (n, n_targets), before calibration, where other columns have their usual values.

    columns, groups: of X, of which those of the history are made, and those of each group.
    usual, usual_given: the history's values, and those of X's rows, if all were usual.
    inside: groups that have their own values.
    """
    names = list(chain(*[groups[i] for i in inside]))
    own = [column in names for column in columns]
    steps = forecasts.steps
    model = forecasts.model
    history = model.timeline_
    # What is shown of the history, and of X.
    values = np.where(own, history.values, usual)
    context = replace(history, values=values)
    given = np.where(own, steps.observed.values, usual_given)
    shown = steps._replace(observed=steps.observed._replace(values=given))
    forecaster = WatchedForecaster(**vars(model._forecaster), context=context)
    outputs, _ = forecaster.standardised_and_held(shown)
    in_units = forecaster.in_units(outputs, forecaster.places_of(steps))
    return model.head_.point(in_units)


def _usual_rows(forecasts: RequestedForecasts) -> tuple[Float32Array, Float32Array]:
    """Return what the values of the history, and of the rows given, usually are."""
    history = forecasts.model.timeline_
    steps = forecasts.steps
    observed = steps.observed
    usual = history.values.copy()
    # Series that the history does not hold usually have the training means.
    usual_given = np.zeros_like(observed.values)
    owner = steps.place.series[observed.segment]
    is_fitted = steps.place.series < history.n_series
    for series in np.unique(steps.place.series[is_fitted]):
        given = owner == series
        usual_given[given] = usual_values(
            history, series, observed.steps[given], steps.clock
        )
        stop = history.first_row[series + 1]
        rows = np.arange(history.first_truth[series], stop)
        past = history.steps_of(rows)
        usual[rows] = usual_values(history, series, past, history.clock)
    usual_given[np.isnan(observed.values)] = np.nan
    return usual, usual_given


def importance(estimator: Any, X: Any = None, **options: Any) -> pd.Series:
    """
    Compute how much each column moves the forecasts.

    Parameters
    ----------
    estimator : InformerRegressor, or a Pipeline or search that ends in one
        The fitted estimator.
    X : DataFrame, Series or array-like of shape (n_samples, n_features), default=None
        Rows whose forecasts are explained, as `predict` takes them; None is `forecast()`.
    **options : Any
        Options of `explain`: groups, n_permutations, random_state, verbose.

    Returns
    -------
    Series of shape (n_groups,)
        Mean absolute contribution of each column or group, as shares of 1, the largest first. The
        shares are computed for each series and target, and then averaged. If no column changes a
        forecast, all shares are 0.

    Raises
    ------
    TypeError
        If the estimator is not an `InformerRegressor`, nor ends in one.
    ValueError
        If X cannot be forecast, or if an option of `explain` is out of range.

    See Also
    --------
    explain : The contributions, with signs.
    sklearn.inspection.permutation_importance : How much errors grow where a column is shuffled.

    Examples
    --------
    >>> import numpy as np, pandas as pd
    >>> from skinformer import InformerRegressor, Network, Training
    >>> from skinformer.evaluation import importance
    >>> hours = pd.date_range("2024-01-01", periods=200, freq="h")
    >>> df = pd.DataFrame({"load": np.random.default_rng(0).random(200)}, index=hours)
    >>> model = InformerRegressor(
    ...     seq_len=24, pred_len=6, network=Network(d_model=16, n_heads=2),
    ...     training=Training(max_iter=2), random_state=0
    ... )
    >>> importance(model.fit(df)).to_dict()
    {'load': 1.0}
    """
    reasons = explain(estimator, X, **options)
    reasons = reasons[~reasons["source"].isin(["baseline", "calibration"])]
    names = ["target", "series"] if "series" in reasons else ["target"]
    sizes = reasons.assign(importance=reasons["contribution"].abs())
    mean = sizes.groupby([*names, "source"], sort=False)["importance"].mean()
    shares = mean / mean.groupby(names).transform("sum")
    found = shares.groupby("source", sort=False).mean().fillna(0.0)
    return found.sort_values(ascending=False).rename_axis(None)


def forecast_parts(estimator: Any, X: Any = None) -> DataFrame:
    """
    Return what each member of the ensemble forecasts, and its weight.

    Parameters
    ----------
    estimator : InformerRegressor, or a Pipeline or search that ends in one
        The fitted estimator.
    X : DataFrame, Series or array-like of shape (n_samples, n_features), default=None
        Rows that `predict` forecasts; None takes the steps of `forecast()`.

    Returns
    -------
    DataFrame
        One row per forecast and member: ``time``, ``series`` (of a panel), ``ahead``, ``target``,
        ``part`` (the name of the member), ``weight`` (the weights add up to 1) and ``forecast``,
        the forecast of this member alone, in the units of the target. Members without a weight in
        the block of a forecast are left out.

    Raises
    ------
    TypeError
        If the estimator is not an `InformerRegressor`, nor ends in one.
    ValueError
        If X cannot be forecast.

    See Also
    --------
    explain : Contributions of columns.
    skinformer.display.WeightsDisplay : The weights of a fit.

    Notes
    -----
    The forecast of the ensemble is the weighted mean of these forecasts; on log scale it is the
    weighted mean of their logarithms. With several quantiles as `loss`, the result is calibrated
    afterwards.

    Examples
    --------
    >>> import numpy as np, pandas as pd
    >>> from skinformer import InformerRegressor, Network, Training
    >>> from skinformer.evaluation import forecast_parts
    >>> hours = pd.date_range("2024-01-01", periods=200, freq="h")
    >>> df = pd.DataFrame({"load": np.sin(np.arange(200) * 2 * np.pi / 24)}, index=hours)
    >>> model = InformerRegressor(
    ...     seq_len=24, pred_len=6, network=Network(d_model=16, n_heads=2),
    ...     training=Training(max_iter=2), random_state=0
    ... )
    >>> parts = forecast_parts(model.fit(df))
    >>> sorted(parts), bool(np.allclose(parts.groupby("time")["weight"].sum(), 1))
    (['ahead', 'forecast', 'part', 'target', 'time', 'weight'], True)
    """
    forecasts = _forecasts_of(estimator, X)
    model = forecasts.model
    windows, window = forecasts.record(_parts_of_windows, _restored_parts)
    parts = np.stack(windows)
    # 1. Weights and points of each forecast, these in units: (n, n_targets, n_members, 2).
    found = parts[window, forecasts.ahead]
    points = found[..., 1]
    places = model._forecaster.places_of(forecasts.steps)
    scaler = model.scaler_.with_unseen()
    for i in range(points.shape[2]):
        points[..., i] = scaler.inverse_with_smearing(points[..., i], places.series)
    bounded = model._forecaster.bounds.below_ceilings(points, places.series)
    points[:] = places.with_months(bounded)
    # 2. Members that have a weight somewhere in the forecast's block.
    has_weight = np.any(parts[..., 0], axis=(1, 2))
    is_kept = has_weight[window].repeat(points.shape[1], axis=0)
    # 3. A row for each forecast, target and member.
    table = forecasts.table(part=list(model.ensemble_.members))
    table[["weight", "forecast"]] = found.reshape(-1, 2)
    return table[is_kept.ravel()].reset_index(drop=True)


def _parts_of_windows(
    ensemble: EnsembleForecaster, rows: Rows, origins: IntArray
) -> Float64Array:
    """Return weights and points of members, (n_windows, pred_len, n_targets, n_members, 2)."""
    sizes = ensemble.sizes
    found = ensemble.parts(rows, origins)
    members = ensemble.ensemble.members
    parts = np.zeros((len(origins), sizes.pred_len, sizes.n_targets, len(members), 2))
    for i, name in enumerate(members):
        if name in found:
            parts[..., i, :] = np.stack(found[name], axis=-1)
    return parts


def _restored_parts(parts: Float64Array, size: Resized) -> Float64Array:
    """Put points of the members of a window, (pred_len, n_targets, n_members, 2), back in size."""
    weights, points = np.moveaxis(parts, -1, 0)
    return np.stack([weights, size.undone(points[None])[0]], axis=-1)


def _forecasts_of(estimator: Any, X: Any) -> RequestedForecasts:
    """Find forecasts; raise if the estimator forecasts no numbers, or by other means."""
    model = split_last_step(estimator)[1]
    if not isinstance(model, InformerRegressor):
        raise TypeError(
            f"{type(model).__name__} cannot be explained: contributions are computed "
            "for an InformerRegressor, whose forecasts are numbers. Pass a fitted "
            "one, or a Pipeline or search that ends in one; scikit-learn's "
            "permutation_importance takes any estimator."
        )
    return requested_forecasts(estimator, X)
