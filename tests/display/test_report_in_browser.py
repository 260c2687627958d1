"""The report in a browser: wide, narrow and printed, without errors, and without the network."""

import importlib.util
import re
import threading
from functools import partial
from html import escape
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import numpy as np
import pytest

ROOT = Path(__file__).resolve().parents[2]
WIDTHS = {"phone": 360, "tablet": 768, "screen": 1280, "paper": 690}

spec = importlib.util.spec_from_file_location("report", ROOT / "docs/report.py")
docs = importlib.util.module_from_spec(spec)
spec.loader.exec_module(docs)

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(docs.browser() is None, reason="Chromium is not installed"),
]


@pytest.fixture(scope="module")
def report(tmp_path_factory):
    return docs.write_example(tmp_path_factory.mktemp("report") / "report.html")


@pytest.fixture
def served(report):
    """Serve the report's folder, and tell what is asked for."""
    requested = []

    class Handler(SimpleHTTPRequestHandler):
        def log_message(self, *_):
            requested.append(self.path)

    folder = str(report.parent)
    server = ThreadingHTTPServer(("127.0.0.1", 0), partial(Handler, directory=folder))
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield f"http://127.0.0.1:{server.server_port}/report.html", requested
    server.shutdown()
    server.server_close()


def test_it_asks_for_nothing_and_complains_of_nothing(served, tmp_path):
    """What is blocked or broken, the console tells."""
    address, requested = served
    said = docs.browse("--enable-logging=stderr", "--v=0", "--dump-dom", address)
    assert "CONSOLE" not in said.stderr
    assert requested == ["/report.html"]
    assert said.stdout.count("<img") == 6


def test_the_console_would_complain(served, report):
    """Otherwise the test above proves nothing."""
    broken = report.with_name("broken.html")
    text = report.read_text("utf-8")
    broken.write_text(
        text.replace("</main>", '<img src="x.png" alt=""></main>'), "utf-8"
    )
    address = served[0].replace("report.html", "broken.html")
    said = docs.browse("--enable-logging=stderr", "--v=0", "--dump-dom", address)
    assert "CONSOLE" in said.stderr


@pytest.fixture(scope="module")
def measured(report, tmp_path_factory):
    """Measure how much wider than its window the page is, and what sticks out of its box."""
    text = report.read_text("utf-8")
    on_paper = text.replace("@media print", "@media all").replace(
        "@media screen", "@media print"
    )
    frames = "".join(
        f'<iframe id="{name}" style="width:{width}px;height:900px;border:0" '
        f'srcdoc="{escape(on_paper if name == "paper" else text)}"></iframe>'
        for name, width in WIDTHS.items()
    )
    script = """
    addEventListener("load", () => {
      for (const frame of document.querySelectorAll("iframe")) {
        const page = frame.contentDocument, root = page.documentElement
        const out = [...page.querySelectorAll("main *")].filter(e =>
          !e.parentElement.closest(".table")
          && e.getBoundingClientRect().right > root.clientWidth + 1)
        const cut = [...page.querySelectorAll(".table")].filter(e =>
          getComputedStyle(e).overflowX == "visible" && e.scrollWidth > e.clientWidth + 1)
        const blank = [...page.querySelectorAll("img")].filter(e => !e.naturalWidth)
        frame.dataset.found = [root.scrollWidth - root.clientWidth, out.length, cut.length,
          blank.length].join(" ")
        frame.removeAttribute("srcdoc")
      }})"""
    host = tmp_path_factory.mktemp("host") / "host.html"
    host.write_text(f"<!DOCTYPE html><body>{frames}<script>{script}</script>", "utf-8")
    dom = docs.browse("--window-size=1400,1000", "--dump-dom", host.as_uri()).stdout
    found = dict(re.findall(r'<iframe id="(\w+)"[^>]*data-found="([^"]+)"', dom))
    return {
        name: [float(value) for value in each.split()] for name, each in found.items()
    }


@pytest.mark.parametrize("name", WIDTHS)
def test_nothing_sticks_out(measured, name):
    """A phone must not scroll sideways but within tables; paper does not scroll at all."""
    too_wide, sticking_out, cut, blank = measured[name]
    assert (too_wide, sticking_out, cut, blank) == (0, 0, 0, 0)


def test_it_prints_on_a_few_pages(report, tmp_path):
    """Page breaks within pictures and empty pages would make it long."""
    paper = tmp_path / "report.pdf"
    docs.browse(f"--print-to-pdf={paper}", "--no-pdf-header-footer", report.as_uri())
    content = paper.read_bytes()
    assert content.startswith(b"%PDF")
    assert 3 <= len(re.findall(rb"/Type\s*/Page\b", content)) <= 6


def test_the_picture_of_the_docs_is_of_this_report(report, tmp_path):
    """A picture that was taken before the report changed would lie."""
    from matplotlib import image

    kept = ROOT / "docs/images/report.png"
    assert kept.stat().st_size < 150_000
    new = image.imread(docs.photograph(report, tmp_path / "report.png"))[:, :, :3]
    old = image.imread(kept)[:, :, :3]
    assert old.shape == new.shape
    # Other fonts smooth and break letters in another way; other pictures differ in larger patches.
    difference = np.abs(old - new).mean(axis=2)
    height, width = (size // 50 * 50 for size in difference.shape)
    patches = difference[:height, :width].reshape(height // 50, 50, width // 50, 50)
    assert patches.mean(axis=(1, 3)).max() < 0.2
