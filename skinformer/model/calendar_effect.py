"""The effect of the calendar and of columns known ahead on targets, as tables."""

import torch
from torch import Tensor, nn

__all__ = ["CalendarEffect"]


class CalendarEffect(nn.Module):
    """Add up the effects of a step's calendar cell and of its columns known ahead.

    Parameters
    ----------
    n_fields : int
        Calendar fields.
    n_cells, n_times : int
        Cells of the cycle, and those of a day; a cell's number modulo `n_times` is its time.
    n_known, n_targets : int
        Numbers of columns known ahead and of targets.
    year : tuple of int, default=(0, 1)
        Days of the year that are told apart, and times of each; a cell's number divided by
        `n_cells`, rounded down, is its day.

    Attributes
    ----------
    places : Tensor of shape (n_fields, 60), int64
        What each value of each field adds to the number of a cell.
    level : Tensor of shape (n_cells, n_targets)
        Effect of each cell.
    known : Tensor of shape (n_times, n_known, n_targets)
        Effect of a unit of each column at each time of a day.
    year : Tensor of shape (n_days, n_times, n_targets)
        Effect of each time of each day of the year.
    bounds : Tensor of shape (2, n_known)
        Lowest and highest values that were seen, see `within`.

    Notes
    -----
    All are buffers, found in closed form (`skinformer.ridge.calendar`). Every number is made of its
    own step alone, element by element, so that it is the same in any batch.

    **Shape**: see `forward`.

    Examples
    --------
    >>> effect = CalendarEffect(1, n_cells=2, n_times=1, n_known=1, n_targets=1)
    >>> _ = effect.places[0, 5].fill_(1), effect.level[1].fill_(7.0), effect.known.fill_(2.0)
    >>> effect(torch.tensor([[[3.0]]]), torch.tensor([[[5]]])).item()
    13.0
    """

    places: Tensor
    level: Tensor
    known: Tensor
    bounds: Tensor
    year: Tensor

    def __init__(
        self,
        n_fields: int,
        *,
        n_cells: int,
        n_times: int,
        n_known: int,
        n_targets: int,
        year: tuple[int, int] = (0, 1),
    ) -> None:
        super().__init__()
        self.register_buffer("places", torch.zeros(n_fields, 60, dtype=torch.int64))
        self.register_buffer("level", torch.zeros(n_cells, n_targets))
        self.register_buffer("known", torch.zeros(n_times, n_known, n_targets))
        self.register_buffer("bounds", torch.zeros(2, n_known))
        self.register_buffer("year", torch.zeros(*year, n_targets if year[0] else 0))

    def forward(self, known: Tensor, categories: Tensor, level: float = 1.0) -> Tensor:
        """Give the effect on each step, (batch, length, n_targets).

        known: standardised, without NaN, (batch, length, n_known).
        categories: calendar fields first, (batch, length, n_categories), int64.
        level: factor of the cells' own effect; 0 gives what changes of the columns do.
        """
        cell = torch.zeros_like(categories[..., 0])
        for j, place in enumerate(self.places):
            cell = cell + place[categories[..., j]]
        out = level * self.level.to(known.dtype)[cell % len(self.level)]
        if len(self.year):
            time = cell % self.year.shape[1]
            out = out + level * self.year.to(known.dtype)[cell // len(self.level), time]
        table = self.known.to(known.dtype)
        if not table.shape[1]:
            return out
        if len(table) == 1:  # of many columns and targets: their products at once would be too many
            for column, effect in zip(known.unbind(-1), table[0], strict=True):
                out = out + column[..., None] * effect
        else:
            out = out + (known[..., None] * table[cell % len(table)]).sum(dim=-2)
        return out

    def within(self, values: Tensor) -> Tensor:
        """Clip columns known ahead, the last of (…, n_inputs), to what was seen."""
        n_known = self.known.shape[1]
        if not n_known:
            return values
        low, high = self.bounds.to(values.dtype)
        known = values[..., -n_known:].clamp(low, high)
        return torch.cat([values[..., :-n_known], known], dim=-1)
