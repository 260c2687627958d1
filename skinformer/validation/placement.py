"""Rows that the stored history does not lead to: refused, or forecast with a warning."""

from __future__ import annotations

from typing import Any

import numpy as np

from skinformer.timeline.arrays import BoolArray, IntArray
from skinformer.timeline.clock import Clock
from skinformer.timeline.timeline import Table, Timeline
from skinformer.validation.warning import warn_user

__all__ = ["check_after_context", "check_placement"]


def check_placement(
    place: Any,
    track: IntArray,
    table: Table,
    timeline: Timeline,
    *,
    has_target: BoolArray,
    features: bool,
    seq_len: int,
    pred_len: int,
    reach: int,
) -> None:
    """
    Raise if rows cannot be forecast from anything, and warn if they lack the stored history.

    Parameters
    ----------
    place : Placement
        The tracks of X's rows.
    track : ndarray of int64, shape (n,)
        The track of each row.
    table : Table
        The rows of X.
    timeline : Timeline
        The stored history.
    has_target : ndarray of bool, shape (n,)
        Rows with an observed target.
    features : bool
        Whether X never holds the target.
    seq_len : int
        Steps in a context; rows that begin further after the history are warned of.
    pred_len : int
        Steps in a block; one row by itself is warned of from the second one on.
    reach : int
        Steps that nobody asked for are forecast up to so many.

    Raises
    ------
    ValueError
        If rows lie where nothing is known of the target, or too far from what is known.

    Warns
    -----
    UserWarning
        If rows are forecast from what X itself holds, or from forecasts of many steps.
    """
    if features:
        _check_after_history(not place.stored.all())
    seen = np.bincount(track, weights=has_target, minlength=len(place.series)) > 0
    new = place.series >= timeline.n_series
    owner = np.where(new, 0, place.series)
    off = np.full(len(new), table.clock != timeline.clock) & ~new
    first, last = _ends(track, table.steps, len(new))
    early = ~(new | off) & (first < timeline.first_step[owner])
    begins = timeline.clock.labels(timeline.first_step[owner])
    if (new & ~seen).any():
        name = None if table.names is None else table.names[place.series[new & ~seen][0]]
        _raise_unknown(f"of the series {name!r}, which fit did not see", "Give its history.")
    where = {
        "off": (off, f"between the steps of the training data ({timeline.clock.step_name!r})"),
        "early": (early, f"before the training data, which begin at {begins[early.argmax()]}"),
    }
    for flags, text in where.values():
        if (flags & ~seen).any():
            _raise_unknown(text, "Drop these rows, or give their targets.")
    _check_gaps(place.begin, last, track, table, reach)
    for flags, text in where.values():
        if flags.any():
            _warn_of_own_context(int(flags[track].sum()), text)
    ahead = first - timeline.end_step[owner]
    # With the rows before it, one row would have been forecast from these.
    alone = np.bincount(track, minlength=len(new)) == 1
    near = np.where(alone, min(pred_len - 1, seq_len), seq_len)
    far = ~(new | off | early) & seen & (ahead > near)
    if far.any():
        _warn_of_far_rows(int(ahead[far].max()), bool(place.stored[far].all()))


def check_after_context(table: Table, timeline: Timeline, since: IntArray | None) -> None:
    """
    Raise if rows lie where a history that was saved as a context knows nothing.

    Parameters
    ----------
    table : Table
        The rows of X.
    timeline : Timeline
        The stored history.
    since : ndarray of int64, shape (n_series,), or None
        The first step of each series that X may hold; None where all may be.

    Raises
    ------
    ValueError
        With the number of rows.
    """
    if timeline.forecast_from is None or since is None or table.clock != timeline.clock:
        return
    known = table.series < timeline.n_series
    early = known & (table.steps < since[np.where(known, table.series, 0)])
    if early.any():
        first = timeline.clock.labels(table.steps[early].min(keepdims=True))[0]
        raise ValueError(
            f"X holds {int(early.sum()):,} rows of the training data's time, the first at {first}: "
            'this model was saved with history="context", which leaves out the rows that they '
            'were forecast from. Give later rows alone, or save the model with history="all".'
        )


def _ends(track: IntArray, steps: IntArray, n_tracks: int) -> tuple[IntArray, IntArray]:
    first = np.full(n_tracks, np.iinfo(np.int64).max)
    last = np.full(n_tracks, np.iinfo(np.int64).min)
    np.minimum.at(first, track, steps)
    np.maximum.at(last, track, steps)
    return first, last


def _check_after_history(before: bool) -> None:
    """Raise if rows lie where features alone cannot be forecast."""
    if before:
        raise ValueError(
            "X holds rows outside the training data's time (before its first row or off its "
            "grid), and the history of y is not in X: call update(X, y) with it, or pass later "
            "rows."
        )


def _raise_unknown(where: str, fix: str) -> None:
    raise ValueError(
        f"X holds rows {where}, and no observed target there: nothing is known from which they "
        f"could be forecast. {fix}"
    )


def _check_gaps(begin: IntArray, last: IntArray, track: IntArray, table: Table, reach: int) -> None:
    """Raise if more steps between rows would have to be forecast than is sensible."""
    later = table.steps >= begin[track]
    given = np.bincount(track[later], minlength=len(begin))
    lacking = last - begin + 1 - given
    if lacking.max(initial=0) > reach:
        worst = int(lacking.argmax())
        _raise_gap(int(lacking[worst]), table.clock, int(last[worst]), reach)


def _raise_gap(n_steps: int, clock: Clock, step: int, reach: int) -> None:
    """Raise because the steps up to a row are too many to be forecast."""
    label = clock.labels(np.array([step]))[0]
    raise ValueError(
        f"X holds a row at {label}, and {n_steps:,} of the steps before it are not known: each "
        f"would have to be forecast, and that is done for {reach:,} at most. Check the labels of "
        "X.index, or call update with the rows between."
    )


def _warn_of_own_context(n_rows: int, where: str) -> None:
    warn_user(
        f"X holds {n_rows} rows {where}: they are their own timeline, forecast from one another "
        "alone, the first of them from the training mean. Rows that follow the history directly "
        "are joined to it by update.",
    )


def _warn_of_far_rows(n_steps: int, reached: bool) -> None:
    between = (
        "the steps between are forecast, and the first forecasts of X build on them"
        if reached
        else "too far to forecast the steps between, so X is its own timeline, and its first rows "
        "are forecast from the training mean"
    )
    warn_user(
        f"X begins {n_steps:,} steps after the history: {between}. Call update with the rows "
        "between to forecast from what was observed.",
    )
