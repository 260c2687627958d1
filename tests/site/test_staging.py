"""What the build makes of pages: no list has to be kept in two places."""

import inspect
import re
import sys
from pathlib import Path

import pytest

from skinformer import InformerClassifier, InformerRegressor

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture(scope="module")
def modules():
    """Import them as the build does: their folder comes first."""
    pytest.importorskip("sphinx")
    sys.path.insert(0, str(ROOT / "docs/site"))
    try:
        import elsewhere
        import gallery_page
        import reference
        import staging
    finally:
        sys.path.pop(0)
    return staging, gallery_page, reference, elsewhere


def test_the_index_is_the_table_of_contents(modules):
    """A page that the index links to is in the menu, under the same heading, in the same order."""
    text = "# All\n\n## One\n\n- [B](b.md): x\n- [A](a.md#there): x\n\n## Two\n\n- [C](c.md)\n"
    parts = re.findall(r":caption: (\w+)\n\n((?:\w+\n)+)", modules[0].contents(text))
    assert parts == [("One", "b\n"), ("Two", "c\n")]


def test_the_menu_has_at_most_eight_groups(modules):
    """More are not looked through."""
    text = (ROOT / "docs/index.md").read_text(encoding="utf-8")
    captions = re.findall(r":caption: (.+)$", modules[0].contents(text), re.M)
    assert 4 <= len(captions) <= 8


def test_links_that_leave_the_docs_lead_to_pages_or_copies(modules, tmp_path):
    """GitHub shows the repository around the docs; the site does not hold it."""
    staging, gallery_page, *_ = modules
    examples = gallery_page.examples_of(ROOT / "examples")
    led = {}
    for target in (
        "examples/forecast_csv.py",
        "examples",
        "README.md",
        "tests/test_docs.py",
    ):
        link = re.match(r"\[(.+)\]\(\.\./([^)#]+)(#.*)?\)", f"[x](../{target})")
        led[target] = staging.outward(link, ROOT, tmp_path, examples)
    assert led == {
        "examples/forecast_csv.py": "[x](examples/forecast_csv.rst)",
        "examples": "[x](gallery.md#examples)",
        "README.md": "[x](index.md)",
        "tests/test_docs.py": "[x](files/tests/test_docs.py)",
    }
    assert (tmp_path / "files/tests/test_docs.py").is_file()


def test_what_examples_share_is_no_example(modules):
    """A reader runs scripts, not what they import."""
    names = {path.name for path in modules[1].examples_of(ROOT / "examples")}
    assert {"forecast_csv.py", "plot_quickstart.py"} <= names
    assert not names & {"comparison.py", "csv_cells.py", "csv_timeline.py", "run.py"}


def test_a_picture_leads_to_the_heading_above_it(modules):
    """Headings that are called the same are told apart as GitHub does."""
    text = "# Top\n\n![a](images/a.png)\n\n## The `fit`\n\n## The fit\n\n"
    text += "```python\n# A comment\n```\n\n![b](images/b.png)\n"
    found = [(image, place) for _, image, place, _ in modules[1].pictures_of(text)]
    assert found == [("images/a.png", ""), ("images/b.png", "the-fit-1")]


def test_no_two_pictures_of_the_gallery_are_called_the_same(modules):
    """A page shows several pictures under one heading, and some on both grounds."""
    folder = ROOT / "examples"
    paths = sorted((ROOT / "docs").glob("*.md"))
    pages = {path.name: path.read_text(encoding="utf-8") for path in paths}
    text = modules[1].gallery(pages, [], folder)
    captions = re.findall(r"^\[!\[.+?\]\(images/.+?\)\]\(\S+\) (.+)$", text, re.M)
    assert len(captions) >= 20
    assert len(set(captions)) == len(captions)


