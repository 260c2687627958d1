"""Where rows hold their labels, in the index or in columns, and what to type for either."""

from collections.abc import Hashable
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class Labels:
    """Where the rows of X hold their times, and the names of their series, for messages.

    time, series: the columns that hold them; None where the index does.
    panel: whether there are several series.
    format: of times in a column that are no dates yet; None for dates and numbers.
    >>> str(Labels()), str(Labels(time="day"))
    ('X.index', "column 'day'")
    """

    time: Hashable = None
    series: Hashable = None
    panel: bool = False
    format: str | None = None

    def __str__(self) -> str:
        return "X.index" if self.time is None else f"column {self.time!r}"

    def call(self, code: str) -> str:
        """Write a call of X with its labels in the index, whose result has X's columns again.

        >>> Labels().call("asfreq('D')")
        "X.asfreq('D')"
        >>> Labels(time="day").call("asfreq('D')")
        "X.set_index('day').asfreq('D').reset_index()"
        """
        back = ""
        if self.time is not None:
            back = ".reset_index()"
        elif self.series is not None:
            back = ".reset_index(level=0)"
        return f"{self.indexed}.{code}{back}"

    @property
    def indexed(self) -> str:
        """X with its labels in the index."""
        if self.time is None:
            if self.series is None:
                return "X"
            return f"X.set_index({self.series!r}, append=True).swaplevel()"
        columns: Any = self.time
        if self.series is not None:
            columns = [self.series, self.time]
        return f"{self._dated}.set_index({columns!r})"

    @property
    def _dated(self) -> str:
        """X whose column of times holds dates."""
        if self.format is None:
            return "X"
        return f"X.assign(**{{{self.time!r}: {self._times}}})"

    @property
    def _times(self) -> str:
        """The column of times, as dates or numbers."""
        column = f"X[{self.time!r}]"
        if self.format is None:
            return column
        return f"pd.to_datetime({column}, format={self.format!r})"

    def replace_times(self, make: str) -> str:
        """Write how labels of time are replaced by what is made of them as an index.

        make: with {} where the index stands.
        >>> Labels(time="day").replace_times("{}.to_period('M')")
        "X['day'] = pd.Index(X['day']).to_period('M')"
        """
        if self.time is not None:
            return f"X[{self.time!r}] = " + make.format(f"pd.Index({self._times})")
        if not self.panel or self.series is not None:
            return "X.index = " + make.format("X.index")
        times = make.format("X.index.get_level_values(1)")
        return f"X.index = pd.MultiIndex.from_arrays([X.index.get_level_values(0), {times}])"

    def number_rows(self) -> str:
        """Write how rows are counted, those of each series by themselves."""
        if self.time is None and self.series is None:
            return number_rows("X", panel=self.panel)
        labels = "X.index" if self.time is None else f"X[{self.time!r}]"
        if self.series is None:
            return f"number the rows, {labels} = range(len(X))"
        count = f"X.groupby({self.series!r}).cumcount()"
        return f"number the rows of each series, {labels} = {count}"


#: Of rows whose index holds their labels.
IN_INDEX = Labels()


def number_rows(name: str, *, panel: bool) -> str:
    """Write how the rows of a table are counted whose index labels them."""
    if panel:
        return f"number the rows of each series, {name}.groupby(level=0).cumcount()"
    return f"number the rows, {name}.reset_index(drop=True)"
