"""Labels keep the dtype of the column that they come from."""

import warnings

import pandas as pd
import pytest

from skinformer.compatibility.labels import as_index


@pytest.mark.parametrize(
    "column",
    [
        pd.Series([1, 2], name="shop", dtype=object),
        pd.Series(pd.date_range("2024-01-01", periods=2), name="day").astype(object),
        pd.Series(["a", "b"], name="shop"),
        pd.Series(["a", "b"], name="shop", dtype="category"),
        pd.Series([1, 2], name="shop", dtype="Int64"),
    ],
    ids=["numbers", "dates", "text", "categories", "nullable"],
)
def test_an_index_is_of_the_dtype_of_its_column(column):
    """Pandas 2 warns in every fit where it guesses."""
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        index = as_index(column)
    assert index.dtype == column.dtype
    assert index.name == column.name
