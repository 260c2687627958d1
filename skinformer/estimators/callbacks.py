"""Callbacks of scikit-learn: one task per stage of a fit, and one per epoch within."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from skinformer.estimators.state import FittedState
from skinformer.reading.prediction import read_y_true
from skinformer.stopwatch import running
from skinformer.training.record import EpochRow, TrainingRecord


@dataclass
class FitTasks:
    """Notify scikit-learn's callbacks of the stages of a fit, and of the network's epochs.

    estimator: being fitted.
    data: ``X``, ``y`` (in frame mode the target's column of X) and ``metadata`` with the sample
    weights, as the hooks get them.
    before: epochs of an earlier fit that this one goes on from.
    n_epochs: at most.

    An epoch begins where the one before it ended, so that progress bars time whole epochs. At its
    end the hooks get an estimator ready to predict, whose network is a copy: what a callback keeps
    does not change when training goes on. It has the losses so far. A hook that raises ends the
    fit, and is not called again.
    """

    estimator: Any
    data: dict[str, Any]
    before: pd.DataFrame | None
    n_epochs: int

    @contextmanager
    def fit(self) -> Iterator[None]:
        """Begin the fit's own task, and end it with the final model."""
        n_stages = 3  # ridges, network, weights
        self._context = self.estimator._init_callback_context(max_subtasks=n_stages)
        self._begin(self._context)
        yield
        self._end(self._context, self._copied)

    @contextmanager
    def stage(self, name: str, max_subtasks: int = 0) -> Iterator[Any]:
        """Begin a stage's task, and end it."""
        task = self._context.subcontext(task_name=name, max_subtasks=max_subtasks)
        self._begin(task)
        yield task
        self._end(task)

    @contextmanager
    def training(self) -> Iterator[None]:
        """Begin the network's stage and its first epoch; one that is cut short has no end."""
        with self.stage("network", self.n_epochs) as self._network:
            self._n_ended = 0
            self._begin_epoch()
            yield

    def end_epoch(self, record: TrainingRecord) -> bool:
        """End an epoch's task; return whether a callback wants to stop."""
        line = epoch_line(record.rows[-1], n_most=self.n_epochs)
        running().write(line, passing=True)
        self._n_ended = len(record.rows)
        stop = self._end(self._epoch, lambda: self._as_if_ended(record))
        if not (stop or record.stopped):
            self._begin_epoch()
        return stop

    def _begin_epoch(self) -> None:
        running().note(f"epoch {self._n_ended + 1} of {self.n_epochs}")
        self._epoch = self._network.subcontext(task_name="epoch")
        self._begin(self._epoch)

    def _copied(self) -> dict[str, Any]:
        return {"ensemble_": self.estimator.ensemble_.on_device(self.estimator.device_)}

    def _as_if_ended(self, record: TrainingRecord) -> dict[str, Any]:
        state = self._copied() | training_course(record, self.before)
        state["fit_times_"] = running().table()
        return state

    def _begin(self, task: Any) -> None:
        task.call_on_fit_task_begin(estimator=self.estimator, **self.data)

    def _end(
        self, task: Any, fitted: Callable[[], dict[str, Any]] | None = None
    ) -> bool:
        return bool(
            task.call_on_fit_task_end(
                estimator=self.estimator, reconstruction_attributes=fitted, **self.data
            )
        )


def training_course(
    record: TrainingRecord, before: pd.DataFrame | None
) -> dict[str, Any]:
    """Return the fitted attributes of a training's course, after the epochs of an earlier fit.

    They are ``history_``, its columns and length by the names that scikit-learn gives them, and
    ``best_loss_``.
    """
    table = pd.DataFrame(record.rows, columns=list(EpochRow._fields))
    table = pd.concat([table] if before is None else [before, table], ignore_index=True)
    scores = None
    if table["validation_loss"].notna().any():
        scores = (-table["validation_loss"]).tolist()
    return {
        "history_": table,
        "loss_curve_": table["loss"].tolist(),
        "validation_scores_": scores,
        "n_iter_": len(table),
        "best_loss_": record.best_loss,
    }


def callback_data(
    model: FittedState, X: Any, y: Any, sample_weight: Any
) -> dict[str, Any]:
    """Return what callbacks pass to scorers: rows, their truth and their weights."""
    metadata = None if sample_weight is None else {"sample_weight": sample_weight}
    if y is None and getattr(model, "_skl_callbacks", None):
        X, y = _with_known_truth(model, X, drop_rows=metadata is None)
    return {"X": X, "y": y, "metadata": metadata}


def _with_known_truth(
    model: FittedState, X: Any, *, drop_rows: bool
) -> tuple[Any, Any]:
    """Take the truth out of X, and leave out rows without any, which scorers do not take."""
    truth = read_y_true(model, model.reader_.encode_rows(X), None, model.roles_)
    is_known = ~np.isnan(truth).any(axis=1)
    if drop_rows and hasattr(X, "loc") and not is_known.all():
        X = X.loc[is_known]
        truth = truth[is_known]
    return X, model.reader_.decode(truth, one_dimensional=model.roles_.one_dimensional)


def epoch_line(row: EpochRow, *, n_most: int) -> str:
    """Describe an epoch in a line."""
    line = f"epoch {row.epoch}/{n_most}  loss {row.loss:.4f}"
    if not np.isnan(row.validation_loss):
        line += f"  val {row.validation_loss:.4f}"
    return f"{line}  {row.seconds:.1f} s"
