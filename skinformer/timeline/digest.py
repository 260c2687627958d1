"""A digest by which rows without an index are recognised."""

import hashlib
from typing import Any

import numpy as np


def content_digest(X: Any) -> bytes:
    """Return a digest of the values of rows: equal for equal values, whatever their dtype."""
    values = np.asarray(X)
    digest = hashlib.blake2b(repr(values.shape).encode())
    for start in range(0, len(values), 1 << 16):
        chunk = np.ascontiguousarray(
            values[start : start + (1 << 16)], dtype=np.float64
        )
        digest.update(chunk.data)
    return digest.digest()
