"""Linear maps whose weights change with the time of the day."""

from collections.abc import Mapping

import torch
from torch import Tensor, nn

__all__ = ["PhaseMaps"]


class PhaseMaps(nn.Module):
    """Add to a linear path's forecast a map that depends on the origin's time of day.

    Parameters
    ----------
    n_fields : int
        Calendar fields.
    n_times, n_waves : int
        Cells of the cycle, mostly a day, and waves that weights go by.
    n_targets, n_columns : int
        Numbers of targets, the first columns, and of all first columns that are read.
    seq_len, pred_len : int
        Steps of a window that are seen, and steps of the forecast.
    n_own, n_others : int
        Numbers that are read of a target's own window, and of every column.

    Attributes
    ----------
    places : Tensor of shape (n_fields, 60), int64
        What each value of each field adds to the number of a cell, which modulo `n_times` is its
        time.
    waves : Tensor of shape (n_times, n_waves)
        Of each time.
    own, others : Tensor of shape (seq_len, n_own) and (seq_len, n_others)
        What is read of distances: by each number the share of each step.
    weights : Tensor of shape (n_targets, n_waves · (n_own + n_columns · n_others + 1), pred_len)
        From what is read, and 1, times each wave.

    Notes
    -----
    A linear map with coefficients that vary with the phase of a cycle, ``Σ_j φ_j(t) [r, 1] W_j``,
    found in closed form (`skinformer.ridge.phases`); all are buffers.

    References
    ----------
    Hastie and Tibshirani (1993), Varying-coefficient models.

    Examples
    --------
    >>> sizes = {"n_targets": 1, "n_columns": 1, "seq_len": 2, "pred_len": 1}
    >>> maps = PhaseMaps(1, n_times=2, n_waves=1, n_own=1, n_others=0, **sizes)
    >>> _ = maps.places[0, 1].fill_(1), maps.own[0].fill_(1.0), maps.weights.fill_(1.0)
    >>> _ = maps.waves[:, 0].copy_(torch.tensor([1.0, 10.0]))
    >>> [maps(torch.tensor([[[5.0], [0.0]]]), torch.tensor([[i]])).item() for i in (0, 1)]
    [6.0, 60.0]
    """

    places: Tensor
    waves: Tensor
    own: Tensor
    others: Tensor
    weights: Tensor

    def __init__(
        self,
        n_fields: int,
        *,
        n_times: int,
        n_waves: int,
        n_targets: int,
        n_columns: int,
        seq_len: int,
        pred_len: int,
        n_own: int,
        n_others: int,
    ) -> None:
        super().__init__()
        self.n_columns = n_columns
        n_read = n_own + n_columns * n_others + 1
        self.register_buffer("places", torch.zeros(n_fields, 60, dtype=torch.int64))
        self.register_buffer("waves", torch.zeros(n_times, n_waves))
        self.register_buffer("own", torch.zeros(seq_len, n_own))
        self.register_buffer("others", torch.zeros(seq_len, n_others))
        self.register_buffer("weights", torch.zeros(n_targets, n_waves * n_read, pred_len))

    @classmethod
    def of_shapes(cls, values: Mapping[str, Tensor]) -> "PhaseMaps":
        """Build maps, all 0, of the shapes of some values, by the names of the attributes.

        The width of the weights tells how many columns are read. The shapes differ from those of
        the values only if these do not agree with each other.

        >>> shapes = {"places": (2, 60), "waves": (24, 3), "own": (48, 5), "others": (48, 2)}
        >>> values = {name: torch.zeros(shape) for name, shape in shapes.items()}
        >>> PhaseMaps.of_shapes(values | {"weights": torch.zeros(1, 36, 6)}).n_columns
        3
        """
        n_times, n_waves = values["waves"].shape
        seq_len, n_own = values["own"].shape
        n_targets, width, pred_len = values["weights"].shape
        n_others = values["others"].shape[1]
        n_of_columns = width // max(n_waves, 1) - n_own - 1
        return cls(
            len(values["places"]),
            n_times=n_times,
            n_waves=n_waves,
            n_targets=n_targets,
            n_columns=n_of_columns // n_others if n_others else n_targets,
            seq_len=seq_len,
            pred_len=pred_len,
            n_own=n_own,
            n_others=n_others,
        )

    def forward(self, distance: Tensor, categories: Tensor, one: float = 1.0) -> Tensor:
        """Give what is added to forecasts, (batch, pred_len, n_targets).

        distance: windows less their last values, (batch, seq_len, n_inputs).
        categories: calendar fields first, of the first step of the forecast, (batch, n_categories).
        one: the constant among what is read; 0 for the effect of changes.
        """
        cell = torch.zeros_like(categories[:, 0])
        for j, place in enumerate(self.places):
            cell = cell + place[categories[:, j]]
        waves = self.waves.to(distance.dtype)[cell % len(self.waves)]
        own, others, weights = (
            x.to(distance.dtype).mT for x in (self.own, self.others, self.weights)
        )
        # Maps to the left, windows as columns, as in `LinearPath`.
        every = distance[:, -own.shape[1] :, : self.n_columns].permute(2, 1, 0)
        shared = (others @ every).flatten(0, 1)
        shared = torch.cat([shared, torch.full_like(every[0, :1], one)])
        read = own @ every[: len(weights)]
        read = torch.cat([read, shared.expand(len(weights), -1, -1)], dim=1)
        turned = (waves.T[:, None] * read[:, None]).flatten(1, 2)
        added: Tensor = weights @ turned
        return added.permute(2, 1, 0)
