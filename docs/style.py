"""The one style of the pictures of the pages, each drawn for light and for dark pages as SVG."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from matplotlib import pyplot as plt
from matplotlib.figure import Figure

WIDTH = 6.6  # inches: letters can still be read where a telephone shows it smaller
WIDE = 7.5  # inches: of pictures with many parts
GROUND = "#131416"  # of dark pages

COMMON = {
    "axes.spines.right": False,
    "axes.spines.top": False,
    "figure.constrained_layout.use": True,
    "font.size": 10,
    "legend.fontsize": 9,
    "savefig.pad_inches": 0.05,
    "svg.fonttype": "path",  # looks the same whatever fonts a reader has
    "svg.hashsalt": "skinformer",  # the same picture is the same file
}
DARK = {
    "axes.facecolor": GROUND,
    "figure.facecolor": GROUND,
    "savefig.facecolor": GROUND,
}


@contextmanager
def style(*, dark: bool) -> Iterator[None]:
    """Draw in the style of light or of dark pages."""
    styles = ["dark_background", COMMON, DARK] if dark else ["default", COMMON]
    with plt.style.context(styles):
        yield


def draw_pair(picture: Callable[[], Figure], folder: Path, name: str) -> list[Path]:
    """Draw a picture twice, into `name.svg` and `name_dark.svg`, and return both files."""
    files = []
    for dark in (False, True):
        files.append(Path(folder, f"{name}_dark.svg" if dark else f"{name}.svg"))
        with style(dark=dark):
            figure = picture()
            figure.savefig(files[-1], bbox_inches="tight", metadata={"Date": None})
            plt.close(figure)
    return files


def axes(height: float, n: int = 1, **options):
    """Make a figure of the width of the text, with `n` axes one beside another."""
    _, made = plt.subplots(1, n, figsize=(WIDTH, height), **options)
    return made
