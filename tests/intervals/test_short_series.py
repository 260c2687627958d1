"""Ranges of series that were hardly ever forecast before, and of those never seen at all."""

import numpy as np
import pandas as pd
import pytest

from skinformer import InformerRegressor
from skinformer.intervals.spread import typical_sizes

FALLING = [1100, 980, 870, 760, 655, 540, 430, 330, 225]


def days(values):
    index = pd.date_range("2024-01-01", periods=len(values), freq="D")
    return pd.DataFrame({"y": np.asarray(values, dtype=float)}, index=index)


def months(values, start="2018-01-01"):
    index = pd.date_range(start, periods=len(values), freq="MS")
    return pd.DataFrame({"y": np.asarray(values, dtype=float)}, index=index)


def bounds(rows, **parameters):
    """Return points and bounds of 80 % of the steps after some rows."""
    model = InformerRegressor(random_state=0, **parameters).fit(rows)
    return model.forecast(coverage=0.8).to_numpy().T


@pytest.mark.parametrize("n", [4, 5, 6, 7, 8, 9])
def test_a_handful_of_rows_has_ranges_by_their_changes(n):
    """One error of one forecast was a range of no width, beside its own forecast."""
    y_pred, low, high = bounds(days(FALLING[:n]))
    assert (low < high).all()
    assert ((low <= y_pred) & (y_pred <= high)).all()
    step = np.abs(np.diff(FALLING[:n])).mean()
    assert high[0] - low[0] > step
    # As a walk's, with the step's root.
    assert high[8] - y_pred[8] > 2 * (high[0] - y_pred[0])


def test_short_series_of_a_panel_have_ranges_in_their_sizes():
    """Three windows with one truth each are no sample either."""
    rows = pd.concat(
        {name: days(np.array(FALLING[:8]) * s) for name, s in (("a", 1), ("b", 5))}
    )
    y_pred, low, high = bounds(rows)
    assert ((low <= y_pred) & (y_pred <= high) & (low < high)).all()
    assert high[24] - y_pred[24] == pytest.approx(5 * (high[0] - y_pred[0]), rel=0.05)


@pytest.mark.parametrize(
    ("level", "late"), [(0, [2, 18]), (0, [0, 0, 5, 9]), (5, [20])]
)
def test_a_series_that_has_begun_to_move_is_not_sure_of_it(late, level):
    """Nothing was off as long as nothing moved, which says nothing of what comes now."""
    rows = days([level] * 57 + [level + value for value in late])
    y_pred, low, high = bounds(rows, seq_len=6, pred_len=3)
    assert (high - low > 1).all()
    assert ((low <= y_pred) & (y_pred <= high)).all()


@pytest.mark.parametrize("seed", [0, 1])
def test_a_season_that_began_out_of_nothing_says_nothing_of_what_comes_amid_it(seed):
    """Errors behind months of zeros, fifty times the usual ones, were expected in winter, too."""
    index = pd.date_range("2022-01-01", periods=770, freq="D")  # until February
    noise = np.random.default_rng(seed).normal(0, 5, len(index))
    is_winter = (index.month > 10) | (index.month < 4)
    rows = pd.DataFrame({"y": np.where(is_winter, 100 + noise, 0.0)}, index=index)
    model = InformerRegressor(
        seq_len=60, pred_len=30, members=["ridges", "classical"], random_state=0
    ).fit(rows)
    assert (model.forecast(levels=[0.95]).to_numpy() < 140).all()


@pytest.mark.parametrize(("n", "level"), [(6, 5.1), (40, 5.1), (20, 0.0), (20, -3e7)])
def test_a_constant_is_within_its_range(n, level):
    """Rounding of single precision lay to one side of it."""
    y_pred, low, high = bounds(days([level] * n), seq_len=6, pred_len=3)
    slack = 1e-9 * abs(level)
    assert ((low <= y_pred + slack) & (y_pred - slack <= high)).all()


def test_steps_that_were_never_judged_are_as_those_of_a_walk():
    """Where a series ends within a forecast its last steps were as sure as the first one."""
    errors = np.full((9, 4, 1), np.nan)
    errors[:, 0] = 2.0
    np.testing.assert_allclose(
        np.exp(typical_sizes(errors, 9)).ravel(), 2 * np.sqrt([1, 2, 3, 4])
    )


