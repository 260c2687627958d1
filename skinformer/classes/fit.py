"""Fit the forecasters of classes that are no network, and forecast windows by each."""

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from sklearn.ensemble import HistGradientBoostingClassifier

from skinformer.budget import current_share
from skinformer.classes.features import ClassFeatures, make_features
from skinformer.classes.frequencies import (
    Frequencies,
    Transitions,
    fit_frequencies,
    fit_transitions,
    last_rows,
)
from skinformer.classes.logistic import Logistic, fit_logistic
from skinformer.classes.truths import Truths, read_truths
from skinformer.tabular.features import Columns, Pairs
from skinformer.tabular.fit import MOST_PAIRS, draw_pairs
from skinformer.tabular.regressors import ready
from skinformer.timeline.arrays import BoolArray, Float64Array, Floats, IntArray
from skinformer.timeline.clock import Clock
from skinformer.timeline.timeline import Timeline

#: Pairs that the logistic map learns from at most.
_LOGISTIC_PAIRS = 20_000
#: Least probability of any class: what never came may come.
_LEAST = 1e-5


def default_classifier() -> HistGradientBoostingClassifier:
    """Return slow, small boosted trees with large leaves, for log loss punishes certainty."""
    return HistGradientBoostingClassifier(
        max_iter=100,
        learning_rate=0.06,
        max_leaf_nodes=7,
        min_samples_leaf=40,
        l2_regularization=1.0,
        max_features=0.2,
        early_stopping=False,
    )


@dataclass(frozen=True)
class TargetFit:
    """Forecasters of the classes of one target, the columns of ``group``.

    season, transitions, logistic: None where there are too few truths to fit one.
    classifier: fitted on the same features as ``logistic``, or None.
    seen: numbers of the classes that the classifier has seen.
    features: what both see.
    """

    group: slice
    season: Frequencies
    transitions: Transitions
    logistic: Logistic | None
    classifier: Any
    seen: IntArray
    features: ClassFeatures

    def probabilities(
        self, values: Floats, series: IntArray, pairs: Pairs, clock: Clock
    ) -> Float64Array:
        """Forecast pairs by each forecaster, (4, n, n_classes).

        Frequencies stand in for a forecaster that is not fitted.
        """
        simple = self.simple(values, series, pairs, clock)
        logistic = simple[0]
        classified = logistic
        if self.logistic is not None:
            features = self.features.make(values, pairs, clock)
            stacked = _stack(features, simple)
            logistic = self.logistic.probabilities(stacked)
            if self.classifier is not None:
                classified = np.zeros_like(logistic)
                seen = self.classifier.probabilities(features)
                classified[:, self.seen] = seen
        each = np.stack([*simple, logistic, classified])
        rest = 1 - _LEAST * each.shape[2]
        return each * rest + _LEAST

    def simple(
        self,
        values: Floats,
        series: IntArray,
        pairs: Pairs,
        clock: Clock,
        block: IntArray | int = -1,
    ) -> list[Float64Array]:
        """Forecast pairs by frequencies, without a block of time each, and by transitions."""
        ahead = pairs.ahead
        last = last_rows(values[:, self.group], pairs)
        steps = pairs.step + ahead
        return [
            self.season.probabilities(steps, series, clock, block),
            self.transitions.probabilities(last, ahead),
        ]


