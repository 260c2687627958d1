"""`loss="mse"` forecasts means, whose sums are right, and `loss="mae"` medians."""

import numpy as np
import pandas as pd
import pytest
from flat_parameters import with_parts
from sklearn.model_selection import GridSearchCV, TimeSeriesSplit

from skinformer import InformerRegressor
from skinformer.classical.means import mean_log_shift, series_log_shift
from skinformer.classical.past import Past
from skinformer.tabular.regressors import default_regressors, ready

pytestmark = pytest.mark.filterwarnings("ignore:.*taken as missing")

N_SERIES, N_ROWS, HORIZON = 60, 40, 6


def draw(kind, seed, n_series=N_SERIES, n_rows=N_ROWS + HORIZON):
    """Draw noise around levels of many sizes: (n_series, n_rows), of mean 1 in units of each."""
    rng = np.random.default_rng(seed)
    size = 10 ** rng.uniform(0, 3, (n_series, 1))
    if kind == "lognormal":
        noise = rng.lognormal(-0.32, 0.8, (n_series, n_rows))
    else:
        noise = np.where(
            rng.random((n_series, n_rows)) < 0.3, rng.uniform(0, 2, 1) / 0.3, 0.0
        )
        noise *= rng.uniform(0.5, 1.5, noise.shape)
    return size * noise, size


def panel(values):
    months = pd.date_range("2020-01-01", periods=values.shape[1], freq="MS")
    frames = {
        f"s{i:02}": pd.DataFrame({"y": row}, months) for i, row in enumerate(values)
    }
    return pd.concat(frames, names=["series", "t"])


def forecast(values, loss):
    model = InformerRegressor("y", pred_len=HORIZON, loss=loss, random_state=0).fit(
        panel(values)
    )
    return model.forecast()["y"].to_numpy().reshape(len(values), HORIZON)


@pytest.mark.parametrize("kind", ["lognormal", "rare"])
def test_sums_over_a_skewed_panel_are_right_by_squared_errors_alone(kind):
    """Who orders stock by the sum ordered half: medians of sales lie below their means."""
    means, medians, came = [], [], []
    for seed in (1, 2, 3):
        values, size = draw(kind, seed)
        past = values[:, :N_ROWS]
        means.append((forecast(past, "mse") / size).mean())
        medians.append((forecast(past, "mae") / size).mean())
        came.append((values / size).mean())
    assert np.sum(means) == pytest.approx(np.sum(came), rel=0.05)
    assert np.sum(medians) < 0.9 * np.sum(came)


def test_half_of_what_comes_lies_below_forecasts_by_absolute_errors():
    values, _ = draw("lognormal", 4)
    past, future = values[:, :N_ROWS], values[:, N_ROWS:]
    assert (future < forecast(past, "mae")).mean() == pytest.approx(0.5, abs=0.06)
    assert (future < forecast(past, "mse")).mean() > 0.58


def noisy_logs():
    """Logarithms with a trend and a season around which they deviate by 0.6."""
    rng, rows = np.random.default_rng(0), np.arange(240)
    wave = np.sin(2 * np.pi * rows / 12)
    return 3 + 0.6 * rng.normal(size=(50, 240)) + 0.01 * rows + wave, wave


def shift_of(logs, season=12):
    return mean_log_shift(
        Past(logs, np.broadcast_to(np.arange(logs.shape[1]), logs.shape)), season
    )


def test_logarithms_are_raised_by_half_the_variance_around_their_level():
    """A trend, a season and a slow level are none."""
    logs, wave = noisy_logs()
    shift = shift_of(logs)
    assert shift.mean() == pytest.approx(0.18, rel=0.08)
    assert shift_of(logs - wave, 1).mean() == pytest.approx(0.18, rel=0.08)
    assert shift_of(logs, 1).mean() > 0.2
    whole = np.mean([series_log_shift(row - wave) for row in logs])
    assert whole == pytest.approx(0.18, rel=0.08)


def test_what_was_not_observed_is_no_variance():
    """Neither between rows nor before them."""
    logs, _ = noisy_logs()
    before = np.pad(logs, ((0, 0), (96, 0)), constant_values=np.nan)
    np.testing.assert_allclose(shift_of(before), shift_of(logs))
    gone = np.where(np.random.default_rng(1).random(logs.shape) < 0.3, np.nan, logs)
    assert shift_of(gone).mean() == pytest.approx(0.18, rel=0.1)


def test_a_season_of_which_two_are_not_known_takes_no_noise_with_it():
    """One row at each place would be its own mean."""
    logs, wave = noisy_logs()
    few = (logs - wave)[:, :23]
    np.testing.assert_allclose(shift_of(few), shift_of(few, 1))
    short = np.where(np.arange(240) < 217, np.nan, logs - wave)
    np.testing.assert_allclose(shift_of(short), shift_of(short, 1))


