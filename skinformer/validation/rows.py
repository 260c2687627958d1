"""Rows at prediction: where they lie against the history, and what they lack."""

from collections.abc import Container, Hashable, Sequence
from typing import Any

import numpy as np
import pandas as pd

from skinformer.bounds.closed import Closed
from skinformer.timeline.arrays import BoolArray, IntArray
from skinformer.timeline.clock import Clock
from skinformer.timeline.roles import Roles
from skinformer.timeline.timeline import Table, Timeline
from skinformer.validation.index import warn_of_missing_steps
from skinformer.validation.labels import Labels
from skinformer.validation.warning import of_series, warn_user
from skinformer.wording import number_of


def check_same_kind(time: pd.Index, clock: Clock, labels: Labels) -> None:
    """Raise if labels at prediction are of another kind than at fit."""
    kind = _kind_of_labels(time)
    fitted_kind = _kind_of_labels(clock.labels(np.array([0])))
    if kind != fitted_kind:
        raise TypeError(
            f"{labels} holds {kind}, but that of the training rows held {fitted_kind}: pass labels "
            "of the same kind. Of dates tz_localize(zone) names the zone, and "
            "tz_convert(zone).tz_localize(None) drops it."
        )


def _kind_of_labels(index: pd.Index) -> str:
    """Return what labels of time have to have in common."""
    if isinstance(index, pd.PeriodIndex):
        return f"{index.dtype} labels"
    if not isinstance(index, pd.DatetimeIndex):
        return "whole numbers"
    return "naive dates" if index.tz is None else "dates of a time zone"


def check_panel(fitted: bool, given: bool) -> None:
    """Raise if several series were fitted and rows do not name theirs, or the other way round."""
    if fitted and not given:
        raise ValueError(
            "X does not name the series of its rows, but several were fitted: label the rows by "
            "a MultiIndex (series, time)."
        )
    if given and not fitted:
        raise ValueError(
            "X labels its rows by (series, time), but one series was fitted: pass the rows of "
            "one, X.loc[series]."
        )


def warn_of_assumed_steps(clock: Clock, end_step: int, n_rows: int) -> None:
    """Warn that rows without an index are taken to follow the training data, in every call."""
    label = clock.labels(np.array([end_step]))[0]
    if clock.dated:
        warn_user(
            "the training rows had a time index and X has none: its rows are assumed "
            f"to follow the training data, from {label}. Keep the index, for example "
            "by set_output(transform='pandas') in a Pipeline."
        )
    elif n_rows == 1:
        warn_user(
            "rows without an index are assumed to follow the training data directly, "
            f"in every call: this row is forecast as row {label}. Pass later rows "
            "together with it, call update(X, y) after each, or give X an index."
        )


def warn_of_other_static(names: Sequence[Hashable]) -> None:
    """Warn that columns which never changed in training have other values, to no effect."""
    warn_user(
        f"columns {list(names)} were constant within each series in training and have "
        "other values in X, which are ignored: the training values are used. Name "
        "columns that can change in known_future and fit again."
    )


def warn_of_new_values(names: Sequence[Hashable]) -> None:
    """Warn that columns known ahead have values of which training held no example."""
    warn_user(
        f"future covariates {list(names)} never changed within a series in "
        "training: the effect of their new values in X was not learnt, so they may "
        "change no forecast. Fit on rows in which they change."
    )


def warn_of_held_values(
    roles: Roles, past: int, known: int, columns: Container[int]
) -> None:
    """Warn that columns without values ahead, at so many steps, were held at their last ones.

    columns: numbers of these columns, among past-only ones and then those known ahead. Of those
    without any value in training, which have no effect, nothing is said.
    """
    covariates = (*roles.past, *roles.known)
    lacking = [name for j, name in enumerate(covariates) if j in columns]
    lacking = [name for name in lacking if name not in roles.empty]
    held = [
        ("past covariates", roles.past, past),
        ("future covariates", roles.known, known),
    ]
    for what, names, n_steps in held:
        found = list(roles.sources_of(name for name in lacking if name in names))
        if n_steps and found:
            warn_user(
                f"{what} {found} have no values at {number_of(n_steps, 'step')} that "
                "the forecast needs: they are forward-filled there."
            )


