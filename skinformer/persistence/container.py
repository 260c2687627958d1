"""A file of arrays and one plain tree: safetensors' format, with a digest of every byte.

Nothing in it is compressed and nothing is named twice, so that no size is larger than the file and
no byte has two meanings: what an archive would need checks for cannot be written.
"""

import hashlib
import json
import math
import os
from typing import Any, NamedTuple

import numpy as np

from skinformer.persistence.atomic import FilePath, replacing
from skinformer.persistence.codec import JsonObject
from skinformer.persistence.errors import ModelFileError
from skinformer.timeline.arrays import AnyArray

FORMAT = 18  # of what is written and read
_START = b'{"__metadata__":{"digest":"'
_DIGEST_SIZE = 32
_AFTER = len(_START) + 2 * _DIGEST_SIZE
_LENGTH_SIZE = 8
#: Bytes of all but the arrays: Python's objects take some twenty times as many.
_LONGEST_HEADER = 1 << 24
_TYPES = {
    "F64": "<f8",
    "F32": "<f4",
    "F16": "<f2",
    "I64": "<i8",
    "I32": "<i4",
    "I16": "<i2",
    "I8": "<i1",
    "U64": "<u8",
    "U32": "<u4",
    "U16": "<u2",
    "U8": "<u1",
    "BOOL": "|b1",
}
_NAMES = {np.dtype(code): name for name, code in _TYPES.items()}


class Content(NamedTuple):
    """What a file holds.

    tree: lists, dicts with keys of text, text, finite numbers, True, False and None.
    arrays: numbers, which the tree refers to.
    """

    tree: Any
    arrays: list[AnyArray]


def write_content(path: FilePath, content: Content) -> None:
    """Write a file whole, or leave what was there.

    The folder must exist. It is an OSError if the file cannot be written, and a ValueError if the
    tree is too long to be read again.
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = os.path.join(folder, "numbers")
    ...     write_content(path, Content({"is": 3}, [np.arange(2)]))
    ...     read_content(path)
    Content(tree={'is': 3}, arrays=[array([0, 1])])
    """
    # The widest first: then each begins at a multiple of its own width.
    numbered = sorted(enumerate(content.arrays), key=lambda pair: -pair[1].itemsize)
    text = _header(content.tree, numbered)  # with zeros in the digest's place
    if len(text) > _LONGEST_HEADER:
        raise ValueError(
            f"{path} would hold {len(text):,} bytes of names and structure, and "
            f"{_LONGEST_HEADER:,} are read at most: pickle this model with joblib."
        )
    length = len(text).to_bytes(_LENGTH_SIZE, "little")
    arrays: list[Any] = [np.ascontiguousarray(array) for _, array in numbered]
    digest = _digest(length, text, *arrays)
    with replacing(path) as file:
        file.writelines([length, _START, digest, text[_AFTER:], *arrays])


def _header(tree: Any, numbered: list[tuple[int, AnyArray]]) -> bytes:
    """Write the tree, with zeros in the digest's place, and where each array stands."""
    metadata = {
        "digest": "0" * (2 * _DIGEST_SIZE),
        "format": "skinformer",
        "version": str(FORMAT),
        "state": _as_json(tree),
    }
    header: JsonObject = {"__metadata__": metadata}
    begin = 0
    for i, array in numbered:
        end = begin + array.nbytes
        header[str(i)] = {
            "dtype": _NAMES[array.dtype],
            "shape": list(array.shape),
            "data_offsets": [begin, end],
        }
        begin = end
    text = _as_json(header).encode("ascii")
    padding = b" " * (-len(text) % _LENGTH_SIZE)
    return text + padding


def _as_json(tree: Any) -> str:
    return json.dumps(tree, allow_nan=False, separators=(",", ":"))


def _digest(*parts: Any) -> bytes:
    """Compute the digest of all of a file, (64,) hexadecimal digits."""
    digest = hashlib.blake2b(digest_size=_DIGEST_SIZE)
    for part in parts:
        digest.update(part)
    return digest.hexdigest().encode("ascii")


def read_content(path: FilePath) -> Content:
    """Read a file that `write_content` wrote.

    It is a ModelFileError if the file is anything else: then nothing of it was used; and an
    OSError if it cannot be read.
    """
    with open(path, "rb") as file:
        n_bytes = os.fstat(file.fileno()).st_size - _LENGTH_SIZE
        length = file.read(_LENGTH_SIZE)
        start = file.read(_AFTER)
        n_header = _check_start(length, start, n_bytes)
        stated = start[len(_START) :]
        zeros = b"0" * len(stated)
        text = _START + zeros + file.read(n_header - _AFTER)
        body = bytearray(n_bytes - n_header)
        n_read = file.readinto(body)
    if n_read != len(body) or _digest(length, text, body) != stated:
        raise ModelFileError("its content is not what was written")
    return _parse(text, body)


def _check_start(length: bytes, start: bytes, n_bytes: int) -> int:
    """Return the length of the header; raise if it cannot be that of a file of so many bytes."""
    if not start.startswith(_START):
        raise ModelFileError("it does not begin like one")
    n_header = int.from_bytes(length, "little")
    if not _AFTER <= n_header <= min(n_bytes, _LONGEST_HEADER):
        raise ModelFileError("it is cut off, or its length is not what it says")
    return n_header


def _parse(text: bytes, body: bytearray) -> Content:
    """Parse a header, and raise unless it describes the body exactly."""
    header = json.loads(text.decode("ascii"))
    metadata = header.pop("__metadata__")
    version = str(metadata["version"])
    if metadata["format"] != "skinformer" or version != str(FORMAT):
        raise ModelFileError(
            f"its format is {version[:20]}, and this version reads {FORMAT}"
        )
    if metadata.keys() != {"digest", "format", "version", "state"}:
        raise ModelFileError("its header has other fields")
    arrays = _parse_arrays(header, body)
    return Content(json.loads(metadata["state"]), arrays)


def _parse_arrays(header: JsonObject, body: bytearray) -> list[AnyArray]:
    """Read arrays, which have to follow one another without a byte between or behind them."""
    arrays = {}
    position = 0
    for name, place in header.items():
        begin, end = place["data_offsets"]
        if begin != position or place.keys() != {"dtype", "shape", "data_offsets"}:
            raise ModelFileError("its arrays do not follow one another")
        arrays[int(name)] = _parse_array(body, place)
        position = end
    numbers = list(range(len(header)))
    if position != len(body) or sorted(arrays) != numbers:
        raise ModelFileError("its arrays are not what it says")
    return [arrays[number] for number in numbers]


def _parse_array(body: bytearray, place: JsonObject) -> AnyArray:
    begin, end = place["data_offsets"]
    shape = place["shape"]
    kind = place["dtype"]
    dtype = np.dtype(_TYPES[kind])
    n_bytes = math.prod(shape) * dtype.itemsize
    # An array without numbers may not be as long as it likes, either.
    is_long = max(shape, default=0) > len(body)
    if n_bytes != end - begin or is_long:
        raise ModelFileError("an array has not the size that it says")
    raw = np.frombuffer(body, np.uint8, n_bytes, begin)
    if kind == "BOOL":
        raw = raw != 0
    return raw.view(dtype).reshape(shape).copy()
