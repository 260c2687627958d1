"""sktime: an InformerRegressor as a forecaster, which sktime tunes, evaluates and updates."""

# %%
from sktime.forecasting.model_evaluation import evaluate
from sktime.forecasting.naive import NaiveForecaster
from sktime.performance_metrics.forecasting import MeanAbsoluteError
from sktime.split import ExpandingWindowSplitter

from skinformer import InformerRegressor, Training
from skinformer.beside.sktime import InformerForecaster
from skinformer.datasets import load_auckland_pedestrians

street = load_auckland_pedestrians()["45 Queen Street"][13000:14200]
street.index = street.index.tz_localize(None)  # no change of clocks in between
street.index = street.index.to_period("h")
informer = InformerForecaster(
    InformerRegressor(
        seq_len=168, pred_len=24,
        members=["ridges", "network"], training=Training(max_iter=1, max_windows=300),
        random_state=0,
    )
)  # fmt: skip

# %% A day ahead from each of three midnights; fitted once, then updated with what came in.
days = ExpandingWindowSplitter(
    fh=list(range(1, 25)), initial_window=len(street) - 72, step_length=24
)
forecasters = {"week before": NaiveForecaster(sp=168), "Informer": informer}
for name, forecaster in forecasters.items():
    table = evaluate(
        forecaster, days, street, strategy="update", scoring=MeanAbsoluteError(),
        error_score="raise",
    )  # fmt: skip
    print(f"{name}: MAE {table['test_MeanAbsoluteError'].mean():.0f}")

# %% Ranges, and rows that are handed over twice.
informer.fit(street[:-48])
informer.update(street[-72:-24])  # the first of these two days is known
interval = informer.predict_interval(fh=[1, 24], coverage=0.8)
print(interval.round())
assert interval.index[0] == street.index[-24]
