"""MaskFuture (note, section 1): hide from the decoder what is not known ahead."""

from typing import Any, TypeVar

Values = TypeVar("Values")


def mask_future(
    values: Values,
    *,
    n_future: int,
    hidden: slice | list[int],
    fill: float,
) -> Values:
    """Hide columns in the last rows of each window, or one table, in a copy (the note, section 1).

    Values are standardised: a raw zero may lie many deviations from the mean, so masking comes
    after scaling. ``hidden`` columns are not known ahead: the target and the past-only ones.

    >>> import numpy as np
    >>> mask_future(np.ones((3, 2)), n_future=2, hidden=[0], fill=0.0)
    array([[1., 1.],
           [0., 1.],
           [0., 1.]])
    """
    source: Any = values
    masked = source.clone() if hasattr(source, "clone") else source.copy()
    start = max(0, masked.shape[-2] - n_future)
    masked[..., start:, hidden] = fill
    return masked
