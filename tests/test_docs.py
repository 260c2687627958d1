"""The pages under docs/: their code runs, their links lead somewhere, their lists are whole."""

import inspect
import re
from collections import Counter
from pathlib import Path

import pytest

import skinformer
from skinformer import datasets, display, evaluation

ROOT = Path(__file__).resolve().parent.parent
PAGES = sorted((ROOT / "docs").glob("*.md"))
TEXTS = {path.name: path.read_text(encoding="utf-8") for path in PAGES}
CODE = {
    name: re.findall(r"^```python\n(.*?)^```$", text, re.M | re.S) for name, text in TEXTS.items()
}


@pytest.fixture(autouse=True)
def draw_without_a_screen():
    matplotlib = pytest.importorskip("matplotlib")
    matplotlib.use("agg")
    yield
    from matplotlib import pyplot

    pyplot.close("all")


@pytest.mark.parametrize("name", [name for name, blocks in CODE.items() if blocks])
def test_code_runs_as_printed(name):
    """The blocks of a page share one namespace, top to bottom."""
    namespace = {}
    for block in CODE[name]:
        exec(compile(block, name, "exec"), namespace)


def test_there_is_code():
    """A changed fence would leave nothing to run."""
    assert len(CODE["user_guide.md"]) >= 6
    assert CODE["quickstart.md"]


@pytest.mark.parametrize("path", [ROOT / "README.md", *PAGES], ids=lambda path: path.name)
def test_links_lead_to_files(path):
    """A page that moves must not leave its readers behind."""
    links = re.findall(r"\]\(([^)#]+)[^)]*\)", path.read_text(encoding="utf-8"))
    local = [link for link in links if "://" not in link]
    assert [link for link in local if not (path.parent / link).exists()] == []


def test_the_picture_is_small():
    """A README that takes seconds to load is closed."""
    assert (ROOT / "docs/images/quickstart.png").stat().st_size < 120_000


def test_every_page_is_in_the_index():
    """A page that nothing links to is not read."""
    linked = re.findall(r"\]\((\w+\.md)\)", TEXTS["index.md"])
    assert sorted([*linked, "index.md"]) == list(TEXTS)


def test_every_difference_is_listed():
    """One row for each NOTE[DIFF], under the name of its file."""
    package = ROOT / "skinformer"
    marked = Counter()
    for path in package.rglob("*.py"):
        count = path.read_text(encoding="utf-8").count("NOTE[DIFF]")
        marked[path.relative_to(package).as_posix()] += count
    listed = Counter(re.findall(r"^\| `([\w/]+\.py)` \|", TEXTS["differences.md"], re.M))
    assert listed == +marked


def test_the_api_page_lists_every_public_name_with_its_first_line():
    """A name that is not listed is not found; a line that has changed misleads."""
    names = {n: getattr(skinformer, n) for n in skinformer.__all__}
    names = {n: value for n, value in names.items() if inspect.isclass(value)}
    for module in (datasets, display, evaluation):
        part = module.__name__.removeprefix("skinformer.")
        names |= {f"{part}.{n}": getattr(module, n) for n in module.__all__}
    listed = dict(re.findall(r"^### (\S+)\n\n(.+)$", TEXTS["api.md"], re.M))
    first_lines = {
        n: " ".join(inspect.getdoc(value).split("\n\n")[0].split()) for n, value in names.items()
    }
    assert listed == first_lines
