"""Training states on disk: written whole or not at all, read without running code."""

import hashlib
import os
import sys
from collections.abc import Mapping
from struct import Struct
from typing import BinaryIO

import torch

from skinformer.persistence.atomic import FilePath, replacing
from skinformer.training.stopping import StateDict

FORMAT = 2  # of the file
_MAGIC = b"skinformer fit\r\n"
_DIGEST_SIZE = 32
#: The magic, the format, and the digest of the rest.
_HEADER = Struct(f"<{len(_MAGIC)}sI{_DIGEST_SIZE}s")


def save(path: FilePath, state: StateDict) -> None:
    """Write a state so that `path` holds the old state or the new one, never a part.

    The file begins with a digest of all the rest, by which `load` detects damage; it is taken from
    the file, without a second copy of the state in memory.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = os.path.join(folder, "fit.pt")
    ...     save(path, {"step": 3, "fingerprint": {}})
    ...     load(path, fingerprint={})["step"]
    3
    """
    with replacing(path) as file:
        file.write(bytes(_HEADER.size))
        _write_archive(file, state)
        digest = _digest(file)
        file.seek(0)
        file.write(_HEADER.pack(_MAGIC, FORMAT, digest))


def load(path: FilePath, *, fingerprint: Mapping[str, str]) -> StateDict:
    """Read a state, on the CPU, and check that it belongs to this fit; no code of it runs.

    fingerprint: what must be the same for the fit to continue (name of a part -> its hash), as
    stored under the state's key "fingerprint". It is a ValueError if it differs, and of a damaged
    file.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = os.path.join(folder, "fit.pt")
    ...     save(path, {"fingerprint": {"data": "a1", "parameters": "b2"}})
    ...     load(path, fingerprint={"data": "a1", "parameters": "c3"})
    Traceback (most recent call last):
    ...
    ValueError: ... was written by another fit: parameters differ. ...
    """
    with open(path, "rb") as file:
        fault = _fault(file)
        if fault:
            raise refusal(path, fault)
        file.seek(_HEADER.size)
        try:
            state: StateDict = torch.load(file, map_location="cpu", weights_only=True)
            stored = dict(state["fingerprint"])
            names = sorted({*stored, *fingerprint})
        except MemoryError:  # says nothing about the file
            raise
        except Exception as error:  # a forged file can end in any
            raise refusal(path, "it holds no state of a fit") from error
    differing = [name for name in names if stored.get(name) != fingerprint.get(name)]
    if differing:
        listed = ", ".join(differing)
        raise ValueError(
            f"checkpoint={os.fspath(path)!r} was written by another fit: {listed} "
            "differ. Delete the file, or give another checkpoint, to start afresh."
        )
    return state


def refusal(path: FilePath, fault: str) -> ValueError:
    """Make the error of a file from which no fit can go on.

    >>> raise refusal("fit.pt", "it does not begin like one")
    Traceback (most recent call last):
    ...
    ValueError: checkpoint='fit.pt' is damaged or not a checkpoint of this version: it does not ...
    """
    return ValueError(
        f"checkpoint={os.fspath(path)!r} is damaged or not a checkpoint of this version: {fault}. "
        "Delete the file, or give another checkpoint, to start afresh."
    )


def _write_archive(file: BinaryIO, state: StateDict) -> None:
    """Write a state as torch's archive."""
    outside = sys.exception()
    try:
        torch.save(state, file)
    except RuntimeError as error:
        # Closing its archive torch fails once more, and hides what broke the write off: an OSError
        # or Ctrl-C.
        hidden = error.__context__
        if hidden is None or hidden is outside:
            raise
        raise hidden from None


def _digest(file: BinaryIO) -> bytes:
    """Hash all of a file but its header."""
    file.seek(_HEADER.size)
    digest = hashlib.file_digest(
        file,  # type: ignore[arg-type]
        lambda: hashlib.blake2b(digest_size=_DIGEST_SIZE),
    )
    return digest.digest()


def _fault(file: BinaryIO) -> str:
    """Return what is wrong with a file before anything in it is trusted; "" if nothing is."""
    header = file.read(_HEADER.size)
    if len(header) < _HEADER.size or not header.startswith(_MAGIC):
        return "it does not begin like one"
    _, version, digest = _HEADER.unpack(header)
    if version != FORMAT:
        return f"its format is {version}, and this version reads {FORMAT}"
    if digest != _digest(file):
        return "its content is not what was written"
    return ""
