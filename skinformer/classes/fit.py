"""Fit the forecasters of classes that are no network, and forecast windows by each."""

from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np
from sklearn.ensemble import HistGradientBoostingClassifier

from skinformer.classes import frequencies
from skinformer.classes.features import ClassFeatures, make_features
from skinformer.classes.logistic import Logistic, fit_logistic
from skinformer.tabular.features import Columns, Pairs
from skinformer.tabular.fit import MOST_PAIRS, draw_pairs
from skinformer.tabular.regressors import ready
from skinformer.timeline.arrays import BoolArray, Float64Array, Floats, IntArray
from skinformer.timeline.clock import Clock
from skinformer.timeline.timeline import Timeline, first_known

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
    season: frequencies.Frequencies
    transitions: frequencies.Transitions
    logistic: Logistic | None
    classifier: Any
    seen: IntArray
    features: ClassFeatures

    def probabilities(
        self, values: Floats, series: IntArray, pairs: Pairs, clock: Clock
    ) -> list[Float64Array]:
        """Forecast pairs by each forecaster; frequencies stand in for one not fitted."""
        season, transitions = self.simple(values, series, pairs, clock)
        logistic = season
        classified = season
        if self.logistic is not None:
            features = self.features.make(values, pairs, clock)
            stacked = _stacked(features, [season, transitions])
            logistic = self.logistic.probabilities(stacked)
            if self.classifier is not None:
                classified = np.zeros_like(logistic)
                classified[:, self.seen] = self.classifier.probabilities(features)
        # A little of every class, so that none has probability 0.
        each = [season, transitions, logistic, classified]
        return [(1 - _LEAST * one.shape[1]) * one + _LEAST for one in each]

    def simple(
        self,
        values: Floats,
        series: IntArray,
        pairs: Pairs,
        clock: Clock,
        block: IntArray | int = -1,
    ) -> list[Float64Array]:
        """Forecast pairs by frequencies, without a block of time each, and by transitions."""
        last = frequencies.last_rows(values[:, self.group], pairs)
        return [
            self.season.probabilities(pairs.step + pairs.ahead, series, clock, block),
            self.transitions.probabilities(last, pairs.ahead),
        ]


