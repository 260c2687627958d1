"""Steps to forecast, by the rows of X: where they begin, how many there are, what is known."""

import numpy as np
import pandas as pd

from skinformer.ensemble.building import ModelSizes
from skinformer.rolling.blocks import Observed
from skinformer.rolling.placement import Placement, find_early
from skinformer.timeline.arrays import BoolArray, IntArray
from skinformer.timeline.clock import Clock
from skinformer.timeline.open_hours import open_steps
from skinformer.timeline.roles import Roles
from skinformer.timeline.timeline import Table, Timeline
from skinformer.validation.rows import raise_unknown_ahead
from skinformer.validation.warning import of_series


def nothing_observed(history: Timeline) -> Observed:
    """Return the rows of no X."""
    nothing = np.empty(0, dtype=np.int64)
    return Observed(history.values[:0], nothing, nothing)


def without_early(
    table: Table, observed: Observed, history: Timeline
) -> tuple[Table, Observed]:
    """Drop rows before the stored history of series that X has later rows of."""
    early = find_early(table, history)
    series = table.series
    has_later = np.isin(series, series[~early])
    kept = ~(early & has_later)
    return table.take(kept), observed.take(kept)


def after_observed(place: Placement, observed: Observed, n_targets: int) -> Placement:
    """Move the anchor of each segment behind the last observed target of X."""
    anchor = place.begin.copy()
    missing = np.isnan(observed.values[:, :n_targets])
    is_seen = ~missing.any(axis=1)
    end = observed.steps[is_seen] + 1
    np.maximum.at(anchor, observed.segment[is_seen], end)
    return place._replace(anchor=anchor)


def without_later(observed: Observed, place: Placement, sizes: ModelSizes) -> Observed:
    """Make past-only values that X holds after the origin NaN."""
    values = observed.values.copy()
    is_ahead = observed.steps >= place.anchor[observed.segment]
    first = sizes.n_targets
    stop = first + sizes.n_past
    values[is_ahead, first:stop] = np.nan
    return observed._replace(values=values)


def steps_of_rows(observed: Observed, place: Placement, otherwise: int) -> IntArray:
    """Count the steps of each segment from its origin to its last row of X.

    A segment that has no row after its origin is forecast as far as the one that goes farthest, and
    `otherwise` where none has any.
    """
    n_ahead = np.zeros_like(place.anchor)
    ahead = observed.steps - place.anchor[observed.segment]
    np.maximum.at(n_ahead, observed.segment, ahead + 1)
    farthest = n_ahead.max() or otherwise
    return np.where(n_ahead > 0, n_ahead, farthest)


def asked_steps(
    observed: Observed,
    place: Placement,
    horizon: IntArray,
    clock: Clock,
    *,
    may_skip: bool,
    closed_dates: tuple[int, ...],
) -> BoolArray:
    """Return which steps of each segment are forecast, (n_segments, n_steps).

    horizon: the open steps from each origin on, 0 for none.
    may_skip: whether a step between rows of X that has none is closed, and so is not forecast.
    closed_dates: of the year, at which there are no steps but those of X.
    """
    steps_ahead = {}
    for anchor, n in set(zip(place.anchor.tolist(), horizon.tolist(), strict=True)):
        steps_ahead[anchor, n] = open_steps(clock, anchor, n, closed_dates) - anchor
    n_most = max(ahead.max(initial=-1) for ahead in steps_ahead.values()) + 1
    is_asked = np.zeros((len(horizon), n_most), dtype=bool)
    for (anchor, n), ahead in steps_ahead.items():
        of_segments = (place.anchor == anchor) & (horizon == n)
        is_asked[np.ix_(of_segments, ahead)] = True
    if may_skip:
        within = np.arange(n_most) < horizon[:, None]
        has_row = within & ~_missing_ahead(observed, place, n_most)
        is_shown = has_row.any(axis=1, keepdims=True)
        is_asked = np.where(is_shown, has_row, is_asked)
    return is_asked


def check_known_ahead(
    observed: Observed,
    place: Placement,
    is_asked: BoolArray,
    *,
    clock: Clock,
    roles: Roles,
    sizes: ModelSizes,
    names: pd.Index | None,
) -> None:
    """Raise if rows of X lack a step of a segment that is forecast, and columns are known ahead.

    Static columns, and those without any value in training, need no rows.

    is_asked: which steps from each origin on are forecast, (n_segments, n_steps).
    names: of the series of a panel.
    """
    if sizes.may_miss:
        return
    needless = {*roles.static, *roles.empty}
    needed = [name for name in roles.known if name not in needless]
    if not needed:
        return
    missing = is_asked & _missing_ahead(observed, place, is_asked.shape[1])
    if missing.any():
        segment, step = np.argwhere(missing)[0]
        first = place.anchor[[segment]] + step
        where = of_series(names, place.series[segment])
        label = f"{clock.labels(first)[0]}{where}"
        raise_unknown_ahead(roles.source_of(needed[0]), missing.sum(), label)


def _missing_ahead(observed: Observed, place: Placement, n_steps: int) -> BoolArray:
    """Whether X has no row for the first steps from each origin on, (n_segments, n_steps)."""
    missing = np.ones((len(place.anchor), n_steps), dtype=bool)
    segment = observed.segment
    ahead = observed.steps - place.anchor[segment]
    is_within = (ahead >= 0) & (ahead < n_steps)
    missing[segment[is_within], ahead[is_within]] = False
    return missing