def test_means_of_few_seasons_take_no_variance_with_them():
    """Of three rows at each place they fit a third of the noise."""
    logs, wave = noisy_logs()
    assert shift_of((logs - wave)[:, :36]).mean() == pytest.approx(0.18, rel=0.12)


def test_logarithms_are_raised_by_a_factor_of_two_at_most():
    logs, _ = noisy_logs()
    np.testing.assert_allclose(shift_of(9 * logs), np.log(2))


def test_two_rows_prove_no_variance():
    logs, _ = noisy_logs()
    np.testing.assert_allclose(shift_of(logs[:, :2]), 0, atol=1e-12)
    np.testing.assert_allclose(shift_of(logs[:, :1]), 0, atol=1e-12)


def test_trees_of_absolute_errors_are_raised_to_means():
    """One of the two kinds of trees forecasts medians; of skewed errors their sum is off."""
    rng = np.random.default_rng(0)
    features, truth = rng.normal(size=(2000, 2)), rng.exponential(size=2000)
    trees = ready(default_regressors(simple=True)[0], 0).fit(features, truth, None)
    assert trees.predict(features).mean() < 0.8
    before = trees.predict(features)
    trees.raise_to_mean(features, truth, None)
    assert trees.predict(features).mean() == pytest.approx(truth.mean())
    np.testing.assert_allclose(np.ptp(trees.predict(features) - before), 0, atol=1e-9)


@pytest.mark.slow
def test_own_ridges_are_raised_once_where_targets_are_logarithms():
    """By the scaler, which raises the joint forecast."""
    values, _ = draw("lognormal", 5, n_series=8, n_rows=200)
    options = {"seq_len": 12, "pred_len": HORIZON, "random_state": 0, "max_iter": 1}
    members = ["ridges", "own_ridges"]
    shifts = {}
    for transform in (None, "log"):
        model = InformerRegressor(
            "y", **with_parts(target_transform=transform, members=members, **options)
        )
        own = model.fit(panel(values)).ensemble_.members["own_ridges"].fit
        shifts[transform] = max(ridge.log_shift.max() for ridge in own.ridges)
    assert shifts[None] > 0.1
    assert shifts["log"] == 0


def skewed_days(n_rows=400):
    """Sales whose mean is 1.6 times their median."""
    sales = np.random.default_rng(0).lognormal(0, 1, n_rows)
    return pd.DataFrame({"y": sales}, pd.date_range("2020-01-01", periods=n_rows))


IDLE = "has no effect on this fit: only ridges forecast"


@pytest.mark.parametrize("loss", ["mae", "huber"])
@pytest.mark.parametrize("members", [["ridges"], ["ridges", "trees"]])
def test_ridges_alone_say_that_they_know_no_loss(members, loss):
    """A search over losses chose among equals; 400 rows are too few for trees."""
    model = InformerRegressor(
        "y", seq_len=28, pred_len=7, members=members, loss=loss, random_state=0
    )
    with pytest.warns(UserWarning, match=f"loss='{loss}' {IDLE}"):
        model.fit(skewed_days())
    means = model.set_params(loss="mse").fit(skewed_days()).forecast()
    with pytest.warns(UserWarning, match=IDLE):
        same = model.set_params(loss=loss).fit(skewed_days()).forecast()
    pd.testing.assert_frame_equal(means, same)


def test_a_search_over_losses_of_ridges_is_warned_of():
    """By each of its fits."""
    model = InformerRegressor("y", seq_len=28, pred_len=7, members=["ridges"])
    days = skewed_days(200)
    search = GridSearchCV(model, {"loss": ["mse", "mae"]}, cv=TimeSeriesSplit(2))
    with pytest.warns(UserWarning, match=IDLE):
        search.fit(days, days["y"])


@pytest.mark.parametrize(
    "options",
    [
        {"members": ["ridges"]},
        {"members": ["classical"], "loss": "mae"},
        {"members": ["ridges"], "loss": "mae", "target_transform": "log"},
        {"loss": "mae", "max_iter": 1},
    ],
    ids=["mean", "classical", "logarithms", "auto"],
)
def test_who_follows_the_loss_is_not_warned(options):
    """Of logarithms means are medians of what they are of."""
    model = InformerRegressor(
        "y", **with_parts(seq_len=28, pred_len=7, random_state=0, **options)
    )
    forecast = model.fit(skewed_days()).forecast()["y"].mean()
    if model.loss == "mae":
        means = model.set_params(loss="mse").fit(skewed_days()).forecast()
        assert forecast < 0.95 * means["y"].mean()
