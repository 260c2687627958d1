"""Regressors as they are fitted: cloned, seeded, and given numbers where they take no NaN."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Self

import numpy as np
from sklearn.base import clone
from sklearn.ensemble import HistGradientBoostingRegressor
from sklearn.utils import get_tags
from sklearn.utils.validation import has_fit_parameter

from skinformer.threads import threads_for
from skinformer.timeline.arrays import Float64Array

#: Trees and learning rate of those who forecast, and of those who are judged by the split: where
#: all is simple, and elsewhere.
_SIZES = {True: ((100, 0.15), (70, 0.2)), False: ((300, 0.1), (150, 0.2))}


def default_regressors(
    *, simple: bool, quick: bool = False
) -> tuple[HistGradientBoostingRegressor, HistGradientBoostingRegressor]:
    """Return the boosted trees that are fitted where the user names nothing else.

    simple: whether they see nothing but one table's past and calendar, where few trees are as good
    on five of six tables.
    quick: fewer trees, which are enough to judge them by.

    The first is for distances from a level that stays, the second for those from the closest
    anchor. Medians on the one hand and means on the other err in different places
    (docs/laboratory/drivers.md).
    """
    n_trees, rate = _SIZES[simple][quick]
    common: dict[str, Any] = {"max_iter": n_trees, "learning_rate": rate}
    common |= {"max_bins": 127, "max_features": 0.6, "early_stopping": False}
    return (
        HistGradientBoostingRegressor(loss="absolute_error", **common),
        HistGradientBoostingRegressor(**common),
    )


def ready(regressor: Any, random_state: int) -> ReadyRegressor:
    """Clone a regressor, seeded where it has no seed, for features that may be NaN."""
    copy = clone(regressor)
    unset = [
        name
        for name, value in copy.get_params().items()
        if name.rpartition("__")[2] == "random_state" and value is None
    ]
    copy.set_params(**dict.fromkeys(unset, random_state))
    return ReadyRegressor(copy, fill=not get_tags(copy).input_tags.allow_nan)


class ReadyRegressor:
    """A regressor behind the features that it can take; it is fitted itself.

    fill: whether features are standardised, and NaN filled by the mean.
    """

    def __init__(self, regressor: Any, *, fill: bool) -> None:
        self.regressor, self.fill = regressor, fill

    def fit(
        self,
        features: Float64Array,
        truth: Float64Array,
        weight: Float64Array | None,
        *,
        unseen: slice = slice(0),
    ) -> Self:
        """Fit; `unseen` features are left out, here and in forecasts.

        Features may be NaN. The weight of each truth is left out where the regressor takes none.
        """
        # Trees cannot bin a column that was never known, and one that never varies says nothing.
        lowest = np.where(np.isnan(features), np.inf, features).min(axis=0)
        highest = np.where(np.isnan(features), -np.inf, features).max(axis=0)
        tells = lowest < highest
        tells[unseen] = False
        self.used = np.flatnonzero(tells)
        if self.fill:
            self.mean = np.nanmean(features[:, self.used], axis=0)
            self.deviation = np.nanstd(features[:, self.used], axis=0)
        given = {}
        # PERF: equal weights would cost half of the fit, as trees bin by weighted percentiles.
        weighted = weight is not None and bool((weight != weight[0]).any())
        if weighted and has_fit_parameter(self.regressor, "sample_weight"):
            given["sample_weight"] = weight
        with threads_for(0):
            self.regressor.fit(self._filled(features), truth, **given)
        return self

    def raise_to_mean(
        self, features: Float64Array, truth: Float64Array, weight: Float64Array | None
    ) -> None:
        """Add the mean of what boosted trees leave to all that they forecast.

        Trees of absolute errors forecast medians; where errors are skewed their sum is off.
        """
        left = np.average(truth - self.predict(features), weights=weight)
        self.regressor._baseline_prediction += left

    def predict(self, features: Float64Array) -> Float64Array:
        """Forecast from features, NaN where nothing is known."""
        return self._requested(self.regressor.predict, features).reshape(len(features))

    def probabilities(self, features: Float64Array) -> Float64Array:
        """Return probabilities of the classes that it was fitted to, where it is a classifier."""
        return self._requested(self.regressor.predict_proba, features)

    def _requested(self, question: Callable[..., Any], features: Float64Array) -> Float64Array:
        with threads_for(0):
            return np.asarray(question(self._filled(features)), dtype=np.float64)

    def _filled(self, features: Float64Array) -> Float64Array:
        features = features[:, self.used]
        if not self.used.size:  # a series that never changed
            return np.zeros((len(features), 1))
        if not self.fill:
            return features
        filled: Float64Array = np.nan_to_num((features - self.mean) / self.deviation, copy=False)
        return filled
