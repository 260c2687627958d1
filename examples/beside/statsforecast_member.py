"""statsforecast: its models as members of the ensemble.

A model is fitted again to each history, so a fast model is often the better choice: AutoETS takes
ten times as long as Theta.
"""

# %%
import tempfile
from pathlib import Path

from statsforecast.models import DynamicOptimizedTheta

import skinformer
from skinformer import InformerRegressor
from skinformer.beside.statsforecast import StatsForecaster
from skinformer.datasets import load_auckland_pedestrians
from skinformer.evaluation import backtest

counts = load_auckland_pedestrians().resample("D").sum()[-300:]
panel = counts.rename_axis(columns="street").T.stack().to_frame("people")
start = counts.index[-56]
train = panel[panel.index.get_level_values("timestamp") < start]

# %% A week ahead for eight streets, eight times; mean absolute errors, people a day.
theta = StatsForecaster(DynamicOptimizedTheta(season_length=7), max_context=112)
auto = ["ridges", "own_ridges", "network", "trees", "classical"]  # what "auto" names
candidates = {"default": "auto", "Theta alone": [theta], "both": [*auto, theta]}
models = {}
errors = {}
for name, members in candidates.items():
    model = InformerRegressor(
        "people", members=members, seq_len=28, pred_len=7, random_state=0
    )
    models[name] = model.fit(train)
    forecasts = backtest(model, panel, start=start, step=7)
    error = forecasts["forecast"] - forecasts["actual"]
    errors[name] = float(error.abs().mean())
    print(f"{name}: {errors[name]:.0f}")

# %% How much each member counts, and a file of all of them.
both = models["both"]
weights = {}
for name in both.ensemble_.members:
    weight = both.ensemble_.weights_of(name).mean()
    weights[name] = round(float(weight), 2)
print(weights)
with tempfile.TemporaryDirectory() as folder:
    path = Path(folder, "streets.skinformer")
    both.save(path)
    loaded = skinformer.load(path, forecasters=[StatsForecaster])
print(loaded.forecast().groupby(level=0).sum().round().T.to_string())
