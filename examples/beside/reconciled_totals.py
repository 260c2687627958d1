"""hierarchicalforecast: forecasts of streets, areas and the city that add up."""

# %%
from hierarchicalforecast.core import HierarchicalReconciliation
from hierarchicalforecast.methods import BottomUp, MinTrace
from hierarchicalforecast.utils import aggregate

from skinformer import InformerRegressor
from skinformer.datasets import load_auckland_pedestrians
from skinformer.evaluation import backtest

# %% Pedestrians by days of eight streets; the sums of areas and of the city are series, too.
counts = load_auckland_pedestrians().resample("D").sum()
counts = counts.rename_axis(index="ds", columns="street")
rows = counts.stack().rename("y").reset_index()
is_queen = rows["street"].str.contains("Queen")
rows["area"] = is_queen.map({True: "Queen Street", False: "elsewhere"})
rows["city"] = "Auckland"
levels = [["city"], ["city", "area"], ["city", "area", "street"]]
sums, matrix, tags = aggregate(rows, levels)
panel = sums.set_index(["unique_id", "ds"])

# %% One fit for all. Each is forecast by itself, a week ahead, so that streets do not add up.
WEEK = 7
N_ERRORS = 16 * WEEK
N_TEST = 4 * WEEK
train = panel.groupby(level=0).head(-N_ERRORS - N_TEST)
model = InformerRegressor("y", seq_len=4 * WEEK, pred_len=WEEK, random_state=0)
model.fit(train)
start = counts.index[-N_ERRORS - N_TEST]
forecasts = backtest(model, panel, start=start, step=WEEK)

# %% Errors of sixteen weeks tell how far each is to be believed in the four after them.
names = {"series": "unique_id", "time": "ds", "actual": "y", "forecast": "forecast"}
forecasts = forecasts.rename(columns=names)[list(names.values())]
is_earlier = forecasts["ds"] < counts.index[-N_TEST]
earlier = forecasts[is_earlier]
later = forecasts[~is_earlier].drop(columns="y")
methods = HierarchicalReconciliation([BottomUp(), MinTrace("mint_shrink")])
reconciled = methods.reconcile(later, S_df=matrix, tags=tags, Y_df=earlier)

# %% Mean absolute errors by level, people a day.
reconciled = reconciled.set_index(["unique_id", "ds"])
reconciled.columns = ["alone", "bottom up", "MinTrace"]
truth = panel.loc[reconciled.index, "y"]
depth = reconciled.index.get_level_values(0).str.count("/")
level = depth.map({0: "city", 1: "area", 2: "street"}).rename("level")
errors = reconciled.sub(truth, axis=0).abs()
print(errors.groupby(level, sort=False).mean().round(0).to_string())
