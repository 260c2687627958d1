"""Values of the package's own types as trees of JSON and arrays, and back: a closed list of types.

A type is found by the name under which this package lists it, never by a path to import.
"""

import math
from collections.abc import Callable, Container, Hashable, Iterable, Mapping
from dataclasses import dataclass, fields, is_dataclass
from functools import cache, partial
from typing import Any, NamedTuple, TypeAlias, get_args, get_type_hints

import numpy as np

from skinformer.persistence.errors import ModelFileError, NotPlainError
from skinformer.timeline.arrays import AnyArray

#: The attribute of a pickle that holds all flat values.
_TREE = "_fitted_tree"
#: What stands in files for values that a class given to `decode` builds from their `to_config`.
_CONFIGURED = "configured"

#: Values by text, as an object of JSON.
JsonObject: TypeAlias = dict[str, Any]
_Convert: TypeAlias = Callable[[Any], Any]


class Kind(NamedTuple):
    """How values of one type are written.

    name: the type's name in files.
    type: the type.
    encode: from a value to what it is made of: values of plain and of other listed types.
    decode: from these to the value; raises for what no value is made of.
    derived: whether values of subclasses are written alike.
    """

    name: str
    type: type
    encode: _Convert
    decode: _Convert
    derived: bool = False


def record_types(annotations: Iterable[Any]) -> list[Any]:
    """List the dataclasses and named tuples of annotations, and of their fields' annotations."""
    found: dict[Any, None] = {}
    left = list(annotations)
    while left:
        hint = left.pop()
        hints = record_hints(hint)
        if hints is not None and hint not in found:
            found[hint] = None
            left += hints.values()
        left += get_args(hint)
    return list(found)


@cache
def record_hints(kind: Hashable) -> JsonObject | None:
    """Return the annotations of a dataclass or a named tuple; None of anything else."""
    if is_dataclass(kind):
        names = [part.name for part in fields(kind)]
    elif hasattr(kind, "_fields"):
        names = kind._fields
    else:
        return None
    hints = get_type_hints(kind)
    return {name: hints[name] for name in names}


def record_kinds(*types: type) -> list[Kind]:
    """List dataclasses and named tuples, which are made of their fields."""
    return [
        Kind(
            kind.__name__,
            kind,
            encode=_encode_record,
            decode=partial(_decode_record, kind),
        )
        for kind in types
    ]


def _encode_record(record: Any) -> JsonObject:
    kind: Any = type(record)
    names = record_hints(kind) or ()
    return {name: getattr(record, name) for name in names}


def _decode_record(kind: Any, values: Any) -> Any:
    names = record_hints(kind) or ()
    if type(values) is not dict or list(values) != list(names):
        raise ModelFileError(f"a {kind.__name__} has other fields")
    return kind(**values)


class Codec:
    """Write values as plain trees, and read them.

    kinds: all types that are written, beside Python's plain ones and NumPy's arrays.
    >>> codec = Codec(record_kinds(Kind))
    >>> tree, arrays = codec.encode({"a": (1.5, np.arange(2))})
    >>> tree
    {'is': 'dict', 'of': [['a', {'is': 'tuple', 'of': [1.5, {'is': 'array', 'of': 0}]}]]}
    >>> codec.decode(tree, arrays)
    {'a': (1.5, array([0, 1]))}
    """

    def __init__(self, kinds: Iterable[Kind]) -> None:
        self._kinds = {kind.type: kind for kind in kinds}
        #: How what is built of plain values is read, by its name in files.
        self._decoders: dict[str, _Convert] = {
            "float": {"nan": math.nan, "inf": math.inf, "-inf": -math.inf}.__getitem__,
            "tuple": tuple,
            "bytes": bytes.fromhex,
            "dict": dict,
            "texts": partial(np.array, dtype=str),
            "objects": partial(np.fromiter, dtype=object),
        }
        for kind in self._kinds.values():
            self._decoders[kind.name] = kind.decode

    def encode(self, value: Any) -> tuple[Any, list[AnyArray]]:
        """Write a value for a file, as a tree that refers to arrays by number.

        It is a NotPlainError if a type in it is not listed.
        """
        arrays: list[AnyArray] = []
        encoder = _Encoder(self._kinds, arrays)
        return encoder.encode(value, ""), arrays

    def flatten(self, state: JsonObject, names: Container[str]) -> JsonObject:
        """Put the attributes of these names into one tree, behind the others, for a pickle.

        Arrays stay in the tree, and so does what is not listed.
        """
        fitted = {name: state[name] for name in state if name in names}
        rest = {name: state[name] for name in state if name not in names}
        encoder = _Encoder(self._kinds, None)
        return {**rest, _TREE: encoder.encode(fitted, "")}

    def unflatten(self, state: JsonObject) -> JsonObject:
        """Undo `flatten`; attributes that were never flat stay as they are."""
        if _TREE not in state:
            return state
        rest = dict(state)
        tree = rest.pop(_TREE)
        return {**rest, **self.decode(tree, None)}

    def decode(
        self,
        tree: Any,
        arrays: list[AnyArray] | None,
        rebuild: Callable[[str, Any], Any] | None = None,
    ) -> Any:
        """Read a tree and the arrays of `encode`, or that of `flatten`, without arrays.

        rebuild: from the name of a class and what its `to_config` gave to a value.

        It is an exception of any type if the tree was not written by `encode`.
        """
        decoders = dict(self._decoders)
        if rebuild is not None:
            decoders[_CONFIGURED] = lambda parts: rebuild(*parts)
        if arrays is None:
            decoders |= {"array": _unchanged, "other": _unchanged}
        else:
            # Taken out, so that none stands in two places.
            take = dict(enumerate(arrays)).pop
            decoders["array"] = take
            decoders["turned"] = lambda number: take(number).T
        return _decode(tree, decoders)


