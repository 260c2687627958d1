"""The gallery: examples that are run, other scripts with their code, and the pages' pictures."""

import ast
import re
import shutil
from pathlib import Path

PICTURE = re.compile(r"^!\[([^\]]+)\]\((images/[^)]+)\)$")


def examples_of(folder: Path) -> list[Path]:
    """Find the scripts that a user runs, the quickstart first, then others that draw.

    They are neither measurements nor what other scripts import.
    """
    scripts = [
        path
        for path in sorted(folder.rglob("*.py"))
        if path.relative_to(folder).parts[0] not in {"benchmarks", "data", "output"}
    ]
    sources = "\n".join(path.read_text(encoding="utf-8") for path in scripts)
    imported = set(re.findall(r"^(?:from|import) (\w+)", sources, re.M))
    found = [path for path in scripts if path.stem not in imported]
    return sorted(
        found, key=lambda path: ("quickstart" not in path.name, not is_run(path))
    )


def is_run(path: Path) -> bool:
    """Tell whether the build runs a script and shows what it prints and draws."""
    return path.name.startswith("plot_")


def stage_runs(folder: Path, output: Path) -> None:
    """Copy the scripts that are run, and what they import, to where sphinx-gallery finds them."""
    output.mkdir()
    for path in folder.glob("*.py"):
        shutil.copyfile(path, output / path.name)
    (output / "GALLERY_HEADER.rst").write_text("Examples\n========\n", encoding="utf-8")


def told(path: Path) -> tuple[str, str]:
    """Give a script's title, and what its docstring says after it."""
    text = ast.get_docstring(ast.parse(path.read_text(encoding="utf-8"))) or path.stem
    first, _, rest = text.partition("\n")
    return first.strip().rstrip("."), re.sub(r"\A=+\n", "", rest).strip()


def write_example(path: Path, folder: Path, output: Path) -> None:
    """Write the page of a script: what it says of itself, and all of it."""
    title, rest = told(path)
    page = output / path.relative_to(folder).with_suffix(".rst")
    page.parent.mkdir(parents=True, exist_ok=True)
    _docstring, _, code = (
        path.read_text(encoding="utf-8").partition('"""')[2].partition('"""')
    )
    name = f"examples/{path.relative_to(folder).as_posix()}"
    lines = [title, "=" * len(title), "", rest, "", f"``{name}``:", ""]
    lines += [
        ".. code-block:: python",
        "",
        *(f"   {line}" for line in code.strip().split("\n")),
    ]
    page.write_text("\n".join([*lines, ""]), encoding="utf-8")


def gallery(pages: dict[str, str], examples: list[Path], folder: Path) -> str:
    """Make the gallery's lists: examples with thumbnails, other scripts, and pictures."""
    names = {
        path: path.relative_to(folder).with_suffix("").as_posix() for path in examples
    }
    lines = ["", "## Examples", "", "::::{container} pictures"]
    for path in filter(is_run, examples):
        title, rest = told(path)
        thumb, link = (
            f"examples/images/thumb/sphx_glr_{path.stem}_thumb.png",
            f"{names[path]}.rst",
        )
        first = " ".join(rest.split("\n\n")[0].split()).split(". ")[0].rstrip(".")
        lines += [
            "",
            f"[![{title}]({thumb})](examples/{link}) [{title}](examples/{link}) *{first}*",
        ]
    lines += ["::::", "", "## Programs and bridges", ""]
    lines += [
        f"- [{told(path)[0]}](examples/{name}.rst): `examples/{name}.py`"
        for path, name in names.items()
        if not is_run(path)
    ]
    lines += ["", "```{toctree}", ":hidden:", ""]
    lines += [*(f"examples/{name}" for name in names.values()), "```"]
    lines += ["", "## Pictures", "", "::::{container} pictures"]
    for page, text in pages.items():
        title = re.search(r"^# (.+)$", text, re.M)[1]
        for alt, image, place, heading in pictures_of(text):
            link = f"{page}#{place}" if place else page
            words = f"{title}: {heading}" if place else title
            seen = re.split(r"[,;:]", alt)[0]
            lines += ["", f"[![{alt}]({image})]({link}) [{words}]({link}) *{seen}*"]
    return "\n".join([*lines, "::::", ""])


def pictures_of(text: str) -> list[tuple[str, str, str, str]]:
    """Find the pictures of a page: description, file, anchor and words of the heading above."""
    found, place, heading, seen = [], "", "", {}
    # Code has comments, not headings.
    prose = re.sub(r"^```.*?^```$", "", text, flags=re.M | re.S)
    for line in prose.split("\n"):
        if title := re.fullmatch(r"(#+) (.+)", line):
            heading = title[2]
            place = slug(heading) if len(title[1]) > 1 else ""
            seen[place] = seen.get(place, -1) + 1
            place += f"-{seen[place]}" if seen[place] else ""
        elif picture := PICTURE.fullmatch(line):
            found.append((picture[1], picture[2], place, heading))
    return found


def slug(heading: str) -> str:
    """Make the anchor of a heading as GitHub does."""
    return re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-")
