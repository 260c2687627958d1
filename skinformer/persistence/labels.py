"""Labels of pandas as plain values: instants, periods, steps and indexes of one level."""

from contextlib import suppress
from datetime import time, timedelta, timezone
from fractions import Fraction
from functools import partial
from itertools import pairwise
from typing import Any

import numpy as np
import pandas as pd
from pandas.tseries.frequencies import to_offset

from skinformer.compatibility.dates import zone_named
from skinformer.persistence.codec import JsonObject, Kind
from skinformer.persistence.errors import ModelFileError, NotPlainError

#: Steps by the names of their types: those of pandas, and no others.
_OFFSETS = {name: getattr(pd.offsets, name) for name in pd.offsets.__all__}  # type: ignore[attr-defined]


def _encode_zone(zone: Any) -> Any:
    """Name a time zone: a name of the IANA data base, or a distance from UTC in seconds."""
    if zone is None:
        return None
    if type(zone) is timezone:
        return zone.utcoffset(None).total_seconds()
    name_of_pytz = getattr(zone, "zone", None)
    name = getattr(zone, "key", name_of_pytz)
    if name is None:
        raise NotPlainError("", zone)
    return name


def _decode_zone(name: Any) -> Any:
    """Find a time zone by its name in the data base, or by its distance from UTC in seconds."""
    if name is None:
        return None
    if type(name) is float:
        distance = timedelta(seconds=name)
        return timezone(distance)
    return zone_named(name)


def _encode_step(step: Any) -> Any:
    """Write an offset as pandas spells it, if that says all; else by its name and arguments."""
    with suppress(ValueError):
        if to_offset(step.freqstr) == step:
            return step.freqstr
    name = type(step).__name__
    if type(step) is not _OFFSETS.get(name):
        raise NotPlainError("", step)
    arguments = dict(step.kwds)
    calendar = arguments.pop("calendar", None)
    if calendar is not None:
        arguments["holidays"] = calendar.holidays.astype(str)
        from_mask = np.busdaycalendar(arguments["weekmask"])
        if not np.array_equal(from_mask.weekmask, calendar.weekmask):
            raise NotPlainError("", step)
    return {
        "name": name,
        "n": step.n,
        "normalize": step.normalize,
        "given": {key: _encode_argument(value) for key, value in arguments.items()},
    }


def _decode_step(node: Any) -> Any:
    longest_name = 100  # as pandas spells steps
    if type(node) is str and len(node) <= longest_name:
        return to_offset(node)
    if type(node) is not dict or node["name"] not in _OFFSETS:
        raise ModelFileError("it holds a step that is none")
    given = node["given"].items()
    arguments = {name: _decode_argument(value) for name, value in given}
    kind = _OFFSETS[node["name"]]
    return kind(node["n"], node["normalize"], **arguments)


