"""The truth that a fitted estimator keeps, in the units and under the labels it came with."""

from __future__ import annotations

import numpy as np
import pandas as pd

from skinformer.estimators.state import FittedState
from skinformer.timeline.clock import join_series
from skinformer.validation.arguments import check_fitted


def stored_truth(model: FittedState) -> pd.DataFrame:
    """Give the targets of all rows that `fit` and `update` saw: (n_rows, n_targets).

    They are in the truth's units, series after series; NaN where one was missing. Rounded to single
    precision, in which rows are kept.
    """
    check_fitted(model)
    timeline, k = model.timeline_, model.sizes_.n_targets
    series = timeline.series
    values = model.scaler_.restored(timeline.values[:, :k], series)
    if timeline.weight is not None:
        values[timeline.weight == 0] = np.nan
    labels = join_series(model.series_, series, timeline.clock.labels(timeline.steps))
    return pd.DataFrame(values, index=labels, columns=model.roles_.target_labels)
