"""What a fit does, in plain lines: where a part begins, and while it goes on."""

import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager

from skinformer.stopwatch import Stopwatch, stopwatch


class Progress(Stopwatch):
    """A watch that writes what it measures.

    name: of the estimator, in front of each line.
    """

    def __init__(self, name: str) -> None:
        super().__init__()
        self._name = name
        self._written = 0.0

    def begin(self, part: str) -> str:
        """Write which part begins."""
        ended = super().begin(part)
        if part != ended:
            self._write_part()
        return ended

    def look(self) -> None:
        """Write how long it goes on, if nothing was written for a while."""
        # Long fits write few lines: one for each tenth of the time so far.
        silence = max(1.8, 0.09 * self.passed)
        if self.passed - self._written > silence:
            self._write_part()

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

    def write(self, line: str) -> None:
        """Write a line of the estimator."""
        self._written = self.passed
        sys.stdout.write(f"[{self._name}] {line}\n")
        sys.stdout.flush()

    def _write_part(self) -> None:
        self.write(f"{self.part}  after {self.passed:.1f} s")
