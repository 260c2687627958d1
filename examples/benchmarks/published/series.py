"""Read the series that are measured."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from pandas.tseries.api import guess_datetime_format

from skinformer.timeline.clock import clock_for, infer_step


def load_series(path: str | Path) -> pd.DataFrame:
    """Read a series of numbers from a CSV file whose first column is its time."""
    try:
        frame = pd.read_csv(path, index_col=0)
    except pd.errors.EmptyDataError:
        frame = pd.DataFrame()
    except UnicodeDecodeError as error:
        raise ValueError(
            "the file is not in UTF-8: save it so, or unpack it."
        ) from error
    if frame.empty:
        raise ValueError(
            "there are no values: the first column is time, the others are numbers."
        )
    for name, column in frame.items():
        if not pd.api.types.is_numeric_dtype(column):
            numbers = pd.to_numeric(column, errors="coerce")
            bad = column[numbers.isna()].dropna().iloc[:1].tolist() or ["True or False"]
            raise ValueError(f"column {name!r} holds {bad[0]!r}, which is no number.")
    frame.index = read_times(frame.index.astype(str), frame.index.name)
    return frame


def read_times(labels: pd.Index, name: Any) -> pd.Index:
    """Read times, in UTC where their offsets change; raise unless each is a step after the last."""
    if guess_datetime_format(labels[0]) is None:
        raise ValueError(f"the first column must be time, {labels[0]!r} is no date.")
    try:
        times = pd.to_datetime(labels, errors="coerce")
    except ValueError:  # offsets that change with daylight saving
        times = pd.to_datetime(labels, errors="coerce", utc=True)
    if times.hasnans:
        raise ValueError(
            f"the first column must be time, {labels[times.isna()][0]!r} is no date."
        )
    back = np.flatnonzero(times[1:] <= times[:-1])
    if len(back):
        early, late = times[back[0]], times[back[0] + 1]
        raise ValueError(
            f"{late} stands after {early}: sort the rows, each time must come once."
        )
    step = infer_step(times, None)
    if step is None:
        gaps = times[1:] - times[:-1]
        raise ValueError(
            f"the steps between rows differ, from {gaps.min()} to {gaps.max()}."
        )
    clock = clock_for(times, step)
    runs = np.flatnonzero(np.diff(clock.steps(times)) != 1)
    if len(runs):
        raise ValueError(
            f"{times[runs[0]]} and {times[runs[0] + 1]} are more than a step ({clock.step_name}) "
            "apart: put rows between them, which may be empty behind their time."
        )
    return times.rename(name)
