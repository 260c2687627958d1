"""From rows to the arrays of an exported graph: one window for each origin."""

from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from skinformer.serving.signature import Signature, plain
from skinformer.timeline.arrays import AnyArray, Float64Array, IntArray
from skinformer.timeline.calendar import KIND_OF_MONTH, calendar_at
from skinformer.timeline.clock import (
    OFF_GRID,
    Clock,
    PeriodClock,
    clock_for,
    infer_step,
    join_series,
)
from skinformer.wording import number_of


class WindowInputs(NamedTuple):
    """
    The inputs of an exported graph for some windows.

    Parameters
    ----------
    inputs : dict of str to ndarray
        The arrays by the names of the inputs; each has one row per window.
    labels : Index of shape (n_windows * pred_len,)
        Labels of the forecasts, window after window; (series, time) for a panel.

    Examples
    --------
    >>> import numpy as np, pandas as pd
    >>> from skinformer.serving import WindowInputs
    >>> windows = WindowInputs({"past": np.zeros((1, 96, 1))}, pd.Index([7, 8]))
    >>> windows.inputs["past"].shape, list(windows.labels)
    ((1, 96, 1), [7, 8])
    """

    inputs: dict[str, AnyArray]
    labels: pd.Index


class _PlacedRows(NamedTuple):
    """Rows of X: the names of their series, their clock, and values by (number of series, step)."""

    names: pd.Index | None
    clock: Clock
    values: pd.DataFrame

    def values_at(self, series: IntArray, steps: IntArray, first: int) -> Float64Array:
        """Return columns from the first one on, (n_windows, length, n); NaN without a row.

        series: (n_windows,); steps: (n_windows, length).
        """
        of_steps = np.repeat(series, steps.shape[1])
        places = pd.DataFrame({"series": of_steps, "step": steps.ravel()})
        wanted = places.set_index(["series", "step"]).index
        columns = self.values.iloc[:, first:]
        values = columns.reindex(wanted).to_numpy()
        contiguous = np.array(values, order="C")
        return contiguous.reshape(*steps.shape, -1)

    def calendar_at(self, steps: IntArray, fields: tuple[str, ...]) -> IntArray:
        """Return calendar fields of steps, (n_windows, length, n_fields)."""
        return calendar_at(self.clock, steps, fields).astype(np.int64)

    def wall_steps_at(self, steps: IntArray, origin: str | int | None) -> IntArray:
        """Count steps on the wall, of any shape, from the first row of the fit on."""
        clock = self.clock.starting_at(_origin_label(self.clock, origin))
        of_fit = clock.steps(self.clock.labels(steps.ravel()))
        if (of_fit == OFF_GRID).any():
            raise ValueError(
                f"X's rows lie between two steps of {clock.step_name!r} as they were counted in "
                f"the fit, from {origin} on: bring X to these steps, as by X.resample(...)."
            )
        return clock.wall_steps(of_fit).reshape(steps.shape)

    def labels_at(self, series: IntArray, steps: IntArray) -> pd.Index:
        """Return the labels of steps, window after window."""
        labels = self.clock.labels(steps.ravel())
        of_steps = np.repeat(series, steps.shape[1])
        return join_series(self.names, of_steps, labels)


