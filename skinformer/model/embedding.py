"""Embedding of values, positions and calendar into the model's width."""

from collections.abc import Sequence

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from skinformer.model.norm import make_norm
from skinformer.model.position import make_position
from skinformer.model.projection import InputLinear
from skinformer.model.settings import NetworkSettings, WindowLayout


class CalendarEmbedding(nn.Module):
    """Embed the calendar fields of each step.

    For hour, weekday, month and the like, given as integers from 0; not for cyclic numbers
    (pass those as covariates known ahead).

    sizes: number of values of each field, at least one field.
    d_model: width of the output.

    Tables of width 8, concatenated: ``ReLU(e W_1 + b_1) W_2 + b_2``;
    O(length · (n_fields + d_model) · d_model).

    **Shape**: input ``(batch, length, n_fields)``, int64, field i in [0, sizes[i]); output
    ``(batch, length, d_model)``.

    NOTE[DIFF]: the specification counts months from 1 and gives them a table of 12, which December
    overruns; every field here counts from 0.

    Zhou et al. (2021), Informer: the uniform input representation.
    >>> calendar = CalendarEmbedding(sizes=(24, 7, 12), d_model=16)
    >>> calendar(torch.tensor([[[23, 6, 11]]])).shape
    torch.Size([1, 1, 16])
    """

    def __init__(self, *, sizes: Sequence[int], d_model: int) -> None:
        super().__init__()
        width = 8
        self.tables = nn.ModuleList(nn.Embedding(size, width) for size in sizes)
        self.hidden = InputLinear(width * len(sizes), d_model, bias=True)
        self.output = InputLinear(d_model, d_model, bias=True)

    @torch.no_grad()
    def embed_unseen(self) -> None:
        """Set the last value of the last field, which training did not hold, to the mean vector."""
        table: Tensor = self.tables[-1].weight  # type: ignore[assignment]
        table[-1] = table[:-1].mean(dim=0)

    def forward(self, calendar: Tensor) -> Tensor:
        """Embed the first fields of (batch, length, n_fields), int64: (batch, length, d_model)."""
        fields = [table(calendar[..., i]) for i, table in enumerate(self.tables)]
        hidden = self.hidden(torch.cat(fields, dim=-1))
        return self.output(F.relu(hidden))


class StepEmbedding(nn.Module):
    """Embed each step: its values, its position, its calendar, and whether it is masked.

    For the input of encoder and decoder, one instance each.

    layout: of the windows; ``n_inputs``, ``calendar_sizes`` and ``null_embedding`` are read.
    settings: of the network; ``d_model``, ``position``, ``norm`` and ``mask_embedding`` are read.
    patch_len: steps whose values stand side by side in one token.
    n_before, n_ahead: numbers of tokens before the horizon, which starts at time 0, and from there
    on; with ``mask_embedding`` a learnt vector is added to the latter.

    ``Norm(x W_E + b_E + PE + calendar + mask + null)``, the sum in float32; O(length · d_model ·
    n_inputs) and the calendar's cost.

    **Shape**: input ``(batch, length, n_inputs)``, calendar ``(batch, length, n_fields)``, time
    ``(batch, length)``, output ``(batch, length, d_model)``, float32.

    NOTE[DIFF]: the specification norms only the sum with the calendar; without the norm the
    position code would outweigh the values, so it stays when the calendar is off. The mask vector
    is added to the embedding of a masked step; it does not replace it, since columns known ahead
    keep their values there.

    A missing value counts as 0, the mean, and adds its column's learnt vector.

    Zhou et al. (2021), Informer: the uniform input representation.
    >>> from types import SimpleNamespace
    >>> layout = SimpleNamespace(n_inputs=3, calendar_sizes=(24,), null_embedding=False)
    >>> settings = SimpleNamespace(
    ...     d_model=8, position="sinusoidal", norm="layer", mask_embedding=True
    ... )
    >>> embedding = StepEmbedding(layout, settings, patch_len=1, n_before=3, n_ahead=2)
    >>> embedding(torch.randn(2, 5, 3), torch.zeros(2, 5, 1, dtype=torch.int64)).shape
    torch.Size([2, 5, 8])
    """

    def __init__(
        self,
        layout: WindowLayout,
        settings: NetworkSettings,
        *,
        patch_len: int,
        n_before: int,
        n_ahead: int,
    ) -> None:
        super().__init__()
        d_model = settings.d_model
        n_inputs = layout.n_inputs * patch_len
        self.values = InputLinear(n_inputs, d_model, bias=True)
        self.position = make_position(
            settings.position,
            length=n_before + n_ahead,
            origin=n_before,
            d_model=d_model,
        )
        self.calendar = None
        if layout.calendar_sizes:
            self.calendar = CalendarEmbedding(
                sizes=layout.calendar_sizes, d_model=d_model
            )
        self.n_before = n_before
        self.mask = None
        if settings.mask_embedding and n_ahead:
            self.mask = nn.Embedding(1, d_model)
        self.null = None
        if layout.null_embedding:
            self.null = nn.Embedding(n_inputs, d_model)
        self.norm = make_norm(settings.norm, d_model=d_model)

    def forward(
        self, values: Tensor, calendar: Tensor | None, time: Tensor | None = None
    ) -> Tensor:
        """Embed standardised values, (batch, length, n_inputs): (batch, length, d_model), float32.

        ``calendar`` is ignored by a module without one; ``time``, (batch, length), in mean steps
        since the origin, is read with ``position="continuous"`` alone.
        """
        # (length, d_model), with a batch in front for times; float32, and so is the sum
        code = self.position(time)
        if self.mask is not None:
            before = code[..., : self.n_before, :]
            masked = code[..., self.n_before :, :] + self.mask.weight
            code = torch.cat([before, masked], dim=-2)
        if self.null is None:
            embedded = self.values(values)
        else:
            missing = values.isnan().float()  # (batch, length, n_inputs)
            embedded = self.values(values.nan_to_num()) + missing @ self.null.weight
        embedded = embedded + code
        if self.calendar is not None:
            embedded = embedded + self.calendar(calendar)
        return self.norm(embedded)
