"""The Informer: embedding, encoder, decoder and projection, put together."""

import math
from collections.abc import Mapping
from dataclasses import fields
from typing import Any, TypeAlias

import torch
from torch import Tensor, nn

from skinformer.model.embedding import StepEmbedding
from skinformer.model.initialization import initialize, without_draws
from skinformer.model.known_future_path import KnownFuturePath
from skinformer.model.layer import Layer
from skinformer.model.outputs import match_axes
from skinformer.model.patches import merge_steps, n_patches, split_steps, starts
from skinformer.model.settings import NetworkSettings, WindowLayout
from skinformer.model.stack import Stack
from skinformer.model.window_norm import WindowNorm, WindowStatistics
from skinformer.model.window_path import WindowPath

#: Values, calendar and times of steps (or of tokens), the last two where the module takes them.
_Steps: TypeAlias = tuple[Tensor, Tensor | None, Tensor | None]


class Informer(nn.Module):
    """Forecast a horizon from a window of the past and what is known of the future.

    The torch model behind the estimators; it takes tensors of standardised values and knows
    no frames, units or timestamps.

    layout: columns, lengths and outputs of its windows.
    settings: what its layers are.
    seed: of the weights, of dropout and of the key sampling of "probsparse", at least 0.

    The decoder input is the last ``label_len`` rows of the window followed by the masked
    future; after window normalisation a masked value, 0, is the mean of its window. The
    forecast is ``μ + σ · Projection(Decoder(…)) + W_known · known``, in float32, without μ if it
    is a distance. A forecast that is read is normalised by its window, too. Time and memory grow
    as n · ln(n) with "probsparse", as n² with "dense", n being the number of tokens,
    ⌈seq_len / patch_len⌉.

    Patches are aligned at the origin: a first patch of the window or of the guiding rows that is
    not whole is filled up with zeros. A patch's calendar and time are those of its first step.
    With ``decoder_patch_len=1`` and dense attention in the decoder no forecast depends on a value
    known ahead of a later step.

    Times count from the first step of the horizon: with equal steps they are -seq_len, …, -1
    and 0, …, pred_len - 1, and "continuous" is then "sinusoidal". Encoder and decoder count
    positions in tokens of their own. Both embeddings add the number of tokens before the horizon,
    so that time -seq_len is position 0 of the encoder and -label_len of the decoder. A year of
    seconds does not fit float32: whoever calls takes the origin off first, in int64.

    **Shape**: past ``(batch, seq_len, n_inputs)``, future ``(batch, pred_len, n_inputs)``,
    calendars ``(batch, length, n_fields)``, times ``(batch, length)``, output
    ``(batch, pred_len, n_targets, *outputs)``.

    NOTE[DIFF]: N 1 takes the guiding rows from the encoder output, which is shorter after
    distilling; the rows of the input are meant and used.

    Note on the Informer (N), sections 1 and 7; training configuration (C).
    >>> layout = WindowLayout(
    ...     n_targets=1, n_past=0, n_known=1, apart=False, season=0, calendar_sizes=(24, 7),
    ...     seq_len=48, label_len=24, pred_len=12, patch_len=4, decoder_patch_len=1, outputs=(),
    ...     in_units=True, forecasts_distance=False, reads_forecast=False, null_embedding=False,
    ... )
    >>> settings = NetworkSettings(
    ...     d_model=16, n_heads=2, n_encoder_layers=2, n_decoder_layers=1, d_ff=32, dropout=0.1,
    ...     activation="gelu", norm="layer", norm_first=True, attention="probsparse",
    ...     decoder_attention="dense", factor=5, qk_norm=False, output_gate=False, distil=True,
    ...     bias=True, position="sinusoidal", mask_embedding=False, window_norm=True,
    ...     init="xavier", gradient_checkpointing=False,
    ... )
    >>> model = Informer(layout, settings, seed=0)
    >>> past, future = torch.randn(4, 48, 2), torch.zeros(4, 12, 2)
    >>> hours = torch.zeros(4, 48, 2, dtype=torch.int64)
    >>> model(past, future, hours, hours[:, :12]).shape
    torch.Size([4, 12, 1])
    """

    @without_draws()
    def __init__(
        self, layout: WindowLayout, settings: NetworkSettings, *, seed: int
    ) -> None:
        super().__init__()
        self.layout, self.settings, self.seed = layout, settings, seed
        self.n_seen = n_patches(layout.seq_len, layout.patch_len)
        self.n_guiding = n_patches(layout.label_len, layout.decoder_patch_len)
        self.n_ahead = n_patches(layout.pred_len, layout.decoder_patch_len)
        self.n_apart = layout.n_targets if layout.apart else 1
        self.shape = (layout.n_targets_at_once, *layout.outputs)
        self.window_norm = self._make_window_norm()
        self.encoder_embedding = self._make_embedding(
            layout.patch_len, length=self.n_seen, origin=self.n_seen, n_masked=0
        )
        self.decoder_embedding = self._make_embedding(
            layout.decoder_patch_len,
            length=self.n_guiding + self.n_ahead,
            origin=self.n_guiding,
            n_masked=self.n_ahead if settings.mask_embedding else 0,
        )
        self.encoder = self._make_stack(in_decoder=False)
        self.decoder = self._make_stack(in_decoder=True)
        n_outputs = math.prod(self.shape) * layout.decoder_patch_len
        self.projection = nn.Linear(settings.d_model, n_outputs)
        self.known_path: KnownFuturePath | None = None
        if layout.n_known:
            self.known_path = KnownFuturePath(
                n_known=layout.n_known, n_targets=layout.n_targets
            )
        self.window_path: WindowPath | None = None
        if layout.window_path:
            self.window_path = WindowPath(
                seq_len=layout.seq_len, pred_len=layout.pred_len
            )
        initialize(self, init=settings.init, seed=seed)
        if layout.forecasts_distance:
            nn.init.zeros_(self.projection.weight)

    @classmethod
    def of(cls, built_from: Mapping[str, Any]) -> "Informer":
        """Build a network, with new weights, from values as `built_from` has them."""
        of_layout = {field.name for field in fields(WindowLayout)}
        layout = {
            name: value for name, value in built_from.items() if name in of_layout
        }
        others = {
            name: value for name, value in built_from.items() if name not in of_layout
        }
        seed = others.pop("seed")
        return cls(WindowLayout(**layout), NetworkSettings(**others), seed=seed)

    @property
    def built_from(self) -> dict[str, Any]:
        """All that it was built from, as plain values."""
        return {**vars(self.layout), **vars(self.settings), "seed": self.seed}

    @property
    def reads_forecast(self) -> bool:
        """Whether the target columns of the future hold the forecast that it corrects."""
        return self.layout.reads_forecast

    @property
    def largest_product(self) -> int:
        """Products of two numbers in a layer's largest product of matrices, for one window."""
        width, n_tokens = (
            self.settings.d_model,
            max(self.n_seen, self.n_guiding + self.n_ahead),
        )
        return self.n_apart * n_tokens * width * max(self.settings.d_ff, 3 * width)

    def _make_window_norm(self) -> WindowNorm | None:
        if not self.settings.window_norm:
            return None
        layout = self.layout
        return WindowNorm(
            n_targets=layout.n_targets_at_once,
            n_past=layout.n_past,
            may_miss=layout.null_embedding,
        )

    def _make_embedding(
        self, patch_len: int, *, length: int, origin: int, n_masked: int
    ) -> StepEmbedding:
        """Make the embedding of encoder or decoder, see `StepEmbedding`; lengths in tokens."""
        return StepEmbedding(
            n_inputs=self.layout.n_inputs * patch_len,
            calendar_sizes=self.layout.calendar_sizes,
            length=length,
            origin=origin,
            n_masked=n_masked,
            null_embedding=self.layout.null_embedding,
            d_model=self.settings.d_model,
            position=self.settings.position,
            norm=self.settings.norm,
        )

    def _make_stack(self, *, in_decoder: bool) -> Stack:
        """Make encoder or decoder, whose layers sample their keys from seeds of their own."""
        settings = self.settings
        n_layers = (
            settings.n_decoder_layers if in_decoder else settings.n_encoder_layers
        )
        first = self.seed + (settings.n_encoder_layers if in_decoder else 0)
        layers = [
            Layer(settings, in_decoder=in_decoder, seed=first + i)
            for i in range(n_layers)
        ]
        return Stack(
            layers,
            d_model=settings.d_model,
            distil=settings.distil and not in_decoder,
            norm=settings.norm,
            recompute=settings.gradient_checkpointing,
        )

    def forward(
        self,
        past: Tensor,
        future: Tensor,
        past_calendar: Tensor | None = None,
        future_calendar: Tensor | None = None,
        past_time: Tensor | None = None,
        future_time: Tensor | None = None,
    ) -> Tensor:
        """Forecast windows: standardised, (batch, pred_len, n_targets, *outputs), float32.

        past: standardised, (batch, seq_len, n_inputs); NaN only in covariates, with
        `null_embedding`.
        future: masked, (batch, pred_len, n_inputs): 0 in the past-only columns and, unless a
        forecast is read, in those of the targets.
        past_calendar, future_calendar: int64, (batch, length, n_fields); None without a calendar.
        past_time, future_time: float32, (batch, length), in mean steps since the first step of the
        horizon; needed, and read, with ``position="continuous"`` alone.
        """
        times = past_calendar, future_calendar, past_time, future_time
        if self.n_apart == 1:
            forecast = self._forecast(past, future, *times)
        else:
            n, k = past.shape[0], self.n_apart
            own, ahead = _each_target(past, k), _each_target(future, k)
            each = [x if x is None else x.repeat_interleave(k, 0) for x in times]
            alone = self._forecast(own, ahead, *each)
            forecast = alone.reshape(
                n, k, self.layout.pred_len, *self.shape[1:]
            ).movedim(1, 2)
        if self.known_path is not None:
            effect = self.known_path(
                future[..., future.shape[-1] - self.layout.n_known :].nan_to_num()
            )
            forecast = forecast + match_axes(effect, forecast)
        return forecast

    def _forecast(self, past: Tensor, future: Tensor, *times: Tensor | None) -> Tensor:
        """Forecast windows without what columns known ahead do by themselves."""
        past_calendar, future_calendar, past_time, future_time = times
        statistics: WindowStatistics | None = None
        if self.window_norm is not None:
            past, statistics = self.window_norm(past)
            if self.layout.reads_forecast:
                future = self.window_norm.normalise_forecast(future, statistics)
        if self.layout.season:
            future = self._with_season(past, future)
        seen, ahead = (
            (past, past_calendar, past_time),
            (future, future_calendar, future_time),
        )
        tokens = _tokens(seen, self.layout.patch_len, pad_front=True)
        forecast = self._decode(
            seen, ahead, self.encoder(self.encoder_embedding(*tokens))
        )
        if self.window_path is not None:
            forecast = forecast + match_axes(
                self.window_path(past[..., : self.shape[0]]), forecast
            )
        if (
            self.window_norm is not None
            and statistics is not None
            and self.layout.in_units
        ):
            forecast = self.window_norm.undo(
                forecast, statistics, centre=not self.layout.forecasts_distance
            )
        return forecast

    def _with_season(self, past: Tensor, future: Tensor) -> Tensor:
        """Put the window's mean at the phase of each step ahead in the place of masked targets."""
        k, n_seasons = self.shape[0], past.shape[1] // self.layout.season
        whole = past[:, past.shape[1] - n_seasons * self.layout.season :, :k]
        usual = whole.reshape(past.shape[0], n_seasons, self.layout.season, k).mean(
            dim=1
        )
        ahead = usual.repeat(1, -(-self.layout.pred_len // self.layout.season), 1)[
            :, : self.layout.pred_len
        ]
        return torch.cat([ahead.to(future.dtype), future[..., k:]], dim=-1)

    def embed_unseen(self) -> None:
        """Set the last value of the last calendar field to the mean vector of the others."""
        for embedding in (self.encoder_embedding, self.decoder_embedding):
            if embedding.calendar is not None:
                embedding.calendar.embed_unseen()

    def _decode(self, seen: _Steps, ahead: _Steps, memory: Tensor) -> Tensor:
        """Decode the steps ahead, (batch, pred_len, n_targets, *outputs)."""
        # Each side by itself, as both are aligned at the origin: no token holds rows of both.
        guiding = _last(seen, self.layout.label_len)
        before = _tokens(guiding, self.layout.decoder_patch_len, pad_front=True)
        after = _tokens(ahead, self.layout.decoder_patch_len, pad_front=False)
        pairs = zip(before, after, strict=True)
        joined = [
            None if a is None or b is None else torch.cat([a, b], dim=1)
            for a, b in pairs
        ]
        embedded = self.decoder_embedding(
            *joined
        )  # (batch, n_guiding + n_ahead, d_model)
        states = self.decoder(embedded, memory, n_last=self.n_ahead)
        forecast: Tensor = self.projection(
            states
        ).float()  # (batch, n_ahead, patch · n_outputs)
        steps = split_steps(
            forecast, self.layout.decoder_patch_len, length=self.layout.pred_len
        )
        return steps.reshape(*steps.shape[:2], *self.shape)


def _each_target(values: Tensor, n_targets: int) -> Tensor:
    """Put each target beside all other columns: (batch * n_targets, length, 1 + n_others)."""
    own = values[..., :n_targets].transpose(1, 2).flatten(0, 1)[..., None]
    others = values[..., n_targets:].repeat_interleave(n_targets, 0)
    return torch.cat([own, others], dim=-1)


def _last(steps: _Steps, length: int) -> _Steps:
    """Take the last steps; a length of 0 is none of them, which a slice from -0 would not be."""
    values, calendar, time = steps
    first = values.shape[1] - length
    return (
        values[:, first:],
        None if calendar is None else calendar[:, first:],
        None if time is None else time[:, first:],
    )


def _tokens(steps: _Steps, patch_len: int, *, pad_front: bool) -> _Steps:
    """Merge the values of steps into tokens, with the calendar and the time of each."""
    values, calendar, time = steps
    time = starts(time, patch_len, pad_front=pad_front)
    return (
        merge_steps(values, patch_len, pad_front=pad_front),
        starts(calendar, patch_len, pad_front=pad_front),
        None if time is None else time / patch_len,  # in tokens, as positions are
    )
