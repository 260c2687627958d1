"""Draw the gallery: `python docs/gallery.py [FOLDER]`.

Every display of `skinformer.display` on the bundled counts. Small models are fitted anew, which
takes a minute, what the pictures need of them is written to `gallery.npz` beside this script, and
the pictures are drawn from there into the folder, `docs/images` by default: processors round
differently, so that another machine's fit draws another picture, but not another machine's file.
"""

import sys
import warnings
from functools import cache
from pathlib import Path

import numpy as np
import pandas as pd
from matplotlib import pyplot as plt
from PIL import Image
from sklearn.ensemble import HistGradientBoostingRegressor

from skinformer import Attention, InformerRegressor, Network, Training
from skinformer.datasets import load_auckland_pedestrians
from skinformer.display import (
    AttentionDisplay,
    ContributionDisplay,
    CoverageDisplay,
    ErrorDisplay,
    ForecastDisplay,
    ResidualDisplay,
    TrainingDisplay,
    WeightsDisplay,
)
from skinformer.display.axes import legend_above
from skinformer.evaluation import (
    AttentionMap,
    SeasonalNaive,
    attention_maps,
    backtest,
    explain,
)

FIRST_ROWS = 2016
NUMBERS = Path(__file__).with_name("gallery.npz")
STREET, UNIT = "45 Queen Street", "people per hour"
LEVELS = [0.05, 0.1, 0.25, 0.75, 0.9, 0.95]
SMALL = {
    "seq_len": 48,
    "pred_len": 24,
    "network": Network(d_model=8, n_heads=1),
    "training": Training(max_iter=6),
}
COUNTS = load_auckland_pedestrians().loc["2024-09":"2024-11"]
TRAIN, TEST = COUNTS[: -24 * 28], COUNTS[-24 * 28 :]


# --- what is fitted, and kept in the file ---------------------------------------------------


