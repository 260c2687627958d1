"""The pages under docs/: their code runs, their links lead somewhere, their lists are whole."""

import ast
import importlib.util
import inspect
import json
import math
import re
from collections import Counter
from pathlib import Path
from xml.etree import ElementTree

import numpy as np
import pandas as pd
import pytest
from flat_parameters import with_parts
from sklearn.ensemble import HistGradientBoostingRegressor

import skinformer
from skinformer import (
    InformerRegressor,
    datasets,
    display,
    evaluation,
    recipes,
    serving,
)
from skinformer.ensemble.head import PointHead
from skinformer.estimators.settings import read_settings
from skinformer.judging.plan import plan_members
from skinformer.timeline.clock import RowClock, clock_for
from skinformer.timeline.timeline import Table

ROOT = Path(__file__).resolve().parent.parent
DOCS = ROOT / "docs"
NOTES = ROOT / "notes"
PAGES = [*sorted(DOCS.glob("*.md")), *sorted(NOTES.glob("*.md"))]
TEXTS = {
    path.relative_to(DOCS if path.parent == DOCS else ROOT).as_posix(): path.read_text(
        encoding="utf-8"
    )
    for path in PAGES
}
CODE = {
    name: re.findall(r"^```python\n(.*?)^```$", text, re.M | re.S)
    for name, text in TEXTS.items()
}


@pytest.fixture(autouse=True)
def draw_without_a_screen():
    matplotlib = pytest.importorskip("matplotlib")
    matplotlib.use("agg")
    yield
    from matplotlib import pyplot

    pyplot.close("all")


@pytest.mark.slow
@pytest.mark.no_cover
@pytest.mark.parametrize("name", [name for name, blocks in CODE.items() if blocks])
def test_code_runs_as_printed(name, tmp_path, monkeypatch):
    """The blocks of a page share one namespace, top to bottom, and print what the page shows."""
    monkeypatch.chdir(tmp_path)
    outputs = script_of("outputs")
    for block, printed in outputs.run(TEXTS[name], name):
        shown = block["shown"]
        assert shown is None or outputs.alike(shown, printed), f"{shown}\n{printed}"


@pytest.mark.parametrize(
    ("shown", "same"),
    [
        ("error   10.3  hours 24;\n", True),
        ("error 10.9 hours 24;", False),
        ("error 10.2 days 24;", False),
        ("error 10.2 hours 24; 5", False),
        ("error 10,2 hours 23;", True),
    ],
)
def test_outputs_are_compared_within_a_tolerance(shown, same):
    """Words are equal, numbers nearly; how wide a column is does not count."""
    assert script_of("outputs").alike(shown, "error 10.2 hours 24;") == same


def test_outputs_are_written_anew(tmp_path, monkeypatch):
    """One command, after a change that moves numbers."""
    outputs = script_of("outputs")
    page = (
        "# A\n\n```python\nx = 3\n```\n\n```python\nprint(x)\n```\n\n```text\n{}```\n"
    )
    (tmp_path / "a.md").write_text(page.format("1\n2\n"), encoding="utf-8")
    (tmp_path / "b.md").write_text("```python\nraise\n```\n", encoding="utf-8")
    monkeypatch.setattr(outputs, "DOCS", tmp_path)
    monkeypatch.setattr("sys.argv", ["outputs", "a.md", "b.md"])
    outputs.main()
    assert (tmp_path / "a.md").read_text(encoding="utf-8") == page.format("3\n")


def test_a_table_of_an_example_is_written_anew(tmp_path, monkeypatch):
    """The block that begins with a line that the example prints, as many lines of that."""
    outputs = script_of("outputs")
    page = "```text\nother\n```\n\n```text\nErrors:\n\n{}\n```\n"
    (tmp_path / "a.md").write_text(page.format("ours   1"), encoding="utf-8")
    monkeypatch.setattr(outputs, "DOCS", tmp_path)
    monkeypatch.setattr(outputs, "TABLES", {"a.md": "example"})
    monkeypatch.setattr(
        outputs, "printed_by", "1 epoch\nErrors:\n\n{}  2\nsaved\n".format
    )
    assert outputs.anew("a.md") == page.format("example  2")


