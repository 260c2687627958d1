"""Draw the pictures of the plots and of the examples: `python docs/gallery.py [FOLDER]`.

Every display of `skinformer.display` on the bundled counts, and what two examples draw. Models are
fitted anew, which takes some minutes, what the pictures need of them is written to `gallery.npz`
beside this script, and the pictures are drawn from there into the folder, `docs/images` by default:
processors round differently, so that another machine's fit draws another picture, but not another
machine's file.
"""

import runpy
import sys
import tempfile
import warnings
from functools import cache
from pathlib import Path
from unittest import mock

import numpy as np
import pandas as pd
from matplotlib import pyplot as plt
from sklearn.calibration import CalibrationDisplay
from sklearn.ensemble import HistGradientBoostingRegressor

sys.path.insert(0, str(Path(__file__).parent))

from style import WIDE, WIDTH, axes, draw_pair

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
DAY = "2024-05-06"  # a Monday
COUNTS = load_auckland_pedestrians().loc["2023-09":"2024-05"]
TRAIN, TEST = COUNTS[: -24 * 70], COUNTS[-24 * 70 :]


# --- what is fitted, and kept in the file ---------------------------------------------------


def measure():
    """Fit the models and return what the pictures need of them, as arrays by name."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # of fits that are this small
        return {
            **of_first(),
            **of_forecasts(),
            **of_training(),
            **of_reasons(),
            **of_attention(),
            **of_quickstart(),
            **of_crowd(),
        }


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
    """Forecast ten weeks, a day ahead, by the same settings."""
    model = InformerRegressor(STREET, seq_len=168, pred_len=24, random_state=0)
    model.fit(TRAIN[[STREET]])
    shares = WeightsDisplay.from_estimator(model).weights
    return {
        **pack("result", backtest(model, TEST[[STREET]], levels=LEVELS)),
        **pack("shares", shares.rename_axis("ahead").reset_index()),
    }


def of_training():
    """Train a network alone, and for too long: what it learns last is of these rows alone."""
    model = InformerRegressor(
        STREET,
        members=["network"],
        network=Network(d_model=32, patch_len=4),
        training=Training(max_iter=25, n_iter_no_change=25),
        random_state=0,
    )
    fit = TrainingDisplay.from_estimator(model.fit(TRAIN[[STREET]][-24 * 56 :]))
    return pack("history", fit.history.drop(columns="seconds"))


def of_quickstart():
    """Run the quickstart, and keep the week that it draws."""
    drawn = run_example("plot_quickstart")["display"]
    week = drawn.quantiles.rename(columns=str)
    week = week.assign(forecast=drawn.forecast, actual=drawn.actual)
    return pack("week", week.rename_axis("time").reset_index())


def of_crowd():
    """Run the example of classes, and keep how often each came over how likely it was."""
    run = run_example("plot_crowd")
    points = []
    for label in run["LEVELS"]:
        for name in ("InformerClassifier", "boosting on 168 lags"):
            proba = run["forecasts"][name][:, list(run["classes"]).index(label)]
            drawn = CalibrationDisplay.from_predictions(
                run["y_test"] == label, proba, n_bins=10
            )
            plt.close(drawn.figure_)
            came = {"came": drawn.prob_true, "forecast": drawn.prob_pred}
            points.append(pd.DataFrame(came).assign(label=label, model=name))
    table = pd.concat(points)
    return pack("crowd", table.astype({"label": "str", "model": "str"}))


def run_example(name):
    """Run a script of the examples, and give what it has made."""
    folder = Path(__file__).resolve().parents[1] / "examples"
    with (
        tempfile.TemporaryDirectory() as output,
        mock.patch.object(sys, "argv", [name, "--output", output]),
        mock.patch.object(sys, "path", [str(folder), *sys.path]),
    ):
        made = runpy.run_path(str(folder / f"{name}.py"))
    plt.close("all")
    return made


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
        network=Network(d_model=16, n_heads=4, patch_len=2, attention=attention),
        training=Training(max_iter=3),
        random_state=0,
    )
    first = attention_maps(model.fit(TRAIN[[STREET]][-24 * 63 :]), TEST[[STREET]][:24])[
        0
    ]
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
    ).plot(ax=axes(3.7))
    came = load_auckland_pedestrians()[[STREET]][FIRST_ROWS : FIRST_ROWS + len(ahead)]
    ink = display.actual_line_.get_color()
    display.ax_.plot(came, "--", color=ink, label="actual value of that day")
    legend_above(display.ax_)
    return display


def forecast():
    week = table("result").set_index("time")[DAY:][: 24 * 7]
    bands = week[[name for name in week if name.startswith("q")]]
    actual = week["actual"].rename(STREET)
    return ForecastDisplay.from_predictions(
        actual, week["forecast"], bands, unit=UNIT, ax=axes(3.7)
    )


def quickstart():
    week = table("week").set_index("time")
    actual, forecast = week.pop("actual").rename(STREET), week.pop("forecast")
    return ForecastDisplay(
        actual, forecast, week.rename(columns=float), unit=UNIT
    ).plot(ax=axes(3.7))


def coverage():
    _, ax = plt.subplots(figsize=(3.6, 3.6))
    return CoverageDisplay.from_predictions(table("result"), ax=ax)


def coverage_by_step():
    return CoverageDisplay.from_predictions(table("result"), by="ahead", ax=axes(3.4))


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
        {"InformerRegressor": table("result"), **naive}, unit=UNIT, ax=axes(3.4)
    )


def errors_by_hour():
    streets = dict(list(of_streets().groupby("target")))
    return ErrorDisplay.from_predictions(streets, by="hour", unit=UNIT, ax=axes(4.2))


def training():
    display = TrainingDisplay(table("history")).plot(ax=axes(3.4))
    display.ax_.set_yscale("log")
    return display


def weights():
    return WeightsDisplay(table("shares").set_index("ahead")).plot(ax=axes(3.4))


def residuals():
    figure = plt.figure(figsize=(WIDTH, 5.2))
    mosaic = figure.subplot_mosaic("tt;ha")
    return ResidualDisplay.from_predictions(
        table("result")[-24 * 28 :], unit=UNIT, ax=list(mosaic.values())
    )


def contributions():
    return ContributionDisplay.from_frame(
        table("reasons"), time="2024-10-28", unit=UNIT, ax=axes(2.4)
    )


def contributions_over_time():
    return ContributionDisplay.from_frame(
        table("reasons"), kind="heatmap", unit=UNIT, ax=axes(2.4)
    )


def attention():
    arrays = [
        numbers()[f"attention/{name}"] for name in ("weights", "selected", "visible")
    ]
    times = [table("query_times"), table("key_times")]
    maps = AttentionMap("encoder", 1, TEST.index[0], None, 1.0, *arrays, *times)
    _, heads = plt.subplots(2, 2, figsize=(WIDE, 7))
    display = AttentionDisplay.from_maps(maps, ax=list(heads.ravel()))
    for ax in heads.ravel():
        ax.label_outer()
    return display


def crowd():
    points = table("crowd")
    panels = axes(3.1, 3, sharey=True)
    for ax, (label, each) in zip(
        panels, points.groupby("label", sort=False), strict=True
    ):
        ax.axline(
            (0, 0),
            slope=1,
            color=ax.xaxis.label.get_color(),
            ls=":",
            label="calibrated",
        )
        for name, line in each.groupby("model", sort=False):
            ax.plot(line["forecast"], line["came"], "s-", ms=4, lw=1.2, label=name)
        ax.set_title(label, fontsize="medium")
        ax.set_xlabel("forecast probability")
    panels[0].set_ylabel("observed frequency")
    panels[0].figure.legend(
        *panels[0].get_legend_handles_labels(),
        loc="outside upper center",
        ncols=3,
        frameon=False,
    )
    return panels[0]


PICTURES = {
    "gallery_first": first,
    "gallery_forecast": forecast,
    "gallery_coverage": coverage,
    "gallery_coverage_by_step": coverage_by_step,
    "gallery_errors": errors,
    "gallery_errors_by_hour": errors_by_hour,
    "gallery_training": training,
    "gallery_weights": weights,
    "gallery_residuals": residuals,
    "gallery_contributions": contributions,
    "gallery_contributions_over_time": contributions_over_time,
    "gallery_attention": attention,
    "quickstart": quickstart,
    "crowd_reliability": crowd,
}


def figure_of(picture):
    """Draw a picture, and give its figure."""
    drawn = picture()
    return getattr(drawn, "figure_", None) or drawn.figure


def draw(folder):
    """Draw every picture into a folder and return the files."""
    return [
        file
        for name, picture in PICTURES.items()
        for file in draw_pair(lambda picture=picture: figure_of(picture), folder, name)
    ]


if __name__ == "__main__":
    plt.switch_backend("agg")
    np.savez_compressed(NUMBERS, **measure())
    draw(sys.argv[1] if len(sys.argv) > 1 else Path(__file__).parent / "images")
