"""InformerClassifier: forecasts of classes."""

from __future__ import annotations

import itertools
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pandas as pd

from skinformer.ensemble.head import ClassHead
from skinformer.estimators.base import BaseInformer
from skinformer.estimators.bases import ClassifierMixin
from skinformer.estimators.parts import PART_CONSTRAINTS, Training
from skinformer.reading.labels import LabelReader, read_labels
from skinformer.rolling.blocks import RequestedSteps
from skinformer.timeline.arrays import AnyArray, Float64Array
from skinformer.validation.arguments import check_fitted
from skinformer.validation.parameters import CLASSIFIER_CONSTRAINTS


@dataclass(kw_only=True, eq=False, repr=False)
class InformerClassifier(ClassifierMixin, BaseInformer):
    """
    Forecast classes of time series with an Informer, as a scikit-learn classifier.

    The rows of a DataFrame are consecutive time steps, as for `InformerRegressor`. `fit` learns
    from windows of rows, `predict` and `predict_proba` forecast the class of each row from an
    origin before it, and `forecast` and `forecast_proba` those of the steps after the history.
    Labels have any type: strings, bools, integers, categoricals. NaN, None, NaT and NA are missing
    labels.

    Parameters
    ----------
    target : str, int, tuple, list or None, default=None
        The column of X with the labels to forecast, or a list of columns, by name, or by position
        if X is an array. None is the last column. With a list `predict` returns an array of shape
        (n, n_targets), and `predict_proba` and `classes_` are lists. A tuple names one column of
        two levels.
    seq_len : int, default=96
        Length of the context, the past steps that a forecast is based on; at least 1.
    pred_len : int, default=24
        Steps that are forecast at once, at least 1. Longer horizons are forecast recursively.
    known_future : str, list, tuple or None, default=None
        Future covariates: columns whose values are known in advance, such as holidays or planned
        prices. All other columns except the target are past covariates. Columns made by
        `CalendarFeatures` are future covariates without being listed, and so are all columns of X
        if y is not one of them. Columns listed here are never static covariates.
    class_weight : "balanced", dict, list or None, default=None
        Weights of the classes, in all members; the forecast probabilities are those of the weighted
        rows. "balanced" makes all classes count the same; a dict maps labels to weights; a list
        has one of these per target.
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
        The length of the season in rows, or a list of several. None is the day, the week and the
        year of dated rows.
    calendar : "auto", list or None, default="auto"
        The calendar features of dated rows: a list of "minute", "hour", "weekday", "day" (of the
        month), "week" and "month". "auto" chooses those that suit the frequency and vary in
        training; "week" and "month" need three years of data. None means no calendar features.
    members : "auto", list or tuple, default="auto"
        The members of the ensemble, which are weighted by their log losses on validation rows:

        - "classes": the frequency of each class at each phase of the season, its frequency after
          each other class by step ahead, and a multinomial logistic regression on lags, the
          calendar and future covariates;
        - "trees": boosted trees (`HistGradientBoostingClassifier`) on the same features. They need
          1500 rows;
        - a scikit-learn classifier in place of "trees", which is cloned;
        - "network": the Informer.

        "auto" means all three names. A list has to contain "classes", or to be ``["network"]``.
    network : Network or None, default=None
        The architecture of the Informer and its device: width, layers, attention; None is
        ``Network()``. In a search its parameters are named ``network__d_model`` and so on.
    training : Training or None, default=None
        The training of the Informer: epochs, windows, optimiser, precision, warm start; None is
        ``Training()``. In a search its parameters are named ``training__learning_rate`` and so on.
    early_stopping : bool or "auto", default="auto"
        Whether the last rows of each series are validation rows: training then keeps the weights
        of the epoch with the lowest validation loss, and members are weighted by their errors on
        these rows. "auto" does so from ``seq_len + 2 * pred_len`` rows on, and then fits all
        members except the Informer again on all rows. True leaves the validation rows out of every
        fit.
    validation_fraction : float, default=0.1
        Share of the last rows that are validation rows; in (0, 1).
    max_seconds : float or None, default=None
        The number of seconds that a fit may take; None is no limit. The run time of the members is
        estimated from the rows and the speed of the machine. If it is too long, members are fitted
        with fewer windows, trees and epochs. If that is not enough, some members are left out. A
        member that takes too long is stopped. `leaderboard` says what the limit did. With 5 s or
        more, a fit takes at most 1.2 times the limit, unless several other processes share its
        core. A classifier of your own is neither estimated nor stopped. Results depend on the
        machine and on what else runs on it, even with a `random_state`. In a search, the limit
        holds for each single fit.
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
    classes_ : ndarray, or list of ndarray for several targets
        The labels, sorted; probabilities are in this order.
    n_features_in_ : int
        Number of columns of X.
    feature_names_in_ : ndarray of str
        Names of the columns, if X had names.
    roles_ : Roles
        The mode, and the role of each column.
    timeline_ : Timeline
        The standardised rows that `fit` and `update` saw.
    scaler_ : Scaler
        Means and standard deviations of the columns. Columns of classes are not standardised.
    series_ : Index or None
        Names of the series of a panel.
    module_ : torch.nn.Module
        The trained network.
    reader_ : LabelReader
        The classes of each target.
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
    ensemble_ : Ensemble
        The members of the forecast ("classes", a weighted mean of forecasters of classes, and the
        "network"), and their weights.
    temperature_ : float
        The number by which logits are divided, found on validation rows. Above 1, probabilities
        become less extreme.
    fit_times_ : DataFrame
        One row per part of the fit ("reading", "classes", "network", "weights", "other"):
        part, seconds by the clock, which add up to the fit's, and cpu_seconds of all threads of
        the process. A warm start has those of its last fit.
    history_ : DataFrame
        One row per epoch: loss, validation_loss, learning_rate, gradient_norm, seconds.
    loss_curve_ : list of float
        The training loss of each epoch.
    validation_scores_ : list of float or None
        The negative validation loss of each epoch; higher is better.
    n_iter_ : int
        Number of epochs, including those of earlier fits after a warm start.
    best_loss_ : float
        The loss of the weights that were kept: on validation rows if there are any.

    See Also
    --------
    InformerRegressor : The same for numbers.

    Notes
    -----
    Beyond `pred_len`, and where a label is missing, forecasts continue from probabilities. A
    forecast of a forecast is then an expectation over what may have come. The most likely class
    alone would lose the uncertainty.

    Examples
    --------
    >>> import numpy as np, pandas as pd
    >>> from skinformer import InformerClassifier, Network, Training
    >>> hours = pd.date_range("2024-01-01", periods=200, freq="h")
    >>> df = pd.DataFrame({"state": np.where(hours.hour < 8, "night", "day")}, index=hours)
    >>> model = InformerClassifier(
    ...     seq_len=24,
    ...     pred_len=6,
    ...     network=Network(d_model=16, n_heads=2),
    ...     training=Training(max_iter=2),
    ...     random_state=0,
    ... )
    >>> model.fit(df).forecast()["state"].tolist()
    ['day', 'day', 'day', 'day', 'day', 'day']
    >>> model.forecast_proba().columns.tolist()
    ['day', 'night']
    """

    head_: ClassHead = field(init=False)
    reader_: LabelReader = field(init=False)

    #: Labels have no scale that could be transformed.
    target_transform = None

    _parameter_constraints = CLASSIFIER_CONSTRAINTS | PART_CONSTRAINTS

    class_weight: Any = None

    def __sklearn_tags__(self) -> Any:
        """Declare that y is optional and may have several columns, and that values may miss."""
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        tags.target_tags.required = False
        tags.target_tags.multi_output = True
        return tags

    def _make_reader(self, X: Any, y: Any) -> LabelReader:
        return read_labels(X, y, self._target, self.class_weight)

    def _make_head(self) -> ClassHead:
        training = Training.of(self.training)
        return ClassHead(
            self.reader_.sizes, float(training.label_smoothing), float(training.z_loss)
        )

    def _points(self, requested: RequestedSteps) -> Float64Array:
        return self.head_.likeliest(self._forecaster.forecast(requested))

    @property
    def classes_(self) -> Any:
        """The labels, sorted; of several targets a list."""
        if "reader_" not in vars(self):
            raise AttributeError("classes_ is available after fit")
        classes = [target.classes for target in self.reader_.targets]
        return classes[0] if len(classes) == 1 else classes

    @property
    def temperature_(self) -> float:
        """What logits are divided by."""
        check_fitted(self)
        return self.ensemble_.temperature

    def predict(self, X: Any) -> AnyArray:
        """
        Forecast the most likely class of each row of X at its own time.

        Parameters
        ----------
        X : DataFrame, Series or array-like of shape (n_samples, n_features)
            Rows as `InformerRegressor.predict` takes them.

        Returns
        -------
        ndarray of shape (n_samples,) or (n_samples, n_targets)
            Labels, of the type of `classes_`.

        Raises
        ------
        TypeError, ValueError
            If the rows cannot be placed in time; the message says what to type instead.

        Warns
        -----
        UserWarning
            As `InformerRegressor.predict` does, and if X holds labels that `fit` never saw.
        """
        return np.asarray(super().predict(X))

    def predict_proba(self, X: Any) -> Any:
        """
        Forecast the probabilities of classes of each row of X at its own time.

        Parameters
        ----------
        X : DataFrame, Series or array-like of shape (n_samples, n_features)
            Rows as `predict` takes them.

        Returns
        -------
        ndarray of float64, shape (n_samples, n_classes), or a list of them
            In the order of `classes_`; rows have the sum 1. Several targets have one array each.

        Raises
        ------
        NotFittedError
            Before `fit`.
        ValueError
            If the rows cannot be placed in time.
        """
        check_fitted(self)
        values = self._forecaster.forecast(self._requested_rows(X))
        parts = [values[:, group] for group in self.head_.groups]
        return parts[0] if len(parts) == 1 else parts

    def predict_log_proba(self, X: Any) -> Any:
        """
        Forecast the logarithms of probabilities.

        Parameters
        ----------
        X : DataFrame, Series or array-like of shape (n_samples, n_features)
            Rows as `predict` takes them.

        Returns
        -------
        ndarray of float64, shape (n_samples, n_classes), or a list of them
            As `predict_proba` gives them.
        """
        parts = self.predict_proba(X)
        if isinstance(parts, list):
            return [np.log(part) for part in parts]
        return np.log(parts)

    def forecast(self, X: Any = None, horizon: int | None = None) -> pd.DataFrame:
        """
        Forecast the most likely class of the steps after the history.

        Parameters
        ----------
        X : DataFrame, Series or array-like, default=None
            Later history (rows with an observed label), future covariates (rows with a missing
            label, or without the column), or both. The fitted model is not changed.
        horizon : int, default=None
            Number of steps to forecast, at least 1. None means the rows of X after the history, for
            each series its own; without such rows `pred_len`.

        Returns
        -------
        DataFrame of shape (horizon, n_targets)
            Labels with their timestamps, as a categorical with the same order if the fitted column
            was one. For several series there are `horizon` rows each, under a MultiIndex.

        Raises
        ------
        ValueError
            If a future covariate lacks a value at one of the steps.
        """
        values, index = self._ahead(X, horizon)
        frame = self.reader_.decode_frame(
            self.head_.likeliest(values), index, self.roles_.target_labels
        )
        return self.layout_.write(frame, X)

    def forecast_proba(self, X: Any = None, horizon: int | None = None) -> pd.DataFrame:
        """
        Forecast the probabilities of classes of the steps after the history.

        Parameters
        ----------
        X : DataFrame, Series or array-like, default=None
            As for `forecast`.
        horizon : int, default=None
            As for `forecast`.

        Returns
        -------
        DataFrame of float64, shape (horizon, n_classes)
            One column per class, named by its label, with timestamps; for several targets the
            columns have two levels, (target, class).

        Raises
        ------
        NotFittedError
            Before `fit`.
        ValueError
            If a future covariate has no value at one of the steps.
        """
        values, index = self._ahead(X, horizon)
        names = self.roles_.target_labels
        labels = [target.classes.tolist() for target in self.reader_.targets]
        if len(names) == 1:
            columns = pd.Index(labels[0], name=names[0], tupleize_cols=False)
        else:
            pairs: list[Any] = []
            for name, each in zip(names, labels, strict=True):
                pairs += itertools.product([name], each)
            columns = pd.Index(pairs)
        frame = pd.DataFrame(values, index=index, columns=columns)
        return self.layout_.write(frame, X)

    def _future_frame(self, horizon: int | None) -> pd.DataFrame:
        """Make rows for the steps after the history; columns of labels can take labels."""
        frame = super()._future_frame(horizon)
        for name, target in zip(self.reader_.names, self.reader_.targets, strict=False):
            j = self.roles_.columns.index(name)
            kind = object if target.dtype is None else target.dtype
            frame.isetitem(j, frame.iloc[:, j].astype(kind).array)
        return frame

    def _ahead(
        self, X: Any, horizon: int | None
    ) -> tuple[Float64Array, pd.Index | None]:
        check_fitted(self)
        requested = self._requested_ahead(X, horizon)
        return self._forecaster.forecast(requested), requested.labels

    def score(self, X: Any, y: Any = None, sample_weight: Any = None) -> float:
        """
        Return the accuracy of `predict`; rows with a missing actual value are left out.

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
            The share of rows whose class, of several targets all classes, is right.

        Raises
        ------
        NotFittedError
            Before `fit`.
        ValueError
            If no actual label is known, or if the rows cannot be placed in time.
        """
        # Not the mixin's, which needs y.
        return BaseInformer.score(self, X, y, sample_weight)
