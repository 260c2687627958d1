"""The training loop: epochs of steps, early stopping, interruption, resuming."""

import math
import os
import time
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import islice
from pathlib import Path
from types import MappingProxyType
from typing import Any

import torch
from torch import Tensor, nn

from skinformer.training import checkpoint as checkpoints
from skinformer.training.batch import Batch, Batches, ShuffledBatches
from skinformer.training.optimizers import (
    ParameterGroups,
    check_partition,
    make_optimizers,
    set_learning_rates,
)
from skinformer.training.precision import make_scaler
from skinformer.training.record import EpochRow, TrainerSettings, TrainingRecord
from skinformer.training.recorded_step import RecordedStep, can_record
from skinformer.training.schedule import learning_rate_multiplier, warmup_steps
from skinformer.training.step import accumulate_gradients, clip_and_step, mean_loss
from skinformer.training.stopping import BestWeights, copy_state

#: What taking over the state of another network ends in.
_MISFITS = (AttributeError, LookupError, TypeError, ValueError, RuntimeError)

OnEpoch = Callable[[TrainingRecord, nn.Module], bool]


def train(
    module: nn.Module,
    *,
    training: Batches,
    validation: Batches | None,
    settings: TrainerSettings,
    groups: ParameterGroups,
    on_epoch: OnEpoch | None = None,
    checkpoint: str | os.PathLike[str] | None = None,
    fingerprint: Mapping[str, str] = MappingProxyType({}),
) -> TrainingRecord:
    """Train a module in place.

    With validation batches the fit stops after ``n_iter_no_change`` epochs without an improvement
    and the module ends with the weights of its best epoch; without them it runs ``max_iter``
    epochs and ends with the last weights. The module ends in evaluation mode. What it draws must
    come from generators whose states are part of its state dict, or a resumed fit will not repeat.

    training: shuffled anew in each iteration.
    validation: later than all training targets; None switches early stopping off.
    groups: see `make_optimizers`.
    on_epoch: called as ``on_epoch(record, module)`` after each epoch, the module in evaluation
    mode; True stops the fit. The record holds the epochs so far, those of the checkpoint too, the
    loss of the module's weights, and why it was the last epoch if it was.
    checkpoint: file written after each epoch. If it exists, the fit continues from it, with the
    same result, bit for bit, as if it had never been stopped; or it is refused, and the module
    stays.
    fingerprint: hashes of data and parameters by name; a checkpoint with others is refused.

    A loss that is not finite, or gradients of several steps in a row that are not, raise
    FloatingPointError within a hundred steps; the module then has its best weights so far. Ctrl-C
    before an epoch has ended raises KeyboardInterrupt, with the weights the module came with. Later
    it warns and returns the record; the best weights so far are kept, or without validation the
    current ones. A
    checkpoint that cannot be written warns once.
    """
    fit = _Fit(
        module,
        training=training,
        validation=validation,
        settings=settings,
        groups=groups,
    )
    if checkpoint is not None:
        fit.resume(checkpoint, fingerprint=fingerprint)
    try:
        while not fit.stopped:
            fit.finish_epoch(_epoch(fit))
            if (
                on_epoch is not None
                and on_epoch(fit.so_far(), module)
                and not fit.stopped
            ):
                fit.stopped = "callback"
            if checkpoint is not None:
                _write(fit, checkpoint, fingerprint=fingerprint)
        return fit.close()
    except FloatingPointError:
        fit.restore_best()
        raise
    except KeyboardInterrupt:
        if not fit.rows:  # nothing was learnt
            fit.restore_best()
            raise
        fit.stopped = "interrupted"
        record = fit.close()
    finally:
        fit.release()
        module.eval()
    kept = "current weights" if validation is None else "best weights so far"
    warnings.warn(
        f"training interrupted after {record.n_iter} epochs; the {kept} are kept.",
        UserWarning,
        stacklevel=2,
    )
    return record


