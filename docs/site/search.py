"""What the search knows of each page beside Sphinx's index: its text, and its place in the menu.

`static/search.js` ranks the pages by it and shows excerpts. Sphinx asks the server for each page
that it shows an excerpt of, which files opened from a disk refuse.
"""

import json
import re
from pathlib import Path
from typing import Any

from docutils import nodes
from sphinx import addnodes
from sphinx.application import Sphinx
from staging import groups_of

SAID = (nodes.paragraph, nodes.title, nodes.term, nodes.rubric, addnodes.desc_signature)

#: What readers of a search want first; the other groups follow in the order of the menu.
FIRST = "User guide"


def ranks(index: str) -> dict[str, int]:
    r"""Give the rank of each page by its group in the menu, 0 for what comes first.

    >>> ranks("# All\n\n## Start\n\n- [A](a.md): x\n\n## User guide\n\n- [B](b.md): x\n")
    {'b': 0, 'a': 1}
    """
    groups = sorted(groups_of(index).items(), key=lambda group: group[0] != FIRST)
    return {page: rank for rank, (_, pages) in enumerate(groups) for page in pages}


def rank_of(page: str, known: dict[str, int]) -> int:
    """Give the rank of a page; public names and examples have that of the page that lists them."""
    folder, _, _ = page.partition("/")
    listed = {"reference": "api", "examples": "gallery"}.get(folder, page)
    return known.get(listed, max(known.values()) + 1)


def text_of(doctree: nodes.document) -> str:
    """Give what a page says beside its code, without line breaks."""
    blocks = doctree.findall(lambda node: isinstance(node, SAID))
    return re.sub(r"\s+", " ", " ".join(block.astext() for block in blocks)).strip()


def write_texts(app: Sphinx, error: Exception | None) -> None:
    """Write the texts of all pages as a script beside `search.js`."""
    if error is not None:
        return
    index = (Path(app.srcdir) / "index.md").read_text(encoding="utf-8")
    known = ranks(index)
    pages = {
        page: {"rank": rank_of(page, known), "text": text_of(app.env.get_doctree(page))}
        for page in sorted(app.env.found_docs)
    }
    script = f"const PAGES = {json.dumps(pages, ensure_ascii=False)};\n"
    Path(app.outdir, "_static", "pages.js").write_text(script, encoding="utf-8")


def load_texts(app: Sphinx, page: str, *_context: Any) -> None:
    """Load both scripts on the page of the search alone, after Sphinx's own."""
    if page == "search":
        for script in ("pages.js", "search.js"):
            app.add_js_file(script, loading_method="defer")
