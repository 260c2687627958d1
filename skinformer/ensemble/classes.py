"""What forecasts classes beside the network."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from skinformer.classes.fit import ClassFit, default_classifier, fit_classes
from skinformer.ensemble.fitting import FitRows
from skinformer.ensemble.member import Member
from skinformer.ensemble.names import TREES
from skinformer.ensemble.settings import FitSettings
from skinformer.ensemble.tabular import columns_of
from skinformer.ensemble.windows import Windows
from skinformer.stopwatch import timed
from skinformer.timeline.arrays import Float32Array, Float64Array


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
        return dict(zip(self.fit.names, means.round(4).tolist(), strict=True))

    def forecast(
        self,
        windows: Windows,
        base: Float32Array | None = None,  # noqa: ARG002
    ) -> Float32Array:
        """Forecast logs of probabilities of the classes, (n, pred_len, n_columns)."""
        return self.logs(probabilities_of(self.fit, windows)).astype(np.float32)

    def logs(self, proba: Float64Array) -> Float64Array:
        """Mix probabilities of all forecasters, (n_forecasters, n, pred_len, n_columns)."""
        mixed: Float64Array = np.einsum("snpc,ps->npc", proba, self.weights)
        return np.log(mixed)


def probabilities_of(fit: ClassFit, windows: Windows) -> Float64Array:
    """Return the probabilities of each forecaster, (n_forecasters, n, pred_len, n_columns)."""
    return fit.forecast(
        windows.values,
        windows.begin,
        windows.series,
        windows.origins,
        windows.steps,
        windows.buffer.clock,
    )


@timed("classes")
def fit_class_base(rows: FitRows, settings: FitSettings) -> ClassFit:
    """Fit all that forecasts classes without the network."""
    classifier = settings.members.get(TREES)
    if isinstance(classifier, str):
        classifier = default_classifier()
    return fit_classes(
        rows.timeline,
        columns_of(rows.sizes),
        settings.head.groups,
        missing=rows.missing,
        classifier=classifier,
        random_state=rows.seed,
    )
