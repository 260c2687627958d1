"""The Informer: embedding, encoder, decoder and projection, put together."""

import math
from collections.abc import Mapping
from typing import Any

import torch
from torch import Tensor, nn

from skinformer.model.embedding import StepEmbedding
from skinformer.model.initialization import initialize, without_draws
from skinformer.model.known_future_path import KnownFuturePath
from skinformer.model.layer import Layer
from skinformer.model.outputs import match_axes
from skinformer.model.patches import n_patches, split_steps
from skinformer.model.settings import NetworkSettings, WindowLayout
from skinformer.model.stack import Stack
from skinformer.model.steps import Steps
from skinformer.model.window_norm import WindowNorm
from skinformer.model.window_path import WindowPath


class Informer(nn.Module):
    """Forecast a horizon from a window of the past and what is known of the future.

    The torch model behind the estimators; it takes tensors of standardised values, without
    frames, units or timestamps.

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
    seconds does not fit float32: take the origin off first, in int64.

    **Shape**: past ``(batch, seq_len, n_inputs)``, future ``(batch, pred_len, n_inputs)``,
    calendars ``(batch, length, n_fields)``, times ``(batch, length)``, output
    ``(batch, pred_len, n_targets, *outputs)``.

    NOTE[DIFF]: the specification takes the guiding rows from the encoder output, which is shorter
    after distilling; the rows of the input are meant and used.

    Zhou et al. (2021), Informer.
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
        self.layout = layout
        self.settings = settings
        self.seed = seed
        self.n_apart = layout.n_targets if layout.apart else 1
        self.shape = (layout.n_targets_at_once, *layout.outputs)
        self.window_norm = None
        if settings.window_norm:
            self.window_norm = WindowNorm(
                n_targets=layout.n_targets_at_once,
                n_past=layout.n_past,
                may_miss=layout.null_embedding,
            )
        self.encoder_embedding = StepEmbedding(
            layout,
            settings,
            patch_len=layout.patch_len,
            n_before=layout.n_seen,
            n_ahead=0,
        )
        self.decoder_embedding = StepEmbedding(
            layout,
            settings,
            patch_len=layout.decoder_patch_len,
            n_before=layout.n_guiding,
            n_ahead=layout.n_ahead,
        )
        self.encoder = self._make_stack(in_decoder=False)
        self.decoder = self._make_stack(in_decoder=True)
        n_outputs = math.prod(self.shape) * layout.decoder_patch_len
        self.projection = nn.Linear(settings.d_model, n_outputs)
        self.known_path = None
        if layout.n_known:
            self.known_path = KnownFuturePath(
                n_known=layout.n_known, n_targets=layout.n_targets
            )
        self.window_path = None
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
        settings = dict(built_from)
        seed = settings.pop("seed")
        of_layout = settings.keys() & WindowLayout.__annotations__
        layout = {name: settings.pop(name) for name in of_layout}
        return cls(WindowLayout(**layout), NetworkSettings(**settings), seed=seed)

    @property
    def built_from(self) -> dict[str, Any]:
        """All that it was built from, as plain values."""
        return {**vars(self.layout), **vars(self.settings), "seed": self.seed}

    @property
    def largest_product(self) -> int:
        """Products of two numbers in a layer's largest product of matrices, for one window."""
        width = self.settings.d_model
        widest = max(self.settings.d_ff, 3 * width)
        n_in_decoder = self.layout.n_guiding + self.layout.n_ahead
        n_tokens = max(self.layout.n_seen, n_in_decoder)
        return self.n_apart * n_tokens * width * widest

    def _make_stack(self, *, in_decoder: bool) -> Stack:
        """Make encoder or decoder, whose layers sample their keys from seeds of their own."""
        settings = self.settings
        n_layers = settings.n_encoder_layers
        first_seed = self.seed
        if in_decoder:
            n_layers = settings.n_decoder_layers
            first_seed += settings.n_encoder_layers
        seeds = range(first_seed, first_seed + n_layers)
        layers = [Layer(settings, in_decoder=in_decoder, seed=seed) for seed in seeds]
        distil = settings.distil and not in_decoder
        return Stack(layers, settings, distil=distil)

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
        seen = Steps(past, past_calendar, past_time)
        ahead = Steps(future, future_calendar, future_time)
        if self.n_apart == 1:
            forecast = self._forecast(seen, ahead)
        else:
            forecast = self._forecast_each_target(seen, ahead)
        if self.known_path is not None:
            known = future[..., -self.layout.n_known :].nan_to_num()
            forecast = forecast + match_axes(self.known_path(known), forecast)
        return forecast

    def _forecast_each_target(self, seen: Steps, ahead: Steps) -> Tensor:
        """Forecast each target by itself, as if it were a window of its own."""
        n_targets = self.n_apart
        forecast = self._forecast(
            seen.of_each_target(n_targets), ahead.of_each_target(n_targets)
        )
        # (batch, n_targets, pred_len, *outputs): `shape` begins with one target.
        by_target = forecast.reshape(
            seen.values.shape[0], n_targets, self.layout.pred_len, *self.shape[1:]
        )
        return by_target.movedim(1, 2)

    def _forecast(self, seen: Steps, ahead: Steps) -> Tensor:
        """Forecast windows without what columns known ahead do by themselves."""
        norm = self.window_norm
        if norm is None:
            return self._forecast_normalised(seen, ahead)
        past, statistics = norm(seen.values)
        future = ahead.values
        if self.layout.reads_forecast:
            future = norm.normalise_forecast(future, statistics)
        forecast = self._forecast_normalised(
            seen._replace(values=past), ahead._replace(values=future)
        )
        if not self.layout.in_units:
            return forecast
        has_level = not self.layout.forecasts_distance
        return norm.undo(forecast, statistics, centre=has_level)

    def _forecast_normalised(self, seen: Steps, ahead: Steps) -> Tensor:
        """Forecast windows on the scale that the network works on."""
        if self.layout.season:
            future = self._with_season(seen.values, ahead.values)
            ahead = ahead._replace(values=future)
        tokens = seen.tokens(self.layout.patch_len, pad_front=True)
        memory = self.encoder(self.encoder_embedding(*tokens))
        forecast = self._decode(seen, ahead, memory)
        if self.window_path is not None:
            targets = seen.values[..., : self.shape[0]]
            forecast = forecast + match_axes(self.window_path(targets), forecast)
        return forecast

    def _with_season(self, past: Tensor, future: Tensor) -> Tensor:
        """Put the window's mean at the phase of each step ahead in the place of masked targets."""
        season = self.layout.season
        n_targets = self.shape[0]
        n_seasons = past.shape[1] // season
        first = past.shape[1] - n_seasons * season
        targets = past[:, first:, :n_targets]
        by_season = targets.reshape(past.shape[0], n_seasons, season, n_targets)
        mean = by_season.mean(dim=1)  # (batch, season, n_targets)
        n_repeats = n_patches(self.layout.pred_len, season)
        repeated = mean.repeat(1, n_repeats, 1)[:, : self.layout.pred_len]
        others = future[..., n_targets:]
        return torch.cat([repeated.to(future.dtype), others], dim=-1)

    def embed_unseen(self) -> None:
        """Set the last value of the last calendar field to the mean vector of the others."""
        for embedding in (self.encoder_embedding, self.decoder_embedding):
            if embedding.calendar is not None:
                embedding.calendar.embed_unseen()

    def _decode(self, seen: Steps, ahead: Steps, memory: Tensor) -> Tensor:
        """Decode the steps ahead, (batch, pred_len, n_targets, *outputs)."""
        patch_len = self.layout.decoder_patch_len
        # Each side by itself, as both are aligned at the origin: no token holds rows of both.
        guiding = seen.last(self.layout.label_len).tokens(patch_len, pad_front=True)
        horizon = ahead.tokens(patch_len, pad_front=False)
        embedded = self.decoder_embedding(*guiding.followed_by(horizon))
        states = self.decoder(embedded, memory, n_last=self.layout.n_ahead)
        outputs = self.projection(states).float()
        steps = split_steps(outputs, patch_len, length=self.layout.pred_len)
        return steps.reshape(*steps.shape[:2], *self.shape)