def window_inputs(
    X: pd.DataFrame, signature: Signature, origins: Any = None
) -> WindowInputs:
    """
    Make the inputs of an exported graph from rows.

    Parameters
    ----------
    X : DataFrame of shape (n_rows, n_columns)
        Rows in any order, with dates, periods or integers as index; in a panel with the index
        (series, time). Steps to forecast have a missing target. Other columns are ignored. Past
        covariates without any value may be left out. The target is in the units of the forecasts.
        Missing rows count as missing values.
    signature : Signature
        The signature of the graph.
    origins : Index, default=None
        Labels of the first steps to forecast, one for each window. None makes one window for each
        series, after its last row in which all targets are known.

    Returns
    -------
    WindowInputs
        The arrays by name, and the labels of the forecasts.

    Raises
    ------
    ValueError
        If X lacks a column, has a time zone where the fit had none or the reverse, two rows of one
        step, rows between two steps, no known target, or no value of a future covariate in a step
        to forecast.

    Examples
    --------
    >>> import numpy as np, pandas as pd
    >>> from skinformer.serving import Signature, window_inputs
    >>> signature = Signature(
    ...     targets=("load",), past=(), known=("price",), calendar=(), seq_len=3, pred_len=2,
    ...     inputs=("past", "future"), series=None, freq="h", tz=None, may_miss=False,
    ... )
    >>> hours = pd.date_range("2024-01-01", periods=4, freq="h")
    >>> X = pd.DataFrame({"load": [5.0, 6.0, np.nan, np.nan], "price": range(4)}, index=hours)
    >>> inputs, labels = window_inputs(X, signature)
    >>> inputs["past"].tolist(), inputs["future"].tolist(), labels[0]
    ([[[nan, nan], [5.0, 0.0], [6.0, 1.0]]], [[[2.0], [3.0]]], Timestamp('2024-01-01 02:00:00'))
    """
    rows = _read(X, signature)
    if origins is None:
        series, start = _last_origins(rows, signature)
    else:
        series, start = _find_origins(origins, rows, signature)
    steps = start[:, None] + np.arange(-signature.seq_len, signature.pred_len)
    before, ahead = np.split(steps, [signature.seq_len], axis=1)
    first_known = len(signature.targets) + len(signature.past)
    if signature.closed:
        _hold_closed(rows, signature)
    future = rows.values_at(series, ahead, first_known)
    _check_ahead(future, signature, rows.clock, start)
    inputs: dict[str, AnyArray] = {
        "past": rows.values_at(series, before, 0),
        "future": future,
        "series": _fitted_numbers(rows.names, signature)[series],
    }
    if signature.calendar:
        inputs["calendar"] = rows.calendar_at(steps, signature.calendar)
    if "steps" in signature.inputs:
        inputs["steps"] = rows.wall_steps_at(steps, signature.origin)
    if "months" in signature.inputs:
        inputs["months"] = rows.calendar_at(steps, (KIND_OF_MONTH,))[..., 0]
    inputs = {name: inputs[name] for name in signature.inputs}
    labels = rows.labels_at(series, ahead)
    return WindowInputs(inputs, labels)


def _read(X: pd.DataFrame, signature: Signature) -> _PlacedRows:
    """Place the rows of X in time."""
    series, names, time = _split(X.index, signature)
    time = _in_zone(time, signature.tz)
    clock = _make_clock(time, signature)
    steps = clock.steps(time)
    _check_steps(X.index, time, steps, clock)
    names_of_columns = map(plain, X.columns)
    place = {name: i for i, name in enumerate(names_of_columns)}
    for name in signature.known:
        if name not in place:
            raise ValueError(
                f"X has no column {name!r}, which is a future covariate: add its "
                "values, also those of the steps to forecast."
            )
    n_columns = len(signature.columns)
    values = pd.DataFrame(np.nan, index=[series, steps], columns=range(n_columns))
    for j, name in enumerate(signature.columns):
        if name in place:
            column = X.iloc[:, place[name]]
            values[j] = column.to_numpy(np.float64, na_value=np.nan)
    return _PlacedRows(names, clock, values)


def _origin_label(clock: Clock, origin: str | int | None) -> Any:
    """Read the label of the first row of a fit, as labels of a clock are."""
    if not clock.dated or origin is None:
        return origin
    label = pd.Timestamp(origin)
    if isinstance(clock, PeriodClock):
        return pd.Period(label, freq=clock.origin.freq)
    return label if label.tz is None else label.tz_convert(clock.origin.tz)


def _hold_closed(rows: _PlacedRows, signature: Signature) -> None:
    """Hold targets at their last value where none is ever observed, as a fit does."""
    values = rows.values
    steps = values.index.get_level_values(1).to_numpy()
    wall = rows.wall_steps_at(steps, signature.origin)
    is_closed = np.zeros(len(values), dtype=bool)
    for season, phases in signature.closed:
        is_closed |= np.isin(wall % season, phases)
    targets = range(len(signature.targets))
    in_time = values[targets].sort_index()
    held = in_time.groupby(level=0).ffill().reindex(values.index)
    values.loc[is_closed, targets] = held[is_closed]


def _make_clock(time: pd.Index, signature: Signature) -> Clock:
    """Make the clock that counts the steps of the fit from the first row."""
    distinct = time.unique().sort_values()
    step = infer_step(distinct, signature.freq)
    if step is None:
        raise ValueError(
            "X's rows have no common step, and the fit's cannot be written as text: pass rows "
            "without gaps, as by X.asfreq(...)."
        )
    return clock_for(distinct, step)


