"""Types of arrays, by the type of their numbers, and rows of arrays that may be absent."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

#: Whatever numbers the user's column held.
AnyArray = NDArray[Any]
#: One flag per row, step or series.
BoolArray = NDArray[np.bool_]
#: Standardised values.
Float32Array = NDArray[np.float32]
#: Values in the user's units, and whatever sums of them need all digits.
Float64Array = NDArray[np.float64]
#: Values of either type.
Floats = NDArray[np.floating]
#: Numbers of rows, steps, series and windows.
IntArray = NDArray[np.int64]


def take_rows(values: Any, rows: Any) -> Any:
    """Return some rows of an array; None of None."""
    return None if values is None else values[rows]
