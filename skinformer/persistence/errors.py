"""What goes wrong with files: not to be trusted, no file can hold it, another version's."""


class ModelFileError(ValueError):
    """
    A file that holds no model this version reads: damaged, cut off, forged, or of another format.

    Examples
    --------
    >>> from skinformer import ModelFileError
    >>> issubclass(ModelFileError, ValueError)
    True
    """


class UnknownForecasterError(ModelFileError):
    """
    A sound file with a forecaster of the user's, whose class was not given.

    Parameters
    ----------
    name : str
        Name of the class.

    Examples
    --------
    >>> "forecasters=[Median]" in str(UnknownForecasterError("Median"))
    True
    """

    def __init__(self, name: str) -> None:
        super().__init__(
            f"the file holds the forecaster {name!r}, which only its class can build again: pass "
            f"it, skinformer.load(path, forecasters=[{name}])."
        )


class NotPlainError(ValueError):
    """
    A value that neither numbers nor text can stand for.

    Parameters
    ----------
    place : str
        Where the value is.
    value : Any
        The value.

    Examples
    --------
    >>> str(NotPlainError("params.base", print))
    'params.base is a builtin_function_or_method'
    """

    def __init__(self, place: str, value: object) -> None:
        self.place = place
        self.value = value
        super().__init__(f"{place} is a {type(value).__name__}")


class VersionWarning(UserWarning):
    """
    A pickle was written by another version of this package, whose state may mean other things.

    Examples
    --------
    >>> import warnings
    >>> from skinformer import VersionWarning
    >>> warnings.simplefilter("error", VersionWarning)  # in a job that must not guess
    """
