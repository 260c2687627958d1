"""Links from docstrings to the documentation of other libraries.

Intersphinx asks each site for the list of its names, and the build needs no network: these sites
name the page of a class after the class.
"""

from typing import Any

from docutils import nodes

#: The address of the page of a name, by the library that the name begins with.
PAGES = {
    "matplotlib": "https://matplotlib.org/stable/api/_as_gen/{name}.html",
    "numpy": "https://numpy.org/doc/stable/reference/generated/{name}.html",
    "numpy.random": "https://numpy.org/doc/stable/reference/random/legacy.html#{name}",
    "pandas": "https://pandas.pydata.org/docs/reference/api/{name}.html",
    "sklearn": "https://scikit-learn.org/stable/modules/generated/{name}.html",
    "torch": "https://docs.pytorch.org/docs/stable/generated/{name}.html",
}

#: What the types of parameters call classes of other libraries.
TYPES = {
    "Axes": "matplotlib.axes.Axes",
    "DataFrame": "pandas.DataFrame",
    "DatetimeIndex": "pandas.DatetimeIndex",
    "Figure": "matplotlib.figure.Figure",
    "Index": "pandas.Index",
    "Line2D": "matplotlib.lines.Line2D",
    "MultiIndex": "pandas.MultiIndex",
    "Pipeline": "sklearn.pipeline.Pipeline",
    "RandomState": "numpy.random.RandomState",
    "Series": "pandas.Series",
    "ndarray": "numpy.ndarray",
    "torch.Tensor": "torch.Tensor",
    "torch.nn.Module": "torch.nn.Module",
}


def page_elsewhere(name: str) -> str | None:
    """Give the address of the page of a name, or None if no known library has it.

    >>> page_elsewhere("pandas.DataFrame")
    'https://pandas.pydata.org/docs/reference/api/pandas.DataFrame.html'
    """
    starts = [start for start in PAGES if name.startswith(f"{start}.")]
    return PAGES[max(starts, key=len)].format(name=name) if starts else None


def link_elsewhere(_app: Any, _env: Any, node: Any, shown: Any) -> Any:
    """Resolve a reference that Sphinx does not."""
    name = node["reftarget"]
    address = page_elsewhere(name)
    if address is None:
        return None
    return nodes.reference("", "", shown, refuri=address, internal=False, reftitle=name)
