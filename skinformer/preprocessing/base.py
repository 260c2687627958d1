"""What the transformers share: rows in, the same rows out, as array or frame."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
from sklearn.base import TransformerMixin

from skinformer.reading.columns import places_of_names
from skinformer.reading.pickling import PlainPickles
from skinformer.timeline.arrays import AnyArray


class RowTransformer(TransformerMixin, PlainPickles):
    """
    A transformer that keeps one row per row and the index of frames.

    Unlike scikit-learn's own it returns a frame for a frame without being asked: an index that is
    lost on the way leaves the next step without a clock.

    Examples
    --------
    >>> import pandas as pd
    >>> from skinformer import MaskFuture
    >>> months = pd.period_range("2024", periods=2, freq="M")
    >>> frame = pd.DataFrame({"load": [1.0, 2.0]}, index=months)
    >>> MaskFuture(pred_len=1).fit_transform(frame).index.equals(frame.index)
    True
    """

    def __sklearn_tags__(self) -> Any:
        """Declare that NaN passes through."""
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        return tags

    def _wrap(self, values: AnyArray, X: Any) -> Any:
        """Wrap values as X is: a frame with its index for a frame, else an array.

        Columns of names, such as text, are those of X.
        """
        if not isinstance(X, pd.DataFrame | pd.Series):
            return values
        # PERF: without a copy, as the values are new; of windows it would double the memory.
        frame = pd.DataFrame(
            values, index=X.index, columns=self.get_feature_names_out(), copy=False
        )
        rows: Any = X
        for place in places_of_names(X):
            frame.isetitem(place, rows.iloc[:, place])
        return frame


def as_float(values: AnyArray) -> AnyArray:
    """Make room for means and NaN beside whole numbers."""
    if values.dtype.kind == "f":
        return values
    return values.astype(np.float64)
