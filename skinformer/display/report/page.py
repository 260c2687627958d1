"""The page, where nothing runs, and pictures as SVG; colours follow the reader's light or dark."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from functools import partial
from importlib.resources import files
from io import BytesIO
from typing import TYPE_CHECKING, Any
from xml.etree import ElementTree

from skinformer.display.report.markup import Markup, tag

if TYPE_CHECKING:
    from matplotlib.figure import Figure


#: What pictures lie on, and of what colour their texts are; not black, which files leave out.
LIGHT, DARK = "#ffffff", "#1b1f24"
LIGHT_INK, DARK_INK = "#1a1d21", "#e8eaed"
_COLOUR = re.compile(r"#[0-9a-f]{6}\b")
#: Of a colour on light and on dark ground, which its name holds.
_PAIR = re.compile(r"var\(--c([0-9a-f]{6})([0-9a-f]{6})\)")
#: Text stays text, which can be searched and read aloud; dollar signs are dollars.
_STYLE: dict[str, Any] = {
    "font.size": 11,
    "legend.fontsize": 10,
    "text.parse_math": False,
    "svg.fonttype": "none",
    "axes.spines.top": False,
    "axes.spines.right": False,
}

_GROUNDS = ("figure.facecolor", "axes.facecolor")
_INKS = ("text.color", "axes.labelcolor", "axes.edgecolor", "xtick.color", "ytick.color")


def colours_css(text: str, *, dark: bool) -> str:
    """Define the colours that pictures in a page's text use, as they are on one ground.

    >>> colours_css("fill: var(--c000000ffffff)", dark=True)
    '--c000000ffffff:#ffffff;'
    """
    pairs = sorted(set(_PAIR.findall(text)))
    return "".join(f"--c{pair[0]}{pair[1]}:#{pair[dark]};" for pair in pairs)


def draw_vector(
    draw: Callable[[Figure], Any], size: tuple[float, float], *, salt: str, label: str
) -> Markup:
    """Draw a picture light and dark, and write one ``svg``, without scripts, links or a date.

    salt: of ids: no two pictures of a page may share one.
    label: what is seen, for those who do not see it.

    matplotlib's settings are its own defaults while this draws, whatever the user's are, and are
    put back.
    """
    light = _drawn(draw, size, "default", LIGHT, LIGHT_INK, salt)
    _merge_colours(light, _drawn(draw, size, "dark_background", DARK, DARK_INK, salt))
    return tag(
        "svg", *map(_written, light), viewBox=light.get("viewBox"), role="img", aria_label=label
    )


def _drawn(
    draw: Callable[[Figure], Any], size: Any, name: str, ground: str, ink: str, salt: str
) -> ElementTree.Element:
    from matplotlib import style
    from matplotlib.figure import Figure

    colours = dict.fromkeys(_GROUNDS, ground) | dict.fromkeys(_INKS, ink)
    with style.context([name, _STYLE | colours | {"svg.hashsalt": salt}], after_reset=True):
        figure = Figure(figsize=size, layout="constrained")
        draw(figure)
        file = BytesIO()
        figure.savefig(file, format="svg", metadata={"Date": None})
    return ElementTree.fromstring(file.getvalue())


def _merge_colours(light: ElementTree.Element, dark: ElementTree.Element) -> None:
    """Let each colour stand for the one at its place in the dark picture, too."""
    for one, other in zip(light.iter(), dark.iter(), strict=True):
        for key, value in one.attrib.items():
            others = iter(_COLOUR.findall(other.get(key, "")))
            one.set(key, _COLOUR.sub(partial(_paired, others=others), value))


def _paired(found: re.Match[str], others: Iterator[str]) -> str:
    colour = found[0]
    dark = next(others, colour)
    return colour if dark == colour else f"var(--c{colour[1:]}{dark[1:]})"


def _written(element: ElementTree.Element) -> Markup:
    """Write an element as HTML has it: without namespaces, sources and style sheets."""
    name = _local(element.tag)
    if name in ("metadata", "style"):
        return Markup()
    attributes = {_local(key): value for key, value in element.attrib.items()}
    if name == "g":  # a number, which nothing points to and other pictures have too
        attributes.pop("id", None)
    parts = [part for child in element for part in (_written(child), (child.tail or "").strip())]
    return tag(name, (element.text or "").strip(), *parts, **attributes)


def _local(name: str) -> str:
    return name.rpartition("}")[2]


_LIGHT = f"--ground:#f4f5f7;--card:{LIGHT};--ink:{LIGHT_INK};--soft:#5a6470;--line:#d9dde2;"
_LIGHT += "--mark:#b45309;"
_DARK = f"--ground:#111418;--card:{DARK};--ink:{DARK_INK};--soft:#a3acb6;--line:#343b44;"
_DARK += "--mark:#fbbf6a;"
_SHEET = files("skinformer.display.report").joinpath("style.css").read_text(encoding="utf-8")
#: Whatever a page holds, a browser that reads this fetches nothing and runs nothing.
_POLICY = "default-src 'none'; style-src 'unsafe-inline'; img-src data:"
_PAGE = """<!DOCTYPE html>
<html lang="en"><head><meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="{policy}">
<meta name="viewport" content="width=device-width, initial-scale=1">
<link rel="icon" href="data:,">{title}<style>{sheet}</style></head>
<body><main>{body}</main></body></html>
"""


def write_page(title: str, body: Markup) -> str:
    """Put a body into a page that needs nothing else."""
    dark = f":root{{{_DARK}{colours_css(body, dark=True)}}}"
    dark = f"@media screen and (prefers-color-scheme:dark){{{dark}}}"
    sheet = f":root{{{_LIGHT}{colours_css(body, dark=False)}}}\n{dark}\n{_SHEET}"
    return _PAGE.format(policy=_POLICY, title=tag("title", title), sheet=sheet, body=body)
