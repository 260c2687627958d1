"""The site: built without a warning, without a dead link, and looked at in a browser."""

import fcntl
import importlib.util
import inspect
import json
import os
import re
import subprocess
import sys
from collections import defaultdict
from html import unescape
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit

import pytest

import skinformer
from skinformer import InformerRegressor, datasets, display, evaluation

ROOT = Path(__file__).resolve().parents[2]
BUILT_BY = (
    "sphinx",
    "myst_parser",
    "furo",
    "numpydoc",
    "sphinx_copybutton",
    "sphinx_gallery",
)
#: Reached by the box in the menu; and what lists the source of each module.
OF_THE_THEME = {"search.html", "_modules/index.html"}

pytestmark = pytest.mark.slow


class Page(HTMLParser):
    """The links and anchors of a page, and what it loads."""

    def __init__(self, path):
        super().__init__()
        self.links, self.anchors, self.loaded = [], set(), []
        self.feed(path.read_text(encoding="utf-8"))

    def handle_starttag(self, tag, attrs):
        attributes = dict(attrs)
        self.anchors |= {attributes["id"]} if attributes.get("id") else set()
        if tag == "a" and attributes.get("href"):
            self.links.append(attributes["href"])
        elif attributes.get("src") or attributes.get("href"):
            self.loaded.append(attributes.get("src") or attributes["href"])