def test_pages_that_fit_for_long_show_how_far_the_fit_is():
    """A reader who waits without a word thinks that it hangs; the guide says so first."""
    for name in ("cookbook_drivers.md", "cookbook_sales.md"):
        assert all(
            "verbose=1" in code for code in CODE[name] if "InformerRegressor(" in code
        ), name
    assert "verbose=1" in TEXTS["basics.md"].partition("\n## ")[0]


def members_of(n_rows, n_series=1, *, seq_len=20, pred_len=5, clock=None):
    """Return which members take part in a fit of series of so many rows."""
    model = InformerRegressor(seq_len=seq_len, pred_len=pred_len)
    settings = read_settings(model, PointHead("mse"), requested="cpu")
    series, steps = np.divmod(np.arange(n_rows * n_series), n_rows)
    clock = RowClock() if clock is None else clock
    found = plan_members(
        settings, Table([1.0 * steps], 1, series, steps, clock)
    ).settings
    return set(found.members)


@pytest.mark.parametrize(
    ("row", "n_rows", "n_series", "grows"),
    [
        ("| classical forecasters | fewer than {} windows | fewer than", 25, 1, False),
        (
            "| classical forecasters | fewer than 20 windows | fewer than {} windows",
            25,
            9,
            False,
        ),
        ("| ridges | {} window |", 25, 1, True),
        ("| ridges | 1 window | {} windows |", 25, 9, True),
        ("| own ridges of each series | – | {} windows |", 25, 9, True),
        ("| network | `seq_len + {} pred_len` rows |", 5, 1, True),
        ("| network | `seq_len + 4 pred_len` rows | {} windows |", 25, 9, True),
        ("| trees | {} rows |", 1, 1, True),
    ],
)
def test_the_rows_that_members_need_are_those_of_the_guide(
    row, n_rows, n_series, grows
):
    """A user who counts rows by the guide must get the members that it promises."""
    pattern = re.escape(row).replace(r"\{\}", r"([\d,.]+)")
    [number] = re.findall(pattern, TEXTS["members.md"])
    name = re.match(r"\| (classical|own ridges|\w+)", row)[1].replace(" ", "_")
    needed = math.ceil(
        n_rows * float(number.replace(",", "")) + 20 * ("seq_len + {}" in row)
    )
    takes_part = [name in members_of(n, n_series) for n in (needed - 1, needed)]
    assert takes_part == [not grows, grows]


def test_trees_count_the_rows_of_all_series_of_a_panel():
    """As the guide says of its second column."""
    pattern = (
        r"\| trees \| .* \| ([\d,]+) rows in all series together, and 2\.5 windows \|"
    )
    [number] = re.findall(pattern, TEXTS["members.md"])
    n_rows = int(number.replace(",", "")) // 10
    assert "trees" not in members_of(n_rows - 1, 10)
    assert "trees" in members_of(n_rows, 10)


def test_members_with_a_weight_take_part_by_the_rows_of_the_guide():
    """Weights were measured; which members are fitted follows from rows, series and sizes."""
    pattern = (
        r"^\| (?:([\d,]+) series × )?([\d,]+) (month|day|hour)s.* \| (\d+), (\d+) "
        r"\| ([a-z, ]+) \| [\d.]+ \| \d+ \|$"
    )
    found = re.findall(pattern, TEXTS["members.md"], re.M)
    assert len(found) == 11
    for n_series, n_rows, unit, seq_len, pred_len, weighted in found:
        labels = pd.date_range(
            "2024-01-01", periods=2, freq={"month": "MS", "day": "D", "hour": "h"}[unit]
        )
        fitted = members_of(
            int(n_rows.replace(",", "")),
            int(n_series.replace(",", "") or 1),
            seq_len=int(seq_len),
            pred_len=int(pred_len),
            clock=clock_for(labels, labels.freq),
        )
        assert (
            set(weighted.replace("own ridges", "own_ridges").split(", ")) <= fitted
        ), (n_series, n_rows, unit)
        if weighted == "classical":
            assert "network" not in fitted


