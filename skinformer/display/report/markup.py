"""HTML in which all text, such as names of columns, is escaped."""

from __future__ import annotations

from html import escape
from typing import Any


class Markup(str):
    """Text that is HTML already; any other text is escaped."""

    __slots__ = ()


def tag(name: str, /, *children: Any, **attributes: Any) -> Markup:
    """Write an element; what it holds is markup as it is, all else text.

    Attributes that are None are left out; an underline at the end of their names goes, others are
    hyphens.
    >>> tag("td", Markup("<b>7</b>"), "<script>", class_="name")
    '<td class="name"><b>7</b>&lt;script&gt;</td>'
    """
    given = "".join(
        f' {key.rstrip("_").replace("_", "-")}="{escape(str(value))}"'
        for key, value in attributes.items()
        if value is not None
    )
    return Markup(f"<{name}{given}>{join(*children)}</{name}>")


def join(*children: Any) -> Markup:
    """Put pieces one behind the other, markup as it is, all else as text."""
    return Markup("".join(c if isinstance(c, Markup) else escape(str(c)) for c in children))
