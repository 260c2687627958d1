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
from skinformer.intervals.forecaster import IntervalForecaster
from skinformer.persistence.container import read_content
from skinformer.persistence.errors import ModelFileError
from skinformer.rolling.blocks import RequestedSteps
from skinformer.rolling.future import nothing_observed
from skinformer.rolling.placement import after_history
from skinformer.timeline.clock import join_series

#: What a file may ask for beyond four times its rows: tokens of a network, numbers of a window.
_MOST_TOKENS, _MOST_READ = 1 << 13, 1 << 22
_LEVELS = np.array([0.1, 0.9])


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
    """Forecast one block after the history of up to three series: who cannot is no model."""
    forecaster, timeline = model._forecaster, model.timeline_
    found = getattr(model, "_intervals_", None)
    if found is not None:
        forecaster = IntervalForecaster.of(forecaster, found)
    n_rows, pred_len = len(timeline.values), model.sizes_.pred_len
    n_tokens = model.sizes_.seq_len // model.sizes_.patch_len + pred_len
    n_read = (forecaster.look_back + pred_len) * timeline.values.shape[1]
    if n_tokens > _MOST_TOKENS + 4 * n_rows or n_read > _MOST_READ + 4 * timeline.values.size:
        raise ModelFileError("its windows are longer than its rows say anything of")
    _check_names(model)
    lengths = np.diff(timeline.first_row)
    some = np.unique([0, int(lengths.argmax()), len(lengths) - 1])
    track = np.repeat(some, pred_len)
    place = after_history(timeline)
    steps = place.anchor[track] + np.tile(np.arange(pred_len), len(some))
    labels = join_series(model.series_, track, timeline.clock.labels(steps))
    nothing = nothing_observed(timeline)
    requested = RequestedSteps(nothing, track, steps, place, timeline.clock, labels)
    outputs, _ = forecaster.rolled(requested)
    if found is None:
        values = forecaster.in_units(outputs, track)
    else:
        scaler = model.scaler_.with_unseen()
        values = found.forecasts(model.head_, outputs, _LEVELS, scaler, track)
    if values.shape[:2] != (len(track), model.sizes_.n_targets) or len(labels) != len(track):
        raise ModelFileError("it forecasts something else than it says")


def _check_names(model: InformerRegressor | InformerClassifier) -> None:
    """Raise where columns or classes are not named one by one: no forecast asks for them here."""
    names, head = model.roles_.column_labels, model.head_
    reader: Any = model.reader_
    named = getattr(model, "feature_names_in_", names)
    if len(model.roles_.target_labels) != len(model.roles_.targets):
        raise ModelFileError("its targets have other names than it says")
    if not hash(model.roles_) or not names.is_unique or list(named) != list(names):
        raise ModelFileError("its columns have other names than it says")
    if isinstance(head, ClassHead):
        sizes = [len(target.classes) for target in reader.targets]
        if sizes != list(head.sizes) or sum(sizes) != model.sizes_.n_targets:
            raise ModelFileError("its classes have other names than it says")
