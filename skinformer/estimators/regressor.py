"""InformerRegressor: forecasts of numbers."""

from __future__ import annotations

from dataclasses import dataclass
from importlib import import_module
from numbers import Real
from typing import Any

import numpy as np
import pandas as pd

from skinformer.ensemble.head import Head, PointHead, QuantileHead
from skinformer.estimators.base import BaseInformer
from skinformer.estimators.bases import RegressorMixin
from skinformer.estimators.intervals import IntervalsMixin
from skinformer.rolling.blocks import RequestedSteps
from skinformer.timeline.arrays import Float64Array
from skinformer.validation.arguments import check_levels


@dataclass(kw_only=True, eq=False, repr=False)
class InformerRegressor(RegressorMixin, BaseInformer, IntervalsMixin):
    """
    Forecast time series with an Informer, as a scikit-learn regressor.

    The rows of a DataFrame are consecutive time steps. `fit` learns from windows of rows,
    `predict` returns one forecast per row, from an origin before that row, and `forecast`
    returns the steps after the end of the history. The estimator is not meant for rows without an
    order in time.

    Parameters
    ----------
    target : str, int, tuple, list or None, default=None
        The column of X to forecast, or a list of columns, by name, or by position if X is an
        array. None is the last column. With a list `predict` returns an array of shape
        (n, n_targets). A tuple names one column of two levels.
    seq_len : int, default=96
        Length of the context, the past steps that a forecast is based on; at least 1. Trees look
        back further, and so do per-series ridges and classical forecasters of longer seasons, at
        most four times as far.
    pred_len : int, default=24
        Steps that are forecast at once, at least 1. Longer horizons are forecast recursively.
    known_future : str, list, tuple or None, default=None
        Future covariates: columns whose values are known in advance, such as holidays or planned
        prices. All other columns except the target are past covariates. Columns made by
        `CalendarFeatures` are future covariates without being listed, and so are all columns of X
        if y is not one of them. Columns listed here are never static covariates.
    loss : {"mse", "mae", "huber"}, float or list of float, default="mse"
        The training loss, in standardised units. It decides what is forecast: "mse" the mean,
        whose sums are right on average (orders, budgets); "mae" the median, which is smaller than
        the mean of skewed sales; "huber" a value between them (for classical forecasters the
        median). Ridges, and one of the two kinds of trees, always forecast means; in the ensemble
        they are weighted by the chosen loss. If ridges are the only member, a warning says that
        they forecast means. A number in (0, 1) is a quantile level, and that quantile is forecast.
        With a list of levels, such as ``[0.1, 0.5, 0.9]``, the network learns all of them:
        `predict_quantiles` returns them, and `predict` returns the one closest to the median.
    time, series : str, int, tuple or None, default=None
        The columns with the times of the rows (dates, dates as text, or whole numbers) and with
        the names of their series, if the index does not hold them. `forecast` then returns these
        columns, too. With None, numbered rows take their time from the only column of dates, and
        `ds` and `unique_id` are recognised.
    freq : str, offset, int or None, default=None
        The frequency of the rows. None infers it from the index; hours and days of the week that
        never have a row are then closed and are not time steps, and other missing rows count as
        missing values.
    season : int, list, tuple or None, default=None
        The length of the season in rows, such as 20 for a cycle of 20 rows, or a list of several.
        None is the day, the week and the year of dated rows; in numbered rows and yearly data it is
        a season that `fit` detects. A season that is set replaces these in classical forecasters
        (the shortest two), trees, per-series ridges and prediction intervals.
    calendar : "auto", list or None, default="auto"
        The calendar features of dated rows: a list of "minute", "hour", "weekday", "day" (of the
        month), "week" and "month". "auto" chooses those that suit the frequency and vary in
        training; "week" and "month" need three years of data. None means no calendar features.
    target_transform : "log", transformer or None, default=None
        A transformation of the targets before they are standardised; forecasts are transformed
        back. "log" takes logarithms of the targets, which have to be above zero in training; a
        later value below a hundredth of the smallest one counts as this hundredth. A transformer of
        scikit-learn, such as ``PowerTransformer()``, is cloned and fitted to the training rows of
        each target, all series together. With ``loss="mse"``, forecasts on log scale are
        multiplied by Duan's smearing factor [2]_, which is estimated on validation rows and is at
        most 2, so that they are means. With other losses, and with a transformer, forecasts are
        transformed back without a correction. In all cases, if a series was never negative, its
        forecasts are not negative either.
    members : "auto", list or tuple, default="auto"
        The members of the ensemble, which are weighted by their validation errors:

        - "ridges": a weighted mean of ridge regressions, selected by cross-validation over periods;
        - "own_ridges": ridge regressions for each series of a panel, shrunk towards a common one,
          on one and two seasons of each length, on raw and log scale;
        - "network": the Informer, trained on the residuals of the ridges;
        - "trees": boosted trees (`HistGradientBoostingRegressor`) on features of each step ahead.
          The features are lags, the values at the same place of the last four seasons of each
          length (whatever `seq_len` is), means, the calendar, and future covariates around the
          step. Trees need 1500 rows. In a single long table without future covariates, the
          validation rows also have to contain twelve forecasts. Trees take no part if quantiles are
          forecast;
        - a scikit-learn regressor in place of "trees", which is cloned; in a search its parameters
          are named by its class in lower case, such as ``members__ridge__alpha``;
        - any number of your own forecasters: functions of `history` and `horizon`, or objects with
          such a `predict`, of any library ("Bring your own forecaster");
        - "classical": exponential smoothing, trends, Theta, seasonal profiles, and in panels small
          ridges, weighted by their errors at rolling origins. They take part if a series (in a
          panel the median one) has fewer rows than 20 windows of ``seq_len + pred_len`` rows, if
          more than a tenth of the rows is missing, or if a year is longer than `seq_len` and the
          data contain two. In panels below 2.5 windows, and in a single series shorter than one
          window, they are the only members.

        "auto" means all five names. Other members are weighted relative to the ridges, so a list
        has to contain "ridges", such as ``["ridges"]`` for a fit in seconds. Exceptions are
        ``["network"]``, the Informer alone, as in the paper, and ``["classical"]``, which then
        forecasts series of any length. Your own forecasters may be the only members, or be combined
        with "classical".
    network : Network or None, default=None
        The architecture of the Informer and its device: width, layers, attention; None is
        ``Network()``. In a search its parameters are named ``network__d_model`` and so on.
    training : Training or None, default=None
        The training of the Informer: epochs, windows, optimiser, precision, warm start; None is
        ``Training()``. In a search its parameters are named ``training__learning_rate`` and so on.
    early_stopping : bool or "auto", default="auto"
        Whether the last rows of each series are validation rows: training then keeps the weights
        of the epoch with the lowest validation loss, and the Informer is weighted by its validation
        error. "auto" does so from ``seq_len + 2 * pred_len`` rows on, and then fits the other
        members again on all rows. True leaves the validation rows out of every fit, though not out
        of the selection of ridges; it has no effect on series so short that only classical
        forecasters take part. On a single long table, the Informer is first trained on 1000
        windows, unless there is a checkpoint. If this trial shows no gain, its training ends, and
        ``history_`` has one row.
    validation_fraction : float, default=0.1
        Share of the last rows that are validation rows; in (0, 1).
    max_seconds : float or None, default=None
        The number of seconds that a fit may take; None is no limit. The run time of the members is
        estimated from the rows and the speed of the machine. If it is too long, members are fitted
        with fewer windows, trees and epochs. If that is not enough, some members are left out. A
        member that takes too long is stopped. `leaderboard` says what the limit did. With 5 s or
        more, a fit takes at most 1.2 times the limit, unless several other processes share its
        core. Rows are always read and ridges always fitted; if this alone exceeds the limit, a
        warning says so. Your own forecasters and regressors are neither estimated nor stopped.
        Results depend on the machine and on what else runs on it, even with a `random_state`. In a
        search, the limit holds for each single fit.
    n_jobs : int or None, default=None
        The maximum number of threads of a fit and its forecasts. -1 is one for each processor, -2
        one less; None is as many as torch uses, a number that ``OMP_NUM_THREADS`` sets. Small
        computations always use one thread. The last digits of forecasts may depend on the number
        of threads.
    random_state : int, RandomState or None, default=None
        Seed of the initial weights, batches and dropout. With an int, two fits are equal. The
        global generators of torch and NumPy are not used.
    verbose : int or bool, default=0
        If above 0, print the part of the fit, its epoch, the share that is done, and about how many
        seconds are left. On a terminal and in a notebook this is one line that is rewritten,
        elsewhere there are several lines. At the end the weight of each member is printed.

    Attributes
    ----------
    n_features_in_ : int
        Number of columns of X.
    feature_names_in_ : ndarray of str
        Names of the columns, if X had names.
    layout_ : Layout
        The columns of times and series, and the library of the frame that was fitted.
    roles_ : Roles
        The mode, and the role of each column.
    timeline_ : Timeline
        The standardised rows that `fit` and `update` saw.
    scaler_ : Scaler
        Means and standard deviations of the columns. ``scaler_.targets.logs`` says for which series
        and targets logarithms are taken.
    series_ : Index or None
        Names of the series of a panel.
    module_ : torch.nn.Module
        The trained network. With ridges it is the sum of the linear map of the ridges
        (``module_.path``) and the correction by the network (``module_.network``).
    head_ : Head
        The meaning of the outputs of the network.
    device_ : str
        The device of the network.
    attention_ : str
        The self-attention of the encoder. "auto" chooses "probsparse" from 96 tokens on a CPU, and
        from 2048 tokens on CUDA, otherwise "dense". A token is a patch.
    precision_ : str
        The type of matrix products. "auto" chooses "bf16" on CUDA devices that compute in it and,
        from a width of 256 on, on CPUs that do, otherwise "fp32".
    series_blend_ : DataFrame
        Weights of classical forecasters, "trees" (or the regressor's class), "ridges" and
        "network", one row per series of a panel, otherwise per target. Rows sum to 1, apart from
        members with negligible weights.
    ensemble_ : Ensemble
        The members of the forecast, ``ensemble_.members`` by name, and their ``weights``.
    intervals_ : Intervals or None
        The errors behind prediction intervals, computed when they are first asked for; None if
        there are too few rows.
    fit_times_ : DataFrame
        One row per part of the fit ("reading", "ridges", "trees", "network", "weights",
        "other", for short series "classical", for panels "own_ridges"; the name of its class for
        a regressor in place of trees): part, seconds by the clock, which add up to the fit's, and
        cpu_seconds of all threads of the process. A warm start has those of its last fit.
    history_ : DataFrame
        One row per epoch: loss, validation_loss, learning_rate, gradient_norm, seconds.
    loss_curve_ : list of float
        The training loss of each epoch.
    validation_scores_ : list of float or None
        The negative validation loss of each epoch; higher is better.
    n_iter_ : int
        Number of epochs, including those of earlier fits after a warm start.
    best_loss_ : float
        The loss of the weights that were kept: on validation rows if there are any, with the full
        correction by the Informer.

    See Also
    --------
    SlidingWindow : Lag features for any other regressor.
    Network, Training : Parameters of the network and of its training.

    Notes
    -----
    The parameters come in groups: the five to set first (`target` … `loss`); the data and the
    members (`time` … `members`); the network and its training (`network` … `training`); when a fit
    ends (`early_stopping` … `max_seconds`); the run (`n_jobs` … `verbose`).

    Training costs ``max_iter * min(n_rows, max_windows) / batch_size`` steps; the ridges take
    ``n_rows * n_targets * seq_len * (seq_len + pred_len)`` products. Memory holds the rows once,
    in float32, and one batch.

    References
    ----------
    .. [1] Zhou et al. (2021), Informer: Beyond Efficient Transformer for Long Sequence Time-Series
       Forecasting, AAAI.
    .. [2] Duan (1983), Smearing Estimate: A Nonparametric Retransformation Method, Journal of the
       American Statistical Association 78, 605-610.

    Examples
    --------
    >>> import numpy as np, pandas as pd
    >>> from skinformer import InformerRegressor, Network, Training
    >>> hours = pd.date_range("2024-01-01", periods=200, freq="h")
    >>> df = pd.DataFrame({"load": np.sin(np.arange(200) * 2 * np.pi / 24)}, index=hours)
    >>> model = InformerRegressor(
    ...     seq_len=24,
    ...     pred_len=6,
    ...     network=Network(d_model=16, n_heads=2),
    ...     training=Training(max_iter=2),
    ...     random_state=0,
    ... )
    >>> model.fit(df).forecast().index[0]
    Timestamp('2024-01-09 08:00:00')
    >>> model.predict(df).shape
    (200,)
    """

    loss: Any = "mse"
    target_transform: Any = None

    def __sklearn_tags__(self) -> Any:
        """Declare that y is optional and may have several columns, and that values may miss."""
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        tags.target_tags.required = False
        tags.target_tags.multi_output = True
        return tags

    def plot(self, X: Any = None, horizon: int | None = None, **options: Any) -> Any:
        """
        Plot the end of the history, and the forecast that follows with its prediction interval.

        Parameters
        ----------
        X : DataFrame, Series or array-like, default=None
            Later history, which is drawn, and future covariates, as for `forecast`.
        horizon : int, default=None
            Number of steps to forecast; None as in `forecast`.
        **options : Any
            Options of `ForecastDisplay.from_history`: series and target (the first of each by
            default), coverage (0.8 by default, a list, or None for no band), history (the number of
            rows before the forecast), unit, name, ax.

        Returns
        -------
        ForecastDisplay
            The plot, with the attributes `ax_` and `figure_`.

        Raises
        ------
        ImportError
            If matplotlib is not installed.
        ValueError
            If X cannot be forecast, if no such series or target was fitted, or if X ends before the
            history.

        See Also
        --------
        skinformer.display.ForecastDisplay : Forecasts and actual values.

        Examples
        --------
        >>> import numpy as np, pandas as pd
        >>> from skinformer import InformerRegressor
        >>> days = pd.date_range("2024-01-01", periods=90, freq="D")
        >>> df = pd.DataFrame({"load": np.random.default_rng(0).random(90)}, index=days)
        >>> model = InformerRegressor(seq_len=14, pred_len=7, members=["ridges"]).fit(df)
        >>> len(model.plot(coverage=[0.5, 0.8]).bands_)
        2
        """
        # By name, and when asked: what draws is built on estimators, not below them.
        display = import_module("skinformer.display").ForecastDisplay
        return display.from_history(self, X, horizon, **options)

    def importance(self, X: Any = None, **options: Any) -> pd.Series:
        """
        Compute how much each column moves the forecasts.

        Parameters
        ----------
        X : DataFrame, Series or array-like of shape (n_samples, n_features), default=None
            Rows whose forecasts are explained, as `predict` takes them; None is `forecast()`.
        **options : Any
            Options of `skinformer.evaluation.explain`: groups, n_permutations, random_state.

        Returns
        -------
        Series of shape (n_columns,)
            Mean absolute contribution of each column, as shares of 1, the largest first; all series
            and targets have the same weight. ``importance().plot.barh()`` draws it.

        Raises
        ------
        NotFittedError
            Before `fit`.
        ValueError
            If X cannot be forecast, or if an option of `explain` is out of range.

        See Also
        --------
        skinformer.evaluation.explain : Contributions to each forecast.
        skinformer.display.WeightsDisplay : The weight of each member of the ensemble.

        Notes
        -----
        It takes as long as `explain`. scikit-learn's `permutation_importance` measures something
        else: by how much errors grow if a column is shuffled.

        Examples
        --------
        >>> import numpy as np, pandas as pd
        >>> from skinformer import InformerRegressor
        >>> days = pd.date_range("2024-01-01", periods=90, freq="D")
        >>> df = pd.DataFrame({"load": np.random.default_rng(0).random(90)}, index=days)
        >>> model = InformerRegressor(seq_len=14, pred_len=7, members=["ridges"]).fit(df)
        >>> model.importance().to_dict()
        {'load': 1.0}
        """
        importance = import_module("skinformer.evaluation").importance
        found: pd.Series = importance(self, X, **options)
        return found

    def _get_fitted_attr_html(self, doc_link: str = "") -> Any:
        """Show what `fit` found, and the leaderboard; intervals only once they were asked for."""
        shown = type(self).__new__(type(self))
        shown.__dict__ = {"_intervals_": None, **vars(self)}
        found = super(InformerRegressor, shown)._get_fitted_attr_html(doc_link)
        if "_intervals_" not in vars(self):
            found.pop("intervals_", None)
        if "ensemble_" in vars(self):
            lines = self._standings_.lines(self.ensemble_)
            found["leaderboard()"] = {"type_name": "method", "value": "; ".join(lines)}
        return found

    def _make_head(self) -> Head:
        if isinstance(self.loss, str):
            return PointHead(self.loss)
        if isinstance(self.loss, Real):
            return PointHead(float(self.loss))
        levels = check_levels(self.loss, name="loss")
        return QuantileHead(tuple(sorted(levels.tolist())))

    def _points(self, requested: RequestedSteps) -> Float64Array:
        return self._with_quantiles(requested, np.empty(0))[..., 0]

    def score(self, X: Any, y: Any = None, sample_weight: Any = None) -> float:
        """
        Return the R² of `predict`; rows with a missing actual value are left out.

        Parameters
        ----------
        X : DataFrame, Series or array-like of shape (n_samples, n_features)
            Rows to forecast.
        y : array-like of shape (n_samples,) or (n_samples, n_targets), default=None
            The actual values; None takes them from X's target column(s).
        sample_weight : array-like of shape (n_samples,), default=None
            Weight of each row.

        Returns
        -------
        float
            1 is perfect; 0 is as good as the mean of the actual values.

        Raises
        ------
        NotFittedError
            Before `fit`.
        ValueError
            If no actual value is known, or if the rows cannot be placed in time.
        """
        # Not the mixin's, which needs y.
        return BaseInformer.score(self, X, y, sample_weight)
