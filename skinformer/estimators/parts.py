"""Parameters that are chosen together: one value of the estimator each, searched by name.

``InformerRegressor(network=Network(d_model=64))``, and in a search ``network__d_model``; parts may
hold parts, ``network__block__norm``. The named values are those that one needs: ``block="bf16"``.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any, ClassVar, Self

from sklearn.base import clone

from skinformer.estimators.bases import BaseEstimator
from skinformer.validation import parameters as checks


class Part(BaseEstimator):
    """
    Some parameters that are one value of the estimator.

    Examples
    --------
    >>> Attention.of("probsparse").get_params()
    {'decoder': 'dense', 'encoder': 'probsparse', 'factor': 5.0}
    """

    #: What a plain value of the parameter stands for.
    named: ClassVar[Mapping[Any, Mapping[str, Any]]]
    #: The parameters that are parts themselves.
    parts: ClassVar[Mapping[str, type[Part]]] = MappingProxyType({})
    _parameter_constraints: ClassVar[dict[str, list[Any]]]

    @classmethod
    def of(cls, value: Any) -> Self:
        """
        Return the part that a parameter stands for.

        Parameters
        ----------
        value : Part, str or None
            The parameter.

        Returns
        -------
        Part
            With valid parameters; the one given, or a new one.

        Raises
        ------
        ValueError
            If one of its parameters is out of range.
        """
        part = value if isinstance(value, cls) else cls(**cls.named[value])
        part._validate_params()
        return part

    def set_params(self, **params: Any) -> Self:
        """
        Set parameters by name, those of parts within by ``block__norm``.

        Parameters
        ----------
        **params : dict
            Names and values.

        Returns
        -------
        self
            With these parameters.
        """
        return super().set_params(**open_parts(self, self.parts, params))


def open_parts(
    owner: Any,
    parts: Mapping[str, type[Part]],
    params: dict[str, Any],
) -> dict[str, Any]:
    """
    Make parts of named values, and copies of parts, before parameters of theirs are set.

    Parts are values: the one that a user passed stays as it is, and so does that of a model which
    shares it.

    Parameters
    ----------
    owner : InformerRegressor or Part
        Whose parameters are set.
    parts : Mapping
        Those of its parameters that are parts, by name.
    params : dict
        As for `set_params`.

    Returns
    -------
    dict
        The same, with a part where ``block="note"`` comes with, or before, ``block__init``.

    Raises
    ------
    ValueError
        If what a parameter is to be set of is no part.

    Examples
    --------
    >>> open_parts(Network(), Network.parts, {"block__qk_norm": True})
    {'block__qk_norm': True, 'block': Block()}
    """
    opened = dict(params)
    to_open = {key.partition("__")[0] for key in params if "__" in key}
    for name, kind in parts.items():
        if name not in to_open:
            continue
        value = params.get(name, getattr(owner, name))
        if isinstance(value, kind):
            opened[name] = clone(value)
        else:
            checks.check_part_name(name, value, kind.named)
            opened[name] = kind(**kind.named[value])
    return opened


def part_constraints(parts: Mapping[str, type[Part]]) -> dict[str, list[Any]]:
    """Return the constraints of parameters that are parts."""
    return {
        name: checks.part_constraint(kind, kind.named) for name, kind in parts.items()
    }


@dataclass(
    kw_only=True,
    eq=False,
    repr=False,
)
class Block(Part):
    """
    How an encoder or decoder layer is built.

    Parameters
    ----------
    norm : {"layer", "zc_rms", "post_layer"}, default="layer"
        LayerNorm before each sublayer; RMSNorm with a zero-centred gain, and then no biases in
        attention, feed-forward and gates; or LayerNorm after each sum.
    qk_norm : bool, default=False
        Give queries and keys unit length, and each head a learnt temperature.
    output_gate : bool, default=False
        Gate attention outputs by the input.
    activation : {"gelu", "relu", "swiglu"}, default="gelu"
        Form of the feed-forward blocks; "swiglu" uses two thirds of `d_ff`.
    init : {"xavier", "normal", "scaled"}, default="xavier"
        Initial weights: Xavier uniform; N(0, 0.02²); Xavier with outputs of residual branches
        scaled down by their number.

    See Also
    --------
    skinformer.Network : Takes it as `block`.

    Examples
    --------
    >>> from skinformer import Block, Network
    >>> network = Network(block=Block(qk_norm=True))
    >>> network.set_params(block__activation="swiglu").block
    Block(activation='swiglu', qk_norm=True)
    """

    named = MappingProxyType(
        {
            "plain": {},
            "note": {"init": "normal"},
            "bf16": {
                "norm": "zc_rms",
                "qk_norm": True,
                "output_gate": True,
                "activation": "swiglu",
                "init": "scaled",
            },
        }
    )
    _parameter_constraints = checks.BLOCK_CONSTRAINTS

    norm: str = "layer"
    qk_norm: bool = False
    output_gate: bool = False
    activation: str = "gelu"
    init: str = "xavier"


@dataclass(
    kw_only=True,
    eq=False,
    repr=False,
)
class Attention(Part):
    """
    How encoder and decoder attend to themselves.

    Parameters
    ----------
    encoder : {"auto", "probsparse", "dense"}, default="auto"
        Self-attention of the encoder; "auto" goes by length and device, see `attention_` of the
        estimator.
    decoder : {"dense", "probsparse"}, default="dense"
        Causal self-attention of the decoder. The choice of queries in "probsparse" still ranks
        across time.
    factor : float, default=5.0
        ProbSparse attention keeps ⌊factor · ln L⌋ of L queries and samples as many keys. Without
        effect on dense attention.

    See Also
    --------
    skinformer.Network : Takes it as `attention`.

    Examples
    --------
    >>> from skinformer import Attention, Network
    >>> network = Network(attention=Attention(encoder="probsparse"))
    >>> network.set_params(attention__factor=3.0).attention.factor
    3.0
    """

    named = MappingProxyType(
        {kind: {"encoder": kind} for kind in ("auto", "probsparse", "dense")}
    )
    _parameter_constraints = checks.ATTENTION_CONSTRAINTS

    encoder: str = "auto"
    decoder: str = "dense"
    factor: float = 5.0


@dataclass(
    kw_only=True,
    eq=False,
    repr=False,
)
class MemorySaving(Part):
    """
    What training does to need less memory.

    Parameters
    ----------
    micro_batch_size : int or None, default=None
        Windows in memory at once, a divisor of `batch_size`; gradients are
        accumulated. None is `batch_size`.
    gradient_checkpointing : bool, default=False
        Compute activations again in the backward pass: less memory, a third more time.

    See Also
    --------
    skinformer.Training : Takes it as `memory_saving`.

    Examples
    --------
    >>> from skinformer import MemorySaving, Training
    >>> Training(batch_size=128, memory_saving=MemorySaving(micro_batch_size=16))
    Training(batch_size=128, memory_saving=MemorySaving(micro_batch_size=16))
    """

    named = MappingProxyType({None: {}})
    _parameter_constraints = checks.MEMORY_SAVING_CONSTRAINTS

    micro_batch_size: int | None = None
    gradient_checkpointing: bool = False


@dataclass(
    kw_only=True,
    eq=False,
    repr=False,
)
class Network(Part):
    """
    The architecture of the Informer.

    Parameters
    ----------
    d_model : int, default=32
        Width, a multiple of `n_heads`.
    n_heads : int, default=4
        Attention heads.
    n_encoder_layers : int, default=2
        Encoder layers.
    n_decoder_layers : int, default=1
        Decoder layers.
    d_ff : int or None, default=None
        Inner width of the feed-forward blocks; None is four times `d_model`.
    label_len : int or None, default=None
        Steps of the past that the decoder sees again, 0 … `seq_len`; None is half of `seq_len`, in
        whole patches.
    patch_len : int or None, default=None
        Neighbouring steps that make one token (of the decoder only where no column is known ahead);
        None is ``seq_len // 24``, at least 1 and at most 12.
    attention : {"auto", "probsparse", "dense"} or Attention, default="auto"
        Self-attention of the encoder; "auto" goes by length and device, see `attention_` of the
        estimator. The decoder's is dense. `Attention` says more: the decoder's kind, the sparsity
        factor.
    block : {"plain", "note", "bf16"} or Block, default="plain"
        Norm, attention's extras, feed-forward and initial weights of each layer. "plain":
        LayerNorm before each sublayer, GELU, Xavier weights. "note": the same from N(0, 0.02²).
        "bf16": RMSNorm without biases, QK norm, output gate, SwiGLU, scaled residual outputs.
        `Block` chooses each; ``network__block__norm`` is how a search names one.
    position : {"sinusoidal", "learned", "continuous"}, default="sinusoidal"
        Code of a step's place; "continuous" takes the time that passed, for steps of different
        length such as months.
    embeddings : tuple or list, default=()
        Vectors to learn besides those of calendar fields: "series", one for each series of a
        panel (series that training did not hold get their mean); "missing", one for each
        column, which then may miss values (without it, only targets may); "mask", one that
        marks the steps to forecast in the decoder's input.
    distil : bool, default=True
        Halve the sequence between encoder layers.
    dropout : float, default=0.2
        Share of activations dropped in training, in [0, 1).
    window_norm : bool or None, default=None
        Normalise each window by its own mean and deviation and undo it on the forecast: halves the
        error where the level drifts. A network alone then forecasts each of up to 16 targets by
        itself, from what its window usually is at that time of the day. None is True for numbers,
        and False for classes: a window's share of a class is what their forecasts start from.

    See Also
    --------
    skinformer.InformerRegressor : Takes it as `network`.
    skinformer.Training : How it is trained.

    Examples
    --------
    >>> from skinformer import InformerRegressor, Network
    >>> model = InformerRegressor(network=Network(d_model=64, n_heads=8))
    >>> model.set_params(network__block__norm="zc_rms").network.block
    Block(norm='zc_rms')
    """

    named = MappingProxyType({None: {}})
    parts = MappingProxyType({"attention": Attention, "block": Block})
    _parameter_constraints = checks.NETWORK_CONSTRAINTS | part_constraints(parts)

    d_model: int = 32
    n_heads: int = 4
    n_encoder_layers: int = 2
    n_decoder_layers: int = 1
    d_ff: int | None = None
    label_len: int | None = None
    patch_len: int | None = None
    attention: str | Attention = "auto"
    block: str | Block = "plain"
    position: str = "sinusoidal"
    embeddings: Any = ()
    distil: bool = True
    dropout: float = 0.2
    window_norm: bool | None = None


@dataclass(
    kw_only=True,
    eq=False,
    repr=False,
)
class Training(Part):
    """
    The training of the Informer.

    Parameters
    ----------
    max_iter : int or None, default=None
        Epochs at most; None is 5 where the network corrects ridges, and 10 where it is alone, or as
        many as see each window three times if these are fewer (and 25,000 windows in all). Of
        classes it is 10.
    max_windows : int or None, default=10_000
        Windows of an epoch at most (and of a look at the validation rows), drawn anew for each;
        None takes all. It bounds the time of a fit, however long the series.
    n_iter_no_change : int, default=3
        Epochs without improvement of the validation loss by 1e-4 before training stops.
    optimizer : {"adamw", "muon"}, default="adamw"
        "muon" steps the matrices of attention and feed-forward by Muon, at 200/3 times
        `learning_rate` (0.02 for 3e-4), everything else by AdamW.
    learning_rate : float, default=2e-3
        Peak rate of AdamW; it rises over the first 5% of the steps (2000 at most) and falls
        by a cosine to a tenth.
    weight_decay : float, default=0.01
        Decoupled decay of matrices (not of biases, norms and embeddings).
    batch_size : int, default=64
        Windows in a training step.
    precision : {"auto", "fp32", "bf16", "fp16"}, default="auto"
        Of matrix products in training; weights, statistics and losses are float32. "auto" goes
        by width and device, see `precision_` of the estimator.
    memory_saving : MemorySaving or None, default=None
        Micro-batches and gradient checkpointing.
    checkpoint : path-like or None, default=None
        File written after each epoch. If it exists, `fit` goes on from it when data and
        parameters are the same, and raises otherwise; needs an int as `random_state`.

    See Also
    --------
    skinformer.InformerRegressor : Takes it as `training`.
    skinformer.Network : What is trained.

    Examples
    --------
    >>> from skinformer import InformerRegressor, Training
    >>> model = InformerRegressor(training=Training(max_iter=20))
    >>> model.set_params(training__optimizer="muon").training
    Training(max_iter=20, optimizer='muon')
    """

    named = MappingProxyType({None: {}})
    parts = MappingProxyType({"memory_saving": MemorySaving})
    _parameter_constraints = checks.TRAINING_CONSTRAINTS | part_constraints(parts)

    max_iter: int | None = None
    max_windows: int | None = 10_000
    n_iter_no_change: int = 3
    optimizer: str = "adamw"
    learning_rate: float = 2e-3
    weight_decay: float = 0.01
    batch_size: int = 64
    precision: str = "auto"
    memory_saving: MemorySaving | None = None
    checkpoint: Any = None


#: The estimators' parameters that are parts.
PARTS: Mapping[str, type[Part]] = MappingProxyType(
    {"network": Network, "training": Training}
)
#: All kinds of parts, those within others before these.
PART_KINDS: tuple[type[Part], ...] = (
    Attention,
    Block,
    MemorySaving,
    Network,
    Training,
)
PART_CONSTRAINTS = part_constraints(PARTS)
