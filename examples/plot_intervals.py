"""
How sure a forecast is
======================

Forecasts eight weeks of hourly counts a day ahead, with prediction intervals that should contain
50%, 80% and 90% of the actual values, and computes which share they contain.
"""

# %%
# Every fitted model has prediction intervals. They are calibrated by its errors on validation rows.

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
# `backtest` forecasts each day from the midnight before it. The bounds of each interval are two of
# the requested quantiles.

result = backtest(model, test, levels=[0.05, 0.1, 0.25, 0.75, 0.9, 0.95])
week = result[result["time"] < "2024-02-12"]
ForecastDisplay.from_backtest(week, unit="people per hour")

# %%
# Coverage is the share of actual values inside the intervals. On the diagonal it is as requested.
# Below it the intervals are too narrow, above it they are too wide. `width` is in people per hour.

table = summary(result, by="day_of_week")
print(table[["mae", "coverage", "width"]].round(2).to_string())
CoverageDisplay.from_predictions(result)
plt.show()
