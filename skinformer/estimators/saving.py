"""Fitted estimators to files: all rows, or the context of later forecasts alone."""

from __future__ import annotations

import os
from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd
import sklearn
import torch

import skinformer
from skinformer.estimators.intervals import IntervalsMixin
from skinformer.estimators.serialisation import FILES, check_content
from skinformer.estimators.state import FittedState
from skinformer.intervals.forecaster import IntervalForecaster
from skinformer.persistence import Content, ModelFileError, NotPlainError, write_content
from skinformer.rolling.future import nothing_observed
from skinformer.validation.arguments import check_fitted
from skinformer.validation.files import (
    check_own_class,
    check_saved_history,
    refuse_to_save,
    refuse_to_save_extremes,
)

#: What scikit-learn puts on an estimator beside parameters: callbacks, and a fit's tasks.
_SKLEARNS = ("_sk", "_callback_fit_ctx", "_parent_callback_ctx")


def save(model: FittedState, path: str | os.PathLike[str], *, history: str) -> None:
    """Write a fitted model to a file; see `InformerRegressor.save`."""
    check_fitted(model)
    check_saved_history(history)
    check_own_class(model)
    params = model.get_params(deep=False)
    state = {
        name: value
        for name, value in vars(model).items()
        if name not in params and not name.startswith(_SKLEARNS)
    }
    if history == "context":
        state |= _context(model)
    # A checkpoint is a place on this machine, and of a fit that has ended.
    content = {"params": params | {"checkpoint": None}, "fitted": state, "versions": _versions()}
    try:
        tree, arrays = FILES.encode(content)
        check_content(tree, arrays)  # a file that `load` refuses would be a model lost
    except NotPlainError as error:
        refuse_to_save(error.place, error.value)
    except ModelFileError as error:
        refuse_to_save_extremes(error)
    write_content(path, Content(tree, arrays))


def _versions() -> dict[str, str]:
    packages = (skinformer, np, pd, sklearn, torch)
    return {package.__name__: str(package.__version__) for package in packages}


def _context(model: FittedState) -> dict[str, Any]:
    """Give what of a fit's state differs where only the rows stay that later forecasts need."""
    forecaster, found = model._forecaster, {}
    if isinstance(model, IntervalsMixin):
        found = {"_intervals_": model.intervals_}
        if model.intervals_ is not None:  # they look further back
            nothing = nothing_observed(model.timeline_)
            forecaster = IntervalForecaster.of(forecaster, model.intervals_, nothing)
    # After an update a block may begin before the first row that may be asked for.
    n_rows = max(forecaster.look_back, model._usual_.season) + model.sizes_.pred_len
    return {
        "timeline_": model.timeline_.recent(n_rows),
        "ensemble_": replace(model.ensemble_, held_out={}),
        "calibration_": replace(model.calibration_, split=None),
        **found,
    }
