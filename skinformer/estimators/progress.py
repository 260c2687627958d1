"""What a fit does, in plain lines: where a part begins, and while it goes on."""

import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager

from skinformer.stopwatch import Stopwatch, stopwatch

#: Seconds between two looks at the watch; seconds that pass in silence at most, and the part of
#: the time so far if that is more: long fits write few lines.
_LOOK, _SILENCE, _PART = 0.2, 1.8, 0.09
#: Seconds that were guessed well, beside those that this fit has taken.
_PRIOR = 3.0


class Progress(Stopwatch):
    """A watch that writes what it measures.

    name: of the estimator, in front of each line.
    """

    def __init__(self, name: str) -> None:
        super().__init__()
        self._name, self._written = name, 0.0
        self._expected: dict[str, float] = {}
        self._expected_from = 0.0
        self._stage, self._stage_began = "", 0.0

    def begin(self, part: str) -> str:
        """Write which part begins."""
        ended = super().begin(part)
        stages = list(self._expected)
        later = stages[stages.index(self._stage) + 1 :] if self._stage in stages else stages
        if part in later:  # else it is a part of this stage
            self._stage, self._stage_began = part, self.passed
        if part != ended:
            self._tell()
        return ended

    def expect(self, seconds: dict[str, float]) -> None:
        """Hear what parts may take, in the order in which they come."""
        self._expected, self._expected_from = seconds, self.passed

    def look(self) -> None:
        """Write how long it goes on, if nothing was written for a while."""
        if self.passed - self._written > max(_SILENCE, _PART * self.passed):
            self._tell()

    @contextmanager
    def looked_at(self) -> Iterator[Stopwatch]:
        """Measure what this thread does, while another one looks at it."""
        ended = threading.Event()

        def run() -> None:
            while not ended.wait(_LOOK):
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

    def _tell(self) -> None:
        left = self._left()
        about = f", about {left:.0f} s left" if left >= 1 else ""
        self.write(f"{self.part}  after {self.passed:.1f} s{about}")

    def _left(self) -> float:
        """Guess the seconds left, by how long what is done has taken."""
        if not self._stage:
            return 0.0
        expected, now = list(self._expected.values()), list(self._expected).index(self._stage)
        taken = self._stage_began - self._expected_from
        pace = (_PRIOR + taken) / (_PRIOR + sum(expected[:now]))
        of_stage = pace * expected[now] - (self.passed - self._stage_began)
        return max(of_stage, 0.0) + pace * sum(expected[now + 1 :])
