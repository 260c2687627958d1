"""What an estimator is on disk: a pickle that knows its version, or a file that runs no code."""

from __future__ import annotations

import os
import warnings
from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd
import sklearn
import torch
from sklearn.base import BaseEstimator, clone

import skinformer
from skinformer.estimators.intervals import IntervalsMixin
from skinformer.estimators.serialisation import flatten, unflatten, write
from skinformer.estimators.state import FittedState
from skinformer.persistence.container import write_content
from skinformer.persistence.errors import ModelFileError, NotPlainError, VersionWarning
from skinformer.training.memory import is_gpu_out_of_memory
from skinformer.training.precision import has_cuda_device
from skinformer.validation.arguments import check_fitted
from skinformer.validation.files import (
    check_own_class,
    check_saved_history,
    refuse_to_save,
    refuse_to_save_unread,
)
from skinformer.validation.parameters import warn_of_cpu


class PersistentMixin(FittedState):
    """Pickles of an estimator, and files of a fitted one."""

    def save(self: Any, path: str | os.PathLike[str], *, history: str = "all") -> None:
        """
        Write the fitted model to one file, which `skinformer.load` reads without running code.

        Parameters
        ----------
        path : str or path-like
            The file to write; its folder must exist. If the process is killed, the file has the old
            content or the new one, never a part.
        history : {"all", "context"}, default="all"
            The rows in the file, which are standardised: all rows of `fit` and `update`, or only
            those that later forecasts need. With "context", rows of the fit cannot be forecast
            again.

        Raises
        ------
        ValueError
            If the model contains an object that numbers and text cannot represent: a regressor or
            classifier of your own among `members`, labels that are dates, a transformer as
            `target_transform`, or if it is a subclass.
        OSError
            If the file cannot be written.

        Notes
        -----
        `checkpoint` and callbacks are left out. The errors behind prediction intervals are computed
        if they are not there yet, which takes seconds, so that the loaded model has them.

        Examples
        --------
        >>> import tempfile, numpy as np, pandas as pd, skinformer
        >>> df = pd.DataFrame({"load": np.sin(np.arange(90.0))})
        >>> sizes = {"seq_len": 8, "pred_len": 2, "training": skinformer.Training(max_iter=1)}
        >>> sizes["network"] = skinformer.Network(d_model=8, n_heads=2)
        >>> model = skinformer.InformerRegressor("load", **sizes).fit(df)
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     model.save(f"{folder}/load.skinformer", history="context")
        ...     loaded = skinformer.load(f"{folder}/load.skinformer")
        >>> loaded.forecast().equals(model.forecast())
        True
        """
        check_fitted(self)
        check_saved_history(history)
        check_own_class(self)
        params = self.get_params(deep=False)
        # Callbacks of scikit-learn, and the tasks of a fit.
        of_fit = ("_sk", "_callback_fit_ctx", "_parent_callback_ctx")
        names = [
            name
            for name in vars(self).keys() - params.keys()
            if not name.startswith(of_fit)
        ]
        state = {name: getattr(self, name) for name in sorted(names)}
        state |= _found_at_save(self, of_context=history == "context")
        packages = (skinformer, np, pd, sklearn, torch)
        content = {
            "params": params | _plain_parts(self),
            "fitted": state,
            "versions": {each.__name__: str(each.__version__) for each in packages},
        }
        try:
            stored = write(content)  # a file that `load` refuses would be a model lost
        except NotPlainError as error:
            refuse_to_save(error.place, error.value)
        except ModelFileError as error:
            refuse_to_save_unread(error)
        write_content(path, stored)

    def __getstate__(self) -> dict[str, Any]:
        """Pickle the network from the CPU, so that it can be loaded where there is no GPU."""
        state: dict[str, Any] = super().__getstate__()  # type: ignore[assignment]
        return {**flatten(state), "_skinformer_version": skinformer.__version__}

    def __setstate__(self, state: dict[str, Any]) -> None:
        """Put the network back where it was, if that place exists here."""
        state = dict(state)
        version = state.pop("_skinformer_version", "0.1.0 or earlier")
        if version != skinformer.__version__:
            warnings.warn(
                f"this {type(self).__name__} was pickled by skinformer {version}, and is read by "
                f"{skinformer.__version__}: its forecasts may differ, or fail. Fit it again, or "
                "load it with the version that wrote it.",
                VersionWarning,
                stacklevel=2,
            )
        super().__setstate__(unflatten(state))  # type: ignore[misc]
        self._place_module()

    def _place_module(self) -> None:
        """Put the network where it was fitted, if that is here and has room; else on the CPU."""
        if getattr(self, "device_", "cpu") == "cpu":
            return
        device = self.device_ if has_cuda_device(self.device_) else "cpu"
        try:
            self.ensemble_ = self.ensemble_.on_device(device)
        except RuntimeError as error:
            if not is_gpu_out_of_memory(error):
                raise
            warn_of_cpu(str(error))
            device = "cpu"
            self.ensemble_ = self.ensemble_.on_device(device)
        self.device_ = device


def _plain_parts(model: FittedState) -> dict[str, Any]:
    """Return the parts of the network as a file may hold them.

    Whole numbers and booleans of NumPy, as a search over `numpy.arange` sets them, are Python's
    there, since those of a file are counted; and training writes no checkpoint, whose file is a
    place on this machine.
    """
    found: dict[str, Any] = {"network": None, "training": None}
    for name in found:
        part = getattr(model, name)
        if part is not None:
            found[name] = clone(part).set_params(**_plain_numbers(part))
    if found["training"] is not None:
        found["training"].set_params(checkpoint=None)
    return found


def _plain_numbers(part: BaseEstimator) -> dict[str, Any]:
    """Return parameters that are whole numbers or booleans of NumPy, as those of Python."""
    return {
        name: value.item()
        for name, value in part.get_params(deep=False).items()
        if isinstance(value, np.integer | np.bool_)
    }


def _found_at_save(model: FittedState, *, of_context: bool) -> dict[str, Any]:
    """Find what a file holds beside a fit's state: ranges, in place of what they are found by.

    of_context: leave out the rows that later forecasts do not need.
    """
    found: dict[str, Any] = {"calibration_": replace(model.calibration_, proved=None)}
    forecaster = model._forecaster
    if isinstance(model, IntervalsMixin):
        found["_intervals_"] = None
        if model.intervals_ is not None:
            found["_intervals_"] = model._intervals_beyond()
            forecaster = model._interval_forecaster()  # which looks further back
    if of_context:
        # After an update a block may begin before the first row that may be asked for.
        found["timeline_"] = model.timeline_.recent(
            forecaster.look_back + model.sizes_.pred_len
        )
        found["calibration_"] = replace(found["calibration_"], split=None)
    return found