def test_there_is_code():
    """A changed fence would leave nothing to run."""
    assert len(CODE["basics.md"]) >= 6
    assert CODE["quickstart.md"]
    assert CODE["displays.md"]


def dead_links(path):
    links = re.findall(r"\]\(([^)#]+)[^)]*\)", path.read_text(encoding="utf-8"))
    local = [link for link in links if "://" not in link]
    return [link for link in local if not (path.parent / link).exists()]


def test_links_lead_to_files():
    """A page that moves must not leave its readers behind."""
    dead = {str(path): dead_links(path) for path in [ROOT / "README.md", *PAGES]}
    assert {name: links for name, links in dead.items() if links} == {}


def test_pictures_are_small():
    """A page that takes seconds to load is closed."""
    sizes = {path.name: path.stat().st_size for path in ROOT.glob("docs/images/*")}
    assert {name for name, size in sizes.items() if size > 150_000} == set()


def test_pictures_have_a_dark_one_and_a_reader():
    """Each is shown on a page; the site takes the dark one on dark pages."""
    names = {path.name for path in ROOT.glob("docs/images/*.svg")}
    light = {name for name in names if not name.endswith("_dark.svg")}
    assert names - light == {name.replace(".svg", "_dark.svg") for name in light}
    text = "\n".join(TEXTS.values())
    assert {name for name in light if f"images/{name})" not in text} == set()


def script_of(name):
    """Load a script of the pages."""
    spec = importlib.util.spec_from_file_location(name, ROOT / f"docs/{name}.py")
    script = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(script)
    return script


@pytest.mark.slow
def test_the_diagnosis_can_be_measured_and_drawn_again(tmp_path, monkeypatch):
    """Its script looks into the trainer, which may change under it."""
    diagnosis = script_of("diagnosis")
    table = pd.DataFrame({"load": np.sin(np.arange(1200.0) / 4) ** 3}).astype("float32")
    monkeypatch.setattr(
        diagnosis, "read_table", lambda name, folder: (table, 900, 1100)
    )
    monkeypatch.setattr(diagnosis, "N_EPOCHS", 2)
    file = tmp_path / "bundled_6_0.npz"
    run = ["diagnosis", "measure", "bundled", "6", "0", str(file)]
    monkeypatch.setattr("sys.argv", run)
    diagnosis.main()
    measured = np.load(file)
    assert measured["later_correction"].shape[:2] == (
        2,
        2,
    )  # epochs; last weights and their mean
    last, mean = measured["later_correction"][1].astype(float)
    assert np.abs(last - mean).max() > 0
    monkeypatch.setattr(
        "sys.argv", ["diagnosis", "draw", str(file), "--into", str(tmp_path)]
    )
    diagnosis.main()
    drawn = {path.name for path in tmp_path.glob("*.png")}
    assert drawn == {"diagnosis_epochs.png"}


NUMBER = re.compile(r"-?\d+(?:\.\d+)?(?:e-?\d+)?")


def elements_of(path):
    """Read an SVG: what its elements are and how they look, and the bounds of each."""
    looks, bounds = [], []
    for element in ElementTree.parse(path).iter():
        given = element.attrib
        link = given.get("{http://www.w3.org/1999/xlink}href", "")
        letter = link if "DejaVu" in link else ""
        # Hatches are named after a sum of what they hold.
        style = re.sub(r"url\(#\w+\)", "url", given.get("style", ""))
        looks.append((element.tag, style, letter))
        places = " ".join(given.get(name, "") for name in ("d", "x", "y", "transform"))
        numbers = [float(number) for number in NUMBER.findall(places)] or [0.0]
        bounds.append((min(numbers), max(numbers)))
    return looks, np.array(bounds)


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:.* is (taken|replaced) :UserWarning")
@pytest.mark.parametrize("script", ["pictures", "gallery"])
def test_pictures_are_those_that_their_script_draws(script, tmp_path, monkeypatch):
    """A picture that was drawn before its display changed would lie."""
    matplotlib = pytest.importorskip("matplotlib")
    pictures = script_of(script)
    # No fit of this machine: other processors round differently.
    if hasattr(pictures, "NUMBERS"):
        monkeypatch.setattr(pictures, "InformerRegressor", None)
    for new in pictures.draw(tmp_path):
        kept = ROOT / "docs/images" / new.name
        looks, bounds = elements_of(new)
        looks_kept, bounds_kept = elements_of(kept)
        if f"Matplotlib v{matplotlib.__version__}," not in kept.read_text("utf-8"):
            continue  # other versions draw letters and ticks in another way
        assert looks == looks_kept, new.name
        np.testing.assert_allclose(bounds, bounds_kept, atol=1.0, err_msg=new.name)


