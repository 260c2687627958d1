"""Whether a network is worth its training: by a trial before it, and by its first epoch."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

from skinformer.ensemble.batches import WindowBatches
from skinformer.ensemble.fitting import FitBatches, FitRows
from skinformer.ensemble.settings import FitSettings
from skinformer.judging.weights import network_losses
from skinformer.model.corrected import Corrected
from skinformer.selection import MOST_STRETCHES, gain_of_best_share, time_stretches
from skinformer.timeline.arrays import IntArray
from skinformer.training.record import TrainingRecord
from skinformer.training.stopping import copy_state

#: Windows of a trial.
TRIAL = 1000


@dataclass(frozen=True)
class NetworkTrial:
    """Compare the network of a long table with the ridges that it corrects, early in its training.

    module: both; training changes it.
    validation: batches of the validation split.
    """

    module: Corrected
    validation: WindowBatches
    rows: FitRows
    settings: FitSettings

    def train(
        self, batches: FitBatches, train: Callable[..., TrainingRecord]
    ) -> TrainingRecord | None:
        """Train for a moment, and return the record if the network is not worth more.

        batches: of the training that is planned; `train` takes batches and settings.

        If it is, all is as before. Few stretches of the split say nothing of a trial: WTH, 720
        steps ahead, has four, and was 1.1 % worse (notes/performance.md).
        """
        training, validation = batches
        trainer = self.settings.trainer
        # A tenth of the planned windows at most, else a trial is not worth while.
        n_least = 10 * TRIAL
        if validation is None or trainer.max_iter * training.n_drawn < n_least:
            return None
        if not self._has_enough_stretches(validation, MOST_STRETCHES):
            return None
        weights_before = copy_state(self.module)
        shuffling_before = training.get_state()
        validation = validation.with_max_windows(TRIAL)
        record = train(
            training=training.with_max_windows(TRIAL),
            validation=validation,
            settings=replace(trainer, max_iter=1),
        )
        if self._gains_little(validation) or record.stopped == "interrupted":
            return record
        self.module.load_state_dict(weights_before)
        training.set_state(shuffling_before)
        return None

    def should_stop(self, record: TrainingRecord) -> bool:
        """Return whether training ends after its first epoch, for as little as after a trial.

        A whole epoch says more than a trial: half of the stretches do.
        """
        if record.n_iter != 1:
            return False
        if not self._has_enough_stretches(self.validation, MOST_STRETCHES // 2):
            return False
        return self._gains_little(self.validation.with_max_windows(TRIAL))

    def _has_enough_stretches(self, validation: WindowBatches, n_least: int) -> bool:
        """Return whether the split holds enough forecasts for little gain to mean none."""
        stretches = time_stretches(
            self._steps(validation), self.rows.sizes.pred_len, n_most=MOST_STRETCHES
        )
        return stretches is None or bool(stretches.max() + 1 >= n_least)

    def _gains_little(self, validation: WindowBatches) -> bool:
        """Return whether the network likely takes less than half a percent off ridges' loss."""
        losses = network_losses(
            self.module, validation, self._steps(validation), self.settings.head
        )
        return gain_of_best_share(losses) < 0.005

    def _steps(self, validation: WindowBatches) -> IntArray:
        return self.rows.timeline.steps_of(validation.draw())
