"""HTML in which all text, such as names of columns, is escaped, and numbers as they are read."""

from __future__ import annotations

import math
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


#: From here on numbers are written without fractions.
_WHOLE = 1000


def as_number(value: Any, digits: int = 3) -> str:
    """Write a number as people do, with so many digits if there are no more before the point.

    >>> as_number(0.012345), as_number(1234567.8), as_number(-3.0), as_number(float("nan"))
    ('0.0123', '1,234,568', '−3', '–')
    """
    value = float(value)
    if not math.isfinite(value):
        return "–"
    whole = _WHOLE <= abs(value) < 1e15
    text = f"{value:,.0f}" if whole else f"{value:.{digits}g}"
    return _signed(text)


def as_percent(share: Any, digits: int = 1) -> str:
    r"""Write a share in per cent, below 100 % with so many digits behind the point.

    >>> as_percent(0.1234), as_percent(2.5), as_percent(0.5)
    ('12.3\xa0%', '250\xa0%', '50\xa0%')
    """
    value = 100 * float(share)
    if not math.isfinite(value):
        return "–"
    text = f"{value:,.{0 if abs(value) >= 100 else digits}f}"
    text = text.rstrip("0").rstrip(".") if "." in text else text
    return f"{_signed(text)}\N{NO-BREAK SPACE}%"


def _signed(text: str) -> str:
    return "0" if text in ("-0", "0") else text.replace("-", "−", 1)
