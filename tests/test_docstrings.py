"""What `numpydoc lint` cannot ask of docstrings: see [tool.numpydoc_validation]."""

import dataclasses
import importlib
import inspect
import pkgutil
import re
from importlib.util import find_spec
from types import FunctionType

import pytest
from torch import nn

import skinformer

PUBLIC = (
    "skinformer.datasets",
    "skinformer.display",
    "skinformer.estimators.classifier",
    "skinformer.estimators.loading",
    "skinformer.estimators.parts",
    "skinformer.estimators.regressor",
    "skinformer.evaluation",
    "skinformer.persistence.errors",
    "skinformer.preprocessing",
    "skinformer.serving",
    "skinformer.timeline.split",
)
MODULES = sorted(
    module.name
    for module in pkgutil.walk_packages(skinformer.__path__, prefix="skinformer.")
    # An adapter is looked at where its library is.
    if not module.name.startswith("skinformer.beside.") or find_spec(module.name.split(".")[-1])
)


def public_objects(module):
    """Collect the classes and functions that the module defines, by name."""
    return {
        name: value
        for name, value in vars(module).items()
        if isinstance(value, type | FunctionType)
        and value.__module__ == module.__name__
        and not name.startswith("_")
    }


def with_methods(objects):
    """Add the classes' own public methods."""
    found = dict(objects)
    for name, value in objects.items():
        for attribute, method in vars(value).items():
            method = getattr(method, "__func__", method)
            if isinstance(method, FunctionType) and not attribute.startswith("_"):
                found[f"{name}.{attribute}"] = method
    return found


def documented_parameters(value):
    """Read the names that the Parameters section explains."""
    section = re.search(r"^Parameters\n-+\n(.*?)(?=^\S[^\n]*\n---|\Z)", doc(value), re.M | re.S)
    lines = re.findall(r"^(\S.*?) ?(?::.*)?$", section[1] if section else "", re.M)
    return {name.strip(" *") for line in lines for name in line.split(",")}


def doc(value):
    return inspect.cleandoc(value.__doc__ or "")


def stale_parameters(value):
    documented = documented_parameters(value)  # an error without an __init__ has no signature
    return documented and documented - set(inspect.signature(value).parameters)


def needs_example(value):
    """Say whether a user meets it: a public name, or a layer that can be used alone."""
    is_layer = isinstance(value, type) and issubclass(value, nn.Module)
    return is_layer or value.__module__.startswith(PUBLIC)


@pytest.fixture(scope="module")
def objects():
    """Collect those of all modules, by module and name."""
    return {
        f"{module}:{name}": value
        for module in MODULES
        for name, value in public_objects(importlib.import_module(module)).items()
    }


def test_public_names_and_layers_show_an_example(objects):
    """An example says in two lines what a signature cannot, and runs as a doctest."""
    needing = {name: value for name, value in objects.items() if needs_example(value)}
    assert len(needing) > 50
    assert [name for name, value in needing.items() if ">>> " not in doc(value)] == []


def test_public_classes_need_an_example():
    """A class that moves to another module must not slip out of the test above."""
    elsewhere = {name: of for name, of in skinformer._CLASSES.items() if not of.startswith(PUBLIC)}
    assert elsewhere == {}


def test_documented_parameters_exist(objects):
    """A parameter that was removed or renamed must leave the docstring, too."""
    stale = {name: stale_parameters(value) for name, value in with_methods(objects).items()}
    assert len(stale) > 500
    assert {name: names for name, names in stale.items() if names} == {}


@dataclasses.dataclass
class Sample:
    """Hold two numbers.

    Parameters
    ----------
    first, second : int
        Numbers.
    gone : int
        No longer there.

    Notes
    -----
    Colons : are no parameters here.
    """

    first: int
    second: int

    def method(self, *args: int) -> None:
        """Add.

        Parameters
        ----------
        *args : int
            Numbers.
        removed
            No type, and no longer there.
        """


def test_stale_parameters_are_seen():
    """The tests above must be able to fail; dataclasses and several names a line count."""
    assert documented_parameters(Sample) == {"first", "second", "gone"}
    assert stale_parameters(Sample) == {"gone"}
    assert stale_parameters(Sample.method) == {"removed"}


def test_public_objects_are_found():
    """An empty list of objects would pass everything."""
    module = importlib.import_module(__name__)
    assert "Sample" in public_objects(module)
    assert "Sample.method" in with_methods(public_objects(module))
