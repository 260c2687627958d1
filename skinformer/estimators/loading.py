"""Fitted estimators from files, which are believed nothing."""

from __future__ import annotations

import os
from typing import Any

import numpy as np

import skinformer
from skinformer.ensemble.head import ClassHead
from skinformer.estimators.classifier import InformerClassifier
from skinformer.estimators.regressor import InformerRegressor
from skinformer.estimators.serialisation import read
from skinformer.persistence.container import read_content
from skinformer.persistence.errors import ModelFileError


def load(path: str | os.PathLike[str]) -> InformerRegressor | InformerClassifier:
    """
    Read a model that `save` wrote; nothing in the file is run or imported.

    Parameters
    ----------
    path : str or path-like
        The file.

    Returns
    -------
    InformerRegressor or InformerClassifier
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
        return _together(read(*content))
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


def _together(content: Any) -> InformerRegressor | InformerClassifier:
    params, state = content["params"], content["fitted"]
    labels = isinstance(state["head_"], ClassHead)
    model = InformerClassifier(**params) if labels else InformerRegressor(**params)
    vars(model).update(state)
    _try(model)
    model._place_module()
    return model


def _try(model: InformerRegressor | InformerClassifier) -> None:
    """Read the clock and make one forecast from features, whose number no size tells."""
    timeline, ensemble = model.timeline_, model.ensemble_
    end = timeline.end_step.max() + model.sizes_.pred_len
    labels = timeline.clock.labels(np.array([timeline.first_step.min(), end]))
    if not labels[0] < labels[1]:
        raise ModelFileError("its clock does not go on")
    members = (*ensemble.members.values(), *ensemble.held_out.values())
    made = (part for member in members for part in member.probe(timeline))
    if not all(np.isfinite(part).all() for part in made):
        raise ModelFileError("its forecasts are no numbers")
