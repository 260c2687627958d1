"""A head is the one place that says what outputs mean: another one needs nothing else."""

import pickle

import numpy as np
import pandas as pd
import pytest
import torch
from blends import trust
from flat_parameters import with_parts

from skinformer import InformerRegressor
from skinformer.ensemble.head import PointHead
from skinformer.model.corrected import Corrected
from skinformer.model.informer import Informer
from skinformer.training.losses import (
    absolute_error,
    huber_error,
    quantile_error,
    squared_error,
)

P = {
    "seq_len": 24,
    "pred_len": 6,
    "d_model": 16,
    "n_heads": 2,
    "max_iter": 2,
    "random_state": 0,
}
LEVELS = [0.1, 0.5, 0.9]


class FanHead:
    """Three quantiles of each target; the median_index one is fed back."""

    outputs = (3,)
    median_index = 1
    groups = ()
    level = None
    in_units = True
    allows_ridges = False
    of_mean = False

    def error(self, outputs, truth):
        return quantile_error(outputs, truth, levels=LEVELS)

    def point_error(self, points, truth):
        return (points - truth).abs()

    def point(self, outputs):
        return outputs[..., 1]

    def to_points(self, y_pred):
        return y_pred if y_pred.ndim == 3 else self.point(y_pred)

    def to_units(self, outputs, scaler, series):
        levels = np.moveaxis(outputs, -1, 0)
        return np.stack(
            [scaler.inverse_with_smearing(level, series) for level in levels], axis=-1
        )

    def score(self, truth, forecast, weight):
        return -float(np.abs(truth - forecast).mean())


class Fan(InformerRegressor):
    """An estimator that is a head and nothing else."""

    def _make_head(self):
        return FanHead()


class ScoresHead(FanHead):
    """Outputs that are no values of the target, as logits of classes."""

    in_units = False

    def to_units(self, outputs, scaler, series):
        return outputs.astype(float)


def outputs_of(model, rows):
    """Return what the head says of each row, in the truth's units."""
    kind, seen = type(model.head_), []
    to_units = kind.to_units
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(
            kind, "to_units", lambda *given: seen.append(to_units(*given)) or seen[-1]
        )
        model.predict(rows)
    return seen[-1]


@pytest.fixture(scope="module")
def df():
    hours = pd.date_range("2024-01-01", periods=300, freq="h")
    rng = np.random.default_rng(0)
    wave = np.sin(np.arange(300) * 2 * np.pi / 24)
    load = 50 + 10 * wave + rng.normal(size=300)
    price = rng.normal(size=300)
    return pd.DataFrame(
        {"temp": wave, "price": price, "load": load + price}, index=hours
    )


@pytest.mark.slow
@pytest.mark.parametrize("members", [["classical", "ridges", "network"], ["network"]])
@pytest.mark.parametrize("target", ["load", ["temp", "load"]])
def test_a_head_of_three_outputs_needs_no_other_change(df, members, target):
    """Network, path, window norm, covariates, loss, recursion, units: all ask the head."""
    longer = P | {"max_iter": 4}
    model = Fan(
        target, known_future=["price"], members=members, **with_parts(**longer)
    ).fit(df[:-24])
    n_targets = 2 if isinstance(target, list) else 1
    table = df.assign(load=np.nan)[-24:]
    table = table.assign(temp=np.nan) if n_targets == 2 else table
    values = outputs_of(model, table)
    assert values.shape == (24, n_targets, 3)
    load = values[:, -1]
    assert np.isfinite(values).all()
    assert (np.diff(load.mean(axis=0)) > 0).all()
    truth = df["load"].to_numpy()[-24:]
    assert np.abs(load[:, 1] - truth).mean() < 8  # in units: its deviation is 7


@pytest.mark.slow
def test_what_is_fed_back_is_the_point_of_the_head(df):
    """With the lowest quantile fed back, the forecasts of later blocks are others."""

    class Low(FanHead):
        def point(self, outputs):
            return outputs[..., 0] - 1.0

    rows = df[["load"]]
    model = Fan("load", members=["network"], **with_parts(**P)).fit(rows[:-24])
    table = rows.assign(load=np.nan)[-24:]
    one = outputs_of(model, table)
    model.head_ = Low()
    other = outputs_of(model, table)
    # The first block sees the history alone.
    np.testing.assert_allclose(one[:6], other[:6])
    assert not np.allclose(one[6:], other[6:], rtol=1e-6)


