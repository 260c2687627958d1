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
    owner: Any, parts: Mapping[str, type[Part]], params: dict[str, Any]
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


@dataclass(kw_only=True, eq=False, repr=False)
class Block(Part):
    """
    The layers of the encoder and the decoder.

    Parameters
    ----------
    norm : {"layer", "zc_rms", "post_layer"}, default="layer"
        The normalisation. "layer" is LayerNorm before each sublayer [1]_. "zc_rms" is RMSNorm [2]_
        before each sublayer, with a gain that is centred at zero; attention, feed-forward blocks
        and gates then have no biases. "post_layer" is LayerNorm after each residual sum.
    qk_norm : bool, default=False
        Whether queries and keys are normalised to unit length, with a learnt temperature for each
        head [3]_.
    output_gate : bool, default=False
        Whether the outputs of attention are multiplied by a gate that is computed from the
        input [4]_.
    activation : {"gelu", "relu", "swiglu"}, default="gelu"
        The activation of the feed-forward blocks. "swiglu" [5]_ has three matrices, whose width is
        two thirds of `d_ff`, so that it has as many weights as the others.
    init : {"xavier", "normal", "scaled"}, default="xavier"
        The initial weights. "xavier" is Xavier uniform, "normal" is N(0, 0.02²), and "scaled" is
        Xavier uniform with the outputs of residual branches divided by the square root of their
        number.

    See Also
    --------
    skinformer.Network : Takes it as `block`.

    References
    ----------
    .. [1] Xiong et al. (2020), On Layer Normalization in the Transformer Architecture, ICML.
    .. [2] Zhang and Sennrich (2019), Root Mean Square Layer Normalization, NeurIPS.
    .. [3] Henry et al. (2020), Query-Key Normalization for Transformers, Findings of EMNLP.
    .. [4] Qiu et al. (2025), Gated Attention for Large Language Models.
    .. [5] Shazeer (2020), GLU Variants Improve Transformer.

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


@dataclass(kw_only=True, eq=False, repr=False)
class Attention(Part):
    """
    The self-attention of the encoder and the decoder.

    Parameters
    ----------
    encoder : {"auto", "probsparse", "dense"}, default="auto"
        The self-attention of the encoder. "probsparse" is that of the Informer [1]_, "dense" is
        full attention [2]_. "auto" chooses by the number of tokens and the device; the attribute
        `attention_` of a fitted estimator says which.
    decoder : {"dense", "probsparse"}, default="dense"
        The causal self-attention of the decoder. With "probsparse" no value of a later step reaches
        an earlier one, but later steps can change which queries are selected.
    factor : float, default=5.0
        ProbSparse attention selects ⌊factor · ln L⌋ of L queries, and samples as many keys. It has
        no effect on dense attention.

    See Also
    --------
    skinformer.Network : Takes it as `attention`.

    References
    ----------
    .. [1] Zhou et al. (2021), Informer: Beyond Efficient Transformer for Long Sequence Time-Series
       Forecasting, AAAI.
    .. [2] Vaswani et al. (2017), Attention Is All You Need, NeurIPS.

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


@dataclass(kw_only=True, eq=False, repr=False)
class MemorySaving(Part):
    """
    Ways to train with less memory.

    Parameters
    ----------
    micro_batch_size : int or None, default=None
        Number of windows that are in memory at once, a divisor of `batch_size`. The gradients of a
        batch are accumulated, so the training stays the same. None is `batch_size`.
    gradient_checkpointing : bool, default=False
        Whether activations are computed again in the backward pass instead of being kept. This
        needs less memory, and about a third more time.

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


@dataclass(kw_only=True, eq=False, repr=False)
class Network(Part):
    """
    The architecture of the Informer.

    Parameters
    ----------
    d_model : int, default=32
        Width of the network: the size of the vector of each token. It is a multiple of `n_heads`.
    n_heads : int, default=2
        Number of attention heads.
    n_encoder_layers : int, default=2
        Number of layers of the encoder.
    n_decoder_layers : int, default=1
        Number of layers of the decoder.
    d_ff : int or None, default=None
        Inner width of the feed-forward blocks. None is four times `d_model`.
    label_len : int or None, default=None
        Number of past steps that the decoder sees again before the steps to forecast, from 0 to
        `seq_len`. None is half of `seq_len`, rounded to whole patches.
    patch_len : int or None, default=None
        Number of neighbouring steps that make one token. If there are future covariates, this holds
        for the encoder only. None is ``seq_len // 24``, at least 1 and at most 12; 1 is the
        Informer of the paper.
    attention : {"auto", "probsparse", "dense"} or Attention, default="auto"
        The self-attention of the encoder. "auto" chooses by the number of tokens and the device;
        the attribute `attention_` of a fitted estimator says which. The self-attention of the
        decoder is dense. Pass an `Attention` to choose that of the decoder and the sparsity factor.
    block : {"plain", "note", "bf16"} or Block, default="plain"
        The layers. "plain" has LayerNorm before each sublayer, GELU and Xavier weights. "note" is
        the same with weights from N(0, 0.02²). "bf16" has RMSNorm without biases, QK norm, an
        output gate, SwiGLU and scaled residual outputs. Pass a `Block` to choose each of these; in
        a search they are named ``network__block__norm`` and so on.
    position : {"sinusoidal", "learned", "continuous"}, default="sinusoidal"
        How the position of a step is encoded. "continuous" uses the time that passed instead of
        step numbers, for steps of different length such as months.
    embeddings : tuple or list, default=()
        Vectors that are learnt besides those of the calendar fields. "series" is one vector for
        each series of a panel; series that were absent in training get the mean of these.
        "missing" is one vector for each column, which is added where its value is missing. "mask"
        is one vector that marks the steps to forecast in the input of the decoder.
    distil : bool, default=True
        Whether the sequence is halved between the layers of the encoder.
    dropout : float, default=0.2
        Share of activations that are dropped in training, in [0, 1).
    window_norm : bool or None, default=None
        Whether each window is standardised by its own mean and standard deviation, which is undone
        in the forecast. This halves the error if the level of a series drifts. A network alone then
        forecasts each of up to 16 targets separately. None is True for numbers, and False for
        classes, whose shares in the window are what forecasts start from.
    device : str, default="auto"
        The device of the network, such as "cpu" or "cuda". "auto" is CUDA if torch finds it. All
        other members are on the CPU.

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
    n_heads: int = 2
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
    device: str = "auto"


