"""The best weights so far, and when to stop waiting for better ones."""

import copy
import math
from typing import Any

from torch import Tensor, nn

_STORED = ("weights", "epoch", "loss", "n_waited")


class BestWeights:
    """Keeps a copy of a module's best state.

    Without validation the training loss decides what is best; that copy is used only when the
    fit diverges. ``epoch`` and ``loss`` are those of the copy ``weights``, 0 and infinite at first;
    ``n_waited`` counts epochs since the last improvement by more than `tol`.
    """

    def __init__(self, module: nn.Module, *, tol: float, n_iter_no_change: int) -> None:
        self.weights = copy_state(module)
        self.epoch, self.loss, self.n_waited = 0, math.inf, 0
        self._tol, self._patience = tol, n_iter_no_change

    def update(self, module: nn.Module, *, epoch: int, loss: float) -> None:
        """Take the finite loss of an epoch (1 for the first) into account."""
        self.n_waited = 0 if loss < self.loss - self._tol else self.n_waited + 1
        if loss < self.loss:
            self.weights, self.epoch, self.loss = copy_state(module), epoch, loss

    @property
    def exhausted(self) -> bool:
        """Whether `n_iter_no_change` epochs went by without an improvement."""
        return self.n_waited >= self._patience

    def state_dict(self) -> dict[str, Any]:
        """Return what `load_state_dict` needs."""
        return {k: getattr(self, k) for k in _STORED}

    def load_state_dict(self, state: dict[str, Any]) -> None:
        """Continue from a stored state."""
        for key in _STORED:
            setattr(self, key, state[key])


def copy_state(module: nn.Module) -> dict[str, Any]:
    """Return a copy of a module's ``state_dict()``, extra state included, on its own device."""
    state = module.state_dict()
    return {
        k: v.detach().clone() if isinstance(v, Tensor) else copy.deepcopy(v)
        for k, v in state.items()
    }
