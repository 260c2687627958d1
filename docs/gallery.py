"""Draw the gallery: `python docs/gallery.py [FOLDER]`.

Every display of `skinformer.display` on the bundled counts, by small models that are fitted here;
the folder is `docs/images` by default.
"""

import sys
import warnings
from functools import cache
from pathlib import Path

import pandas as pd
from matplotlib import pyplot as plt
from PIL import Image
from sklearn.ensemble import HistGradientBoostingRegressor

from skinformer import Attention, InformerRegressor
from skinformer.datasets import load_auckland_pedestrians
from skinformer.display import (
    AttentionDisplay,
    ContributionDisplay,
    CostDisplay,
    CoverageDisplay,
    ErrorDisplay,
    ForecastDisplay,
    ResidualDisplay,
    SharesDisplay,
    TrainingDisplay,
)
from skinformer.evaluation import SeasonalNaive, backtest, explain

STREET, UNIT = "45 Queen Street", "people per hour"
LEVELS = [0.05, 0.1, 0.25, 0.75, 0.9, 0.95]
SMALL = {"seq_len": 48, "pred_len": 24, "d_model": 8, "n_heads": 1, "max_iter": 6}
COUNTS = load_auckland_pedestrians().loc["2024-09":"2024-11"]
TRAIN, TEST = COUNTS[: -24 * 28], COUNTS[-24 * 28 :]


@cache
def fitted():
    trees = HistGradientBoostingRegressor(max_iter=30)
    model = InformerRegressor(STREET, base=trees, random_state=0, **SMALL)
    return model.fit(TRAIN[[STREET]])


@cache
def result():
    return backtest(fitted(), TEST[[STREET]], levels=LEVELS)


@cache
def of_streets():
    """Eight targets at once; quickly, as the picture is what matters."""
    naive = SeasonalNaive(168, target=list(COUNTS)).fit(TRAIN)
    return backtest(naive, TEST, TEST, horizon=24)


@cache
def reasons():
    """Take apart eight days with a holiday, by the model of explaining.md."""
    counts = load_auckland_pedestrians().loc["2023-10":"2024-10", [STREET]]
    days = "2023-10-23 2023-12-25 2023-12-26 2024-01-01 2024-01-02 2024-01-29 2024-02-06 2024-03-29"
    days += " 2024-04-01 2024-04-25 2024-06-03 2024-06-28 2024-09-23 2024-10-28"
    counts["holiday"] = counts.index.strftime("%Y-%m-%d").isin(days.split()).astype(float)
    trees = HistGradientBoostingRegressor(max_iter=100)
    small = {"seq_len": 48, "d_model": 8, "n_heads": 1, "max_iter": 1, "max_windows": 1000}
    model = InformerRegressor(STREET, known_future=["holiday"], base=trees, random_state=0, **small)
    return explain(model.fit(counts[:"2024-10-21"]), counts["2024-10-22":"2024-10-29"])


def contributions():
    return ContributionDisplay.from_frame(reasons(), time="2024-10-28", unit=UNIT)


def contributions_over_time():
    return ContributionDisplay.from_frame(reasons(), kind="heatmap", unit=UNIT)


@cache
def attentive():
    """Fit a network alone whose encoder selects queries, on patches of two hours."""
    attention = Attention(encoder="probsparse", factor=3)
    sizes = {"d_model": 16, "n_heads": 4, "patch_len": 2, "max_iter": 3, "base": None}
    model = InformerRegressor(STREET, attention=attention, random_state=0, **sizes)
    return model.fit(TRAIN[[STREET]])


def attention():
    return AttentionDisplay.from_estimator(attentive(), TEST[[STREET]][:24])


def forecast():
    table = result().set_index("time")[: 24 * 7]
    bands = table[[name for name in table if name.startswith("q")]]
    actual = table["actual"].rename(STREET)
    return ForecastDisplay.from_predictions(actual, table["forecast"], bands, unit=UNIT)


def coverage():
    return CoverageDisplay.from_predictions(result())


def coverage_by_step():
    return CoverageDisplay.from_predictions(result(), by="ahead")


def errors():
    y = TEST[[STREET]]
    naive = {
        f"{name} repeated": backtest(
            SeasonalNaive(season, target=[STREET]).fit(TRAIN[[STREET]]), y, y, horizon=24
        )
        for name, season in (("last day", 24), ("last week", 168))
    }
    return ErrorDisplay.from_predictions({"Informer": result(), **naive}, unit=UNIT)


def errors_by_hour():
    streets = dict(list(of_streets().groupby("target")))
    return ErrorDisplay.from_predictions(streets, by="hour", unit=UNIT)


def training():
    return TrainingDisplay.from_estimator(fitted())


def cost():
    """Draw `fit_times_` of `fitted()` as once measured: another run takes other seconds."""
    parts = ["reading", "linear path", "trees", "network", "shares", "other"]
    seconds, processors = [0.2, 0.1, 0.9, 4.4, 0.1, 0.1], [0.2, 0.1, 0.6, 2.9, 0.1, 0.0]
    times = {"part": parts, "seconds": seconds, "cpu_seconds": processors}
    return CostDisplay(pd.DataFrame(times)).plot()


def shares():
    return SharesDisplay.from_estimator(fitted())


def residuals():
    return ResidualDisplay.from_predictions(result(), unit=UNIT)


PICTURES = (
    forecast,
    coverage,
    coverage_by_step,
    errors,
    errors_by_hour,
    training,
    cost,
    shares,
    residuals,
    contributions,
    contributions_over_time,
    attention,
)
DARK = (forecast, errors_by_hour, contributions_over_time, attention)


def draw(folder):
    """Draw every picture into a folder and return the files."""
    pairs = [("default", each) for each in PICTURES] + [("dark_background", each) for each in DARK]
    files = []
    for style, picture in pairs:
        with plt.style.context(style), warnings.catch_warnings():
            warnings.simplefilter("ignore", UserWarning)  # of fits that are this small
            display = picture()
            dark = "_dark" if style != "default" else ""
            files.append(Path(folder) / f"gallery_{picture.__name__}{dark}.png")
            display.figure_.savefig(files[-1], dpi=90)
            plt.close(display.figure_)
        with Image.open(files[-1]) as image:
            small = image.convert("RGB").quantize(64)  # a palette: a third of the size
        small.save(files[-1], optimize=True)
    return files


if __name__ == "__main__":
    plt.switch_backend("agg")
    draw(sys.argv[1] if len(sys.argv) > 1 else Path(__file__).parent / "images")