@pytest.mark.slow
def test_the_gallery_can_be_measured_again(monkeypatch):
    """What its script keeps of fits has to have the columns that its pictures are drawn from."""
    gallery = script_of("gallery")

    def quick(*args, **options):
        quick = {"max_iter": 1, "max_windows": 64}
        if len(options.get("members", "auto")) > 1:
            quick["members"] = [
                "ridges",
                HistGradientBoostingRegressor(max_iter=1),
                "network",
            ]
        return InformerRegressor(*args, **with_parts(**options | quick))

    monkeypatch.setattr(gallery, "InformerRegressor", quick)
    for runs_an_example in (
        "of_quickstart",
        "of_crowd",
    ):  # which have tests of their own
        monkeypatch.setattr(gallery, runs_an_example, dict)
    measured, kept = gallery.measure(), gallery.numbers()
    # Who has a share is up to the fit.
    elsewhere = ("shares/", "week/", "crowd/")
    needed = [
        name
        for name in kept
        if not name.startswith(elsewhere) or name == "shares/ahead"
    ]
    assert set(needed) <= set(measured)
    for name in needed:
        assert measured[name].dtype.kind == kept[name].dtype.kind, name
        assert measured[name].shape[1:] == kept[name].shape[1:], name


def test_every_page_is_in_the_index():
    """A page that nothing links to is not read."""
    listed = ["index.md", "notes/index.md"]
    for folder in ("", "notes/"):
        lists = TEXTS[f"{folder}index.md"].partition("\n## ")[2]
        listed += [
            f"{folder}{page}" for page in re.findall(r"\]\(([\w/]+\.md)\)", lists)
        ]
    assert sorted(listed) == sorted(TEXTS)


def test_every_difference_is_listed():
    """One row for each NOTE[DIFF], under the name of its file."""
    package = ROOT / "skinformer"
    marked = Counter()
    for path in package.rglob("*.py"):
        count = path.read_text(encoding="utf-8").count("NOTE[DIFF]")
        marked[path.relative_to(package).as_posix()] += count
    listed = Counter(
        re.findall(r"^\| `([\w/]+\.py)` \|", TEXTS["differences.md"], re.M)
    )
    assert listed == +marked


def test_every_trap_names_its_code_and_tests_that_exist():
    """A test that was renamed protects nobody from the trap as far as a reader can tell."""
    rows = re.findall(r"^\| (?!trap |---)(.+) \|$", TEXTS["notes/traps.md"], re.M)
    assert len(rows) >= 22
    for row in rows:
        _trap, _harm, places, tests = row.split(" | ")
        paths = re.findall(r"`([\w/]+\.py)`", places)
        assert paths
        assert [
            path for path in paths if not (ROOT / "skinformer" / path).exists()
        ] == []
        named = re.findall(r"`(tests/[\w/]+\.py)::(test_\w+)`", tests)
        assert named
        assert len(named) == tests.count("::")
        for path, test in named:
            source = (ROOT / path).read_text(encoding="utf-8")
            assert f"\ndef {test}(" in source, f"{path}::{test}"


