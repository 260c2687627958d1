"""What an exported graph says of its inputs: plain values, which a file carries as JSON."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

#: The entry of an ONNX file's metadata that holds the signature.
METADATA_KEY = "skinformer"

_VERSION = 3


@dataclass(frozen=True)
class Signature:
    """
    The inputs of an exported graph: names of columns, lengths, and names of inputs.

    Parameters
    ----------
    targets, past, known : tuple of str or int
        Columns of the input "past" in their order: targets, past covariates, future covariates. The
        last ones are also the columns of the input "future".
    calendar : tuple of str
        Calendar fields of the input "calendar": "minute", "hour", "weekday" (from Monday), "day",
        "week" (of seven days from 1 January) and "month", each counted from 0.
    seq_len, pred_len : int
        Number of steps of a window, and of steps to forecast.
    inputs : tuple of str
        Names of the inputs of the graph: "past", and, if the model needs them, "future", "series",
        "calendar", "steps" and "months".
    series : tuple of str, int or float, or None
        Names of the series of a panel; the position of a name is its number in the input "series".
    freq : str, int or None
        The frequency as pandas writes it. None if it cannot be written; it is then inferred from
        the rows.
    tz : str or None
        The time zone of dates.
    may_miss : bool
        Whether future covariates may have missing values.
    origin : str, int or None, default=None
        The label from which steps are counted; None if they are not needed.
    closed : tuple of (int, tuple of int), default=()
        Steps at which no target is ever observed, such as the nights of a shop: the lengths of
        seasons, and the phases of each. There the targets in "past" keep their last value.

    See Also
    --------
    window_inputs : Makes these inputs from rows.

    Examples
    --------
    >>> from skinformer.serving import Signature
    >>> signature = Signature(
    ...     targets=("load",), past=(), known=(), calendar=("hour",), seq_len=96, pred_len=24,
    ...     inputs=("past", "calendar"), series=None, freq="h", tz=None, may_miss=False,
    ... )
    >>> Signature.from_json(signature.to_json()) == signature
    True
    """

    targets: tuple[Any, ...]
    past: tuple[Any, ...]
    known: tuple[Any, ...]
    calendar: tuple[str, ...]
    seq_len: int
    pred_len: int
    inputs: tuple[str, ...]
    series: tuple[Any, ...] | None
    freq: str | int | None
    tz: str | None
    may_miss: bool
    origin: str | int | None = None
    closed: tuple[tuple[int, tuple[int, ...]], ...] = ()

    @property
    def columns(self) -> tuple[Any, ...]:
        """The columns of `past` in their order."""
        return self.targets + self.past + self.known

    def to_json(self) -> str:
        """Write it as JSON."""
        return json.dumps({"version": _VERSION, **asdict(self)})

    @classmethod
    def from_json(cls, text: str) -> Signature:
        """
        Read it from JSON.

        Parameters
        ----------
        text : str
            What `to_json` gave.

        Returns
        -------
        Signature
            The same.

        Raises
        ------
        ValueError
            If a later version of this package wrote it.
        """
        fields = json.loads(text)
        version = fields.pop("version")
        if version != _VERSION:
            raise ValueError(
                f"version={version!r} of an exported model's signature must be {_VERSION}: another "
                "version of skinformer wrote it. Install that one, or export the model again."
            )
        for name, value in fields.items():
            if isinstance(value, list):
                fields[name] = tuple(value)
        fields["closed"] = tuple(
            (season, tuple(phases)) for season, phases in fields["closed"]
        )
        return cls(**fields)

    @classmethod
    def of_metadata(cls, metadata: Mapping[str, str]) -> Signature:
        """
        Read it off the metadata of an ONNX file.

        Parameters
        ----------
        metadata : mapping of str to str
            Such as onnxruntime's ``session.get_modelmeta().custom_metadata_map``.

        Returns
        -------
        Signature
            What the file takes.

        Raises
        ------
        ValueError
            If the file is none that `export_onnx` wrote.
        """
        if METADATA_KEY not in metadata:
            raise ValueError(
                f"the file has no {METADATA_KEY!r} among its metadata ({sorted(metadata)}): pass "
                "those of a file that InformerRegressor.export_onnx wrote."
            )
        return cls.from_json(metadata[METADATA_KEY])


def plain(name: Any) -> Any:
    """Return a name as JSON can hold it: numbers and text as they are, anything else as text."""
    if isinstance(name, np.generic):
        name = name.item()
    if isinstance(name, str | int | float):
        return name
    return str(name)
