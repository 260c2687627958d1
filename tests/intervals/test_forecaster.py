"""Errors of windows, put around forecasts."""

from types import SimpleNamespace

import numpy as np
import pytest

from skinformer.ensemble.head import PointHead
from skinformer.intervals.forecaster import Intervals
from skinformer.intervals.residuals import Residuals
from skinformer.intervals.spread import Spread


def intervals(errors):
    """Return errors of one series, as large as they are."""
    nothing, each = np.zeros(errors.shape[1:]), np.arange(len(errors))
    return Intervals(
        Spread(nothing, nothing[0, :, None], nothing[0, :, None], nothing[:1]),
        Residuals(
            errors, float(len(errors)), 0 * each, each, errors, nothing[0], nothing[0]
        ),
        quiet=nothing[0],
        far=None,
        growth=nothing[0],
        optimism=nothing[0] + 1,
        distance=3,
        fitted_until=np.zeros(1, dtype=np.int64),
    )


class Counts:
    """Units of counts: none lies below zero."""

    scale = np.ones((1, 1))
    targets = SimpleNamespace(floor=np.zeros((1, 1)), logs=np.zeros((1, 1), dtype=bool))

    def inverse_with_smearing(self, values, _):
        """Return values as they are, but for the floor."""
        return np.maximum(values.astype(np.float64), 0.0)

    inverse_without_smearing = inverse_with_smearing


@pytest.mark.parametrize("point", [100.0, 3.0])
@pytest.mark.parametrize("loss", ["mse", "mae"])
def test_the_mean_of_paths_is_a_forecast_that_is_a_mean(point, loss):
    """Whoever adds up paths must not order more than who adds up forecasts."""
    errors = (
        np.random.default_rng(0).exponential(size=(500, 2, 1)).astype(np.float32) ** 2
    )
    outputs = np.zeros((2, 1, 3))
    outputs[..., 0], outputs[:, 0, 2] = point, [0, 1]
    levels = np.broadcast_to(
        (np.arange(1000) + 0.5)[:, None, None] / 1000, (2, 1000, 2, 1)
    )
    paths = intervals(errors).paths(
        PointHead(loss), outputs, levels, Counts(), np.zeros(2, dtype=np.int64)
    )
    assert (paths >= 0).all()
    if loss == "mse":
        np.testing.assert_allclose(paths.mean(axis=2), point, rtol=0.01)
    else:  # the quantiles of the rows
        assert (paths.mean(axis=2) > point + 1).all()


class Logs(Counts):
    """Units of amounts whose logarithms are forecast."""

    targets = SimpleNamespace(floor=np.zeros((1, 1)), logs=np.ones((1, 1), dtype=bool))

    def inverse_with_smearing(self, values, _):
        """Return exponentials."""
        return np.exp(values.astype(np.float64))

    inverse_without_smearing = inverse_with_smearing


def test_paths_of_logarithms_stay_in_this_world():
    """Errors of a product that began to be sold made millions of another's dozens."""
    errors = np.array([-1.0, 0.0, 1.0, 700.0], dtype=np.float32).reshape(4, 1, 1) * 3
    outputs, levels = np.zeros((1, 1, 3)), np.full((1, 1, 1, 1), 0.99)
    found = intervals(errors).paths(
        PointHead("mae"), outputs, levels, Logs(), np.zeros(1, int)
    )
    assert found.item() == pytest.approx(np.exp(3))
