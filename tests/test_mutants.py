"""The script that breaks rules works: it finds them, and its tests notice."""

import runpy
import subprocess
import sys
from pathlib import Path

import pytest

SCRIPT = Path(__file__).resolve().parent / "mutants.py"
MUTANTS = runpy.run_path(str(SCRIPT))
SOURCE = """
class Clock:
    def rows(self, n):  # those of a day
        if n:
            self.tick( n +
                       1 )
        return n + 1

def rows(n):
    return n + 1
"""


def mutant(function, old, new):
    return MUTANTS["Mutant"]("one more", "clock.py", function, old, new, ())


def is_there(test):
    """Whether a file holds a test, if one is named."""
    name, _, function = test.partition("::")
    return f"def {function}(" * bool(function) in (SCRIPT.parent / name).read_text(
        "utf-8"
    )


def test_every_mutant_finds_its_rule_and_its_tests():
    """A rule that moved away from its mutant would never be broken again."""
    mutants = MUTANTS["MUTANTS"]
    assert len({each.name for each in mutants}) == len(mutants)
    for each in mutants:
        path, changed = MUTANTS["source_of"](each)
        compile(changed, path, "exec")
        assert all(is_there(test) for test in each.tests), each.tests


@pytest.mark.parametrize(
    ("old", "new", "expected"),
    [
        ("self.tick(n + 1)", "self.tick(n)", "self.tick(n)\n"),
        ("self.tick(n+1)", "pass", "if n:\n            pass\n"),
        ("return n + 1", "return n", "return n\n\ndef rows(n):\n    return n + 1"),
    ],
)
def test_a_mutant_changes_one_place_of_its_function(old, new, expected):
    """However it is laid out, and whatever stands in functions beside it."""
    changed = mutant("Clock.rows", old, new).apply(SOURCE)
    assert expected in changed
    assert changed.count("n + 1") == 2


@pytest.mark.parametrize(
    ("function", "old", "said"),
    [
        (
            "Clock.days",
            "n + 1",
            r"has no Clock.days\(\): name the function that does it now",
        ),
        (
            "rows",
            "n + 2",
            r"holds 'n \+ 2' 0 times in rows\(\), and has to hold it once: copy",
        ),
        ("Clock.rows", "n + 1", r"holds 'n \+ 1' 2 times in Clock.rows\(\)"),
    ],
)
def test_a_mutant_without_its_one_place_is_an_error_that_names_it(function, old, said):
    """Otherwise it would count as killed, or as alive."""
    with pytest.raises(
        LookupError, match=rf"^mutant 'one more': skinformer/clock.py {said}"
    ):
        mutant(function, old, "n").apply(SOURCE)


@pytest.mark.slow
def test_a_handful_of_mutants_is_killed():
    """The whole list takes minutes and is run by hand."""
    words = ["a week has seven hours", "few errors tell as much"]
    done = subprocess.run(
        [sys.executable, SCRIPT, *words], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert done.stdout.endswith("2 mutants, 0 survived\n")
