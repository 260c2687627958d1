"""A page for each public name, from its docstring, with parameters in groups."""

import inspect
import re
from functools import cache
from operator import attrgetter
from pathlib import Path
from typing import Any

import skinformer

NAME = re.compile(r"^### (\S+)$", re.M)  # as api.md lists names
GROUP = re.compile(r"[:;]\s+([^;:()]+?) \(`(\w+)` … `(\w+)`\)")


def write_reference(api: str, folder: Path) -> None:
    """Write the pages of the names that the text of api.md lists, and what holds them together."""
    folder.mkdir()
    names = NAME.findall(api)
    for name in names:
        (folder / f"{name}.rst").write_text(page(name), encoding="utf-8")


def page(name: str) -> str:
    """Write the page of a class or function."""
    value = attrgetter(name)(skinformer)
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


def shorten_signature(
    _app: Any,
    what: str,
    _name: str,
    _value: Any,
    _options: Any,
    signature: Any,
    returned: Any,
) -> tuple[Any, Any] | None:
    """Leave out what fills a telephone's screen; each parameter tells its default below."""
    if what != "class" or (signature or "").count("=") <= 10:
        return None
    # Without parameters before it the star comes first.
    first = re.match(r"\((.*?, )?\*, ", signature)
    return f"{first[0]}...)", returned
