"""Build the site: `python docs/build.py [FOLDER]`, `docs/_build/html` by default.

The pages are the Markdown files beside this script, written for GitHub; `site/` puts copies of them
together with what is made from docstrings and examples, and Sphinx makes HTML of these. Warnings
are errors. Needs `pip install '.[docs]'`; no network.
"""

import sys
import tempfile
from pathlib import Path

from sphinx.cmd.build import build_main

DOCS = Path(__file__).resolve().parent
sys.path.insert(0, str(DOCS / "site"))  # read by the configuration, too

from staging import stage  # noqa: E402


def build(output: Path) -> int:
    """Build the site into `output` and give Sphinx's exit status."""
    with tempfile.TemporaryDirectory() as folder:
        source = Path(folder) / "docs"
        stage(DOCS, source)
        doctrees = ["-d", f"{folder}/doctrees"]
        strict = ["-W", "--keep-going", "-n", "-q"]
        return build_main(
            [*strict, *doctrees, "-c", str(DOCS / "site"), str(source), str(output)]
        )


if __name__ == "__main__":
    sys.exit(
        build(Path(sys.argv[1] if sys.argv[1:] else DOCS / "_build" / "html").resolve())
    )
