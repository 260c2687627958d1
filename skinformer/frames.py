"""Frames of polars, of arrow and of other libraries as those of pandas, and back.

The one place that converts. narwhals reads what it knows; the rest comes by Arrow's interface for
streams or, older, by the interchange protocol of frames. Inside, all frames are of pandas.
"""

from typing import Any, NamedTuple

import pandas as pd

#: The library of frames that need no conversion.
PANDAS = "pandas"


class Read(NamedTuple):
    """Rows as pandas has them, and the name of the library that they came from."""

    rows: Any
    library: str


def is_foreign(X: Any) -> bool:
    """Whether X is a frame or a column of a library other than pandas.

    >>> is_foreign(pd.DataFrame()), is_foreign([1.0]), is_foreign(None)
    (False, False, False)
    """
    if isinstance(X, pd.DataFrame | pd.Series | pd.Index):
        return False
    kind = type(X)  # of a lazy frame the names of columns are work
    return any(
        hasattr(kind, name)
        for name in (
            "__narwhals_dataframe__",
            "__narwhals_series__",
            "__narwhals_lazyframe__",
            "__arrow_c_stream__",
            "__dataframe__",
            "columns",
        )
    )


def to_pandas(X: Any) -> Any:
    """Return frames and columns of other libraries as those of pandas, all else as it is."""
    return read_frame(X).rows


def read_frame(X: Any) -> Read:
    """Return frames and columns of any library as those of pandas, and the library's name."""
    if not is_foreign(X):
        return Read(X, PANDAS)
    frame = _of_narwhals(X)
    if frame is None:
        frame = _read_stream(X)
    elif hasattr(frame, "collect"):  # a lazy one
        frame = frame.collect(backend=library_of(X))
    if frame is None:
        return Read(X, PANDAS)
    return Read(_as_pandas(frame), str(frame.implementation.value))


def _of_narwhals(X: Any) -> Any:
    """Return a frame or a column as narwhals has it; None where it knows none of the kind."""
    import narwhals as nw  # only where such a frame comes: it is not free

    frame = nw.from_native(X, pass_through=True, allow_series=True)
    return frame if isinstance(frame, nw.DataFrame | nw.LazyFrame | nw.Series) else None


def is_frame(X: Any) -> bool:
    """Whether X is a table with names of columns, of whatever library.

    >>> is_frame(pd.DataFrame()), is_frame(pd.Series()), is_frame([[1.0]])
    (True, False, False)
    """
    if not is_foreign(X):
        return isinstance(X, pd.DataFrame)
    frame = _of_narwhals(X)
    return frame is None or hasattr(frame, "collect_schema")


def column_names(X: Any) -> list[Any]:
    """Return the names of the columns of a frame."""
    frame: Any = _of_narwhals(X) if is_foreign(X) else None
    if hasattr(frame, "collect_schema"):
        return list(frame.collect_schema())
    return list(to_pandas(X).columns)


def library_of(X: Any) -> str:
    """Return the name of the library of a frame, without converting it."""
    if not is_foreign(X):
        return PANDAS
    frame = _of_narwhals(X)
    if frame is None:
        return "pyarrow"
    name = str(frame.implementation.value)
    is_read_by_arrow = hasattr(frame, "collect") and name != "polars"
    return "pyarrow" if is_read_by_arrow else name


def _read_stream(X: Any) -> Any:
    """Read a frame that narwhals does not know by a protocol; None if it has none."""
    import narwhals as nw

    if hasattr(X, "__arrow_c_stream__"):
        return nw.DataFrame.from_arrow(X, backend="pyarrow")
    if hasattr(X, "__dataframe__"):
        from pyarrow.interchange import from_dataframe

        return nw.from_native(from_dataframe(X))
    return None


def _as_pandas(frame: Any) -> Any:
    """Convert a frame or a column of narwhals, without pyarrow where it is not installed."""
    try:
        return frame.to_pandas()
    except ImportError:
        if not hasattr(frame, "columns"):
            return pd.Series(frame.to_numpy(), name=frame.name)
        columns = {name: frame[name].to_numpy() for name in frame.columns}
        return pd.DataFrame(columns)


def to_library(frame: pd.DataFrame, library: str) -> Any:
    """Return the columns of a frame of pandas as a frame of a library; its index is left out."""
    if library == PANDAS:
        return frame
    import narwhals as nw

    backend: Any = library
    named = frame.reset_index(drop=True)
    named.columns = [_as_text(name) for name in frame.columns]
    try:
        return nw.from_arrow(named, backend=backend).to_native()
    except ImportError:  # there is no pyarrow
        columns = {str(name): column.to_numpy() for name, column in named.items()}
        return nw.from_dict(columns, backend=backend).to_native()


def _as_text(name: Any) -> str:
    """Write a column's name as text, as other libraries need it; parts of one are joined.

    >>> _as_text(0), _as_text(("load", 3))
    ('0', 'load_3')
    """
    if isinstance(name, tuple):
        return "_".join(str(part) for part in name)
    return str(name)
