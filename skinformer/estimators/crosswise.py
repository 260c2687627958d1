"""Truths to train a network on, beside a path that was fitted to these very windows."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import numpy as np
import torch
from torch import Tensor

from skinformer.estimators.building import ModelSizes
from skinformer.estimators.hybrid import linear_module, times_of
from skinformer.ridge.fit import LinearFit
from skinformer.timeline.arrays import IntArray
from skinformer.timeline.timeline import Timeline

__all__ = ["N_APART", "HonestTruths", "honest_truths"]

#: Times that the path is fitted without, one after the other.
N_APART = 3


class HonestTruths:
    """
    Move truths by as much as the path knows them from having learnt them.

    The path's error is smaller on the windows that it was fitted to than on those it will meet
    (by a fifth to a third, for a map per column over 336 rows), and what is left of it there is
    its own overfitting turned inside out. A network that corrects it must not learn from that.
    Training lowers errors of ``path + network - truth``; with the truth moved by ``path - path
    fitted without this time`` they are those of the honest path and the network.

    Parameters
    ----------
    sizes : ModelSizes
        What the columns are.
    fit : LinearFit
        The path; it has fits `apart`.
    times : callable
        From origins to the times that these are cut by.
    device : torch.device or str
        Where windows are.
    """

    def __init__(
        self,
        sizes: ModelSizes,
        fit: LinearFit,
        times: Callable[[IntArray], IntArray],
        device: torch.device | str,
    ) -> None:
        self.path = linear_module(sizes, fit).to(device)
        self.apart = [linear_module(sizes, other).to(device) for _, other in fit.apart]
        # What follows the last window that the path could learn from belongs to the last time.
        self.borders = np.array([end for end, _ in fit.apart[:-1]])
        self.times = times

    def move(self, truth: Tensor, past: Tensor, future: Tensor, origins: Tensor) -> Tensor:
        """
        Move the truths of some windows.

        Parameters
        ----------
        truth : Tensor of shape (n, pred_len, n_targets)
            Standardised.
        past, future : Tensor of shape (n, …, n_columns)
            The windows, see `WindowSource.path_inputs`.
        origins : Tensor of int64, shape (n,)
            The row of each window's first forecast step.

        Returns
        -------
        Tensor of shape (n, pred_len, n_targets)
            What the network is trained on.
        """
        place = np.searchsorted(self.borders, self.times(origins.cpu().numpy()), side="right")
        moved: Tensor = truth + self.path(past, future)
        for number, path in enumerate(self.apart):
            some = torch.from_numpy(np.flatnonzero(place == number)).to(past.device)
            if len(some):
                moved[some] -= path(past[some], future[some])
        return moved


def honest_truths(
    linear: tuple[LinearFit, LinearFit] | None,
    timeline: Timeline,
    sizes: ModelSizes,
    tail: IntArray | None,
    *,
    device: torch.device | str,
) -> HonestTruths | None:
    """
    Make what moves the truths of a fit.

    Parameters
    ----------
    linear : tuple of LinearFit, or None
        From `linear_fit`.
    timeline : Timeline
        The training rows.
    sizes : ModelSizes
        What the columns are.
    tail : ndarray of int64, shape (n_series,), or None
        The row at which each series' validation tail begins.
    device : torch.device or str
        Where windows are.

    Returns
    -------
    HonestTruths or None
        None where there is no path, or too little to fit it to apart.
    """
    if linear is None or not linear[0].apart:
        return None
    return HonestTruths(sizes, linear[0], partial(times_of, timeline, tail), device)
