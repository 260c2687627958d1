"""The two errors of files: one that is not to be trusted, and a value that no file can hold."""

from __future__ import annotations

__all__ = ["ModelFileError", "NotPlainError"]


class ModelFileError(ValueError):
    """
    A file that holds no model this version reads: damaged, cut off, forged, or of another format.

    Examples
    --------
    >>> from skinformer import ModelFileError
    >>> issubclass(ModelFileError, ValueError)
    True
    """


class NotPlainError(ValueError):
    """
    A value that neither numbers nor text can stand for.

    Parameters
    ----------
    place : str
        Where the value is.
    value : Any
        The value.
    """

    def __init__(self, place: str, value: object) -> None:
        self.place, self.value = place, value
        super().__init__(f"{place} is a {type(value).__name__}")
