"""The size of errors, by step ahead and by what is known at the origin.

The log of the mean absolute error is a number for each step ahead, plus slopes times features known
at the origin (volatility, level, distance of outputs), plus a profile by phase of the season. It is
fitted by the likelihood of Laplace's law, which is convex.
"""

from dataclasses import dataclass, replace

import numpy as np

from skinformer.selection import shrinkage
from skinformer.timeline.arrays import BoolArray, Float64Array, IntArray

#: Windows that stand for slopes of 0, for no profile, and for a smooth curve through all steps.
_PRIOR = 20.0


@dataclass(frozen=True)
class Spread:
    """Sizes of errors.

    typical: (pred_len, n_targets), logs of mean absolute errors by step ahead.
    centre, slope: (n_targets, n_features), mean of each feature, and its effect.
    profile: (season, n_targets), the effect of the phase of the longest season.
    """

    typical: Float64Array
    centre: Float64Array
    slope: Float64Array
    profile: Float64Array

    def log_size(self, features: Float64Array, steps: IntArray) -> Float64Array:
        """Return what is added to `typical` for errors to come: (n, n_steps, n_targets).

        features: (n, n_steps, n_targets, n_features), what is known at the origin; NaN counts as
        the mean.
        steps: (n, n_steps), on the clock.
        """
        centred = np.nan_to_num(features - self.centre)
        by_features = np.einsum("nhkf,kf->nhk", centred, self.slope)
        phase = steps % len(self.profile)
        return by_features + self.profile[phase]

    def relative(self, errors: Float64Array, log_size: Float64Array) -> Float64Array:
        """Divide errors, (n, pred_len, n_targets), by their sizes; `log_size` is that of them."""
        return errors * np.exp(-self.typical - log_size)


@np.errstate(invalid="ignore")
def mean_of_known(values: Float64Array, axis: int | tuple[int, ...]) -> Float64Array:
    """Average values along axes; NaN are left out, and all that is given where all are.

    >>> mean_of_known(np.array([[1.0, np.nan], [2.0, np.nan]]), axis=0)
    array([1.5, nan])
    """
    count = (~np.isnan(values)).sum(axis=axis)
    total: Float64Array = np.nansum(values, axis=axis)
    return total / count


def mean_size(errors: Float64Array, axis: int | tuple[int, ...]) -> Float64Array:
    """Average absolute errors along axes, as `mean_of_known` does."""
    return mean_of_known(np.abs(errors), axis)


def typical_sizes(errors: Float64Array, n_windows: float) -> Float64Array:
    """Compute logs of the mean absolute error of each step ahead: (pred_len, n_targets).

    They are shrunk to a smooth curve as far as windows are few.

    errors: (n, pred_len, n_targets); NaN is unknown.
    n_windows: how many independent forecasts they amount to.
    >>> errors = np.array([[[1.0], [np.nan], [4.0]]])
    >>> np.exp(typical_sizes(errors, 1e9))[[0, 2], 0].round(6)
    array([1., 4.])
    """
    mean = np.nan_to_num(mean_size(errors, axis=0))
    least = 1e-6 * mean.max(initial=0.0) or 1e-12
    known = mean > least
    logs = np.log(np.maximum(mean, least))
    smooth = logs.copy()
    for j in np.flatnonzero(known.any(axis=0)):
        smooth[:, j] = _smooth_curve(logs[:, j], known[:, j])
    weight = np.where(known, shrinkage(n_windows, _PRIOR), 0.0)
    return weight * logs + (1 - weight) * smooth


def _smooth_curve(logs: Float64Array, known: BoolArray) -> Float64Array:
    """Fit a parabola in the log of the step to the known sizes of one target: (pred_len,).

    Behind the last known step sizes grow as those of a random walk do.
    """
    log_step = np.log(np.arange(1, len(logs) + 1.0))
    powers = np.stack([np.ones_like(log_step), log_step, log_step**2], axis=1)
    terms = powers[:, : known.sum()]
    observed = logs[known]
    coefficients = np.linalg.lstsq(terms[known], observed, rcond=None)[0]
    smooth = np.clip(terms @ coefficients, observed.min(), observed.max())
    last_known = log_step[known].max()
    behind = np.maximum(log_step - last_known, 0.0)
    return smooth + behind / 2


