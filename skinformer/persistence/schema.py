"""What the records of a file may be: types by their annotations, and shapes by a table.

A shape is a text, ``"n_series n_columns"``. A size has a name, and the same number wherever the
name stands; a name in capitals means its record alone. What a number is worth is nobody's to say
here: it is finite, where it has to be, and counts no more than the file could hold.
"""

from collections import ChainMap
from collections.abc import Callable, Collection, Hashable
from types import SimpleNamespace, UnionType
from typing import Any, Literal, TypeAlias, Union, get_args, get_origin

import numpy as np

from skinformer.persistence.codec import Kind, record_hints
from skinformer.persistence.errors import ModelFileError
from skinformer.timeline.arrays import AnyArray

Sizes: TypeAlias = ChainMap[str, int]
Left: TypeAlias = dict[int, AnyArray]  # that nothing refers to yet
Rule: TypeAlias = Callable[[Any, Sizes], Any]

#: What a number may count beyond those that the file holds: windows may be longer than the rows.
_BEYOND = 1 << 20
_ARRAYS = {"array", "turned", "texts", "objects"}


class Schema:
    """Check a tree against what its records say of themselves, before anything is built of it.

    kinds: as for `Codec`; records have fields with annotations.
    fields: annotations of kinds that are no records. A dict stands for one with these keys.
    shapes: by the name of the kind and fields, such as ``"Scaler.mean"`` or ``"Usual.low|high"``.
    sizes: numbers that name a size, by the name of the kind and the field.
    unbounded: fields whose numbers need not be finite.
    rules: by the name of the kind, or of a field: takes what was found and all sizes, and is true
    of what may be built.
    """

    def __init__(
        self,
        kinds: list[Kind],
        fields: dict[str, Any],
        shapes: dict[str, str],
        sizes: dict[str, str],
        unbounded: Collection[str],
        rules: dict[str, Rule],
    ) -> None:
        self._types = {kind.name: kind.type for kind in kinds}
        self._hints = {
            name: Any if (hints := record_hints(kind)) is None else hints
            for name, kind in self._types.items()
        } | fields
        self._shapes = {
            f"{kind}{dot}{field}": text.split()
            for key, text in shapes.items()
            for kind, dot, names in [key.rpartition(".")]
            for field in names.split("|")
        }
        self._sizes, self._unbounded, self._rules = sizes, unbounded, rules

    def check(self, tree: Any, arrays: list[AnyArray], hint: Any) -> None:
        """Raise unless a tree is what it should be, and refers to each array once.

        tree: from `Codec.encode`.
        arrays: what it refers to.
        hint: what the whole is to be.
        """
        left = dict(enumerate(arrays))
        n_numbers = sum(array.size for array in arrays)
        self._walk(hint, tree, "", left, ChainMap({"n_numbers": n_numbers}))
        if left:
            raise ModelFileError("it holds arrays that nothing refers to")

    def _walk(self, hint: Any, node: Any, place: str, left: Left, sizes: Sizes) -> Any:
        """Give what a node holds: records as namespaces, without building anything."""
        hint, name = self._fitting(hint, node, place), _name(node)
        found = node
        if name in _ARRAYS:
            found = self._array(node, left)
            self._check_array(found, hint, place, sizes)
        elif name == "Scalar" and type(node["of"]) is dict:
            found = self._array(node["of"], left)[()]
            self._check_number(found, place, sizes)
        elif isinstance(hint, dict):
            found = self._named(hint, node, place, left, sizes)
        elif name in self._types:
            found = self._walk(self._hints[name], node["of"], name, left, sizes.new_child())
        elif name in ("list", "tuple", "dict"):
            found = self._each(hint, node, place, left, sizes)
        elif name in ("int", "float") and hint is not Any:
            found = float(node["of"]) if isinstance(node, dict) else node
            self._check_number(found, place, sizes)
        rule = self._rules.get(place)
        if rule is not None and not rule(found, sizes):
            raise ModelFileError(f"its {place} does not agree with the rest")
        return found

    def _fitting(self, hint: Any, node: Any, place: str) -> Any:
        """Choose of several annotations the one that a node can be."""
        for each in get_args(hint) if get_origin(hint) in (Union, UnionType) else (hint,):
            if self._fits(each, node):
                return each
        raise ModelFileError(f"its {place or 'content'} is something else")

    def _fits(self, hint: Any, node: Any) -> bool:
        name, origin = _name(node), get_origin(hint) or hint
        if hint in (Any, Hashable):
            return hint is Any or name not in {"list", "dict", "bool", *_ARRAYS}
        if hint in (None, type(None)):
            return node is None
        if origin is Literal:
            return node in get_args(hint)
        if isinstance(hint, dict):
            return name == "dict"
        if hint is float:
            return name in ("int", "float", "Scalar")
        if origin is np.ndarray:
            return name in _ARRAYS
        known = self._types.get(name, object)
        return name == getattr(origin, "__name__", "") or issubclass(known, origin)

    def _named(self, hints: Any, node: Any, place: str, left: Left, sizes: Sizes) -> Any:
        given, known = dict(node["of"]), {name.rstrip("?"): hints[name] for name in hints}
        needed = {name for name in hints if name[-1] != "?"}
        if len(given) != len(node["of"]) or not needed <= given.keys() <= known.keys():
            raise ModelFileError(f"its {place or 'content'} has other fields")
        inner = f"{place}." if place.rpartition(".")[0] or place in self._types else ""
        walked = (name for name in known if name in given)
        each = {n: self._walk(known[n], given[n], f"{inner}{n}", left, sizes) for n in walked}
        return SimpleNamespace(**each)

    def _each(self, hint: Any, node: Any, place: str, left: Left, sizes: Sizes) -> Any:
        """Walk through a list, a tuple or a dict of any keys."""
        parts, hints = node if type(node) is list else node["of"], get_args(hint)
        walk, inner = self._walk, f"{place}[]"
        if _name(node) == "dict":
            key, value = hints or (Any, Any)
            return [
                (walk(key, k, "", left, sizes), walk(value, v, inner, left, sizes.new_child()))
                for k, v in parts
            ]
        shape: list[str] | None = [str(len(hints))]
        if len(hints) <= 1 or hints[1] is Ellipsis:
            shape, hints = self._shapes.get(place), (hints or (Any,))[:1] * len(parts)
        _check_shape((len(parts),), shape, place, sizes)
        return [walk(h, p, inner, left, sizes) for h, p in zip(hints, parts, strict=True)]

    def _check_array(self, array: AnyArray, hint: Any, place: str, sizes: Sizes) -> None:
        """Raise unless an array has its field's type and shape, and no numbers that are none."""
        kind = get_args(get_args(hint)[1])[0] if get_origin(hint) is np.ndarray else Any
        if kind is not Any and not np.issubdtype(array.dtype, kind):
            raise ModelFileError(f"its {place} has numbers of another type")
        field = place.rstrip("[]")
        _check_shape(array.shape, self._shapes.get(field), place, sizes)
        if kind is not Any and array.dtype.kind == "f" and field not in self._unbounded:
            _check_finite(array, place)

    def _check_number(self, number: Any, place: str, sizes: Sizes) -> None:
        """Raise unless a number is finite, or counts no more than a file of this size can hold."""
        name, field = self._sizes.get(place), place.rstrip("[]")
        if field not in self._unbounded:
            _check_finite(number, place)
            if type(number) is int and abs(number) > _BEYOND + sizes["n_numbers"]:
                raise ModelFileError(f"its {place} counts more than it could hold")
        if name is not None:
            sizes.maps[-1][name] = int(number)

    def _array(self, node: Any, left: Left) -> AnyArray:
        if node["is"] in ("texts", "objects"):
            given = node["of"]
            if type(given) is not list:
                raise ModelFileError("its labels are no list")
            return np.fromiter(given, dtype=object)
        if type(node["of"]) is not int or node["of"] not in left:
            raise ModelFileError("it refers to an array twice, or to one that it does not hold")
        array = left.pop(node["of"])
        return array.T if node["is"] == "turned" else array


def _name(node: Any) -> str:
    return str(node["is"]) if type(node) is dict else type(node).__name__


def _check_finite(numbers: Any, place: str) -> None:
    # An array stays of its type: some bits that are no number warn where they are cast.
    if not np.isfinite(numbers if isinstance(numbers, np.ndarray) else float(numbers)).all():
        raise ModelFileError(f"its {place} is not finite")


def _amount(text: str, sizes: Sizes) -> int:
    """Add up numbers and the names of sizes."""
    return sum(sizes[part] if part in sizes else int(part) for part in text.split("+"))


def _check_shape(found: tuple[int, ...], named: list[str] | None, place: str, sizes: Sizes) -> None:
    if named is None:
        return
    fits = len(found) == len(named)
    for size, text in zip(found, named, strict=False):
        if text.isidentifier() and text not in sizes:
            (sizes if text[0].isupper() else sizes.maps[-1])[text] = size
        fits = fits and size in [_amount(each, sizes) for each in text.split("|")]
    if not fits:
        raise ModelFileError(f"its {place} has a shape that does not agree with the rest")