def _check_steps(
    index: pd.Index, time: pd.Index, steps: IntArray, clock: Clock
) -> None:
    """Raise if rows lie between two steps, or two of them on one."""
    off = steps == OFF_GRID
    if off.any():
        raise ValueError(
            f"X holds {number_of(off.sum(), 'row')} between two steps of {clock.step_name!r}, the "
            f"first at {time[off][0]}: an exported model counts steps as its fit did. Bring X to "
            "that step, as by X.resample(...)."
        )
    double = index.duplicated()
    if double.any():
        raise ValueError(
            f"X holds {number_of(double.sum(), 'row')} of a step that another row has, the first "
            f"at {index[double][0]}: a step has one value. Keep one of them, as by "
            'X[~X.index.duplicated(keep="last")].'
        )


def _split(
    index: pd.Index, signature: Signature
) -> tuple[IntArray, pd.Index | None, pd.Index]:
    """Part an index into numbers of series, their names, and time."""
    is_panel = signature.series is not None
    needed = 2 if is_panel else 1
    if index.nlevels != needed or not len(index):
        shape = "(series, time), " if is_panel else ""
        raise ValueError(
            f"X.index has {number_of(index.nlevels, 'level')} and {number_of(len(index), 'row')}, "
            f"and must have {needed} and at least one: {shape}as X of the fit. Set it, as by "
            "X.set_index(...)."
        )
    if not is_panel:
        series = np.zeros(len(index), dtype=np.int64)
        return series, None, index
    owner = index.get_level_values(0)
    if owner.hasnans:
        raise ValueError("X.index holds a missing series name: every row needs one.")
    series, names = pd.factorize(owner)
    return (series, pd.Index(names, name=owner.name), index.get_level_values(1))


def _in_zone(time: Any, tz: str | None) -> Any:
    """Read times off the wall that the fit saw."""
    own = getattr(time, "tz", None)
    if (own is None) != (tz is None):
        instead = f"X.tz_localize({tz!r})"
        raise ValueError(
            f"X.index has the time zone {own}, and that of the fit was {tz}: the "
            f"calendar needs local time. Convert X, as by {instead}."
        )
    if tz is None:
        return time
    return time.tz_convert(tz)


def _last_origins(rows: _PlacedRows, signature: Signature) -> tuple[IntArray, IntArray]:
    """Find each series' first step without a truth after it."""
    n_targets = len(signature.targets)
    targets = rows.values.iloc[:, :n_targets]
    known = targets.dropna()
    steps = known.index.to_frame(index=False)
    last = steps.groupby(0)[1].max()
    series = rows.values.index.unique(level=0).to_numpy()
    never_known = np.setdiff1d(series, last.index)
    if len(never_known):
        of = ""
        if rows.names is not None:
            of = f" of {rows.names[never_known[0]]!r}"
        raise ValueError(
            f"X holds no row{of} in which all targets are known, but a forecast starts "
            "after such a row. Add the latest history."
        )
    return series, last.to_numpy() + 1


def _find_origins(
    origins: Any, rows: _PlacedRows, signature: Signature
) -> tuple[IntArray, IntArray]:
    """Place origins: the number of their series among those of X, and their steps."""
    if not isinstance(origins, pd.Index):
        origins = pd.Index(origins)
    series = np.zeros(len(origins), dtype=np.int64)
    if rows.names is not None:
        names = origins.get_level_values(0)
        series = rows.names.get_indexer(names)
    time = _in_zone(origins.get_level_values(-1), signature.tz)
    steps = rows.clock.steps(time)
    is_wrong = (series < 0) | (steps == OFF_GRID)
    if is_wrong.any():
        first = origins[is_wrong][0]
        raise ValueError(
            f"origins holds {first}, which is no step of X's rows: an origin is the "
            "label of the first step to forecast, of a panel (series, time). Take labels of X."
        )
    return series, steps


def _fitted_numbers(names: pd.Index | None, signature: Signature) -> IntArray:
    """Return each series' number in the fit; new ones come after those."""
    if names is None or signature.series is None:
        return np.zeros(1, dtype=np.int64)
    numbers = {name: i for i, name in enumerate(signature.series)}
    new = len(numbers)
    found = [numbers.get(plain(name), new) for name in names]
    return np.array(found, dtype=np.int64)


def _check_ahead(
    ahead: Float64Array, signature: Signature, clock: Clock, start: IntArray
) -> None:
    """Raise if a future covariate lacks a value in a step to forecast, and may not."""
    missing = np.argwhere(np.isnan(ahead))
    if len(missing) and not signature.may_miss:
        window, step, j = missing[0]
        n_missing = (missing[:, 2] == j).sum()
        [first] = clock.labels(start[[window]] + step)
        raise ValueError(
            f"X holds no value of {signature.known[j]!r} at {number_of(n_missing, 'step')} "
            f"to forecast, the first at {first}: it is a future covariate. Add rows for "
            "these steps, with a missing target."
        )
