"""shap: the contributions of past values and of future covariates to a forecast.

An explainer combines values of different rows into new rows, which are not time steps of the
series. So it needs a function of a window. Its inputs are the values of the last hours and the
future covariates of the next hour. Each call writes them into a frame and calls `forecast`.
"""

# %%
import numpy as np
import pandas as pd
import shap

from skinformer import InformerRegressor, Training

rng = np.random.default_rng(0)
hours = pd.date_range("2024-01-01", periods=600, freq="h")
price = pd.Series(rng.normal(size=600), hours)
noise = rng.normal(scale=0.2, size=600)
day = np.sin(np.arange(600) * 2 * np.pi / 24)
df = pd.DataFrame({"price": price, "load": day - 0.5 * price + noise}, index=hours)

model = InformerRegressor(
    "load",
    known_future=["price"],
    seq_len=24,
    pred_len=1,
    members=["ridges", "network"],
    random_state=0,
    training=Training(max_iter=1),
).fit(df[:500])

# %% One window: the eight hours before the origin, the price of the hour to come.
lags = 8
origin = hours[550]
before = df[500:550]  # since the fit
names = [f"load, {lag} h before" for lag in range(lags, 0, -1)] + ["price, ahead"]


def forecast_windows(windows):
    """Forecast the hour at the origin from the inputs of each window."""
    forecasts = []
    for window in windows:
        rows = pd.concat([before, df.loc[[origin]].assign(load=np.nan)])
        rows.iloc[-lags - 1 : -1, rows.columns.get_loc("load")] = window[:-1]
        rows.iloc[-1, rows.columns.get_loc("price")] = window[-1]
        forecasts.append(model.forecast(rows, horizon=1)["load"].iloc[0])
    return np.array(forecasts)


# %% The background are other windows of the series: what is explained is the difference to them.
starts = rng.choice(np.arange(24, 490), size=6, replace=False)
load = df["load"].to_numpy()
ahead = df["price"].to_numpy()
background = np.array([[*load[i : i + lags], ahead[i + lags]] for i in starts])
window = np.array([[*before["load"][-lags:], df.loc[origin, "price"]]])

explainer = shap.PermutationExplainer(forecast_windows, background, seed=0)
explained = explainer(window, max_evals=2 * window.shape[1] + 1, silent=True)
effects = pd.Series(explained.values[0], names)
print(effects.round(2).to_string())
total = effects.sum() + explained.base_values[0]
print("they add up to the forecast:", round(float(total), 3))
assert np.isclose(total, forecast_windows(window)[0])