class _Fit:
    """Everything that changes during a fit, and how to store and restore it."""

    def __init__(
        self,
        module: nn.Module,
        *,
        training: Batches,
        validation: Batches | None,
        settings: TrainerSettings,
        groups: ParameterGroups,
    ) -> None:
        self.module, self.settings = module, settings
        self.training, self.validation = training, validation
        self.parameters = [p for p in module.parameters() if p.requires_grad]
        self.device = self.parameters[0].device
        check_partition(module, groups=groups)
        self.scaler = make_scaler(settings.precision, device=self.device)
        self.optimizers = make_optimizers(groups, settings)
        self.total_steps = settings.max_iter * math.ceil(
            len(training) / settings.accumulate
        )
        self.best = BestWeights(copy_state(module))
        self.rows: list[EpochRow] = []
        self.step, self.n_skipped, self.stopped = 0, 0, ""
        self.unwritten = False  # whether a checkpoint could not be written
        self.recorded: RecordedStep | None = None
        if can_record(module, device=self.device) and self.scaler is None:
            self.recorded = RecordedStep.on_cuda(
                self._take_step, module, device=self.device
            )

    @property
    def _shuffling(self) -> ShuffledBatches | None:
        """The training batches, if they have a generator to store."""
        return self.training if isinstance(self.training, ShuffledBatches) else None

    def take_step(self, batches: Sequence[Batch]) -> Tensor:
        """Take one step of all parameters: loss, total weight and norm of the gradients, (3,)."""
        set_learning_rates(self.optimizers, multiplier=self.multiplier(self.step))
        if self.recorded is not None:
            return self.recorded(batches)
        return self._take_step(batches)

    def _take_step(self, batches: Sequence[Batch]) -> Tensor:
        loss, total = accumulate_gradients(
            self.module,
            batches,
            loss=self.settings.loss,
            precision=self.settings.precision,
            device=self.device,
            scaler=self.scaler,
        )
        norm = clip_and_step(
            self.optimizers,
            parameters=self.parameters,
            max_norm=self.settings.max_grad_norm,
            scaler=self.scaler,
        )
        return torch.stack((loss, total, norm))

    def release(self) -> None:
        """Free what a device holds for further steps."""
        for parameter in self.parameters:
            parameter.grad = None
        if self.recorded is not None:
            self.recorded.close()
            self.recorded = None

    def multiplier(self, step: int) -> float:
        """Return the share of the peak learning rate at a step."""
        total, settings = self.total_steps, self.settings
        warmup = warmup_steps(
            total_steps=total, warmup_fraction=settings.warmup_fraction
        )
        return learning_rate_multiplier(step, total_steps=total, warmup=warmup)

    def finish_epoch(self, row: EpochRow) -> None:
        """Note an epoch, keep its weights if they are the best, and decide whether to go on."""
        best = self.best.after(
            self.module, epoch=row.epoch, loss=row.last_loss, tol=self.settings.tol
        )
        stopped = ""
        if (
            self.validation is not None
            and best.n_waited >= self.settings.n_iter_no_change
        ):
            stopped = "converged"
        elif row.epoch >= self.settings.max_iter:
            stopped = "max_iter"
        # In one statement: Ctrl-C finds the whole epoch noted, or nothing of it.
        self.best, self.rows, self.stopped = best, [*self.rows, row], stopped

    def restore_best(self) -> None:
        """Put the best weights so far, or those it came with, into the module."""
        self.module.load_state_dict(self.best.weights)

    def so_far(self) -> TrainingRecord:
        """Report, with the latest epoch's weights."""
        last = self.rows[-1]
        return TrainingRecord(
            rows=self.rows,
            best_iter=last.epoch,
            best_loss=last.last_loss,
            stopped=self.stopped,
        )

    def close(self) -> TrainingRecord:
        """Put the final weights into the module, and report."""
        record = self.so_far()
        if self.validation is not None:
            self.restore_best()
            record.best_iter, record.best_loss = self.best.epoch, self.best.loss
        return record

    def state_dict(self) -> dict[str, Any]:
        """Return the state after an epoch, in tensors and plain values."""
        return {
            "module": self.module.state_dict(),
            "optimizers": [o.state_dict() for o in self.optimizers],
            "scaler": None if self.scaler is None else self.scaler.state_dict(),
            "best": self.best._asdict(),
            "rows": [tuple(row) for row in self.rows],
            "step": self.step,
            "n_skipped": self.n_skipped,
            "stopped": self.stopped,
            "batches": None if self._shuffling is None else self._shuffling.get_state(),
        }

    def resume(
        self, path: str | os.PathLike[str], *, fingerprint: Mapping[str, str]
    ) -> None:
        """Continue from a file if there is one, or raise and leave all as it was."""
        if not Path(path).exists():
            return
        state = checkpoints.load(path, fingerprint=fingerprint)
        before = {**self.state_dict(), "module": self.best.weights}
        try:
            self._take(state)
        except (
            BaseException
        ) as error:  # Ctrl-C too: a module with weights of two fits is none
            self._take(before)
            if isinstance(error, _MISFITS) and not isinstance(
                error, torch.OutOfMemoryError
            ):
                raise checkpoints.refusal(
                    path, "its state does not fit this network"
                ) from error
            raise

    def _take(self, state: dict[str, Any]) -> None:
        """Continue from a state."""
        self.module.load_state_dict(state["module"])
        for optimizer, stored in zip(self.optimizers, state["optimizers"], strict=True):
            own = optimizer.state_dict()
            optimizer.load_state_dict({**own, "state": stored["state"]})
        if self.scaler is not None:
            self.scaler.load_state_dict(state["scaler"])
        self.best = BestWeights(**state["best"])
        self.rows = [EpochRow(*row) for row in state["rows"]]
        self.step, self.n_skipped = state["step"], state["n_skipped"]
        self.stopped = state["stopped"]
        if self._shuffling is not None:
            self._shuffling.set_state(state["batches"])


