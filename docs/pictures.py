"""
Draw the pictures of the user guide: ``python docs/pictures.py [FOLDER]``.

Blocks, contexts and what is known in them are not typed by hand: a hook on the fitted network
reads what it is given. The folds are those of the splitters.
"""

import sys
import warnings
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pandas as pd
from matplotlib import pyplot as plt
from matplotlib.lines import Line2D
from matplotlib.patches import Patch, Rectangle
from sklearn.base import clone
from sklearn.model_selection import TimeSeriesSplit

sys.path.insert(0, str(Path(__file__).parent))

from style import WIDTH, draw_pair

from skinformer import InformerRegressor, Network, PanelTimeSeriesSplit, Training

SEQ_LEN, PRED_LEN, HISTORY = 6, 4, 16
SMALL = {
    "seq_len": SEQ_LEN,
    "pred_len": PRED_LEN,
    "network": Network(d_model=4, n_heads=1),
    "training": Training(max_iter=1),
    "random_state": 0,
}

# Okabe and Ito's colours, which the colour-blind can tell apart; hatches say the same again.
# Those that are None have the ground of the page, or the colour of its texts.
STYLES = {
    "seen": {"facecolor": "#56B4E9"},
    "forecast": {"facecolor": "#F5C04A"},
    "fed back": {"facecolor": "#F5C04A", "hatch": "////"},
    "dropped": {"facecolor": "#F5C04A55"},
    "known": {"facecolor": "#009E73"},
    "hidden": {"facecolor": None, "hatch": "xxxx"},
    "mean": {"facecolor": "#9A9A9A"},
    "unused": {"facecolor": "#88888822"},
}
EDGE = "#555555"
LINES = {
    "origin of a block": {"color": "#D55E00", "markeredgewidth": 3},
    "end of the history": {"color": None, "linestyle": ":", "marker": ""},
}
STEPS = np.arange(40)
DF = pd.DataFrame(
    {
        "temp": np.random.default_rng(0).normal(size=40),
        "holiday": STEPS.astype(
            float
        ),  # any values known ahead; these name their own row
        "load": np.random.default_rng(1).normal(size=40),
    }
)


# --- what the network sees ------------------------------------------------------------------


class Window(NamedTuple):
    """One block: its steps, and what each cell of its window is, by column."""

    context: np.ndarray
    block: np.ndarray
    cells: dict[str, list[str]]


def watch(model, X):
    """Predict X, and read from the network's inputs which blocks were forecast from what."""
    inputs = []
    # A network without a say is not.
    requested = getattr(model.module_, "path", model.module_)
    hook = requested.register_forward_pre_hook(
        lambda _, given: inputs.append(given[:2])
    )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # values held in a gap
        model.predict(X)
    hook.remove()
    rows = np.concatenate([np.concatenate(given, axis=1) for given in inputs])
    windows = {window.block[0]: window for window in map(_reader(model), rows)}
    return [windows[first] for first in sorted(windows)]


def _reader(model):
    roles = model.roles_
    names = [*roles.targets, *roles.past, *roles.known]
    mean, scale = model.scaler_.mean[0], model.scaler_.scale[0]
    truth = (DF[names].to_numpy() - mean) / scale
    place = names.index("holiday")

    def read(values):
        steps = _steps_of(values[:, place] * scale[place] + mean[place])
        cells = {
            name: [
                _kind(
                    values[i, j],
                    truth[step, j] if step >= 0 else np.nan,
                    ahead=i >= SEQ_LEN,
                )
                for i, step in enumerate(steps)
            ]
            for j, name in enumerate(names)
        }
        return Window(steps[:SEQ_LEN], steps[SEQ_LEN:], cells)

    return read


def _steps_of(numbers):
    """Tell the steps of a window by the rows that hold their own number; others hold or pad."""
    whole = np.isclose(numbers, np.round(numbers), atol=1e-3)
    starts = np.round(numbers - np.arange(len(numbers)))[whole].astype(int)
    found, counts = np.unique(starts, return_counts=True)
    return found[counts.argmax()] + np.arange(len(numbers))


def _kind(value, truth, *, ahead):
    if np.isclose(value, truth, atol=1e-4):
        return "known" if ahead else "seen"
    if value == 0:  # standardised: the training mean, or the mask of what lies ahead
        return "hidden" if ahead else "mean"
    return "fed back"


