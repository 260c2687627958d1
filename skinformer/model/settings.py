"""What a network is built from: how its windows are laid out, and what its layers are."""

from dataclasses import dataclass

from skinformer.model.patches import n_patches


@dataclass(frozen=True, kw_only=True)
class WindowLayout:
    """Columns, lengths and outputs of windows, which the data and the task decide.

    Value columns come in the order targets, past-only, known ahead.

    n_targets, n_past, n_known: numbers of columns to forecast (at least 1), known only in the past,
    and known ahead. The last, if any, are carried to the forecast of their own step by a linear
    path, too.
    apart: whether each target is forecast by itself, by the same weights: it sees past-only and
    known columns, and no other target.
    season: steps of a cycle, at most ``seq_len``, whose mean over the window stands in the decoder
    for masked targets; 0 leaves them at 0, the mean of a normalised window.
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
    null_embedding: whether covariates may be NaN; a learnt vector per column stands for a missing
    value.
    window_path: whether a linear map of each target's window is learnt beside all else.
    """

    n_targets: int
    n_past: int
    n_known: int
    apart: bool
    season: int
    calendar_sizes: tuple[int, ...]
    seq_len: int
    label_len: int
    pred_len: int
    patch_len: int
    decoder_patch_len: int
    outputs: tuple[int, ...]
    in_units: bool
    forecasts_distance: bool
    reads_forecast: bool
    null_embedding: bool
    window_path: bool = False

    @property
    def n_targets_at_once(self) -> int:
        """Targets of one forward pass: 1 where each is forecast by itself."""
        return 1 if self.apart else self.n_targets

    @property
    def n_inputs(self) -> int:
        """Value columns of one forward pass."""
        return self.n_targets_at_once + self.n_past + self.n_known

    @property
    def n_seen(self) -> int:
        """Tokens of the encoder."""
        return n_patches(self.seq_len, self.patch_len)

    @property
    def n_guiding(self) -> int:
        """Tokens of the decoder before the origin."""
        return n_patches(self.label_len, self.decoder_patch_len)

    @property
    def n_ahead(self) -> int:
        """Tokens of the decoder from the origin on."""
        return n_patches(self.pred_len, self.decoder_patch_len)


@dataclass(frozen=True, kw_only=True)
class NetworkSettings:
    """What the user, not the data, decides about the network.

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
    window_norm: whether each window is normalised by its own mean and deviation.
    init: initial weights, see `initialize`.
    gradient_checkpointing: whether encoder and decoder layers are run again in the backward pass,
    see `run_layer`.
    """

    d_model: int
    n_heads: int
    n_encoder_layers: int
    n_decoder_layers: int
    d_ff: int
    dropout: float
    activation: str
    norm: str
    norm_first: bool
    attention: str
    decoder_attention: str
    factor: float
    qk_norm: bool
    output_gate: bool
    distil: bool
    bias: bool
    position: str
    mask_embedding: bool
    window_norm: bool
    init: str
    gradient_checkpointing: bool
