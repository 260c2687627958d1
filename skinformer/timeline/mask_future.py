"""MaskFuture (note, section 1): hide from the decoder what is not known ahead."""

from typing import Any


def mask_future(
    values: Any, *, n_future: int, hidden: slice | list[int], fill: float
) -> Any:
    """Hide columns in the last rows of each window, or one table, in a copy.

    Values are standardised: a raw zero may lie many deviations from the mean, so masking comes
    after scaling. ``hidden`` columns are not known ahead: the target and the past-only ones.

    >>> import numpy as np
    >>> mask_future(np.ones((3, 2)), n_future=2, hidden=[0], fill=0.0)
    array([[1., 1.],
           [0., 1.],
           [0., 1.]])
    """
    # A tensor's copy is called so.
    masked = values.clone() if hasattr(values, "clone") else values.copy()
    n_known = masked.shape[-2] - n_future
    masked[..., max(n_known, 0) :, hidden] = fill
    return masked
