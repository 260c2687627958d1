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


@dataclass(
    kw_only=True,
    eq=False,
    repr=False,
)
class InformerRegressor(RegressorMixin, BaseInformer, IntervalsMixin):
    """
    Forecast time series with an Informer, as a scikit-learn regressor.

    A frame is a timeline: its rows are consecutive steps of time. `fit` learns from windows of
    it, `predict` gives one forecast per row from an origin before that row, and `forecast`
    gives the steps that come after the history. It is not for rows without an order in time.

    Parameters
    ----------
    target : str, int, tuple, list or None, default=None
        Column(s) of X to forecast, by name, or by position where X is an array; None is the last
        one. With a list `predict` returns (n, n_targets); a tuple names one column of two levels.
    seq_len : int, default=96
        Steps of the past that a forecast sees, at least 1; trees, ridges of each series, and
        classical forecasters of seasons that are longer look back further, the latter two at most
        four times as far.
    pred_len : int, default=24
        Steps forecast at once, at least 1. Beyond them forecasts are fed back.
    known_future : str, list, tuple or None, default=None
        Columns whose values are known ahead, such as holidays or planned prices. All others
        but the target count as known only up to the present. Columns made by
        `CalendarFeatures` are known without being named, and so are all columns of X when y
        is not one of them. What is named here is never taken for static.
    loss : {"mse", "mae", "huber"}, float or list of float, default="mse"
        What training lowers, in standardised units, and so what is forecast, on tables and panels:
        "mse" a mean, whose sums are right on average (orders, budgets); "mae" a median, which lies
        below the mean of skewed sales; "huber" what lies between (of classical forecasters a
        median). Ridges, and one of the two kinds of trees, forecast means whatever it is: beside
        others they count by their absolute errors, and ridges alone warn. A number in
        (0, 1) is a level: that quantile is forecast. A list of levels, such as ``[0.1, 0.5,
        0.9]``, trains for all of them: `predict_quantiles` gives them, and `predict` gives the one
        nearest to the median.
    time, series : str, int, tuple or None, default=None
        Columns that hold the times of rows (dates, text that says them, whole numbers) and the
        names of their series, where the index does not; `forecast` then answers in columns, too.
        None takes the one column of dates of rows that are numbered, and `unique_id` beside `ds`.
    freq : str, offset, int or None, default=None
        The step between rows; None reads it off the index, with the hours or days of the week that
        are closed, where rows of dates are missing. Others that are missing have no truth.
    season : int, list, tuple or None, default=None
        Rows of a season, such as 20 for a machine's cycle of 20 rows; several in a list. None takes
        days, weeks and years of dated rows; of numbered ones, and of years, a season that the rows
        themselves show. What is named here stands in place of these for classical forecasters (the
        shortest two), trees, ridges of each series and ranges.
    calendar : "auto", list or None, default="auto"
        Calendar fields of dated rows ("minute", "hour", "weekday", "day", "week", "month") that
        are embedded: "auto" takes those that the step calls for and that vary in training; those
        of the year from three years on.
    target_transform : "log", transformer or None, default=None
        What targets become before they are standardised; forecasts are back in their units. "log"
        takes logarithms of targets, which have to be above zero in training; a later value below
        a hundredth of the least one counts as that. A transformer of scikit-learn,
        such as ``PowerTransformer()``, is cloned and fitted to each target's training rows, all
        series together. With ``loss="mse"`` forecasts of logarithms are made means by Duan's
        smearing factor [2]_, found on validation rows, at most 2; other losses ask for a median or
        a quantile, and what a transformer gives is transformed back as it is. Whatever this is,
        no forecast of a series that never was below zero falls below it.
    members : "auto", list or tuple, default="auto"
        The members of the ensemble, weighted by their errors on validation rows:

        - "ridges": a blend of ridges in closed form, which compete on stretches of time in `fit`;
        - "own_ridges": ridges of each series of a panel, shrunk towards one that all share, over
          one and two seasons of each length, in values and logarithms;
        - "network": the Informer, as a correction of the ridges;
        - "trees": from 1500 rows on boosted trees (`HistGradientBoostingRegressor`) on features
          of each step ahead: lags, the same phase of four seasons of each length whatever `seq_len`
          is, means, the calendar, columns known ahead around the step; one table without these
          last needs twelve whole forecasts in its validation split. Quantiles have no trees;
        - a regressor of scikit-learn in place of "trees", which is cloned; a search names its
          parameters by its class in lower case, such as ``members__ridge__alpha``;
        - a forecaster of the user's: a function of `history` and `horizon`, or an object with such
          a `predict`, of any library ("Bring your own forecaster"); any number;
        - "classical": levels, trends, Theta, profiles of one and two seasons, and small ridges in
          panels, judged at rolling origins: where one series, or the median series of a panel,
          holds fewer rows than 20 windows (``seq_len + pred_len``), where more than a tenth of the
          rows is missing, or a year is longer than `seq_len` and was seen twice. Panels below 2.5
          windows, and one series without a whole one, have these alone.

        "auto" is all five names. Others are weighed beside the ridges, so that a list holds
        "ridges", as ``["ridges"]`` for a fit in seconds, or is ``["network"]``: the Informer alone,
        as its authors had it; or ``["classical"]``, which then forecasts however many rows there
        are. Forecasters of the user's may stand alone, or beside "classical".
    network : Network or None, default=None
        What the Informer is built of: width, layers, attention, embeddings; None is ``Network()``.
        A search names its parameters ``network__d_model``.
    training : Training or None, default=None
        How it is trained: epochs, windows, optimiser, precision, checkpoint; None is
        ``Training()``. A search names its parameters ``training__learning_rate``.
    early_stopping : bool or "auto", default="auto"
        Watch the loss on the last rows of each series, keep the best epoch's weights, and let the
        Informer correct the linear path only as far as it did better there. "auto" does so from
        ``seq_len + 2 * pred_len`` rows on, and then fits the linear path again on all rows; True
        leaves the last rows out of every fit, though not out of the choice among ridges, and has
        no say where series are so short that classical forecasters speak alone. On one long table a
        trial of 1000 windows comes first, but with a checkpoint: where that promises no gain, the
        Informer's training ends there, with one row in ``history_``.
    validation_fraction : float, default=0.1
        Share of rows, the last ones, for early stopping; in (0, 1).
    warm_start : bool, default=False
        Go on from the weights of the last `fit` instead of new ones.
    device : str, default="auto"
        Where the network runs: "cpu", "cuda", …; "auto" is CUDA where torch finds it.
    random_state : int, RandomState or None, default=None
        Seed of weights, batches and dropout. With an int, two fits are equal; no global
        generator of torch or numpy is touched.
    verbose : int or bool, default=0
        Above 0: one line when each part of a fit begins, and one per epoch.

    Attributes
    ----------
    n_features_in_ : int
        Columns of X.
    feature_names_in_ : ndarray of str
        Their names, if X had names.
    layout_ : Layout
        Which columns name the rows, and the library of the frame that was fitted.
    roles_ : Roles
        The mode, and what each column is.
    timeline_ : Timeline
        The standardised rows that `fit` and `update` saw.
    scaler_ : Scaler
        Means and deviations of the columns; ``scaler_.targets.logs`` tells by series and target
        where logarithms are taken.
    series_ : Index or None
        Names of the series of a panel.
    module_ : torch.nn.Module
        The trained network; with ridges the sum of the ridges' map (``module_.path``) and the
        network's correction (``module_.network``).
    head_ : Head
        What its outputs mean.
    device_ : str
        Where it is.
    attention_ : str
        What "auto" came to: "probsparse" on a CPU from 96 tokens on, on CUDA from 2048; else
        "dense". A token is a patch.
    precision_ : str
        What "auto" came to: "bf16" on CUDA that computes in it and, from a width of 256 on, on a
        CPU that does; else "fp32".
    series_blend_ : DataFrame
        Weights of classical forecasters, "trees" (or the regressor's class), "ridges", and
        "network", which corrects these, for each series of a panel, else for each target; rows have
        the sum 1, but for what hardly counts.
    ensemble_ : Ensemble
        The members of the forecast, ``ensemble_.members`` by name, and their ``weights``.
    intervals_ : Intervals or None
        How far forecasts are off, found when it is first asked for; None where rows are too few.
    fit_times_ : DataFrame
        One row per part of the fit ("reading", "ridges", "trees", "network", "weights",
        "other", for short series "classical", for panels "own_ridges"): part, seconds by the
        clock, which add up to the fit's, and cpu_seconds of all threads of the process. A warm
        start has those of its last fit.
    history_ : DataFrame
        One row per epoch: loss, validation_loss, learning_rate, gradient_norm, seconds.
    loss_curve_ : list of float
        The training loss of each epoch.
    validation_scores_ : list of float or None
        Minus the validation loss of each epoch: the higher, the better.
    n_iter_ : int
        Epochs run, with those of earlier fits after a warm start.
    best_loss_ : float
        Loss of the weights kept: on validation rows if there are any, with the Informer fully
        trusted.

    See Also
    --------
    SlidingWindow : Lag features for any other regressor.
    Network, Training : Parameters of the network and of its training.

    Notes
    -----
    The parameters come in groups: the five to touch first (`target` … `loss`); the data and who
    forecasts them (`time` … `members`); the network and its training (`network` … `training`); when
    a fit ends, and where it goes on (`early_stopping` … `warm_start`); the run (`device` …
    `verbose`).

    Training costs ``max_iter * min(n_rows, max_windows) / batch_size`` steps; the linear path
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
        Draw the end of the history, and the forecast that follows with its band.

        Parameters
        ----------
        X : DataFrame, Series or array-like, default=None
            Later history, which is drawn, and what is known of the future, as `forecast` takes
            them.
        horizon : int, default=None
            Steps to forecast; None as in `forecast`.
        **options : Any
            Of `ForecastDisplay.from_history`: series and target (the first of each by default),
            coverage (0.8, several, or None for no band), history (rows before), unit, name, ax.

        Returns
        -------
        ForecastDisplay
            Drawn, with `ax_` and `figure_`.

        Raises
        ------
        ImportError
            If matplotlib is not installed.
        ValueError
            As in `forecast`; if no such series or target was fitted; if X ends before the history.

        See Also
        --------
        skinformer.display.ForecastDisplay : Forecasts beside the truth.

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
            Of `skinformer.evaluation.explain`: groups, n_permutations, random_state.

        Returns
        -------
        Series of shape (n_columns,)
            Mean absolute contribution of each column, as shares of 1, the largest first; series and
            targets count alike. ``importance().plot.barh()`` draws it.

        See Also
        --------
        skinformer.evaluation.explain : Contributions to each forecast.
        skinformer.display.WeightsDisplay : How much each member of the ensemble counts.

        Notes
        -----
        Cost: that of `explain`. scikit-learn's `permutation_importance` measures by how much
        errors grow where a column is shuffled.

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

    def score(
        self,
        X: Any,
        y: Any = None,
        sample_weight: Any = None,
    ) -> float:
        """
        Return the R² of `predict`; rows whose truth is missing are left out.

        Parameters
        ----------
        X : DataFrame, Series or array-like of shape (n_samples, n_features)
            Rows to forecast.
        y : array-like of shape (n_samples,) or (n_samples, n_targets), default=None
            The truth; None takes it from X's target column(s).
        sample_weight : array-like of shape (n_samples,), default=None
            Weight of each row.

        Returns
        -------
        float
            1 is perfect, 0 as good as the mean of the truth.
        """
        # Not the mixin's, which needs y.
        return BaseInformer.score(self, X, y, sample_weight)
