"""
Forecast how crowded a street will be
=====================================

Is each hour of tomorrow quiet, normal or busy? Trains a classifier on a year and a half of hourly
counts of a shopping street in Auckland, forecasts half a year a day at a time, and compares it with
three rivals. Takes one to two minutes on two cores, and saves a picture of how often each forecast
probability came true under ``examples/output``, or where you say::

    python examples/plot_crowd.py [--output FOLDER]
"""

import argparse
from pathlib import Path

import numpy as np
import pandas as pd
from comparison import OUTPUT, picture_path
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.metrics import balanced_accuracy_score, log_loss

from skinformer import InformerClassifier
from skinformer.datasets import load_auckland_pedestrians

DAY, WEEK = 24, 168
STREET, TEST_ROWS = "45 Queen Street", 26 * WEEK
LEVELS = ["quiet", "normal", "busy"]


def main(argv: list[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description="Forecast how crowded a street will be.")
    parser.add_argument("--output", type=Path, default=OUTPUT, help="folder or file of the picture")
    parser.add_argument("--epochs", type=int, help="of training, at most")
    args = parser.parse_args(argv)
    try:
        picture = picture_path(args.output, "crowd.png")
    except OSError as error:
        parser.error(str(error))

    # %%
    # A third of the training hours is quiet, a third busy. The count of people is a column beside
    # the level: known up to the origin, not ahead.
    people = load_auckland_pedestrians()[STREET]
    low, high = people[:-TEST_ROWS].quantile([1 / 3, 2 / 3])
    level = pd.cut(people, [-np.inf, low, high, np.inf], labels=LEVELS)
    df = pd.DataFrame({"people": people, "level": level})
    train, test = df[:-TEST_ROWS], df[-TEST_ROWS:]
    print(f"{len(train)} hours to train on, {len(test)} to test on: {STREET}")

    # %%
    # Every day is forecast from the midnight before it: history follows the test as it comes.
    model = InformerClassifier("level", seq_len=WEEK, pred_len=DAY, max_iter=args.epochs)
    model.set_params(random_state=0, verbose=1).fit(train)
    forecasts = {"InformerClassifier": model.predict_proba(test)}
    forecasts |= rivals(df, model.classes_)
    table = scores(test["level"], forecasts, model.classes_)
    print("\nForecasts of the last half year, a day ahead:\n")
    print(table.round(3).to_string())
    print(f"\nWho spoke: {model.base_blend_}, network {model.trust_:g}")
    draw(test["level"], forecasts, model.classes_, picture)
    print(f"How often forecasts came true: {picture.resolve()}")


# %%
# The rivals know what the model knows: nothing from the midnight before a day on.


def rivals(df: pd.DataFrame, classes: np.ndarray) -> dict[str, np.ndarray]:
    """Forecast the test rows by the last level, by hour and weekday, and by boosting."""
    level, rows = df["level"].astype(str), slice(-TEST_ROWS, None)
    train = level[:-TEST_ROWS]
    hours_ahead = np.arange(TEST_ROWS) % DAY + 1
    last = level.to_numpy()[len(train) + np.arange(TEST_ROWS) - hours_ahead]
    stays = float(np.mean(train.to_numpy()[DAY:] == train.to_numpy()[:-DAY]))
    naive = np.where(classes == last[:, None], stays, (1 - stays) / (len(classes) - 1))

    def hour_of_week(index: pd.DatetimeIndex) -> np.ndarray:
        return np.asarray(index.day_of_week * DAY + index.hour)

    counts = pd.crosstab(hour_of_week(train.index), train.to_numpy())[classes] + 1
    often = counts.div(counts.sum(axis=1), axis=0).loc[hour_of_week(df.index[rows])].to_numpy()

    lags = {f"lag {k}": df["people"].shift(k) for k in range(DAY, DAY + WEEK)}
    calendar = {"hour": df.index.hour, "weekday": df.index.day_of_week, "month": df.index.month}
    table = pd.DataFrame({**lags, **calendar}, index=df.index)
    boosting = HistGradientBoostingClassifier(random_state=0)
    boosting.fit(table[DAY + WEEK : -TEST_ROWS], train[DAY + WEEK :])
    return {
        "last level": naive,
        "hour and weekday": often,
        "boosting on 168 lags": boosting.predict_proba(table[rows]),
    }


def scores(truth: pd.Series, forecasts: dict[str, np.ndarray], classes: np.ndarray) -> pd.DataFrame:
    """Give log loss, balanced accuracy and calibration error of each."""
    truth = truth.astype(str)
    return pd.DataFrame(
        {
            name: {
                "log loss": log_loss(truth, each, labels=classes),
                "balanced accuracy": balanced_accuracy_score(truth, classes[each.argmax(axis=1)]),
                "calibration error": calibration_error(truth, each, classes),
            }
            for name, each in forecasts.items()
        }
    ).T


def calibration_error(truth: pd.Series, forecast: np.ndarray, classes: np.ndarray) -> float:
    """Give the mean distance of how sure forecasts are from how often they are right."""
    sure, right = forecast.max(axis=1), classes[forecast.argmax(axis=1)] == truth.to_numpy()
    gaps = pd.Series(sure - right).groupby(np.minimum((sure * 10).astype(int), 9)).sum().abs()
    return float(gaps.sum() / len(truth))


def draw(
    truth: pd.Series, forecasts: dict[str, np.ndarray], classes: np.ndarray, path: Path
) -> None:
    """Draw how often each class came beside how likely it was called."""
    import matplotlib

    matplotlib.use("agg")
    from matplotlib import pyplot
    from sklearn.calibration import CalibrationDisplay

    figure, panels = pyplot.subplots(1, len(LEVELS), figsize=(10, 3.6), sharey=True)
    for panel, label in zip(panels, LEVELS, strict=True):
        k = list(classes).index(label)
        for name in ("InformerClassifier", "boosting on 168 lags"):
            CalibrationDisplay.from_predictions(
                truth.astype(str) == label, forecasts[name][:, k], n_bins=10, name=name, ax=panel
            )
        panel.set(title=label, xlabel="forecast probability", ylabel="share that came")
    figure.tight_layout()
    figure.savefig(path, dpi=110)
    pyplot.close(figure)


if __name__ == "__main__":
    main()
