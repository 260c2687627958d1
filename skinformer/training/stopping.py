"""The best weights so far, and when to stop waiting for better ones."""

import copy
import math
from typing import Any, NamedTuple, TypeAlias

from torch import nn

#: A state by names, in tensors and plain values, as of `torch.nn.Module.state_dict`.
StateDict: TypeAlias = dict[str, Any]


class BestWeights(NamedTuple):
    """A copy of a module's best state, and how long nothing has been better.

    Without validation the training loss decides what is best; that copy is used only when the
    fit diverges. ``epoch`` and ``loss`` are those of the copy ``weights``, 0 and infinite at first;
    ``n_waited`` counts epochs since the last improvement by more than `tol`.
    """

    weights: StateDict
    epoch: int = 0
    loss: float = math.inf
    n_waited: int = 0

    def after(
        self, module: nn.Module, *, epoch: int, loss: float, tol: float
    ) -> "BestWeights":
        """Take the finite loss of an epoch (1 for the first) into account."""
        n_waited = self.n_waited + 1
        if loss < self.loss - tol:
            n_waited = 0
        if loss < self.loss:
            return BestWeights(copy_state(module), epoch, loss, n_waited)
        return self._replace(n_waited=n_waited)


def copy_state(module: nn.Module) -> StateDict:
    """Return a copy of a module's ``state_dict()``, extra state included."""
    return copy.deepcopy(module.state_dict())