@pytest.fixture(scope="session")
def built(tmp_path_factory):
    for name in BUILT_BY:
        pytest.importorskip(name)
    # Workers of pytest-xdist share what one of them builds: examples take more than a minute.
    folder = tmp_path_factory.getbasetemp()
    folder = folder.parent if "PYTEST_XDIST_WORKER" in os.environ else folder
    site, told = folder / "site" / "html", folder / "site" / "told.json"
    with (folder / "site.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not told.exists():
            command = [sys.executable, str(ROOT / "docs/build.py"), str(site)]
            done = subprocess.run(command, capture_output=True, text=True, check=False)
            told.parent.mkdir(exist_ok=True)
            told.write_text(json.dumps([done.returncode, done.stdout, done.stderr]))
    return site, subprocess.CompletedProcess([], *json.loads(told.read_text()))


@pytest.fixture(scope="session")
def site(built):
    site, done = built
    assert done.returncode == 0, done.stderr
    return site


@pytest.fixture(scope="session")
def pages(site):
    return {
        path.relative_to(site).as_posix(): Page(path)
        for path in site.rglob("*.html")
        if "_static" not in path.parts
    }


def leads_to(page, link):
    """Give the page and the anchor that a link of a page leads to; None if it leaves the site."""
    parts = urlsplit(link)
    if parts.scheme:
        return None
    base = Path(page).parent
    path = (base / unquote(parts.path)) if parts.path else Path(page)
    steps = []
    for step in path.parts:
        steps = steps[:-1] if step == ".." else [*steps, step]
    return "/".join(steps), unquote(parts.fragment)


def test_it_is_built_without_a_word(built):
    """A warning is a link, a title or a docstring that a reader would stumble over."""
    _, done = built
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")


def test_code_has_a_button_that_copies_it_and_tabs_have_an_icon(site, pages):
    for name in ("index.html", "start.html", "basics.html"):
        assert any("copybutton.js" in file for file in pages[name].loaded)
        icon = next(file for file in pages[name].loaded if "favicon" in file)
        assert (site / icon.partition("?")[0]).is_file()


def test_no_link_is_dead(site, pages):
    """Neither a page, nor a place in it, nor a file to download."""
    dead = defaultdict(list)
    for name, page in pages.items():
        for link in page.links:
            target = leads_to(name, link)
            if target is None:
                continue
            path, anchor = target
            there = (site / path).is_file()
            known = not anchor or (path in pages and anchor in pages[path].anchors)
            if not there or not known:
                dead[name].append(link)
    assert dict(dead) == {}
    assert sum(len(page.links) for page in pages.values()) > 2000


def test_every_page_is_reached_from_the_index(pages):
    """By clicking, without the search."""
    reached, ahead = set(), {"index.html"}
    while ahead:
        name = ahead.pop()
        reached.add(name)
        targets = {
            target[0] for link in pages[name].links if (target := leads_to(name, link))
        }
        ahead |= {target for target in targets if target in pages} - reached
    assert set(pages) - reached - OF_THE_THEME == set()


def test_every_markdown_page_and_example_is_there(site, pages):
    """New ones are found by themselves: pages by the index, scripts where they lie."""
    docs = ROOT / "docs"
    for path in docs.glob("*.md"):
        assert path.relative_to(docs).with_suffix(".html").as_posix() in pages
    sources = (ROOT / "examples").rglob("*.py")
    titled = [
        path for path in sources if path.read_text(encoding="utf-8").startswith('"""\n')
    ]
    assert len(titled) >= 4
    for path in titled:
        assert f"{path.relative_to(ROOT).with_suffix('').as_posix()}.html" in pages


def test_every_public_name_has_a_page(pages):
    """With an anchor that is its import, and a link from the list of names."""
    names = [
        f"skinformer.{name}"
        for name in skinformer.__all__
        if inspect.isclass(getattr(skinformer, name))
        or inspect.isroutine(getattr(skinformer, name))
    ]
    names += [
        f"{m.__name__}.{name}"
        for m in (datasets, display, evaluation)
        for name in m.__all__
    ]
    linked = {
        target
        for link in pages["api.html"].links
        if (target := leads_to("api.html", link))
    }
    for name in names:
        page = f"reference/{name.removeprefix('skinformer.')}.html"
        assert name in pages[page].anchors, name
        assert page in {path for path, _ in linked}, name


def test_methods_are_told(pages):
    """Those that a user calls, inherited ones as well; not those that scikit-learn explains."""
    anchors = pages["reference/InformerRegressor.html"].anchors
    for method in (
        "fit",
        "predict",
        "forecast",
        "update",
        "predict_interval",
        "save",
        "score",
    ):
        assert f"skinformer.InformerRegressor.{method}" in anchors
    assert "skinformer.InformerRegressor.get_metadata_routing" not in anchors


def test_the_page_of_a_class_leads_on(site, pages):
    """To each method, to its source, to guides that use it, and to the types of other libraries."""
    name = "reference/InformerRegressor.html"
    text = (site / name).read_text(encoding="utf-8")
    table = text[text.index('<table class="autosummary') :]
    table = table[: table.index("</table>")]
    methods = ("fit", "forecast", "predict", "update", "sample", "save")
    for method in methods:
        anchor = f"skinformer.InformerRegressor.{method}"
        assert f'href="#{anchor}"' in table
        told = text[text.index(f'id="{anchor}"') :].partition("</dd></dl>")[0]
        assert "[source]</span></span></a>" in told
        assert "<p>Used in <a" in told, method
    assert "(*_" not in text
    links = pages[name].links
    assert "https://pandas.pydata.org/docs/reference/api/pandas.DataFrame.html" in links
    assert "../intervals.html" in {link.partition("#")[0] for link in links}
    assert "Network.html#skinformer.Network" in links


@pytest.mark.parametrize(
    ("adapter", "methods"),
    [
        ("beside.chronos.ChronosForecaster", ("predict", "from_config", "to_config")),
        ("beside.flair.FlairForecaster", ("predict", "from_config", "to_config")),
        ("beside.sktime_member.SktimeForecaster", ("predict", "from_config")),
        ("beside.statsforecast.StatsForecaster", ("predict", "from_config")),
        ("beside.sktime.InformerForecaster", ()),
    ],
)
def test_an_adapter_has_a_page_without_its_library(site, pages, adapter, methods):
    """Its methods, source and parameters, and what is raised where the library is missing."""
    page = pages[f"reference/{adapter}.html"]
    text = (site / f"reference/{adapter}.html").read_text(encoding="utf-8")
    assert f"skinformer.{adapter}" in page.anchors
    for method in methods:
        assert f"skinformer.{adapter}.{method}" in page.anchors
        assert f'href="#skinformer.{adapter}.{method}"' in text
    assert "[source]</span></span></a>" in text
    assert "ImportError" in text
    assert "../adapters.html" in {link.partition("#")[0] for link in page.links}


def test_parameters_stand_in_groups_the_five_to_set_first_on_top(site):
    """Twenty in a row are read by nobody."""
    text = (site / "reference/InformerRegressor.html").read_text(encoding="utf-8")
    titles = [
        "The five to set first",
        "The data and the members",
        "The network and its training",
        "When a fit ends",
        "The run",
    ]
    places = [text.index(f'<p class="rubric">{title}</p>') for title in titles]
    assert places == sorted(places)
    parameters = list(inspect.signature(InformerRegressor).parameters)
    of = [
        re.search(rf"<strong>(\w+, )*{name}(, \w+)*</strong>", text).start()
        for name in parameters
    ]
    assert of == sorted(of)
    assert places[0] < of[0]
    assert of[4] < places[1] < of[5]
    assert of[-1] > places[-1]


def test_nothing_comes_from_elsewhere(pages):
    """It opens on a train, and tells nobody who reads it."""
    for name, page in pages.items():
        assert [
            link for link in page.loaded if urlsplit(link).scheme or link[:2] == "//"
        ] == [], name


# What examples print


def printed_by(site, name):
    """Read the outputs off an example's page."""
    text = (site / f"examples/{name}.html").read_text(encoding="utf-8")
    outputs = re.findall(r"sphx-glr-script-out.*?<pre>(.*?)</pre>", text, re.S)
    assert len(outputs) >= 3
    return unescape(re.sub(r"<[^>]+>", "", "".join(outputs)))


@pytest.fixture(scope="session")
def outputs():
    spec = importlib.util.spec_from_file_location("outputs", ROOT / "docs/outputs.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.mark.parametrize("page", ["quickstart.md", "classes.md"])
def test_a_page_shows_what_its_example_prints(site, outputs, page):
    """The whole run, as a user types it."""
    text = (ROOT / "docs" / page).read_text(encoding="utf-8")
    block, printed = outputs.table(text, printed_by(site, outputs.TABLES[page]))
    assert "boosting" in printed
    assert outputs.alike(block["shown"], printed), printed


def test_every_example_that_is_run_has_a_thumbnail(pages):
    """The quickstart comes first."""
    links = [link for link in pages["gallery.html"].links if "examples/plot_" in link]
    thumbs = [file for file in pages["gallery.html"].loaded if "_thumb" in file]
    scripts = list((ROOT / "examples").glob("plot_*.py"))
    assert len(thumbs) == len(scripts)
    assert links[-2 * len(scripts)].startswith("examples/plot_quickstart")


# In a browser


@pytest.fixture(scope="session")
def browser(tmp_path_factory):
    sys.path.insert(0, str(Path(__file__).parent))
    try:
        from browser import CHROMIUM, Browser
    finally:
        sys.path.pop(0)
    if CHROMIUM is None:
        pytest.skip("needs Chromium: apt-get install -y chromium")
    with Browser(tmp_path_factory.mktemp("profile")) as opened:
        yield opened


def looks_wrong(browser, path, width, dark):
    """Open a file and list what is wrong with it."""
    browser.open(path.as_uri(), width=width, dark=dark)
    # The theme lets the part that holds the page scroll, not the document.
    holders = "[document.scrollingElement, ...document.querySelectorAll('.content')]"
    wide = browser.ask(
        f"Math.max(...{holders}.map(e => innerWidth - e.clientWidth + e.scrollWidth))"
    )
    wrong = [f"scrolls sideways, {wide} px"] if wide > browser.ask("innerWidth") else []
    wrong += browser.complaints()
    return wrong + [
        url for url in browser.requests() if not url.startswith(("file:", "data:"))
    ]


@pytest.mark.parametrize(
    ("width", "dark"), [(1280, False), (360, True)], ids=["screen", "telephone"]
)
def test_pages_fit_any_window(site, pages, browser, width, dark):
    """By day on a screen, by night on a telephone; no script fails, nothing is asked for."""
    wrong = {name: looks_wrong(browser, site / name, width, dark) for name in pages}
    assert {name: found for name, found in wrong.items() if found} == {}
    ground = browser.ask("getComputedStyle(document.body).backgroundColor")
    brightness = (
        sum(int(part) for part in ground.removeprefix("rgb(").rstrip(")").split(","))
        / 3
    )
    assert (brightness < 60) == dark


def test_pictures_are_loaded(site, browser):
    """A missing picture has no width; the gallery shows all of them."""
    browser.open((site / "gallery.html").as_uri(), width=1280, dark=False)
    sizes = browser.ask(
        "[...document.querySelectorAll('.pictures img')].map(i => i.naturalWidth)"
    )
    assert len(sizes) >= 20
    assert min(sizes) > 100


@pytest.mark.parametrize(
    ("word", "leads"),
    [
        ("known_future", {"InformerRegressor", "covariates"}),
        ("probabilistic", {"intervals", "glossary"}),
        ("uncertainty", {"intervals", "glossary"}),
        ("hyperparameter", {"tuning", "glossary"}),
        ("multivariate", {"glossary"}),
        ("exogenous", {"covariates", "cookbook_drivers"}),
        ("incremental", {"production", "glossary"}),
        ("conformal", {"other_intervals", "intervals"}),
        ("holiday", {"cookbook_drivers", "covariates"}),
    ],
)
def test_the_search_finds(site, browser, word, leads):
    """Names, and the words of the field, without a server."""
    assert leads <= {Path(link).stem for link, _ in found_by(site, browser, word)}
    assert browser.complaints() == []


def found_by(site, browser, words):
    """Search as a reader does: the links in their order, each with its excerpt."""
    query = f"?q={words.replace(' ', '+')}"
    browser.open((site / "search.html").as_uri() + query, width=1280, dark=False)
    found = """new Promise(done => { const look = () => {
        const all = document.querySelector('#search-results');
        const told = [...all.querySelectorAll('li')].map(item =>
            [item.querySelector('a').href, item.querySelector('.excerpt')?.innerText]);
        /Search finished|did not match/.test(all.innerText) ? done(told) : setTimeout(look, 100);
    }; look(); })"""
    return browser.ask(found)


@pytest.mark.parametrize(
    ("words", "first"),
    [
        ("holidays", {"covariates"}),
        ("prediction interval", {"intervals"}),
        ("GPU", {"faq", "performance"}),
        ("panel", {"panels", "cookbook_sales"}),
        ("backtest", {"validation"}),
        ("AutoGluon", {"compare_libraries"}),
    ],
)
def test_the_search_puts_guides_first(site, browser, words, first):
    """A page of this, with the place that says it; names and notes come after."""
    (link, _), *_ = found = found_by(site, browser, words)
    assert Path(link.partition("#")[0]).stem in first
    for _, excerpt in found[:3]:
        assert 60 < len(excerpt) < 400
    assert words.lower().rstrip("s") in found[0][1].lower()
    marked = browser.ask("document.querySelector('#search-results mark').innerText")
    assert marked.lower() in words.lower()


@pytest.mark.parametrize("words", ["c++", "fit(", "[0.1, 0.9]", "xyzzy"])
def test_the_search_takes_any_text(site, browser, words):
    """Letters that mean something to a regular expression, or to an address."""
    found_by(site, browser, words)
    assert browser.complaints() == []


@pytest.mark.parametrize("width", [360, 390])
def test_a_table_of_numbers_fits_a_telephone(site, browser, width):
    """The first page's is read without scrolling sideways, in letters that can be read."""
    browser.open((site / "index.html").as_uri(), width=width, dark=False)
    sizes = browser.ask("""[...document.querySelectorAll('table.numbers')].map(table => [
        table.parentElement.scrollWidth - table.parentElement.clientWidth,
        parseFloat(getComputedStyle(table).fontSize)])""")
    assert sizes
    for hidden, letters in sizes:
        assert hidden <= 0
        assert letters >= 12


def test_the_representation_in_a_notebook_has_no_dead_link(browser, tmp_path):
    """It has no links while the site has no address, and needs nothing from elsewhere."""
    path = tmp_path / "cell.html"
    head = (
        '<!doctype html><meta name="viewport" content="width=device-width">'
        '<meta charset="utf-8">'
    )
    path.write_text(f"{head}{InformerRegressor()._repr_html_()}", encoding="utf-8")
    for width in (1280, 360):
        assert looks_wrong(browser, path, width, dark=True) == []
    assert [link for link in Page(path).links if not link.startswith("#")] == []
