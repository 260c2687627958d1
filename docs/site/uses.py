"""Where guides and examples use the public names: what the pages of classes link to."""

import ast
import inspect
import re
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

from gallery_page import is_run, slug, told
from names import public

BLOCK = re.compile(r"^```(?:python|py)\n(.*?)^```$|^(##+ [^\n]+)$", re.M | re.S)
INLINE = re.compile(r"`(?:\w+\.)*(\w+)(?:\([^`]*\))?`")
RETURN_SELF = {"fit", "set_params", "update"}


class Use(NamedTuple):
    """A place that uses a name: the title of its page, and its address from the docs."""

    title: str
    address: str


class Reader(ast.NodeVisitor):
    """What code uses of `skinformer`; it remembers what names stand for from block to block."""

    def __init__(self) -> None:
        self.names: dict[str, Any] = {}
        self.classes: dict[str, type] = {}
        self.found: list[Any] = []

    def visit_ImportFrom(self, node: ast.ImportFrom) -> None:
        module = node.module or ""
        if module == "skinformer" or module.startswith("skinformer."):
            for name in node.names:
                path = f"{module}.{name.name}".removeprefix("skinformer.")
                try:
                    value = public(path)
                except (AttributeError, ImportError):
                    value = None
                self.names[name.asname or name.name] = value

    def visit_Assign(self, node: ast.Assign) -> None:
        self.generic_visit(node)
        made = self.class_of(node.value)
        for target in node.targets:
            if isinstance(target, ast.Name):
                self.classes.pop(target.id, None)
                if made is not None:
                    self.classes[target.id] = made

    def visit_Name(self, node: ast.Name) -> None:
        self.found.append(self.names.get(node.id))

    def visit_Attribute(self, node: ast.Attribute) -> None:
        owner = self.class_of(node.value)
        if owner is None and isinstance(node.value, ast.Name):
            owner = self.names.get(node.value.id)
        if inspect.isclass(owner):
            self.found.append(getattr(owner, node.attr, None))
        self.generic_visit(node)

    def class_of(self, node: ast.AST) -> type | None:
        """Tell of which public class a value is, if the code shows it."""
        if isinstance(node, ast.Name):
            return self.classes.get(node.id)
        if not isinstance(node, ast.Call):
            return None
        if isinstance(node.func, ast.Attribute):
            returns_self = node.func.attr in RETURN_SELF
            return self.class_of(node.func.value) if returns_self else None
        if not isinstance(node.func, ast.Name):
            return None
        if node.func.id == "clone" and node.args:
            return self.class_of(node.args[0])
        made = self.names.get(node.func.id)
        return made if inspect.isclass(made) else None


def find_uses(
    docs: Path, order: list[str], short: dict[str, str]
) -> dict[str, list[Use]]:
    """Find the uses of each function, method and class, by its key.

    Pages come in the order given, then examples that the build runs, each of them once. Names that
    no code uses have the pages whose text mentions them, by their `short` names.
    """
    uses, mentions = defaultdict(dict), defaultdict(dict)
    for page in order:
        text = (docs / f"{page}.md").read_text(encoding="utf-8")
        title = re.search(r"^# (.+)$", text, re.M)[1]
        for name, anchor in _uses_of_page(text):
            uses[name].setdefault(title, f"{page}.html{anchor}")
        for name, anchor in _mentions_of_page(text):
            mentions[short.get(name)].setdefault(title, f"{page}.html{anchor}")
    for path in filter(is_run, sorted((docs.parent / "examples").glob("*.py"))):
        title, _ = told(path)
        for name in _read(Reader(), path.read_text(encoding="utf-8")):
            uses[name].setdefault(title, f"examples/{path.stem}.html")
    found = {**mentions, **uses}
    return {
        name: [Use(*use) for use in places.items()] for name, places in found.items()
    }


def _uses_of_page(text: str) -> Iterator[tuple[str, str]]:
    """List the keys that a page's code uses, with the anchor of the heading above."""
    reader, anchor = Reader(), ""
    for block in BLOCK.finditer(text):
        code, heading = block.groups()
        if heading:
            anchor = f"#{slug(heading.lstrip('# '))}"
            continue
        for name in _read(reader, code):
            yield name, anchor


def _mentions_of_page(text: str) -> Iterator[tuple[str, str]]:
    """List the names that a page's sentences write as code, with the heading's anchor."""
    anchor = ""
    prose = re.sub(r"^```.*?^```$", "", text, flags=re.M | re.S)
    for line in prose.split("\n"):
        if re.match(r"##+ ", line):
            anchor = f"#{slug(line.lstrip('# '))}"
        for name in INLINE.findall(line):
            yield name, anchor


def _read(reader: Reader, code: str) -> list[str]:
    """List the keys that code uses; code that is cut short uses nothing."""
    reader.found = []
    try:
        reader.visit(ast.parse(code))
    except SyntaxError:
        return []
    return [name for value in reader.found if (name := key(value))]


def key(value: Any) -> str | None:
    """Name what is used; an inherited method has the name of the class that defines it."""
    value = getattr(value, "fget", value)
    module = getattr(value, "__module__", None) or ""
    if not module.startswith("skinformer"):
        return None
    return f"{module}.{value.__qualname__}" if hasattr(value, "__qualname__") else None
