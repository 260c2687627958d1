"""
A forecaster of your own in the ensemble
========================================

Any function of histories and a horizon can be a member. It counts by its errors on validation rows,
as the others do, and the leaderboard shows what it is worth.
"""

# %%
# This one takes, for each day ahead, the median of the last eight that were the same weekday.

import matplotlib.pyplot as plt
import numpy as np

from skinformer import InformerRegressor
from skinformer.datasets import load_auckland_pedestrians
from skinformer.display import WeightsDisplay


def median_of_weekday(history, horizon):
    """Forecast by the median of the last eight values of each weekday."""
    forecasts = []
    for values in history:
        days = [values[day - 7 :: -7][:8] for day in range(horizon)]
        forecasts.append([np.nanmedian(same_weekday) for same_weekday in days])
    return np.array(forecasts)


# %%
# Daily sums of one street, and a week ahead.

days = load_auckland_pedestrians()[["45 Queen Street"]].resample("D").sum()
model = InformerRegressor(
    seq_len=28,
    pred_len=7,
    members=["ridges", "classical", median_of_weekday],
    random_state=0,
)
model.fit(days[:"2024-05-05"])
print(model.leaderboard()[["weight", "error", "error_without"]].round(3).to_string())

# %%
# The forecast of the week to come, beside what came (dashed), and who it is made of.

drawn = model.plot(coverage=[0.5, 0.8], unit="people per day")
drawn.ax_.plot(
    days["2024-05-06":"2024-05-12"], "k--", label="actual value of that week"
)
WeightsDisplay.from_estimator(model, by="member")
plt.show()
