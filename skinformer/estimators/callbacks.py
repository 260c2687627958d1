"""Callbacks of scikit-learn, one task per epoch, and the plain progress line."""

from __future__ import annotations

import sys
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from torch.nn import Module

from skinformer import ranks
from skinformer.estimators.state import FittedState
from skinformer.stopwatch import times_so_far
from skinformer.training.record import EpochRow, TrainingRecord


@dataclass
class EpochTasks:
    """Tell scikit-learn's callbacks of the epochs of a fit.

    estimator: being fitted: complete but for its trained module.
    context: the fit's own task.
    data: ``X``, ``y`` (in frame mode the target's column of X) and ``metadata`` with the sample
    weights, as the hooks get them.
    before: epochs of an earlier fit that this one goes on from.

    A task begins where the one before it ended, so that progress bars time whole epochs. The hooks
    get an estimator ready to predict, whose network is a copy: what a callback keeps does not
    change when training goes on. It has the losses so far. A hook that raises ends the fit, and is
    not called again. Of ranks that share the fit the first calls, and all do what its callbacks
    want.
    """

    estimator: FittedState
    context: Any
    data: dict[str, Any]
    before: pd.DataFrame | None
    task: Any = None

    def __enter__(self) -> EpochTasks:
        """Begin the fit's task and the first epoch's."""
        if ranks.is_first():
            self.context.call_on_fit_task_begin(estimator=self.estimator, **self.data)
            self._begin()
        return self

    def __exit__(self, *_: object) -> None:
        """Leave an epoch that was cut short without an end."""
        self.task = None

    def __call__(self, record: TrainingRecord, module: Module) -> bool:  # noqa: ARG002
        """End an epoch's task; return whether a callback wants to stop."""
        return ranks.from_first(lambda: self._next(record))

    def _next(self, record: TrainingRecord) -> bool:
        if self.estimator.verbose:
            _write_epoch(self.estimator, record.rows[-1], n_most=self.context.max_subtasks)
        stop = self._tell_end(self.task, lambda: self._as_if_ended(record))
        if not (stop or record.stopped):
            self._begin()
        return stop

    def end_fit(self) -> None:
        """End the fit's task: all is fitted."""
        if ranks.is_first():
            self._tell_end(self.context, self._copied)

    def _begin(self) -> None:
        self.task = self.context.subcontext(task_name="epoch")
        self.task.call_on_fit_task_begin(estimator=self.estimator, **self.data)

    def _copied(self) -> dict[str, Any]:
        return {"ensemble_": self.estimator.ensemble_.on_device(self.estimator.device_)}

    def _as_if_ended(self, record: TrainingRecord) -> dict[str, Any]:
        course = training_course(record, self.before) | {"fit_times_": times_so_far()}
        return self._copied() | course

    def _tell_end(self, task: Any, reconstruction: Callable[[], dict[str, Any]]) -> bool:
        stop = task.call_on_fit_task_end(
            estimator=self.estimator, reconstruction_attributes=reconstruction, **self.data
        )
        return bool(stop)


def training_course(record: TrainingRecord, before: pd.DataFrame | None) -> dict[str, Any]:
    """Give the fitted attributes of a training's course, after the epochs of an earlier fit.

    They are ``history_``, its columns and length by the names that scikit-learn gives them, and
    ``best_loss_``.
    """
    table = pd.DataFrame(record.rows, columns=list(EpochRow._fields))
    table = pd.concat([table] if before is None else [before, table], ignore_index=True)
    validated = bool(table["validation_loss"].notna().any())
    return {
        "history_": table,
        "loss_curve_": table["loss"].tolist(),
        "validation_scores_": (-table["validation_loss"]).tolist() if validated else None,
        "n_iter_": len(table),
        "best_loss_": record.best_loss,
    }


def write_stage(estimator: FittedState, part: str, seconds: float) -> None:
    """Write one plain line about a part of a fit that begins."""
    if ranks.is_first():
        _write(estimator, f"{part}  after {seconds:.1f} s")


def _write_epoch(estimator: FittedState, row: EpochRow, *, n_most: int) -> None:
    validated = "" if np.isnan(row.validation_loss) else f"  val {row.validation_loss:.4f}"
    losses = f"loss {row.loss:.4f}{validated}"
    _write(estimator, f"epoch {row.epoch}/{n_most}  {losses}  {row.seconds:.1f} s")


def _write(estimator: FittedState, line: str) -> None:
    sys.stdout.write(f"[{type(estimator).__name__}] {line}\n")
    sys.stdout.flush()