def _encode_argument(value: Any) -> Any:
    """Write an argument of an offset as plain values."""
    if isinstance(value, tuple | np.ndarray):
        return [_encode_argument(part) for part in value]
    if isinstance(value, time):
        return {"time": value.isoformat()}
    if isinstance(value, timedelta):
        return {"microseconds": value // timedelta(microseconds=1)}
    if isinstance(value, np.str_):
        return str(value)
    return value


def _decode_argument(node: Any) -> Any:
    if type(node) is list:
        return tuple(map(_decode_argument, node))  # a list has no hash
    if type(node) is not dict:
        return node
    if "time" in node:
        return time.fromisoformat(node["time"])
    return timedelta(microseconds=node["microseconds"])


def _encode_texts(values: list[str]) -> JsonObject:
    """Write texts as one stretch of bytes: names of a million series are no tree."""
    parts = [value.encode("utf-8", "surrogatepass") for value in values]
    ends = np.cumsum([0, *map(len, parts)], dtype=np.int64)
    joined = np.frombuffer(b"".join(parts), dtype=np.uint8)
    return {"ends": ends, "bytes": joined}


def _decode_texts(node: Any) -> list[str]:
    raw = node["bytes"].tobytes()
    ends = node["ends"].tolist()
    return [
        raw[begin:end].decode("utf-8", "surrogatepass") for begin, end in pairwise(ends)
    ]


def _encode_categories(kind: pd.CategoricalDtype) -> JsonObject:
    return {"categories": kind.categories, "ordered": bool(kind.ordered)}


def _decode_fraction(node: Any) -> Fraction:
    numerator, denominator = node
    # Text would be read, however long.
    return Fraction(int(numerator), int(denominator))


def _encode_index(index: pd.Index) -> Any:
    if index.nlevels > 1:
        raise NotPlainError("", index)
    return {"dtype": str(index.dtype), "name": index.name, **_encode_values(index)}


def _encode_values(index: Any) -> JsonObject:
    """Write the values of an index, with its type where the values do not show it."""
    kind = index.dtype
    if isinstance(kind, pd.CategoricalDtype):
        return {"dtype": "category", "codes": index.codes, **_encode_categories(kind)}
    if isinstance(kind, pd.PeriodDtype):
        return {"dtype": "period", "values": index.asi8, "step": kind.freq}
    if kind.kind in "mM":
        zone = getattr(index, "tz", None)
        return {
            "dtype": kind.kind,
            "values": index.asi8,
            "unit": index.unit,
            "zone": _encode_zone(zone),
        }
    if isinstance(kind, np.dtype) and kind.kind in "fiub":
        return {"values": index.to_numpy()}
    labels = index.tolist()
    if all(type(label) is str for label in labels):
        dtype = "str" if str(kind) == "str" else "object"
        return {"dtype": dtype, **_encode_texts(labels)}
    if kind.kind != "O":
        raise NotPlainError("", index)
    return {"values": index.to_numpy()}


def _decode_values(node: Any) -> Any:
    kind = node["dtype"]
    if kind == "category":
        return pd.Categorical.from_codes(
            node["codes"], node["categories"], node["ordered"]
        )
    if kind == "period":
        step = pd.PeriodDtype(node["step"])
        return pd.arrays.PeriodArray(node["values"], dtype=step)
    if kind in ("M", "m"):
        return _decode_moments(node)
    if "ends" in node:
        # The types that texts have in an index; any other of pandas is not a file's to name.
        dtype = {"str": "str", "object": "object"}[kind]
        return pd.Index(_decode_texts(node), dtype=dtype)
    return node["values"]


def _decode_moments(node: Any) -> Any:
    """Read moments or spans of time, which stand as whole numbers of a unit."""
    numbers = node["values"].astype(np.int64, casting="safe")
    dtype = f"{node['dtype']}8[{node['unit']}]"
    moments: Any = pd.Index(numbers.view(dtype))
    zone = _decode_zone(node.get("zone"))
    if zone is None:
        return moments
    return moments.tz_localize("UTC").tz_convert(zone)


def _encode_frame(frame: pd.DataFrame) -> Any:
    numbers = pd.Index(np.arange(len(frame)))
    if not (frame.columns.is_unique and frame.index.equals(numbers)):
        raise NotPlainError("", frame)
    return [[name, column.to_numpy()] for name, column in frame.items()]


def _encode_label(label: Any) -> Any:
    """Write a moment, a span of time or a period as the index of it alone, but for its name."""
    node = _encode_values(pd.Index([label]))
    value = node.pop("values").item()
    del node["dtype"]
    return {"value": value, **node}


def _decode_label(node: Any, dtype: str) -> Any:
    values = np.array([node["value"]], dtype=np.int64)
    [label] = _decode_values({**node, "dtype": dtype, "values": values})
    return label


LABEL_KINDS = [
    Kind("Timestamp", pd.Timestamp, _encode_label, partial(_decode_label, dtype="M")),
    Kind("Timedelta", pd.Timedelta, _encode_label, partial(_decode_label, dtype="m")),
    Kind("Period", pd.Period, _encode_label, partial(_decode_label, dtype="period")),
    Kind("Step", pd.offsets.BaseOffset, _encode_step, _decode_step, derived=True),
    Kind(
        "Index",
        pd.Index,
        _encode_index,
        lambda node: pd.Index(_decode_values(node), name=node["name"]),
        derived=True,
    ),
    Kind(
        "Categories",
        pd.CategoricalDtype,
        _encode_categories,
        lambda node: pd.CategoricalDtype(**node),
    ),
    Kind(
        "DataFrame", pd.DataFrame, _encode_frame, lambda node: pd.DataFrame(dict(node))
    ),
    Kind("Fraction", Fraction, Fraction.as_integer_ratio, _decode_fraction),
    Kind(
        "Scalar",
        np.generic,
        lambda value: str(value) if isinstance(value, np.str_) else np.asarray(value),
        lambda node: node if type(node) is str else node[()],
        derived=True,
    ),
]
