"""What values of a file have to be: of the type that their field names, finite, and countable."""

from collections.abc import Collection, Mapping
from types import MappingProxyType, UnionType
from typing import Any, Literal, Union, get_args, get_origin

import numpy as np

from skinformer.persistence.codec import record_hints
from skinformer.persistence.errors import ModelFileError

#: What a number may count beyond those that the file holds: windows may be longer than the rows.
_BEYOND = 1 << 20


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
        wrappers: Mapping[type, str] = MappingProxyType({}),
    ) -> None:
        self.unbounded = unbounded
        self.wrappers = wrappers
        self.largest = _BEYOND + n_numbers

    def check(self, value: Any, hint: Any, place: str) -> None:
        """Raise ModelFileError unless a value is what its field's annotation says."""
        hint = without_alias(hint)
        one_of = get_args(hint) if get_origin(hint) in (Union, UnionType) else (hint,)
        fitting = [each for each in one_of if _is_a(value, each)]
        if not fitting:
            raise ModelFileError(f"its {place} is something else")
        if type(value) in self.wrappers:
            self.check(getattr(value, self.wrappers[type(value)]), Any, place)
            return
        kind: Any = type(value)
        hints = record_hints(kind)
        if hints is not None:
            for name, of_field in hints.items():
                self.check(
                    getattr(value, name), of_field, f"{type(value).__name__}.{name}"
                )
        elif isinstance(value, dict | list | tuple):
            self._check_parts(value, get_args(fitting[0]), place)
        elif fitting[0] is not Any and place not in self.unbounded:
            self._check_numbers(value, place)

    def _check_parts(self, value: Any, hints: tuple[Any, ...], place: str) -> None:
        """Check what a dict, a list or a tuple holds."""
        parts = list(value.values()) if isinstance(value, dict) else list(value)
        if isinstance(value, tuple) and hints and hints[-1] is not Ellipsis:
            if len(hints) != len(parts):
                raise ModelFileError(f"its {place} has another length")
        else:
            inner = hints[-1 if isinstance(value, dict) else 0] if hints else Any
            hints = (inner,) * len(parts)
        for part, hint in zip(parts, hints, strict=True):
            self.check(part, hint, place)

    def _check_numbers(self, value: Any, place: str) -> None:
        """Raise unless numbers are finite and count no more than a file of this size can hold."""
        if isinstance(value, float | np.floating) or _is_array_of(value, np.floating):
            if not np.isfinite(value).all():
                raise ModelFileError(f"its {place} is not finite")
        elif isinstance(value, int) and abs(value) > self.largest:
            raise ModelFileError(f"its {place} counts more than it could hold")


def without_alias(hint: Any) -> Any:
    """Return what an alias made by ``type`` stands for, as NumPy's ``NDArray`` is from 2.5 on."""
    value = getattr(get_origin(hint) or hint, "__value__", None)
    if value is None:
        return hint
    arguments = get_args(hint)
    return without_alias(value[arguments] if arguments else value)


def _is_array_of(value: Any, kind: Any) -> bool:
    return isinstance(value, np.ndarray) and (
        kind is Any or np.issubdtype(value.dtype, kind)
    )


def _is_a(value: Any, hint: Any) -> bool:
    """Whether a value has the type that one annotation names."""
    hint = without_alias(hint)
    origin = get_origin(hint) or hint
    if origin is Any:
        return True
    if origin is None:
        return value is None
    if origin is Literal:
        return value in get_args(hint)
    if origin is np.ndarray and get_args(hint):
        return _is_array_of(value, get_args(get_args(hint)[1])[0])
    if origin is float:
        return isinstance(value, float | int | np.number) and not isinstance(
            value, bool
        )
    if origin is int:
        return isinstance(value, int) and not isinstance(value, bool)
    return isinstance(value, origin)
