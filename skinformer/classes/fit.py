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

#: Pairs that the logistic map learns from at most, and the share of time, the last, that chooses
#: its penalty.
_LOGISTIC_PAIRS, _LATE = 20_000, 0.2
#: Weight of frequencies, and of transitions, before anything is proved.
_SIMPLE = 0.1
#: Least probability of any class: what never came may come.
_LEAST = 1e-5
_CHUNK = 8192  # pairs that are forecast at a time


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
        simple = self.simple(values, series, pairs, clock)
        out = [*simple, simple[0], simple[0]]
        if self.logistic is not None:
            made = self.features.make(values, pairs, clock)
            out[2] = self.logistic.probabilities(_stacked(made, simple))
            if self.classifier is not None:
                out[3] = np.zeros_like(out[2])
                out[3][:, self.seen] = self.classifier.probabilities(made)
        # A little of every class, so that none has probability 0.
        return [(1 - _LEAST * one.shape[1]) * one + _LEAST for one in out]

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
    def believed(self) -> Float64Array:
        """Weights before any truth: less for frequencies and transitions, which the others read."""
        n_others = len(self.names) - 2
        return np.array([_SIMPLE, _SIMPLE, *[(1 - 2 * _SIMPLE) / n_others] * n_others])

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
        out = np.empty((len(self.names), len(origins), self.pred_len, n_columns))
        size = max(1, _CHUNK // self.pred_len)
        for start in range(0, len(origins), size):
            part = slice(start, start + size)
            window, ahead = (i.ravel() for i in np.indices((len(origins[part]), self.pred_len)))
            window = window + start
            pairs = Pairs(origins[window], ahead, 0 * ahead, begin[window], steps[window])
            for fit in self.targets:
                each = fit.probabilities(values, series[window], pairs, clock)
                for number, made in enumerate(each[: len(self.names)]):
                    shape = (-1, self.pred_len, made.shape[1])
                    out[number, part, :, fit.group] = made.reshape(shape)
        return out


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
    truths = (_truths(timeline, group, missing, stop) for group in groups)
    fits = [_fit_target(timeline, columns, own, classifier, random_state) for own in truths]
    names = ["season", "transitions", "logistic"]
    if classifier is not None:
        plain = isinstance(classifier, HistGradientBoostingClassifier)
        names.append("trees" if plain else type(classifier).__name__)
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


def _truths(
    timeline: Timeline, group: slice, missing: BoolArray | None, stop: IntArray | None
) -> _Truths:
    own = timeline.values[:, group].astype(np.float64)
    known = np.ones(len(own), dtype=bool) if missing is None else ~missing[:, group.start]
    weight = np.ones(len(own))
    if timeline.weight is not None:
        weight = timeline.weight[:, group.start].astype(np.float64)
    end = timeline.first_row[1:] if stop is None else stop
    usable = known & (np.arange(len(own)) < end[timeline.series]) & (weight > 0)
    begin = first_known(missing, timeline.first_row)
    return _Truths(group, own, known, usable, weight, own.argmax(axis=1), begin)


def _fit_target(
    timeline: Timeline, columns: Columns, truths: _Truths, classifier: Any, seed: int
) -> TargetFit:
    """Fit frequencies and transitions, then logistic map and classifier on them and on features."""
    series, begin, rows = timeline.series, truths.begin, np.flatnonzero(truths.usable)
    features = make_features(timeline, columns, truths.group)
    number, weight, steps = truths.number[rows], truths.weight[rows], timeline.steps_of(rows)
    sizes = {"n_classes": truths.columns.shape[1], "n_series": timeline.n_series}
    when = steps, series[rows], timeline.clock, features.maker.seasons
    season = frequencies.fit_frequencies(number, weight, *when, **sizes)
    weight, each = np.where(truths.usable, truths.weight, 0.0), begin[series]
    found = frequencies.fit_transitions(
        truths.columns, weight, truths.known, each, columns.pred_len
    )
    fit = TargetFit(truths.group, season, found, None, None, np.arange(0), features)
    rows = rows[rows > each[rows]]
    n_most = _LOGISTIC_PAIRS if classifier is None else MOST_PAIRS
    one = columns._replace(n_targets=1)
    pairs = draw_pairs(timeline, one, begin, rows, seed, n_most)
    if not len(pairs.origin):
        return fit
    made = features.make(timeline.values, pairs, timeline.clock)
    at = pairs.origin + pairs.ahead
    fit = replace(fit, logistic=_fit_logistic(timeline, fit, truths, pairs, made))
    seen = np.unique(truths.number[at])
    if classifier is None or len(seen) < 2:
        return fit
    fitted = ready(classifier, seed).fit(made, truths.number[at], truths.weight[at])
    return replace(fit, classifier=fitted, seen=seen)


def _fit_logistic(
    timeline: Timeline, fit: TargetFit, truths: _Truths, pairs: Pairs, made: Float64Array
) -> Logistic:
    some = slice(None, None, -(-len(made) // _LOGISTIC_PAIRS))
    pairs = pairs.take(some)
    at, rows = pairs.origin + pairs.ahead, np.flatnonzero(truths.usable)
    steps = pairs.step + pairs.ahead
    block = frequencies.time_blocks(timeline.steps_of(rows))[np.searchsorted(rows, at)]
    simple = fit.simple(timeline.values, timeline.series_of(at), pairs, timeline.clock, block)
    n_classes, late = truths.columns.shape[1], steps >= np.quantile(steps, 1 - _LATE)
    truth, features = np.eye(n_classes)[truths.number[at]], _stacked(made[some], simple)
    return fit_logistic(features, truth, truths.weight[at], 2 * n_classes, late)


def _stacked(features: Float64Array, simple: list[Float64Array]) -> Float64Array:
    """Append the log probabilities of the simple forecasters to the features."""
    return np.hstack([features, *(np.log(np.maximum(one, _LEAST)) for one in simple)])
