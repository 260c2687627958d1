"""Indexes as pandas 3 makes them: with the dtype of what they are made of."""

from __future__ import annotations

import pandas as pd


def as_index(column: pd.Series) -> pd.Index:
    """Make an index of a column; pandas 2 would guess another dtype, and warn of it.

    >>> as_index(pd.Series([1, 2], name="shop", dtype=object))
    Index([1, 2], dtype='object', name='shop')
    """
    return pd.Index(column, dtype=column.dtype)