def fitted(rows):
    # Beside ridges, windows that are not whole would be those of classical forecasters.
    alone = {"members": ["network"], **SMALL}
    return InformerRegressor("load", known_future=["holiday"], **alone).fit(
        DF.iloc[rows]
    )


# --- drawing --------------------------------------------------------------------------------


def ink():
    """Give the colour of texts on the page that is drawn for."""
    return plt.rcParams["text.color"]


def fill(kind):
    """Give the style of a kind of cells on the page that is drawn for."""
    look = STYLES[kind]
    edge = ink() if kind == "hidden" else EDGE  # hatches have it, too
    ground = look["facecolor"] or plt.rcParams["figure.facecolor"]
    return {"linewidth": 0.6, "edgecolor": edge, **look, "facecolor": ground}


def draw_cells(ax, steps, kinds, y, *, height=0.8, texts=None):
    for i, (step, kind) in enumerate(zip(steps, kinds, strict=True)):
        ax.add_patch(Rectangle((step, y), 1, height, **fill(kind)))
        if texts is not None:
            ax.text(
                step + 0.5,
                y + height / 2,
                texts[i],
                ha="center",
                va="center",
                fontsize=9,
                color=ink() if kind == "dropped" else "black",
            )


def outline(ax, steps, y, *, height=0.8):
    look = {"fill": False, "linewidth": 2.2, "edgecolor": ink(), "zorder": 3}
    box = Rectangle((steps[0], y), len(steps), height, **look)
    ax.add_patch(box)


def upright(**style):
    """Make the legend's key of a vertical line."""
    style = {"linestyle": "none", "marker": "|", "markersize": 15} | style
    style["color"] = style["color"] or ink()
    return Line2D([], [], **style)


def bare(ax, *, x, y):
    ax.set(xlim=x, ylim=y, xticks=[], yticks=[])
    ax.spines[:].set_visible(False)


def make_figure(height, rows=1, columns=1, **options):
    figure, axes = plt.subplots(
        rows, columns, figsize=(WIDTH, height), layout="constrained", **options
    )
    return figure, np.atleast_1d(axes)


def add_legend(figure, columns=None, lines=(), boxed=None, **kinds):
    """Explain the styles; keys have "_" for a space."""
    kinds = {kind.replace("_", " "): label for kind, label in kinds.items()}
    handles = [Patch(label=label, **fill(kind)) for kind, label in kinds.items()]
    handles += [upright(**LINES[label], label=label) for label in lines]
    if boxed:
        handles.append(Patch(fill=False, linewidth=2.2, edgecolor=ink(), label=boxed))
    figure.legend(
        handles=handles,
        loc="outside lower center",
        ncols=columns or len(handles),
        frameon=False,
        fontsize=9.5,
        handleheight=1.1,
        columnspacing=1.3,
    )


def draw_asked(ax, windows, requested, y, *, after):
    """Draw the rows of X, and those between the history and X, with the numbers of their blocks."""
    number_of = {
        step: str(n) for n, w in enumerate(windows, start=1) for step in w.block
    }
    between = [step for step in number_of if after <= step < requested[0]]
    for steps, kind in ((between, "dropped"), (requested, "forecast")):
        draw_cells(
            ax, steps, [kind] * len(steps), y, texts=[number_of[step] for step in steps]
        )
    outline(ax, requested, y)


def draw_windows(ax, windows, y, *, gap=0.62, height=0.5):
    """Draw one line per block: its context, its origin, its rows."""
    for number, window in enumerate(windows, start=1):
        y -= gap
        draw_cells(ax, window.context, window.cells["load"][:SEQ_LEN], y, height=height)
        draw_cells(ax, window.block, ["forecast"] * PRED_LEN, y, height=height)
        origin = window.block[0]
        ax.plot(
            [origin, origin],
            [y - 0.05, y + height + 0.05],
            color=LINES["origin of a block"]["color"],
            linewidth=3,
        )
        ax.text(
            window.block[-1] + 1.3,
            y + height / 2,
            f"block {number}",
            va="center",
            fontsize=9,
        )
    return y


# --- the pictures ---------------------------------------------------------------------------


