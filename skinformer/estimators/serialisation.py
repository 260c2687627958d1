"""The list of all types that a fitted estimator is made of, in files and in pickles."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
from sklearn.ensemble import HistGradientBoostingClassifier, HistGradientBoostingRegressor
from sklearn.linear_model import ElasticNet, Lasso, LinearRegression, Ridge

from skinformer.classes.features import ClassFeatures
from skinformer.classes.fit import ClassFit, TargetFit
from skinformer.classes.frequencies import Frequencies, Transitions
from skinformer.classes.logistic import Logistic
from skinformer.classical.fit import ClassicalFit
from skinformer.classical.ridges import SharedRidges
from skinformer.ensemble.building import ModelSizes
from skinformer.ensemble.ensemble import Ensemble
from skinformer.ensemble.head import ClassHead, PointHead, QuantileHead
from skinformer.ensemble.members import ALL_KINDS
from skinformer.estimators.limits import ANNOTATIONS, LIMITS, RULES
from skinformer.estimators.modules import MODULE_KINDS, RESUMABLE_KINDS
from skinformer.estimators.parts import PARTS
from skinformer.intervals.calibration import Calibration
from skinformer.intervals.forecaster import Intervals
from skinformer.intervals.residuals import Residuals
from skinformer.intervals.spread import Spread
from skinformer.persistence import LABEL_KINDS, Codec, Kind, NotPlainError, record_kinds
from skinformer.persistence.schema import Schema
from skinformer.reading.labels import LabelReader, Labels, NumberReader
from skinformer.ridge.linear_fit import LinearFit, PhaseMaps
from skinformer.tabular.features import Columns, FeatureMaker
from skinformer.tabular.fit import Anchored, TabularFit
from skinformer.tabular.regressors import ReadyRegressor
from skinformer.tabular.trees import Boosted, Trees, plant, plant_classifier, uproot
from skinformer.timeline.arrays import AnyArray
from skinformer.timeline.clock import CLOCKS
from skinformer.timeline.cycle import CalendarEffect
from skinformer.timeline.outliers import Usual
from skinformer.timeline.roles import Roles
from skinformer.timeline.scaling import Scaler
from skinformer.timeline.target_scale import TargetScale
from skinformer.timeline.timeline import Timeline

_RECORDS = (
    *ALL_KINDS,
    *CLOCKS,
    Anchored,
    CalendarEffect,
    Calibration,
    ClassFeatures,
    ClassFit,
    ClassHead,
    ClassicalFit,
    Columns,
    Ensemble,
    FeatureMaker,
    Frequencies,
    Intervals,
    LabelReader,
    Labels,
    LinearFit,
    Logistic,
    ModelSizes,
    NumberReader,
    PhaseMaps,
    PointHead,
    QuantileHead,
    Residuals,
    Roles,
    Scaler,
    SharedRidges,
    Spread,
    TabularFit,
    TargetFit,
    TargetScale,
    Timeline,
    Transitions,
    Trees,
    Usual,
)
#: What `fit` leaves, and of which types.
FITTED: dict[str, Any] = {
    "sizes_": ModelSizes,
    "roles_": Roles,
    "timeline_": Timeline,
    "scaler_": Scaler,
    "head_": (PointHead, QuantileHead, ClassHead),
    "reader_": (NumberReader, LabelReader),
    "n_features_in_": int,
    "series_": (pd.Index, None),
    "_training_digest_": bytes,
    "_usual_": Usual,
    "device_": str,
    "attention_": str,
    "precision_": str,
    "ensemble_": Ensemble,
    "calibration_": Calibration,
    "history_": pd.DataFrame,
    "loss_curve_": list[float],
    "validation_scores_": (list[float], None),
    "n_iter_": int,
    "best_loss_": float,
}
SOMETIMES: dict[str, Any] = {
    "feature_names_in_": np.ndarray,
    "fit_times_": pd.DataFrame,
    "_intervals_": (Intervals, None),
}
#: Regressors that a few numbers say all of.
_LINEAR = (ElasticNet, Lasso, LinearRegression, Ridge)
_TREE = "_fitted_tree"
_LEARNT = ("coef_", "intercept_", "n_features_in_")


def _linear_kind(kind: type) -> Kind:
    def apart(regressor: Any) -> dict[str, Any]:
        learnt = {name: getattr(regressor, name) for name in _LEARNT if hasattr(regressor, name)}
        return {"parameters": regressor.get_params(), "learnt": learnt}

    def together(given: Any) -> Any:
        regressor = kind(**given["parameters"])
        vars(regressor).update(given["learnt"])
        return regressor

    return Kind(kind.__name__, kind, apart, together)


def _boosted_apart(boosted: Boosted) -> dict[str, Any]:
    if not hasattr(boosted, "_predictors"):
        return {"parameters": boosted.get_params(), "trees": None}
    trees = uproot(boosted)
    if trees is None:
        raise NotPlainError("", boosted)
    return {"parameters": None, "trees": trees}


def _boosted_together(given: Any) -> HistGradientBoostingRegressor:
    if given["trees"] is None:
        return HistGradientBoostingRegressor(**given["parameters"])
    return plant(given["trees"])


def _classifier_apart(classifier: HistGradientBoostingClassifier) -> dict[str, Any]:
    parts = _boosted_apart(classifier)
    return parts | {"classes": None if parts["trees"] is None else classifier.classes_}


def _classifier_together(given: Any) -> HistGradientBoostingClassifier:
    if given["trees"] is None:
        return HistGradientBoostingClassifier(**given["parameters"])
    return plant_classifier(given["trees"], given["classes"])


def _ready_together(given: Any) -> ReadyRegressor:
    ready = ReadyRegressor(given.pop("regressor"), fill=given.pop("fill"))
    vars(ready).update(given)
    return ready


def _part_kind(part: Any) -> Kind:
    return Kind(part.__name__, part, lambda value: value.get_params(), lambda given: part(**given))


_KINDS = [
    *record_kinds(*_RECORDS),
    *LABEL_KINDS,
    *(_part_kind(part) for part in PARTS.values()),
    *(_linear_kind(kind) for kind in _LINEAR),
    Kind(
        "HistGradientBoostingRegressor",
        HistGradientBoostingRegressor,
        _boosted_apart,
        _boosted_together,
    ),
    Kind(
        "HistGradientBoostingClassifier",
        HistGradientBoostingClassifier,
        _classifier_apart,
        _classifier_together,
    ),
    Kind(
        "slice", slice, lambda part: [int(part.start), int(part.stop)], lambda given: slice(*given)
    ),
    Kind("ReadyRegressor", ReadyRegressor, lambda ready: dict(vars(ready)), _ready_together),
]
FILES, _PICKLES = Codec([*_KINDS, *MODULE_KINDS]), Codec([*_KINDS, *RESUMABLE_KINDS])
SCHEMA = Schema([*_KINDS, *MODULE_KINDS], ANNOTATIONS, LIMITS, RULES)
_CONTENT = {
    "params": dict[str, Any],
    "fitted": FITTED | {f"{name}?": hint for name, hint in SOMETIMES.items()},
    "versions": dict[str, str],
}


def check_content(tree: Any, arrays: list[AnyArray]) -> None:
    """Raise ModelFileError unless a tree and its arrays are those of a fitted model."""
    SCHEMA.check(tree, arrays, _CONTENT)


def read(tree: Any, arrays: list[AnyArray]) -> Any:
    """Build the parameters and fitted attributes that a file holds, after all of it was checked."""
    check_content(tree, arrays)
    return FILES.decode(tree, arrays)


def flatten(state: dict[str, Any]) -> dict[str, Any]:
    """Put attributes of a fit, as far as they are listed, into one tree of plain values."""
    fitted = {name: value for name, value in state.items() if name in FITTED | SOMETIMES}
    if not fitted:
        return state
    rest = {name: value for name, value in state.items() if name not in fitted}
    return {**rest, _TREE: _PICKLES.flatten(fitted)}


def unflatten(state: dict[str, Any]) -> dict[str, Any]:
    """Undo `flatten`; attributes that were never flat stay as they are."""
    if _TREE not in state:
        return state
    rest = {name: value for name, value in state.items() if name != _TREE}
    fitted: dict[str, Any] = _PICKLES.decode(state[_TREE], None)
    return rest | fitted
