"""A fit that repeating a season would beat says so, and no other fit does."""

import re
import warnings
from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest
from sklearn.dummy import DummyRegressor

from skinformer import InformerRegressor
from skinformer.ensemble import members
from skinformer.ensemble.naive_check import compare_with_naive, some_of_split
from skinformer.ensemble.tabular import Tabular
from skinformer.timeline.clock import clock_for
from skinformer.timeline.timeline import Timeline
from skinformer.timeline.windows import Origins, window_rows

N, TAIL, PRED_LEN = 1400, 1120, 24
P = {"seq_len": 24, "pred_len": 6, "d_model": 16, "n_heads": 2, "max_iter": 1, "random_state": 0}
HOURS = pd.date_range("2024-01-01", periods=N, freq="h")
MESSAGE = (
    "the validation rows are forecast with 49% more mean absolute error than by repeating {}. "
    "{}; compare by backtest, and keep SeasonalNaive(season={}) if it stays ahead."
)


def weeks(seed=0, n=N):
    """Give hours whose days of the week differ, with noise that no forecast knows."""
    rng = np.random.default_rng(seed)
    week = rng.normal(size=168)
    return (week[np.arange(n) % 168] + 0.1 * rng.normal(size=n)).astype(np.float32)


def timeline_of(*series, weight=None):
    values = np.concatenate(series)[:, None]
    first_row = np.concatenate([[0], np.cumsum([len(part) for part in series])])
    clock = clock_for(HOURS, HOURS.freq)
    return Timeline(values, weight, first_row, np.zeros(len(series), dtype=np.int64), clock)


def tail_of(timeline):
    """Give each series' split, and all windows of it."""
    split = timeline.first_row[:-1] + TAIL
    origins = np.concatenate(
        [
            np.arange(low, high - PRED_LEN + 1)
            for low, high in zip(split, timeline.first_row[1:], strict=True)
        ]
    )
    return split, origins


def compared(timeline, forecast, split, origins, *, seq_len=336):
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        rows = SimpleNamespace(
            timeline=timeline, split=split, sizes=SimpleNamespace(seq_len=seq_len)
        )
        compare_with_naive(forecast.astype(np.float32), origins, rows)
    return [str(w.message) for w in caught]


def with_error(timeline, origins, factor, season=168):
    """Give forecasts whose absolute errors are so many times those of a repeated season."""
    rows = window_rows(origins, PRED_LEN)
    truth = timeline.values[rows]
    naive = timeline.values[rows - season]
    return truth + np.reshape(factor, (-1, 1, 1)) * (naive - truth)


# --- the comparison -----------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("seq_len", "advice"),
    [
        (96, "seq_len=96 does not reach back so far: pass seq_len=168 or more"),
        (168, "Pass more rows, columns that are known ahead (known_future), or a longer seq_len"),
    ],
)
def test_the_season_that_the_rows_before_the_tail_have_is_named(seq_len, advice):
    """A day of hours would be the first guess, and it is wrong here."""
    timeline = timeline_of(weeks())
    split, origins = tail_of(timeline)
    forecast = with_error(timeline, origins, 1.49)
    assert compared(timeline, forecast, split, origins, seq_len=seq_len) == [
        MESSAGE.format("what came 168 rows before", advice, 168)
    ]


def test_the_season_is_chosen_without_the_tail():
    """As a user would, who has not seen it: what the tail shows would be a comparison with luck."""
    values, days = weeks(), np.random.default_rng(1).normal(size=(30, 24)).cumsum(axis=0)
    values[700:] = 5 * days.ravel()[: N - 700]  # each like the one before
    timeline, split = timeline_of(values), np.array([700])
    origins = np.arange(700, N - PRED_LEN + 1)
    forecast = with_error(timeline, origins, 1.49)
    (message,) = compared(timeline, forecast, split, origins)
    assert "what came 168 rows before" in message


def test_without_seasons_the_last_value_is_repeated():
    """A random walk has nothing else."""
    walk = np.cumsum(np.random.default_rng(0).normal(size=N)).astype(np.float32)
    timeline = timeline_of(walk)
    split, origins = tail_of(timeline)
    rows = window_rows(origins, PRED_LEN)
    truth, last = walk[rows][..., None], walk[origins - 1][:, None, None]
    advice = "Pass more rows, columns that are known ahead (known_future), or a longer seq_len"
    assert compared(timeline, truth + 1.49 * (last - truth), split, origins) == [
        MESSAGE.format("the last value", advice, 1)
    ]


