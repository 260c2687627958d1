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


def test_what_the_readme_says_of_its_table_follows_from_it():
    """The tables of both first pages, and the sentence below the quickstart's."""
    readme = README.read_text(encoding="utf-8")
    index = (README.parent / "docs/index.md").read_text(encoding="utf-8")
    rows = re.search(r"^ +half year +Christmas\n(.*?)^```$", readme, re.M | re.S)[1]
    each = re.findall(r"^(\S.*?) +([\d.]+) +([\d.]+)$", rows, re.M)
    half_year, christmas = ({row[0]: row[place] for row in each} for place in (1, 2))
    ours, *others = (
        half_year[name]
        for name in (
            "InformerRegressor",
            "boosting on lags",
            "ridge on lags",
            "weekly seasonal naive",
        )
    )
    first = (
        "mean absolute | **{}** | boosting on lags {}, "
        "ridge on lags {}, last week repeated {} |"
    )
    for page in (readme, index):
        assert first.format(ours, *others) in page
    boosting, ridge, week = (
        round(100 * (float(ours) / float(other) - 1)) for other in others
    )
    assert f"is {-week} % below that of last week repeated, {-ridge} % below" in readme
    assert f"{-boosting} % below that of boosted trees" in readme
    ours, other = (
        float(christmas[name]) for name in ("InformerRegressor", "boosting on lags")
    )
    assert (
        f"it is {round(100 * (ours / other - 1))} % **above** that of boosting"
        in readme
    )