@pytest.mark.parametrize("estimator", [InformerRegressor, InformerClassifier])
def test_groups_of_parameters_hold_all(modules, estimator):
    """The Notes name the first and the last of each group; one that moves must be told there."""
    notes = " ".join(inspect.getdoc(InformerRegressor).split())
    groups = modules[2].GROUP.findall(
        notes.partition("The parameters come in groups")[2]
    )
    names = list(inspect.signature(InformerRegressor).parameters)
    bounds = [names.index(name) for _, *both in groups for name in both]
    assert len(groups) == 5
    assert bounds[:2] == [0, 4]
    assert bounds[-1] == len(names) - 1
    assert all(
        last + 1 == first
        for last, first in zip(bounds[1::2], bounds[2::2], strict=False)
    )
    assert set(modules[2].groups()) <= set(inspect.signature(estimator).parameters)


def test_signatures_are_whole(modules):
    """Sphinx reads `(*_, **params)` off a base of the estimators."""
    signature, _ = modules[2].full_signature(
        None, "class", "", InformerRegressor, None, "(*_, **params)", ""
    )
    assert signature.startswith("(target=None, *, seq_len=96, pred_len=24, ")
    assert signature.count("=") == len(inspect.signature(InformerRegressor).parameters)


def test_uses_are_read_off_code(modules):
    """A variable is what it was made of, in later blocks of a page, too; and of the last value."""
    page = "# P\n\n## The `fit`\n\n```python\nfrom skinformer import InformerRegressor as I\n"
    page += "from sklearn.base import clone\nmodel = I(seq_len=4).fit(df)\n```\n\n## Later\n\n"
    page += "```py\nclone(model).update(df)\nother.forecast()\nmodel = other\nmodel.save(x)\n```\n"
    from uses import _uses_of_page, key

    found = list(_uses_of_page(page))
    assert (key(InformerRegressor.fit), "#the-fit") in found
    assert (key(InformerRegressor.update), "#later") in found
    names = {name for name, _ in found}
    assert not names & {key(InformerRegressor.forecast), key(InformerRegressor.save)}


def test_most_methods_of_the_estimators_have_an_example(modules):
    """What no guide shows is not found."""
    reference = modules[2]
    bare = [
        name
        for name in reference.own_members(InformerRegressor)
        if not reference.uses().get(reference.key(getattr(InformerRegressor, name)))
    ]
    assert set(bare) <= {"get_params", "score", "series_blend_"}


def test_an_adapter_is_read_without_its_library(modules):
    """And a later import of its module finds the library, or says that it is missing."""
    name, module = "beside.chronos.ChronosForecaster", "skinformer.beside.chronos"
    was_imported = module in sys.modules
    adapter = modules[2].public(name)
    assert modules[2].own_members(adapter)[-2:] == ["predict", "to_config"]
    assert (module in sys.modules) == was_imported
    signature, _ = modules[2].full_signature(None, "class", "", adapter, None, "", "")
    assert signature.startswith("(pipeline, *, context_length=None, ")


@pytest.mark.parametrize(
    ("name", "address"),
    [
        (
            "pandas.Series",
            "https://pandas.pydata.org/docs/reference/api/pandas.Series.html",
        ),
        (
            "numpy.random.RandomState",
            "https://numpy.org/doc/stable/reference/random/legacy.html#numpy.random.RandomState",
        ),
        ("skinformer.load", None),
        ("pandasaurus.Bone", None),
    ],
)
def test_names_elsewhere_have_addresses(modules, name, address):
    """Without a network no list of names can be asked for."""
    assert modules[3].page_elsewhere(name) == address


def test_a_group_may_begin_with_two_parameters_that_are_told_together(modules):
    """Its title would be missing on the page of the estimator."""
    lines = ["    **loss** : str", "    **time, series** : str", "    **freq** : str"]
    modules[2].split_parameters(
        None, "class", "skinformer.InformerRegressor", None, None, lines
    )
    title = "    .. rubric:: The data and the members"
    assert lines.index(title) == lines.index("    **time, series** : str") - 2