def _write(
    fit: _Fit, path: str | os.PathLike[str], *, fingerprint: Mapping[str, str]
) -> None:
    """Write a checkpoint; a disk that is full costs the file, not the fit."""
    try:
        checkpoints.save(path, {**fit.state_dict(), "fingerprint": {**fingerprint}})
    except OSError as error:
        if not fit.unwritten:
            fit.unwritten = True
            warnings.warn(
                f"checkpoint={os.fspath(path)!r} could not be written: {error}. Training goes on "
                "and tries again after each epoch; the file holds the last epoch that could be "
                "written.",
                UserWarning,
                stacklevel=3,
            )


def _epoch(fit: _Fit) -> EpochRow:
    """Train for one epoch, validate, and return the epoch's row.

    PERF: a step takes 0.1 ms more than a bare loop of torch (CPU); a step of two encoder layers of
    width 64 takes 70 ms.
    """
    start = time.perf_counter()
    fit.module.train()
    loss, weight, norm = _train_once(fit).unbind(1)
    fit.module.eval()
    total = weight.sum()
    validation_loss = math.nan
    if fit.validation is not None:
        validation_loss = _validate(fit, fit.validation, last_norm=float(norm[-1]))
    peak_rate = fit.optimizers[-1].param_groups[0]["initial_lr"]
    return EpochRow(
        epoch=len(fit.rows) + 1,
        loss=float((loss * weight).sum() / torch.where(total > 0, total, 1.0)),
        validation_loss=validation_loss,
        learning_rate=peak_rate * fit.multiplier(fit.step - 1),
        gradient_norm=float(norm[torch.isfinite(norm)].mean()),
        seconds=time.perf_counter() - start,
    )


def _train_once(fit: _Fit) -> Tensor:
    """Take the steps of one epoch: loss, total weight and norm of each, (n_steps, 3), on the CPU.

    They are read some steps at a time: in between nothing waits for the device.
    """
    read: list[Tensor] = []
    unread: list[Tensor] = []
    for group in _groups(fit.training, size=fit.settings.accumulate):
        unread.append(fit.take_step(group))
        fit.step += 1
        if len(unread) == 100:
            read.append(_read_steps(fit, unread))
            unread = []
    if unread:
        read.append(_read_steps(fit, unread))
    return torch.cat(read)


def _validate(fit: _Fit, batches: Batches, *, last_norm: float) -> float:
    """Return the mean loss of validation batches; an error if it is not finite."""
    loss = mean_loss(
        fit.module,
        batches,
        loss=fit.settings.loss,
        precision=fit.settings.precision,
        device=fit.device,
    )
    if not math.isfinite(loss):
        raise _diverged(fit, fit.step, loss=loss, norm=last_norm, kind="validation ")
    return loss


def _read_steps(fit: _Fit, steps: list[Tensor]) -> Tensor:
    """Return loss, total weight and norm of the latest steps, (n, 3), on the CPU.

    It is an error if one has a non-finite loss or ends a row of skipped ones.
    """
    numbers = torch.stack(steps).double().cpu()
    # The gradient scaler halves its first scale, 2**16, 16 times.
    n_allowed = 5 if fit.scaler is None else 5 + 16
    first = fit.step - len(steps) + 1
    for number, (loss, _, norm) in enumerate(numbers.tolist(), start=first):
        fit.n_skipped = 0 if math.isfinite(norm) else fit.n_skipped + 1
        if not math.isfinite(loss) or fit.n_skipped >= n_allowed:
            raise _diverged(fit, number, loss=loss, norm=norm)
    return numbers


def _diverged(
    fit: _Fit, step: int, *, loss: float, norm: float, kind: str = ""
) -> FloatingPointError:
    """Make the error of a fit that diverged; `train` then restores the best weights."""
    return FloatingPointError(
        f"training diverged at step {step} of {fit.total_steps}: "
        f"{kind}loss={loss:.3g}, gradient norm={norm:.3g}, "
        f"learning_rate={fit.settings.learning_rate * fit.multiplier(step - 1):.3g}. "
        "Lower learning_rate, set precision='fp32', or check the scale of the data."
    )


def _groups(batches: Batches, *, size: int) -> Iterator[list[Batch]]:
    """Yield the batches in lists of `size`; the last may be shorter."""
    iterator = iter(batches)
    while group := list(islice(iterator, size)):
        yield group
