"""Chronos: a pretrained model as a member of the ensemble.

Write ``"amazon/chronos-bolt-small"``, ``"amazon/chronos-2"`` or a folder with weights in place of
None. With None the script stays offline: a tiny Chronos-Bolt is trained on an earlier year for a
few seconds. Its errors are large, and its weight is small.
"""

# %%
import numpy as np
import torch
from chronos import ChronosBoltPipeline
from chronos.chronos_bolt import ChronosBoltModelForForecasting
from transformers import T5Config

from skinformer import InformerRegressor
from skinformer.beside.chronos import ChronosForecaster
from skinformer.datasets import load_auckland_pedestrians
from skinformer.evaluation import backtest

MODEL = None

days = load_auckland_pedestrians().resample("D").sum()
earlier = days[:-300]
counts = days[-300:]
panel = counts.rename_axis(columns="street").T.stack().to_frame("people")
start = counts.index[-56]
train = panel[panel.index.get_level_values("timestamp") < start]


# %% A model must not be trained on rows by which members are weighted: those of earlier are free.
def train_tiny(context_length=112, pred_len=7, n_steps=150):
    """Train a Chronos-Bolt of 33,000 weights to forecast a week."""
    torch.manual_seed(0)
    bolt = make_tiny(context_length, pred_len)
    optimizer = torch.optim.AdamW(bolt.parameters(), lr=3e-3)
    rng = np.random.default_rng(0)
    values = torch.tensor(earlier.to_numpy(), dtype=torch.float32)
    for _ in range(n_steps):
        street = rng.integers(values.shape[1], size=64)
        origin = rng.integers(context_length, len(values) - pred_len, size=64)
        rows = origin[:, None] + np.arange(-context_length, pred_len)
        windows = values[rows, street[:, None]]
        context = windows[:, :context_length]
        target = windows[:, context_length:]
        optimizer.zero_grad()
        bolt(context=context, target=target).loss.backward()
        optimizer.step()
    return ChronosBoltPipeline(bolt.eval())


def make_tiny(context_length, pred_len):
    """Make a Chronos-Bolt with random weights."""
    sizes = {
        "context_length": context_length,
        "prediction_length": pred_len,
        "input_patch_size": 7,
        "input_patch_stride": 7,
        "use_reg_token": True,
        "quantiles": [0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9],
    }
    config = T5Config(
        d_model=32,
        d_kv=16,
        d_ff=64,
        num_layers=1,
        num_heads=2,
        dropout_rate=0.0,
        vocab_size=2,
        pad_token_id=0,
        decoder_start_token_id=0,
        chronos_config=sizes,
    )
    return ChronosBoltModelForForecasting(config)


# %% A week ahead for eight streets, eight times; mean absolute errors, people a day.
chronos = ChronosForecaster(MODEL or train_tiny())
auto = ["ridges", "own_ridges", "network", "trees", "classical"]  # what "auto" names
candidates = {"default": "auto", "Chronos alone": [chronos], "both": [*auto, chronos]}
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
