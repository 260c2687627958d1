"""What bounds have to know of windows that are forecast."""

from typing import Protocol

from skinformer.timeline.arrays import BoolArray, Float32Array, IntArray


class SeenWindows(Protocol):
    """Windows of rows, and what each has seen."""

    @property
    def values(self) -> Float32Array:
        """All rows, standardised, the targets first."""

    @property
    def known(self) -> BoolArray:
        """Which targets of the rows were observed, (n_rows, n_targets)."""

    @property
    def series_of_rows(self) -> IntArray:
        """The series of each row."""

    @property
    def series(self) -> IntArray:
        """The series of each window."""

    @property
    def begin(self) -> IntArray:
        """The first known row of each window's series."""

    @property
    def origins(self) -> IntArray:
        """The row where the forecast of each window begins."""

    def greatest(self, some: IntArray) -> Float32Array:
        """Return the greatest targets that some windows have shown, (n, n_targets)."""

    def observed_range(self, some: IntArray) -> tuple[Float32Array, Float32Array]:
        """Return the least and the greatest observed targets, (n, n_targets), NaN for none."""
