"""The leaderboard of the default members and one more forecaster.

FLAIR needs no pretrained weights, so the script runs offline. Write the name of a pretrained model
in its place; its weights are then downloaded once.
"""

# %%
from skinformer import InformerRegressor
from skinformer.datasets import load_auckland_pedestrians

NAME = "flair"


def make_forecaster(name):
    """Make an adapter; each needs its own library alone."""
    if name == "flair":
        from skinformer.beside.flair import FlairForecaster

        return FlairForecaster("D")
    if name == "chronos-2":
        from skinformer.beside.chronos import ChronosForecaster

        return ChronosForecaster("amazon/chronos-2")
    if name == "tirex":
        from skinformer.beside.tirex import TiRexForecaster

        return TiRexForecaster()
    from skinformer.beside.timesfm import TimesFMForecaster

    return TimesFMForecaster(name)  # such as "google/timesfm-2.5-200m-pytorch"


# %% Eight streets by days, a week ahead.
counts = load_auckland_pedestrians().resample("D").sum()[-300:]
panel = counts.rename_axis(columns="street").T.stack().to_frame("people")
default = ["ridges", "own_ridges", "network", "trees", "classical"]  # what "auto" names
model = InformerRegressor(
    "people",
    members=[*default, make_forecaster(NAME)],
    seq_len=28,
    pred_len=7,
    random_state=0,
).fit(panel)

# %% What each member counts, errs, and is worth to the others.
board = model.leaderboard()
shown = ["weight", "error", "error_without", "fit_seconds", "forecast_seconds"]
print(board[shown].round(3).to_string())
