"""Values of the package's own types as trees of JSON and arrays, and back: a closed list of types.

A type is found by the name under which this package lists it, never by a path to import.
"""

import math
from collections.abc import Callable, Collection, Hashable, Iterable, Mapping
from dataclasses import fields, is_dataclass
from functools import cache, partial
from typing import Any, NamedTuple, get_args, get_type_hints

import numpy as np

from skinformer.persistence.errors import ModelFileError, NotPlainError
from skinformer.timeline.arrays import AnyArray

_TREE = "_fitted_tree"
#: What stands in files for values that a class given to `decode` builds from their `to_config`.
_CONFIGURED = "configured"
_FLOATS = {"nan": math.nan, "inf": math.inf, "-inf": -math.inf}


#: What is built of plain values, by its name in files.
_PLAIN: dict[str, Callable[[Any], Any]] = {
    "tuple": tuple,
    "bytes": bytes.fromhex,
    "dict": dict,
    "texts": partial(np.array, dtype=str),
    "objects": partial(np.fromiter, dtype=object),
}


class Kind(NamedTuple):
    """How values of one type are written.

    name: the type's name in files.
    type: the type.
    apart: from a value to what it is made of: values of plain and of other listed types.
    together: from these to the value; raises for what no value is made of.
    derived: whether values of subclasses are written alike.
    """

    name: str
    type: type
    apart: Callable[[Any], Any]
    together: Callable[[Any], Any]
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
def record_hints(kind: Hashable) -> dict[str, Any] | None:
    """Return the annotations of a dataclass or a named tuple; None of anything else."""
    if is_dataclass(kind):
        names = [part.name for part in fields(kind)]
    elif hasattr(kind, "_fields"):
        names = list(kind._fields)
    else:
        return None
    hints = get_type_hints(kind)
    return {name: hints[name] for name in names}


def record_kinds(*types: type) -> list[Kind]:
    """List dataclasses and named tuples, which are made of their fields."""
    return [_record_kind(kind) for kind in types]


def _record_kind(kind: Any) -> Kind:
    names = list(record_hints(kind) or ())

    def apart(value: Any) -> dict[str, Any]:
        return {name: getattr(value, name) for name in names}

    def together(given: Any) -> Any:
        if type(given) is not dict or list(given) != names:
            raise ModelFileError(f"a {kind.__name__} has other fields")
        return kind(**given)

    return Kind(kind.__name__, kind, apart, together)


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
        self._by_type = {kind.type: kind for kind in kinds}
        self._together = _PLAIN | {
            kind.name: kind.together for kind in self._by_type.values()
        }

    def encode(self, value: Any) -> tuple[Any, list[AnyArray]]:
        """Write a value for a file, as a tree that refers to arrays by number.

        It is a NotPlainError if a type in it is not listed.
        """
        arrays: list[AnyArray] = []
        return self._encode(value, arrays, ""), arrays

    def flatten(self, value: Any) -> Any:
        """Write a value for a pickle: arrays stay in the tree, and so does what is not listed."""
        return self._encode(value, None, "")

    def flatten_some(
        self, state: dict[str, Any], names: Collection[str]
    ) -> dict[str, Any]:
        """Put the attributes of these names into one tree, which stands behind the others."""
        fitted = {name: value for name, value in state.items() if name in names}
        rest = {name: value for name, value in state.items() if name not in names}
        return {**rest, _TREE: self.flatten(fitted)}

    def unflatten(self, state: dict[str, Any]) -> dict[str, Any]:
        """Undo `flatten_some`; attributes that were never flat stay as they are."""
        if _TREE not in state:
            return state
        rest = {name: value for name, value in state.items() if name != _TREE}
        return {**rest, **self.decode(state[_TREE], None)}

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
        together = self._together
        if rebuild is not None:
            together = {**together, _CONFIGURED: lambda of: rebuild(*of)}
        return _decoded(
            tree, None if arrays is None else dict(enumerate(arrays)), together
        )

    def _encode(self, value: Any, arrays: list[AnyArray] | None, place: str) -> Any:
        kind = type(value)
        if value is None or kind in (bool, int, str):
            return value
        if kind is float:
            return value if math.isfinite(value) else {"is": "float", "of": repr(value)}
        if kind is bytes:
            return {"is": "bytes", "of": value.hex()}
        if kind in (list, tuple):
            each = [
                self._encode(part, arrays, f"{place}[{i}]")
                for i, part in enumerate(value)
            ]
            return each if kind is list else {"is": "tuple", "of": each}
        if kind is dict:
            pairs = [
                [
                    self._encode(key, arrays, place),
                    self._encode(part, arrays, f"{place}.{key}"),
                ]
                for key, part in value.items()
            ]
            return {"is": "dict", "of": pairs}
        return self._encode_other(value, arrays, place)

    def _encode_other(
        self, value: Any, arrays: list[AnyArray] | None, place: str
    ) -> Any:
        try:
            if type(value) in (np.ndarray, np.memmap):  # as joblib maps a file
                return self._encode_array(value, arrays, place)
            kind = self._kind_of(value)
            if kind is None and arrays is not None and hasattr(value, "to_config"):
                config = self._encode(value.to_config(), arrays, place)
                return {"is": _CONFIGURED, "of": [type(value).__name__, config]}
            if kind is None:
                raise NotPlainError(place, value)
            return {
                "is": kind.name,
                "of": self._encode(kind.apart(value), arrays, place),
            }
        except NotPlainError as error:
            if arrays is None:
                return {"is": "other", "of": value}
            raise NotPlainError(error.place or place, error.value) from error

    def _encode_array(
        self, value: AnyArray, arrays: list[AnyArray] | None, place: str
    ) -> Any:
        name = {"O": "objects", "U": "texts"}.get(value.dtype.kind)
        if name is not None and value.ndim == 1:
            return {"is": name, "of": self._encode(value.tolist(), arrays, place)}
        if value.dtype.kind not in "fiub" or value.dtype.itemsize > 8:
            raise NotPlainError(place, value)
        if arrays is None:
            return {"is": "array", "of": value}
        # Products of the same numbers, laid out otherwise, may be rounded otherwise.
        turned = (
            value.ndim > 1 and value.flags.f_contiguous and not value.flags.c_contiguous
        )
        arrays.append(value.T if turned else value)
        return {"is": "turned" if turned else "array", "of": len(arrays) - 1}

    def _kind_of(self, value: Any) -> Kind | None:
        own = self._by_type.get(type(value))
        above = (self._by_type.get(base) for base in type(value).__mro__)
        return own or next(
            (kind for kind in above if kind is not None and kind.derived), None
        )


def _decoded(
    tree: Any,
    arrays: dict[int, AnyArray] | None,
    together: Mapping[str, Callable[[Any], Any]],
) -> Any:
    """Read a tree; its arrays are taken out of the dict, so that none stands in two places."""
    if type(tree) is list:
        return [_decoded(each, arrays, together) for each in tree]
    if type(tree) is not dict:
        return tree
    name, of = tree["is"], tree["of"]
    if len(tree) != 2:
        raise ModelFileError("its tree has other fields")
    if name == "float":
        return _FLOATS[of]
    if arrays is None and name in ("array", "other"):
        return of
    if arrays is not None and name in ("array", "turned"):
        array = arrays.pop(of)
        return array.T if name == "turned" else array
    if name not in together:
        raise ModelFileError("it holds a type that is not in the list")
    return together[name](_decoded(of, arrays, together))
