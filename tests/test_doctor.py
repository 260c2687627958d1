"""The report of an installation: what is missing or too old is told with what to type."""

import os
import re
from importlib import metadata
from unittest import mock

import pytest
import torch

from skinformer import doctor
from skinformer.__main__ import main


@pytest.fixture
def installed(monkeypatch):
    """Give a dictionary of versions that overrule what is installed; None is missing."""
    versions, found = {}, metadata.version

    def version(name):
        if versions.get(name, "") is None:
            raise metadata.PackageNotFoundError(name)
        return versions.get(name) or found(name)

    monkeypatch.setattr(metadata, "version", version)
    return versions


def texts(state):
    return {f.topic: f.text for f in doctor.examine() if f.state == state}


def test_a_good_installation_has_no_problem(capsys):
    """Its report names what people are asked for when they report a defect."""
    assert main(["doctor"]) == 0
    said = capsys.readouterr().out
    for name in ("python", "skinformer", "numpy", "torch", "device cpu", "threads"):
        assert re.search(rf"^  {name} ", said, flags=re.MULTILINE), name
    assert said.endswith("no problems\n")


def test_what_is_too_old_or_missing_is_a_problem(installed, capsys):
    """And nothing of it is imported to find out more."""
    installed |= {"pandas": "2.3.9", "joblib": None}
    assert texts("problem") == {
        "pandas": "2.3.9 is older than 3.0: python -m pip install --upgrade 'pandas>=3.0'",
        "joblib": "missing: python -m pip install 'joblib>=1.4'",
    }
    assert main(["doctor"]) == 1
    assert capsys.readouterr().out.endswith("2 problems (!)\n")


def test_versions_are_compared_as_numbers(installed):
    """By letters, 3.10 is older than 3.9, and a build's name is no number."""
    installed |= {"matplotlib": "3.10.0", "torch": "2.100.0+cu126", "numpy": "3.0.0rc1"}
    assert not texts("problem")


def test_what_is_optional_is_a_note(installed):
    """Forecasts do without pictures."""
    installed |= {"matplotlib": None, "hypothesis": None}
    assert texts("note") == {
        "matplotlib": "missing: python -m pip install 'matplotlib>=3.9', for displays and examples"
    }


def test_more_threads_than_cores_are_told_of():
    """They wait for each other."""
    with mock.patch.object(torch, "get_num_threads", return_value=4096):
        text = texts("note")["threads"]
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
    assert text.startswith(f"4096 of torch on {cores} cores")
    assert text.endswith(f"export OMP_NUM_THREADS={cores}")


def test_a_container_with_half_a_core_is_told_of(tmp_path, monkeypatch):
    """Two threads that share half a core are slower than one."""
    monkeypatch.setattr("sys.platform", "linux")
    with mock.patch.object(doctor, "open", mock.mock_open(read_data="50000 100000"), create=True):
        text = texts("note")["threads"]
    assert text == "this container may use 0.5 of a core's time: export OMP_NUM_THREADS=1"
    with mock.patch.object(doctor, "open", mock.mock_open(read_data="max 100000"), create=True):
        assert not texts("note")


def test_a_torch_that_cannot_be_loaded_is_a_problem():
    """Where a library of the system is missing, the import fails with its name."""
    with mock.patch.object(doctor, "_devices", side_effect=ImportError("libgomp.so.1")):
        assert texts("problem") == {"torch": "cannot be imported: libgomp.so.1"}


def test_the_version_is_told(capsys):
    """As command lines do."""
    with pytest.raises(SystemExit, match="0"):
        main(["--version"])
    assert re.fullmatch(r"\d+\.\d+\.\d+\S*\n", capsys.readouterr().out)
