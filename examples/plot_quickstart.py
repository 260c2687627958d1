"""
Forecast pedestrians in Auckland
================================

Trains on a year and a half of hourly counts of three streets and the city's holidays, forecasts
every day of the half year after it from the midnight before, and compares that with three rivals.
Takes less than a minute, and saves a picture under ``examples/output``, or where you say. It
imports ``comparison.py`` from the folder beside it; run it in the repository::

    python examples/plot_quickstart.py [--output FOLDER]
"""

# %%
# One row an hour, one column a street. Of holidays it is known ahead when they come: columns that
# follow from the date alone. No model sees the second half of 2024 in training. The settings, those
# of the rivals too, were chosen on four weeks of its November.

import numpy as np
import pandas as pd
from comparison import arguments, make_rivals, one_thread, shown

from skinformer import InformerRegressor, Training
from skinformer.datasets import load_auckland_holidays, load_auckland_pedestrians
from skinformer.display import ForecastDisplay

DAY = 24
WEEK = 168
args = arguments("Forecast pedestrians in Auckland.", "quickstart.png")

counts = load_auckland_pedestrians().iloc[:, :3]
holidays = load_auckland_holidays()
streets = list(counts)
known = list(holidays)
df = counts.join(holidays)
train = df[:"2024-06-30"]
test = df["2024-07-01":]
print(f"{len(train)} hours to train on, {len(test)} to test on, {len(streets)} streets")

# %%
# The model looks back a week and forecasts a day of all streets at once; all else is left at its
# default: ridges and boosted trees, which the Informer corrects as far as it proves itself. The
# table below counts absolute errors, so these are what it learns by.

informer = InformerRegressor(
    target=streets,
    known_future=known,
    seq_len=WEEK,
    pred_len=DAY,
    loss="mae",
    random_state=0,
    verbose=1,
    training=Training(max_iter=args.epochs),
)
informer.fit(train)

# %%
# Each day is forecast at the midnight before it: `predict` goes through the rows in chunks of
# `pred_len`, a day, and forecasts each chunk from the rows before it. The day on which summer time
# begins has 23 hours, so the chunks after it would begin at one o'clock. `update` hands over the
# rows up to a midnight without training; the chunks begin anew behind them.

stretches = [test[:"2024-09-28"], test["2024-09-29":"2024-09-29"], test["2024-09-30":]]
forecasts = []
for stretch in stretches:
    forecasts.append(informer.predict(stretch))
    if stretch is not stretches[-1]:
        informer.update(stretch)
predictions = {}
predictions["InformerRegressor"] = pd.DataFrame(
    np.concatenate(forecasts), test.index, streets
)

# %%
# Rivals know the holidays, too. What they see of the counts is a day old at least, so that one call
# forecasts each hour from what was known at the midnight before it.

rivals = make_rivals(
    streets, seq_len=WEEK, pred_len=DAY, season=WEEK, known_future=known
)
del rivals["last value"]  # of the evening, for all hours of a day
for name, rival in rivals.items():
    with one_thread():
        rival.fit(train, train[streets])
        forecast = rival.predict(test)
    predictions[name] = pd.DataFrame(forecast, test.index, streets)

table = pd.DataFrame()
for name, prediction in predictions.items():
    errors = test[streets] - prediction
    error = errors.abs().mean(axis=1)
    table.loc[name, "half year"] = error.mean()
    table.loc[name, "Christmas"] = error["2024-12-24":].mean()
print("\nMean absolute error, pedestrians per hour and street,")
print("from July to December 2024, and of that from Christmas Eve on:\n")
print(table.round(1).to_string())

# %%
# One street in one week, with the interval that four of five actual values should lie in.

informer.update(stretches[-1][:"2024-11-03"])
display = ForecastDisplay.from_estimator(
    informer,
    test["2024-11-04":"2024-11-10"],
    target="45 Queen Street",
    coverage=0.8,
    unit="pedestrians per hour",
)
display.figure_.savefig(args.picture, dpi=100)
print(f"Forecast against actual: {shown(args.picture)}")
