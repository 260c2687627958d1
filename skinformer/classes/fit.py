"""Fit what forecasts classes without a network, and forecast windows by each of it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
from sklearn.ensemble import HistGradientBoostingClassifier

from skinformer.classes.features import ClassFeatures, draw_pairs, make_features
from skinformer.classes.frequencies import (
    Frequencies,
    Transitions,
    fit_frequencies,
    fit_transitions,
    last_rows,
    time_blocks,
)
from skinformer.classes.logistic import Logistic, fit_logistic
from skinformer.tabular.features import Columns, Pairs
from skinformer.tabular.fit import first_known
from skinformer.tabular.regressors import ready
from skinformer.timeline.arrays import BoolArray, Float64Array, IntArray
from skinformer.timeline.clock import Clock
from skinformer.timeline.timeline import Timeline

__all__ = ["ClassFit", "default_classifier", "fit_classes"]

#: Pairs that the logistic map learns from at most, and the share of time, the last, that chooses
#: its penalty.
_LOGISTIC_PAIRS, _LATE = 20_000, 0.2
#: Weight of frequencies, and of transitions, before anything is proved.
_SIMPLE = 0.1
#: Least probability of any class: what never came may come.
_LEAST = 1e-5
_CHUNK = 8192  # pairs that are forecast at a time


def default_classifier() -> HistGradientBoostingClassifier:
    """
    Give the boosted trees that are fitted where the user names nothing else.

    Returns
    -------
    HistGradientBoostingClassifier
        Slow to learn, small, and with large leaves: log loss punishes who is sure and wrong.
    """
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
    """
    What forecasts the classes of one target.

    Parameters
    ----------
    group : slice
        Their columns.
    season, transitions, logistic : Frequencies, Transitions, Logistic or None
        None where there are too few truths to fit one.
    classifier : fitted classifier or None
        On the same features.
    seen : ndarray of int64
        The classes that it has seen.
    features : ClassFeatures
        What both see.
    """

    group: slice
    season: Frequencies
    transitions: Transitions
    logistic: Logistic | None
    classifier: Any
    seen: IntArray
    features: ClassFeatures

    def probabilities(
        self, values: npt.NDArray[np.floating], series: IntArray, pairs: Pairs, clock: Clock
    ) -> list[Float64Array]:
        """Forecast pairs by each in turn; frequencies stand in for what could not be fitted."""
        out = self.simple(values, series, pairs, clock)
        if self.logistic is not None:
            made = self.features.make(values, pairs, clock)
            mapped = self.logistic.probabilities(_stacked(made, out))
            grown = out[0]
            if self.classifier is not None:
                grown = np.zeros_like(mapped)
                grown[:, self.seen] = self.classifier.probabilities(made)
            out += [mapped, grown]
        else:
            out += [out[0], out[0]]
        return [_mixed(one) for one in out]

    def simple(
        self,
        values: npt.NDArray[np.floating],
        series: IntArray,
        pairs: Pairs,
        clock: Clock,
        block: IntArray | int = -1,
    ) -> list[Float64Array]:
        """Forecast pairs by frequencies, without a block of time each, and by transitions."""
        last = last_rows(values[:, self.group], pairs)
        return [
            self.season.probabilities(pairs.step + pairs.ahead, series, clock, block),
            self.transitions.probabilities(last, pairs.ahead),
        ]


@dataclass(frozen=True)
class ClassFit:
    """
    What forecasts classes without a network.

    Parameters
    ----------
    targets : tuple of TargetFit
        One for each.
    names : tuple of str
        Of those that forecast, in their order.
    pred_len : int
        Steps ahead.
    """

    targets: tuple[TargetFit, ...]
    names: tuple[str, ...]
    pred_len: int

    @property
    def believed(self) -> Float64Array:
        """Weights without any truth: the logistic map and trees know what the first two say."""
        n_others = len(self.names) - 2
        return np.array([_SIMPLE, _SIMPLE, *[(1 - 2 * _SIMPLE) / n_others] * n_others])

    @property
    def look_back(self) -> int:
        """Rows before an origin that are read, where the series holds them."""
        return max(target.features.look_back for target in self.targets)

    def forecast(
        self,
        values: npt.NDArray[np.floating],
        begin: IntArray,
        series: IntArray,
        origins: IntArray,
        steps: IntArray,
        clock: Clock,
    ) -> Float64Array:
        """
        Forecast windows by each in turn.

        Parameters
        ----------
        values : ndarray of shape (n_rows, n_columns)
            Rows, up to the end of each window.
        begin, series : ndarray of int64, shape (n,)
            The first row of each window's series, and its number.
        origins, steps : ndarray of int64, shape (n,)
            The row of each window's first forecast step, and its step on the clock.
        clock : Clock
            What the steps count.

        Returns
        -------
        ndarray of shape (n_forecasters, n, pred_len, n_columns_of_classes)
            Probabilities; each the same whatever others are asked for.
        """
        n_columns = self.targets[-1].group.stop
        out = np.empty((len(self.names), len(origins), self.pred_len, n_columns))
        size = max(1, _CHUNK // self.pred_len)
        for start in range(0, len(origins), size):
            part = slice(start, start + size)
            window, ahead = (i.ravel() for i in np.indices((len(origins[part]), self.pred_len)))
            window = window + start
            target = np.zeros_like(ahead)
            pairs = Pairs(origins[window], ahead, target, begin[window], steps[window])
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
    """
    Fit frequencies, transitions, a logistic map and a classifier.

    Parameters
    ----------
    timeline : Timeline
        The training rows.
    columns : Columns
        What they hold; its targets are classes.
    groups : list of slice
        The classes of each target.
    missing : ndarray of bool, shape (n_rows, n_targets), or None
        Where truths were missing; None for nowhere.
    stop : ndarray of int64, shape (n_series,), or None
        The row of each series from which on no truth is read; None for its end.
    classifier : classifier, or None
        Any of scikit-learn that has probabilities, which is cloned; None for none.
    random_state : int
        Of the pairs that are drawn, and of the classifier where it has one.

    Returns
    -------
    ClassFit
        Cost: at most 60,000 pairs a target, whatever the rows.
    """
    fits = [
        _fit_target(timeline, columns, group, missing, stop, classifier, random_state)
        for group in groups
    ]
    names = ["season", "transitions", "logistic"]
    if classifier is not None:
        plain = isinstance(classifier, HistGradientBoostingClassifier)
        names.append("trees" if plain else type(classifier).__name__)
    return ClassFit(tuple(fits), tuple(names), columns.pred_len)


def _fit_target(
    timeline: Timeline,
    columns: Columns,
    group: slice,
    missing: BoolArray | None,
    stop: IntArray | None,
    classifier: Any,
    random_state: int,
) -> TargetFit:
    begin, end = first_known(timeline, missing), timeline.first_row[1:]
    own = timeline.values[:, group].astype(np.float64)
    known = np.ones(len(own), dtype=bool)
    if missing is not None:
        known &= ~missing[:, group.start]
    series = timeline.series
    usable = known & (np.arange(len(own)) < (end if stop is None else stop)[series])
    weight = np.ones(len(own))
    if timeline.weight is not None:
        weight = timeline.weight[:, group.start].astype(np.float64)
    usable &= weight > 0
    rows, truth = np.flatnonzero(usable), own.argmax(axis=1)
    features = make_features(timeline, columns, group)
    season = fit_frequencies(
        truth[rows],
        weight[rows],
        timeline.steps_of(rows),
        series[rows],
        timeline.clock,
        features.maker.seasons,
        n_classes=own.shape[1],
        n_series=timeline.n_series,
    )
    transitions = fit_transitions(
        own,
        np.where(usable, weight, 0.0),
        known,
        begin[series],
        columns.pred_len,
    )
    fit = TargetFit(group, season, transitions, None, None, np.arange(0), features)
    pairs = draw_pairs(
        timeline,
        begin,
        usable,
        pred_len=columns.pred_len,
        n_most=10**9 if classifier is not None else _LOGISTIC_PAIRS,
        seed=random_state,
    )
    if not len(pairs.origin):
        return fit
    made = features.make(timeline.values, pairs, timeline.clock)
    at = pairs.origin + pairs.ahead
    some = slice(None, None, -(-len(at) // _LOGISTIC_PAIRS))
    steps = pairs.step[some] + pairs.ahead[some]
    block = time_blocks(timeline.steps_of(rows))[np.searchsorted(rows, at[some])]
    simple = fit.simple(timeline.values, series[at[some]], pairs.take(some), timeline.clock, block)
    logistic = fit_logistic(
        _stacked(made[some], simple),
        truth[at[some]],
        weight[at[some]],
        n_classes=own.shape[1],
        n_free=2 * own.shape[1],
        late=steps >= np.quantile(steps, 1 - _LATE),
    )
    fitted, seen = None, np.unique(truth[at])
    if classifier is not None and len(seen) > 1:
        # PERF: equal weights would cost half of the fit, as trees bin by weighted percentiles.
        own_weight = None if (weight[at] == weight[at[0]]).all() else weight[at]
        fitted = ready(classifier, random_state).fit(made, truth[at], own_weight)
    return TargetFit(group, season, transitions, logistic, fitted, seen, features)


def _stacked(features: Float64Array, simple: list[Float64Array]) -> Float64Array:
    """Show the logistic map what simpler ones say, too."""
    return np.hstack([features, *(np.log(np.maximum(one, _LEAST)) for one in simple)])


def _mixed(probabilities: Float64Array) -> Float64Array:
    """Leave every class a chance."""
    n_classes = probabilities.shape[1]
    return np.asarray((1 - _LEAST * n_classes) * probabilities + _LEAST)