def warn_of_skipped_steps(table: Table, timeline: Timeline, roles: Roles) -> None:
    """Warn of steps after the history that lack a row before a later row with an actual value.

    Beside columns that change `warn_of_held_values` tells of them, or an error.
    """
    changing = {*roles.past, *roles.known} - {*roles.static}
    if changing or table.clock != timeline.clock:
        return
    rows = pd.DataFrame({"series": table.series, "step": table.steps})
    rows["has_target"] = table.has_target
    rows = rows[table.series < timeline.n_series].sort_values(["series", "step"])
    rows = rows[rows["step"] >= timeline.end_step[rows["series"]]]
    is_before_target = rows[::-1].groupby("series")["has_target"].cummax()[::-1]
    rows = rows[is_before_target]
    warn_of_missing_steps(
        rows["series"].to_numpy(),
        rows["step"].to_numpy(),
        table.clock,
        table.names,
        of_week=False,
        named=True,
    )


def warn_of_closed(closed: Closed) -> None:
    """Warn that steps at some places of a day, a week or a year are never observed."""
    parts = [f"{phases.sum()} of {len(phases)}" for phases in closed.phases]
    if parts:
        warn_user(
            f"some steps of a season are never observed ({', '.join(parts)}): they are "
            "not used, and their forecasts repeat neighbouring values. If nothing happens "
            "there, leave out these rows: fit finds which hours and days are open."
        )


def check_not_reset(collides: BoolArray, end: int, step: int) -> None:
    """Raise if row numbers of the training rows come with other values."""
    if collides.any():
        numbers = f"{end} + len(X)"
        if step != 1:
            numbers = f"{end} + {step} * len(X), {step}"
        raise ValueError(
            f"X.index repeats {number_of(collides.sum(), 'row number')} of the training rows "
            "with other values: the index was reset. Let new rows count on, "
            f"X.index = range({end}, {numbers}), or keep the time index."
        )


def check_follows(
    table: Table, expected: IntArray, history_clock: Clock, names: pd.Index | None
) -> None:
    """Raise if the rows of an update, by their `expected` steps, do not follow the history."""
    wrong = (table.steps != expected) | (table.clock != history_clock)
    if not wrong.any():
        return
    first = np.flatnonzero(wrong)[:1]
    given = table.clock.labels(table.steps[first])
    due = history_clock.labels(expected[first])
    where = of_series(names, table.series[first[0]])
    raise ValueError(
        f"update got rows from {given[0]}{where} on: they must follow the history directly, from "
        f"{due[0]}. Pass all rows since then; local times that skip or repeat an hour need their "
        "zone, tz_localize(zone), at fit, too."
    )


def raise_unknown_ahead(name: Hashable, n_missing: int, first: str) -> None:
    """Raise because a column known ahead lacks values at steps to forecast."""
    raise ValueError(
        f"future covariate {name!r} has no value at {n_missing} of the steps to "
        f"forecast, the first {first}: pass X with a row for each step; make_future_frame() "
        "makes such rows to fill in."
    )


def raise_unseen_series(known: Any) -> None:
    """Raise because an update brings series that training, of a panel, did not hold."""
    raise ValueError(
        f"update got series that fit did not see; those are {list(known)}: only known series can "
        "be continued. Pass new ones to predict, which reads their history from X, or fit again."
    )


def check_placement(
    place: Any,
    segment: IntArray,
    table: Table,
    timeline: Timeline,
    *,
    has_target: BoolArray,
    features: bool,
    sizes: Any,
    reach: int,
) -> None:
    """Raise if rows cannot be forecast from anything, and warn if they lack the stored history.

    place, segment: the segments of X's rows, and that of each.
    has_target: rows with an observed target.
    features: whether X never holds the target.
    sizes: of the model, whose seq_len and pred_len count here: rows that begin further than a
    context after the history are warned of; one row by itself from the second step of a block on.
    reach: steps that nobody asked for are forecast up to so many.
    """
    if features and not place.stored.all():
        raise ValueError(
            "X has rows before the training rows or between their steps, and X does "
            "not contain the history of y: call update(X, y) with it, or pass later "
            "rows."
        )
    steps = pd.Series(table.steps).groupby(segment)  # no segment is without rows
    first = steps.min().to_numpy()
    _check_gaps(place.begin, steps.max().to_numpy(), segment, table, reach)

    observed = np.bincount(segment, has_target) > 0
    apart = _check_apart(place.series, first, observed, segment, table, timeline)
    owner = np.where(apart, 0, place.series)  # any for a new series
    distance = first - timeline.end_step[owner]
    distance[apart | ~observed] = 0
    _warn_of_far_rows(distance, place.stored, segment, sizes)


