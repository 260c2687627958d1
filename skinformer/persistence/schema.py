"""What the records of a file may be: types by their annotations, and limits by a table.

A limit is a text, ``"[n_series n_columns] 0..1 nan"``: the shape, the range, and whether values may
be unknown, each of which may be left out. A size has a name, and the same number wherever the name
stands; a name in capitals means its record alone. ``"n_embedded=0..1e9"`` names a number, and
``"=1..1e9"`` by its field. A number without a limit that is called like one named before is that.
"""

import re
from collections import ChainMap
from collections.abc import Callable, Hashable
from functools import cache
from types import SimpleNamespace, UnionType
from typing import Any, Literal, TypeAlias, Union, get_args, get_origin

import numpy as np

from skinformer.persistence.codec import Kind, record_hints
from skinformer.persistence.errors import ModelFileError
from skinformer.timeline.arrays import AnyArray

Sizes: TypeAlias = ChainMap[str, int]
Left: TypeAlias = dict[int, AnyArray]  # that nothing refers to yet
Rule: TypeAlias = Callable[[Any, Sizes], Any]

_LIMIT = re.compile(r"(?:\[(.*)\])?\s*(?:(?:(\w*)=)?(\S+)\.\.(\S+))?\s*(nan)?")
#: Of numbers that the table does not limit: integers, and floats.
_WHOLE, _REAL = (0, 2**40), (-1e9, 1e9)
_ARRAYS = {"array", "turned", "texts", "objects"}


class Schema:
    """Check a tree against what its records say of themselves, before anything is built of it.

    kinds: as for `Codec`; records have fields with annotations.
    fields: annotations of kinds that are no records. A dict stands for one with these keys.
    limits: by the name of the kind and fields, such as ``"Scaler.mean"`` or ``"Usual.low|high"``.
    rules: by the name of the kind, or of a field: takes what was found and all sizes, and is true
    of what may be built.
    """

    def __init__(
        self,
        kinds: list[Kind],
        fields: dict[str, Any],
        limits: dict[str, str],
        rules: dict[str, Rule],
    ) -> None:
        self._types = {kind.name: kind.type for kind in kinds}
        self._hints = {
            name: Any if (hints := record_hints(kind)) is None else hints
            for name, kind in self._types.items()
        } | fields
        self._limits = {
            f"{kind}{dot}{field}": text
            for key, text in limits.items()
            for kind, dot, names in [key.rpartition(".")]
            for field in names.split("|")
        }
        self._rules = rules

    def check(self, tree: Any, arrays: list[AnyArray], hint: Any) -> None:
        """Raise unless a tree is what it should be, and refers to each array once.

        tree: from `Codec.encode`.
        arrays: what it refers to.
        hint: what the whole is to be.
        """
        left = dict(enumerate(arrays))
        self._walk(hint, tree, "", left, ChainMap())
        if left:
            raise ModelFileError("it holds arrays that nothing refers to")

    def _walk(self, hint: Any, node: Any, place: str, left: Left, sizes: Sizes) -> Any:
        """Give what a node holds: records as namespaces, without building anything."""
        hint, name = self._fitting(hint, node, place), _name(node)
        limit, found = self._limits.get(place.rstrip("[]"), ""), node
        if name in _ARRAYS:
            found = self._array(node, left)
            _check_array(found, hint, limit, place, sizes)
        elif name == "Scalar" and type(node["of"]) is dict:
            found = self._array(node["of"], left)[()]
            _check_number(found, limit, place, sizes)
        elif isinstance(hint, dict):
            found = self._named(hint, node, place, left, sizes)
        elif name in self._types:
            found = self._walk(self._hints[name], node["of"], name, left, sizes.new_child())
        elif name in ("list", "tuple", "dict"):
            found = self._each(hint, node, place, left, sizes)
        elif name in ("int", "float") and hint is not Any:
            found = float(node["of"]) if isinstance(node, dict) else node
            _check_number(found, limit, place, sizes)
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
        limit = f"[{len(hints)}]"
        if len(hints) <= 1 or hints[1] is Ellipsis:
            limit, hints = self._limits.get(place, ""), (hints or (Any,))[:1] * len(parts)
        _check_shape((len(parts),), limit, place, sizes)
        return [walk(h, p, inner, left, sizes) for h, p in zip(hints, parts, strict=True)]

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


@cache
def _limit(text: str) -> tuple[tuple[str, ...] | None, str | None, str | None, str | None, bool]:
    """Read a limit: shape, name, lowest, highest, and whether values may be unknown."""
    found = _LIMIT.fullmatch(text)
    if found is None:
        raise KeyError(text)
    shape, name, low, high, unknown = found.groups()
    return None if shape is None else tuple(shape.split()), name, low, high, bool(unknown)


def _amount(text: str, sizes: Sizes) -> float:
    """Add up numbers and the names of sizes."""
    parts = re.split(r"(?<!e)\+", text)
    return sum(sizes[part] if part in sizes else float(part) for part in parts)


def _check_array(array: AnyArray, hint: Any, text: str, place: str, sizes: Sizes) -> None:
    kind = get_args(get_args(hint)[1])[0] if get_origin(hint) is np.ndarray else Any
    if kind is not Any and not np.issubdtype(array.dtype, kind):
        raise ModelFileError(f"its {place} has numbers of another type")
    _check_shape(array.shape, text, place, sizes)
    if kind is not Any and array.dtype.kind in "fiu":
        _check_range(array, text, place, sizes, whole=array.dtype.kind in "iu")


def _check_number(number: Any, text: str, place: str, sizes: Sizes) -> None:
    field = place.rpartition(".")[2]
    if not text and field in sizes:
        text = f"{field}..{field}"
    whole = type(number) is int
    _check_range(np.asarray(number, dtype=np.float64), text, place, sizes, whole=whole)
    name = _limit(text)[1]
    if name is not None:
        sizes.maps[-1][name or field] = int(number)


def _check_range(array: AnyArray, text: str, place: str, sizes: Sizes, *, whole: bool) -> None:
    _, _, low, high, unknown = _limit(text)
    if unknown:
        array = array[~np.isnan(array)]
    least, most = _WHOLE if whole else _REAL
    if low is not None and high is not None:
        least, most = _amount(low, sizes), _amount(high, sizes)
    if array.size and not least <= array.min() <= array.max() <= most:
        raise ModelFileError(f"its {place} is out of range")


def _check_shape(found: tuple[int, ...], limit: str, place: str, sizes: Sizes) -> None:
    named = _limit(limit)[0]
    if named is None:
        return
    fits = len(found) == len(named)
    for size, text in zip(found, named, strict=False):
        if text.isidentifier() and text not in sizes:
            (sizes if text[0].isupper() else sizes.maps[-1])[text] = size
        fits = fits and size in [_amount(each, sizes) for each in text.split("|")]
    if not fits:
        raise ModelFileError(f"its {place} has a shape that does not agree with the rest")
