"""A digest by which rows without an index are recognised."""

import hashlib
from typing import Any

import numpy as np


def content_digest(X: Any) -> bytes:
    """Return a digest of the values of rows: equal for equal values, whatever their dtype."""
    values = np.asarray(X)
    digest = hashlib.blake2b(repr(values.shape).encode())
    n_rows = 2**16
    for start in range(0, len(values), n_rows):
        part = values[start : start + n_rows]
        part = np.ascontiguousarray(part, dtype=np.float64)
        digest.update(part.data)
    return digest.digest()
