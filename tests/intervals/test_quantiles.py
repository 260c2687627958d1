"""Several quantiles by one fit: from everyone who forecasts, calibrated, and never crossing."""

import pickle
import re
import warnings

import numpy as np
import pandas as pd
import pytest
import torch
from flat_parameters import with_parts
from sklearn.base import clone
from sklearn.model_selection import GridSearchCV, TimeSeriesSplit

from skinformer import InformerRegressor
from skinformer.ensemble.building import ModelSizes
from skinformer.ensemble.ensemble import Ensemble, EnsembleForecaster
from skinformer.ensemble.head import QuantileHead
from skinformer.ensemble.member import Member
from skinformer.ensemble.windows import Rows
from skinformer.evaluation import ForecastScorer, backtest, pinball_loss
from skinformer.intervals import forecaster
from skinformer.judging import weights
from skinformer.timeline.clock import RowClock

LEVELS = [0.1, 0.5, 0.9]
SIZES = {
    "seq_len": 24,
    "pred_len": 6,
    "d_model": 8,
    "n_heads": 2,
    "max_iter": 1,
    "random_state": 0,
}

pytestmark = pytest.mark.filterwarnings(
    "ignore:parameters of the network:UserWarning",
    "ignore:series .* take no part:UserWarning",
)


@pytest.fixture
def fan(small):
    def make(**parameters):
        return small(**({"seq_len": 24, "pred_len": 6, "loss": LEVELS} | parameters))

    return make


def hourly(n, *, seed=0):
    """Make a daily wave with noise that is skewed."""
    rng = np.random.default_rng(seed)
    hours = pd.date_range("2024-01-01", periods=n, freq="h")
    wave = 10 * np.sin(hours.hour.to_numpy() * np.pi / 12)
    return pd.DataFrame({"load": 50 + wave + rng.gamma(2.0, size=n)}, index=hours)


@pytest.fixture(scope="module")
def rows():
    return hourly(800)


@pytest.fixture(scope="module")
def model(rows):
    return InformerRegressor(
        **with_parts(loss=LEVELS, members=["classical", "ridges", "network"], **SIZES)
    ).fit(rows[:600])


def test_one_fit_gives_all_quantiles_and_predict_the_median(model, rows):
    """What a list as `loss` means."""
    quantiles = model.predict_quantiles(rows[600:])
    assert quantiles.shape == (200, 3)
    np.testing.assert_array_equal(model.predict(rows[600:]), quantiles[:, 1])
    below = (rows["load"].to_numpy()[600:, None] <= quantiles).mean(axis=0)
    np.testing.assert_allclose(below, LEVELS, atol=0.07)


@pytest.fixture
def outputs_of(monkeypatch):
    """Give the function that tells what a head says of windows, by which ranges are made."""
    seen, features_of = [], forecaster.features_of

    def spy(fit, outputs, *args):
        seen.append(outputs)
        return features_of(fit, outputs, *args)

    def told(model, rows):
        seen.clear()
        model.predict(rows)
        return seen[0][
            :, :, 0
        ]  # (n_windows, pred_len, n_outputs), earlier windows behind

    monkeypatch.setattr(forecaster, "features_of", spy)
    return told


def test_a_network_learns_the_levels_and_the_median(fan, rows, outputs_of):
    """It starts from the path's one forecast, and its outputs part."""
    model = fan(max_iter=4, loss=[0.8, 0.2]).fit(rows)
    low, median_index, high = outputs_of(model, rows[-50:]).mean(axis=(0, 1))
    assert low < median_index < high
    assert model.head_.levels == (0.2, 0.8)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("levels", "nearest"),
    [([0.8, 0.9], 0.8), ([0.9, 0.6, 0.1], 0.6), ((0.4, 0.6), 0.4)],
)
def test_without_a_median_predict_gives_the_nearest_level(fan, rows, levels, nearest):
    """Also where the base speaks alone, whose own forecast is in the middle."""
    model = fan(loss=levels).fit(rows[:600])
    forecast = model.predict(rows[600:])
    np.testing.assert_array_equal(
        forecast, model.predict_quantiles(rows[600:], [nearest])[:, 0]
    )
    assert (rows["load"][600:] <= forecast).mean() == pytest.approx(nearest, abs=0.08)


