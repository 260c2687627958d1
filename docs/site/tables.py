"""Tables of numbers, which fit a telephone if they are set small."""

from typing import Any

from docutils import nodes

LETTERS = 10  # that a cell of a column of numbers has at most


def mark_numbers(_app: Any, doctree: nodes.document, _page: Any = None) -> None:
    """Give tables whose columns hold short cells behind the first one the class "numbers"."""
    for table in doctree.findall(nodes.table):
        rows = [
            [cell.astext() for cell in row.children]
            for body in table.findall(nodes.tbody)
            for row in body.children
        ]
        if all(len(text) <= LETTERS for _first, *others in rows for text in others):
            table["classes"].append("numbers")