def seasonal(n, seed, n_series=40, pred_len=6):
    """Make series of unlike sizes that share a year, with noise of a twentieth."""
    random, t = np.random.default_rng(seed), np.arange(n + pred_len)
    rows = []
    for _ in range(n_series):
        wave = (
            0.3
            * random.uniform(0.5, 1.5)
            * np.sin(np.pi * t / 6 + random.normal(0, 0.3))
        )
        y = 1 + wave + 0.05 * random.normal(size=len(t))
        rows.append(np.exp(random.normal(4, 1)) * y)
    return np.array(rows)


@pytest.mark.parametrize(("n", "seq_len"), [(24, 12), (24, 24), (30, 12)])
def test_short_panels_cover_what_they_are_asked_to(n, seq_len):
    """Windows of less than two seasons, and a choice made before them, covered 97 to 100 %."""
    covered = []
    for seed in range(2):
        values = seasonal(n, seed)
        rows = pd.concat({f"s{i:02}": months(y[:n]) for i, y in enumerate(values)})
        _, low, high = bounds(rows, seq_len=seq_len, pred_len=6)
        truth = values[:, n:].ravel()
        covered.append(((low <= truth) & (truth <= high)).mean())
    assert 0.72 < np.mean(covered) < 0.92  # 80 series that share their days


@pytest.mark.parametrize(("n", "pred_len"), [(24, 6), (30, 12)])
def test_windows_that_have_not_seen_a_season_do_not_widen_ranges(n, pred_len):
    """Errors of forecasts behind half a year made them twice as wide."""
    t = np.arange(n)
    widths = []
    for seed in range(5):
        noise = np.random.default_rng(seed).normal(0, 5, n)
        y = 200 + 0.5 * t + 30 * np.sin(np.pi * t / 6) + noise
        _, low, high = bounds(months(y), pred_len=pred_len)
        widths.append((high - low).mean())
    assert np.mean(widths) < 35  # noise makes 13 of it


def sold(sizes, n=40, seed=0):
    random = np.random.default_rng(seed)
    rows = {
        f"p{i}": months(s * (1 + 0.1 * random.normal(size=n)))
        for i, s in enumerate(sizes)
    }
    return pd.concat(rows | {"unsold": months([np.nan] * n)})


@pytest.mark.filterwarnings("ignore:series .* take no part:UserWarning")
@pytest.mark.filterwarnings("ignore:series .* have no observed target:UserWarning")
@pytest.mark.parametrize(
    "parameters",
    [{}, {"target_transform": "log"}, {"members": ["ridges"], "loss": "mae"}],
    ids=str,
)
def test_a_product_that_was_never_sold_may_be_as_large_as_any(parameters):
    """Its range was that of a series whose level is known, around the mean of all."""
    rows = sold([50, 200, 800])
    model = InformerRegressor(seq_len=12, pred_len=6, random_state=0, **parameters).fit(
        rows
    )
    ahead = model.forecast(coverage=0.8)
    _, low, high = ahead.loc["unsold"].to_numpy().T
    assert (low < 60).all()
    assert (high > 700).all()
    _, low, high = ahead.loc["p1"].to_numpy().T
    assert (high - low < 200).all()
    after = pd.concat({"unsold": months([210.0, 190.0], start="2021-05-01")})
    _, low, high = model.update(after).forecast(coverage=0.8).loc["unsold"].to_numpy().T
    assert (high - low < 300).all()  # from then on something is known


def test_rows_before_the_first_are_not_asked_for_dates():
    """A look-back of 1,480 quarters has none in nanoseconds, which begin in 1677."""
    random, n = np.random.default_rng(0), 40
    dates = pd.date_range("1980-01-01", periods=n, freq="QS").as_unit("ns")
    rows = {
        f"region {i}": pd.DataFrame({"y": 10 + random.normal(size=n)}, dates)
        for i in range(12)
    }
    model = InformerRegressor(seq_len=8, pred_len=4, random_state=0)
    ahead = model.fit(pd.concat(rows)).forecast(horizon=8, levels=[0.1, 0.9])
    assert len(ahead) == 8 * len(rows)
    assert ahead.notna().all(axis=None)
