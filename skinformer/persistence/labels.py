"""Labels of pandas as plain values: instants, periods, steps and indexes of one level."""

import datetime
import zoneinfo
from fractions import Fraction
from functools import partial
from itertools import pairwise
from typing import Any

import numpy as np
import pandas as pd

from skinformer.persistence.codec import Kind
from skinformer.persistence.errors import ModelFileError, NotPlainError

#: Characters of a step as pandas spells it, at most.
_LONGEST_STEP = 100
#: Steps by the names of their types: those of pandas, and of nobody else.
_OFFSETS: dict[str, Any] = {
    name: kind
    for name, kind in vars(pd.offsets).items()
    if isinstance(kind, type) and issubclass(kind, pd.offsets.BaseOffset)
}


def _zone_apart(zone: Any) -> Any:
    """Name a time zone: a name of the IANA data base, or a distance from UTC in seconds."""
    if zone is None:
        return None
    if type(zone) is datetime.timezone:
        return zone.utcoffset(None).total_seconds()
    name = getattr(zone, "key", None) or getattr(
        zone, "zone", None
    )  # pytz has the second
    if name is None:
        raise NotPlainError("", zone)
    return name


def _zone_together(name: Any) -> Any:
    """Find a time zone among those of the data base: pandas would read any file by its name.

    `zoneinfo` refuses a path that leads out of it.
    """
    if name is None:
        return None
    if type(name) is float:
        return datetime.timezone(datetime.timedelta(seconds=name))
    return zoneinfo.ZoneInfo(name)


def _step_apart(step: Any) -> Any:
    """Write an offset as pandas spells it, if that says all; else by its name and arguments."""
    try:
        if pd.tseries.frequencies.to_offset(step.freqstr) == step:
            return step.freqstr
    except ValueError:
        pass
    name = type(step).__name__
    if type(step) is not _OFFSETS.get(name):
        raise NotPlainError("", step)
    given = dict(step.kwds)
    calendar = given.pop("calendar", None)
    if calendar is not None:
        given["holidays"] = calendar.holidays.astype(str)
        usual = np.busdaycalendar(given["weekmask"])
        if not np.array_equal(usual.weekmask, calendar.weekmask):
            raise NotPlainError("", step)
    given = {key: _argument_apart(value) for key, value in given.items()}
    normalize = bool(getattr(step, "normalize", False))
    return {"name": name, "n": int(step.n), "normalize": normalize, "given": given}


