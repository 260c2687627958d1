"""What a network corrects in training, beside a path that was fitted to these very windows."""

from collections.abc import Callable

import numpy as np
import torch
from torch import Tensor

from skinformer.ridge.linear_fit import LinearFits
from skinformer.ridge.linear_path import LinearPath
from skinformer.timeline.arrays import IntArray


class OutOfFoldPath:
    """Forecast training windows as the path does that has not learnt their time.

    fits: of the path, some of them `folds`.
    times: from origins to the times that these are cut by.

    The path's error is smaller on the windows that it was fitted to than on those it will meet (by
    a fifth to a third, for a map per column over 336 rows), and what is left of it there is its own
    overfitting turned inside out. A network that corrects it must not learn from that, and is
    trained beside the same blend, fitted without the time of each window.
    """

    def __init__(
        self,
        fits: LinearFits,
        times: Callable[[IntArray], IntArray],
        device: torch.device,
    ) -> None:
        self.device = device
        self.fits = fits
        self.paths = [LinearPath(fold).to(device) for _, fold in fits.folds]
        self.times = times

    def forecast(self, inputs: tuple[Tensor | None, ...], origins: IntArray) -> Tensor:
        """Forecast windows, see `WindowSource.path_inputs`, for the network to correct."""
        fold = self.fits.fold_of(self.times(origins))
        # One path after the other, and their forecasts back in the order of the windows.
        order = torch.from_numpy(np.argsort(fold, kind="stable"))
        order = order.to(self.device, non_blocking=True)
        counts = np.bincount(fold, minlength=len(self.paths)).tolist()
        y_pred = []
        for path, some in zip(self.paths, torch.split(order, counts), strict=True):
            if len(some):
                of_fold = [None if x is None else x[some] for x in inputs]
                y_pred.append(path(*of_fold))
        return torch.cat(y_pred)[order.argsort()]
