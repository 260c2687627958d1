"""The Informer: embedding, encoder, decoder and projection, put together."""

import math
from collections.abc import Sequence
from functools import partial
from typing import Any, TypeAlias

import torch
from torch import Tensor, nn

from skinformer.model.embedding import StepEmbedding
from skinformer.model.initialization import initialize, without_draws
from skinformer.model.known_future_path import KnownFuturePath
from skinformer.model.layer import Layer
from skinformer.model.outputs import match_axes
from skinformer.model.patches import merge_steps, n_patches, split_steps, starts
from skinformer.model.stack import Stack
from skinformer.model.window_norm import WindowNorm, WindowStatistics
from skinformer.model.window_path import WindowPath

#: Values, calendar and times of steps (or of tokens), the last two where the module takes them.
_Steps: TypeAlias = tuple[Tensor, Tensor | None, Tensor | None]


class Informer(nn.Module):
    """Forecast a horizon from a window of the past and what is known of the future.

    The torch model behind the estimators; it takes tensors of standardised values and knows
    no frames, units or timestamps. Value columns come in the order targets, past-only, known
    ahead, ``n_inputs = n_targets + n_past + n_known`` in all.

    n_targets, n_past, n_known: numbers of columns to forecast (at least 1), known only in the past,
    and known ahead. The last, if any, are carried to the forecast of their own step by a linear
    path, too.
    apart: whether each target is forecast by itself, by the same weights: it sees past-only and
    known columns, and no other target.
    season: steps of a cycle, at most ``seq_len``, whose mean over the window stands in the decoder
    for masked targets; 0 leaves them at 0, the mean of a normalised window.
    window_path: whether a linear map of each target's window is learnt beside all else.
    calendar_sizes: number of values of each calendar field; empty for no calendar.
    seq_len, pred_len: steps of the encoder window, and steps to forecast, at least 1.
    label_len: steps of the past repeated in the decoder input, from 0 to ``seq_len``.
    patch_len: neighbouring steps, of all columns, that make one token of the encoder, at least 1.
    decoder_patch_len: the same for the decoder. 1 where columns known ahead vary: a longer token
    would hand the later values of its patch to the forecast of its earlier steps.
    outputs: shape of the outputs of one step and target: () for one value, (3,) for three
    quantiles.
    in_units: whether outputs are values of the target, which window normalisation is undone on;
    logits of classes are not.
    forecasts_distance: whether the output is a distance from another forecast, see `Corrected`: it
    then starts at zero, and the level of the window is not part of it.
    reads_forecast: whether the target columns of the future hold that other forecast, and not 0.
    d_model, n_heads: width of the hidden states, a multiple of the number of attention heads.
    n_encoder_layers, n_decoder_layers: numbers of layers, at least 1.
    d_ff: inner width of the feed-forward; two thirds of it are used with "swiglu".
    dropout: dropout on the residual branches, in training only.
    activation: feed-forward form.
    norm: norm of the hidden states.
    norm_first: norm before each sublayer (True) or after each sum (False).
    attention, decoder_attention: self-attention of the encoder, and the causal one of the decoder.
    factor: sparsity factor of "probsparse", above 0.
    qk_norm: whether queries and keys get unit length and a learnt temperature.
    output_gate: whether attention outputs are gated.
    distil: whether the encoder halves the length between layers.
    bias: whether attention, feed-forward and gate maps have a bias.
    position: position code: of step numbers, of times, or learnt.
    mask_embedding: whether a learnt vector marks the decoder's masked steps.
    null_embedding: whether covariates may be NaN; a learnt vector per column stands for a missing
    value.
    window_norm: whether each window is normalised by its own mean and deviation.
    init: initial weights, see `initialize`.
    gradient_checkpointing: whether encoder and decoder layers are run again in the backward pass,
    see `run_layer`.
    seed: seed of the weights, of dropout and of the key sampling of "probsparse", at least 0.

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
    >>> model = Informer(
    ...     n_targets=1, n_past=0, n_known=1, apart=False, season=0, calendar_sizes=(24, 7),
    ...     seq_len=48, label_len=24, pred_len=12, patch_len=4, decoder_patch_len=1, outputs=(),
    ...     in_units=True, forecasts_distance=False, reads_forecast=False, d_model=16, n_heads=2,
    ...     n_encoder_layers=2, n_decoder_layers=1, d_ff=32, dropout=0.1, activation="gelu",
    ...     norm="layer", norm_first=True, attention="probsparse", decoder_attention="dense",
    ...     factor=5, qk_norm=False, output_gate=False, distil=True, bias=True,
    ...     position="sinusoidal", mask_embedding=False, null_embedding=False, window_norm=True,
    ...     init="xavier", gradient_checkpointing=False, seed=0,
    ... )
    >>> past, future = torch.randn(4, 48, 2), torch.zeros(4, 12, 2)
    >>> hours = torch.zeros(4, 48, 2, dtype=torch.int64)
    >>> model(past, future, hours, hours[:, :12]).shape
    torch.Size([4, 12, 1])
    """

    built_from: dict[str, Any]

    @classmethod
    def of(cls, built_from: dict[str, Any]) -> "Informer":
        """Build a network, with new weights, that knows what it was built from."""
        network = cls(**built_from)
        network.built_from = dict(built_from)
        return network

    @without_draws()
    def __init__(
        self,
        *,
        n_targets: int,
        n_past: int,
        n_known: int,
        apart: bool,
        season: int,
        calendar_sizes: Sequence[int],
        seq_len: int,
        label_len: int,
        pred_len: int,
        patch_len: int,
        decoder_patch_len: int,
        outputs: tuple[int, ...],
        in_units: bool,
        forecasts_distance: bool,
        reads_forecast: bool,
        d_model: int,
        n_heads: int,
        n_encoder_layers: int,
        n_decoder_layers: int,
        d_ff: int,
        dropout: float,
        activation: str,
        norm: str,
        norm_first: bool,
        attention: str,
        decoder_attention: str,
        factor: float,
        qk_norm: bool,
        output_gate: bool,
        distil: bool,
        bias: bool,
        position: str,
        mask_embedding: bool,
        null_embedding: bool,
        window_norm: bool,
        init: str,
        gradient_checkpointing: bool,
        seed: int,
        window_path: bool = False,
    ) -> None:
        super().__init__()
        self.label_len, self.pred_len, self.n_known = label_len, pred_len, n_known
        self.patch_len, self.decoder_patch_len = patch_len, decoder_patch_len
        known_path = KnownFuturePath(n_known=n_known, n_targets=n_targets) if n_known else None
        self.n_apart, self.season = n_targets if apart else 1, season
        path = WindowPath(seq_len=seq_len, pred_len=pred_len) if window_path else None
        n_targets = 1 if apart else n_targets
        n_inputs = n_targets + n_past + n_known
        embedding = partial(StepEmbedding, calendar_sizes=calendar_sizes, d_model=d_model)
        embedding = partial(embedding, position=position, norm=norm, null_embedding=null_embedding)
        block: dict[str, Any] = {"d_model": d_model, "n_heads": n_heads, "d_ff": d_ff, "bias": bias}
        block |= {"dropout": dropout, "activation": activation, "norm": norm, "factor": factor}
        block |= {"norm_first": norm_first, "qk_norm": qk_norm, "output_gate": output_gate}
        normed = WindowNorm(n_targets=n_targets, n_past=n_past, may_miss=null_embedding)
        self.window_norm = normed if window_norm else None
        n_seen, n_guiding = n_patches(seq_len, patch_len), n_patches(label_len, decoder_patch_len)
        self.n_ahead = n_patches(pred_len, decoder_patch_len)
        self.encoder_embedding = embedding(
            n_inputs=n_inputs * patch_len, length=n_seen, origin=n_seen, n_masked=0
        )
        self.decoder_embedding = embedding(
            n_inputs=n_inputs * decoder_patch_len,
            length=n_guiding + self.n_ahead,
            origin=n_guiding,
            n_masked=self.n_ahead if mask_embedding else 0,
        )
        stack = partial(Stack, d_model=d_model, norm=norm, recompute=gradient_checkpointing)
        block |= {"in_decoder": False, "attention": attention}
        layers = [Layer(seed=seed + i, **block) for i in range(n_encoder_layers)]
        self.encoder = stack(layers, distil=distil)
        block |= {"in_decoder": True, "attention": decoder_attention}
        first = seed + n_encoder_layers  # layers sample their keys from seeds of their own
        layers = [Layer(seed=first + i, **block) for i in range(n_decoder_layers)]
        self.decoder = stack(layers, distil=False)
        n_tokens = max(n_seen, n_guiding + self.n_ahead)
        #: Products of two numbers in a layer's largest product of matrices, for one window.
        self.largest_product = self.n_apart * n_tokens * d_model * max(d_ff, 3 * d_model)
        self.shape = (n_targets, *outputs)
        self.projection = nn.Linear(d_model, math.prod(self.shape) * decoder_patch_len)
        self.in_units, self.forecasts_distance = in_units, forecasts_distance
        self.reads_forecast = reads_forecast
        self.known_path, self.window_path = known_path, path
        initialize(self, init=init, seed=seed)
        if forecasts_distance:
            nn.init.zeros_(self.projection.weight)

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
            forecast = alone.reshape(n, k, self.pred_len, *self.shape[1:]).movedim(1, 2)
        if self.known_path is not None:
            effect = self.known_path(future[..., future.shape[-1] - self.n_known :].nan_to_num())
            forecast = forecast + match_axes(effect, forecast)
        return forecast

    def _forecast(self, past: Tensor, future: Tensor, *times: Tensor | None) -> Tensor:
        """Forecast windows without what columns known ahead do by themselves."""
        past_calendar, future_calendar, past_time, future_time = times
        statistics: WindowStatistics | None = None
        if self.window_norm is not None:
            past, statistics = self.window_norm(past)
            if self.reads_forecast:
                future = self.window_norm.normalise_forecast(future, statistics)
        if self.season:
            future = self._with_season(past, future)
        seen, ahead = (past, past_calendar, past_time), (future, future_calendar, future_time)
        tokens = _tokens(seen, self.patch_len, pad_front=True)
        forecast = self._decode(seen, ahead, self.encoder(self.encoder_embedding(*tokens)))
        if self.window_path is not None:
            forecast = forecast + match_axes(self.window_path(past[..., : self.shape[0]]), forecast)
        if self.window_norm is not None and statistics is not None and self.in_units:
            forecast = self.window_norm.undo(
                forecast, statistics, centre=not self.forecasts_distance
            )
        return forecast

    def _with_season(self, past: Tensor, future: Tensor) -> Tensor:
        """Put the window's mean at the phase of each step ahead in the place of masked targets."""
        k, n_seasons = self.shape[0], past.shape[1] // self.season
        whole = past[:, past.shape[1] - n_seasons * self.season :, :k]
        usual = whole.reshape(past.shape[0], n_seasons, self.season, k).mean(dim=1)
        ahead = usual.repeat(1, -(-self.pred_len // self.season), 1)[:, : self.pred_len]
        return torch.cat([ahead.to(future.dtype), future[..., k:]], dim=-1)

    def embed_unseen(self) -> None:
        """Set the last value of the last calendar field to the mean vector of the others."""
        for embedding in (self.encoder_embedding, self.decoder_embedding):
            if embedding.calendar is not None:
                embedding.calendar.embed_unseen()

    def _decode(self, seen: _Steps, ahead: _Steps, memory: Tensor) -> Tensor:
        """Decode the steps ahead, (batch, pred_len, n_targets, *outputs)."""
        # Each side by itself, as both are aligned at the origin: no token holds rows of both.
        guiding = _last(seen, self.label_len)
        before = _tokens(guiding, self.decoder_patch_len, pad_front=True)
        after = _tokens(ahead, self.decoder_patch_len, pad_front=False)
        pairs = zip(before, after, strict=True)
        joined = [None if a is None or b is None else torch.cat([a, b], dim=1) for a, b in pairs]
        embedded = self.decoder_embedding(*joined)  # (batch, n_guiding + n_ahead, d_model)
        states = self.decoder(embedded, memory, n_last=self.n_ahead)
        forecast: Tensor = self.projection(states).float()  # (batch, n_ahead, patch · n_outputs)
        steps = split_steps(forecast, self.decoder_patch_len, length=self.pred_len)
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
