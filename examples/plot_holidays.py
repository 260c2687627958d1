"""
What a holiday does to a forecast
=================================

Forecasts Labour Day by a model with columns for holidays, which are known in advance, and by a
model without, and computes the effect of the holiday on the forecast.
"""

# %%
# The bundled holidays have a row for each hour, with columns of 0 and 1 for holidays and for the
# days around them.

import matplotlib.pyplot as plt

from skinformer import InformerRegressor
from skinformer.datasets import load_auckland_holidays, load_auckland_pedestrians
from skinformer.display import ContributionDisplay, ForecastDisplay
from skinformer.evaluation import backtest, explain

street, unit = "45 Queen Street", "people per hour"
holidays = load_auckland_holidays()
df = load_auckland_pedestrians()[[street]].join(holidays)
train, test = df[:"2024-10-21"], df["2024-10-22":"2024-10-29"]

# %%
# The same model is fitted without the holidays and with them. Both use the week before each day.

same = {"seq_len": 168, "members": ["ridges"], "random_state": 0}
plain = InformerRegressor(street, **same).fit(train[[street]])
told = InformerRegressor(street, known_future=list(holidays), **same).fit(train)

labour_day = "2024-10-28"
results = {
    "without holidays": backtest(plain, test[[street]]),
    "with holidays": backtest(told, test),
}
figure, axes = plt.subplots(2, sharex=True, figsize=(8, 6), layout="constrained")
for ax, (name, result) in zip(axes, results.items(), strict=True):
    ForecastDisplay.from_backtest(result, unit=unit, name=name, ax=ax)
    of_day = result[result["time"].dt.strftime("%Y-%m-%d") == labour_day]
    error = (of_day["actual"] - of_day["forecast"]).abs().mean()
    print(f"mean absolute error on Labour Day {name}: {error:.0f}")

# %%
# The bars lead from the baseline, which is the forecast from a usual past, to the forecast of
# Labour Day. The columns of holidays are one group.

reasons = explain(told, test, groups={"holidays": list(holidays)})
ContributionDisplay.from_frame(reasons, time=labour_day, unit=unit)
plt.show()