def test_forecast_backtest_and_predict_agree(model, rows):
    """The level that `predict` gives is what everything gives."""
    ahead = model.make_future_frame()
    one = model.forecast()
    assert list(one) == ["load"]
    np.testing.assert_array_equal(one["load"], model.predict(ahead))
    fans = model.forecast(levels=LEVELS)
    np.testing.assert_array_equal(fans["load"], fans["load_0.5"])
    np.testing.assert_array_equal(fans.iloc[:, 1:], model.predict_quantiles(ahead))
    results = backtest(model, rows[600:630], horizon=6)
    last = results[results["origin"] == rows.index[624]]
    later = pickle.loads(pickle.dumps(model)).update(rows[600:624])
    np.testing.assert_allclose(last["forecast"], later.forecast()["load"], rtol=1e-6)


def test_nothing_crosses(model):
    """In 10,000 forecasts of any size, at levels of any distance."""
    rng = np.random.default_rng(0)
    for _ in range(100):
        levels = np.sort(rng.random(20) * 0.998 + 0.001)
        outputs = np.empty((100, 1, 3))
        outputs[..., 0] = rng.standard_t(2, size=(100, 1)) * 10
        outputs[..., 1] = rng.normal(size=(100, 1)) * 4
        outputs[..., 2] = rng.integers(40, size=(100, 1))
        series = np.zeros(100, dtype=np.int64)
        quantiles = model.intervals_.quantiles(outputs, levels, model.scaler_, series)
        assert (np.diff(quantiles, axis=2) >= 0).all()


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:.* is (taken|replaced) :UserWarning")
def test_nothing_crosses_after_nonsense(model):
    """Rows of X may hold anything."""
    rng = np.random.default_rng(0)
    # 600 hours from the first row.
    index = pd.date_range("2024-01-26", periods=200, freq="h")
    for scale in (0.01, 10, 1000):
        values = rng.standard_t(2, size=200) * scale + 50
        values[rng.random(200) < 0.3] = np.nan
        levels = np.sort(rng.random(20) * 0.998 + 0.001)
        quantiles = model.predict_quantiles(
            pd.DataFrame({"load": values}, index=index), levels
        )
        assert (np.diff(quantiles, axis=1) >= 0).all()


@pytest.mark.parametrize(
    "members", [pytest.param("auto", marks=pytest.mark.slow), ["ridges", "network"]]
)
def test_the_median_costs_no_accuracy(fan, members):
    """A user who asks for ranges must not pay with the forecast: 1 % at most."""
    data = hourly(2400, seed=3)
    errors = {
        str(loss): np.abs(
            fan(loss=loss, members=members).fit(data[:2000]).predict(data[2000:])
            - data["load"][2000:]
        ).mean()
        for loss in ("mse", LEVELS)
    }
    assert errors[str(LEVELS)] < 1.01 * errors["mse"]


