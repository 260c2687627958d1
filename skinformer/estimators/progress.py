"""What a fit does: the part, its epoch, the share that is done, and the seconds that are left."""

import threading
from collections.abc import Iterator
from contextlib import contextmanager

from skinformer.budget import Budget
from skinformer.progress import ProgressLine, times
from skinformer.stopwatch import Stopwatch, stopwatch

#: Parts in the words of the field; the name of another one is what is written.
_WORDS = {
    "reading": "reading rows",
    "own_ridges": "ridges of each series",
    "trees": "gradient-boosted trees",
    "classical": "classical forecasters",
    "classes": "frequencies, logistic map and trees",
    "network": "Informer",
    "filling": "missing values",
}


class Progress(Stopwatch):
    """A watch that writes what it measures.

    name: of the estimator, in front of each line.
    budget: of the fit, which knows what is left.
    """

    def __init__(self, name: str, budget: Budget) -> None:
        super().__init__()
        self._line = ProgressLine(name)
        self._budget = budget
        self._written = 0.0
        self._note = ""

    def begin(self, part: str) -> str:
        """Write which part begins."""
        ended = super().begin(part)
        if part != ended:
            self._note = ""
            self._show()
        return ended

    def note(self, text: str) -> None:
        """Report how far the part is."""
        self._note = f", {text}"
        if self._line.is_rewritten:
            self._show()

    def look(self) -> None:
        """Write how long it goes on, if nothing was written for a while."""
        # Long fits write few lines: one for each tenth of the time so far.
        silence = max(1.8, 0.09 * self.passed)
        if self._line.is_rewritten or self.passed - self._written > silence:
            self._show()

    @contextmanager
    def looked_at(self) -> Iterator[Stopwatch]:
        """Measure what this thread does, while another one looks at it."""
        ended = threading.Event()

        def run() -> None:
            while not ended.wait(0.2):
                self.look()

        thread = threading.Thread(target=run, daemon=True)
        thread.start()
        try:
            with stopwatch(self):
                yield self
        finally:
            ended.set()
            thread.join()
            self._line.clear()

    def write(self, line: str, *, passing: bool = False) -> None:
        """Write a line of the estimator.

        passing: whether it stays only where no line is rewritten.
        """
        if passing and self._line.is_rewritten:
            return
        self._written = self.passed
        self._line.write(line)

    def _show(self) -> None:
        self._written = self.passed
        words = _WORDS.get(self.part, self.part) + self._note
        self._line.show(f"{words}  {times(self.passed, self._budget.seconds_ahead)}")
