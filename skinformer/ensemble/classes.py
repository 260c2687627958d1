"""What forecasts classes beside the network: judged on the validation tail, joined, calibrated."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple, TypeAlias

import numpy as np
import torch

from skinformer.classes.blend import TEMPERATURES, mixture_weights, temperature_losses
from skinformer.classes.fit import ClassFit, default_classifier, fit_classes
from skinformer.classes.logistic import log_softmax
from skinformer.ensemble.batches import WindowSource
from skinformer.ensemble.building import ModelSizes
from skinformer.ensemble.fitting import FitBatches, FitRows
from skinformer.ensemble.head import ClassHead
from skinformer.ensemble.joining import Judged
from skinformer.ensemble.predicting import predict_windows
from skinformer.ensemble.settings import FitSettings
from skinformer.ensemble.windows import Rows
from skinformer.model.corrected import Corrected
from skinformer.model.informer import Informer
from skinformer.ridge.proof import best_share, cut_stretches
from skinformer.stopwatch import timed
from skinformer.tabular.features import Columns
from skinformer.tabular.fit import first_known
from skinformer.timeline.arrays import Float32Array, Float64Array, IntArray
from skinformer.timeline.clock import Clock
from skinformer.timeline.windows import window_rows

__all__ = ["ClassChallenger", "ClassForecaster", "JudgedClasses", "challenge", "join_classes"]

#: Values that are forecast to judge.
_MOST_VALUES = 40_000
#: Shares of the network in the logits that compete.
_SHARES = (0.0, 0.25, 0.5, 0.75, 1.0)
#: Share that a network is trained for beside what is forecast without it: see `WindowBatches.ease`.
_EXPECTED = 0.5

#: The network: forecasts windows.
ModuleForecaster: TypeAlias = Callable[[Rows, IntArray, Float64Array | None], Float32Array]


class ClassChallenger(NamedTuple):
    """What forecasts without the network, fitted before the tail, and its part in the training."""

    fit: ClassFit
    share: Float64Array


@dataclass(frozen=True)
class JudgedClasses(Judged):
    """Who forecasts classes, and with what share; what forecasts numbers has no part.

    trust: share of the network in the logits.
    temperature: what logits are divided by.
    fit: what forecasts without the network; None for the network alone.
    weights: (pred_len, n_forecasters), of each of these.
    """

    temperature: float = 1.0
    fit: ClassFit | None = None
    weights: Float64Array = field(default_factory=lambda: np.empty((0, 0)))

    @property
    def look_back(self) -> int:
        """Rows before an origin that are read beside a window's own."""
        return 0 if self.fit is None else self.fit.look_back

    def blend(self, ridges: dict[str, float]) -> dict[str, float]:  # noqa: ARG002
        """Give mean weights of what is fitted without the network; ridges have no part here."""
        if self.fit is None:
            return {}
        means = self.weights.mean(axis=0)
        return {n: round(float(w), 4) for n, w in zip(self.fit.names, means, strict=True)}

    def logits(self, each: Float64Array, network: Float32Array, head: ClassHead) -> Float64Array:
        """Join forecasts to logits, (n, pred_len, n_columns).

        each: (n_forecasters, n, pred_len, n_columns), probabilities without the network.
        network: (n, pred_len, n_columns), its logits.
        """
        out = np.zeros(each.shape[1:] if len(each) else network.shape)
        if len(each):
            for number, probabilities in enumerate(each):
                out += self.weights[:, number, None] * probabilities
            out = np.log(out)
        if self.trust:
            logs = np.concatenate(
                [log_softmax(network[..., g].astype(np.float64)) for g in head.groups], axis=-1
            )
            out = (1 - self.trust) * out + self.trust * logs
        scaled: Float64Array = out / self.temperature
        return scaled


def challenge(rows: FitRows, settings: FitSettings) -> ClassChallenger | None:
    """Fit what forecasts classes without the network, before the validation tail and training.

    It is None without a tail, or without a base.
    """
    if rows.tail is None or not settings.class_path:
        return None
    share = _EXPECTED if settings.regressor is not None else 0.0
    return ClassChallenger(_fit(rows, settings, before_tail=True), np.array([share]))


def join_classes(
    module: Informer | Corrected,
    batches: FitBatches,
    rows: FitRows,
    settings: FitSettings,
    fit: ClassFit | None,
) -> JudgedClasses:
    """Let everything that was fitted before the validation tail forecast it, and choose shares.

    module: the network, in evaluation mode.
    fit: without the tail, from `challenge`.

    There are mixture weights by step ahead, the network's share by stretches of the tail, and a
    temperature. Without a tail nothing is known of anybody: all but the network count as they do
    before, and it has no say unless it is alone.
    """
    if rows.tail is None or batches.validation is None:
        if not settings.class_path:
            return JudgedClasses(1.0)
        final = _fit(rows, settings)
        weights = np.tile(final.believed, (settings.pred_len, 1))
        return JudgedClasses(0.0, fit=final, weights=weights)
    judged = _judge(module, batches.validation.source, rows, settings, fit)
    if fit is not None and settings.early_stopping is not True:
        judged = replace(judged, fit=_fit(rows, settings))
    return judged


