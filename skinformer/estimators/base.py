"""What the estimators share: their methods, for any head."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
import pandas as pd

from skinformer.ensemble.network import module_of
from skinformer.estimators.cleaning import clean_later_rows, warn_beyond_fit
from skinformer.estimators.exporting import ExportMixin
from skinformer.estimators.fittable import FittableInformer
from skinformer.estimators.fitting import fit_copy
from skinformer.estimators.member_parameters import nested_in_members, open_members
from skinformer.estimators.parts import PART_CONSTRAINTS, PARTS, open_parts
from skinformer.estimators.persisting import PersistentMixin
from skinformer.estimators.reading import fitted_rows
from skinformer.estimators.requests import RequestMixin
from skinformer.model.corrected import Corrected
from skinformer.model.informer import Informer
from skinformer.reading.prediction import read_update, read_y_true
from skinformer.rolling.blocks import RequestedSteps
from skinformer.timeline.arrays import Float64Array
from skinformer.timeline.clock import join_series
from skinformer.timeline.open_hours import open_steps
from skinformer.timeline.timeline import runs
from skinformer.timeline.windows import origins_between
from skinformer.validation.arguments import check_fitted, check_horizon
from skinformer.validation.index import check_same_index
from skinformer.validation.parameters import CONSTRAINTS, check_moved
from skinformer.validation.rows import check_follows
from skinformer.validation.truth import check_any_truth, score_weight


class BaseInformer(PersistentMixin, ExportMixin, RequestMixin, FittableInformer):
    """An Informer over a timeline; the head of a subclass says what its forecasts mean."""

    _parameter_constraints = CONSTRAINTS | PART_CONSTRAINTS

    def __new__(cls, *_: Any, **params: Any) -> Self:
        """Make an estimator, unless a parameter is given that is one of a part."""
        check_moved(params, PARTS)
        return super().__new__(cls)

    def set_params(self, **params: Any) -> Self:
        """
        Set parameters by name, such as ``seq_len`` or ``network__d_model``.

        Parameters of an estimator among members are named by its class in lower case, such as
        ``members__ridge__alpha``.

        Parameters
        ----------
        **params : dict
            Names and values. If a part is None or a name, such as ``network__block="note"``,
            setting one of its parameters replaces it by an object with the same values.

        Returns
        -------
        self
            The estimator with these parameters, which take effect at the next fit.
        """
        check_moved(params, PARTS)
        return super().set_params(
            **open_parts(self, PARTS, open_members(self.members, params))
        )

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """
        Return parameters by name.

        Parameters
        ----------
        deep : bool, default=True
            Whether to include the parameters of parts, such as ``network__d_model``, and those of
            an estimator among members, such as ``members__ridge__alpha``.

        Returns
        -------
        dict
            Values by name.
        """
        nested = nested_in_members(self.members) if deep else {}
        return super().get_params(deep) | nested

    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:
        """
        Fit the ensemble to the rows of a time series, or of a panel.

        Parameters
        ----------
        X : DataFrame, Series or array-like of shape (n_samples, n_features)
            Consecutive time steps. Their times are the index of X (dates, periods or integers),
            otherwise its column of times, otherwise the index of y, otherwise the row number.
            Several series have a two-level index (series, time), or columns with these. Frames of
            polars, Arrow and everything else that narwhals reads are accepted, and `forecast`
            then returns the same kind. Columns hold numbers, booleans, text or categories. Missing
            covariates are forward-filled, with a warning.
        y : array-like of shape (n_samples,) or (n_samples, n_targets), default=None
            The actual values. None takes them from the `target` column of X. If y is passed and
            `target` (or y's name) is one of X's columns, both are the same series, possibly on two
            scales; otherwise X holds future covariates only. NaN is a missing value.
        sample_weight : array-like of shape (n_samples,), default=None
            Weight of each row in the loss.

        Returns
        -------
        self
            The fitted estimator.

        Raises
        ------
        TypeError, ValueError
            If the input cannot be used; the message says what to type instead.
        FloatingPointError
            If training diverges.

        Warns
        -----
        UserWarning
            If the input is likely not what was meant: outliers, a change of units, series too short
            to learn from, or at least `pred_len` last steps without an actual value.

        Notes
        -----
        If `fit` raises an error, or Ctrl-C ends it before the first epoch is over, the estimator
        is unchanged.

        Examples
        --------
        >>> import numpy as np, pandas as pd
        >>> from skinformer import InformerRegressor
        >>> months = pd.date_range("2020-01-01", periods=48, freq="MS")
        >>> df = pd.DataFrame({"sales": np.arange(48.0) % 12}, index=months)
        >>> InformerRegressor("sales", seq_len=12, pred_len=6).fit(df).roles_.targets
        ('sales',)
        """
        fitted = fit_copy(self, X, y, sample_weight)  # by the steps of `Fit.run`
        self.__dict__ = fitted.__dict__  # all at once, and nowhere else
        return self

    def predict(self, X: Any) -> Any:
        """
        Forecast each row of X at its own time.

        X is split into blocks of `pred_len` steps, counted from the end of the history, and each
        block is forecast from the rows before it. The order of rows in X does not matter, and no
        row is forecast from itself or from later rows.

        Parameters
        ----------
        X : DataFrame, Series or array-like of shape (n_samples, n_features)
            Rows like those of `fit`. Observed targets become history for later blocks; where the
            target is missing, the forecast takes its place. Past covariates may be left out. Rows
            of an array without an index are assumed to follow the training rows, unless they are
            the training array itself.

        Returns
        -------
        ndarray of float64, shape (n_samples,) or (n_samples, n_targets)
            Forecasts in the units of y, or of the target column.

        Raises
        ------
        TypeError, ValueError
            If the rows cannot be placed in time; the message says what to type instead.

        Warns
        -----
        UserWarning
            If rows without an index follow a dated history or come one by one; if rows lie far
            after the history, before it or between its steps; or if covariates that a later block
            needs are missing and were forward-filled.

        Examples
        --------
        >>> import numpy as np, pandas as pd
        >>> from skinformer import InformerRegressor
        >>> months = pd.date_range("2020-01-01", periods=54, freq="MS")
        >>> df = pd.DataFrame({"sales": np.arange(54.0) % 12}, index=months)
        >>> model = InformerRegressor("sales", seq_len=12, pred_len=6).fit(df[:48])
        >>> model.predict(df[48:]).shape
        (6,)
        """
        check_fitted(self)
        return self.reader_.decode(
            self._points(self._requested_rows(X)),
            one_dimensional=self.roles_.one_dimensional,
        )

    def _points(self, requested: RequestedSteps) -> Float64Array:
        """Return the values that are forecast, (n, n_targets)."""
        raise NotImplementedError

    def score(self, X: Any, y: Any = None, sample_weight: Any = None) -> float:
        """
        Score `predict`; rows with a missing actual value are left out.

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
            Higher is better; for `InformerRegressor` the R².
        """
        check_fitted(self)
        X, y, sample_weight = self.layout_.read(X, y, sample_weight)
        check_same_index(X, sample_weight, "sample_weight")
        reader = self.reader_
        truth = read_y_true(
            self,
            X if y is not None else reader.encode_rows(X, unseen=-1.0),
            reader.encode_y(y, unseen=-1.0),
            self.roles_,
        )
        forecast = self._points(self._requested_rows(X))
        present = ~np.isnan(truth).any(axis=1)
        check_any_truth(present)
        return self.head_.score(
            truth[present],
            forecast[present],
            score_weight(sample_weight, len(truth))[present],
        )

    def update(self, X: Any, y: Any = None) -> Self:
        """
        Append later rows to the history, without training.

        Parameters
        ----------
        X : DataFrame, Series or array-like of shape (n_samples, n_features)
            Rows that follow the history directly.
        y : array-like of shape (n_samples,) or (n_samples, n_targets), default=None
            Their actual values, if X does not contain them.

        Returns
        -------
        self
            The estimator; forecasts now start after these rows.

        Raises
        ------
        ValueError
            If rows are missing between the history and X, or within X, and none were in the fit.

        Examples
        --------
        >>> import numpy as np, pandas as pd
        >>> from skinformer import InformerRegressor
        >>> months = pd.date_range("2020-01-01", periods=49, freq="MS")
        >>> df = pd.DataFrame({"sales": np.arange(49.0) % 12}, index=months)
        >>> model = InformerRegressor("sales", seq_len=12, pred_len=6).fit(df[:48])
        >>> model.update(df[48:]).forecast().index[0]
        Timestamp('2024-02-01 00:00:00')
        """
        check_fitted(self)
        X, y = self.layout_.read(X, y)
        reader = self.reader_
        history = self.timeline_
        table = read_update(
            self, reader.encode_rows(X), reader.encode_y(y), fitted_rows(self)
        )
        table, bounds = clean_later_rows(self, reader.one_hot(table))
        order = np.lexsort((table.steps, table.series))
        table = table.without_outliers().take(order)
        if self._may_skip_ and table.clock == history.clock:
            table = table.with_all_steps(history.end_step)
        first_row = runs(table.series, history.n_series)
        last_step = history.end_step + np.diff(first_row) - 1
        check_follows(
            table,
            origins_between(history.end_step, last_step),
            history.clock,
            self.series_,
        )
        # All at once: what raises before leaves the estimator as it was.
        self.__dict__.update(
            scaler_=self.scaler_.updated(table.columns, first_row),
            timeline_=self._forecaster.appended(table),
            _outlier_bounds_=bounds,
        )
        warn_beyond_fit(self)
        return self

    def make_future_frame(self, horizon: int | None = None) -> pd.DataFrame:
        """
        Make the rows of the steps after the history, in which you fill in future covariates.

        Parameters
        ----------
        horizon : int, default=None
            Number of steps, at least 1; None is `pred_len`.

        Returns
        -------
        DataFrame of shape (horizon, n_features)
            The columns of X in their order, all values missing, with the timestamps of the future
            steps. Target columns of a classifier accept labels.

        Raises
        ------
        NotFittedError
            Before `fit`.
        ValueError
            If `horizon` is less than 1.
        """
        check_fitted(self)
        return self.layout_.write(self._future_frame(horizon))

    def _future_frame(self, horizon: int | None) -> pd.DataFrame:
        """Make rows for the steps after the history, labelled in the index."""
        n_steps = self.sizes_.pred_len
        if horizon is not None:
            check_horizon(horizon)
            n_steps = int(horizon)
        history = self.timeline_
        clock = history.clock
        ends = history.end_step.tolist()
        ahead = {
            end: open_steps(clock, end, n_steps, self._closed_dates_)
            for end in set(ends)
        }
        steps = np.concatenate([ahead[end] for end in ends])
        frame = pd.DataFrame(
            np.nan,
            index=join_series(
                self.series_,
                np.repeat(np.arange(history.n_series), n_steps),
                clock.labels(steps),
            ),
            columns=self.roles_.column_labels,
        )
        # Columns of names take single names, too.
        names = [categories.name for categories in self.roles_.categories]
        return frame.astype(dict.fromkeys(names, object)) if names else frame

    @property
    def module_(self) -> Informer | Corrected:
        """The network, with the ridges that it corrects if there are any."""
        return module_of(self.ensemble_)

    @property
    def series_blend_(self) -> pd.DataFrame:
        """Weights of the members, one row for each series and target."""
        return self.ensemble_.series_blend(self.series_, self.roles_.target_labels)

    def leaderboard(self) -> pd.DataFrame:
        """
        Show the weight and the validation error of each member, and why others are left out.

        Members are fitted to the rows before a cut-off and forecast the rows after it; their
        weights follow from these errors. Members with a weight are then fitted to all rows.

        Returns
        -------
        DataFrame of shape (n_members + 1, 8)
            One row per member, indexed by ``member``, and one for the ``joint forecast`` if members
            were compared:

            - ``takes_part``: whether it has a weight.
            - ``error``: mean absolute error at the cut-offs, in standard deviations of the targets;
              NaN if nothing was compared.
            - ``error_without``: the error of the ensemble without this member. Its difference to
              the error of the joint forecast is the contribution of the member.
            - ``weight``: mean over series, steps and targets.
            - ``fit_seconds``: by the clock, before the cut-off, of the forecasts behind it, and on
              all rows.
            - ``forecast_seconds``: of one window, in a batch.
            - ``parts``: the forecasters that it consists of, and their weights in it.
            - ``reason``: why it takes no part, or what `max_seconds` took from it.

        Raises
        ------
        NotFittedError
            Before `fit`.

        Notes
        -----
        Nothing is computed; `fit` has stored these numbers.

        Examples
        --------
        >>> import numpy as np
        >>> from skinformer import InformerRegressor
        >>> X = np.sin(np.arange(60.0))[:, np.newaxis]
        >>> board = InformerRegressor(seq_len=12, pred_len=4).fit(X).leaderboard()
        >>> board.loc["trees", "reason"]
        'fewer than 1,500 rows'
        """
        check_fitted(self)
        return self._standings_.table(self.ensemble_, getattr(self, "fit_times_", None))
