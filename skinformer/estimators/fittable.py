"""What a fit asks of an estimator: what its outputs mean, and how it reads truths."""

from __future__ import annotations

from typing import Any

from skinformer.ensemble.head import Head
from skinformer.estimators.bases import BaseEstimator, CallbackSupportMixin
from skinformer.estimators.state import FittedState
from skinformer.reading.labels import NumberReader


class FittableInformer(CallbackSupportMixin, BaseEstimator, FittedState):
    """An estimator of scikit-learn on which a fit leaves its state."""

    def _make_head(self) -> Head:
        """Describe what the outputs of the network mean."""
        raise NotImplementedError

    def _make_reader(self, X: Any, y: Any) -> NumberReader:  # noqa: ARG002
        """Describe how truths are read."""
        return NumberReader()