def blocks():
    """Where blocks and their contexts lie, for X in four places."""
    model = fitted(slice(0, HISTORY))
    first_elsewhere = HISTORY + SEQ_LEN + 1
    places = {
        "X continues the history": np.arange(HISTORY, HISTORY + 10),
        "X after a gap": np.arange(HISTORY + 3, HISTORY + 12),
        "X inside the history": np.arange(5, 15),
        f"X more than seq_len = {SEQ_LEN} steps later: with a warning": np.arange(
            first_elsewhere, first_elsewhere + 9
        ),
    }
    figure, axes = make_figure(8.2, len(places))
    for ax, (title, requested) in zip(axes, places.items(), strict=True):
        windows = watch(model, DF.iloc[requested])
        draw_cells(ax, range(HISTORY), ["seen"] * HISTORY, 0)
        draw_asked(ax, windows, requested, 0, after=HISTORY)
        bottom = draw_windows(ax, windows, -0.15)
        ax.plot([HISTORY] * 2, [bottom - 0.1, 1], color=ink(), linestyle=":", zorder=0)
        ax.set_title(title, loc="left", fontsize=10.5, fontweight="bold")
        bare(ax, x=(-2.2, 36), y=(bottom - 0.15, 1))
    add_legend(
        figure,
        columns=3,
        lines=LINES,
        boxed="X",
        seen="observed",
        forecast="forecast, with its block",
        dropped="forecast but not asked for",
        fed_back="own forecast, fed back",
        mean="unknown: training mean",
    )
    return figure


def rolling():
    """Observed targets become history; without them forecasts are fed back."""
    model = fitted(slice(0, HISTORY))
    requested = np.arange(HISTORY, HISTORY + 3 * PRED_LEN)
    observed, missing = DF.iloc[requested], DF.iloc[requested].assign(load=np.nan)
    titles = (
        "rolling origin: X holds the target",
        "recursion: the target of X is missing",
    )
    figure, axes = make_figure(4.6, 2)
    for ax, title, X, kind in zip(
        axes, titles, (observed, missing), ("seen", "hidden"), strict=True
    ):
        windows = watch(model, X)
        begin = HISTORY - SEQ_LEN
        draw_cells(ax, range(begin, HISTORY), ["seen"] * SEQ_LEN, 0)
        draw_cells(ax, requested, [kind] * len(requested), 0)
        outline(ax, requested, 0)
        ax.text(requested[-1] + 1.3, 0.4, "given", va="center", fontsize=9)
        ax.text(begin, 0.95, "history", fontsize=9)
        ax.text(HISTORY, 0.95, "X", fontsize=9, fontweight="bold")
        bottom = draw_windows(ax, windows, -0.15)
        ax.set_title(title, loc="left", fontsize=10.5, fontweight="bold")
        bare(ax, x=(begin - 0.2, requested[-1] + 4), y=(bottom - 0.15, 1.4))
    add_legend(
        figure,
        seen="observed",
        hidden="missing",
        forecast="forecast",
        fed_back="own forecast, fed back",
        lines=["origin of a block"],
    )
    return figure


def modes():
    """Which cells of a frame the forecast of the second block is made from, by mode."""
    train, requested = slice(0, HISTORY), slice(HISTORY, HISTORY + 2 * PRED_LEN)
    features, y = DF[["temp", "holiday"]], DF["load"]
    frame = fitted(train)
    both = clone(frame).fit(DF[train], y[train])
    by_features = InformerRegressor(**SMALL).fit(features[train], y[train])
    models = {
        "frame: fit(df)": (frame, DF),
        "both: fit(df, y)": (both, DF),
        "features: fit(X, y)": (by_features, features),
    }
    figure, axes = make_figure(2.9, 1, 3, sharey=True)
    for ax, (title, (model, X)) in zip(axes, models.items(), strict=True):
        window = watch(model, X[requested])[1]
        steps = np.concatenate([window.context, window.block])
        for y_place, name in enumerate(("load", "holiday", "temp")):
            kinds = window.cells[name]
            draw_cells(ax, steps, kinds, y_place)
            if ax is axes[0]:
                ax.text(
                    steps[0] - 0.4,
                    y_place + 0.4,
                    name,
                    ha="right",
                    va="center",
                    fontsize=10,
                )
        origin = window.block[0]
        ax.plot(
            [origin] * 2,
            [-0.1, 2.9],
            color=LINES["origin of a block"]["color"],
            linewidth=3,
        )
        ax.plot([HISTORY] * 2, [-0.1, 2.9], color=ink(), linestyle=":", linewidth=1.5)
        labels = {HISTORY - 1: "history", HISTORY + 2: "block 1", origin + 2: "block 2"}
        for place, text in labels.items():
            ax.text(place, -0.15, text, ha="center", va="top", fontsize=9)
        ax.set_title(title, fontsize=10.5, fontweight="bold")
        bare(ax, x=(steps[0] - 0.2, steps[-1] + 1.2), y=(-0.6, 3))
    add_legend(
        figure,
        columns=3,
        seen="seen",
        fed_back="own forecast",
        known="known ahead",
        hidden="hidden",
        lines=LINES,
    )
    return figure


