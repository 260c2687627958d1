"""The list of all types that a fitted estimator is made of, in files and in pickles."""

from collections.abc import Callable, Iterable
from inspect import get_annotations
from typing import Any

import numpy as np
from sklearn.ensemble import (
    HistGradientBoostingClassifier,
    HistGradientBoostingRegressor,
)
from sklearn.linear_model import ElasticNet, Lasso, LinearRegression, Ridge

from skinformer.ensemble.head import ClassHead, PointHead, QuantileHead
from skinformer.ensemble.history_forecaster import HistoryForecaster
from skinformer.ensemble.members import ALL_KINDS
from skinformer.estimators.modules import MODULE_KINDS, RESUMABLE_KINDS
from skinformer.estimators.parts import PART_KINDS
from skinformer.estimators.state import FittedState
from skinformer.intervals.forecaster import Intervals
from skinformer.persistence.checks import FieldCheck
from skinformer.persistence.codec import Codec, Kind, record_kinds, record_types
from skinformer.persistence.container import Content
from skinformer.persistence.errors import (
    ModelFileError,
    NotPlainError,
    UnknownForecasterError,
)
from skinformer.persistence.labels import LABEL_KINDS
from skinformer.reading.labels import LabelReader
from skinformer.ridge.linear_fit import LinearFit
from skinformer.ridge.linear_path import LinearPath
from skinformer.tabular.regressors import ReadyRegressor
from skinformer.tabular.trees import (
    Boosted,
    Trees,
    classifier_from_arrays,
    from_arrays,
    to_arrays,
)
from skinformer.timeline.arrays import AnyArray
from skinformer.timeline.clock import CLOCKS, Clock
from skinformer.timeline.seen_range import SeenRange
from skinformer.timeline.target_scale import FittedTransformer

#: What `fit` leaves, and of which types.
FITTED: dict[str, Any] = get_annotations(FittedState, eval_str=True) | {
    "feature_names_in_": np.ndarray,
    "head_": PointHead | QuantileHead | ClassHead,
    "_intervals_": Intervals | None,
    "_seen_range_": SeenRange | None,
}
#: The records of these, and those that stand where an annotation says less; no transformers, which
#: are anybody's.
_RECORDS = record_types(
    [*FITTED.values(), *ALL_KINDS, *CLOCKS, LabelReader, LinearFit, Trees]
)
_RECORDS = [kind for kind in _RECORDS if kind not in (Clock, FittedTransformer)]


def _linear_kind(kind: type) -> Kind:
    """List a regressor that a few numbers say all of."""

    def encode(regressor: Any) -> dict[str, Any]:
        names = {"coef_", "intercept_", "n_features_in_"}
        return {
            "parameters": regressor.get_params(),
            "learnt": {
                name: value for name, value in vars(regressor).items() if name in names
            },
        }

    def decode(given: Any) -> Any:
        regressor = kind(**given["parameters"])
        vars(regressor).update(given["learnt"])
        return regressor

    return Kind(kind.__name__, kind, encode, decode)


def _boosted_kind(kind: Any, make: Callable[..., Any], *beside: str) -> Kind:
    """List trees: unfitted by their parameters, fitted by what they learnt and names beside it."""

    def encode(boosted: Boosted) -> dict[str, Any]:
        if not hasattr(boosted, "_predictors"):
            return {
                "parameters": boosted.get_params(),
                "trees": None,
                **dict.fromkeys(beside),
            }
        trees = to_arrays(boosted)
        if trees is None:
            raise NotPlainError("", boosted)
        learnt = {name: getattr(boosted, f"{name}_") for name in beside}
        return {"parameters": None, "trees": trees, **learnt}

    def decode(given: Any) -> Any:
        if given["trees"] is None:
            return kind(**given["parameters"])
        return make(given["trees"], *(given[name] for name in beside))

    return Kind(kind.__name__, kind, encode, decode)


def _decode_ready(given: Any) -> ReadyRegressor:
    ready = ReadyRegressor(given["regressor"], fill=given["fill"])
    vars(ready).update(given)
    return ready


