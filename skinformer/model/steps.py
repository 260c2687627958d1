"""Steps of windows as the network reads them, one by one or several in a token."""

from collections.abc import Callable
from typing import Any, NamedTuple

import torch
from torch import Tensor

from skinformer.model.patches import merge_steps, starts


class Steps(NamedTuple):
    """Neighbouring steps, or tokens, of windows.

    values: (batch, length, n_inputs).
    calendar: (batch, length, n_fields), int64; None where the module takes none.
    time: (batch, length); None where the module takes none.
    """

    values: Tensor
    calendar: Tensor | None
    time: Tensor | None

    def each(self, change: Callable[[Tensor], Tensor]) -> "Steps":
        """Change each tensor."""
        changed: list[Any] = [None if part is None else change(part) for part in self]
        return Steps(*changed)

    def last(self, length: int) -> "Steps":
        """Return the last steps; a length of 0 is none of them, unlike a slice from -0."""
        first = self.values.shape[1] - length
        return self.each(lambda part: part[:, first:])

    def followed_by(self, later: "Steps") -> "Steps":
        """Return these steps and later ones."""
        return Steps(*map(_join, self, later))

    def tokens(self, patch_len: int, *, pad_front: bool) -> "Steps":
        """Merge the values of neighbouring steps, with the calendar and the time of the first."""
        values = merge_steps(self.values, patch_len, pad_front=pad_front)
        calendar = starts(self.calendar, patch_len, pad_front=pad_front)
        time = starts(self.time, patch_len, pad_front=pad_front)
        if time is not None:
            time = time / patch_len  # in tokens, as positions are
        return Steps(values, calendar, time)

    def of_each_target(self, n_targets: int) -> "Steps":
        """Put each target beside all other columns: (batch * n_targets, length, 1 + n_others)."""
        by_target = self.values[..., :n_targets].transpose(1, 2)
        own = by_target.flatten(0, 1).unsqueeze(-1)
        others = self._replace(values=self.values[..., n_targets:])
        repeated = others.each(lambda part: part.repeat_interleave(n_targets, 0))
        values = torch.cat([own, repeated.values], dim=-1)
        return repeated._replace(values=values)


def _join(before: Any, after: Any) -> Any:
    return None if before is None else torch.cat([before, after], dim=1)