def test_a_season_shorter_than_a_forecast_is_repeated_row_by_row():
    """The naive loop: of each step the last row before the origin that has its phase."""
    rng = np.random.default_rng(0)
    values = np.tile(rng.normal(size=7), N // 7) + 0.1 * rng.normal(size=N)
    days = pd.date_range("2020-01-01", periods=N, freq="D")
    timeline = replace(timeline_of(values.astype(np.float32)), clock=clock_for(days, days.freq))
    split, origins = tail_of(timeline)
    rows = window_rows(origins, PRED_LEN)
    repeated = rows.copy()
    while (late := repeated >= origins[:, None]).any():
        repeated[late] -= 7
    truth = timeline.values[rows]
    forecast = truth + 1.49 * (timeline.values[repeated] - truth)
    advice = "Pass more rows, columns that are known ahead (known_future), or a longer seq_len"
    assert compared(timeline, forecast, split, origins) == [
        MESSAGE.format("what came 7 rows before", advice, 7)
    ]


def test_what_is_as_good_or_hardly_worse_gets_no_warning():
    """Nor does what is much worse on one half of the split: that may be one bad week."""
    timeline = timeline_of(weeks())
    split, origins = tail_of(timeline)
    late = np.arange(len(origins)) >= len(origins) // 2
    for factor in (0.5, 1.04, np.where(late, 3.0, 0.9), np.where(late, 0.9, 3.0)):
        assert compared(timeline, with_error(timeline, origins, factor), split, origins) == []
    assert len(compared(timeline, with_error(timeline, origins, 1.08), split, origins)) == 1


def test_a_short_tail_has_to_be_worse_to_be_believed():
    """Two forecasts of one series prove little; the same of nine series prove more."""
    for n_series, n_messages in ((1, 0), (9, 1)):
        timeline = timeline_of(*(weeks(seed)[: TAIL + 2 * PRED_LEN] for seed in range(n_series)))
        split, origins = tail_of(timeline)
        forecast = with_error(timeline, origins, 1.12)
        assert len(compared(timeline, forecast, split, origins)) == n_messages


def test_one_window_proves_nothing():
    """It has no second half."""
    timeline = timeline_of(weeks())
    split, origins = tail_of(timeline)
    forecast = with_error(timeline, origins[:1], 9.0)
    assert compared(timeline, forecast, split, origins[:1]) == []


def test_missing_truths_count_neither_as_truth_nor_as_what_is_repeated():
    """Held values in their place would be errors of the one or the other."""
    values, weight = weeks(), np.ones((N, 1), dtype=np.float32)
    missing = np.random.default_rng(1).random(N) < 0.2
    clean = timeline_of(values)
    split, origins = tail_of(clean)
    good, bad = (with_error(clean, origins, factor) for factor in (0.9, 1.49))
    weight[missing] = 0
    held = timeline_of(np.where(missing, np.float32(50), values), weight=weight)
    assert compared(held, good, split, origins) == []
    assert len(compared(held, bad, split, origins)) == 1
    nothing = timeline_of(values, weight=np.zeros((N, 1), dtype=np.float32))
    assert compared(nothing, bad, split, origins) == []


def test_no_series_of_a_panel_speaks_for_the_others():
    """Neither by going wild nor by its size; a series without a season's rows says nothing."""
    parts = [weeks(seed) for seed in range(9)]
    parts[0] = parts[0] * 1e6
    timeline = timeline_of(*parts)
    split, origins = tail_of(timeline)
    first = origins < timeline.first_row[1]
    good = with_error(timeline, origins, np.where(first, 100.0, 0.8))
    bad = with_error(timeline, origins, np.where(first, 0.01, 1.6))
    assert compared(timeline, good, split, origins) == []
    assert len(compared(timeline, bad, split, origins)) == 1


@pytest.mark.parametrize(
    ("n", "told"),
    [
        (120, r"(last value|24 rows before)\. Pass more rows"),  # none has seen a week
        (240, r"(last value|24 rows before)\. Pass more rows"),  # a few have
        (600, r"what came 168 rows before\. Pass more rows"),  # none has seen many
        (700, r"what came 168 rows before\. seq_len=96 does not reach back so far"),
    ],
)
def test_a_season_is_named_and_reached_for_where_rows_hold_it(n, told):
    """A week cannot be repeated by who has not seen one, nor learnt from three."""
    timeline = timeline_of(weeks()[:n])
    split = np.array([n - 60])
    origins = np.arange(split[0], n - PRED_LEN + 1)
    forecast = np.full((len(origins), PRED_LEN, 1), 5.0)
    (message,) = compared(timeline, forecast, split, origins, seq_len=96)
    assert re.search(told, message)


def test_few_windows_are_compared():
    """The comparison must not be felt beside a fit."""
    assert len(some_of_split(Origins(np.array([0]), np.array([10**6])))) == 64


# --- in a fit -----------------------------------------------------------------------------------


def daily(n=600):
    rng = np.random.default_rng(0)
    load = np.sin(2 * np.pi * np.arange(n) / 24) + 0.05 * rng.normal(size=n)
    return pd.DataFrame({"load": load}, index=HOURS[:n])


def told_of_naive(estimator, X):
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        estimator.fit(X)
    return [str(w.message) for w in caught if re.match("the validation rows", str(w.message))]


@pytest.mark.slow
def test_a_network_that_has_learnt_nothing_is_told_of():
    """The user would put it to work."""
    untrained = InformerRegressor(**P, members=["network"], learning_rate=1e-9)
    df = daily()
    assert len(told_of_naive(untrained, df)) == 1
    df.iloc[::9] = np.nan
    assert len(told_of_naive(untrained, df)) == 1
    assert len(told_of_naive(untrained, df.to_numpy())) == 1
    panel = pd.concat({"a": df, "b": 100 * df}, names=["site", "time"])
    assert len(told_of_naive(untrained, panel)) == 1


def test_good_fits_and_fits_without_a_tail_or_a_mean_are_not():
    """A quantile is not what comes, and without validation rows nothing can be compared."""
    df = daily()
    assert told_of_naive(InformerRegressor(**P), df) == []
    assert told_of_naive(InformerRegressor(**P), df[:120]) == []
    assert told_of_naive(InformerRegressor(**P, loss=0.95), df) == []
    untrained = InformerRegressor(
        **P, members=["network"], learning_rate=1e-9, early_stopping=False
    )
    assert told_of_naive(untrained, df) == []


@pytest.fixture
def forecasts(monkeypatch):
    """Give the forecasts that fits compared, in order."""
    seen, compare = [], members.compare_with_naive

    def compares(forecast, *args, **kwargs):
        seen.append(forecast)
        compare(forecast, *args, **kwargs)

    monkeypatch.setattr(members, "compare_with_naive", compares)
    return seen


def test_a_long_table_is_compared_with_its_trust(monkeypatch, forecasts):
    """The network alone would be blamed for what it is not trusted with."""
    for trust in (0.0, 1.0, 0.25):
        monkeypatch.setattr(members.weighing, "network_share", lambda *_, trust=trust, **__: trust)
        InformerRegressor(**P, members=["classical", "ridges", "network"]).fit(daily())
    ridges, network, mixed = forecasts
    assert not np.allclose(ridges, network)
    np.testing.assert_allclose(mixed, 0.75 * ridges + 0.25 * network, atol=1e-5)


@pytest.mark.parametrize("n", [150, 600])
def test_what_was_fitted_to_the_tail_is_not_compared_there(forecasts, n):
    """The final ridges know all."""
    for early_stopping in (True, "auto"):
        given = {"members": ["classical", "ridges", "network"], "early_stopping": early_stopping}
        InformerRegressor(**P, **given).fit(daily(n))
    np.testing.assert_array_equal(*forecasts)


def test_a_regressor_beside_the_network_has_its_share_in_what_is_compared(monkeypatch, forecasts):
    """What it saves must not be missing, nor count in full."""
    share = np.linspace(0.1, 0.6, P["pred_len"])
    monkeypatch.setattr(members.weighing, "weigh_steps", lambda *_, **__: share)
    for value in (0.0, 5.0):
        regressor = DummyRegressor(strategy="constant", constant=value)
        monkeypatch.setattr(
            Tabular,
            "forecast",
            lambda self, at, base=None, value=value: np.full(
                (len(at), P["pred_len"], 1), value, dtype=np.float32
            ),
        )
        InformerRegressor(**P, members=["ridges", regressor, "network"]).fit(daily())
    without, beside = forecasts
    gained = (beside - without)[..., 0]
    np.testing.assert_allclose(gained, np.tile(5 * share, (len(gained), 1)), atol=1e-4)


def test_a_short_table_is_compared_by_its_shares(monkeypatch, forecasts):
    """What one forecaster alone does is forecast for nobody."""
    given = []

    def judges(each, *args, n_series, **kwargs):
        given.extend(each)
        weights = np.arange(len(each)) / np.arange(len(each)).sum()
        return np.broadcast_to(weights, (n_series + 1, 1, len(weights))).copy()

    monkeypatch.setattr(members.weighing, "weigh_series", judges)
    InformerRegressor(**P).fit(daily(150))
    joint = sum(i * forecast for i, forecast in enumerate(given)) / sum(range(len(given)))
    np.testing.assert_allclose(forecasts[0], joint, rtol=1e-5, atol=1e-6)
