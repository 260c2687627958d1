"""
Forecast pedestrians in Auckland
================================

Trains on a year and a half of hourly counts of three streets and the city's holidays, forecasts
every day of the next half year from the midnight before it, and compares the errors with those of
three simple forecasters. This takes less than a minute. The plot is saved in ``examples/output``,
or in the folder given by ``--output``. The script imports ``comparison.py`` from its own folder, so
run it in the repository::

    python examples/plot_quickstart.py [--output FOLDER]
"""

# %%
# The table has one row per hour and one column per street. The holidays are future covariates,
# because they follow from the date. No model is trained on the second half of 2024. The settings of
# all models were chosen on four weeks of its November.

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
# The model looks back a week and forecasts a day of all streets at once. The loss is the absolute
# error, because the table below has absolute errors. All other parameters are the defaults.

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
# Each day is forecast from the midnight before it: `predict` divides the rows into blocks of
# `pred_len` hours, a day, and forecasts each block from the rows before it. The day on which
# daylight saving time begins has 23 hours, so the blocks after it would begin at one o'clock.
# `update` adds the rows up to a midnight to the history without training, and the blocks begin
# again after them.

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
# The simple forecasters use the holidays, too, except for the seasonal naive one. The counts that
# they use are at least a day old, so one call forecasts each hour from what was known at the
# midnight before it.

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
# The plot shows a week in one street, with the 80% prediction interval.

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
