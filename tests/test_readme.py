"""The README's code runs as printed."""

import re
from pathlib import Path

import pytest

README = Path(__file__).resolve().parent.parent / "README.md"


@pytest.mark.slow
def test_readme_examples_run():
    """It is the first code a user copies; the blocks share one namespace, top to bottom."""
    blocks = re.findall(r"^```python\n(.*?)^```$", README.read_text(encoding="utf-8"), re.M | re.S)
    assert blocks
    namespace = {}
    for block in blocks:
        exec(compile(block, "README.md", "exec"), namespace)


def test_what_the_readme_says_of_its_table_follows_from_it():
    """The tables of both first pages, and the sentence below the quickstart's."""
    readme = README.read_text(encoding="utf-8")
    index = (README.parent / "docs/index.md").read_text(encoding="utf-8")
    rows = re.search(r"^ +MAE\n(.*?)^```$", readme, re.M | re.S)[1]
    errors = dict(re.findall(r"^(\S.*?) +([\d.]+)$", rows, re.M))
    ours, *others = (
        errors[name]
        for name in (
            "InformerRegressor",
            "boosting on lags",
            "ridge on lags",
            "weekly seasonal naive",
        )
    )
    first = (
        "mean absolute | {} | boosting on lags **{}**, ridge on lags {}, last week repeated {} |"
    )
    for page in (readme, index):
        assert first.format(ours, *others) in page
    boosting, ridge, week = (round(100 * (float(ours) / float(other) - 1)) for other in others)
    assert f"is {-week} % below that of last week repeated and {-ridge} % below" in readme
    assert f"it is {boosting} % **above** that of boosted trees" in readme