@dataclass(frozen=True)
class ClassFit:
    """Forecasters of classes without a network: their names, and a fit for each target."""

    targets: tuple[TargetFit, ...]
    names: tuple[str, ...]
    pred_len: int

    @property
    def prior_weights(self) -> Float64Array:
        """Weights before any truth: less for frequencies and transitions, which the others read."""
        simple = 0.1
        n_others = len(self.names) - 2
        other = (1 - 2 * simple) / n_others
        return np.array([simple, simple, *[other] * n_others])

    @property
    def look_back(self) -> int:
        """Rows before an origin that are read, where the series holds them."""
        return max(target.features.look_back for target in self.targets)

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
        n_columns = self.targets[-1].group.stop
        y_pred = np.empty((len(self.names), len(origins), self.pred_len, n_columns))
        n_windows = max(1, 8192 // self.pred_len)
        for start in range(0, len(origins), n_windows):
            chunk = slice(start, start + n_windows)
            pairs = Pairs.of_windows(
                origins[chunk], begin[chunk], steps[chunk], self.pred_len
            )
            of_pair = np.repeat(series[chunk], self.pred_len)
            for fit in self.targets:
                forecasts = fit.probabilities(values, of_pair, pairs, clock)[
                    : len(self.names)
                ]
                shape = (len(forecasts), -1, self.pred_len, forecasts[0].shape[1])
                y_pred[:, chunk, :, fit.group] = np.reshape(forecasts, shape)
        return y_pred


def fit_classes(
    timeline: Timeline,
    columns: Columns,
    groups: list[slice],
    *,
    missing: BoolArray | None,
    stop: IntArray | None,
    classifier: Any,
    random_state: int,
) -> ClassFit:
    """Fit frequencies, transitions, a logistic map and a classifier.

    Cost: at most 60,000 pairs of an origin and a step for each target, whatever the rows.

    groups: the columns of the classes of each target.
    missing: where truths were missing, (n_rows, n_targets); None for nowhere.
    stop: the row of each series from which on no truth is read; None for its end.
    classifier: any of scikit-learn that has probabilities, which is cloned; None for none.
    """
    fits = []
    for group in groups:
        truths = _read_truths(timeline, group, missing, stop)
        fits.append(_fit_target(timeline, columns, truths, classifier, random_state))
    names = ["season", "transitions", "logistic"]
    if classifier is not None:
        boosted = isinstance(classifier, HistGradientBoostingClassifier)
        names.append("trees" if boosted else type(classifier).__name__)
    return ClassFit(tuple(fits), tuple(names), columns.pred_len)


class _Truths(NamedTuple):
    """What is to be learnt of one target, of each row.

    group: its columns, of all.
    columns: of its classes, (n_rows, n_classes).
    known, usable: whether its class is known, and may be learnt.
    number: of its class.
    begin: the first row of each series where something is known.
    """

    group: slice
    columns: Float64Array
    known: BoolArray
    usable: BoolArray
    weight: Float64Array
    number: IntArray
    begin: IntArray


def _read_truths(
    timeline: Timeline, group: slice, missing: BoolArray | None, stop: IntArray | None
) -> _Truths:
    """Read the truths of a target, and which of them may be learnt."""
    columns = timeline.values[:, group].astype(np.float64)
    weight = np.ones(len(columns))
    if timeline.weight is not None:
        weight = timeline.weight[:, group.start].astype(np.float64)
    known = (
        np.full(len(columns), fill_value=True)
        if missing is None
        else ~missing[:, group.start]
    )
    end = timeline.first_row[1:] if stop is None else stop
    before_end = np.arange(len(columns)) < end[timeline.series]
    return _Truths(
        group=group,
        columns=columns,
        known=known,
        usable=known & before_end & (weight > 0),
        weight=weight,
        number=columns.argmax(axis=1),
        begin=first_known(missing, timeline.first_row),
    )


def _fit_target(
    timeline: Timeline, columns: Columns, truths: _Truths, classifier: Any, seed: int
) -> TargetFit:
    """Fit frequencies and transitions, then logistic map and classifier on them and on features."""
    # 1. Frequencies of phases, and transitions.
    features = make_features(timeline, columns, truths.group)
    fit = TargetFit(
        group=truths.group,
        season=_fit_season(timeline, truths, features.maker.seasons),
        transitions=_fit_transitions(timeline, truths, columns.pred_len),
        logistic=None,
        classifier=None,
        seen=np.arange(0),
        features=features,
    )
    # 2. The logistic map, on features of pairs and on those forecasts of them.
    n_most = _LOGISTIC_PAIRS if classifier is None else MOST_PAIRS
    pairs = _draw(timeline, columns, truths, seed, n_most)
    if not len(pairs.origin):
        return fit
    made = features.make(timeline.values, pairs, timeline.clock)
    fit = replace(fit, logistic=_fit_logistic(timeline, fit, truths, pairs, made))
    # 3. The classifier, on features alone.
    rows = pairs.origin + pairs.ahead
    number = truths.number[rows]
    seen = np.unique(number)
    if classifier is None or len(seen) < 2:
        return fit
    fitted = ready(classifier, seed).fit(made, number, truths.weight[rows])
    return replace(fit, classifier=fitted, seen=seen)


def _fit_season(
    timeline: Timeline, truths: _Truths, seasons: tuple[int, ...]
) -> frequencies.Frequencies:
    """Fit frequencies of phases to the truths that may be learnt."""
    rows = np.flatnonzero(truths.usable)
    return frequencies.fit_frequencies(
        truths.number[rows],
        truths.weight[rows],
        timeline.steps_of(rows),
        timeline.series[rows],
        timeline.clock,
        seasons,
        n_classes=truths.columns.shape[1],
        n_series=timeline.n_series,
    )


def _fit_transitions(
    timeline: Timeline, truths: _Truths, pred_len: int
) -> frequencies.Transitions:
    """Fit transitions to the truths that may be learnt."""
    weight = np.where(truths.usable, truths.weight, 0.0)
    begin = truths.begin[timeline.series]
    return frequencies.fit_transitions(
        truths.columns, weight, truths.known, begin, pred_len
    )


def _draw(
    timeline: Timeline, columns: Columns, truths: _Truths, seed: int, n_most: int
) -> Pairs:
    """Draw pairs among truths that have a known row before them."""
    rows = np.flatnonzero(truths.usable)
    rows = rows[rows > truths.begin[timeline.series[rows]]]
    one_target = columns._replace(n_targets=1)
    return draw_pairs(timeline, one_target, truths.begin, rows, seed, n_most)


def _fit_logistic(
    timeline: Timeline,
    fit: TargetFit,
    truths: _Truths,
    pairs: Pairs,
    made: Float64Array,
) -> Logistic:
    """Fit the logistic map to some pairs, whose frequencies do without their block of time."""
    every = -(-len(made) // _LOGISTIC_PAIRS)
    pairs = pairs.take(slice(None, None, every))
    rows = pairs.origin + pairs.ahead
    usable = np.flatnonzero(truths.usable)
    blocks = frequencies.time_blocks(timeline.steps_of(usable))
    block = blocks[np.searchsorted(usable, rows)]
    simple = fit.simple(
        timeline.values, timeline.series_of(rows), pairs, timeline.clock, block
    )
    features = _stacked(made[::every], simple)
    n_classes = truths.columns.shape[1]
    truth = np.eye(n_classes)[truths.number[rows]]
    steps = pairs.step + pairs.ahead
    late = steps >= np.quantile(steps, 0.8)  # which choose the penalty
    return fit_logistic(features, truth, truths.weight[rows], 2 * n_classes, late)


def _stacked(features: Float64Array, simple: list[Float64Array]) -> Float64Array:
    """Append the log probabilities of the simple forecasters to the features."""
    logs = [np.log(np.maximum(one, _LEAST)) for one in simple]
    return np.hstack([features, *logs])
