"""Features and trees of an exported graph are those of a fit, to the last bit."""

from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest
import torch
from sklearn.ensemble import HistGradientBoostingRegressor

from skinformer.estimators.served_trees import ServedTrees
from skinformer.tabular.features import Columns, FeatureMaker, Pairs
from skinformer.tabular.fit import Anchored, TabularFit
from skinformer.tabular.regressors import ready
from skinformer.timeline.calendar import calendar_dates
from skinformer.timeline.clock import RowClock, clock_for
from skinformer.timeline.cycle import CalendarEffect

N_WINDOWS, PRED_LEN = 30, 6


def effect_of(n_known, rng):
    """Make an effect whose sums are rounded."""
    places = np.zeros((3, 60), dtype=np.int64)
    places[0, :24], places[1, :12] = np.arange(24), 24 * 31 * np.arange(12)
    places[2, :31] = 24 * np.arange(31)
    level, known = rng.normal(size=(24, 2)), rng.normal(size=(24, n_known, 2))
    year = rng.normal(size=(372, 24, 2))
    bounds = np.tile([[-1.0], [1.0]], (1, n_known))
    return CalendarEffect(level, known, bounds, places, ("hour", "month", "day"), year)


def one_leaf(anchor, n_features):
    """Make a regressor that says 3 of everything."""
    fitted = ready(HistGradientBoostingRegressor(max_iter=2), 0)
    return Anchored(anchor, fitted.fit(np.ones((50, n_features)), np.full(50, 3.0), None))


class Recorder(torch.nn.Module):
    """Stand in for trees, and keep the numbers that these would see."""

    def forward(self, numbers):
        self.seen = numbers.numpy().reshape(N_WINDOWS * PRED_LEN * 2, -1, 2)
        return numbers[..., 0] * 0


def in_windows(maker, clock, rng):
    """Make features of windows of random rows, some of which begin late, in both ways."""
    values = rng.normal(size=(3000, sum(maker.columns[:3]))).astype(np.float32)
    values[:, 2:][rng.random((3000, values.shape[1] - 2)) < 0.1] = np.nan
    origin = rng.integers(maker.look_back, 2900, N_WINDOWS)
    begin = origin - rng.integers(1, 2 * maker.look_back, N_WINDOWS)
    window, ahead, target = (i.ravel() for i in np.indices((N_WINDOWS, PRED_LEN, 2)))
    pairs = Pairs(origin[window], ahead, target, begin[window], origin[window])
    expected = maker.make(values, pairs, clock)
    rows = origin[:, None] + np.arange(-maker.look_back, PRED_LEN)
    windows = values[rows]
    windows[:, maker.look_back :, : 2 + maker.columns.n_past] = 0.0
    first = np.maximum(begin - rows[:, 0], 0)
    time = None
    if clock.dated:
        time = torch.from_numpy(calendar_dates(clock.labels(rows.ravel())).reshape(rows.shape))
    served = ServedTrees(SimpleNamespace(maker=maker, members=[one_leaf(0, 1)]), clock)
    served.anchors, served.trees = [None], Recorder()
    out = served(torch.from_numpy(windows), torch.from_numpy(first), time)
    assert out.shape == (N_WINDOWS, PRED_LEN, 2)
    return served.trees.seen, expected


