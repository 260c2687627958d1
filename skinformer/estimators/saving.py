"""Fitted estimators in files: the list of all types that a file may hold, writing and reading."""

from __future__ import annotations

import os
from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd
import sklearn
import torch
from sklearn.ensemble import HistGradientBoostingRegressor
from sklearn.linear_model import ElasticNet, Lasso, LinearRegression, Ridge

import skinformer
from skinformer import validation
from skinformer.classical.fit import ClassicalFit, Learnt
from skinformer.classical.own import OwnRidges
from skinformer.classical.ridges import SharedRidges
from skinformer.estimators.building import ModelSizes
from skinformer.estimators.calibration import Calibration
from skinformer.estimators.future import nothing_observed
from skinformer.estimators.head import PointHead
from skinformer.estimators.joining import Judged
from skinformer.estimators.modules import MODULE_KINDS, RESUMABLE_KINDS
from skinformer.estimators.parts import PARTS
from skinformer.estimators.ranges import RangeForecaster, Ranges
from skinformer.estimators.regressor import InformerRegressor
from skinformer.estimators.shares import Shares
from skinformer.estimators.simple_path import SimplePath
from skinformer.model.corrected import Corrected
from skinformer.model.informer import Informer
from skinformer.persistence import (
    LABEL_KINDS,
    Codec,
    Content,
    Kind,
    ModelFileError,
    NotPlainError,
    read_content,
    record_kinds,
    write_content,
)
from skinformer.ranges.residuals import Residuals
from skinformer.ranges.spread import Spread
from skinformer.tabular.features import Columns, FeatureMaker
from skinformer.tabular.fit import Member, TabularFit
from skinformer.tabular.regressors import ReadyRegressor
from skinformer.tabular.trees import Trees, plant, uproot
from skinformer.timeline import clock as clocks
from skinformer.timeline.roles import Roles
from skinformer.timeline.scaling import Scaler
from skinformer.timeline.target_scale import TargetScale
from skinformer.timeline.timeline import Timeline

__all__ = ["flatten", "load", "save", "unflatten"]

_RECORDS = (
    clocks.IntegerClock,
    clocks.RowClock,
    clocks.PeriodClock,
    clocks.ElapsedClock,
    clocks.WallClock,
    Calibration,
    ClassicalFit,
    Columns,
    FeatureMaker,
    Judged,
    Learnt,
    Member,
    ModelSizes,
    OwnRidges,
    PointHead,
    Ranges,
    Residuals,
    Roles,
    Scaler,
    SharedRidges,
    Shares,
    SimplePath,
    Spread,
    TabularFit,
    TargetScale,
    Timeline,
    Trees,
)
#: What `fit` leaves, and of which types.
_FITTED: dict[str, Any] = {
    "head_": PointHead,
    "n_features_in_": int,
    "roles_": Roles,
    "series_": (pd.Index, type(None)),
    "_training_digest_": bytes,
    "scaler_": Scaler,
    "timeline_": Timeline,
    "sizes_": ModelSizes,
    "device_": str,
    "attention_": str,
    "precision_": str,
    "module_": (Corrected, Informer),
    "judged_": Judged,
    "calibration_": Calibration,
    "trust_": (float, np.floating),
    "base_blend_": dict,
    "history_": pd.DataFrame,
    "loss_curve_": list,
    "validation_scores_": (list, type(None)),
    "n_iter_": int,
    "best_loss_": float,
}
_SOMETIMES: dict[str, Any] = {
    "feature_names_in_": np.ndarray,
    "_ranges_": (Ranges, type(None)),
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
        if not set(given["learnt"]) <= set(_LEARNT):
            raise ModelFileError("a regressor has other attributes")
        vars(regressor).update(given["learnt"])
        return regressor

    return Kind(kind.__name__, kind, apart, together)


def _boosted_apart(regressor: HistGradientBoostingRegressor) -> dict[str, Any]:
    if not hasattr(regressor, "_predictors"):
        return {"parameters": regressor.get_params(), "trees": None}
    trees = uproot(regressor)
    if trees is None:
        raise NotPlainError("", regressor)
    return {"parameters": None, "trees": trees}


def _boosted_together(given: Any) -> HistGradientBoostingRegressor:
    if given["trees"] is None:
        return HistGradientBoostingRegressor(**given["parameters"])
    return plant(given["trees"])


def _ready_together(given: Any) -> ReadyRegressor:
    ready = ReadyRegressor(given.pop("regressor"), fill=given.pop("fill"))
    if not set(given) <= {"used", "mean", "deviation"}:
        raise ModelFileError("a regressor has other attributes")
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
    Kind("ReadyRegressor", ReadyRegressor, lambda ready: dict(vars(ready)), _ready_together),
]
_FILES, _PICKLES = Codec([*_KINDS, *MODULE_KINDS]), Codec([*_KINDS, *RESUMABLE_KINDS])


