"""
Many series, and one that is new
================================

One model is fitted to seven streets. It also forecasts an eighth street, which was not in the
training data, from six weeks of its history.
"""

# %%
# A panel is a table whose index has two levels: the series and the time. Here it contains daily
# sums.

import matplotlib.pyplot as plt

from skinformer import InformerRegressor
from skinformer.datasets import load_auckland_pedestrians
from skinformer.display import ForecastDisplay

days = load_auckland_pedestrians().resample("D").sum()
panel = days.melt(var_name="street", value_name="people", ignore_index=False)
panel = (
    panel.rename_axis("day").set_index("street", append=True).swaplevel().sort_index()
)
new = "45 Queen Street"
known = panel.drop(new, level="street")
history = known[known.index.get_level_values("day") < "2024-11-18"]

# %%
# The model forecasts two weeks for every street.

model = InformerRegressor(
    "people", seq_len=28, pred_len=14, members=["ridges", "classical"], random_state=0
)
model.fit(history)
ahead = model.forecast(coverage=0.8)
print(ahead.groupby(level=0).mean().round(0).to_string())

# %%
# For the new street, pass its history. Nothing is trained.

street = panel.loc[[new]]
past = street[street.index.get_level_values("day") < "2024-11-18"][-42:]
forecast = model.forecast(past, coverage=0.8)

figure, axes = plt.subplots(2, figsize=(8, 6), layout="constrained")
for ax, name, table in ((axes[0], "210 Queen Street", ahead), (axes[1], new, forecast)):
    table = table.loc[name]
    actual = panel.loc[name].loc["2024-10-28":"2024-12-01", "people"].rename(name)
    bands = table.drop(columns="people")
    ForecastDisplay.from_predictions(
        actual, table["people"], bands, unit="people per day", ax=ax
    )
plt.show()
