"""Warnings that point at the line of whoever called the library."""

import inspect
import warnings
from typing import Any

import numpy as np
import pandas as pd
import sklearn

import skinformer


def warn_user(message: str) -> None:
    """Warn, naming the first line outside this library and scikit-learn."""
    # scikit-learn wraps fit, and calls it in searches.
    inside = (*skinformer.__path__, *sklearn.__path__)
    frame = inspect.currentframe()
    level = 1
    while frame is not None and frame.f_code.co_filename.startswith(inside):
        frame = frame.f_back
        level += 1
    warnings.warn(message, UserWarning, stacklevel=level)


def first_names(names: pd.Index) -> str:
    """Write a handful of names, and how many more there are."""
    n_named = 5
    text = str(list(names[:n_named]))
    n_more = len(names) - n_named
    return f"{text} and {n_more} more" if n_more > 0 else text


def of_series(names: pd.Index | None, number: Any) -> str:
    """Write which series of a panel something is of; nothing for one series."""
    return "" if names is None else f" of series {shown(names[number])}"


def shown(value: Any) -> str:
    """Write a value as it is typed: numbers of numpy as Python's own.

    >>> shown(np.int32(1)), shown((np.int64(2), "a")), shown("b")
    ('1', "(2, 'a')", "'b'")
    """
    if isinstance(value, np.generic):
        value = value.item()
    if type(value) is tuple:
        return f"({', '.join(map(shown, value))})"
    return repr(value)
