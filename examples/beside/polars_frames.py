"""polars: frames as the input of a Pipeline, in which TimeIndex makes the index."""

# %%
import polars as pl
from sklearn.pipeline import make_pipeline

from skinformer import InformerRegressor, TimeIndex, Training
from skinformer.datasets import load_auckland_pedestrians

# %% Long rows, as a database gives them: a time, a site, a count. No index anywhere.
streets = ["45 Queen Street", "210 Queen Street"]
counts = load_auckland_pedestrians()[streets][13000:14200]
rows = pl.from_pandas(counts.rename_axis("time").reset_index()).unpivot(
    index="time", variable_name="site", value_name="count"
)
print(rows.head(2))

# %% The steps of the Pipeline are the same for frames of pandas, polars and arrow.
model = make_pipeline(
    TimeIndex("time", series="site"),
    InformerRegressor(
        "count", seq_len=168, pred_len=24,
        members=["ridges", "network"], training=Training(max_iter=1, max_windows=300),
        random_state=0,
    ),
)  # fmt: skip
split = counts.index[-24]
model.fit(rows.filter(pl.col("time") < split))

# %% One forecast per row of what comes in, in its order: a column of the same frame.
later = rows.filter(pl.col("time") >= split)
later = later.with_columns(forecast=model.predict(later))
error = later.group_by("site").agg((pl.col("count") - pl.col("forecast")).abs().mean())
print(error.sort("site"))
