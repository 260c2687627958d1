"""The script that cuts links works: it finds them, and its tests notice."""

import runpy
import subprocess
import sys
from pathlib import Path

import pytest

SCRIPT = Path(__file__).resolve().parent / "mutants.py"


def test_every_mutant_finds_its_text():
    """A link that moved away from its mutant would never be cut again."""
    mutants = runpy.run_path(str(SCRIPT))["all_mutants"]()
    assert len({mutant.name for mutant in mutants}) == len(mutants)


def test_a_mutant_without_its_text_is_an_error_that_names_it():
    """Otherwise it would count as killed, or as alive."""
    mutant = runpy.run_path(str(SCRIPT))["Mutant"]("no clip", "a.py", "clip=1", "clip=0", "BF16")
    assert mutant.apply("clip=1 BF16 clip=1") == "clip=1 BF16 clip=0"
    with pytest.raises(LookupError, match=r"^mutant 'no clip': a.py holds no 'clip=1' behind 'BF"):
        mutant.apply("clip=1 BF16 clip=2")


@pytest.mark.slow
def test_a_handful_of_mutants_is_killed():
    """The whole list takes minutes and is run by hand."""
    words = ["reads: without a bound", "calendar: weeks of seven hours"]
    done = subprocess.run(
        [sys.executable, SCRIPT, *words], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert done.stdout.endswith("2 mutants, 0 survived\n")
