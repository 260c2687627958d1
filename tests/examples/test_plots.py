"""Short examples of the gallery: each runs as a user types it, and draws something."""

import runpy
from pathlib import Path

import pytest

from skinformer import datasets

EXAMPLES = Path(__file__).resolve().parents[2] / "examples"
#: These have tests of their own.
LONGER = {"plot_crowd", "plot_quickstart"}
SHORT = sorted({path.stem for path in EXAMPLES.glob("plot_*.py")} - LONGER)
#: From when on an example sees the bundled counts, where all would take long: the site is built
#: with all of them.
SINCE = {"plot_holidays": "2024-06", "plot_panel": "2024-06"}


@pytest.mark.slow
@pytest.mark.parametrize("name", SHORT)
def test_it_draws(name, monkeypatch):
    """A reader copies it; a warning would be the first thing to be seen."""
    pytest.importorskip("matplotlib").use("agg")
    from matplotlib import pyplot as plt

    counts = datasets.load_auckland_pedestrians()[SINCE.get(name, "2023") :]
    monkeypatch.setattr(datasets, "load_auckland_pedestrians", lambda: counts)
    monkeypatch.setattr(plt, "show", lambda: None)
    runpy.run_path(str(EXAMPLES / f"{name}.py"))
    figures = plt.get_fignums()
    plt.close("all")
    assert figures


def test_the_gallery_has_six_to_eight_examples_that_are_run():
    """More are not looked through."""
    assert 6 <= len(SHORT) + len(LONGER) <= 8
