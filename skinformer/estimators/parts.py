"""Parameters that are chosen together: one value of the estimator each, searched by name.

``InformerRegressor(block=Block(qk_norm=True))``, and in a search ``block__qk_norm``. The named
values are those that one needs: ``block="bf16"``.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any, ClassVar, Self

from sklearn.base import clone
from sklearn.pipeline import Pipeline, make_pipeline

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

    #: What a plain value of the estimator's parameter stands for.
    named: ClassVar[Mapping[Any, Mapping[str, Any]]]
    _parameter_constraints: ClassVar[dict[str, list[Any]]]

    @classmethod
    def of(cls, value: Any) -> Self:
        """
        Return the part that the estimator's parameter stands for.

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
    skinformer.InformerRegressor : Takes it as `block`.

    Examples
    --------
    >>> from skinformer import Block, InformerRegressor
    >>> model = InformerRegressor(block=Block(qk_norm=True))
    >>> model.set_params(block__activation="swiglu").block
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
    skinformer.InformerRegressor : Takes it as `attention`.

    Examples
    --------
    >>> from skinformer import Attention, InformerRegressor
    >>> model = InformerRegressor(attention=Attention(encoder="probsparse"))
    >>> model.set_params(attention__factor=3.0).attention.factor
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
        Windows in memory at once, a divisor of the estimator's `batch_size`; gradients are
        accumulated. None is `batch_size`.
    gradient_checkpointing : bool, default=False
        Compute activations again in the backward pass: less memory, a third more time.

    See Also
    --------
    skinformer.InformerRegressor : Takes it as `memory_saving`.

    Examples
    --------
    >>> from skinformer import InformerRegressor, MemorySaving
    >>> InformerRegressor(batch_size=64, memory_saving=MemorySaving(micro_batch_size=16))
    InformerRegressor(memory_saving=MemorySaving(micro_batch_size=16))
    """

    named = MappingProxyType({None: {}})
    _parameter_constraints = checks.MEMORY_SAVING_CONSTRAINTS

    micro_batch_size: int | None = None
    gradient_checkpointing: bool = False


#: The estimator's parameters that are parts.
PARTS: Mapping[str, type[Part]] = MappingProxyType(
    {"attention": Attention, "block": Block, "memory_saving": MemorySaving}
)
PART_CONSTRAINTS = {
    name: checks.part_constraint(part, part.named) for name, part in PARTS.items()
}


def nested_in_members(members: Any) -> dict[str, Any]:
    """
    Return the parameters of estimators among members, by names such as ``members__ridge__alpha``.

    Parameters
    ----------
    members : str, list or tuple
        The estimator's parameter.

    Returns
    -------
    dict
        Values by name; an estimator goes by its class in lower case, as in ``make_pipeline``.

    Examples
    --------
    >>> from sklearn.linear_model import Ridge
    >>> nested_in_members(["ridges", Ridge(alpha=2.0)])["members__ridge__alpha"]
    2.0
    """
    nested = {}
    for name, value in _pipeline_of(members).get_params().items():
        if "__" in name:
            nested[f"members__{name}"] = value
    return nested


def open_members(members: Any, params: dict[str, Any]) -> dict[str, Any]:
    """
    Put parameters of estimators among members into new members.

    Parameters
    ----------
    members : str, list or tuple
        The estimator's parameter, where `params` holds no other.
    params : dict
        As for `set_params`.

    Returns
    -------
    dict
        The same, with `members` in place of names such as ``members__ridge__alpha``.

    Raises
    ------
    ValueError
        If no member has such a name.

    Examples
    --------
    >>> from sklearn.linear_model import Ridge
    >>> open_members(["ridges", Ridge()], {"members__ridge__alpha": 2.0})
    {'members': ['ridges', Ridge(alpha=2.0)]}
    """
    names = [name for name in params if name.startswith("members__")]
    if not names:
        return params
    opened = dict(params)
    members = opened.get("members", members)
    copies = clone(_pipeline_of(members))
    for name in names:
        _, step, *inner = name.split("__", 2)
        if step not in copies.named_steps or not inner:
            checks.raise_no_nested_member(name, members)
        copies.set_params(**{f"{step}__{inner[0]}": opened.pop(name)})
    opened["members"] = _replace_estimators(members, copies)
    return opened


def _replace_estimators(members: Any, copies: Pipeline) -> Any:
    """Put estimators in the places of those among members, a list or tuple."""
    replaced = list(members)
    places = [i for i, member in enumerate(members) if _has_params(member)]
    for i, copy in zip(places, copies.named_steps.values(), strict=True):
        replaced[i] = copy
    return type(members)(replaced)


def _pipeline_of(members: Any) -> Pipeline:
    """Put estimators among members in a pipeline, which names them and their parameters.

    >>> from sklearn.linear_model import Lasso, Ridge
    >>> list(_pipeline_of(["ridges", Ridge(), Lasso(), Ridge()]).named_steps)
    ['ridge-1', 'lasso', 'ridge-2']
    """
    several = members if isinstance(members, list | tuple) else []
    return make_pipeline(*filter(_has_params, several))


def _has_params(member: Any) -> bool:
    return hasattr(member, "get_params") and not isinstance(member, type)


def open_parts(estimator: Any, params: dict[str, Any]) -> dict[str, Any]:
    """
    Make parts of named values before parameters of theirs are set.

    Parameters
    ----------
    estimator : InformerRegressor
        Whose parameters are set.
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
    >>> from skinformer import InformerRegressor
    >>> open_parts(InformerRegressor(), {"block__qk_norm": True})
    {'block__qk_norm': True, 'block': Block()}
    """
    opened = dict(params)
    to_open = {key.partition("__")[0] for key in params if "__" in key}
    for name, part in PARTS.items():
        value = params.get(name, getattr(estimator, name))
        if name in to_open and not isinstance(value, part):
            checks.check_part_name(name, value, part.named)
            opened[name] = part(**part.named[value])
    return opened