def test_the_api_page_lists_every_public_name_with_its_first_line():
    """A name that is not listed is not found; a line that has changed misleads."""
    names = {n: getattr(skinformer, n) for n in skinformer.__all__}
    names = {
        n: value
        for n, value in names.items()
        if inspect.isclass(value) or inspect.isfunction(value)
    }
    for module in (datasets, display, evaluation, serving):
        part = module.__name__.removeprefix("skinformer.")
        names |= {f"{part}.{n}": getattr(module, n) for n in module.__all__}
    listed = dict(re.findall(r"^### (\S+)\n\n(.+)$", TEXTS["api.md"], re.M))
    first_lines = {
        n: " ".join(inspect.getdoc(value).split("\n\n")[0].split())
        for n, value in names.items()
    }
    for module, adapter in adapters().items():
        text = ast.get_docstring(adapter).split("\n\n")[0]
        first_lines[f"beside.{module}.{adapter.name}"] = " ".join(text.split())
    assert listed == first_lines


def adapters():
    """Return the class of each module of adapters as a syntax tree, without its library."""
    found = {}
    for path in sorted((ROOT / "skinformer/beside").glob("*.py")):
        tree = ast.parse(path.read_text(encoding="utf-8"))
        for node in tree.body:
            if isinstance(node, ast.ClassDef) and node.name.endswith("Forecaster"):
                found[path.stem] = node
    return found


def defaults_of(adapter):
    """Return the default of each parameter as a table writes it, "" for none.

    Parameters are the fields of a dataclass, or the arguments of an `__init__`.
    """
    fields = [each for each in adapter.body if isinstance(each, ast.AnnAssign)]
    named = {each.target.id: each.value for each in fields if each.target.id != "_"}
    for method in adapter.body:
        if getattr(method, "name", "") == "__init__":
            arguments = method.args.args[1:]
            named = dict(zip(arguments, method.args.defaults, strict=True))
            named = {argument.arg: value for argument, value in named.items()}
    return {
        name: "" if value is None else code_of(ast.literal_eval(value))
        for name, value in named.items()
    }


def code_of(value):
    return f'`"{value}"`' if isinstance(value, str) else f"`{value}`"


def test_the_page_of_adapters_tells_their_parameters():
    """Each with its default, and the module that it is imported from."""
    sections = re.split(r"^## ", TEXTS["adapters.md"], flags=re.M)[1:]
    told = {}
    for section in sections:
        rows = re.findall(r"^\| `(\w+)` \| (`.+?`)? ?\|", section, re.M)
        for module in re.findall(r"^`skinformer\.beside\.(\w+)`", section, re.M):
            told[section.partition("\n")[0]] = module, dict(rows)
    assert len(told) == 8
    assert told == {
        adapter.name: (module, defaults_of(adapter))
        for module, adapter in adapters().items()
    }


COMMANDS = [
    (name, parameters)
    for name, text in TEXTS.items()
    for parameters in re.findall(r"measure\.py [^`\n]*--parameters '(\{.+?\})'", text)
]


@pytest.mark.parametrize(("name", "parameters"), COMMANDS)
def test_commands_name_parameters_that_there_are(name, parameters):
    """A reader types them as they are printed."""
    InformerRegressor().set_params(**json.loads(parameters))


def test_the_page_of_recipes_lists_each():
    """A recipe that has no row is not found."""
    first = TEXTS["recipes.md"].partition("\n## ")[0]
    listed = re.findall(r"^\| `([A-Z0-9_]+)` \|", first, re.M)
    assert sorted(listed) == sorted(recipes.__all__)


def slug(heading):
    """Return the anchor of a heading, as GitHub makes it."""
    words = re.sub(r"[^\w\- ]", "", heading.lower())
    return words.replace(" ", "-")


def anchors_of(path):
    # Code has comments, not headings.
    text = path.read_text(encoding="utf-8")
    prose = re.sub(r"^```.*?^```$", "", text, flags=re.M | re.S)
    return {slug(heading) for heading in re.findall(r"^#+ (.+)$", prose, re.M)}


def test_links_lead_to_headings():
    """A heading that was renamed must not leave its readers at the top of a page."""
    dead = []
    for path in [ROOT / "README.md", ROOT / "CHANGELOG.md", *PAGES]:
        text = path.read_text(encoding="utf-8")
        for file, anchor in re.findall(r"\]\(([^)#\s]*)#([^)]+)\)", text):
            target = path.parent / file if file else path
            if "://" not in file and anchor not in anchors_of(target):
                dead.append(f"{path.name}: {file}#{anchor}")
    assert dead == []
