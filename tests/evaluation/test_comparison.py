"""Tables of backtests: by groups, and with a test whether one is better."""

import re

import numpy as np
import pandas as pd
import pytest
from scipy import stats

from skinformer.evaluation import compare, summary


def table(n_origins=50, horizon=4, *, step=4, seed=0, size=1.0, series=None):
    """Make a result of a backtest whose errors are drawn."""
    rng = np.random.default_rng(seed)
    start = np.repeat(np.arange(n_origins) * step, horizon)
    ahead = np.tile(np.arange(horizon), n_origins)
    hours = pd.date_range("2024-01-01", periods=n_origins * step + horizon, freq="h")
    actual = np.random.default_rng(9).normal(size=len(hours))[start + ahead]
    out = pd.DataFrame(
        {
            "origin": hours[start],
            "time": hours[start + ahead],
            "ahead": ahead + 1,
            "target": "load",
            "actual": actual,
            "forecast": actual + size * rng.normal(size=len(start)) * (ahead + 1),
        }
    )
    return (
        out
        if series is None
        else pd.concat({series: out}, names=["series"]).reset_index(0)
    )


def test_errors_are_averaged_by_groups():
    """By step ahead, by a field of the time, by a function, and by several at once."""
    result = table()
    error = result["forecast"] - result["actual"]
    by_ahead = summary(result)
    assert by_ahead.index.name == "ahead"
    np.testing.assert_allclose(
        by_ahead["mae"], error.abs().groupby(result["ahead"]).mean()
    )
    np.testing.assert_allclose(by_ahead["bias"], error.groupby(result["ahead"]).mean())
    hour = result["time"].dt.hour
    np.testing.assert_allclose(
        summary(result, "hour")["mae"], error.abs().groupby(hour).mean()
    )

    def night(times):
        return times.hour < 6

    both = summary(result, ["ahead", night])
    assert both.index.names == ["ahead", "night"]
    assert both["n"].sum() == len(result)


def test_missing_truths_have_no_part():
    """Neither in the errors nor in their number."""
    result = table()
    result.loc[:3, "actual"] = np.nan
    assert summary(result)["n"].tolist() == [49] * 4


def test_quantiles_add_their_scores():
    """Coverage and width are those between the lowest and the highest."""
    result = table()
    result["q0.1"], result["q0.9"] = result["actual"] - 1, result["actual"] + 1
    result.loc[result["ahead"] == 2, "q0.9"] -= 3
    found = summary(result)
    assert found["coverage"].tolist() == [1.0, 0.0, 1.0, 1.0]
    assert found["width"].tolist() == pytest.approx([2.0, -1.0, 2.0, 2.0])
    assert found.loc[1, "pinball"] == pytest.approx(0.1)


def test_skill_is_the_share_of_the_references_error_that_is_saved():
    """Against the first one, or the one that is named."""
    results = {"naive": table(size=2.0), "good": table(size=1.0)}
    found = compare(results)
    assert found.loc["good", "skill"] == pytest.approx(0.5)
    assert found.loc["naive", "skill"] == 0
    turned = compare(results, reference="good")
    assert turned.loc["naive", "skill"] == pytest.approx(-1.0)


def test_rows_may_come_in_any_order():
    """Results are compared by what they are of."""
    one = table()
    mixed = one.sample(frac=1, random_state=0)
    assert compare({"one": one, "mixed": mixed}).loc["mixed", "skill"] == 0


def test_the_statistic_is_harveys():
    """By hand for forecasts that do not overlap: Student's test of the mean difference."""
    results = {"a": table(seed=1), "b": table(seed=2, size=0.9)}
    error = {name: (t["forecast"] - t["actual"]).abs() for name, t in results.items()}
    apart = (error["b"] - error["a"]).groupby(results["a"]["origin"]).mean()
    n = len(apart)
    expected = apart.mean() / np.sqrt(apart.var(ddof=0) / n) * np.sqrt((n - 1) / n)
    found = compare(results).loc["b"]
    assert found["dm"] == pytest.approx(expected)
    assert found["p_value"] == pytest.approx(2 * stats.t.sf(abs(expected), n - 1))


def test_forecasts_that_overlap_prove_less():
    """Origins at every row repeat what the ones before them showed."""
    long = table(400, 12, step=1, seed=1)
    other = long.copy()
    # Lasts for some origins.
    drift = np.repeat(np.random.default_rng(0).normal(size=60), 8)
    other["forecast"] += 3 * drift[long["time"].rank(method="dense").astype(int) - 1]
    found = compare({"one": long, "other": other}).loc["other"]
    error = [(t["forecast"] - t["actual"]).abs() for t in (long, other)]
    apart = (error[1] - error[0]).groupby(long["origin"]).mean()
    alone = apart.mean() / (apart.std() / np.sqrt(len(apart)))
    assert 0 < found["dm"] < 0.7 * alone


def test_equal_results_and_too_few_origins_have_no_statistic():
    """Nothing is divided by nothing."""
    assert np.isnan(compare({"a": table(), "b": table()}).loc["b", "dm"])
    few = compare({"a": table(2), "b": table(2, seed=1)})
    assert np.isnan(few.loc["b", "p_value"])


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (
            lambda: compare({"a": table(), "b": table(40)}),
            "results of 'b' and 'a' are of different rows: run both backtests on the same X with "
            "the same start, horizon and step.",
        ),
        (
            lambda: compare({"a": table()}, reference="b"),
            "reference='b' must be one of ['a'].",
        ),
        (
            lambda: summary(table(), "hours"),
            "by='hours' is neither a column of the result, ['origin', 'time', 'ahead', 'target', "
            "'actual', 'forecast'], nor a field of its times, such as 'hour'. Pass one of these, "
            "or a function of the times.",
        ),
    ],
)
def test_what_cannot_be_compared_is_refused(call, message):
    """A skill over other rows would be a number all the same."""
    with pytest.raises(ValueError, match=f"^{re.escape(message)}$"):
        call()


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: compare("foo"), "results lack the column 'origin': "),
        (lambda: compare({}), "results={} contains no backtest. "),
        (lambda: compare({"a": 3}), "results of 'a' lack the column 'origin': "),
        (
            lambda: compare({"a": pd.DataFrame({"load": [1.0]})}),
            "results of 'a' lack the column ",
        ),
        (
            lambda: compare({"a": table()}, reference=["a"]),
            "reference=['a'] must be one of ['a'].",
        ),
        (lambda: summary({}), "results lack the column 'time': "),
        (lambda: summary(np.zeros(3)), "results lack the column 'time': "),
        (
            lambda: summary(table().assign(actual=np.nan)),
            "results have no actual values",
        ),
        (lambda: summary(table(), by=3), "by=3 is neither a column of the result, "),
        (lambda: summary(table(), by=[]), "by=[] is neither a column of the result, "),
    ],
)
def test_what_is_no_backtest_is_refused(call, message):
    """In words, where an AttributeError, a StopIteration or a KeyError came before."""
    with pytest.raises(ValueError, match=f"^{re.escape(message)}"):
        call()


def test_a_single_backtest_can_be_compared():
    """By itself: a table of one row, and numbers as names stay numbers."""
    assert compare(table())["skill"].tolist() == [0.0]
    assert compare({24: table()}, reference=24).index.tolist() == [24]
