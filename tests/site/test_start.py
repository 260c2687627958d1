"""The ten-minute start: typed word for word, it ends with a forecast of one's own CSV."""

import importlib.util
import os
import re
import shutil
import subprocess
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

ROOT = Path(__file__).resolve().parents[2]
PAGE = (ROOT / "docs/start.md").read_text(encoding="utf-8")
LOCAL = [
    ".git",
    ".venv*",
    "build",
    "*.egg-info",
    ".*_cache",
    "__pycache__",
    "output",
    "_build",
]


def as_typed():
    """Make one script of the page: its commands, and the file that it says to save."""
    blocks = re.findall(
        r"(?:^Save this as `(\S+)`(?:(?!^```).)*)?^```(bash|py)\n(.*?)^```$",
        PAGE,
        re.M | re.S,
    )
    assert {kind for _, kind, _ in blocks} == {"bash", "py"}
    lines = []
    for name, kind, code in blocks:
        assert bool(name) == (kind == "py")
        lines.append(f"cat > {name} <<'END'\n{code}END\n" if name else code)
    return "".join(lines)


@pytest.fixture(scope="module")
def checkout(tmp_path_factory):
    """Do as the page says, in an empty home, with a repository that holds these files."""
    if not importlib.util.find_spec("sphinx"):
        pytest.skip(
            "installs everything once more: only where the site can be built, too"
        )
    folder = tmp_path_factory.mktemp("start")
    origin, home = folder / "origin", folder / "home"
    shutil.copytree(ROOT, origin, ignore=shutil.ignore_patterns(*LOCAL))
    home.mkdir()
    # Nothing of this machine but where it gets packages from.
    kept = re.compile("PATH|LANG|OMP_NUM_THREADS|PIP_.*|SSL_.*|.*_proxy", re.IGNORECASE)
    environment = {
        name: value for name, value in os.environ.items() if kept.fullmatch(name)
    }
    environment |= {"HOME": str(home), "PIP_NO_CACHE_DIR": "1"}
    who = ["-c", "user.name=a", "-c", "user.email=a@b"]
    for command in (["init", "-q"], ["add", "-A"], [*who, "commit", "-qm", "all"]):
        subprocess.run(["git", *command], cwd=origin, env=environment, check=True)
    script = as_typed()
    assert script.count("ADDRESS") == 1
    done = subprocess.run(
        ["bash", "-euo", "pipefail", "-c", script.replace("ADDRESS", str(origin))],
        cwd=home,
        env=environment,
        capture_output=True,
        text=True,
        check=False,
        timeout=1800,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return home / "skinformer", done.stdout


@pytest.mark.slow
def test_a_newcomer_has_a_forecast(checkout):
    """Day-first dates, semicolons and decimal commas go in; the rows to come go out."""
    folder, printed = checkout
    form = {"sep": ";", "decimal": ",", "index_col": "time"}
    for name, steps, dates in (
        ("examples/output/load_forecast.csv", 24, "%d.%m.%Y %H:%M"),
        ("mine/mine_forecast.csv", 48, "%d.%m.%Y %H:%M"),
        ("ahead.csv", 48, "ISO8601"),
    ):
        ahead = pd.read_csv(folder / name, **form)
        days = pd.date_range("2025-05-05", periods=steps, freq="h")
        assert list(pd.to_datetime(ahead.index, format=dates)) == list(days), name
        assert ahead["load"].between(5, 70).all()
    assert (folder / "examples/output/load.png").read_bytes().startswith(b"\x89PNG")
    ours, naive = (
        [float(error) for error in re.findall(rf"^{name} +([\d.]+)$", printed, re.M)]
        for name in ("InformerRegressor", "weekly seasonal naive")
    )
    assert len(ours) == 2
    assert np.less(ours, naive).all()


@pytest.mark.slow
def test_what_is_shown_is_what_is_printed(checkout):
    """A reader compares the page with the screen; `python docs/outputs.py start.md` writes it."""
    spec = importlib.util.spec_from_file_location("outputs", ROOT / "docs/outputs.py")
    outputs = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(outputs)
    folder, printed = checkout
    (folder / "printed.txt").write_text(printed, encoding="utf-8")
    pairs = list(outputs.start(PAGE, folder))
    assert len(pairs) == 3
    for block, cut in pairs:
        assert outputs.alike(block["shown"], cut), cut


def test_the_file_shown_is_the_file_used():
    """The page prints the first lines of the file that its commands read."""
    head = (
        (ROOT / "examples/data/load.csv").read_text(encoding="utf-8").splitlines()[:4]
    )
    assert "\n".join(head) in PAGE