@dataclass(kw_only=True, eq=False, repr=False)
class Training(Part):
    """
    The training of the Informer.

    Parameters
    ----------
    max_iter : int or None, default=None
        The largest number of epochs. None is 5 if the network corrects ridges. If it forecasts
        alone, None is 10, or as many epochs as show each window three times if these are fewer (and
        25,000 windows in all). For classes None is 10.
    max_windows : int or None, default=10_000
        The largest number of windows in an epoch, which are drawn anew for each epoch, and in each
        computation of the validation loss. None uses all windows. It bounds the time of a fit,
        however long the series are.
    n_iter_no_change : int, default=3
        Training stops after so many epochs in which the validation loss did not fall by 1e-4.
    optimizer : {"adamw", "muon"}, default="adamw"
        The optimiser. "adamw" is AdamW [1]_ for all parameters. "muon" trains the matrices of
        attention and feed-forward blocks with Muon [2]_, at 200/3 times `learning_rate` (0.02 for
        3e-4), and everything else with AdamW.
    learning_rate : float, default=2e-3
        The peak learning rate of AdamW. It rises over the first 5% of the steps (2000 at most), and
        then falls to a tenth along a cosine [3]_.
    weight_decay : float, default=0.01
        The decoupled weight decay of matrices. Biases, norms and embeddings are not decayed.
    batch_size : int, default=64
        Number of windows in a training step.
    precision : {"auto", "fp32", "bf16", "fp16"}, default="auto"
        The type of matrix products in training; weights, statistics and losses are float32. "auto"
        chooses by width and device; the attribute `precision_` of a fitted estimator says which.
    memory_saving : MemorySaving or None, default=None
        Ways to train with less memory: micro-batches and gradient checkpointing.
    checkpoint : path-like or None, default=None
        A file that is written after each epoch. If it exists, `fit` continues from it if the data
        and parameters are the same, and raises an error otherwise. It needs an int as
        `random_state`.
    warm_start : bool, default=False
        Whether training continues from the weights of the last `fit` instead of new ones.
    label_smoothing : float, default=0.0
        Probability that is taken from each label, and shared equally among the other classes, in
        [0, 1). `InformerClassifier` alone reads it.
    z_loss : float, default=1e-4
        Weight of ``logsumexp(logits)**2`` in the loss, which keeps logits from drifting.
        `InformerClassifier` alone reads it.

    See Also
    --------
    skinformer.InformerRegressor : Takes it as `training`.
    skinformer.Network : The architecture of the network.

    References
    ----------
    .. [1] Loshchilov and Hutter (2019), Decoupled Weight Decay Regularization, ICLR.
    .. [2] Jordan et al. (2024), Muon: An Optimizer for Hidden Layers in Neural Networks.
    .. [3] Loshchilov and Hutter (2017), SGDR: Stochastic Gradient Descent with Warm Restarts, ICLR.

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
    warm_start: bool = False
    label_smoothing: float = 0.0
    z_loss: float = 1e-4


#: The estimators' parameters that are parts.
PARTS: Mapping[str, type[Part]] = MappingProxyType(
    {"network": Network, "training": Training}
)
#: All kinds of parts, those within others before these.
PART_KINDS: tuple[type[Part], ...] = (Attention, Block, MemorySaving, Network, Training)
PART_CONSTRAINTS = part_constraints(PARTS)
