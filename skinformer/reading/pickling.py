"""Pickles of what keeps rows' places: plain values and arrays, no object of pandas."""

from typing import Any

from sklearn.base import BaseEstimator

from skinformer.persistence.codec import Codec, record_kinds
from skinformer.persistence.labels import LABEL_KINDS
from skinformer.reading.places import RowPlaces
from skinformer.timeline.clock import CLOCKS

_CODEC = Codec([*LABEL_KINDS, *record_kinds(*CLOCKS, RowPlaces)])


class PlainPickles(BaseEstimator):
    """Put what `fit` left into one tree, so that skops and its like can hold an estimator."""

    def __getstate__(self) -> dict[str, Any]:
        """Make what is not a parameter plain, as far as it can be."""
        state: dict[str, Any] = super().__getstate__()
        return _CODEC.flatten(state, state.keys() - self.get_params(deep=False).keys())

    def __setstate__(self, state: dict[str, Any]) -> None:
        """Restore what was made plain."""
        super().__setstate__(_CODEC.unflatten(state))
