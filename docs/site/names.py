"""The public names, with adapters as they are where the libraries that they adapt are missing."""

import sys
from functools import cache
from importlib import import_module
from operator import attrgetter
from typing import Any

from sphinx.ext.autodoc.mock import mock

import skinformer
import skinformer.beside

#: What modules of `skinformer.beside` import, and the build does not need.
LIBRARIES = [
    "chronos",
    "flaircast",
    "fracast",
    "sktime",
    "statsforecast",
    "timesfm",
    "tirex",
]


@cache
def public(name: str) -> Any:
    """Return what a name of api.md stands for.

    >>> public("evaluation.wape").__name__, public("beside.tirex.TiRexForecaster").__name__
    ('wape', 'TiRexForecaster')
    """
    if name.startswith("beside."):
        return _adapter(name)
    return attrgetter(name)(skinformer)


def _adapter(name: str) -> Any:
    """Import an adapter; who imports its module later gets the one with its library."""
    module, _, short = f"skinformer.{name}".rpartition(".")
    was_imported = module in sys.modules
    with mock(LIBRARIES):
        adapter = getattr(import_module(module), short)
    if not was_imported:
        del sys.modules[module]
        delattr(skinformer.beside, module.rpartition(".")[2])
    return adapter
