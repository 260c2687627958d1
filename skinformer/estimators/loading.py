"""Fitted estimators from files, whoever wrote them."""

from __future__ import annotations

import os
import warnings
from collections.abc import Sequence
from typing import Any

import pandas as pd

import skinformer
from skinformer.ensemble.head import ClassHead
from skinformer.estimators.classifier import InformerClassifier
from skinformer.estimators.regressor import InformerRegressor
from skinformer.estimators.serialisation import read
from skinformer.persistence.container import read_content
from skinformer.persistence.errors import ModelFileError, UnknownForecasterError
from skinformer.reading.layout import Layout


def load(
    path: str | os.PathLike[str], *, forecasters: Sequence[Any] = ()
) -> InformerRegressor | InformerClassifier:
    """
    Read a model that `save` wrote; nothing in the file is run or imported.

    Parameters
    ----------
    path : str or path-like
        The file.
    forecasters : sequence, default=()
        Classes of the forecasters that the user brought as members: a file holds the name of the
        class and what `to_config` gave, and ``from_config`` builds it again. A forecaster itself
        stands for one of the same class and config.

    Returns
    -------
    InformerRegressor or InformerClassifier
        Fitted; its forecasts are those of the one that was saved, bit for bit on the same machine
        and versions. On the CPU where CUDA is missing.

    Raises
    ------
    ModelFileError
        A ValueError: the file is damaged, cut off, forged, or of a format that this version does
        not read; or it holds a forecaster whose class is not among `forecasters`.
    OSError
        If it cannot be read.

    Examples
    --------
    >>> import numpy as np, pandas as pd, skinformer, tempfile
    >>> df = pd.DataFrame({"load": np.sin(np.arange(90.0))})
    >>> sizes = {"seq_len": 8, "pred_len": 2, "training": skinformer.Training(max_iter=1)}
    >>> sizes["network"] = skinformer.Network(d_model=8, n_heads=2)
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
        return _built(read(content, forecasters))
    except (MemoryError, UnknownForecasterError):
        raise
    except Exception as error:  # a forged file can end in any
        raise _refusal(path, error) from error


def _refusal(path: str | os.PathLike[str], error: Exception) -> ModelFileError:
    fault = "it holds no fitted model"
    if isinstance(error, ModelFileError):
        fault = str(error)
    return ModelFileError(
        f"{os.fspath(path)!r} is damaged, or no model of this version "
        f"({skinformer.__version__}): {fault}. Save the model anew, or load the file with the "
        "version that wrote it."
    )


def _built(content: Any) -> InformerRegressor | InformerClassifier:
    params = content["params"]
    state = content["fitted"]
    classifies = isinstance(state["head_"], ClassHead)
    model = InformerClassifier(**params) if classifies else InformerRegressor(**params)
    # Files of before there were such frames have none of these.
    of_frames = {"layout_": Layout(), "_may_skip_": False, "_closed_dates_": ()}
    vars(model).update(of_frames | state)
    fitted_on = model.device_
    model.device_ = "cpu"  # where all that is read lies
    _try(model)
    model.device_ = fitted_on
    model._place_module()
    return model


def _try(model: InformerRegressor | InformerClassifier) -> None:
    """Forecast the steps after the first and the last series: what cannot is no model."""
    most_steps = 4096 + 4 * len(model.timeline_.values)
    if model._forecaster.look_back + model.sizes_.pred_len > most_steps:
        raise ModelFileError("its windows are longer than its rows say anything of")
    ahead = _rows_ahead(model)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of what is missing in these rows
        if isinstance(model, InformerClassifier):
            model.forecast_proba(ahead)
        else:
            has_intervals = getattr(model, "_intervals_", None) is not None
            model.forecast(ahead, coverage=0.8 if has_intervals else None)


def _rows_ahead(model: InformerRegressor | InformerClassifier) -> pd.DataFrame | None:
    """Make rows for the steps after the first and the last series; None where none are needed."""
    known: Any = list(model.roles_.sources_of(model.roles_.known))
    if model.series_ is None and not known:
        return None
    rows = model._future_frame(None)  # series lie one behind the other
    rows[known] = 0.0
    for categories in model.roles_.categories:
        if categories.name in known:
            rows[categories.name] = categories.levels[0] if categories.levels else ""
    if model.timeline_.n_series == 1:
        return rows
    pred_len = model.sizes_.pred_len
    return pd.concat([rows.head(pred_len), rows.tail(pred_len)])
