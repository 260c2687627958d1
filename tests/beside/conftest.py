"""Run the scripts of examples/beside as tests."""

import runpy
from pathlib import Path

import pytest

FOLDER = Path(__file__).resolve().parents[2] / "examples" / "beside"


@pytest.fixture(scope="session")
def run_example():
    """Give the function that runs a script, and gives its names."""

    def run(name):
        return runpy.run_path(str(FOLDER / name), run_name="__main__")

    return run
