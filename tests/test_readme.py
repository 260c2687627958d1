"""The README's code runs as printed."""

import re
from pathlib import Path

import pytest

README = Path(__file__).resolve().parent.parent / "README.md"


@pytest.mark.slow
def test_readme_examples_run():
    """It is the first code a user copies; the blocks share one namespace, top to bottom."""
    blocks = re.findall(
        r"^```python\n(.*?)^```$", README.read_text(encoding="utf-8"), re.M | re.S
    )
    assert blocks
    namespace = {}
    for block in blocks:
        exec(compile(block, "README.md", "exec"), namespace)


def test_the_tables_of_both_first_pages_show_what_the_quickstart_prints():
    """The first numbers that a user repeats; one row is one that we lose."""
    root = README.parent
    printed = (root / "docs/quickstart.md").read_text(encoding="utf-8")
    rows = re.search(r"^ +half year +Christmas\n(.*?)^```$", printed, re.M | re.S)[1]
    each = re.findall(r"^(\S.*?) +([\d.]+) +([\d.]+)$", rows, re.M)
    errors = {name: numbers for name, *numbers in each}
    methods = {
        "skinformer": "InformerRegressor",
        "boosting on lags": "boosting on lags",
        "ridge on lags": "ridge on lags",
        "seasonal naive": "weekly seasonal naive",
    }
    for page in (README, root / "docs/index.md"):
        text = page.read_text(encoding="utf-8").replace("**", "")
        assert f"| | {' | '.join(methods)} |" in text
        for place, row in enumerate(["pedestrians in 3 streets", "its 8 days from"]):
            shown = re.search(rf"^\|[^|]*{row}[^|]*\| (.*) \|$", text, re.M)[1]
            assert shown.split(" | ") == [
                errors[name][place] for name in methods.values()
            ]
    ours, boosting = (float(errors[methods[name]][1]) for name in list(methods)[:2])
    assert ours > boosting


def test_the_readme_is_read_in_three_minutes():
    """Six hundred words, code and commands included; all else is in the guides."""
    assert len(README.read_text(encoding="utf-8").split()) <= 600
