"""fracast: a small pretrained model as a member of the ensemble.

Its weights are part of its package. It was not trained on these streets; the other members are
trained on them only.
"""

# %%
from skinformer import InformerRegressor
from skinformer.beside.fracast import FracastForecaster
from skinformer.datasets import load_auckland_pedestrians
from skinformer.evaluation import backtest

counts = load_auckland_pedestrians().resample("D").sum()[-300:]
panel = counts.rename_axis(columns="street").T.stack().to_frame("people")
start = counts.index[-56]
train = panel[panel.index.get_level_values("timestamp") < start]

# %% A week ahead for eight streets, eight times; mean absolute errors, people a day.
fracast = FracastForecaster()
auto = ["ridges", "own_ridges", "network", "trees", "classical"]  # what "auto" names
candidates = {"default": "auto", "fracast alone": [fracast], "both": [*auto, fracast]}
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

# %% How much each member counts.
both = models["both"]
weights = {}
for name in both.ensemble_.members:
    weight = both.ensemble_.weights_of(name).mean()
    weights[name] = round(float(weight), 2)
print(weights)
