"""The training loop: epochs of steps, early stopping, interruption, resuming."""

import math
import os
import time
import warnings
from collections.abc import Callable, Mapping, Sequence
from itertools import islice
from pathlib import Path
from typing import TypeAlias

import torch
from torch import Tensor, nn

from skinformer.budget import current_share
from skinformer.persistence.atomic import FilePath
from skinformer.training import checkpoint as checkpoints
from skinformer.training.batch import Batch, Batches, ShuffledBatches
from skinformer.training.losses import weighted_mean
from skinformer.training.optimizers import (
    ParameterGroups,
    make_optimizers,
    set_learning_rates,
)
from skinformer.training.precision import make_scaler
from skinformer.training.record import EpochRow, TrainerSettings, TrainingRecord
from skinformer.training.recorded_step import RecordedStep, can_record
from skinformer.training.schedule import learning_rate_multiplier, warmup_steps
from skinformer.training.step import accumulate_gradients, clip_and_step, mean_loss
from skinformer.training.stopping import BestWeights, StateDict, copy_state
from skinformer.wording import number_of

OnEpoch: TypeAlias = Callable[[TrainingRecord, nn.Module], bool]

#: What a state of another network raises.
_MISFITS = (AttributeError, LookupError, TypeError, ValueError, RuntimeError)


