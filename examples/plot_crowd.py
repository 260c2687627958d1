"""
Forecast how crowded a street will be
=====================================

Is each hour of tomorrow quiet, normal or busy? Trains a classifier on a year and a half of hourly
counts of a shopping street in Auckland, forecasts half a year a day at a time, and compares it with
three rivals. Takes one to two minutes on two cores, and saves a picture of how often each forecast
probability came true under ``examples/output``, or where you say. It imports ``comparison.py`` from
the folder beside it; run it in the repository::

    python examples/plot_crowd.py [--output FOLDER]
"""

# %%
# A third of the training hours is quiet, a third busy. The count of people is a column beside the
# level: known up to the origin, not ahead.

import numpy as np
import pandas as pd
from comparison import arguments, shown
from matplotlib import pyplot as plt
from sklearn.calibration import CalibrationDisplay
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.metrics import balanced_accuracy_score, log_loss

from skinformer import InformerClassifier
from skinformer.datasets import load_auckland_pedestrians

DAY, WEEK = 24, 168
STREET, TEST_ROWS = "45 Queen Street", 26 * WEEK
LEVELS = ["quiet", "normal", "busy"]
args = arguments("Forecast how crowded a street will be.", "crowd.png")

people = load_auckland_pedestrians()[STREET]
low, high = people[:-TEST_ROWS].quantile([1 / 3, 2 / 3])
level = pd.cut(people, [-np.inf, low, high, np.inf], labels=LEVELS)
df = pd.DataFrame({"people": people, "level": level})
train, test = df[:-TEST_ROWS], df[-TEST_ROWS:]
print(f"{len(train)} hours to train on, {len(test)} to test on: {STREET}")

# %%
# Every day is forecast from the midnight before it: history follows the test as it comes.

model = InformerClassifier(
    "level",
    seq_len=WEEK,
    pred_len=DAY,
    max_iter=args.epochs,
    random_state=0,
    verbose=1,  # it takes a minute, and says how far it is
)
model.fit(train)
forecasts = {"InformerClassifier": model.predict_proba(test)}

# %%
# The rivals know what the model knows: nothing from the midnight before a day on. The last level
# comes as often as it stays for a day; the other two share the rest.

classes, y_train = model.classes_, train["level"].astype(str)
hours_ahead = np.arange(TEST_ROWS) % DAY + 1
last = (
    df["level"].astype(str).to_numpy()[len(train) + np.arange(TEST_ROWS) - hours_ahead]
)
stays = float(np.mean(y_train.to_numpy()[DAY:] == y_train.to_numpy()[:-DAY]))
forecasts["last level"] = np.where(classes == last[:, None], stays, (1 - stays) / 2)

# %%
# How often each level came at this hour and weekday.

hour_of_week = df.index.day_of_week * DAY + df.index.hour
often = pd.crosstab(hour_of_week[:-TEST_ROWS], y_train.to_numpy())[classes] + 1
often = often.div(often.sum(axis=1), axis=0)
forecasts["hour and weekday"] = often.loc[hour_of_week[-TEST_ROWS:]].to_numpy()

# %%
# Boosted trees on the counts of the week that ends a day before.

lags = {f"lag {k}": people.shift(k) for k in range(DAY, DAY + WEEK)}
calendar = {
    "hour": df.index.hour,
    "weekday": df.index.day_of_week,
    "month": df.index.month,
}
table = pd.DataFrame({**lags, **calendar}, index=df.index)
boosting = HistGradientBoostingClassifier(random_state=0)
boosting.fit(table[DAY + WEEK : -TEST_ROWS], y_train[DAY + WEEK :])
forecasts["boosting on 168 lags"] = boosting.predict_proba(table[-TEST_ROWS:])

# %%
# The calibration error is the mean distance of how sure forecasts are from how often they are
# right.

truth = test["level"].astype(str)


def calibration_error(forecast: np.ndarray) -> float:
    sure, right = (
        forecast.max(axis=1),
        classes[forecast.argmax(axis=1)] == truth.to_numpy(),
    )
    gaps = (
        pd.Series(sure - right)
        .groupby(np.minimum((sure * 10).astype(int), 9))
        .sum()
        .abs()
    )
    return float(gaps.sum() / len(truth))


scores = {
    name: {
        "log loss": log_loss(truth, each, labels=classes),
        "balanced accuracy": balanced_accuracy_score(
            truth, classes[each.argmax(axis=1)]
        ),
        "calibration error": calibration_error(each),
    }
    for name, each in forecasts.items()
}
print("\nForecasts of the last half year, a day ahead:\n")
print(pd.DataFrame(scores).T.round(3).to_string())
print(f"\nEnsemble weights: {model.base_blend_}, network {model.trust_:g}")

# %%
# How often each level came, beside how likely it was called: on the diagonal forecasts are true.

figure, panels = plt.subplots(
    1, len(LEVELS), figsize=(10, 3.6), sharey=True, layout="constrained"
)
for panel, label in zip(panels, LEVELS, strict=True):
    k = list(classes).index(label)
    for name in ("InformerClassifier", "boosting on 168 lags"):
        CalibrationDisplay.from_predictions(
            truth == label, forecasts[name][:, k], n_bins=10, name=name, ax=panel
        )
    panel.set(title=label, xlabel="forecast probability", ylabel="")
panels[0].set_ylabel("share that came")
figure.savefig(args.picture, dpi=110)
print(f"How often forecasts came true: {shown(args.picture)}")