def flatten(state: dict[str, Any]) -> dict[str, Any]:
    """
    Put a fit's attributes into one tree of plain values and arrays, as far as they are listed.

    Parameters
    ----------
    state : dict
        Attributes of an estimator.

    Returns
    -------
    dict
        The others, and the tree.
    """
    fitted = {name: value for name, value in state.items() if name in _FITTED | _SOMETIMES}
    if not fitted:
        return state
    rest = {name: value for name, value in state.items() if name not in fitted}
    return {**rest, _TREE: _PICKLES.flatten(fitted)}


def unflatten(state: dict[str, Any]) -> dict[str, Any]:
    """
    Undo `flatten`.

    Parameters
    ----------
    state : dict
        From `flatten`, or attributes that were never flat.

    Returns
    -------
    dict
        Attributes of an estimator.
    """
    if _TREE not in state:
        return state
    rest = {name: value for name, value in state.items() if name != _TREE}
    fitted: dict[str, Any] = _PICKLES.decode(state[_TREE], None)
    return rest | fitted


def save(model: InformerRegressor, path: str | os.PathLike[str], *, history: str) -> None:
    """
    Write a fitted model to a file; see `InformerRegressor.save`.

    Parameters
    ----------
    model : InformerRegressor
        Fitted.
    path : path-like
        Target file.
    history : {"all", "context"}
        Which rows the file holds.
    """
    validation.check_fitted(model)
    validation.check_saved_history(history)
    validation.check_own_class(model, InformerRegressor)
    params = model.get_params(deep=False)
    state = {
        name: value
        for name, value in vars(model).items()
        if name not in params and not name.startswith(("_sk", "_sklearn"))
    }
    if history == "context":
        state |= _context(model)
    # A checkpoint is a place on this machine, and of a fit that has ended.
    content = {"params": params | {"checkpoint": None}, "fitted": state, "versions": _versions()}
    try:
        tree, arrays = _FILES.encode(content)
    except NotPlainError as error:
        validation.refuse_to_save(error.place, error.value)
    write_content(path, Content(tree, arrays))


def load(path: str | os.PathLike[str]) -> InformerRegressor:
    """
    Read a model that `InformerRegressor.save` wrote; nothing in the file is run or imported.

    Parameters
    ----------
    path : str or path-like
        The file.

    Returns
    -------
    InformerRegressor
        Fitted; its forecasts are those of the one that was saved, bit for bit on the same machine
        and versions. On the CPU where CUDA is missing.

    Raises
    ------
    ModelFileError
        A ValueError: the file is damaged, cut off, forged, or of a format that this version does
        not read.
    OSError
        If it cannot be read.

    Examples
    --------
    >>> import numpy as np, pandas as pd, skinformer, tempfile
    >>> df = pd.DataFrame({"load": np.sin(np.arange(90.0))})
    >>> sizes = {"seq_len": 8, "pred_len": 2, "d_model": 8, "n_heads": 2, "max_iter": 1}
    >>> model = skinformer.InformerRegressor("load", **sizes).fit(df)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     model.save(f"{folder}/load.skinformer")
    ...     loaded = skinformer.load(f"{folder}/load.skinformer")
    >>> loaded.forecast().equals(model.forecast())
    True
    """
    try:
        content = read_content(path)
    except OSError:  # says nothing of the content
        raise
    except Exception as error:
        raise _refusal(path, error) from error
    try:
        return _together(_FILES.decode(*content))
    except MemoryError:
        raise
    except Exception as error:  # a forged file can end in any
        raise _refusal(path, error) from error


def _refusal(path: str | os.PathLike[str], error: Exception) -> ModelFileError:
    fault = str(error) if isinstance(error, ModelFileError) else "it holds no fitted model"
    return ModelFileError(
        f"{os.fspath(path)!r} is damaged, or no model of this version "
        f"({skinformer.__version__}): {fault}. Save the model anew, or load the file with the "
        "version that wrote it."
    )


def _versions() -> dict[str, str]:
    packages = (skinformer, np, pd, sklearn, torch)
    return {package.__name__: str(package.__version__) for package in packages}


def _together(content: Any) -> InformerRegressor:
    params, state = content["params"], content["fitted"]
    allowed = _FITTED | {name: kind for name, kind in _SOMETIMES.items() if name in state}
    if set(state) != set(allowed):
        raise ModelFileError("it holds other attributes than a fitted model has")
    for name, kind in allowed.items():
        if not isinstance(state[name], kind):
            raise ModelFileError(f"its {name} is something else")
    model = InformerRegressor(**params)
    vars(model).update(state)
    model._place_module()
    return model


def _context(model: InformerRegressor) -> dict[str, Any]:
    """Give what of a fit's state differs where only the rows stay that later forecasts need."""
    forecaster, ranges = model._forecaster, model.ranges_
    if ranges is not None:  # they look further back
        nothing = nothing_observed(model.timeline_)
        forecaster = RangeForecaster.of(forecaster, ranges, nothing)
    # After an update a block may begin before the first row that may be asked for.
    n_rows = forecaster.look_back + model.sizes_.pred_len
    found_from = model.calibration_
    return {
        "timeline_": model.timeline_.recent(n_rows),
        "judged_": replace(model.judged_, earlier=None),
        "calibration_": replace(found_from, path=None, tail=None),
        "_ranges_": ranges,
    }