def train(
    module: nn.Module,
    *,
    training: Batches,
    validation: Batches | None,
    settings: TrainerSettings,
    groups: ParameterGroups,
    on_epoch: OnEpoch | None = None,
    checkpoint: FilePath | None = None,
    fingerprint: Mapping[str, str] = {},
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
    checkpoint that cannot be written warns once. Where the share of a budget is over, the epoch
    ends early, and is the last one.
    """
    fit = _OngoingFit(
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
            fit.finish_epoch(fit.train_epoch())
            if on_epoch is not None:
                fit.call(on_epoch)
            if checkpoint is not None:
                fit.write(checkpoint, fingerprint=fingerprint)
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
        f"training interrupted after {number_of(record.n_iter, 'epoch')}; the {kept} are kept.",
        UserWarning,
        stacklevel=2,
    )
    return record


class _OngoingFit:
    """A fit: everything that changes during it, how it goes on, and how it is stored."""

    def __init__(
        self,
        module: nn.Module,
        *,
        training: Batches,
        validation: Batches | None,
        settings: TrainerSettings,
        groups: ParameterGroups,
    ) -> None:
        self.module = module
        self.settings = settings
        self.training = training
        self.validation = validation
        self.parameters = [p for p in module.parameters() if p.requires_grad]
        self.device = self.parameters[0].device
        self.scaler = make_scaler(settings.precision, device=self.device)
        self.optimizers = make_optimizers(groups, settings)
        steps_per_epoch = math.ceil(len(training) / settings.accumulate)
        self.total_steps = settings.max_iter * steps_per_epoch
        self.warmup = warmup_steps(
            total_steps=self.total_steps, warmup_fraction=settings.warmup_fraction
        )
        self.best = BestWeights(copy_state(module))
        self.rows: list[EpochRow] = []
        self.step = 0
        self.n_skipped = 0
        self.stopped = ""
        self.share = current_share()
        self.unwritten = False  # whether a checkpoint could not be written
        self.recorded = self._record_steps()

    def _record_steps(self) -> RecordedStep | None:
        """Record steps where that is possible."""
        may_record = can_record(self.module, device=self.device)
        if self.scaler.is_enabled() or not may_record:
            return None
        return RecordedStep.on_cuda(self._take_step, self.module, device=self.device)

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
        self.module.zero_grad()
        if self.recorded is not None:
            self.recorded.close()
            self.recorded = None

    def multiplier(self, step: int) -> float:
        """Return the share of the peak learning rate at a step."""
        return learning_rate_multiplier(
            step, total_steps=self.total_steps, warmup=self.warmup
        )

    def finish_epoch(self, row: EpochRow) -> None:
        """Note an epoch, keep its weights if they are the best, and decide whether to go on."""
        settings = self.settings
        best = self.best.after(
            self.module, epoch=row.epoch, loss=row.last_loss, tol=settings.tol
        )
        waits_too_long = best.n_waited >= settings.n_iter_no_change
        stopped = ""
        if self.validation is not None and waits_too_long:
            stopped = "converged"
        elif row.epoch >= settings.max_iter:
            stopped = "max_iter"
        elif self.share.must_stop():
            stopped = "max_seconds"
        rows = [*self.rows, row]
        # In one statement: Ctrl-C finds the whole epoch noted, or nothing of it.
        self.best, self.rows, self.stopped = best, rows, stopped

    def call(self, on_epoch: OnEpoch) -> None:
        """Call what is called after each epoch, which may stop the fit."""
        is_last = on_epoch(self.so_far(), self.module)
        if is_last and not self.stopped:
            self.stopped = "callback"

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
            record.best_iter = self.best.epoch
            record.best_loss = self.best.loss
        return record

    def state_dict(self) -> StateDict:
        """Return the state after an epoch, in tensors and plain values."""
        batches = None
        if isinstance(self.training, ShuffledBatches):
            batches = self.training.get_state()
        return {
            "module": self.module.state_dict(),
            "optimizers": [each.state_dict() for each in self.optimizers],
            "scaler": self.scaler.state_dict(),
            "best": self.best._asdict(),
            "rows": [tuple(row) for row in self.rows],
            "step": self.step,
            "n_skipped": self.n_skipped,
            # Who fits again gives it new seconds.
            "stopped": "" if self.stopped == "max_seconds" else self.stopped,
            "batches": batches,
        }

    def write(self, path: FilePath, *, fingerprint: Mapping[str, str]) -> None:
        """Write a checkpoint; a disk that is full costs the file, not the fit."""
        state = {**self.state_dict(), "fingerprint": {**fingerprint}}
        try:
            checkpoints.save(path, state)
        except OSError as error:
            if self.unwritten:
                return
            self.unwritten = True
            reason = str(error).removesuffix(".")
            warnings.warn(
                f"checkpoint={os.fspath(path)!r} could not be written: {reason}. Training goes on "
                "and tries again after each epoch; the file holds the last epoch that could be "
                "written.",
                UserWarning,
                stacklevel=3,
            )

    def resume(self, path: FilePath, *, fingerprint: Mapping[str, str]) -> None:
        """Continue from a file if there is one, or raise and leave all as it was."""
        if not Path(path).exists():
            return
        state = checkpoints.load(path, fingerprint=fingerprint)
        before = {**self.state_dict(), "module": self.best.weights}
        try:
            self._take(state)
        except BaseException as error:
            # Ctrl-C too: a module with weights of two fits is none.
            self._take(before)
            if isinstance(error, torch.OutOfMemoryError):
                raise
            if isinstance(error, _MISFITS):
                fault = "its state does not fit this network"
                raise checkpoints.refusal(path, fault) from error
            raise

    def _take(self, state: StateDict) -> None:
        """Restore a state."""
        self.module.load_state_dict(state["module"])
        for optimizer, stored in zip(self.optimizers, state["optimizers"], strict=True):
            own = optimizer.state_dict()
            optimizer.load_state_dict({**own, "state": stored["state"]})
        self.scaler.load_state_dict(state["scaler"])
        self.best = BestWeights(**state["best"])
        self.rows = [EpochRow(*row) for row in state["rows"]]
        self.step = state["step"]
        self.n_skipped = state["n_skipped"]
        self.stopped = state["stopped"]
        if isinstance(self.training, ShuffledBatches):
            self.training.set_state(state["batches"])

    def train_epoch(self) -> EpochRow:
        """Train for one epoch, validate, and return the epoch's row.

        PERF: a step takes 0.1 ms more than a bare loop of torch (CPU); a step of two encoder layers
        of width 64 takes 70 ms.
        """
        start = time.perf_counter()
        self.module.train()
        loss, weight, norm = self._take_steps().unbind(1)
        self.module.eval()
        validation_loss = math.nan
        if self.validation is not None:
            validation_loss = self._validate(self.validation, last_norm=float(norm[-1]))
        mean = weighted_mean(loss, weight=weight, total=weight.sum())
        finite_norms = norm[torch.isfinite(norm)]
        peak_rate = self.optimizers[-1].param_groups[0]["initial_lr"]
        return EpochRow(
            epoch=len(self.rows) + 1,
            loss=float(mean),
            validation_loss=validation_loss,
            learning_rate=peak_rate * self.multiplier(self.step - 1),
            gradient_norm=float(finite_norms.mean()),
            seconds=time.perf_counter() - start,
        )

    def _take_steps(self) -> Tensor:
        """Take the steps of one epoch: loss, total weight and norm of each, (n_steps, 3).

        They are read some steps at a time: in between nothing waits for the device.
        """
        read = []
        unread = []
        batches = iter(self.training)
        while group := list(islice(batches, self.settings.accumulate)):
            unread.append(self.take_step(group))
            self.step += 1
            if self.share.must_stop():
                break
            if len(unread) == 100:
                read.append(self._read_steps(unread))
                unread = []
        if unread:
            read.append(self._read_steps(unread))
        return torch.cat(read)

    def _validate(self, batches: Batches, *, last_norm: float) -> float:
        """Return the mean loss of validation batches; an error if it is not finite."""
        loss = mean_loss(
            self.module,
            batches,
            loss=self.settings.loss,
            precision=self.settings.precision,
            device=self.device,
        )
        if not math.isfinite(loss):
            losses = f"validation loss={loss:.3g}"
            raise self._diverged(self.step, losses, norm=last_norm)
        return loss

    def _read_steps(self, steps: list[Tensor]) -> Tensor:
        """Return loss, total weight and norm of the latest steps, (n, 3), on the CPU.

        It is an error if one has a non-finite loss or ends a row of skipped ones.
        """
        numbers = torch.stack(steps).double().cpu()
        n_allowed = 5
        if self.scaler.is_enabled():
            n_allowed += 16  # it halves its first scale, 2**16, 16 times
        step = self.step - len(steps)
        for loss, _, norm in numbers.tolist():
            step += 1
            self.n_skipped += 1
            if math.isfinite(norm):
                self.n_skipped = 0
            if not math.isfinite(loss) or self.n_skipped >= n_allowed:
                raise self._diverged(step, f"loss={loss:.3g}", norm=norm)
        return numbers

    def _diverged(self, step: int, losses: str, *, norm: float) -> FloatingPointError:
        """Make the error of a fit that diverged; `train` then restores the best weights."""
        rate = self.settings.learning_rate * self.multiplier(step - 1)
        return FloatingPointError(
            f"training diverged at step {step} of {self.total_steps}: "
            f"{losses}, gradient norm={norm:.3g}, learning_rate={rate:.3g}. "
            "Lower learning_rate, set precision='fp32', or check the scale of the data."
        )
