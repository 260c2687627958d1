"""Training states on disk: written whole or not at all, read without running code."""

import os
from collections.abc import Mapping
from pathlib import Path
from pickle import UnpicklingError
from typing import Any

import torch


def save(path: str | os.PathLike[str], state: dict[str, Any]) -> None:
    """Write a state so that `path` holds the old state or the new one, never a part.

    Parameters
    ----------
    path : path-like
        Target file; its folder must exist.
    state : dict
        Tensors and plain Python values.

    Notes
    -----
    A temporary file in the same folder is flushed to the disk and renamed; a process that is
    killed in between leaves the old state, and a hidden ``.tmp`` file.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = Path(folder, "fit.pt")
    ...     save(path, {"step": 3, "fingerprint": {}})
    ...     load(path, fingerprint={})["step"]
    3
    """
    path = Path(path)
    temporary = path.with_name(f".{path.name}.{os.getpid()}.tmp")
    try:
        with temporary.open("wb") as file:
            torch.save(state, file)
            file.flush()
            os.fsync(file.fileno())
        temporary.replace(path)
    except BaseException:  # Ctrl-C too: no stray file
        temporary.unlink(missing_ok=True)
        raise


def load(path: str | os.PathLike[str], *, fingerprint: Mapping[str, str]) -> dict[str, Any]:
    """Read a state and check that it belongs to this fit.

    Parameters
    ----------
    path : path-like
        A file that `save` wrote.
    fingerprint : mapping of str to str
        What must be the same for the fit to continue (name of a part -> its hash), as stored
        under the state's key "fingerprint".

    Returns
    -------
    dict
        The state, on the CPU.

    Raises
    ------
    ValueError
        If the stored fingerprint differs; the message names the parts. If the file is another's.

    Notes
    -----
    Read with ``weights_only=True``: a file from elsewhere cannot run code.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = Path(folder, "fit.pt")
    ...     save(path, {"fingerprint": {"data": "a1", "parameters": "b2"}})
    ...     load(path, fingerprint={"data": "a1", "parameters": "c3"})
    Traceback (most recent call last):
    ...
    ValueError: ... was written by another fit: parameters differ. ...
    """
    try:
        state: dict[str, Any] = torch.load(path, map_location="cpu", weights_only=True)
        stored = state["fingerprint"]
    except (UnpicklingError, RuntimeError, EOFError, KeyError, TypeError) as error:
        raise ValueError(
            f"checkpoint={os.fspath(path)!r} is not a file that a fit wrote. Delete it, or give "
            "another checkpoint, to start afresh."
        ) from error
    names = sorted({*stored, *fingerprint})
    differing = [name for name in names if stored.get(name) != fingerprint.get(name)]
    if differing:
        raise ValueError(
            f"checkpoint={os.fspath(path)!r} was written by another fit: {', '.join(differing)} "
            "differ. Delete the file, or give another checkpoint, to start afresh."
        )
    return state
