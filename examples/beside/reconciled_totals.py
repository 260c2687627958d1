"""Forecasts of streets, areas and the city that add up, by hierarchicalforecast."""

# %%
from hierarchicalforecast.core import HierarchicalReconciliation
from hierarchicalforecast.methods import BottomUp, MinTrace
from hierarchicalforecast.utils import aggregate

from skinformer import InformerRegressor
from skinformer.datasets import load_auckland_pedestrians
from skinformer.evaluation import backtest

# %% Pedestrians by days of eight streets; the sums of areas and of the city are series, too.
counts = load_auckland_pedestrians().resample("D").sum()
rows = (
    counts.rename_axis(index="ds", columns="street").stack().rename("y").reset_index()
)
rows["area"] = (
    rows["street"].str.contains("Queen").map({True: "Queen Street", False: "elsewhere"})
)
rows["city"] = "Auckland"
sums, matrix, tags = aggregate(
    rows, [["city"], ["city", "area"], ["city", "area", "street"]]
)
panel = sums.set_index(["unique_id", "ds"])

# %% One fit for all. Each is forecast by itself, a week ahead, so that streets do not add up.
WEEK, N_ERRORS, N_TEST = 7, 16 * 7, 4 * 7
train = panel.groupby(level=0).head(-N_ERRORS - N_TEST)
model = InformerRegressor("y", seq_len=4 * WEEK, pred_len=WEEK, random_state=0).fit(
    train
)
start = counts.index[-N_ERRORS - N_TEST]
forecasts = backtest(model, panel, start=start, step=WEEK)

# %% Errors of sixteen weeks tell how far each is to be believed in the four after them.
names = {"series": "unique_id", "time": "ds", "actual": "y", "forecast": "forecast"}
forecasts = forecasts.rename(columns=names)[list(names.values())]
earlier = forecasts["ds"] < counts.index[-N_TEST]
reconciled = HierarchicalReconciliation(
    [BottomUp(), MinTrace("mint_shrink")]
).reconcile(
    forecasts[~earlier].drop(columns="y"),
    S_df=matrix,
    tags=tags,
    Y_df=forecasts[earlier],
)

# %% Mean absolute errors by level, people a day.
reconciled = reconciled.set_index(["unique_id", "ds"])
reconciled.columns = ["alone", "bottom up", "MinTrace"]
truth = panel.loc[reconciled.index, "y"]
level = (
    reconciled.index.get_level_values(0)
    .str.count("/")
    .map({0: "city", 1: "area", 2: "street"})
)
errors = (
    reconciled.sub(truth, axis=0)
    .abs()
    .groupby(level.rename("level"), sort=False)
    .mean()
)
print(errors.round(0).to_string())
