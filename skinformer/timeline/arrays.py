"""Types of arrays, by the type of their numbers."""

from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

#: Whatever numbers the user's column held.
AnyArray: TypeAlias = npt.NDArray[Any]
#: One flag per row, step or series.
BoolArray: TypeAlias = npt.NDArray[np.bool_]
#: Standardised values.
Float32Array: TypeAlias = npt.NDArray[np.float32]
#: Values in the user's units, and whatever sums of them need all digits.
Float64Array: TypeAlias = npt.NDArray[np.float64]
#: Values of either type.
Floats: TypeAlias = npt.NDArray[np.floating]
#: Numbers of rows, steps, series and windows.
IntArray: TypeAlias = npt.NDArray[np.int64]
