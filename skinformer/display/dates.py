"""Dates along an axis, and what all of them share in its label; loaded when a plot is drawn."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from matplotlib.dates import ConciseDateFormatter

if TYPE_CHECKING:
    from matplotlib.axis import Axis
    from matplotlib.dates import DateLocator


class DateFormatter(ConciseDateFormatter):
    """Write the dates of ticks, and add what they share, such as the year, to the axis' label.

    matplotlib writes the year at the end of the axis, in the line of its label, and so over the
    label of a short axis. If the user has changed the label, it stays there.
    """

    def __init__(self, axis: Axis, locator: DateLocator, zone: Any) -> None:
        super().__init__(  # type: ignore[no-untyped-call]
            locator,
            tz=zone,
            formats=["%Y", "%b", "%d %b", "%H:%M", "%H:%M", "%S.%f"],
            zero_formats=["", "%Y", "%d %b", "%d %b", "%H:%M", "%H:%M"],
            offset_formats=["", "", "%Y", "%Y", "%Y-%m-%d", "%Y-%m-%d"],
        )
        self._labelled_axis = axis
        self._name = axis.get_label_text()
        self._label = self._name

    def format_ticks(self, values: Sequence[float]) -> list[str]:
        """Return the dates of ticks, and label the axis."""
        texts: list[str] = super().format_ticks(values)  # type: ignore[no-untyped-call]
        if self._labels_axis():
            shared = super().get_offset()  # type: ignore[no-untyped-call]
            self._label = f"{self._name}, {shared}" if shared else self._name
            self._labelled_axis.set_label_text(self._label)
        return texts

    def get_offset(self) -> str:
        """Return what the dates share, where the label does not show it."""
        if self._labels_axis():
            return ""
        shared: str = super().get_offset()  # type: ignore[no-untyped-call]
        return shared

    def _labels_axis(self) -> bool:
        """Return whether the label is the one that was written here."""
        return self._labelled_axis.get_label_text() == self._label
