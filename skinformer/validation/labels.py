"""Labels of classes: which can be learnt, and how their classes are weighed."""

from __future__ import annotations

from collections.abc import Hashable
from typing import Any

import numpy as np
import numpy.typing as npt
from sklearn.utils.class_weight import compute_class_weight
from sklearn.utils.multiclass import check_classification_targets

from skinformer.timeline.arrays import AnyArray, Float64Array
from skinformer.validation.truth import check_truth_given
from skinformer.validation.warning import warn_user

__all__ = [
    "check_class_weights",
    "class_weights",
    "label_array",
    "raise_other_labels",
    "sorted_classes",
    "warn_of_unseen_labels",
]


def label_array(y: Any) -> npt.NDArray[Any]:
    """Give labels as an array of one or two dimensions."""
    check_truth_given(y)
    values = np.asarray(y)
    if values.dtype.kind in "US" and not isinstance(y, np.ndarray):
        values = np.asarray(y, dtype=object)  # a list of texts and None, which numpy would print
    if values.ndim not in (1, 2):
        raise ValueError(
            f"y should be a 1d array, got an array of shape {values.shape} instead: pass one label "
            "a row, or one column a target."
        )
    return values


def sorted_classes(observed: AnyArray, where: str) -> AnyArray:
    """Sort the classes among labels; raise where labels are no classes."""
    if observed.dtype.kind == "f" and np.isinf(observed).any():
        raise ValueError(
            f"Input {where} contains infinity or a value too large for {observed.dtype!r}: a "
            "class is a label. Make it NaN where it is missing."
        )
    if observed.dtype.kind == "f" and (observed % 1).any():
        raise ValueError(
            f"Unknown label type: continuous. {where} holds {observed[observed % 1 != 0][0]:g}, "
            "and classes are labels. Forecast numbers by InformerRegressor, or make classes of "
            "them by pd.cut."
        )
    if observed.dtype.kind not in "fO":
        check_classification_targets(observed)
    try:
        return np.asarray(np.unique(observed))
    except TypeError as error:
        kinds = sorted({type(label).__name__ for label in observed})
        raise TypeError(
            f"{where} mixes labels of types {' and '.join(kinds)}, which have no order: make them "
            "all of one type, for example by astype(str)."
        ) from error


def check_class_weights(class_weight: Any, n_targets: int) -> list[Any]:
    """Give each target its weights of classes."""
    if not isinstance(class_weight, list):
        return [class_weight] * n_targets
    if len(class_weight) != n_targets:
        raise ValueError(
            f"class_weight has {len(class_weight)} entries for {n_targets} target(s): pass one "
            "dictionary a target in the list, or 'balanced' for all."
        )
    return class_weight


def class_weights(class_weight: Any, classes: AnyArray, observed: AnyArray) -> Float64Array | None:
    """Weigh the classes of one target, as scikit-learn does; None weighs all alike."""
    if class_weight is None or not len(classes):
        return None
    return np.asarray(compute_class_weight(class_weight, classes=classes, y=observed))


def raise_other_labels(name: Hashable, label: Any) -> None:
    """Raise if the target's column of X holds what is no class of y."""
    raise ValueError(
        f"X holds {label!r} in the column {name!r}, which is no class of y: both are the same "
        "labels. Leave the column out of scalers and encoders, or drop it from X."
    )


def warn_of_unseen_labels(where: str, label: Any, count: int) -> None:
    """Warn of labels that no training row had."""
    warn_user(
        f"{where} holds {label!r}, which fit never saw ({count} row(s) of such labels): they are "
        "taken as missing. Fit again with rows that hold them."
    )