def _judge(
    module: Informer | Corrected,
    source: WindowSource,
    rows: FitRows,
    settings: FitSettings,
    fit: ClassFit | None,
) -> JudgedClasses:
    head = _class_head(settings)
    timeline, n_columns = rows.timeline, rows.sizes.n_targets
    origins = rows.tails.thinned(max(_MOST_VALUES // source.pred_len, 32))
    ahead = window_rows(origins, source.pred_len)
    truth = timeline.values[ahead, :n_columns].astype(np.float64)
    weight = np.ones_like(truth) if timeline.weight is None else timeline.weight[ahead]
    weight = weight.astype(np.float64)
    n_truths = float((np.unique(ahead).size) * (weight > 0).mean())
    network = predict_windows(module, source, origins)
    judged, each = JudgedClasses(1.0), np.empty(0)
    if fit is not None:
        steps, series = timeline.steps_of(origins), timeline.series_of(origins)
        begin = first_known(timeline, rows.missing)[series]
        each = fit.forecast(timeline.values, begin, series, origins, steps, timeline.clock)
        came = [(each[..., g] * truth[..., g]).sum(axis=-1) for g in head.groups]
        own = np.concatenate(came, axis=1)  # targets are as good as more windows
        of_truths = np.concatenate([weight[..., g.start] for g in head.groups])
        own[:, of_truths == 0] = 1.0  # what came is not known
        weights = mixture_weights(own, of_truths, n_truths, fit.believed)
        judged = JudgedClasses(0.0, fit=fit, weights=weights)
        judged = replace(
            judged, trust=_trust(judged, each, network, truth, weight, origins, rows, head)
        )
    stretches = cut_stretches(timeline.steps_of(origins), source.pred_len)
    if stretches is None:
        return judged
    losses = temperature_losses(judged.logits(each, network, head), truth, weight, head.groups)
    total = np.zeros((int(stretches.max()) + 1, losses.shape[1]))
    np.add.at(total, stretches, losses)
    # Half of the way: how sure one time may be, another may not.
    return replace(judged, temperature=float(np.sqrt(TEMPERATURES[best_share(total)])))


def _trust(
    judged: JudgedClasses,
    each: Float64Array,
    network: Float32Array,
    truth: Float64Array,
    weight: Float64Array,
    origins: IntArray,
    rows: FitRows,
    head: ClassHead,
) -> float:
    """Find the network's share that helps on all stretches of the tail."""
    stretches = cut_stretches(rows.timeline.steps_of(origins), rows.sizes.pred_len)
    if stretches is None:
        return 0.0
    total = np.zeros((int(stretches.max()) + 1, len(_SHARES)))
    plain = replace(head, label_smoothing=0.0, z_loss=0.0)
    for j, share in enumerate(_SHARES):
        logits = replace(judged, trust=share).logits(each, network, head)
        error = plain.error(torch.from_numpy(logits), torch.from_numpy(truth)).numpy()
        np.add.at(total[:, j], stretches, (error * weight).sum(axis=(1, 2)))
    return _SHARES[best_share(total)]


@timed("classes")
def _fit(rows: FitRows, settings: FitSettings, *, before_tail: bool = False) -> ClassFit:
    classifier: Any = settings.regressor
    if isinstance(classifier, str):
        classifier = default_classifier()
    sizes = rows.sizes
    return fit_classes(
        rows.timeline,
        Columns(sizes.n_targets, sizes.n_past, sizes.n_known, sizes.n_static, sizes.pred_len),
        _class_head(settings).groups,
        missing=rows.missing,
        stop=rows.tail if before_tail else None,
        classifier=classifier,
        random_state=rows.seed,
    )


def _class_head(settings: FitSettings) -> ClassHead:
    if not isinstance(settings.head, ClassHead):
        raise TypeError("classes have a head of classes")
    return settings.head


@dataclass(frozen=True)
class ClassForecaster:
    """Forecast windows of classes.

    series: that of each track.
    module: the network.
    head: which columns are one target's.
    """

    judged: JudgedClasses
    sizes: ModelSizes
    series: IntArray
    clock: Clock
    module: ModuleForecaster
    head: ClassHead

    def __call__(self, rows: Rows, origins: IntArray) -> Float32Array:
        """Forecast logits, (n, pred_len, n_columns), of windows; whoever has no share is not asked.

        rows: consecutive rows of every track.
        origins: the row of each window's first step.
        """
        fit, track = self.judged.fit, rows.track[origins]
        each = np.empty(0)
        if fit is not None and self.judged.trust < 1:
            series, steps = self.series[track], rows.steps[origins]
            begin = rows.begin[track]
            each = fit.forecast(rows.values, begin, series, origins, steps, self.clock)
        shape = (len(origins), self.sizes.pred_len, self.sizes.n_targets)
        network = np.zeros(shape, dtype=np.float32)
        if self.judged.trust:
            network = self.module(rows, origins, None)
        return self.judged.logits(each, network, self.head).astype(np.float32)
