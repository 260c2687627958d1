"""Sphinx's settings; `docs/build.py` says how the site is built."""

from docutils import nodes
from elsewhere import TYPES, link_elsewhere
from names import LIBRARIES
from numpydoc.xref import DEFAULT_LINKS
from reference import (
    full_signature,
    link_uses,
    list_methods,
    name_definition,
    split_parameters,
)
from search import load_texts, write_texts
from sphinx.application import Sphinx
from sphinx.util.docutils import SphinxRole
from tables import mark_numbers

import skinformer

project = "skinformer"
author = "the skinformer developers"
release = version = skinformer.__version__
html_title = f"skinformer {release}"

extensions = [
    "myst_parser",
    "numpydoc",
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "sphinx.ext.viewcode",
    "sphinx_copybutton",
    "sphinx_gallery.gen_gallery",
]
exclude_patterns = ["files/**", "examples/index.rst"]  # gallery.md lists the examples
myst_heading_anchors = 4  # as GitHub makes them
myst_enable_extensions = ["attrs_inline", "colon_fence"]
smartquotes = False  # docstrings write code

default_role = "literal_text"  # docstrings write `name`, and mean code
autodoc_mock_imports = LIBRARIES
autodoc_typehints = "none"  # numpydoc's sections tell types
numpydoc_show_class_members = False  # the page of a class lists them
numpydoc_xref_param_type = True
numpydoc_xref_ignore = "all"  # of the words of a type, those below are links
numpydoc_xref_aliases = {
    **{name: name for name in DEFAULT_LINKS},  # nobody looks up int and str
    **{name: f"skinformer.{name}" for name in skinformer.__all__},
    **TYPES,
}
autosummary_generate = False  # reference.py writes the pages
python_use_unqualified_type_names = True
python_maximum_signature_line_length = 80

sphinx_gallery_conf = {
    "examples_dirs": "../examples",  # where staging.py copies them
    "gallery_dirs": "examples",
    "ignore_pattern": r"(^|/)(?!plot_)[^/]*\.py$",
    "abort_on_example_error": True,
    "download_all_examples": False,
    "notebook_extensions": {},  # a notebook alone has not what the examples import
    "remove_config_comments": True,
    "show_signature": False,
    "write_computation_times": False,
}

html_theme = "furo"
html_static_path = ["static"]
html_favicon = "static/favicon.svg"
copybutton_prompt_text = r">>> |\.\.\. |\$ "
copybutton_prompt_is_regexp = True
copybutton_selector = (
    "div:not(.sphx-glr-script-out) > div.highlight > pre"  # code, not output
)
html_css_files = ["site.css"]
html_copy_source = False
html_theme_options = {"top_of_page_buttons": []}
html_use_index = False  # api.md lists the names, with a line each
html_show_search_summary = False  # search.js shows excerpts
html_show_sphinx = False
html_show_copyright = False
pygments_style = "a11y-high-contrast-light"
pygments_dark_style = "a11y-high-contrast-dark"


class LiteralText(SphinxRole):
    """Text in the style of code."""

    def run(self):
        return [nodes.literal(self.rawtext, self.text)], []


def setup(app: Sphinx) -> None:
    app.add_role("literal_text", LiteralText())
    # After numpydoc.
    for change in (split_parameters, list_methods, link_uses):
        app.connect("autodoc-process-docstring", change, priority=900)
    app.connect("autodoc-process-signature", full_signature, priority=900)
    app.connect("doctree-read", name_definition, priority=400)  # before viewcode
    app.connect("doctree-read", mark_numbers)
    app.connect("missing-reference", link_elsewhere)
    app.connect("html-page-context", load_texts)
    app.connect("build-finished", write_texts)
