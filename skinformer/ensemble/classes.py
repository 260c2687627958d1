"""What forecasts classes beside the network: weighed on the validation split, and calibrated."""

from dataclasses import dataclass, replace
from typing import Any, cast

import numpy as np
import torch

from skinformer.classes.blend import TEMPERATURES, mixture_weights, temperature_losses
from skinformer.classes.fit import ClassFit, default_classifier, fit_classes
from skinformer.ensemble.ensemble import Ensemble
from skinformer.ensemble.fitting import FitRows
from skinformer.ensemble.head import ClassHead
from skinformer.ensemble.member import NETWORK, Member
from skinformer.ensemble.settings import FitSettings
from skinformer.ensemble.tabular import columns_of
from skinformer.ensemble.weighing import truths_of
from skinformer.ensemble.windows import Windows
from skinformer.selection import best_share, cut_stretches, stretch_sums
from skinformer.stopwatch import timed
from skinformer.timeline.arrays import Float32Array, Float64Array, IntArray
from skinformer.timeline.windows import window_rows

#: Values that are forecast to weigh.
_MOST_VALUES = 40_000
#: Weights of the network in the logits that compete.
_SHARES = (0.0, 0.25, 0.5, 0.75, 1.0)


@dataclass(frozen=True)
class Classes(Member):
    """Forecasters of classes, mixed by probability: frequencies, transitions, and fitted ones.

    weights: (pred_len, n_forecasters), at each step ahead.
    """

    fit: ClassFit
    weights: Float64Array

    name = "classes"

    @property
    def look_back(self) -> int:
        """Rows before an origin that are read beside a window's own."""
        return self.fit.look_back

    @property
    def blend(self) -> dict[str, float]:
        """Mean weights of the forecasters."""
        means = self.weights.mean(axis=0)
        return {n: round(float(w), 4) for n, w in zip(self.fit.names, means, strict=True)}

    def forecast(self, at: Windows, base: Float32Array | None = None) -> Float32Array:  # noqa: ARG002
        """Forecast logs of probabilities of the classes, (n, pred_len, n_columns)."""
        return self.logs(self.each(at)).astype(np.float32)

    def logs(self, each: Float64Array) -> Float64Array:
        """Mix probabilities of all forecasters, (n_forecasters, n, pred_len, n_columns)."""
        mixed: Float64Array = np.einsum("snpc,ps->npc", each, self.weights)
        return np.log(mixed)

    def each(self, at: Windows) -> Float64Array:
        """Return the probabilities of each forecaster."""
        place = at.begin, at.series, at.origins, at.steps
        return self.fit.forecast(at.values, *place, at.canvas.clock)


@timed("classes")
def fit_class_base(rows: FitRows, settings: FitSettings, *, before_split: bool) -> ClassFit:
    """Fit all that forecasts classes without the network."""
    classifier: Any = settings.regressor
    return fit_classes(
        rows.timeline,
        columns_of(rows.sizes),
        settings.head.groups,
        missing=rows.missing,
        stop=rows.split if before_split else None,
        classifier=default_classifier() if isinstance(classifier, str) else classifier,
        random_state=rows.seed,
    )


def weigh_classes(
    network: Member,
    logits: Float32Array | None,
    fit: ClassFit | None,
    at: Windows | None,
    rows: FitRows,
    settings: FitSettings,
) -> Ensemble:
    """Let everything that was fitted before the validation split forecast it, and weigh all.

    logits: of the network, for the windows.
    fit: without the split; None for the network alone.
    at: windows of the split, see `held_out_origins`; None without one.

    There are mixture weights by step ahead, the network's share by stretches of the split, and a
    temperature. Without a split nothing is known of anybody: all but the network count as they do
    before, and it has no say unless it is alone.
    """
    sizes = {"n_series": rows.timeline.n_series, "n_targets": rows.sizes.n_targets}
    if at is None and settings.class_base:
        final = fit_class_base(rows, settings, before_split=False)
        base = Classes(final, np.tile(final.believed, (settings.pred_len, 1)))
        return Ensemble.of([base, network], {base.name: 1.0}, **sizes)
    alone = Ensemble.of([network], {NETWORK: 1.0}, **sizes)
    if at is None or logits is None:
        return alone
    head, pred_len = cast(ClassHead, settings.head), settings.pred_len
    truth, weight = (part.astype(np.float64) for part in truths_of(rows, at.origins))
    stretches = cut_stretches(at.steps, pred_len)
    found, ensemble = logits.astype(np.float64), alone
    if fit is not None:
        each = Classes(fit, np.empty((0, 0))).each(at)
        n_truths = float(np.unique(window_rows(at.origins, pred_len)).size * (weight > 0).mean())
        base = Classes(fit, _mixture(fit, each, truth, weight, n_truths, head))
        shares = _SHARES if settings.train_network else _SHARES[:1]
        mixed = [(1 - share) * base.logs(each) + share * found for share in shares]
        place = 0 if stretches is None else _surest(mixed, truth, weight, stretches, head)
        share, found = _SHARES[place], mixed[place]
        if settings.early_stopping is not True:
            base = replace(base, fit=fit_class_base(rows, settings, before_split=False))
        weights = {base.name: 1 - share, NETWORK: share}
        ensemble = Ensemble.of([base, network], weights, **sizes)
    if stretches is None:
        return ensemble
    losses = temperature_losses(found, truth, weight, head.groups)
    best = best_share(stretch_sums(losses, stretches))
    # Half of the way: how sure one time may be, another may not.
    return replace(ensemble, temperature=float(np.sqrt(TEMPERATURES[best])))


def held_out_origins(rows: FitRows) -> IntArray:
    """Choose windows to weigh by."""
    return rows.held_out.thinned(max(_MOST_VALUES // rows.sizes.pred_len, 32))


def _mixture(
    fit: ClassFit,
    each: Float64Array,
    truth: Float64Array,
    weight: Float64Array,
    n_truths: float,
    head: ClassHead,
) -> Float64Array:
    """Weigh the forecasters by the probability of what came: (pred_len, n_forecasters)."""
    came = [(each[..., g] * truth[..., g]).sum(axis=-1) for g in head.groups]
    own = np.concatenate(came, axis=1)  # targets are as good as more windows
    of_truths = np.concatenate([weight[..., g.start] for g in head.groups])
    own[:, of_truths == 0] = 1.0  # what came is not known
    return mixture_weights(own, of_truths, n_truths, fit.believed)


def _surest(
    mixed: list[Float64Array],
    truth: Float64Array,
    weight: Float64Array,
    stretches: IntArray,
    head: ClassHead,
) -> int:
    """Choose the logits that help on all stretches of the split."""
    plain, came = replace(head, label_smoothing=0.0, z_loss=0.0), torch.from_numpy(truth)
    errors = (plain.error(torch.from_numpy(logits), came).numpy() for logits in mixed)
    losses = np.stack([(error * weight).sum(axis=(1, 2)) for error in errors], axis=1)
    return best_share(stretch_sums(losses, stretches))
