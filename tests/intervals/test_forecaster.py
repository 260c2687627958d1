"""Errors of windows, put around forecasts."""

from types import SimpleNamespace

import numpy as np

from skinformer.intervals.forecaster import Intervals
from skinformer.intervals.residuals import Residuals
from skinformer.intervals.spread import Spread


def test_paths_keep_the_errors_of_one_window_together():
    """Sums over a day need the dependence between its steps."""
    errors = np.arange(12, dtype=np.float32).reshape(2, 3, 2)
    nothing = np.zeros((3, 2))
    found = Intervals(
        Spread(nothing, nothing[0, :, None], nothing[0, :, None], nothing[:1]),
        Residuals(errors, 2.0),
        quiet=nothing[0],
        far=nothing[:0],
        growth=nothing[0],
        optimism=nothing[0] + 1,
        distance=3,
        fitted_until=np.zeros(1, dtype=np.int64),
    )
    outputs = np.zeros((3, 2, 3))
    outputs[..., 0], outputs[..., 2] = 100.0, np.arange(3)[:, None]
    units = SimpleNamespace(restored=lambda values, _: values)
    windows = np.array([[1, 1, 1], [0, 0, 1]])
    paths = found.paths(outputs, windows, units, np.zeros(3, dtype=np.int64))
    np.testing.assert_array_equal(paths[..., 0], 100 + errors[1])
    np.testing.assert_array_equal(paths[:2, :, 1], 100 + errors[0, :2])
    np.testing.assert_array_equal(paths[2, :, 1], 100 + errors[1, 2])
