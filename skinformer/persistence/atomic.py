"""Files that are written whole or not at all."""

import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from secrets import token_hex
from typing import BinaryIO, TypeAlias

FilePath: TypeAlias = str | os.PathLike[str]


@contextmanager
def replacing(path: FilePath) -> Iterator[BinaryIO]:
    """Write a file so that `path` holds the old content or the new one, never a part.

    The folder must exist. A temporary file in it is flushed to the disk and renamed; a process that
    is killed in between leaves the old file, and a hidden ``.tmp`` file.
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = Path(folder, "note")
    ...     with replacing(path) as file:
    ...         _ = file.write(b"whole")
    ...     path.read_bytes()
    b'whole'
    """
    path = Path(path)
    _check_place(path)
    temporary = path.with_name(f".{path.name}.{token_hex(4)}.tmp")
    try:
        with _opened(temporary, path) as file:
            yield file
            file.flush()
            os.fsync(file.fileno())
        temporary.replace(path)
    except BaseException:  # Ctrl-C too: no stray file
        with suppress(OSError):  # of a folder that is gone; the first error counts
            temporary.unlink(missing_ok=True)
        raise
    _sync_folder(path.parent)


def _check_place(path: Path) -> None:
    """Raise if no file can be at a path, whose folder is none, or which is a folder itself."""
    folder = str(path.parent)
    if path.parent.exists() and not path.parent.is_dir():
        raise NotADirectoryError(
            f"{folder!r} is a file, not a folder: {str(path)!r} cannot be written to it. "
            "Choose another path."
        )
    if not path.parent.is_dir():
        raise FileNotFoundError(
            f"there is no folder {folder!r} to write {str(path)!r} to: make it, "
            f"os.makedirs({folder!r}), or choose another path."
        )
    if path.is_dir():
        raise IsADirectoryError(
            f"{str(path)!r} is a folder, where no file can be written: name a file in it."
        )


def _opened(temporary: Path, path: Path) -> BinaryIO:
    """Open the temporary file in the place of a path, which an error names instead."""
    try:
        return temporary.open("w+b")
    except OSError as error:
        if error.filename is not None:
            error.filename = str(path)
        raise


def _sync_folder(folder: Path) -> None:
    """Make a rename outlast a power failure."""
    # Windows opens no folders, and network folders may not be synced; the file is whole anyway.
    with suppress(OSError):
        descriptor = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)