def loud_hours(n, *, seed=0):
    """Make rows whose noise is ten times as large where a flag that is known ahead says so."""
    rng = np.random.default_rng(seed)
    loud = np.repeat(rng.random(n // 5) < 0.5, 5).astype(float)
    hours = pd.date_range("2024-01-01", periods=n, freq="h")
    noise = rng.normal(size=n) * np.where(loud, 10, 1)
    return pd.DataFrame({"loud": loud, "load": 50 + noise}, index=hours)


@pytest.fixture(scope="module")
def loud():
    data = loud_hours(2000)
    sizes = {"seq_len": 24, "pred_len": 6, "d_model": 16, "n_heads": 2, "max_iter": 6}
    sizes |= {
        "known_future": ["loud"],
        "members": ["classical", "ridges", "network"],
        "random_state": 0,
    }
    fits = {
        str(loss): InformerRegressor("load", **with_parts(loss=loss, **sizes)).fit(
            data[:1600]
        )
        for loss in ("mae", LEVELS)
    }
    return data[1600:], fits["mae"], fits[str(LEVELS)]


@pytest.mark.slow
def test_the_network_widens_ranges_where_it_knows_that_they_should_be(loud):
    """Ranges alone go by the past; that an hour to come is loud only the network can tell."""
    test, plain, fan = loud
    assert (fan.intervals_.spread.slope[0, 2] > 0.3).all()
    width = np.ptp(fan.predict_quantiles(test), axis=1)
    assert width[test["loud"] == 1].mean() > 2 * width[test["loud"] == 0].mean()
    losses = [
        pinball_loss(test["load"], each.predict_quantiles(test, LEVELS), levels=LEVELS)
        for each in (fan, plain)
    ]
    assert losses[0] < 0.95 * losses[1]


@pytest.mark.slow
def test_a_network_that_knows_nothing_does_no_harm(fan, rows):
    """Its outputs are noise here: ranges are those around the base."""

    def noise(module, inputs, output):
        return output + torch.randn(
            output.shape, generator=torch.Generator().manual_seed(0)
        )

    data = hourly(1200, seed=5)
    model, plain = fan().fit(data[:900]), fan(loss="mae").fit(data[:900])
    model.module_.network.register_forward_hook(noise)
    model.ensemble_ = model.ensemble_.with_network_share(0.0)
    plain.ensemble_ = plain.ensemble_.with_network_share(0.0)
    losses = [
        pinball_loss(
            data["load"][900:],
            each.predict_quantiles(data[900:], LEVELS),
            levels=LEVELS,
        )
        for each in (model, plain)
    ]
    assert losses[0] < 1.01 * losses[1]


@pytest.mark.slow
def test_several_targets_covariates_and_missing_values(fan, rows):
    """Every part of a frame takes part, as for a point forecast."""
    data = rows.assign(price=np.roll(rows["load"], 3) * 2.0, flag=rows.index.hour < 8.0)
    data.loc[data.index[200:205], "load"] = np.nan
    model = fan(target=["load", "price"], known_future=["flag"]).fit(data[:600])
    quantiles = model.predict_quantiles(data[600:])
    assert quantiles.shape == (200, 2, 3)
    assert (np.diff(quantiles, axis=2) >= 0).all()
    np.testing.assert_array_equal(model.predict(data[600:]), quantiles[..., 1])


@pytest.mark.slow
@pytest.mark.parametrize("n", [30, 150])
def test_panels(fan, n):
    """Classical forecasters alone, and shares of all."""
    parts = [hourly(n, seed=i).assign(series=f"s{i}") for i in range(4)]
    panel = pd.concat(parts).set_index("series", append=True).swaplevel()
    model = fan().fit(panel)
    ahead = model.forecast(levels=LEVELS)
    assert ahead.shape == (24, 4)
    assert (np.diff(ahead.to_numpy()[:, 1:], axis=1) > 0).all()


def test_trust_takes_nothing_from_the_distances(model, rows, outputs_of):
    """A network that forecasts no better than the path may still know how sure that is."""
    other, ahead = pickle.loads(pickle.dumps(model)), rows[600:606]
    other.ensemble_ = other.ensemble_.with_network_share(0.0)
    values = outputs_of(other, ahead)
    apart = [each - each[..., 1:2] for each in (values, outputs_of(model, ahead))]
    np.testing.assert_allclose(*apart, atol=1e-5)
    assert np.ptp(values, axis=-1).min() > 0
    plain = InformerRegressor(
        **with_parts(loss="mae", members=["ridges", "network"], **SIZES)
    ).fit(rows[:600])
    plain.ensemble_ = plain.ensemble_.with_network_share(0.0)
    medians = other.scaler_.inverse_with_smearing(
        values[0, :, 1:2], np.zeros(6, dtype=int)
    )
    np.testing.assert_allclose(medians[:, 0], plain.predict(ahead), rtol=1e-5)


def test_others_share_the_median_and_not_the_distances():
    """Half of the forecast is another's, who does not say how sure it is."""

    class Says(Member):
        name = None

        def __init__(self, name, outputs):
            self.name, self.outputs = name, np.array(outputs, dtype=np.float32)

        def forecast(self, windows, base=None):
            return np.stack([self.outputs] * len(windows))

    sizes = ModelSizes(1, 0, 0, 0, 0, (), seq_len=1, pred_len=1, patch_len=1)
    both = [Says("other", [[9.0]]), Says("network", [[[1.0, 3.0, 7.0]]])]
    halves = Ensemble.combine(
        both, {"other": 0.5, "network": 0.5}, n_series=1, n_targets=1
    )
    forecast = EnsembleForecaster(
        halves, sizes, np.array([0]), RowClock(), "cpu", QuantileHead((0.1, 0.9))
    )
    begin, known = np.zeros(1, dtype=int), np.ones((4, 1), dtype=bool)
    rows = Rows(np.zeros((4, 1)), np.zeros(4, dtype=int), np.arange(4), begin, known)
    got = forecast(rows, np.array([1, 2]))
    np.testing.assert_allclose(got[:, 0, 0], [[4.0, 6.0, 10.0]] * 2)


def test_trust_goes_by_the_median(fan, rows, monkeypatch):
    """Any spread beats none by the loss that training lowers: it would prove every correction."""
    seen = []
    real = weights.network_share
    monkeypatch.setattr(
        weights,
        "network_share",
        lambda *args, **each: seen.append(each) or real(*args, **each),
    )
    fan().fit(rows)
    error = seen[0]["head"].point_error(torch.zeros(2, 3, 1), torch.ones(2, 3, 1) * 2)
    assert error.tolist() == (torch.ones(2, 3, 1) * 2).tolist()


def test_rows_too_few_for_ranges_are_refused_as_ranges_are(fan):
    """A quantile that nobody knows is none."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = fan(pred_len=2, seq_len=2).fit(hourly(4))
    if model.intervals_ is None:
        with pytest.raises(ValueError, match="prediction intervals need errors"):
            model.forecast()


@pytest.mark.slow
def test_it_is_stored_updated_and_cloned(model, rows):
    """Whatever works on an estimator works on this one."""
    other = pickle.loads(pickle.dumps(model))
    np.testing.assert_array_equal(other.predict(rows[600:]), model.predict(rows[600:]))
    before = other.forecast(levels=LEVELS)
    after = other.update(rows[600:700]).forecast(levels=LEVELS)
    assert after.index[0] - before.index[0] == pd.Timedelta(hours=100)
    copied = clone(model)
    assert copied.get_params()["loss"] == LEVELS
    copied.set_params(loss=(0.25, 0.75))
    assert copied.fit(rows[:600]).predict_quantiles(rows[600:]).shape == (200, 2)


@pytest.mark.slow
def test_a_search_goes_over_lists(fan, rows):
    """A list in a grid is a value, not values."""
    search = GridSearchCV(
        fan(members=["ridges", "network"]),
        {"loss": [[0.1, 0.9], LEVELS, "mse"]},
        scoring=ForecastScorer("neg_pinball", levels=[0.1, 0.9]),
        cv=TimeSeriesSplit(2, test_size=24),
        error_score="raise",
    )
    search.fit(rows[:500], rows["load"][:500])
    assert np.isfinite(search.cv_results_["mean_test_score"]).all()


@pytest.mark.parametrize(
    "loss", [[], [0.5, 1.0], ["a"], [[0.1, 0.5]], [0.1, float("nan")], [0.5, 0.5]]
)
def test_lists_of_anything_else_are_refused(fan, rows, loss):
    """Before anything is fitted."""
    message = (
        f"loss={loss!r} must be a list of numbers between 0 and 1, each once, such as [0.1, 0.5, "
        "0.9]."
    )
    with pytest.raises(ValueError, match=f"^{re.escape(message)}$"):
        fan(loss=loss).fit(rows)


@pytest.mark.slow
def test_levels_have_to_come_from_somewhere(fan, rows):
    message = (
        "levels=None must be a list of numbers between 0 and 1, "
        "each once, such as [0.1, 0.5, 0.9]."
    )
    model = fan(loss="mse").fit(rows)
    with pytest.raises(ValueError, match=f"^{re.escape(message)}$"):
        model.predict_quantiles(rows)


def test_the_head_is_what_the_levels_say():
    """The median is learnt also where it is not asked for."""
    head = QuantileHead((0.8, 0.9))
    assert (head.outputs, head.median_index, head.level) == ((3,), 0, 0.8)
    outputs = torch.tensor([[0.0, 1.0, 2.0]])
    assert head.point(outputs).tolist() == [0.0]
    expected = (0.5 * 1 + 0.0 + 0.1 * 1) / 3
    assert head.error(outputs, torch.ones(1)).item() == pytest.approx(expected)
    assert head.point_error(torch.zeros(1), torch.ones(1)).item() == 1


def test_a_forecast_with_levels_forecasts_and_warns_once(fan, rows):
    """Points are those that ranges lie around: asking twice costs twice and says all twice."""
    data = rows.assign(other=np.arange(800.0))[["other", "load"]]
    model = fan(target="load", loss="mse").fit(data)
    model.intervals_  # noqa: B018 – found by forecasts of its own
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        model.forecast(horizon=20, levels=LEVELS)
    assert len([w for w in caught if "forward-filled" in str(w.message)]) == 1
