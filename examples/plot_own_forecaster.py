"""
A forecaster of your own in the ensemble
========================================

Any function of histories and a horizon can be a member. Like all members, it is weighted by its
errors on validation rows, and the leaderboard shows how much it improves the ensemble.
"""

# %%
# This function forecasts each day by the median of the same weekday in the last eight weeks.

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
# The data are daily sums of one street; the horizon is a week.

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
# The first plot shows the forecast of the next week and the actual values (dashed), the second the
# weights of the members.

drawn = model.plot(coverage=[0.5, 0.8], unit="people per day")
drawn.ax_.plot(
    days["2024-05-06":"2024-05-12"], "k--", label="actual value of that week"
)
WeightsDisplay.from_estimator(model, by="member")
plt.show()
