"""Weigh forecasters of classes on the validation split, and calibrate their probabilities."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from skinformer.budget import current_budget
from skinformer.classes.blend import TEMPERATURES, log_losses, mixture_weights
from skinformer.classes.fit import ClassFit
from skinformer.ensemble.classes import Classes, fit_class_base, probabilities_of
from skinformer.ensemble.fitting import FitRows
from skinformer.ensemble.member import Member
from skinformer.ensemble.names import NETWORK
from skinformer.ensemble.settings import FitSettings
from skinformer.ensemble.windows import Windows
from skinformer.judging.proof import predict_points, truths_of
from skinformer.selection import minimax_share, stretch_sums, time_stretches
from skinformer.timeline.arrays import Float64Array
from skinformer.timeline.windows import window_rows


def weigh_classes(
    network: Member,
    fit: ClassFit | None,
    windows: Windows,
    rows: FitRows,
    settings: FitSettings,
) -> tuple[Classes | None, float, float]:
    """Weigh the network and all other forecasters of classes by the validation split.

    fit: before the split; None for the network alone.
    windows: of the split; none without one.

    Returns the mixture of all others, the network's share beside it, found by stretches of the
    split, and a temperature. Without a split the mixture has its prior weights, and the network
    none unless it is alone.
    """
    if not len(windows):
        return _without_validation(rows, settings)
    validation = _Validation(windows, rows, settings)
    logits = predict_points(network, windows, settings.head).astype(np.float64)
    if fit is None:
        return None, 1.0, validation.temperature(logits)
    # 1. Mix all forecasters but the network.
    proba = probabilities_of(fit, windows)
    base = Classes(fit, validation.mixture_weights(fit, proba))
    # 2. Mix their logits with the network's.
    base_logits = base.logs(proba)
    share = 0.0
    if NETWORK in settings.members:
        share = validation.network_share(base_logits, logits)
    mixed = (1 - share) * base_logits + share * logits
    temperature = validation.temperature(mixed)
    # 3. Fit the former to all rows.
    budget = current_budget()
    if settings.refits_on_all and budget.affords_again(Classes.name):
        with budget.again(Classes.name):
            base = replace(base, fit=fit_class_base(rows, settings))
    return base, share, temperature


def _without_validation(
    rows: FitRows, settings: FitSettings
) -> tuple[Classes | None, float, float]:
    """Mix all forecasters but the network by their prior weights; the network if it is alone."""
    if Classes.name not in settings.members:
        return None, 1.0, 1.0
    fit = fit_class_base(rows, settings)
    return Classes(fit, np.tile(fit.prior_weights, (settings.pred_len, 1))), 0.0, 1.0


class _Validation:
    """Windows of the validation split that candidates are compared on."""

    def __init__(self, windows: Windows, rows: FitRows, settings: FitSettings) -> None:
        pred_len = settings.pred_len
        y, weight = truths_of(rows, windows.origins)
        self.y = y.astype(np.float64)
        self.weight = weight.astype(np.float64)
        # Different ones: windows overlap.
        n_rows = np.unique(window_rows(windows.origins, pred_len)).size
        self.n_truths = n_rows * (weight > 0).mean()
        self.stretches = time_stretches(windows.steps, pred_len)
        self.groups = settings.head.groups

    def mixture_weights(self, fit: ClassFit, proba: Float64Array) -> Float64Array:
        """Weigh forecasters by the probability of what came, (pred_len, n_forecasters).

        proba: of each forecaster, (n_forecasters, n, pred_len, n_columns).
        """
        likelihoods = []
        weights = []
        for group in self.groups:
            likelihoods.append((proba[..., group] * self.y[..., group]).sum(axis=-1))
            weights.append(self.weight[..., group.start])
        # Targets are as good as more windows.
        likelihood = np.concatenate(likelihoods, axis=1)
        weight = np.concatenate(weights)
        likelihood[:, weight == 0] = 1.0  # what came is not known
        return mixture_weights(likelihood, weight, self.n_truths, fit.prior_weights)

    def best(self, candidates: list[Float64Array]) -> int:
        """Choose the logits that help in all stretches; 0, the first ones, where there are none."""
        if self.stretches is None:
            return 0
        losses = [
            log_losses(logits, self.y, self.weight, self.groups)
            for logits in candidates
        ]
        of_windows = np.stack(losses, axis=1)
        return minimax_share(stretch_sums(of_windows, self.stretches))

    def network_share(self, base_logits: Float64Array, logits: Float64Array) -> float:
        """Choose the share of the network's logits beside those of all others."""
        shares = (0.0, 0.25, 0.5, 0.75, 1.0)
        candidates = [(1 - share) * base_logits + share * logits for share in shares]
        return shares[self.best(candidates)]

    def temperature(self, logits: Float64Array) -> float:
        """Choose what logits are divided by, half of the way: all times are not as sure alike."""
        candidates = [logits / temperature for temperature in TEMPERATURES]
        return float(np.sqrt(TEMPERATURES[self.best(candidates)]))
