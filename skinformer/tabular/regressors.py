"""Regressors as they are fitted: cloned, seeded, and given numbers where they take no NaN."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Self

import numpy as np
from sklearn.base import clone
from sklearn.ensemble import (
    HistGradientBoostingClassifier,
    HistGradientBoostingRegressor,
)
from sklearn.utils import get_tags
from sklearn.utils.validation import has_fit_parameter

from skinformer.budget import current_share
from skinformer.tabular.binning import bin_features, can_bin, put_borders
from skinformer.threads import threads_for
from skinformer.timeline.arrays import BoolArray, Float64Array


def default_regressors(
    *, simple: bool, quick: bool = False
) -> tuple[HistGradientBoostingRegressor, HistGradientBoostingRegressor]:
    """Return the boosted trees that are fitted where the user names nothing else.

    simple: whether they see nothing but one table's past and calendar. Small trees err less there:
    large ones learn noise (notes/drivers.md).
    quick: fewer trees, which are enough to judge them by.

    The first is for distances from a level that stays, the second for those from the closest
    anchor. Medians on the one hand and means on the other err in different places
    (notes/drivers.md).
    """
    n_leaves = 8 if simple else 31
    n_trees, learning_rate = 300, 0.1
    if quick:
        n_trees, learning_rate = (200, 0.1) if simple else (150, 0.2)
    n_all = n_trees
    n_trees = current_share().of(n_all, least=20, power=0.5)
    learning_rate = min(learning_rate * n_all / n_trees, max(learning_rate, 0.3))
    medians = HistGradientBoostingRegressor(
        loss="absolute_error",
        max_iter=n_trees,
        learning_rate=learning_rate,
        max_leaf_nodes=n_leaves,
        max_bins=127,
        max_features=0.6,
        early_stopping=False,
    )
    means = clone(medians).set_params(loss="squared_error")
    return medians, means


def ready(regressor: Any, random_state: int) -> ReadyRegressor:
    """Clone a regressor, seeded where it has no seed, for features that may be NaN."""
    copy = clone(regressor)
    seeds = {}
    for name, value in copy.get_params().items():
        if name.rpartition("__")[2] == "random_state" and value is None:
            seeds[name] = random_state
    copy.set_params(**seeds)
    return ReadyRegressor(copy, fill=not get_tags(copy).input_tags.allow_nan)


class ReadyRegressor:
    """A regressor behind the features that it can take; it is fitted itself.

    fill: whether features are standardised, and NaN filled by the mean.
    """

    def __init__(self, regressor: Any, *, fill: bool) -> None:
        self.regressor = regressor
        self.fill = fill

    def fit(
        self,
        features: Float64Array,
        y: Float64Array,
        weights: Float64Array | None,
        *,
        n_unseen: int = 0,
    ) -> Self:
        """Fit; the last `n_unseen` features are left out, here and in forecasts.

        Features may be NaN. The weight of each truth is left out where the regressor takes none.
        """
        n_seen = features.shape[1] - n_unseen
        self.used = np.flatnonzero(_varying(features[:, :n_seen]))
        if self.fill:
            known = features[:, self.used]
            self.mean = np.nanmean(known, axis=0)
            self.deviation = np.nanstd(known, axis=0)
        if not has_fit_parameter(self.regressor, "sample_weight"):
            weights = None
        if weights is not None and (weights == weights[0]).all():
            weights = (
                None  # PERF: trees bin by weighted percentiles, which takes longer
            )
        seen = self._filled(features)
        with threads_for(0):
            if weights is not None and can_bin(self.regressor, len(seen)):
                bins = bin_features(seen, weights, self.regressor.max_bins)
                _fit_in_time(self.regressor, bins.numbers, y, weights)
                put_borders(self.regressor, bins.borders)
            else:
                _fit_in_time(self.regressor, seen, y, weights)
        return self

    def raise_to_mean(
        self, features: Float64Array, y: Float64Array, weights: Float64Array | None
    ) -> None:
        """Add the mean of what boosted trees leave to all that they forecast.

        Trees of absolute errors forecast medians; where errors are skewed their sum is off.
        """
        residuals = y - self.predict(features)
        self.regressor._baseline_prediction += np.average(residuals, weights=weights)

    def predict(self, features: Float64Array) -> Float64Array:
        """Forecast from features, NaN where nothing is known."""
        return self._call(self.regressor.predict, features).ravel()

    def probabilities(self, features: Float64Array) -> Float64Array:
        """Return probabilities of the classes that it was fitted to, where it is a classifier."""
        return self._call(self.regressor.predict_proba, features)

    def _call(self, method: Callable[..., Any], features: Float64Array) -> Float64Array:
        """Call a method of the regressor on features that it can take."""
        with threads_for(0):
            result = method(self._filled(features))
        return np.asarray(result, dtype=float)

    def _filled(self, features: Float64Array) -> Float64Array:
        """Choose the features that are used, standardised and without NaN where need be."""
        if not self.used.size:  # a series that never changed
            return np.zeros((len(features), 1))
        features = features[:, self.used]
        if not self.fill:
            return features
        standardised = (features - self.mean) / self.deviation
        return np.nan_to_num(standardised, copy=False)


def _fit_in_time(
    regressor: Any,
    features: Float64Array,
    y: Float64Array,
    weights: Float64Array | None,
) -> None:
    """Fit a regressor; boosted trees are fewer where their seconds are over before."""
    sample_weight = {} if weights is None else {"sample_weight": weights}
    share = current_share()
    is_boosted = isinstance(
        regressor, HistGradientBoostingRegressor | HistGradientBoostingClassifier
    )
    if not (share.is_limited and is_boosted):
        regressor.fit(features, y, **sample_weight)
        return
    # Some trees, then as many more as their seconds allow. PERF: features are binned each time.
    n_trees = regressor.max_iter
    n_first = max(n_trees // 5, 1)
    began = share.clock()
    regressor.set_params(warm_start=True, max_iter=n_first)
    regressor.fit(features, y, **sample_weight)
    now = share.clock()
    n_more = n_first * (share.end - now) / max(now - began, 1e-9)
    share.stopped |= n_first + n_more < n_trees
    if n_more >= 1:
        regressor.set_params(max_iter=int(min(n_first + n_more, n_trees)))
        regressor.fit(features, y, **sample_weight)
    regressor.set_params(warm_start=False)


def _varying(features: Float64Array) -> BoolArray:
    """Return which columns have two known values: trees can bin no others."""
    # Unlike `nanmin`, these warn of no column without a known value.
    return np.fmin.reduce(features) < np.fmax.reduce(features)
