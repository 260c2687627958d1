"""Who judges what a fit has found: forecasters of numbers by errors, of classes by log loss."""

from __future__ import annotations

from skinformer.ensemble import classes, joining
from skinformer.ensemble.classes import ClassChallenger
from skinformer.ensemble.fitting import FitBatches, FitRows
from skinformer.ensemble.head import ClassHead
from skinformer.ensemble.joining import Judged
from skinformer.ensemble.settings import FitSettings
from skinformer.ensemble.tabular import Challenger
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
        return classes.challenge(rows, settings)
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
        return classes.join_classes(module, batches, rows, settings, fit)
    return joining.join(module, final, batches, rows, settings, challenger)