@pytest.mark.slow
def test_missing_truths_are_filled_by_the_point_of_the_head(df):
    """`fit` and `update` recurse as `predict` does."""

    class Three(FanHead):
        def point(self, outputs):
            return np.full_like(outputs[..., 0], 3.0)

    class Threes(Fan):
        def _make_head(self):
            return Three()

    rows = df[["load"]].copy()
    rows.iloc[[200, 201, 260]] = np.nan
    model = Threes("load", members=["network"], **with_parts(**P)).fit(rows[:250])
    assert (model.timeline_.values[[200, 201], 0] == 3).all()
    model.update(rows[250:270])
    assert model.timeline_.values[260, 0] == 3


@pytest.mark.slow
def test_outputs_that_are_no_values_are_not_put_on_the_windows_scale(df):
    """Logits have no level: one that is far from 0 must not move them."""

    class Scores(Fan):
        def _make_head(self):
            return ScoresHead()

    model = Scores("load", members=["network"], **with_parts(**P)).fit(df[["load"]])
    past = torch.randn(2, 24, 1)
    future, fields = torch.zeros(2, 6, 1), torch.zeros(2, 24, 2, dtype=torch.int64)
    with torch.inference_mode():
        low = model.module_(past, future, fields, fields[:, :6])
        high = model.module_(past * 10 + 100, future, fields, fields[:, :6])
    torch.testing.assert_close(low, high, rtol=1e-3, atol=1e-4)


@pytest.mark.slow
def test_a_path_is_under_outputs_in_units_alone(df):
    """A logit is no temperature: ridges of values must not be added to it."""

    class Scores(Fan):
        def _make_head(self):
            return ScoresHead()

    assert isinstance(Fan("load", **with_parts(**P)).fit(df).module_, Corrected)
    assert isinstance(Scores("load", **with_parts(**P)).fit(df).module_, Informer)


@pytest.mark.slow
def test_the_share_of_several_outputs_is_judged(df):
    """Each of them starts from the path's one forecast."""

    class Trusting(FanHead):
        allows_ridges = True

    class Trusted(Fan):
        def _make_head(self):
            return Trusting()

    assert 0 <= trust(Trusted("load", **with_parts(**P)).fit(df[["load"]])) <= 1


@pytest.mark.slow
def test_the_score_is_the_heads(df):
    """`score` of another head is no R², and is given what `predict` gives: the point."""
    rows = df[["load"]]
    model = Fan("load", members=["network"], **with_parts(**P)).fit(rows)
    forecast = model.predict(rows)
    np.testing.assert_array_equal(forecast, outputs_of(model, rows)[:, 0, 1])
    error = np.abs(rows["load"].to_numpy() - forecast).mean()
    assert model.score(rows) == pytest.approx(-error)
    np.testing.assert_array_equal(
        model.forecast()["load"], model.predict(model.make_future_frame())
    )


@pytest.mark.parametrize("loss", ["mse", "mae", "huber", 0.9])
def test_the_point_head_is_what_the_loss_says(loss):
    """Its error, its value, its fallback; and it is stored with the estimator."""
    head = pickle.loads(pickle.dumps(PointHead(loss)))
    truth, forecast = torch.tensor([0.0, 3.0]), torch.tensor([1.0, 1.0])
    named = {"mse": squared_error, "mae": absolute_error, "huber": huber_error}
    expected = (
        named[loss](forecast, truth)
        if isinstance(loss, str)
        else quantile_error(forecast[:, None], truth, levels=[loss])
    )
    torch.testing.assert_close(head.error(forecast, truth), expected)
    assert (head.outputs, head.in_units, head.allows_ridges) == (
        (),
        True,
        isinstance(loss, str),
    )
    assert head.of_mean == (loss == "mse")
    values = np.ones((4, 2))
    assert head.point(values) is values
    assert head.score(values, values * 2, None) <= 0
