"""FastAPI: a server whose requests and answers are JSON, with one Pipeline.

    uvicorn fastapi_server:app

Run as a script, it sends itself one request and prints the answer.

A request contains the rows since the fit, and the hours to forecast, whose count is null. The
server keeps nothing between requests, so several workers may share a model, and a request may be
repeated. Days (`pred_len` hours) are counted from the end of the fit, and each is forecast from
the rows before it. The counts of a day that is not over do not change its forecast.
"""

# %%
from typing import Annotated

import numpy as np
import pandas as pd
from fastapi import FastAPI, HTTPException
from pydantic import BaseModel, Field
from sklearn.pipeline import make_pipeline

from skinformer import InformerRegressor, TimeIndex, Training
from skinformer.datasets import load_auckland_pedestrians

target = "45 Queen Street"


def train():
    """Fit once; a real server would load a file, `skinformer.load` or pickle."""
    counts = load_auckland_pedestrians()[[target]][13000:14200]
    rows = counts.set_axis(["count"], axis=1).rename_axis("time").reset_index()
    return make_pipeline(
        TimeIndex("time", tz="Pacific/Auckland"),
        InformerRegressor(
            "count", seq_len=168, pred_len=24,
            members=["ridges", "network"], training=Training(max_iter=1, max_windows=300),
            random_state=0,
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
    rows = pd.DataFrame([row.model_dump() for row in request.rows])
    rows["count"] = rows["count"].astype(float)
    try:
        values = model.predict(rows)
    except (TypeError, ValueError) as error:  # the message says what to send instead
        raise HTTPException(422, str(error)) from error
    wanted = rows["count"].isna()
    table = pd.DataFrame({"time": rows["time"], "forecast": np.round(values, 1)})
    return table[wanted].to_dict("records")


# %% What a client sends and gets: a day of counts that has come in, three hours to forecast.
if __name__ == "__main__":
    from fastapi.testclient import TestClient

    later = load_auckland_pedestrians()[target][14200:14227]
    rows = [{"time": str(time), "count": count} for time, count in later.items()]
    for row in rows[24:]:
        row["count"] = None
    answer = TestClient(app).post("/forecast", json={"rows": rows})
    print(answer.status_code, "for", later[24:].tolist())
    for row in answer.json():
        print(row)
