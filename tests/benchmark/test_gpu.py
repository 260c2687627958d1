"""What is measured on a GPU runs on a CPU, too, small; its parts are written as they end."""

import json
import os
import subprocess
import sys
from pathlib import Path

import gpu
import pytest

SCRIPT = Path(gpu.__file__).with_name("run.py")


def run(*arguments):
    env = {**os.environ, "OMP_NUM_THREADS": "1"}
    command = [sys.executable, str(SCRIPT), "gpu", "--tiny", *arguments]
    return subprocess.run(command, env=env, capture_output=True, text=True, check=False)


@pytest.mark.slow
def test_all_parts_run_without_a_gpu(tmp_path):
    """Every check holds, every part has its rows, and nothing is missing but the peers."""
    done = run("--out", str(tmp_path / "gpu.json"))
    findings = json.loads((tmp_path / "gpu.json").read_text())
    assert done.returncode == 0, done.stdout + done.stderr
    assert {each["part"] for each in findings} == {*gpu.PARTS, "device", "seconds"}
    checks = {
        each["row"]: each["right"] for each in findings if each["part"] == "checks"
    }
    assert len(checks) == 8
    assert all(checks.values())
    [tests] = [each for each in findings if each["part"] == "marked_tests"]
    assert "skipped" in tests["summary"][0]
    speeds = [each for each in findings if each["part"] == "steps"]
    assert len(speeds) == 4
    assert all(each["windows/s"] > 0 for each in speeds)


@pytest.mark.slow
def test_a_part_that_takes_too_long_costs_nothing_but_itself(tmp_path):
    """It is stopped, and those behind it run; a run out of time says what it left out."""
    out = tmp_path / "gpu.json"
    done = run("--out", str(out), "--minutes", "0.02", "fits", "ceilings")
    findings = json.loads(out.read_text())
    assert done.returncode == 1
    assert any("took too long" in each.get("fault", "") for each in findings)
    assert any("no time was left" in each.get("fault", "") for each in findings)


def test_the_script_knows_its_parts():
    """A typing error is told before anything runs."""
    done = run("step")
    assert done.returncode == 2
    assert "no such part: step" in done.stderr
