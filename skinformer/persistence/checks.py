"""What values of a file have to be: of the type that their field names, finite, and countable."""

from collections.abc import Collection, Mapping
from types import UnionType
from typing import Any, Literal, Union, get_args, get_origin

import numpy as np

from skinformer.persistence.codec import record_hints
from skinformer.persistence.errors import ModelFileError


class FieldCheck:
    """Check records against the annotations of their fields.

    unbounded: fields whose numbers may be anything, such as ``"Timeline.values"``.
    n_numbers: of all arrays of the file.
    wrappers: names of the attributes by which types that are no records hold one.
    >>> FieldCheck({"level"}, n_numbers=10).check(float("nan"), float, "level")
    >>> FieldCheck((), n_numbers=10).check(2**40, int, "seq_len")
    Traceback (most recent call last):
    ...
    skinformer.persistence.errors.ModelFileError: its seq_len counts more than it could hold
    """

    def __init__(
        self,
        unbounded: Collection[str],
        *,
        n_numbers: int,
        wrappers: Mapping[type, str] = {},
    ) -> None:
        self.unbounded = unbounded
        self.wrappers = wrappers
        # Windows may be longer than the rows that the file holds.
        self.largest = n_numbers + (1 << 20)

    def check(self, value: Any, hint: Any, place: str) -> None:
        """Raise ModelFileError unless a value is what its field's annotation says."""
        fitting = _first_fitting(value, without_alias(hint), place)
        kind: Any = type(value)
        hints = record_hints(kind)
        if kind in self.wrappers:
            record = getattr(value, self.wrappers[kind])
            self.check(record, Any, place)
        elif hints is not None:
            for name, of_field in hints.items():
                field = getattr(value, name)
                self.check(field, of_field, f"{kind.__name__}.{name}")
        elif isinstance(value, dict | list | tuple):
            self._check_parts(value, get_args(fitting), place)
        elif fitting is not Any and place not in self.unbounded:
            self._check_numbers(value, place)

    def _check_parts(self, value: Any, hints: tuple[Any, ...], place: str) -> None:
        """Check what a dict, a list or a tuple holds."""
        parts = value.values() if isinstance(value, dict) else value
        if isinstance(value, tuple) and hints and hints[-1] is not Ellipsis:
            if len(hints) != len(parts):
                raise ModelFileError(f"its {place} has another length")
        else:
            kept = [hint for hint in hints if hint is not Ellipsis] or [Any]
            hints = (kept[-1],) * len(parts)
        for part, hint in zip(parts, hints, strict=True):
            self.check(part, hint, place)

    def _check_numbers(self, value: Any, place: str) -> None:
        """Raise unless numbers are finite and count no more than a file of this size can hold."""
        is_real = isinstance(value, float | np.floating)
        if is_real or _is_array_of(value, np.floating):
            if not np.isfinite(value).all():
                raise ModelFileError(f"its {place} is not finite")
        elif isinstance(value, int) and abs(value) > self.largest:
            raise ModelFileError(f"its {place} counts more than it could hold")


def _first_fitting(value: Any, hint: Any, place: str) -> Any:
    """Return the annotation, or the first of a union, that a value has; raise if there is none."""
    choices = (hint,)
    if get_origin(hint) in (Union, UnionType):
        choices = get_args(hint)
    for choice in choices:
        if _is_a(value, choice):
            return choice
    raise ModelFileError(f"its {place} is something else")


def without_alias(hint: Any) -> Any:
    """Return what an alias made by ``type`` stands for, as NumPy's ``NDArray`` is from 2.5 on."""
    value = getattr(get_origin(hint) or hint, "__value__", None)
    if value is None:
        return hint
    arguments = get_args(hint)
    if arguments:
        value = value[arguments]
    return without_alias(value)


def _is_array_of(value: Any, kind: Any) -> bool:
    if not isinstance(value, np.ndarray):
        return False
    if kind is Any:
        return True
    return np.issubdtype(value.dtype, kind)


def _is_a(value: Any, hint: Any) -> bool:
    """Whether a value has the type that one annotation names."""
    hint = without_alias(hint)
    origin = get_origin(hint) or hint
    arguments = get_args(hint)
    if origin is Any:
        return True
    if origin is None:
        return value is None
    if origin is Literal:
        return value in arguments
    if origin is np.ndarray and arguments:
        [kind] = get_args(arguments[1])
        return _is_array_of(value, kind)
    if origin in (int, float) and isinstance(value, bool):
        return False
    if origin is float:
        return isinstance(value, float | int | np.number)
    return isinstance(value, origin)
