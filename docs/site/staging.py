"""From the pages as GitHub shows them to the sources that Sphinx reads."""

import re
import shutil
from pathlib import Path

from gallery_page import examples_of, gallery, is_run, stage_runs, write_example
from reference import NAME, write_reference


def stage(docs: Path, source: Path) -> None:
    """Write Sphinx's sources to the folder `source`, and examples beside it; neither may exist."""
    shutil.copytree(docs / "images", source / "images")
    examples = examples_of(docs.parent / "examples")
    pages = {
        path.name: path.read_text(encoding="utf-8")
        for path in sorted(docs.glob("*.md"))
    }
    made = {
        "api.md": link_names,
        "gallery.md": lambda text: (
            text + gallery(pages, examples, docs.parent / "examples")
        ),
        "index.md": lambda text: text + contents(text),
    }
    for name, text in pages.items():
        text = pair_pictures(made.get(name, str)(text), source)
        text = re.sub(
            r"\[([^\]]+)\]\(\.\./([^)#]+)(#[^)]*)?\)",
            lambda link: outward(link, docs.parent, source, examples),
            text,
        )
        (source / name).write_text(text, encoding="utf-8")
    stage_runs(docs.parent / "examples", source.parent / "examples")
    for path in examples:
        if not is_run(path):
            write_example(path, docs.parent / "examples", source / "examples")
    write_reference(pages["api.md"], source / "reference")


def pair_pictures(text: str, source: Path) -> str:
    """Give each picture that has a dark one beside it the class that hides it on dark pages."""

    def pair(picture: re.Match) -> str:
        alt, light = picture.groups()
        dark = light.replace(".svg", "_dark.svg")
        if dark == light or not (source / dark).exists():
            return picture[0]
        return f"![{alt}]({light}){{.only-light}}![{alt}]({dark}){{.only-dark}}"

    return re.sub(r"!\[([^\]]*)\]\((images/[^)]+)\)", pair, text)


def groups_of(index: str) -> dict[str, list[str]]:
    """Read the pages of each section off the index, which is the list of the menu."""
    groups = {}
    for section in re.split(r"^## ", index, flags=re.M)[1:]:
        caption, pages = (
            section.split("\n")[0],
            re.findall(r"\]\(([\w/]+)\.md\)", section),
        )
        if pages:
            groups[caption] = pages
    return groups


def contents(index: str) -> str:
    """Make the index's links its table of contents, a part for each of its sections."""
    parts = []
    for caption, pages in groups_of(index).items():
        lines = ["```{toctree}", ":hidden:", f":caption: {caption}", "", *pages, "```"]
        parts.append("\n".join(lines))
    return "\n" + "\n\n".join(parts) + "\n"


def link_names(api: str) -> str:
    """Lead each name of the API page to its own page."""
    pages = [f"reference/{name}" for name in NAME.findall(api)]
    toctree = ["", "```{toctree}", ":hidden:", "", *pages, "```", ""]
    return NAME.sub(r"### [\1](reference/\1.rst)", api) + "\n".join(toctree)


def outward(link: re.Match, root: Path, source: Path, examples: list[Path]) -> str:
    """Lead a link that leaves the docs to the page of an example, or to a copy of the file."""
    text, target = link[1], root / link[2]
    if target in examples:
        page = target.relative_to(root / "examples").with_suffix(".rst")
        return f"[{text}](examples/{page.as_posix()})"
    if target.is_dir() and target.is_relative_to(root / "examples"):
        return f"[{text}](gallery.md#examples)"
    if target == root / "README.md":
        return f"[{text}](index.md)"
    copy = Path("files") / target.relative_to(root)
    copy = copy.with_suffix(".txt") if copy.suffix == ".md" else copy
    (source / copy).parent.mkdir(parents=True, exist_ok=True)
    shutil.copyfile(target, source / copy)
    return f"[{text}]({copy.as_posix()})"
