"""Write what pages print anew: `python docs/outputs.py [PAGE.md …]`, all pages by default.

A ```text block that follows a ```python block is what the code prints. On `start.md` it is what the
commands before it print, or the first lines of the file that they write; on `quickstart.md` and
`classes.md` one is part of what an example prints. The tests compare: words
have to be equal, and numbers within a tolerance, because other machines round differently.
"""

import contextlib
import io
import os
import re
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

DOCS = Path(__file__).resolve().parent
TOLERANCE = 0.05
BLOCKS = re.compile(
    r"^```python\n(?P<code>.*?)^```$(?:\n\n```text\n(?P<shown>.*?)^```$)?", re.M | re.S
)
#: Pages with a table that an example prints.
TABLES = {"quickstart.md": "plot_quickstart", "classes.md": "plot_crowd"}
NUMBER = re.compile(r"(-?\d+(?:[.,](\d+))?)([%.,;:)]*)")


def alike(shown: str, printed: str) -> bool:
    """Compare word by word: numbers within 5%, or one in the last digit; spaces do not count."""
    one, other = (re.split(r"[\s;]+", text.strip()) for text in (shown, printed))
    return len(one) == len(other) and all(map(_alike, one, other))


def _alike(shown: str, printed: str) -> bool:
    if shown == printed:
        return True
    one, other = NUMBER.fullmatch(shown), NUMBER.fullmatch(printed)
    if not (one and other and one[3] == other[3]):
        return False
    a, b = (float(number[1].replace(",", ".")) for number in (one, other))
    digit = 10.0 ** -min(len(one[2] or ""), len(other[2] or ""))
    return abs(a - b) <= max(TOLERANCE * abs(a), 1.001 * digit)


def run(text: str, name: str) -> Iterator[tuple[re.Match[str], str]]:
    """Run a page's blocks in one namespace; give each with what it prints."""
    namespace: dict[str, object] = {}
    for block in BLOCKS.finditer(text):
        printed = io.StringIO()
        with contextlib.redirect_stdout(printed):
            exec(compile(block["code"], name, "exec"), namespace)
        yield block, printed.getvalue()


def cut(shown: str, printed: str) -> str:
    """Cut out of what was printed what a page shows: from its first line on, as many lines."""
    lines = printed.splitlines(keepends=True)
    first = shown.splitlines()[0].split()
    start = next(i for i, line in enumerate(lines) if line.split() == first)
    return "".join(lines[start : start + shown.count("\n")])


def start(text: str, folder: Path) -> Iterator[tuple[re.Match[str], str]]:
    """Give the outputs that `start.md` shows, of a checkout in which its commands were run."""
    shown = list(re.finditer(r"^```text\n(?P<shown>.*?)^```$", text, re.M | re.S))
    printed = [
        (folder / "printed.txt").read_text(encoding="utf-8"),
        (folder / "examples/output/load_forecast.csv").read_text(encoding="utf-8"),
    ]
    for place, source in ((1, 0), (2, 1), (4, 0)):
        yield shown[place], cut(shown[place]["shown"], printed[source])


def table(text: str, printed: str) -> tuple[re.Match[str], str]:
    """Give the block that shows a part of what an example printed, and this part."""
    lines = {" ".join(line.split()) for line in printed.splitlines()}
    for block in re.finditer(
        r"^```text\n(?P<shown>([^\n]+)\n.*?)^```$", text, re.M | re.S
    ):
        if " ".join(block[2].split()) in lines:
            return block, cut(block["shown"], printed)
    raise ValueError("no block begins with a line that the example prints")


def printed_by(example: str) -> str:
    """Run an example in the current folder, and give what it prints."""
    script = str(DOCS.parent / f"examples/{example}.py")
    command = [sys.executable, script, "--output", "."]
    return subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True).stdout


def follow_start(text: str, folder: Path) -> None:
    """Run the commands of `start.md` that print something, in a folder like the repository's."""
    (folder / "examples").symlink_to(DOCS.parent / "examples")
    first = re.search(
        r"^\.venv/bin/python (examples/\S+ .*--target load)$", text, re.M
    )[1]
    (folder / "mine.py").write_text(
        re.search(r"^```py\n(.*?)^```$", text, re.M | re.S)[1]
    )
    printed = ""
    environment = os.environ | {"PYTHONPATH": str(DOCS.parent)}
    for command in (first.split(), ["mine.py"]):
        done = subprocess.run(
            [sys.executable, *command],
            cwd=folder,
            env=environment,
            check=True,
            stdout=subprocess.PIPE,
            text=True,
        )
        printed += done.stdout
    (folder / "printed.txt").write_text(printed, encoding="utf-8")


def anew(name: str) -> str:
    """Give the page's text with what its code prints now."""
    text = (DOCS / name).read_text(encoding="utf-8")
    if name == "start.md":
        folder = Path.cwd()
        follow_start(text, folder)
        outputs = list(start(text, folder))
    else:
        outputs = [] if name.startswith("..") else list(run(text, name))
    if name in TABLES:
        outputs.append(table(text, printed_by(TABLES[name])))
        outputs.sort(key=lambda output: output[0].start())
    for block, printed in reversed(outputs):
        if block["shown"] is not None:
            printed = re.sub(r" +$", "", printed, flags=re.M)
            text = text[: block.start("shown")] + printed + text[block.end("shown") :]
    return text


def has_outputs(name: str) -> bool:
    """Whether a page shows what its code prints."""
    blocks = BLOCKS.finditer((DOCS / name).read_text(encoding="utf-8"))
    return name in {"start.md", *TABLES} or any(
        block["shown"] is not None for block in blocks
    )


def main() -> None:
    pages = [path.name for path in sorted(DOCS.glob("*.md"))]
    names = sys.argv[1:] or pages
    for name in names:
        if has_outputs(name):
            with tempfile.TemporaryDirectory() as folder, contextlib.chdir(folder):
                text = anew(name)
            (DOCS / name).write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
