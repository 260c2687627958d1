"""Warnings that point at the line of whoever called the library."""

import inspect
import warnings
from pathlib import Path

import pandas as pd
import sklearn

import skinformer

#: What lies between a user's line and a check; scikit-learn wraps fit, and calls it in searches.
_INSIDE = tuple(
    str(Path(str(package.__file__)).parent) for package in (skinformer, sklearn)
)

#: Series named in a warning.
_NAMED = 5


def warn_user(message: str) -> None:
    """Warn, naming the first line outside this library and scikit-learn."""
    frame, level = inspect.currentframe(), 1
    while frame is not None and frame.f_code.co_filename.startswith(_INSIDE):
        frame, level = frame.f_back, level + 1
    warnings.warn(message, UserWarning, stacklevel=level)


def first_names(names: pd.Index) -> str:
    """Write a handful of names, and how many more there are."""
    more = len(names) - _NAMED
    return f"{list(names[:_NAMED])}" + (f" and {more} more" if more > 0 else "")