def _part_kind(part: Any) -> Kind:
    return Kind(
        part.__name__,
        part,
        lambda value: value.get_params(deep=False),
        lambda given: part(**given),
    )


_KINDS = [
    *record_kinds(*_RECORDS),
    *LABEL_KINDS,
    *map(_part_kind, PART_KINDS),
    *map(_linear_kind, (ElasticNet, Lasso, LinearRegression, Ridge)),
    _boosted_kind(HistGradientBoostingRegressor, from_arrays),
    _boosted_kind(HistGradientBoostingClassifier, classifier_from_arrays, "classes"),
    Kind(
        "slice",
        slice,
        lambda part: [int(part.start), int(part.stop)],
        lambda given: slice(*given),
    ),
    Kind(
        "ReadyRegressor", ReadyRegressor, lambda ready: dict(vars(ready)), _decode_ready
    ),
    Kind(
        "HistoryForecaster",
        HistoryForecaster,
        lambda value: [value.forecaster, value.name],
        lambda given: HistoryForecaster(*given),
    ),
]
FILES = Codec([*_KINDS, *MODULE_KINDS])
_PICKLES = Codec([*_KINDS, *RESUMABLE_KINDS])


def write(content: dict[str, Any]) -> Content:
    """Write parameters and fitted attributes as plain values, after all of them were checked."""
    tree, arrays = FILES.encode(content)
    check_content(content, arrays)
    return Content(tree, arrays)


def read(stored: Content, forecasters: Iterable[Any] = ()) -> dict[str, Any]:
    """Build the parameters and fitted attributes that a file holds, and check all of them.

    forecasters: classes that members of users are rebuilt by, or such members.
    """

    def rebuild(name: str, config: Any) -> Any:
        for forecaster in forecasters:
            if isinstance(forecaster, type) and forecaster.__name__ == name:
                return forecaster.from_config(config)  # type: ignore[attr-defined]
            if type(forecaster).__name__ == name and forecaster.to_config() == config:
                return forecaster
        raise UnknownForecasterError(name)

    content: dict[str, Any] = FILES.decode(*stored, rebuild)
    check_content(content, stored.arrays)
    return content


def check_content(content: Any, arrays: list[AnyArray]) -> None:
    """Raise ModelFileError unless parameters and fitted attributes are those of a fitted model."""
    # Where numbers may be unknown or infinite, or as large as they like.
    unbounded = {
        "Timeline.values",
        "TargetScale.floor",
        "TargetScale.low",
        "TargetScale.top",
        "TargetScale.rise",
        "OutlierBounds.ranges",
        "OutlierBounds.jump_limits",
        "OutlierBounds.recent",
        "SeenRange.low",
        "SeenRange.high",
        "Reasons.known",
        "Reasons.events",
        "FeatureMaker.low",
        "FeatureMaker.high",
        "TabularFit.zero",
        "Trees.value",
        "Logistic.scale",
        "Residuals.errors",
        "best_loss_",
        "loss_curve_",
        "validation_scores_",
        "n_iter_",
    }
    check = FieldCheck(
        unbounded,
        n_numbers=sum(array.size for array in arrays),
        wrappers={LinearPath: "fit"},
    )
    check.check(content["params"], dict[str, Any], "params")
    fitted = content["fitted"]
    may_lack = {
        "feature_names_in_",
        "fit_times_",
        "layout_",
        "_may_skip_",
        "_closed_dates_",
        "_intervals_",
        "_seen_range_",
        "_standings_",
    }
    if not FITTED.keys() - may_lack <= fitted.keys() <= FITTED.keys():
        raise ModelFileError("its fit has other attributes")
    for name, value in fitted.items():
        check.check(value, FITTED[name], name)


def flatten(state: dict[str, Any]) -> dict[str, Any]:
    """Put attributes of a fit, as far as they are listed, into one tree of plain values."""
    if state.keys().isdisjoint(FITTED):
        return state
    return _PICKLES.flatten(state, FITTED)


def unflatten(state: dict[str, Any]) -> dict[str, Any]:
    """Undo `flatten`; attributes that were never flat stay as they are."""
    return _PICKLES.unflatten(state)
