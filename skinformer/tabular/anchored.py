"""From what level, and in what unit, a regressor sees the past of a target.

Trees forecast no value that they have not seen. Distances from a level go where the level goes. But
where nights are almost empty, a street that loses half of its crowd does not lose the same at every
hour: it has half of it at each. Multiples of what is usual go there, too.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from skinformer.tabular.features import LEVEL
from skinformer.timeline.arrays import Float64Array


class Sight(NamedTuple):
    """How a regressor sees pairs.

    anchor: number of the feature that is the level from which it learns distances; None for the
    training mean, which is 0.
    n_relative: number of first features that are seen as distances from the level, too.
    unit: number of the feature whose size is the unit of these distances, where targets have a
    zero, see `find_zeros`; None for standard deviations. Such targets have no level but their zero
    where there is no anchor.
    """

    anchor: int | None = None
    n_relative: int = 0
    unit: int | None = None

    def levels(self, features: Float64Array, zero: Float64Array) -> Float64Array:
        """Return the level of each pair, (n,); the training mean where nothing is known.

        zero: standardised, that of the target of each pair, (n,); NaN where it has none.
        """
        if self.anchor is not None:
            level = features[:, self.anchor]
            level = np.where(np.isnan(level), features[:, 0], level)
            return np.nan_to_num(level, copy=False)
        if self.unit is not None:
            return np.nan_to_num(zero)
        return np.zeros(len(features))

    def units(self, features: Float64Array, zero: Float64Array) -> Float64Array:
        """Return the unit of each pair, (n,): its recent size; 1 where there is no zero."""
        if self.unit is None:
            return np.ones(len(features))
        recent = features[:, self.unit] - zero
        usual = features[:, LEVEL] - zero
        # A week that is all but empty, or unknown, does not say that nothing comes any more.
        least = np.fmax(usual / 4, -zero / 20)
        return np.where(np.isnan(zero), 1.0, np.fmax(recent, least))

    def seen(
        self, features: Float64Array, level: Float64Array, unit: Float64Array
    ) -> Float64Array:
        """Return the features of pairs as they are seen."""
        if not self.n_relative:
            return features
        relative = features.copy()
        own = relative[:, : self.n_relative]
        own -= level[:, None]
        own /= unit[:, None]
        return relative


class Anchored(NamedTuple):
    """A fitted regressor, and how it sees pairs."""

    sight: Sight
    regressor: Any

    def predict(self, features: Float64Array, zero: Float64Array) -> Float64Array:
        """Forecast pairs, (n,), standardised."""
        level = self.sight.levels(features, zero)
        unit = self.sight.units(features, zero)
        seen = self.sight.seen(features, level, unit)
        return level + unit * self.regressor.predict(seen)


def find_zeros(y: Float64Array, zero: Float64Array) -> Float64Array:
    """Return zeros of targets that multiply, (n_targets,), standardised; NaN for others.

    y: (n, n_targets), standardised truths, NaN where one is missing.
    zero: (n_targets,), the zero of their units.

    They are never negative, and often almost nothing: what is added to all hours alike would make
    these negative when the level falls.

    >>> find_zeros(np.array([[-1.0, -1.0], [1.0, 1.0]]), np.array([-1.0, -9.0]))
    array([-1., nan])
    """
    least = np.nanmin(y, axis=0)
    often = np.nanquantile(y, 0.05, axis=0)
    rounding = 1e-6 * (1 + np.abs(zero))
    is_size = (zero < 0) & (least > zero - rounding)
    multiplies = is_size & (often - zero < -zero / 4)
    return np.where(multiplies, zero, np.nan)
