"""A page for each public name, from its docstring, with parameters in groups."""

import inspect
import re
from collections import defaultdict
from functools import cache
from importlib import import_module
from operator import attrgetter
from pathlib import Path
from typing import Any

from docutils import nodes
from names import public
from sphinx import addnodes
from uses import Use, find_uses, key

import skinformer

MOST_USES = 6  # links below a docstring
NAME = re.compile(r"^### (\S+)$", re.M)  # as api.md lists names
GROUP = re.compile(r"[:;]\s+([^;:()]+?) \(`(\w+)` … `(\w+)`\)")


def write_reference(api: str, folder: Path) -> None:
    """Write the pages of the names that the text of api.md lists, and what holds them together."""
    folder.mkdir()
    names = NAME.findall(api)
    for name in names:
        (folder / f"{name}.rst").write_text(page(name), encoding="utf-8")


def pages_of(index: str) -> list[str]:
    """List the pages that the index links to, in its order."""
    return list(dict.fromkeys(re.findall(r"\]\((\w+)\.md(?:#[^)]*)?\)", index)))


def page(name: str) -> str:
    """Write the page of a class or function."""
    value = public(name)
    module, _, short = f"skinformer.{name}".rpartition(".")
    lines = [short, "=" * len(short), "", f".. currentmodule:: {module}", ""]
    if not inspect.isclass(value):
        return "\n".join([*lines, f".. autofunction:: {short}", ""])
    members = ", ".join(own_members(value))
    lines += [f".. autoclass:: {short}"]
    lines += [f"   :members: {members}"] if members else []
    return "\n".join([*lines, ""])


def own_members(value: type) -> list[str]:
    """List the public methods and properties of this package, not of scikit-learn or Python."""
    found = []
    for name, member in inspect.getmembers(value):
        if isinstance(member, property):
            member = member.fget
        module = getattr(member, "__module__", None) or ""
        if (
            inspect.isroutine(member)
            and module.startswith("skinformer.")
            and name[0] != "_"
        ):
            found.append(name)
    return found


@cache
def groups() -> dict[str, str]:
    """Read the groups of parameters off the estimator's Notes: first parameter -> title."""
    notes = " ".join(inspect.getdoc(skinformer.InformerRegressor).split())
    notes = notes.partition("The parameters come in groups")[2]
    return {first: title for title, first, _last in GROUP.findall(notes)}


def split_parameters(
    _app: Any, what: str, name: str, _value: Any, _options: Any, lines: list[str]
) -> None:
    """Put the title of each group above its first parameter; numpydoc has made the lines."""
    if what != "class" or not name.startswith("skinformer.Informer"):
        return
    titled = []
    for line in lines:
        # Two that are told together: "time, series".
        parameter = re.fullmatch(r"( +)\*\*(\w+)(?:, \w+)*\*\* : .*", line)
        if parameter and parameter[2] in groups():
            title = groups()[parameter[2]]
            titled += [f"{parameter[1]}.. rubric:: {title[0].upper()}{title[1:]}", ""]
        titled.append(line)
    lines[:] = titled


def list_methods(
    _app: Any, what: str, _name: str, value: Any, _options: Any, lines: list[str]
) -> None:
    """Put a table of methods between what a class is and its parameters."""
    members = own_members(value) if what == "class" else []
    members = [name for name in members if inspect.isroutine(getattr(value, name))]
    if not members:
        return
    titles = (number for number, line in enumerate(lines) if line.startswith(":"))
    table = [".. rubric:: Methods", "", ".. autosummary::", "   :nosignatures:", ""]
    table += [*(f"   ~{value.__name__}.{member}" for member in members), ""]
    place = next(titles, len(lines))
    lines[place:place] = ["", *table]


def link_uses(
    _app: Any, what: str, _name: str, value: Any, _options: Any, lines: list[str]
) -> None:
    """Say below a docstring which guides and examples use the name."""
    found = uses().get(key(value) or "", [])
    if what == "module" or not found:
        return
    links = ", ".join(
        f"`{title} <../{address}>`__" for title, address in found[:MOST_USES]
    )
    lines += ["", ".. container:: uses", "", f"   Used in {links}.", ""]


@cache
def uses() -> dict[str, list[Use]]:
    """Find the uses once a build."""
    docs = Path(__file__).resolve().parents[1]
    index, api = (
        (docs / page).read_text(encoding="utf-8") for page in ("index.md", "api.md")
    )
    return find_uses(docs, pages_of(index), keys_by_name(NAME.findall(api)))


def keys_by_name(names: list[str]) -> dict[str, str]:
    """Map the last part of public names, and of their methods, to the key if it is only one."""
    keys = defaultdict(set)
    for name in names:
        value = public(name)
        keys[name.rpartition(".")[2]].add(key(value))
        for member in own_members(value) if inspect.isclass(value) else []:
            keys[member].add(key(getattr(value, member)))
    return {name: found.pop() for name, found in keys.items() if len(found) == 1}


def full_signature(
    _app: Any,
    what: str,
    _name: str,
    value: Any,
    _options: Any,
    signature: Any,
    returned: Any,
) -> tuple[Any, Any]:
    """Show the parameters of a class, which bases of the estimators hide from Sphinx."""
    if what != "class" or issubclass(value, Exception):
        return signature, returned
    found = inspect.signature(value)
    bare = [
        each.replace(annotation=inspect.Parameter.empty)
        for each in found.parameters.values()
    ]
    return str(inspect.Signature(bare)), returned


def name_definition(_app: Any, doctree: nodes.document) -> None:
    """Name each object after where it is defined, so that viewcode finds its source.

    Public names are defined in other modules, and methods of the estimators in their bases.
    """
    for signature in doctree.findall(addnodes.desc_signature):
        value = attrgetter(signature["fullname"])(import_module(signature["module"]))
        value = getattr(value, "fget", value)
        if not key(value):
            continue
        signature["module"], signature["fullname"] = (
            value.__module__,
            value.__qualname__,
        )
        if key(value) not in signature["ids"]:
            signature["ids"].append(key(value))  # where the source links back to
