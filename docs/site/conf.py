"""Sphinx's settings; `docs/build.py` says how the site is built."""

from docutils import nodes
from reference import shorten_signature, split_parameters
from sphinx.application import Sphinx
from sphinx.util.docutils import SphinxRole

import skinformer

project = "skinformer"
author = "the skinformer developers"
release = version = skinformer.__version__
html_title = f"skinformer {release}"

extensions = [
    "myst_parser",
    "numpydoc",
    "sphinx.ext.autodoc",
    "sphinx_copybutton",
    "sphinx_gallery.gen_gallery",
]
exclude_patterns = ["files/**", "examples/index.rst"]  # gallery.md lists the examples
myst_heading_anchors = 4  # as GitHub makes them
myst_enable_extensions = ["colon_fence"]
smartquotes = False  # docstrings write code

default_role = "literal_text"  # docstrings write `name`, and mean code
autodoc_typehints = "none"  # numpydoc's sections tell types
numpydoc_show_class_members = False  # the page of a class lists them
python_use_unqualified_type_names = True
nitpick_ignore_regex = [
    ("py:obj", r"sklearn\..*")
]  # no network: links to other sites are none

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
html_use_index = False  # api.md lists the names, with a line each
html_show_search_summary = (
    False  # read by requests, which files opened from a disk refuse
)
html_show_sphinx = False
html_show_copyright = False
html_theme_options = {"top_of_page_buttons": []}
pygments_style = "a11y-high-contrast-light"
pygments_dark_style = "a11y-high-contrast-dark"


class LiteralText(SphinxRole):
    """Text in the style of code."""

    def run(self):
        return [nodes.literal(self.rawtext, self.text)], []


def setup(app: Sphinx) -> None:
    app.add_role("literal_text", LiteralText())
    # After numpydoc.
    app.connect("autodoc-process-docstring", split_parameters, priority=900)
    app.connect("autodoc-process-signature", shorten_signature, priority=900)
