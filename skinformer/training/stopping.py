"""The best weights so far, and when to stop waiting for better ones."""

import copy
import math
from typing import Any

from torch import Tensor, nn

_STORED = ("weights", "epoch", "loss", "n_waited")


class BestWeights:
    """Keeps a copy of a module's best state.

    Without validation the training loss decides what is best; that copy is used only when the
    fit diverges.

    Parameters
    ----------
    module : Module
        The module; its present state is the first copy.
    tol : float >= 0
        Improvements of `tol` or less count as none when it comes to stopping.
    n_iter_no_change : int
        Epochs without an improvement after which `exhausted` is true.

    Attributes
    ----------
    weights : dict
        Copy of the best ``state_dict()``, extra state included.
    epoch : int
        Epoch of that copy; 0 before the first.
    loss : float
        Its loss; infinite before the first.
    n_waited : int
        Epochs since the last improvement by more than `tol`.

    Examples
    --------
    >>> module = nn.Linear(1, 1)
    >>> best = BestWeights(module, tol=0.0, n_iter_no_change=2)
    >>> for epoch, loss in enumerate([0.9, 0.5, 0.6, 0.7], 1):
    ...     best.update(module, epoch=epoch, loss=loss)
    >>> best.epoch, best.loss, best.exhausted
    (2, 0.5, True)
    """

    def __init__(self, module: nn.Module, *, tol: float, n_iter_no_change: int) -> None:
        self.weights = copy_state(module)
        self.epoch, self.loss, self.n_waited = 0, math.inf, 0
        self._tol, self._patience = tol, n_iter_no_change

    def update(self, module: nn.Module, *, epoch: int, loss: float) -> None:
        """Take an epoch's loss into account.

        Parameters
        ----------
        module : Module
            The module after the epoch.
        epoch : int
            1 for the first.
        loss : float
            Finite.
        """
        self.n_waited = 0 if loss < self.loss - self._tol else self.n_waited + 1
        if loss < self.loss:
            self.weights, self.epoch, self.loss = copy_state(module), epoch, loss

    @property
    def exhausted(self) -> bool:
        """Whether `n_iter_no_change` epochs went by without an improvement."""
        return self.n_waited >= self._patience

    def state_dict(self) -> dict[str, Any]:
        """Return what `load_state_dict` needs.

        Returns
        -------
        dict
            Tensors and plain values.
        """
        return {k: getattr(self, k) for k in _STORED}

    def load_state_dict(self, state: dict[str, Any]) -> None:
        """Continue from a stored state.

        Parameters
        ----------
        state : dict
            From `state_dict`.
        """
        for key in _STORED:
            setattr(self, key, state[key])


def copy_state(module: nn.Module) -> dict[str, Any]:
    """Return a copy of a module's state on its own device.

    Parameters
    ----------
    module : Module
        Any module.

    Returns
    -------
    dict
        Its ``state_dict()``, cloned, extra state included.

    Examples
    --------
    >>> module = nn.Linear(1, 1)
    >>> state = copy_state(module)
    >>> _ = nn.init.zeros_(module.weight)
    >>> bool(state["weight"] == 0)
    False
    """
    state = module.state_dict()
    return {
        k: v.detach().clone() if isinstance(v, Tensor) else copy.deepcopy(v)
        for k, v in state.items()
    }
