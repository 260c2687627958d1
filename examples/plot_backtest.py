"""
Is the model better than a simple forecast?
===========================================

Backtests a model and two seasonal naive forecasts on the same rows, compares their errors, and
plots the errors by the hour of the day.
"""

# %%
# The model is trained on six months and tested on eight weeks. The naive forecasts repeat the last
# day and the last week.

import matplotlib.pyplot as plt

from skinformer import InformerRegressor
from skinformer.datasets import load_auckland_pedestrians
from skinformer.display import ErrorDisplay
from skinformer.evaluation import SeasonalNaive, backtest, compare

street, unit = "45 Queen Street", "people per hour"
counts = load_auckland_pedestrians().loc["2023-08":"2024-03", [street]]
train, test = counts[:"2024-02-04"], counts["2024-02-05":]
model = InformerRegressor(street, seq_len=168, members=["ridges"], random_state=0)
results = {"InformerRegressor": backtest(model.fit(train), test)}
for name, season in (("last week repeated", 168), ("last day repeated", 24)):
    naive = SeasonalNaive(season, target=[street]).fit(train)
    results[name] = backtest(naive, test, test, horizon=24)

# %%
# `skill` is the share by which the mean absolute error is lower than that of the reference.

table = compare(results, reference="last week repeated")
print(table.round(2).T.to_string())

# %%
# Every forecast begins at midnight, so the number of hours ahead is also the hour of the day. The
# bias is the mean of forecast minus actual value.

ErrorDisplay.from_predictions(results, unit=unit)
ErrorDisplay.from_predictions(results, score="bias", unit=unit)
plt.show()
