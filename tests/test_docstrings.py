"""What `numpydoc lint` cannot ask of docstrings: see [tool.numpydoc_validation]."""

import dataclasses
import importlib
import inspect
import pkgutil
import re
import tomllib
from importlib.util import find_spec
from pathlib import Path
from types import FunctionType, ModuleType

import pytest
from torch import nn

import skinformer

ROOT = Path(__file__).parents[1]
LINT = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"][
    "numpydoc_validation"
]
MODULES = sorted(
    module.name
    for module in pkgutil.walk_packages(skinformer.__path__, prefix="skinformer.")
    # An adapter is looked at where its library, the first word of its name, is.
    if not module.name.startswith("skinformer.beside.")
    or module.name.endswith(".histories")
    or find_spec(module.name.split(".")[-1].split("_")[0])
)


def reached(module):
    """Collect the classes and functions that a user reaches from a module, by name."""
    found = {}
    for name in module.__all__:
        value = getattr(module, name)
        if isinstance(value, ModuleType):
            found |= {f"{name}.{each}": inner for each, inner in reached(value).items()}
        elif isinstance(value, type | FunctionType):
            found[name] = value
    return found


PUBLIC = reached(skinformer)


def sources(value):
    """Name the modules that define an object and the public methods that it has or inherits."""
    kinds = inspect.getmro(value) if isinstance(value, type) else []
    members = (
        (kind, name)
        for kind in kinds
        for name in vars(kind)
        if not name.startswith("_")
    )
    # The docstring of their class tells them.
    fields = getattr(value, "__dataclass_fields__", {})
    methods = {kind.__module__ for kind, name in members if name not in fields}
    return {
        name for name in {value.__module__, *methods} if name.startswith("skinformer.")
    }


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
    """Read the names that the Parameters section explains, or lines of ``name: what it is``."""
    section = re.search(
        r"^Parameters\n-+\n(.*?)(?=^\S[^\n]*\n---|\Z)", doc(value), re.M | re.S
    )
    lines = re.findall(r"^(\S.*?) ?(?::.*)?$", section[1] if section else "", re.M)
    lines += (
        []
        if section
        else re.findall(r"^([a-z_]\w*(?:, [a-z_]\w*)*): ", doc(value), re.M)
    )
    return {name.strip(" *") for line in lines for name in line.split(",")}


def doc(value):
    return inspect.cleandoc(value.__doc__ or "")


def stale_parameters(value):
    # An error without an __init__ has no signature.
    documented = documented_parameters(value)
    return documented and documented - set(inspect.signature(value).parameters)


def needs_example(value):
    """Say whether a user meets it: a public name, or a layer that can be used alone."""
    is_layer = isinstance(value, type) and issubclass(value, nn.Module)
    return is_layer or value in PUBLIC.values()


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


def test_numpydoc_lint_sees_public_names_and_their_methods():
    """A class or a method that moves to another module must not slip out of the lint."""
    files = {
        f"{module.replace('.', '/')}.py"
        for value in PUBLIC.values()
        for module in sources(value)
    }
    assert len(files) > 30
    assert [
        file for file in files for each in LINT["exclude_files"] if re.match(each, file)
    ] == []


def test_numpydoc_lint_skips_internals():
    """A pattern that matches nothing would ask internal functions for every section."""
    assert any(
        re.match(each, "skinformer/model/stack.py") for each in LINT["exclude_files"]
    )


def test_documented_parameters_exist(objects):
    """A parameter that was removed or renamed must leave the docstring, too."""
    stale = {
        name: stale_parameters(value) for name, value in with_methods(objects).items()
    }
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


def briefly(first, second):
    """Add: the sum.

    first, second: numbers.
    gone: no longer there, by
    PERF: or NOTE: labels are no parameters.
    """


def test_stale_parameters_are_seen():
    """The tests above must be able to fail; dataclasses and several names a line count."""
    assert documented_parameters(Sample) == {"first", "second", "gone"}
    assert stale_parameters(Sample) == {"gone"}
    assert stale_parameters(Sample.method) == {"removed"}
    assert documented_parameters(briefly) == {"first", "second", "gone"}
    assert stale_parameters(briefly) == {"gone"}


def test_public_objects_are_found():
    """An empty list of objects would pass everything."""
    module = importlib.import_module(__name__)
    assert "Sample" in public_objects(module)
    assert "Sample.method" in with_methods(public_objects(module))