def folds():
    """Training rows, gap and test rows of folds, and the blocks that the test rows fall into."""
    n = 34
    splitters = {
        "TimeSeriesSplit(3)": TimeSeriesSplit(3),
        "TimeSeriesSplit(3, test_size=6, gap=3, max_train_size=12)": TimeSeriesSplit(
            3, test_size=6, gap=3, max_train_size=12
        ),
    }
    figure, axes = make_figure(4.0, 2)
    for ax, (title, splitter) in zip(axes, splitters.items(), strict=True):
        for fold, (train, test) in enumerate(splitter.split(DF[:n]), start=1):
            windows = watch(fitted(train), DF.iloc[test])
            draw_cells(ax, range(n), ["unused"] * n, -fold)
            draw_cells(ax, train, ["seen"] * len(train), -fold)
            draw_asked(ax, windows, test, -fold, after=train[-1] + 1)
            ax.text(
                -0.4, 0.4 - fold, f"fold {fold}", ha="right", va="center", fontsize=9.5
            )
        ax.set_title(title, loc="left", fontsize=10.5, fontweight="bold")
        bare(ax, x=(-3, n + 0.2), y=(-fold - 0.15, 0))
    add_legend(
        figure,
        seen="training",
        dropped="gap: forecast, not returned",
        forecast="test; the number is its block",
        unused="not used",
    )
    return figure


def panels():
    """Folds of a panel by rows, and by timestamps."""
    starts = {"a": 0, "b": 4, "c": 2}
    n = 16
    keys = [(name, time) for name, start in starts.items() for time in range(start, n)]
    X = pd.DataFrame({"load": 0.0}, index=pd.MultiIndex.from_tuples(keys))
    splitters = {
        "wrong: TimeSeriesSplit(2)": TimeSeriesSplit(2),
        "right: PanelTimeSeriesSplit(2)": PanelTimeSeriesSplit(2),
    }
    figure, axes = make_figure(3.4, 2, 2)
    for column, (title, splitter) in zip(axes.T, splitters.items(), strict=True):
        for fold, (train, test) in enumerate(splitter.split(X), start=1):
            ax = column[fold - 1]
            kinds = np.full(len(X), "unused", dtype=object)
            kinds[train], kinds[test] = "seen", "forecast"
            for place, name in enumerate(starts):
                rows = np.flatnonzero(X.index.get_level_values(0) == name)
                times = X.index.get_level_values(1)[rows]
                draw_cells(ax, times, kinds[rows], -place)
                ax.text(-0.4, 0.4 - place, name, ha="right", va="center", fontsize=10)
            ax.text(
                -1.5,
                -0.6,
                f"fold {fold}",
                rotation=90,
                ha="center",
                va="center",
                fontsize=10,
            )
            bare(ax, x=(-2, n + 0.2), y=(-2.15, 0.9))
        column[0].set_title(title, loc="left", fontsize=10.5, fontweight="bold")
        column[1].set_xlabel("time →", fontsize=10)
    add_legend(figure, seen="training", forecast="test", unused="not used")
    return figure


PICTURES = (blocks, rolling, modes, folds, panels)


def draw(folder):
    """Draw every picture into a folder and return the files."""
    return [
        file
        for picture in PICTURES
        for file in draw_pair(picture, folder, f"user_guide_{picture.__name__}")
    ]


if __name__ == "__main__":
    plt.switch_backend("agg")
    draw(sys.argv[1] if len(sys.argv) > 1 else Path(__file__).parent / "images")