@dataclass(frozen=True)
class ClassFit:
    """Forecasters of classes without a network: their names, and a fit for each target."""

    targets: tuple[TargetFit, ...]
    names: tuple[str, ...]

    @property
    def pred_len(self) -> int:
        """Steps of a forecast."""
        return self.targets[0].features.maker.columns.pred_len

    @property
    def prior_weights(self) -> Float64Array:
        """Weights before any truth: less for frequencies and transitions, which the others read."""
        n_others = len(self.names) - 2
        others = [0.8 / n_others] * n_others
        return np.array([0.1, 0.1, *others])

    @property
    def look_back(self) -> int:
        """Rows before an origin that are read, where the series holds them."""
        return max(target.features.maker.look_back for target in self.targets)

    def forecast(
        self,
        values: Floats,
        begin: IntArray,
        series: IntArray,
        origins: IntArray,
        steps: IntArray,
        clock: Clock,
    ) -> Float64Array:
        """Forecast windows by each forecaster.

        (n_forecasters, n, pred_len, n_columns_of_classes), probabilities. Each window is forecast
        the same whatever others are asked for.

        values: rows as a timeline holds them, up to the end of each window.
        begin, series: the first row of each window's series, and its number.
        origins, steps: the row of each window's first forecast step, and its step on the clock.
        """
        pred_len = self.pred_len
        n_forecasters = len(self.names)
        n_columns = self.targets[-1].group.stop
        shape = (n_forecasters, len(origins), pred_len, n_columns)
        y_pred = np.empty(shape)
        n_windows = max(1, 8192 // pred_len)
        for start in range(0, len(origins), n_windows):
            chunk = slice(start, start + n_windows)
            pairs = Pairs.of_windows(
                origins[chunk], begin[chunk], steps[chunk], pred_len
            )
            series_of_pair = np.repeat(series[chunk], pred_len)
            for fit in self.targets:
                each = fit.probabilities(values, series_of_pair, pairs, clock)
                part = y_pred[:, chunk, :, fit.group]
                part[:] = each[:n_forecasters].reshape(part.shape)
        return y_pred


def fit_classes(
    timeline: Timeline,
    columns: Columns,
    groups: list[slice],
    *,
    missing: BoolArray | None,
    classifier: Any,
    random_state: int,
) -> ClassFit:
    """Fit frequencies, transitions, a logistic map and a classifier.

    Cost: at most 60,000 pairs of an origin and a step for each target, whatever the rows.

    groups: the columns of the classes of each target.
    missing: where truths were missing, (n_rows, n_targets); None for nowhere.
    classifier: any of scikit-learn that has probabilities, which is cloned; None for none.
    """
    fits = []
    for group in groups:
        truths = read_truths(timeline, group, missing)
        fit = _fit_target(truths, columns, classifier, random_state)
        fits.append(fit)
    names = ["season", "transitions", "logistic"]
    if isinstance(classifier, HistGradientBoostingClassifier):
        names.append("trees")
    elif classifier is not None:
        names.append(type(classifier).__name__)
    return ClassFit(tuple(fits), tuple(names))


def _fit_target(
    truths: Truths, columns: Columns, classifier: Any, seed: int
) -> TargetFit:
    """Fit all forecasters of a target; logistic map and classifier only to truths with a past."""
    timeline = truths.timeline
    fit = _fit_simple(truths, columns)
    # 1. Pairs among truths that have a known row before them, and their features.
    n_most = _LOGISTIC_PAIRS if classifier is None else MOST_PAIRS
    n_most = current_share().of(n_most, least=3000)
    has_past = truths.rows > truths.begin[truths.series]
    pairs = draw_pairs(
        timeline,
        columns._replace(n_targets=1),
        truths.begin,
        truths.rows[has_past],
        seed,
        n_most,
    )
    if not len(pairs.origin):
        return fit
    features = fit.features.make(timeline.values, pairs, timeline.clock)
    # 2. The logistic map, on features and what frequencies and transitions forecast.
    logistic = _fit_logistic(truths, fit, pairs, features)
    fit = replace(fit, logistic=logistic)
    # 3. The classifier, on features alone.
    place = truths.find(pairs)
    number = truths.number[place]
    seen = np.unique(number)
    if classifier is None or len(seen) < 2:
        return fit
    fitted = ready(classifier, seed).fit(features, number, truths.weight[place])
    return replace(fit, classifier=fitted, seen=seen)


def _fit_simple(truths: Truths, columns: Columns) -> TargetFit:
    """Fit frequencies and transitions alone."""
    features = make_features(truths.timeline, columns, truths.group)
    return TargetFit(
        group=truths.group,
        season=fit_frequencies(truths, features.maker.seasons),
        transitions=fit_transitions(truths, columns.pred_len),
        logistic=None,
        classifier=None,
        seen=np.arange(0),
        features=features,
    )


def _fit_logistic(
    truths: Truths, fit: TargetFit, pairs: Pairs, features: Float64Array
) -> Logistic:
    """Fit the logistic map to some pairs, whose frequencies do without their block of time."""
    timeline = truths.timeline
    every = -(-len(features) // _LOGISTIC_PAIRS)
    pairs = pairs.take(slice(None, None, every))
    place = truths.find(pairs)
    n_classes = truths.n_classes
    simple = fit.simple(
        timeline.values,
        truths.series[place],
        pairs,
        timeline.clock,
        truths.blocks[place],
    )
    steps = truths.steps[place]
    late = steps >= np.quantile(steps, 0.8)  # which choose the penalty
    return fit_logistic(
        _stack(features[::every], simple),
        np.eye(n_classes)[truths.number[place]],
        truths.weight[place],
        len(simple) * n_classes,
        late,
    )


def _stack(features: Float64Array, simple: list[Float64Array]) -> Float64Array:
    """Append the log probabilities of the simple forecasters to the features."""
    proba = np.maximum(np.hstack(simple), _LEAST)
    return np.hstack([features, np.log(proba)])
