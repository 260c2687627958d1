"""FastAPI serves a Pipeline that begins with TimeIndex."""

import numpy as np
import pandas as pd
import pytest

pytest.importorskip("fastapi")
pytest.importorskip("httpx2")


@pytest.fixture(scope="module")
def served(run_example):
    from fastapi.testclient import TestClient

    names = run_example("fastapi_server.py")
    with TestClient(names["app"]) as client:
        yield client, names["model"]


@pytest.fixture(scope="module")
def rows(served):
    """Five hours after the history, then three to forecast."""
    _, model = served
    ahead = model[-1].make_future_frame(8).index
    count = [*np.linspace(1100.0, 500.0, 5), None, None, None]
    return [{"time": str(t), "count": c} for t, c in zip(ahead, count, strict=True)]


def test_the_server_forecasts_the_rows_without_a_count(served, rows):
    """What a client gets equals what the model says, and asking again gives it again."""
    client, model = served
    answers = [client.post("/forecast", json={"rows": rows}) for _ in range(2)]
    assert [answer.status_code for answer in answers] == [200, 200]
    frame = pd.DataFrame(rows).astype({"count": float})
    expected = model.predict(frame)[-3:].round(1).tolist()
    assert [row["forecast"] for row in answers[0].json()] == expected
    assert [row["time"] for row in answers[0].json()] == [
        row["time"] for row in rows[-3:]
    ]
    assert answers[0].json() == answers[1].json()


def test_what_cannot_be_forecast_is_answered_with_the_reason(served, rows):
    """A stranger's JSON must not be a 500."""
    client, _ = served
    for wrong, reason in (
        ([rows[0], rows[0]], "1 duplicated timestamp"),
        ([{"time": "yesterday", "count": 1.0}], "yesterday"),
    ):
        answer = client.post("/forecast", json={"rows": wrong})
        assert answer.status_code == 422
        assert reason in answer.json()["detail"]
    assert client.post("/forecast", json={"rows": []}).status_code == 422