def fit_spread(
    errors: Float64Array,
    features: Float64Array,
    steps: IntArray,
    *,
    seasons: tuple[int, ...],
    n_windows: float,
) -> Spread:
    """Regress sizes of errors on features known at the origins and on the phases of seasons.

    errors: (n, pred_len, n_targets); NaN is unknown.
    features: (n, pred_len, n_targets, n_features), as logs of sizes.
    steps: (n, pred_len), on the clock.
    seasons: rows of each season, each a multiple of the one before; there may be none. An hour of
    the week is shrunk to what is usual at that hour of the day.
    n_windows: how many independent forecasts the windows amount to.

    Slopes lie in [0, 1]: what is wilder, or larger, is not forecast better.
    """
    n, pred_len, n_targets = errors.shape
    prior = n / n_windows * _PRIOR
    centre = np.nan_to_num(mean_of_known(features, axis=(0, 1)))
    slope = np.zeros_like(centre)
    profile = np.zeros((max(seasons, default=1), n_targets))
    centred = np.nan_to_num(features - centre)
    for j in range(n_targets):
        slope[j], profile[:, j] = _fit_target(
            errors[:, :, j], centred[:, :, j], steps, seasons, prior
        )
    spread = Spread(np.zeros((pred_len, n_targets)), centre, slope, profile)
    relative = spread.relative(errors, spread.log_size(features, steps))
    return replace(spread, typical=typical_sizes(relative, n_windows))


def _fit_target(
    errors: Float64Array,
    x: Float64Array,
    steps: IntArray,
    seasons: tuple[int, ...],
    prior: float,
) -> tuple[Float64Array, Float64Array]:
    """Fit slopes and profile of one target in turn, as backfitting does.

    errors, steps: (n, pred_len).
    x: (n, pred_len, n_features), centred.
    prior: windows that stand for no effect.
    """
    n_rounds = 6
    n_steps = 8  # slopes are fitted at so many: those of the steps between are alike
    last = errors.shape[1] - 1
    chosen = np.unique(np.linspace(0, last, n_steps).astype(int))
    known = ~np.isnan(errors)
    sizes = np.abs(np.nan_to_num(errors))
    slope = np.zeros(x.shape[2])
    for _ in range(n_rounds):
        without_slopes = sizes * np.exp(-(x @ slope))
        relative = _relative_to_step(without_slopes, known)
        profile, relative = _fit_profile(relative, known, steps, seasons, prior)
        slope = _update_slopes(
            relative[:, chosen], known[:, chosen], x[:, chosen], slope, prior
        )
    return slope, profile


def _relative_to_step(sizes: Float64Array, known: BoolArray) -> Float64Array:
    """Divide sizes by the mean ones of their steps."""
    count = np.maximum(known.sum(axis=0), 1)
    mean = sizes.sum(axis=0) / count
    return sizes / np.where(mean > 0, mean, 1.0)


def _fit_profile(
    relative: Float64Array,
    known: BoolArray,
    steps: IntArray,
    seasons: tuple[int, ...],
    prior: float,
) -> tuple[Float64Array, Float64Array]:
    """Fit the effects of phases, the shortest season first; return them, and sizes without them."""
    profile = np.zeros(max(seasons, default=1))
    for season in seasons:
        if season > seasons[0] and known.sum() < prior * season:
            break  # phases that are seen so seldom are mostly noise
        phase = steps % season
        # The mean size at each phase, shrunk to the usual one.
        total = np.bincount(phase[known], relative[known], minlength=season)
        count = np.bincount(phase[known], minlength=season)
        effect = np.log((total + prior + 1) / (count + prior + 1))
        profile += np.resize(effect, len(profile))
        without_effect = relative * np.exp(-effect[phase])
        relative = _relative_to_step(without_effect, known)
    return profile, relative


def _update_slopes(
    relative: Float64Array,
    known: BoolArray,
    x: Float64Array,
    slope: Float64Array,
    prior: float,
) -> Float64Array:
    """Take one Newton step of each slope in turn, shrunk to 0."""
    n_steps = relative.shape[1]
    penalty = prior * n_steps
    updated = slope.copy()
    for f, old in enumerate(slope):
        feature = x[..., f]
        gradient = ((relative - known) * feature).sum() - penalty * old
        curvature = (relative * feature**2).sum() + penalty
        change = np.clip(gradient / curvature, -0.5, 0.5)
        new = np.clip(old + change, 0.0, 1.0)
        updated[f] = new
        relative = relative * np.exp(-feature * (new - old))
    return updated
