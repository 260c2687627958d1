"""What a forecaster of single series that nothing was compared with proves on the last rows."""

import numpy as np
import pandas as pd
import pytest
from blends import judged_members
from flat_parameters import with_parts

from skinformer import InformerRegressor
from skinformer.ensemble.classical import Classical
from skinformer.judging.alone import prove_alone


def months(n_series, n=40):
    rng = np.random.default_rng(0)
    index = pd.date_range("2020-01-01", periods=n, freq="MS")
    wave = 10 * np.sin(np.arange(n) * np.pi / 6)
    parts = {
        i: pd.DataFrame({"y": 50 + i + wave + rng.normal(size=n)}, index)
        for i in range(n_series)
    }
    return pd.concat(parts, names=["shop", "month"])


def proved_by(members, df):
    parameters = {"seq_len": 12, "pred_len": 6, "members": members, "random_state": 0}
    model = InformerRegressor("y", **with_parts(**parameters)).fit(df)
    proved = prove_alone(
        model.ensemble_,
        model.timeline_,
        model.sizes_,
        model.scaler_,
        head=model.head_,
        device="cpu",
    )
    return model, proved


@pytest.mark.parametrize("n_series", [3, pytest.param(300, marks=pytest.mark.slow)])
def test_some_series_are_forecast_by_a_fit_without_their_last_rows(n_series):
    """Of a large panel 256 at most, at their own rows of the history."""
    model, proved = proved_by(["classical"], months(n_series))
    series = model.timeline_.series_of(proved.origins)
    n_chosen = len(np.unique(series))
    assert min(n_series, 200) <= n_chosen == len(series) <= 256
    steps = model.timeline_.steps_of(proved.origins)
    np.testing.assert_array_equal(steps, np.full(n_chosen, 40 - 6))
    # The forecasts are those of these series: near what came.
    y = model.timeline_.values[proved.origins[:, None] + np.arange(6), :1]
    error = np.abs(proved.forecasts["classical"] - y).mean()
    assert error < 0.5 * np.abs(y - y.mean()).mean()


def test_the_last_rows_change_nothing_that_is_proved(monkeypatch):
    """What has seen the truth says nothing of errors."""
    seen = []
    fit = Classical.from_timeline

    def spy(timeline, *args, **kwargs):
        seen.append(timeline.steps.max())
        return fit(timeline, *args, **kwargs)

    monkeypatch.setattr(Classical, "from_timeline", staticmethod(spy))
    proved_by(["classical"], months(3))
    assert seen == [39, 39 - 6]


def test_no_candidate_that_has_seen_the_last_rows_is_proved(monkeypatch):
    """Ridges that the series of a panel share are fitted to the rows before, too."""
    judged = judged_members(monkeypatch)
    model, proved = proved_by(["classical"], months(8))
    assert proved is not None
    final = model.ensemble_.members["classical"].fit.candidates
    assert final.ridges is not None
    assert judged["classical"].fit.candidates.ridges is not final.ridges


def last_value(histories, horizon):
    return np.stack([np.repeat(history[-1], horizon) for history in histories])


def test_what_learns_nothing_proves_nothing():
    """Its errors on the last rows are those of rows to come."""
    _, proved = proved_by([last_value], months(3))
    assert proved is None


def test_rows_of_less_than_two_forecasts_prove_nothing():
    _, proved = proved_by(["classical"], months(2, n=10))
    assert proved is None
