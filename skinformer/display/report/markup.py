"""HTML that cannot be made of what somebody named a column: all text is escaped where it enters."""

from __future__ import annotations

from html import escape
from typing import Any

__all__ = ["Markup", "join", "tag"]

#: Elements without an end.
_VOID = ("br", "col", "link", "meta")


class Markup(str):
    """
    Text that is HTML already; any other text is escaped.

    Examples
    --------
    >>> tag("p", Markup("<b>7</b>"), " < 8")
    '<p><b>7</b> &lt; 8</p>'
    """

    __slots__ = ()


def tag(name: str, /, *children: Any, **attributes: Any) -> Markup:
    """
    Write an element.

    Parameters
    ----------
    name : str
        Of the element.
    *children : Any
        What it holds: markup as it is, all else as text.
    **attributes : Any
        Its attributes, None for none of that name; an underline at the end is left out, others are
        hyphens.

    Returns
    -------
    Markup
        HTML.

    Examples
    --------
    >>> tag("td", "<script>", class_="name")
    '<td class="name">&lt;script&gt;</td>'
    """
    given = "".join(
        f' {key.rstrip("_").replace("_", "-")}="{escape(str(value))}"'
        for key, value in attributes.items()
        if value is not None
    )
    if name in _VOID:
        return Markup(f"<{name}{given}>")
    return Markup(f"<{name}{given}>{join(*children)}</{name}>")


def join(*children: Any) -> Markup:
    """
    Put pieces one behind the other.

    Parameters
    ----------
    *children : Any
        Markup as it is, all else as text.

    Returns
    -------
    Markup
        HTML.

    Examples
    --------
    >>> join(Markup("<br>"), "a & b")
    '<br>a &amp; b'
    """
    return Markup("".join(c if isinstance(c, Markup) else escape(str(c)) for c in children))