@dataclass(eq=False, repr=False)
class _Encoder:
    """Write values as a tree.

    kinds: by their types.
    arrays: where arrays are put; None leaves them in the tree, and what is not listed, too.
    """

    kinds: Mapping[type, Kind]
    arrays: list[AnyArray] | None

    def encode(self, value: Any, place: str) -> Any:
        """Write a value; place: where it stands, for an error."""
        kind = type(value)
        if value is None or kind in (bool, int, str):
            return value
        if kind is float:
            if math.isfinite(value):
                return value
            return _node("float", repr(value))
        if kind is bytes:
            return _node("bytes", value.hex())
        if kind is list:
            return self._encode_items(value, place)
        if kind is tuple:
            return _node("tuple", self._encode_items(value, place))
        if kind is dict:
            pairs = [
                [self.encode(key, place), self.encode(part, f"{place}.{key}")]
                for key, part in value.items()
            ]
            return _node("dict", pairs)
        return self._encode_other(value, place)

    def _encode_items(self, values: Iterable[Any], place: str) -> list[Any]:
        return [self.encode(value, f"{place}[{i}]") for i, value in enumerate(values)]

    def _encode_other(self, value: Any, place: str) -> Any:
        try:
            if type(value) in (np.ndarray, np.memmap):  # as joblib maps a file
                return self._encode_array(value, place)
            kind = self._find_kind(value)
            if kind is not None:
                parts = kind.encode(value)
                return _node(kind.name, self.encode(parts, place))
            if self.arrays is None or not hasattr(value, "to_config"):
                raise NotPlainError(place, value)
            config = self.encode(value.to_config(), place)
            return _node(_CONFIGURED, [type(value).__name__, config])
        except NotPlainError as error:
            if self.arrays is None:
                return _node("other", value)
            raise NotPlainError(error.place or place, error.value) from error

    def _encode_array(self, value: AnyArray, place: str) -> Any:
        name = {"O": "objects", "U": "texts"}.get(value.dtype.kind)
        if name is not None and value.ndim == 1:
            return _node(name, self.encode(value.tolist(), place))
        if value.dtype.kind not in "fiub" or value.dtype.itemsize > 8:
            raise NotPlainError(place, value)
        if self.arrays is None:
            return _node("array", value)
        number = len(self.arrays)
        # Products of the same numbers, laid out otherwise, may be rounded otherwise.
        if value.flags.f_contiguous and not value.flags.c_contiguous:
            self.arrays.append(value.T)
            return _node("turned", number)
        self.arrays.append(value)
        return _node("array", number)

    def _find_kind(self, value: Any) -> Kind | None:
        for base in type(value).__mro__:
            kind = self.kinds.get(base)
            if kind is not None and (kind.derived or base is type(value)):
                return kind
        return None


def _node(name: str, of: Any) -> JsonObject:
    return {"is": name, "of": of}


def _unchanged(value: Any) -> Any:
    return value


def _decode(tree: Any, decoders: Mapping[str, _Convert]) -> Any:
    """Read a tree, by decoders of its nodes' names."""
    if type(tree) is list:
        return [_decode(node, decoders) for node in tree]
    if type(tree) is not dict:
        return tree
    name = tree["is"]
    of = _decode(tree["of"], decoders)
    if len(tree) != 2:
        raise ModelFileError("its tree has other fields")
    if name not in decoders:
        raise ModelFileError("it holds a type that is not in the list")
    return decoders[name](of)
