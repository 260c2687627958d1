"""
How sure a forecast is
======================

Forecasts eight weeks of hourly counts a day ahead, with intervals that should hold 50, 80 and 90%
of the actual values, and counts how many they hold.
"""

# %%
# Intervals need nothing but the fit: they are calibrated by its errors on rows that were held out.

import matplotlib.pyplot as plt

from skinformer import InformerRegressor
from skinformer.datasets import load_auckland_pedestrians
from skinformer.display import CoverageDisplay, ForecastDisplay
from skinformer.evaluation import backtest, summary

street = "45 Queen Street"
counts = load_auckland_pedestrians().loc["2023-10":"2024-03", [street]]
train, test = counts[:"2024-02-04"], counts["2024-02-05":]
model = InformerRegressor(street, seq_len=168, members=["ridges"], random_state=0)
model.fit(train)

# %%
# `backtest` forecasts each day from the midnight before it. Each interval lies between two of the
# quantiles that it is asked for.

result = backtest(model, test, levels=[0.05, 0.1, 0.25, 0.75, 0.9, 0.95])
week = result[result["time"] < "2024-02-12"]
ForecastDisplay.from_backtest(week, unit="people per hour")

# %%
# Coverage is the share of actual values inside of the intervals. On the diagonal it is as asked
# for; below it the intervals are too narrow, above it too wide. `width` is in people per hour.

table = summary(result, by="day_of_week")
print(table[["mae", "coverage", "width"]].round(2).to_string())
CoverageDisplay.from_predictions(result)
plt.show()