def _check_apart(
    series: IntArray,
    first: IntArray,
    observed: BoolArray,
    segment: IntArray,
    table: Table,
    timeline: Timeline,
) -> BoolArray:
    """Raise or warn of segments that no history leads to, and return which these are.

    series, first, observed: of each segment its series, its first step, and whether it holds an
    observed target.
    """
    new = series >= timeline.n_series
    off_grid = ~new & (table.clock != timeline.clock)
    start = timeline.first_step[np.where(new, 0, series)]
    early = ~(new | off_grid) & (first < start)
    _check_own_timelines(new, observed, "of series that fit did not see")
    step = timeline.clock.step_name
    for flags, where in (
        (off_grid, f"between the steps of the training data ({step!r})"),
        (early, "before the training data"),
    ):
        _check_own_timelines(flags, observed, where)
        n_rows = flags[segment].sum()
        if n_rows:
            warn_user(
                f"X holds {number_of(n_rows, 'row')} {where}: such rows are forecast as a "
                "separate series, the first of them from the training mean. Add rows that "
                "follow the history directly with update."
            )
    return new | off_grid | early


def _check_own_timelines(flags: BoolArray, observed: BoolArray, where: str) -> None:
    """Raise if segments apart from the history hold no target to be forecast from."""
    if (flags & ~observed).any():
        raise ValueError(
            f"X has rows {where} without an observed target: there is nothing to "
            "forecast them from. Add their targets, or drop these rows."
        )


def check_after_context(
    table: Table, timeline: Timeline, since: IntArray | None
) -> None:
    """Raise if rows lie where a history that was saved as a context knows nothing.

    since: the first step of each series that X may hold; None where all may be.
    """
    if timeline.forecast_from is None or since is None or table.clock != timeline.clock:
        return
    known = table.series < timeline.n_series
    first_allowed = since[np.where(known, table.series, 0)]
    early = known & (table.steps < first_allowed)
    if early.any():
        earliest = table.steps[early].min(keepdims=True)
        first = timeline.clock.labels(earliest)[0]
        raise ValueError(
            f"X holds {number_of(early.sum(), 'row')} within the training data, the first "
            f'at {first}: this model was saved with history="context", which leaves out '
            "what such rows would be forecast from. Pass later rows only, or save "
            'the model with history="all".'
        )


def _check_gaps(
    begin: IntArray, last: IntArray, segment: IntArray, table: Table, reach: int
) -> None:
    """Raise if more steps between rows would have to be forecast than is sensible."""
    later = table.steps >= begin[segment]
    given = np.bincount(segment[later], minlength=len(begin))
    lacking = last - begin + 1 - given
    if lacking.max(initial=0) <= reach:
        return
    worst = lacking.argmax()
    label = table.clock.labels(last[[worst]])[0]
    raise ValueError(
        f"X holds a row at {label}, and {lacking[worst]:,} of the steps before it are "
        f"unknown: each would have to be forecast, and the limit is {reach:,}. Check "
        "the labels of X.index, or call update with the rows between."
    )


def _warn_of_far_rows(
    distance: IntArray, stored: BoolArray, segment: IntArray, sizes: Any
) -> None:
    """Warn of segments that begin long after the history.

    distance: steps from the end of the history to each of them; 0 for those that do not count.
    stored: whether the steps between are forecast.
    """
    # With the rows before it, one row would have been forecast from these.
    alone = np.bincount(segment, minlength=len(distance)) == 1
    near_alone = min(sizes.pred_len - 1, sizes.seq_len)
    far = distance > np.where(alone, near_alone, sizes.seq_len)
    if not far.any():
        return
    if stored[far].all():
        between = (
            "the steps between are forecast, and the first forecasts of X build on them"
        )
    else:
        between = (
            "too far to forecast the steps between, so X is forecast as a separate "
            "series, and its first rows are forecast from the training mean"
        )
    warn_user(
        f"X begins {number_of(distance[far].max(), 'step')} after the history: {between}. "
        "Call update with the rows between to forecast from what was observed."
    )
