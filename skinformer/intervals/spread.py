"""The size of errors, by step ahead and by what is known at the origin.

The log of the mean absolute error is a number for each step ahead, plus slopes times what is known
(volatility, level, errors of the forecasts before), plus a profile by phase of the season. It is
fitted by the likelihood of Laplace's law, which is convex.
"""

from dataclasses import dataclass

import numpy as np

from skinformer.selection import shrinkage
from skinformer.timeline.arrays import BoolArray, Float64Array, IntArray

#: Steps by which slopes are fitted: those between them tell the same.
_N_STEPS = 8
#: Windows that stand for slopes of 0, for no profile, and for a smooth curve through all steps.
_PRIOR = 20.0
_ROUNDS = 6


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
        apart = np.nan_to_num(features - self.centre)
        known = np.einsum("nhkf,kf->nhk", apart, self.slope)
        return np.asarray(known + self.profile[steps % len(self.profile)])


def mean_of_known(values: Float64Array, axis: int | tuple[int, ...]) -> Float64Array:
    """Average values along axes; NaN are left out, and all that is given where all are.

    >>> mean_of_known(np.array([[1.0, np.nan], [2.0, np.nan]]), axis=0)
    array([1.5, nan])
    """
    known = ~np.isnan(values)
    count, total = known.sum(axis=axis), np.where(known, values, 0.0).sum(axis=axis)
    return np.asarray(np.divide(total, count, out=np.full_like(total, np.nan), where=count > 0))


def typical_sizes(errors: Float64Array, n_windows: float) -> Float64Array:
    """Find the mean absolute error of each step ahead, smoothed as far as windows are few.

    Errors have shape (n, pred_len, n_targets), NaN is unknown; `n_windows` says how many
    independent forecasts they amount to. Results are logs, (pred_len, n_targets); by a parabola in
    the log of the step where nothing is known.
    >>> errors = np.array([[[1.0], [np.nan], [4.0]]])
    >>> np.exp(typical_sizes(errors, 1e9))[[0, 2], 0].round(6)
    array([1., 4.])
    """
    mean = np.nan_to_num(mean_of_known(np.abs(errors), axis=0))
    least = 1e-6 * mean.max(initial=0.0) or 1e-12
    some = mean > least
    logs = np.log(np.maximum(mean, least))
    curve = np.log(np.arange(1, len(mean) + 1.0))
    terms = np.stack([np.ones_like(curve), curve, curve**2], axis=1)
    out: Float64Array = np.empty_like(logs)
    for j in range(logs.shape[1]):
        rows = some[:, j]
        n_terms = int(min(3, rows.sum()))
        if not n_terms:
            out[:, j] = np.log(least)
            continue
        part = terms[:, :n_terms]
        smooth = part @ np.linalg.lstsq(part[rows], logs[rows, j], rcond=None)[0]
        low, high = logs[rows, j].min(), logs[rows, j].max()
        smooth = np.clip(smooth, low, high)
        # Behind the last step that was ever judged they grow as those of a random walk do.
        smooth += np.maximum(curve - curve[rows][-1], 0.0) / 2
        share = np.where(rows, shrinkage(n_windows, _PRIOR), 0.0)
        out[:, j] = share * logs[:, j] + (1 - share) * smooth
    return out


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
    n, pred_len, k = errors.shape
    typical = np.empty((pred_len, k))
    centre = np.nan_to_num(mean_of_known(features, axis=(0, 1)))
    slope, profile = np.zeros_like(centre), np.zeros((max(seasons, default=1), k))
    chosen = np.unique(np.linspace(0, pred_len - 1, _N_STEPS).astype(int))
    phase, overlap = steps % len(profile), n / n_windows
    prior = overlap * _PRIOR
    for j in range(k):
        known, size = ~np.isnan(errors[:, :, j]), np.abs(np.nan_to_num(errors[:, :, j]))
        x = np.nan_to_num(features[:, :, j] - centre[j])
        for _ in range(_ROUNDS):
            relative = _usual(size * np.exp(-(x @ slope[j])), known)
            profile[:, j] = 0.0
            for season in seasons:
                if season > seasons[0] and known.sum() < prior * season:
                    break  # phases that are seen so seldom are mostly noise
                effect = _profile(relative, known, steps % season, season, prior=prior)
                profile[:, j] += np.resize(effect, len(profile))
                relative = _usual(relative * np.exp(-effect[steps % season]), known)
            slope[j] = _slopes(
                relative[:, chosen], known[:, chosen], x[:, chosen], slope[j], overlap * _PRIOR
            )
        adjusted = errors[:, :, [j]] * np.exp(-(x @ slope[j]) - profile[phase, j])[:, :, None]
        typical[:, [j]] = typical_sizes(adjusted, n_windows)
    return Spread(typical, centre, slope, profile)


def _usual(sizes: Float64Array, known: BoolArray) -> Float64Array:
    """Return sizes in the mean ones of their steps."""
    level = sizes.sum(axis=0) / np.maximum(known.sum(axis=0), 1)
    return sizes / np.where(level > 0, level, 1.0)


def _profile(
    relative: Float64Array, known: BoolArray, phase: IntArray, season: int, *, prior: float
) -> Float64Array:
    """Find by how much the errors of each phase exceed the usual ones, shrunk to not at all."""
    total = np.bincount(phase[known], relative[known], minlength=season)
    count = np.bincount(phase[known], minlength=season)
    return np.log((total + prior + 1) / (count + prior + 1))


def _slopes(
    relative: Float64Array, known: BoolArray, x: Float64Array, slope: Float64Array, prior: float
) -> Float64Array:
    """Take one Newton step of each slope in turn, shrunk to 0."""
    slope, prior = slope.copy(), prior * relative.shape[1]
    for f in range(len(slope)):
        pull = ((relative - known) * x[..., f]).sum() - prior * slope[f]
        pull /= (relative * x[..., f] ** 2).sum() + prior
        new = float(np.clip(slope[f] + np.clip(pull, -0.5, 0.5), 0.0, 1.0))
        relative = relative * np.exp(-x[..., f] * (new - slope[f]))
        slope[f] = new
    return slope
