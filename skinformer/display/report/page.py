"""The page: a style sheet for wide and narrow screens, dark ones and paper; nothing runs."""

from __future__ import annotations

from importlib.resources import files

from skinformer.display.report.markup import Markup, tag
from skinformer.display.report.vector import DARK, DARK_INK, LIGHT, LIGHT_INK, colours_css

_LIGHT = f"--ground:#f4f5f7;--card:{LIGHT};--ink:{LIGHT_INK};--soft:#5a6470;--line:#d9dde2;"
_LIGHT += "--mark:#b45309;"
_DARK = f"--ground:#111418;--card:{DARK};--ink:{DARK_INK};--soft:#a3acb6;--line:#343b44;"
_DARK += "--mark:#fbbf6a;"
_STYLE = files("skinformer.display.report").joinpath("style.css").read_text(encoding="utf-8")
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
    sheet = f":root{{{_LIGHT}{colours_css(body, dark=False)}}}\n{dark}\n{_STYLE}"
    return _PAGE.format(policy=_POLICY, title=tag("title", title), sheet=sheet, body=body)
