"""
Forecast how crowded a street will be
=====================================

Is each hour of tomorrow quiet, normal or busy? Trains a classifier on a year and a half of hourly
counts of a shopping street in Auckland, forecasts each day of half a year from the midnight before
it, and compares the model with three others. This takes one to two minutes on two cores. The plot
shows how often each level came at each forecast probability; it is saved in ``examples/output``, or
in the folder given by ``--output``. The script imports ``comparison.py`` from its own folder, so
run it in the repository::

    python examples/plot_crowd.py [--output FOLDER]
"""

# %%
# A third of the training hours is quiet, a third normal and a third busy. The count of people is a
# past covariate.

import numpy as np
import pandas as pd
from comparison import arguments, shown
from matplotlib import pyplot as plt
from sklearn.calibration import CalibrationDisplay
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.metrics import balanced_accuracy_score, log_loss

from skinformer import InformerClassifier, Training
from skinformer.datasets import load_auckland_pedestrians

DAY = 24
WEEK = 168
STREET = "45 Queen Street"
TEST_ROWS = 26 * WEEK
LEVELS = ["quiet", "normal", "busy"]
args = arguments("Forecast how crowded a street will be.", "crowd.png")

people = load_auckland_pedestrians()[STREET]
low, high = people[:-TEST_ROWS].quantile([1 / 3, 2 / 3])
level = pd.cut(people, [-np.inf, low, high, np.inf], labels=LEVELS)
df = pd.DataFrame({"people": people, "level": level})
train = df[:-TEST_ROWS]
test = df[-TEST_ROWS:]
print(f"{len(train)} hours to train on, {len(test)} to test on: {STREET}")

# %%
# Every day is forecast from the midnight before it. `update` then adds the day to the history.

model = InformerClassifier(
    "level",
    seq_len=WEEK,
    pred_len=DAY,
    random_state=0,
    verbose=1,
    training=Training(max_iter=args.epochs),
)
model.fit(train)
forecasts = {"InformerClassifier": model.predict_proba(test)}

# %%
# The other models also use no value after the midnight before a day. The first one repeats the
# level of the last hour before midnight. Its probability is the share of hours with the same level
# as a day before; the other two levels share the rest.

classes = model.classes_
y = df["level"].astype(str).to_numpy()
y_train = y[:-TEST_ROWS]
y_test = y[-TEST_ROWS:]

hours = np.arange(TEST_ROWS)
hours_ahead = hours % DAY + 1
last = y[len(train) + hours - hours_ahead]
stays = float(np.mean(y_train[DAY:] == y_train[:-DAY]))
forecasts["last level"] = np.where(classes == last[:, None], stays, (1 - stays) / 2)

# %%
# The second one forecasts the frequency of each level at this hour and weekday.

hour_of_week = df.index.day_of_week * DAY + df.index.hour
counts = pd.crosstab(hour_of_week[:-TEST_ROWS], y_train)[classes] + 1
shares = counts.div(counts.sum(axis=1), axis=0)
forecasts["hour and weekday"] = shares.loc[hour_of_week[-TEST_ROWS:]].to_numpy()

# %%
# The third one is gradient boosting on the counts of the week that ends a day before.

lags = people.shift(range(DAY, DAY + WEEK))
calendar = pd.DataFrame(index=df.index)
calendar["hour"] = df.index.hour
calendar["weekday"] = df.index.day_of_week
calendar["month"] = df.index.month
table = lags.join(calendar)
boosting = HistGradientBoostingClassifier(random_state=0)
boosting.fit(table[DAY + WEEK : -TEST_ROWS], y_train[DAY + WEEK :])
forecasts["boosting on 168 lags"] = boosting.predict_proba(table[-TEST_ROWS:])

# %%
# The calibration error is the mean difference between the forecast probability of a level and the
# share of hours at which it came.


def calibration_error(proba: np.ndarray) -> float:
    """Compute it by ten bins of equal width."""
    sure = proba.max(axis=1)
    is_right = classes[proba.argmax(axis=1)] == y_test
    bins = np.minimum((sure * 10).astype(int), 9)
    gaps = pd.Series(sure - is_right).groupby(bins).sum()
    return float(gaps.abs().sum() / len(proba))


scores = pd.DataFrame()
for name, proba in forecasts.items():
    y_pred = classes[proba.argmax(axis=1)]
    scores.loc[name, "log loss"] = log_loss(y_test, proba, labels=classes)
    scores.loc[name, "balanced accuracy"] = balanced_accuracy_score(y_test, y_pred)
    scores.loc[name, "calibration error"] = calibration_error(proba)
print("\nForecasts of the last half year, a day ahead:\n")
print(scores.round(3).to_string())
print("\nWeights of the members:\n")
print(model.leaderboard()[["weight", "reason"]].to_string())

# %%
# The plot shows how often each level came at each forecast probability. If forecasts are
# calibrated, the points lie on the diagonal.

figure, panels = plt.subplots(
    1, len(LEVELS), figsize=(10, 3.6), sharey=True, layout="constrained"
)
for panel, label in zip(panels, LEVELS, strict=True):
    k = list(classes).index(label)
    for name in ("InformerClassifier", "boosting on 168 lags"):
        proba = forecasts[name][:, k]
        CalibrationDisplay.from_predictions(
            y_test == label, proba, n_bins=10, name=name, ax=panel
        )
    panel.set(title=label, xlabel="forecast probability", ylabel="")
panels[0].set_ylabel("observed frequency")
figure.savefig(args.picture, dpi=110)
print(f"How often forecasts came true: {shown(args.picture)}")
