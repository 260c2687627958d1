"""A server of forecasts: JSON in, JSON out, one Pipeline from columns to forecasts.

    uvicorn fastapi_server:app

A request holds the rows that have come in since the fit, and the hours to forecast, whose count is
null. Nothing is kept between requests, so workers may share a model, and requests may repeat.
"""

# %%
from typing import Annotated

import numpy as np
import pandas as pd
from fastapi import FastAPI, HTTPException
from pydantic import BaseModel, Field
from sklearn.pipeline import make_pipeline

from skinformer import InformerRegressor, TimeIndex
from skinformer.datasets import load_auckland_pedestrians

target = "45 Queen Street"


def train():
    """Fit once; a real server would load a file, `skinformer.load` or pickle."""
    counts = load_auckland_pedestrians()[[target]][2000:3200]
    rows = counts.set_axis(["count"], axis=1).rename_axis("time").reset_index()
    return make_pipeline(
        TimeIndex("time", tz="Pacific/Auckland"),
        InformerRegressor(
            "count", seq_len=168, pred_len=24, d_model=8, n_heads=2, max_iter=1, max_windows=300,
            members=["ridges", "network"], random_state=0,
        ),
    ).fit(rows)  # fmt: skip


class Row(BaseModel):
    """An hour: its count where it is known."""

    time: str
    count: float | None = None


class Request(BaseModel):
    """All rows since the last fit, then those to forecast: at most four weeks."""

    rows: Annotated[list[Row], Field(min_length=1, max_length=24 * 28)]


app = FastAPI()
model = train()


# %% A plain function, not `async`: FastAPI runs it in a thread, and the event loop stays free.
@app.post("/forecast")
def forecast(request: Request):
    """Forecast the rows without a count."""
    rows = pd.DataFrame([row.model_dump() for row in request.rows]).astype({"count": float})
    try:
        values = model.predict(rows)
    except (TypeError, ValueError) as error:  # the message says what to send instead
        raise HTTPException(422, str(error)) from error
    wanted = rows["count"].isna()
    values = np.round(values[wanted], 1).tolist()
    pairs = zip(rows["time"][wanted], values, strict=True)
    return [{"time": time, "forecast": value} for time, value in pairs]
