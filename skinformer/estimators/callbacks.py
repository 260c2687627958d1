"""Callbacks of scikit-learn, one task per epoch, and the plain progress line."""

from __future__ import annotations

import copy
import sys
from typing import Any

import numpy as np
import torch

from skinformer.training.record import EpochRow

__all__ = ["EpochTasks"]


class EpochTasks:
    """
    Tell scikit-learn's callbacks of the epochs of a fit.

    Parameters
    ----------
    estimator : InformerRegressor
        Being fitted: complete but for its trained module.
    context : CallbackContext
        The fit's own task.
    data : dict
        ``X``, ``y`` (in frame mode the target's column of X) and ``metadata`` with the sample
        weights, as the hooks get them.

    Notes
    -----
    A task begins where the one before it ended, so that progress bars time whole epochs. The
    hooks get an estimator ready to predict, whose network is a copy: what a callback keeps does
    not change when training goes on.
    """

    def __init__(self, estimator: Any, context: Any, data: dict[str, Any]) -> None:
        self.estimator = estimator
        self.context = context
        self.data = data
        self.task: Any = None

    def __enter__(self) -> EpochTasks:
        """Begin the fit's task and the first epoch's."""
        self.context.call_on_fit_task_begin(estimator=self.estimator, **self.data)
        self._begin()
        return self

    def __exit__(self, *_: object) -> None:
        """End the task of an epoch that never ran, after early stopping, and the fit's."""
        if self.task is not None:
            self._end(self.estimator.module_)
        self._call_end(self.context, self.estimator.module_)

    def __call__(self, row: EpochRow, module: Any) -> bool:
        """End an epoch's task; return whether a callback wants to stop."""
        if self.estimator.verbose:
            _write_line(self.estimator, row)
        stop = self._end(module)
        if row.epoch < self.estimator.max_iter and not stop:
            self._begin()
        return stop

    def _begin(self) -> None:
        self.task = self.context.subcontext(task_name="epoch")
        self.task.call_on_fit_task_begin(estimator=self.estimator, **self.data)

    def _end(self, module: Any) -> bool:
        stop = self._call_end(self.task, module)
        self.task = None
        return stop

    def _call_end(self, task: Any, module: Any) -> bool:
        # A callback that draws random numbers must not change the training after it.
        with torch.random.fork_rng(devices=[]):
            stop = task.call_on_fit_task_end(
                estimator=self.estimator,
                reconstruction_attributes=lambda: {"module_": copy.deepcopy(module).eval()},
                **self.data,
            )
        return bool(stop)


def _write_line(estimator: Any, row: EpochRow) -> None:
    """Write one plain line about an epoch."""
    validated = "" if np.isnan(row.validation_loss) else f"  val {row.validation_loss:.4f}"
    sys.stdout.write(
        f"[{type(estimator).__name__}] epoch {row.epoch}/{estimator.max_iter}"
        f"  loss {row.loss:.4f}{validated}  {row.seconds:.1f} s\n"
    )
    sys.stdout.flush()
