"""Columns of names: which columns are such, and how many levels they may have."""

from collections.abc import Hashable, Sequence
from typing import Any

import pandas as pd
from pandas.api.types import is_object_dtype, is_string_dtype

from skinformer.validation.warning import shown, warn_user
from skinformer.wording import number_of

#: A date as text, whatever the order of its parts.
_DATE = r"\s*\d{1,4}[-/.]\d{1,2}[-/.]\d{1,4}"
#: A number with both thousands and decimals parted, as 1.329,34 and 1,329.34.
_PARTED = r"-?(?:\d{1,3}(?:\.\d{3})+,\d+|\d{1,3}(?:,\d{3})+\.\d+)"


def holds_names(column: pd.Series) -> bool:
    """Whether a column holds names of categories: a categorical, or text that is no number or date.

    Text is judged by its levels, so that one dash among numbers does not make names of them.

    >>> holds_names(pd.Series(["rain", "sun", None]))
    True
    >>> holds_names(pd.Series(["1,5", "2", "-"]))
    False
    """
    if isinstance(column.dtype, pd.CategoricalDtype):
        return True
    if not (is_object_dtype(column.dtype) or is_string_dtype(column.dtype)):
        return False
    try:
        levels = pd.Series(column.dropna().unique(), dtype=object)
    except TypeError:  # lists and the like
        return False
    is_text = levels.map(lambda level: isinstance(level, str))
    if not is_text.any():
        return False
    texts = levels.astype(str)
    plain = texts.str.strip(" %$€£")
    numbers = pd.to_numeric(plain.str.replace(",", "."), errors="coerce")
    is_number = numbers.notna() | plain.str.fullmatch(_PARTED)
    is_name = is_text & ~is_number & ~texts.str.match(_DATE)
    return bool(is_name.mean() > 0.5)


def check_levels(name: Hashable, n_levels: int, n_rows: int) -> None:
    """Raise if a column has nearly as many names as rows: nothing comes often enough to be learnt.

    A few names may be in a table of any length, such as the first fold of a cross-validation.
    """
    few = 20
    if n_levels <= max(few, n_rows / 10):
        return
    raise ValueError(
        f"column {name!r} holds {n_levels:,} different values in {n_rows:,} rows, more "
        "than one in ten rows: it looks like an id or a comment, from which nothing "
        f"can be learnt. Drop it, X.drop(columns=[{name!r}]), or group its values into "
        "fewer; names of series belong in the index, X.set_index([series, time]), and "
        "text that holds numbers is converted by pd.to_numeric."
    )


def check_new_names(names: Sequence[Hashable], columns: Sequence[Hashable]) -> None:
    """Raise if a column of X has the name that a level of another one is to get."""
    for name in names:
        if name in columns:
            raise ValueError(
                f"X has a column {name!r}, which is also the name of a category that "
                "is one-hot encoded: rename one of them."
            )


def raise_names_in_array(names: Sequence[Hashable]) -> None:
    """Raise because rows without names of columns cannot hold what was fitted as names."""
    raise ValueError(
        f"X is an array, but the columns {list(names)} held text or categories in fit: "
        "pass a frame with the columns of the fit."
    )


def warn_of_unseen_levels(name: Hashable, level: Any, n_rows: int) -> None:
    """Warn that a column holds names that `fit` did not see."""
    warn_user(
        f"column {name!r} holds {shown(level)}, which fit did not see "
        f"({number_of(n_rows, 'row')} of such values): they are treated as a category of "
        "which nothing was learnt. Fit again on rows that hold them."
    )
