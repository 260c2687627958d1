"""Who judges what a fit has found: forecasters of numbers by errors, of classes by log loss."""

from __future__ import annotations

from skinformer.estimators import class_path, joining
from skinformer.estimators.class_path import ClassChallenger
from skinformer.estimators.fitting import FitBatches, FitRows
from skinformer.estimators.head import ClassHead
from skinformer.estimators.joining import Judged
from skinformer.estimators.settings import FitSettings
from skinformer.estimators.tabular_path import Challenger
from skinformer.model.corrected import Corrected
from skinformer.model.informer import Informer
from skinformer.ridge.linear_fit import LinearFit

__all__ = ["find_challenger", "join"]


def find_challenger(
    module: Informer | Corrected, batches: FitBatches, rows: FitRows, settings: FitSettings
) -> Challenger | ClassChallenger | None:
    """Fit what forecasts beside the network, before training.

    By its share the network's training is eased; None where nobody is fitted yet.
    """
    if isinstance(settings.head, ClassHead):
        return class_path.challenge(rows, settings)
    return joining.find_challenger(module, batches, rows, settings)


def join(
    module: Informer | Corrected,
    final: LinearFit | None,
    batches: FitBatches,
    rows: FitRows,
    settings: FitSettings,
    challenger: Challenger | ClassChallenger | None = None,
) -> Judged:
    """Let everything that was fitted before the validation tail forecast it, and choose shares.

    module: in evaluation mode, with trust 1.
    final: the ridges, fitted again; None without them.
    challenger: from `find_challenger`.
    """
    if isinstance(challenger, ClassChallenger) or isinstance(settings.head, ClassHead):
        fit = challenger.fit if isinstance(challenger, ClassChallenger) else None
        return class_path.join_classes(module, batches, rows, settings, fit)
    return joining.join(module, final, batches, rows, settings, challenger)