def measure():
    """Fit the models and return what the pictures need of them, as arrays by name."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # of fits that are this small
        return {**of_first(), **of_forecasts(), **of_reasons(), **of_attention()}


def of_first():
    """Forecast as the first lines of the README do."""
    df = load_auckland_pedestrians()[[STREET]][:FIRST_ROWS]
    model = InformerRegressor(STREET, seq_len=168, pred_len=24, random_state=0)
    drawn = model.fit(df).plot(coverage=[0.5, 0.8])
    plt.close(drawn.figure_)
    ahead = drawn.quantiles.assign(forecast=drawn.forecast)
    return {
        **pack(
            "first", drawn.actual.rename("actual").rename_axis("time").reset_index()
        ),
        **pack("ahead", ahead.rename(columns=str).rename_axis("time").reset_index()),
    }


def of_forecasts():
    trees = HistGradientBoostingRegressor(max_iter=30)
    model = InformerRegressor(
        STREET, members=["ridges", trees, "network"], random_state=0, **SMALL
    ).fit(TRAIN[[STREET]])
    result = backtest(model, TEST[[STREET]], levels=LEVELS)
    fit = TrainingDisplay.from_estimator(model)
    shares = WeightsDisplay.from_estimator(model).weights
    return {
        **pack("result", result),
        **pack("history", fit.history.drop(columns="seconds")),
        **pack("fit", pd.DataFrame({"trust": [fit.trust]})),
        **pack("shares", shares.rename_axis("ahead").reset_index()),
    }


def of_reasons():
    """Take apart eight days with a holiday, by the model of explaining.md."""
    counts = load_auckland_pedestrians().loc["2023-10":"2024-10", [STREET]]
    days = "2023-10-23 2023-12-25 2023-12-26 2024-01-01 2024-01-02 2024-01-29 2024-02-06 2024-03-29"
    days += " 2024-04-01 2024-04-25 2024-06-03 2024-06-28 2024-09-23 2024-10-28"
    counts["holiday"] = (
        counts.index.strftime("%Y-%m-%d").isin(days.split()).astype(float)
    )
    trees = HistGradientBoostingRegressor(max_iter=100)
    model = InformerRegressor(
        STREET,
        known_future=["holiday"],
        seq_len=48,
        members=["ridges", trees, "network"],
        network=Network(d_model=8, n_heads=1),
        training=Training(max_iter=1, max_windows=1000),
        random_state=0,
    )
    return pack(
        "reasons",
        explain(model.fit(counts[:"2024-10-21"]), counts["2024-10-22":"2024-10-29"]),
    )


def of_attention():
    """Fit a network alone whose encoder selects queries, on patches of two hours."""
    attention = Attention(encoder="probsparse", factor=3)
    model = InformerRegressor(
        STREET,
        members=["network"],
        network=Network(d_model=16, patch_len=2, attention=attention),
        training=Training(max_iter=3),
        random_state=0,
    )
    first = attention_maps(model.fit(TRAIN[[STREET]]), TEST[[STREET]][:24])[0]
    names = ("weights", "selected", "visible")
    return {
        **{f"attention/{name}": getattr(first, name) for name in names},
        **pack("query_times", first.query_times),
        **pack("key_times", first.key_times),
    }


def pack(name, table):
    """Return the columns of a table as arrays; times are UTC."""
    return {f"{name}/{column}": as_array(table[column]) for column in table}


def as_array(column):
    if isinstance(column.dtype, pd.DatetimeTZDtype):
        return column.dt.tz_convert(None).to_numpy()
    if pd.api.types.is_float_dtype(column):
        return column.to_numpy(dtype=np.float32)
    return column.to_numpy(dtype=str if column.dtype == "str" else None)


@cache
def numbers():
    """Read the file."""
    with np.load(NUMBERS) as file:
        return dict(file)


def table(name):
    """Return a table of the file; times are those of the counts."""
    start = f"{name}/"
    columns = {
        key.removeprefix(start): x
        for key, x in numbers().items()
        if key.startswith(start)
    }
    frame = pd.DataFrame(columns)
    for column in frame.select_dtypes("datetime"):
        frame[column] = (
            frame[column].dt.tz_localize("UTC").dt.tz_convert(COUNTS.index.tz)
        )
    return frame


# --- the pictures ---------------------------------------------------------------------------


@cache
def of_streets():
    """Eight targets at once; repeated seasons are the same everywhere, and in no file."""
    naive = SeasonalNaive(168, target=list(COUNTS)).fit(TRAIN)
    return backtest(naive, TEST, TEST, horizon=24)


def first():
    history, ahead = (table(name).set_index("time") for name in ("first", "ahead"))
    forecast, actual = ahead.pop("forecast"), history["actual"].rename(STREET)
    display = ForecastDisplay(
        actual, forecast, ahead.rename(columns=float), unit=UNIT
    ).plot()
    came = load_auckland_pedestrians()[[STREET]][FIRST_ROWS : FIRST_ROWS + len(ahead)]
    display.ax_.plot(came, "k--", label="actual value of that day")
    legend_above(display.ax_)
    return display


def contributions():
    return ContributionDisplay.from_frame(
        table("reasons"), time="2024-10-28", unit=UNIT
    )


def contributions_over_time():
    return ContributionDisplay.from_frame(table("reasons"), kind="heatmap", unit=UNIT)


def attention():
    arrays = [
        numbers()[f"attention/{name}"] for name in ("weights", "selected", "visible")
    ]
    times = [table("query_times"), table("key_times")]
    return AttentionDisplay.from_maps(
        AttentionMap("encoder", 1, TEST.index[0], None, 1.0, *arrays, *times)
    )


def forecast():
    week = table("result").set_index("time")[: 24 * 7]
    bands = week[[name for name in week if name.startswith("q")]]
    actual = week["actual"].rename(STREET)
    return ForecastDisplay.from_predictions(actual, week["forecast"], bands, unit=UNIT)


def coverage():
    return CoverageDisplay.from_predictions(table("result"))


def coverage_by_step():
    return CoverageDisplay.from_predictions(table("result"), by="ahead")


def errors():
    y = TEST[[STREET]]
    naive = {
        f"{name} repeated": backtest(
            SeasonalNaive(season, target=[STREET]).fit(TRAIN[[STREET]]),
            y,
            y,
            horizon=24,
        )
        for name, season in (("last day", 24), ("last week", 168))
    }
    return ErrorDisplay.from_predictions(
        {"Informer": table("result"), **naive}, unit=UNIT
    )


def errors_by_hour():
    streets = dict(list(of_streets().groupby("target")))
    return ErrorDisplay.from_predictions(streets, by="hour", unit=UNIT)


def training():
    trust = table("fit")["trust"].iloc[0]
    return TrainingDisplay(table("history"), trust=trust).plot()


def weights():
    return WeightsDisplay(table("shares").set_index("ahead")).plot()


def residuals():
    return ResidualDisplay.from_predictions(table("result"), unit=UNIT)


PICTURES = (
    first,
    forecast,
    coverage,
    coverage_by_step,
    errors,
    errors_by_hour,
    training,
    weights,
    residuals,
    contributions,
    contributions_over_time,
    attention,
)
DARK = (forecast, errors_by_hour, contributions_over_time, attention)


def draw(folder):
    """Draw every picture into a folder and return the files."""
    pairs = [("default", each) for each in PICTURES] + [
        ("dark_background", each) for each in DARK
    ]
    files = []
    for style, picture in pairs:
        with plt.style.context(style):
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
    np.savez_compressed(NUMBERS, **measure())
    draw(sys.argv[1] if len(sys.argv) > 1 else Path(__file__).parent / "images")