@pytest.mark.parametrize("seasons", [(), (4, 12), (24, 168), (7, 364)])
@pytest.mark.parametrize("kind", ["dated", "in daylight saving", "with an effect", "rows"])
def test_features_are_equal_bit_for_bit(seasons, kind):
    """A feature that differs in its last digit may lie on the other side of a threshold."""
    rng = np.random.default_rng(len(seasons))
    clock = RowClock()
    if kind != "rows":
        zone = "Pacific/Auckland" if kind == "in daylight saving" else None
        hours = pd.date_range("2023-01-01", periods=3, freq="h", tz=zone)
        clock = clock_for(hours, hours.freq).starting_at(hours[0])
    columns = Columns(2, 1, 4, 1, PRED_LEN)
    low, high = np.full(7, -np.inf), np.full(7, np.inf)
    low[2:], high[2:] = -1.5, 2.0
    calendar = effect_of(3, rng) if kind == "with an effect" else None
    maker = FeatureMaker(columns, seasons, low, high, plain=(1,), calendar=calendar)
    got, expected = in_windows(maker, clock, rng)
    assert got.shape[1] == expected.shape[1]
    np.testing.assert_array_equal(got[..., 0], expected)
    np.testing.assert_array_equal(got[..., 1], np.where(np.isnan(expected), -np.inf, expected))
    assert 0.01 < np.isnan(expected).mean() < 0.9


@pytest.mark.slow
@pytest.mark.parametrize("loss", ["squared_error", "absolute_error"])
@pytest.mark.parametrize("missing", [0.0, 0.3])
def test_trees_come_to_the_same_leaves(loss, missing):
    """Of numbers that meet thresholds, of NaN that was learnt from and that was not."""
    rng = np.random.default_rng(0)
    features = rng.normal(size=(3000, 6)).round(2)
    features[:, 2] = 7.0  # nobody looks at it
    features[rng.random(features.shape) < missing] = np.nan
    truth = np.nan_to_num(features[:, 0]) ** 2 + np.isnan(features[:, 1]) + features[:, 3] % 1 * 2
    truth = np.nan_to_num(truth)
    boosted = HistGradientBoostingRegressor(loss=loss, max_iter=30, max_leaf_nodes=63)
    members = tuple(
        Anchored(anchor, ready(boosted, 0).fit(features, truth, None, unseen=unseen))
        for anchor, unseen in ((None, slice(0)), (4, slice(-1, None)))
    )
    maker = FeatureMaker(Columns(1, 0, 0, 0, 3), (), -np.ones(1), np.ones(1))
    fit = TabularFit(maker, members, "trees")
    new = np.vstack([features[:1000], rng.normal(size=(998, 6)).round(2), [[np.nan] * 6] * 2])
    new[1000:1500][rng.random((500, 6)) < 0.2] = np.nan
    served = ServedTrees(fit, RowClock())
    numbers = np.stack([new, np.where(np.isnan(new), -np.inf, new)], axis=-1).reshape(1, 2000, 12)
    expected = sum(member.regressor.predict(new) for member in members)
    got = served.trees(torch.from_numpy(numbers))[0]
    np.testing.assert_allclose(got, expected, rtol=0, atol=1e-12)
    assert served.trees.depth > 5


def test_distances_are_from_the_last_value_where_a_phase_is_unknown():
    """And from the mean, 0, where that is unknown, too."""
    member = one_leaf(2, 27)
    maker = FeatureMaker(Columns(1, 0, 0, 0, 3), (4,), np.full(1, -np.inf), np.full(1, np.inf))
    served = ServedTrees(TabularFit(maker, (member,), "trees"), RowClock())
    values = torch.arange(float(maker.look_back + 3)).expand(3, -1)[..., None]
    out = served(values, torch.tensor([13, 15, 17]), None)
    assert out[..., 0].tolist() == [[16.0, 17.0, 18.0], [19.0, 19.0, 18.0], [3.0, 3.0, 3.0]]


def test_trees_of_one_leaf_give_their_value():
    """A series that never changed."""
    member = one_leaf(0, 17)
    maker = FeatureMaker(Columns(1, 0, 0, 0, 3), (), np.full(1, -np.inf), np.full(1, np.inf))
    served = ServedTrees(TabularFit(maker, (member,), "trees"), RowClock())
    out = served(torch.ones(2, maker.look_back + 3, 1), torch.tensor([0, 17]), None)
    assert out.flatten().tolist() == [4.0, 4.0, 4.0, 3.0, 3.0, 3.0]  # beside a level, and without
