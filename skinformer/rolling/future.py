"""What the rows of X say of the steps to forecast: where these begin, how many, what is known."""

import numpy as np

from skinformer.ensemble.building import ModelSizes
from skinformer.rolling.blocks import Observed
from skinformer.rolling.placement import Placement, find_early
from skinformer.timeline.arrays import IntArray
from skinformer.timeline.clock import Clock
from skinformer.timeline.roles import Roles
from skinformer.timeline.timeline import Table, Timeline
from skinformer.validation.rows import raise_unknown_ahead


def nothing_observed(history: Timeline) -> Observed:
    """Give the rows of no X."""
    nothing = np.empty(0, dtype=np.int64)
    return Observed(history.values[:0], nothing, nothing)


def without_early(table: Table, observed: Observed, history: Timeline) -> tuple[Table, Observed]:
    """Forget rows before the stored history of series that X has later rows of."""
    early = find_early(table, history)
    later = np.bincount(table.series[~early], minlength=int(table.series.max()) + 1) > 0
    kept = ~early | ~later[table.series]
    values, track, steps = observed
    return table.take(kept), Observed(values[kept], track[kept], steps[kept])


def after_observed(place: Placement, observed: Observed, n_targets: int) -> Placement:
    """Move the anchor of each track behind the last observed target of X."""
    anchor = place.begin.copy()
    seen = ~np.isnan(observed.values[:, :n_targets]).any(axis=1)
    np.maximum.at(anchor, observed.track[seen], observed.steps[seen] + 1)
    return place._replace(anchor=anchor)


def without_later(observed: Observed, place: Placement, sizes: ModelSizes) -> Observed:
    """Make past-only values that X holds after the origin NaN."""
    values = observed.values.copy()
    ahead = observed.steps >= place.anchor[observed.track]
    first = sizes.n_targets
    values[ahead, first : first + sizes.n_past] = np.nan
    return observed._replace(values=values)


def steps_of_rows(observed: Observed, place: Placement) -> int:
    """Count the steps from the origin to the last row of X; 0 if none lies after it."""
    ahead = observed.steps - place.anchor[observed.track] + 1
    return int(ahead.max(initial=0))


def check_known_ahead(
    observed: Observed,
    place: Placement,
    wanted: IntArray,
    horizon: int,
    *,
    clock: Clock,
    roles: Roles,
    sizes: ModelSizes,
) -> None:
    """Raise if a column known ahead lacks a value at a step of a wanted track."""
    ahead = observed.steps - place.anchor[observed.track]
    rows = (ahead >= 0) & (ahead < horizon)
    first = sizes.n_targets + sizes.n_past
    for j, name in enumerate(roles.known, start=first):
        if sizes.may_miss or name in roles.static:
            continue
        missing = np.ones((len(place.anchor), horizon), dtype=bool)
        given = rows & ~np.isnan(observed.values[:, j])
        missing[observed.track[given], ahead[given]] = False
        if missing[wanted].any():
            row, step = np.argwhere(missing[wanted])[0]
            label = clock.labels(place.anchor[wanted[[row]]] + step)[0]
            raise_unknown_ahead(name, int(missing[wanted].sum()), label)