def _argument_apart(value: Any) -> Any:
    """Write an argument of an offset as plain values."""
    if isinstance(value, tuple | np.ndarray):
        return [_argument_apart(each) for each in value]
    if isinstance(value, datetime.time):
        return {"time": value.isoformat()}
    if isinstance(value, datetime.timedelta):
        return {"microseconds": value // datetime.timedelta(microseconds=1)}
    return str(value) if isinstance(value, np.str_) else value


def _argument_together(value: Any) -> Any:
    if type(value) is list:
        return tuple(_argument_together(each) for each in value)  # a list has no hash
    if type(value) is not dict:
        return value
    if "time" in value:
        return datetime.time.fromisoformat(value["time"])
    return datetime.timedelta(microseconds=value["microseconds"])


def _step_together(given: Any) -> Any:
    if type(given) is str and len(given) <= _LONGEST_STEP:
        return pd.tseries.frequencies.to_offset(given)
    if type(given) is not dict or given["name"] not in _OFFSETS:
        raise ModelFileError("it holds a step that is none")
    arguments = {
        name: _argument_together(value) for name, value in given["given"].items()
    }
    return _OFFSETS[given["name"]](
        given["n"], normalize=given["normalize"], **arguments
    )


def _texts_apart(values: list[str]) -> Any:
    """Write texts as one stretch of bytes: names of a million series are no tree."""
    parts = [value.encode("utf-8", "surrogatepass") for value in values]
    ends = np.cumsum([0, *(len(part) for part in parts)], dtype=np.int64)
    return {"ends": ends, "bytes": np.frombuffer(b"".join(parts), dtype=np.uint8)}


def _texts_together(given: Any) -> list[str]:
    raw = given["bytes"].tobytes()
    pairs = pairwise(given["ends"].tolist())
    return [raw[begin:end].decode("utf-8", "surrogatepass") for begin, end in pairs]


def _categories_apart(kind: pd.CategoricalDtype) -> dict[str, Any]:
    return {"categories": kind.categories, "ordered": bool(kind.ordered)}


def _fraction_together(given: Any) -> Fraction:
    numerator, denominator = given
    return Fraction(
        int(numerator), int(denominator)
    )  # text would be read, however long


def _scalar_apart(value: Any) -> Any:
    return str(value) if isinstance(value, np.str_) else np.asarray(value)


def _scalar_together(given: Any) -> Any:
    return given if type(given) is str else given[()]


def _index_apart(index: pd.Index) -> Any:
    if index.nlevels > 1:
        raise NotPlainError("", index)
    out = {"dtype": str(index.dtype), "name": index.name}
    kind = index.dtype
    data: Any = index
    if isinstance(kind, pd.CategoricalDtype):
        codes = np.asarray(data.codes)
        return out | {"dtype": "category", "codes": codes, **_categories_apart(kind)}
    if isinstance(kind, pd.PeriodDtype):
        return out | {"dtype": "period", "values": data.asi8, "step": kind.freq}
    if kind.kind in "mM":
        zone = _zone_apart(getattr(data, "tz", None))
        return out | {
            "dtype": kind.kind,
            "values": data.asi8,
            "unit": data.unit,
            "zone": zone,
        }
    if isinstance(kind, np.dtype) and kind.kind in "fiub":
        return out | {"values": index.to_numpy()}
    items = index.tolist()
    if all(type(item) is str for item in items):
        return out | {
            "dtype": "str" if str(kind) == "str" else "object",
            **_texts_apart(items),
        }
    if kind.kind != "O":
        raise NotPlainError("", index)
    return out | {"values": index.to_numpy()}


def _index_together(given: Any) -> pd.Index:
    kind = given["dtype"]
    values: Any
    dtype: Any = None
    if kind == "category":
        kept = {name: given[name] for name in ("codes", "categories", "ordered")}
        values = pd.Categorical.from_codes(**kept)
    elif kind == "period":
        values = pd.arrays.PeriodArray(
            given["values"], dtype=pd.PeriodDtype(given["step"])
        )
    elif kind in ("M", "m"):
        whole = given["values"].astype(np.int64, casting="safe")
        values = pd.Index(whole.view(f"{kind}8[{given['unit']}]"))
        if given.get("zone") is not None:
            values = values.tz_localize("UTC").tz_convert(_zone_together(given["zone"]))
    elif "ends" in given:
        # The types that texts have in an index; any other of pandas is not a file's to name.
        values, dtype = _texts_together(given), {"str": "str", "object": object}[kind]
    else:
        values = given["values"]
    index: pd.Index = pd.Index(values, dtype=dtype, name=given["name"])
    return index


def _frame_apart(frame: pd.DataFrame) -> Any:
    names = frame.columns
    if not (names.is_unique and frame.index.equals(pd.Index(np.arange(len(frame))))):
        raise NotPlainError("", frame)
    return [[name, frame[name].to_numpy()] for name in names]


def _label_apart(label: Any) -> Any:
    """Take a moment, a span of time or a period apart, as the index of it alone."""
    index = _index_apart(pd.Index([label]))
    parts = {name: index[name] for name in ("unit", "zone", "step") if name in index}
    return {"value": index["values"].item(), **parts}


def _label_together(given: Any, dtype: str) -> Any:
    values = np.array([given["value"]], dtype=np.int64)
    return _index_together({**given, "dtype": dtype, "name": None, "values": values})[0]


LABEL_KINDS = [
    *(
        Kind(kind.__name__, kind, _label_apart, partial(_label_together, dtype=dtype))
        for kind, dtype in (
            (pd.Timestamp, "M"),
            (pd.Timedelta, "m"),
            (pd.Period, "period"),
        )
    ),
    Kind(
        "Step", pd.tseries.offsets.BaseOffset, _step_apart, _step_together, derived=True
    ),
    Kind("Index", pd.Index, _index_apart, _index_together, derived=True),
    Kind(
        "Categories",
        pd.CategoricalDtype,
        _categories_apart,
        lambda given: pd.CategoricalDtype(**given),
    ),
    Kind(
        "DataFrame", pd.DataFrame, _frame_apart, lambda given: pd.DataFrame(dict(given))
    ),
    Kind("Fraction", Fraction, Fraction.as_integer_ratio, _fraction_together),
    Kind("Scalar", np.generic, _scalar_apart, _scalar_together, derived=True),
]
