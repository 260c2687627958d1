"""Why a forecast is what it is: what each column, and each block of lags, gives to it."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from typing import Any

import numpy as np
import pandas as pd

from skinformer.estimators.regressor import InformerRegressor
from skinformer.evaluation.ahead import take_apart
from skinformer.evaluation.players import Player, UsualValues, default_blocks, lay_out
from skinformer.evaluation.seen import RequestedForecasts, requested_forecasts
from skinformer.evaluation.window_game import WindowGame
from skinformer.timeline.arrays import Float64Array
from skinformer.validation.arguments import check_blocks, check_choice, check_count

_METHODS = ("shapley", "occlusion")


def explain(
    estimator: Any,
    X: Any = None,
    *,
    method: str = "shapley",
    blocks: Sequence[int] | None = None,
    n_evaluations: int = 512,
    random_state: int = 0,
) -> pd.DataFrame:
    """
    Tell what each column, and each block of its lags, gives to each forecast.

    Each forecast is taken apart into a baseline, which is what the same fit forecasts for the same
    time from a usual past, and what the values that differ from the usual ones add to it. Usual is
    a column's median at this time of the longest season (a week of hours, a day of minutes, a year
    of months) of which the history holds four. The calendar, the series and what the fit knows of
    them are part of the baseline.

    Parameters
    ----------
    estimator : InformerRegressor, or a Pipeline or search that ends in one
        Fitted.
    X : DataFrame, Series or array-like of shape (n_samples, n_features), default=None
        Rows whose forecasts by `predict` are explained; None explains `forecast()`, the steps
        after the history.
    method : {"shapley", "occlusion"}, default="shapley"
        "shapley" gives each block its Shapley value: what the forecast gains when the block's
        values replace the usual ones, averaged over the orders in which blocks may do so.
        "occlusion" replaces the values of one block at a time, all others being as they are; what
        does not add up is a source of its own, "interactions".
    blocks : sequence of int, default=None
        The oldest lag of each block of a column, ascending; older lags are one block more. None is
        the last row, and those of the last day and week (whatever seasons dates suggest), without
        dates of the last `pred_len` rows. ``[]`` makes one block of each column.
    n_evaluations : int, default=512
        Forecasts of each window with blocks replaced, at most, but for two orders at least.
        Shapley values are exact if there are no more coalitions of blocks, which is so for nine.
    random_state : int, default=0
        Seed of the orders that are drawn where there are more.

    Returns
    -------
    DataFrame
        A row for each forecast and source: ``time``, ``series`` (of a panel), ``ahead`` (steps from
        the origin, from 1), ``target``, ``source``, ``lag``, ``contribution`` in the target's
        units. The contributions of a forecast add up to it. Sources are "baseline", with lag "",
        and X's columns, with the lag "1", "2-24" and so on, "ahead" for the values from the origin
        on of columns that are known there, or "static". With several quantiles as `loss`,
        "calibration" is by how much errors of the past move the median.

    See Also
    --------
    forecast_parts : What ridges, network, trees and classical forecasters say each.
    skinformer.display.ContributionDisplay : A picture of the result.

    Notes
    -----
    What ridges give is read off their map and exact, of logarithms too. Of trees, network and
    classical forecasters 512 forecasts are a sample, in pairs of an order and its reverse, so that
    what two blocks do together is no matter of chance; the sum is exact all the same. What is drawn
    depends on nothing but the number of blocks: the explanation of a row is the same whatever rows
    are explained with it.

    A missing truth before the origin, and, beyond `pred_len`, one to come, is forecast first. Such
    a value counts as the value of its column. No contribution is a cause: a column may be given
    what another one, or nobody measured, did.

    Cost: `n_evaluations` forecasts for each `pred_len` rows, about a second.

    References
    ----------
    Shapley (1953), A value for n-person games. Castro, Gómez and Tejada (2009), Polynomial
    calculation of the Shapley value based on sampling. Owen (1972), Multilinear extensions of
    games.

    Examples
    --------
    >>> import numpy as np, pandas as pd
    >>> from skinformer import InformerRegressor
    >>> from skinformer.evaluation import explain
    >>> hours = pd.date_range("2024-01-01", periods=200, freq="h")
    >>> df = pd.DataFrame({"load": np.sin(np.arange(200) * 2 * np.pi / 24)}, index=hours)
    >>> model = InformerRegressor(
    ...     seq_len=24, pred_len=6, d_model=16, n_heads=2, max_iter=2, random_state=0
    ... )
    >>> reasons = explain(model.fit(df))
    >>> total = reasons.groupby("time")["contribution"].sum()
    >>> bool(np.allclose(total, model.forecast()["load"]))
    True
    """
    check_choice("method", method, _METHODS)
    what = "forecasts of a window with blocks replaced"
    n_evaluations = check_count("n_evaluations", n_evaluations, what, least=2)
    check_count("random_state", random_state, "it seeds orders", least=0, most=2**32 - 1)
    edges = None if blocks is None else check_blocks(blocks)
    forecasts = _forecasts_of(estimator, X)
    model, forecaster, clock = forecasts.model, forecasts.model._forecaster, forecasts.steps.clock
    pred_len, look_back = model.sizes_.pred_len, forecaster.look_back
    if edges is None:
        edges = default_blocks(clock, look_back, pred_len)
    players, places = lay_out(model.roles_, look_back, pred_len, edges)
    usual = cache(lambda series: UsualValues.of(model.timeline_, series))
    given, occlude = [], method == "occlusion"
    for window in forecasts.windows:
        there = usual(window.series).at(window.steps, clock)
        game = WindowGame(forecaster, window, clock, there, places, len(players))
        given.append(game.occlusion() if occlude else game.shapley(n_evaluations, random_state))
    if occlude:
        players = [*players, Player("interactions", "")]
    return _as_table(forecasts, players, np.stack(given))


def importance(estimator: Any, X: Any = None, **options: Any) -> pd.Series:
    """
    Tell how much each column moves the forecasts.

    Parameters
    ----------
    estimator : InformerRegressor, or a Pipeline or search that ends in one
        Fitted.
    X : DataFrame, Series or array-like of shape (n_samples, n_features), default=None
        Rows whose forecasts are explained, as `predict` takes them; None is `forecast()`.
    **options : Any
        Of `explain`: method, blocks, n_evaluations, random_state.

    Returns
    -------
    Series of shape (n_columns,)
        Mean absolute contribution of each column, as shares of 1, the largest first: those of each
        series and target first, whatever its units, and of these the mean. 0 for all where no
        column moves anything.

    See Also
    --------
    explain : The contributions, with lags and signs.
    skinformer.display.ContributionDisplay : A picture of them.

    Examples
    --------
    >>> import numpy as np, pandas as pd
    >>> from skinformer import InformerRegressor
    >>> from skinformer.evaluation import importance
    >>> hours = pd.date_range("2024-01-01", periods=200, freq="h")
    >>> df = pd.DataFrame({"load": np.random.default_rng(0).random(200)}, index=hours)
    >>> model = InformerRegressor(
    ...     seq_len=24, pred_len=6, d_model=16, n_heads=2, max_iter=2, random_state=0
    ... )
    >>> importance(model.fit(df)).to_dict()
    {'load': 1.0}
    """
    reasons = explain(estimator, X, **options)
    reasons = reasons[~reasons["source"].isin(["baseline", "calibration", "interactions"])]
    of = [name for name in ("target", "series") if name in reasons]
    each = reasons.groupby([*of, "source", "time", "ahead"], sort=False)["contribution"].sum()
    mean = each.abs().groupby([*of, "source"], sort=False).mean()
    shares = mean / mean.groupby(of).transform("sum")
    found = shares.groupby("source", sort=False).mean().fillna(0.0).sort_values(ascending=False)
    return found.rename("importance").rename_axis(None)


def _as_table(
    forecasts: RequestedForecasts, players: list[Player], given: Float64Array
) -> pd.DataFrame:
    """Put the baseline before what players give, (n_windows, n_players, pred_len, n_targets)."""
    each = given[forecasts.window, :, forecasts.ahead]  # (n, n_players, n_targets)
    parts = [(Player("baseline", ""), forecasts.points - each.sum(axis=1))]
    parts += zip(players, each.swapaxes(0, 1), strict=True)
    if forecasts.model.head_.level is not None:
        parts.append((Player("calibration", ""), forecasts.values - forecasts.points))
    named, columns = zip(*parts, strict=True)
    source, lag = zip(*named, strict=True)
    table = forecasts.table(source=source, lag=lag)
    return table.assign(contribution=np.stack(columns, axis=2).ravel())


def forecast_parts(estimator: Any, X: Any = None) -> pd.DataFrame:
    """
    Tell what ridges, network, trees and classical forecasters say each, and how much it counts.

    Parameters
    ----------
    estimator : InformerRegressor, or a Pipeline or search that ends in one
        Fitted.
    X : DataFrame, Series or array-like of shape (n_samples, n_features), default=None
        Rows that `predict` forecasts; None takes the steps of `forecast()`.

    Returns
    -------
    DataFrame
        A row for each forecast and forecaster: ``time``, ``series`` (of a panel), ``ahead``,
        ``target``, ``part`` ("ridges", "ridges and network", "trees", "classical", "network"),
        ``weight`` (they add up to 1) and ``forecast``, what it alone would say, in the target's
        units. Forecasters that have no weight in a forecast's block are left out.

    See Also
    --------
    explain : What columns and their lags give.
    skinformer.display.WeightsDisplay : The weights of a fit.

    Notes
    -----
    The forecast is the mean of these by their shares, of logarithms the mean of the logarithms.
    Several quantiles as `loss` are calibrated after that.

    Examples
    --------
    >>> import numpy as np, pandas as pd
    >>> from skinformer import InformerRegressor
    >>> from skinformer.evaluation import forecast_parts
    >>> hours = pd.date_range("2024-01-01", periods=200, freq="h")
    >>> df = pd.DataFrame({"load": np.sin(np.arange(200) * 2 * np.pi / 24)}, index=hours)
    >>> model = InformerRegressor(
    ...     seq_len=24, pred_len=6, d_model=16, n_heads=2, max_iter=2, random_state=0
    ... )
    >>> parts = forecast_parts(model.fit(df))
    >>> sorted(parts), bool(np.allclose(parts.groupby("time")["weight"].sum(), 1))
    (['ahead', 'forecast', 'part', 'target', 'time', 'weight'], True)
    """
    forecasts = _forecasts_of(estimator, X)
    parts = forecasts.seen.parts()
    # Of each part and window, steps and targets; then of each part and forecast, targets.
    share, points = map(np.stack, zip(*parts.values(), strict=True))
    counts = np.asarray(share.any(axis=(2, 3)))[:, forecasts.window]
    share, points = (each[:, forecasts.window, forecasts.ahead] for each in (share, points))
    table = forecasts.table(part=list(parts))
    table["weight"] = np.moveaxis(share, 0, 2).ravel()
    forecast = [forecasts.in_units(each.astype(np.float64)) for each in points]
    table["forecast"] = np.stack(forecast, axis=2).ravel()
    kept = np.repeat(counts.T[:, None], share.shape[2], axis=1).ravel()
    return table[kept].reset_index(drop=True)


def _forecasts_of(estimator: Any, X: Any) -> RequestedForecasts:
    """Make forecasts; raise if the estimator forecasts no numbers, or by other means."""
    model = take_apart(estimator)[1]
    if not isinstance(model, InformerRegressor):
        raise TypeError(
            f"{type(model).__name__} cannot be explained: contributions are read off the windows "
            "of an InformerRegressor, whose forecasts are numbers. Pass a fitted one, or a "
            "Pipeline or search that ends in one; scikit-learn's permutation_importance takes any "
            "estimator."
        )
    return requested_forecasts(estimator, X)
