import re
import tracemalloc

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.linear_model import Ridge
from sklearn.model_selection import TimeSeriesSplit, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from skinformer import SlidingWindow


def frame(n=20, start="2024-01-01", freq="h", seed=0, tz=None):
    index = pd.date_range(start, periods=n, freq=freq, tz=tz, name="when")
    values = np.random.default_rng(seed).normal(size=(n, 2))
    return pd.DataFrame(values, index=index, columns=["load", "temp"])


def rows(values, wanted, mean):
    """Look up row by row; the mean where a row is lacking (None) or before the first."""
    return [
        values[t] if 0 <= t < len(values) and values[t] is not None else mean
        for t in wanted
    ]


def naive(values, seq_len, lag, mean, places=None):
    """Windows of a list of rows, for the places given, column after column, oldest first."""
    out = []
    for t in range(len(values)) if places is None else places:
        window = np.array(rows(values, range(t - lag - seq_len + 1, t - lag + 1), mean))
        out.append(window.T.ravel())
    return np.array(out)


def raises(error, message):
    """Expect an error with this message, word for word."""
    return pytest.raises(error, match=f"^{re.escape(message)}$")


# --- windows ------------------------------------------------------------------------------------


@settings(max_examples=50, deadline=None)
@given(
    n=st.integers(1, 30),
    seq_len=st.integers(1, 9),
    lag=st.integers(0, 9),
    dated=st.booleans(),
    seed=st.integers(0, 99),
)
def test_row_t_gets_the_rows_up_to_t_minus_lag(n, seq_len, lag, dated, seed):
    """Off by one is a leak or a lost step; the first rows get the training mean."""
    X = frame(n, seed=seed)
    values = X.to_numpy()
    out = SlidingWindow(seq_len, lag).fit_transform(X if dated else values)
    expected = naive(list(values), seq_len, lag, values.mean(axis=0))
    np.testing.assert_allclose(np.asarray(out), expected, rtol=1e-12)


def test_the_lags_are_those_of_pandas_shift():
    """An outside word on which way lags count and what the columns are called."""
    X = frame()
    out = SlidingWindow(seq_len=3, lag=2).fit_transform(X)
    for name in X.columns:
        for k in (4, 3, 2):
            shifted = X[name].shift(k)
            seen = shifted.notna()
            np.testing.assert_array_equal(
                out.loc[seen, f"{name}__lag_{k}"], shifted[seen]
            )


@pytest.mark.parametrize("lag", [0, 1, 4])
@pytest.mark.parametrize("column", [0, 1])
def test_a_changed_value_shows_in_the_columns_that_bear_its_name(lag, column):
    """Importances are read by these names."""
    X = frame()
    fitted = SlidingWindow(3, lag).fit(X)
    before = fitted.transform(X)
    X.iloc[9, column] += 1
    changed = np.argwhere((fitted.transform(X) != before).to_numpy())
    found = {(int(row), before.columns[j]) for row, j in changed}
    name = X.columns[column]
    assert found == {(9 + k, f"{name}__lag_{k}") for k in range(lag, lag + 3)}


@pytest.mark.parametrize("horizon", [1, 3, 7])
def test_with_lag_h_the_last_h_rows_are_not_seen(horizon):
    """A direct forecast h ahead must not read what lies between its origin and its step."""
    X = frame(30)
    fitted = SlidingWindow(4, lag=horizon).fit(X)
    before = fitted.transform(X)
    for t in range(horizon, 31):
        changed = X.copy()
        changed.iloc[t - horizon :] += 99
        after = fitted.transform(changed)
        pd.testing.assert_frame_equal(after.iloc[:t], before.iloc[:t])


@pytest.mark.parametrize("start", [0, 5, 12, 30])
@pytest.mark.parametrize("lag", [0, 2])
def test_later_rows_see_the_end_of_the_training_rows(start, lag):
    """A test fold goes on where training ends, with or without a gap between."""
    full = frame(70)
    train, X = full.iloc[:20], full.iloc[20 + start : 40 + start]
    known = list(full.to_numpy())
    for t in range(20, 20 + start):
        known[t] = None
    known = known[: 40 + start]
    expected = naive(
        known, 4, lag, train.mean().to_numpy(), range(20 + start, 40 + start)
    )
    out = SlidingWindow(4, lag).fit(train).transform(X)
    np.testing.assert_allclose(out.to_numpy(), expected)
    pd.testing.assert_index_equal(out.index, X.index)


def test_a_plain_array_follows_the_training_rows():
    """It has no clock; only the training array itself, known by its content, is in its place."""
    values = frame(30).to_numpy()
    fitted = SlidingWindow(3, 1).fit(values[:20])
    expected = naive(list(values), 3, 1, values[:20].mean(axis=0), range(20, 30))
    np.testing.assert_allclose(fitted.transform(values[20:]), expected)
    train = naive(list(values[:20]), 3, 1, values[:20].mean(axis=0))
    np.testing.assert_allclose(fitted.transform(values[:20].copy()), train)
    np.testing.assert_allclose(fitted.transform(values[:20].tolist()), train)


def test_given_rows_win_over_the_stored_ones():
    """Permutation importance changes values in place of the training rows."""
    X = frame()
    fitted = SlidingWindow(3, 1).fit(X)
    other = X * 2
    expected = naive(list(other.to_numpy()), 3, 1, X.mean().to_numpy())
    np.testing.assert_allclose(fitted.transform(other).to_numpy(), expected)


@pytest.mark.parametrize("freq", ["h", "D", "B", "MS", "7min"])
@pytest.mark.parametrize("tz", [None, "Europe/Berlin"])
def test_the_order_of_rows_does_not_matter(freq, tz):
    """A row's place is its timestamp, across both changes of the clock too."""
    X = frame(400, freq=freq, tz=tz)
    fitted = SlidingWindow(3, 1).fit(X.iloc[:300])
    out = fitted.transform(X)
    shuffled = X.sample(frac=1, random_state=0)
    pd.testing.assert_frame_equal(
        fitted.transform(shuffled), out.loc[shuffled.index], check_freq=False
    )


def test_a_subset_sees_its_own_rows_and_the_stored_end():
    """Dropped rows are missing: the mean stands for them, never a neighbour."""
    X = frame(20)
    fitted = SlidingWindow(2, 1).fit(X)
    kept = [3, 4, 5, 9, 18, 19]
    known = [x if t in kept or t >= 17 else None for t, x in enumerate(X.to_numpy())]
    expected = naive(known, 2, 1, X.mean().to_numpy(), kept)
    np.testing.assert_allclose(fitted.transform(X.iloc[kept]).to_numpy(), expected)


def test_rows_before_the_training_rows_have_negative_steps():
    """Backcasts are rows like others."""
    full = frame(30)
    fitted = SlidingWindow(3, 1).fit(full.iloc[10:])
    expected = naive(list(full.to_numpy()[:10]), 3, 1, full.iloc[10:].mean().to_numpy())
    np.testing.assert_allclose(fitted.transform(full.iloc[:10]).to_numpy(), expected)


def test_rows_off_the_training_grid_are_a_timeline_of_their_own():
    """Measured at half past: no training row belongs into their windows."""
    X = frame(20)
    other = frame(8, start="2024-01-01 18:30", seed=5)
    out = SlidingWindow(3, 1).fit(X).transform(other)
    expected = naive(list(other.to_numpy()), 3, 1, X.mean().to_numpy())
    np.testing.assert_allclose(out.to_numpy(), expected)


@pytest.mark.parametrize(
    "index",
    [
        pd.period_range("2024-01", periods=20, freq="M"),
        pd.RangeIndex(100, 200, 5),
        pd.Index(np.arange(20), dtype="uint64"),
        pd.date_range("2024-01-01", periods=20, freq="QE-FEB", tz="Pacific/Auckland"),
    ],
    ids=["periods", "fives", "uint64", "quarters"],
)
def test_any_regular_clock_will_do(index):
    """Windows are counted in steps, whatever a step is."""
    X = frame(20).set_axis(index)
    expected = naive(
        list(X.to_numpy()), 4, 1, X.iloc[:12].mean().to_numpy(), range(12, 20)
    )
    out = SlidingWindow(4, 1).fit(X.iloc[:12]).transform(X.iloc[12:])
    np.testing.assert_allclose(out.to_numpy(), expected)


def test_missing_values_pass_and_leave_the_mean():
    """A gap is shown as a gap, and the padding is the mean of the rest."""
    X = frame(6)
    X.iloc[[1, 4], 0] = np.nan
    out = SlidingWindow(2, 1).fit_transform(X)
    expected = naive(list(X.to_numpy()), 2, 1, X.mean().to_numpy())
    np.testing.assert_allclose(out.to_numpy(), expected)
    assert np.isnan(out.loc[X.index[2], "load__lag_1"])


@pytest.mark.parametrize(
    "values", [[[1], [2], [4]], [[True], [False], [True]]], ids=["int", "bool"]
)
@pytest.mark.parametrize("framed", [False, True])
def test_the_mean_of_whole_numbers_is_not_rounded(values, framed):
    """Counts of 0 and 1 with a mean of .9 would be padded by 0."""
    X = np.array(values)
    out = SlidingWindow(2, 1).fit_transform(
        pd.DataFrame(X, columns=["a"]) if framed else X
    )
    np.testing.assert_allclose(
        np.asarray(out), naive(list(X.astype(float)), 2, 1, [X.mean()])
    )


def test_single_precision_stays_single():
    """The output is seq_len times the input; twice that is twice the memory."""
    assert (
        SlidingWindow(2, 1).fit_transform(np.ones((5, 2), np.float32)).dtype
        == np.float32
    )


# --- panels -------------------------------------------------------------------------------------


def panel(lengths=(12, 9, 15), seed=0):
    """Series that start at different times."""
    names = ["b", "c", "a"][: len(lengths)]
    starts = ["2024-01-01 02:00", "2024-01-01", "2024-01-01 07:00"]
    return pd.concat(
        {
            name: frame(n, start, seed=seed + i) + 100 * i
            for i, (name, n, start) in enumerate(
                zip(names, lengths, starts, strict=False)
            )
        },
        names=["series"],
    )


def split_each(X, n_last):
    later = X.groupby(level=0).cumcount(ascending=False) < n_last
    return X[~later], X[later]


@pytest.mark.parametrize("lag", [0, 1, 3])
def test_windows_never_span_two_series(lag):
    """Each series is windowed as if it were alone, with its own mean and its own end."""
    train, later = split_each(panel(), 4)
    fitted = SlidingWindow(4, lag).fit(train)
    for X in (train, later, pd.concat([later, train])):
        out = fitted.transform(X)
        for name in ("a", "b", "c"):
            alone = SlidingWindow(4, lag).fit(train.loc[name]).transform(X.loc[name])
            pd.testing.assert_frame_equal(out.loc[name], alone, check_freq=False)


def test_interleaved_series_are_told_apart():
    """Rows by time, then by series, is how databases give them."""
    train, later = split_each(panel(), 4)
    fitted = SlidingWindow(4, 1).fit(train)
    by_time = train.sort_index(level=["when", "series"])
    out = SlidingWindow(4, 1).fit(by_time).transform(later)
    pd.testing.assert_frame_equal(out, fitted.transform(later))
    shuffled = later.sample(frac=1, random_state=0)
    pd.testing.assert_frame_equal(fitted.transform(shuffled), out.loc[shuffled.index])


def test_unseen_series_have_windows_of_their_own_rows():
    """A new shop has no training rows, and must not borrow those of another."""
    fitted = SlidingWindow(3, 1).fit(panel())
    X = pd.concat({"x": frame(6, seed=7), "a": frame(6, seed=8), "y": frame(6, seed=9)})
    out = fitted.transform(X)
    for name in ("x", "y"):
        window = naive(list(X.loc[name].to_numpy()), 3, 1, [np.nan, np.nan])
        seen = ~np.isnan(window)
        np.testing.assert_allclose(out.loc[name].to_numpy()[seen], window[seen])


def test_the_padding_of_an_unseen_series_is_the_mean_over_all_series():
    """Whichever series came last in training says nothing about a new one."""
    train = panel()
    names = ["b", "c", "a"]
    X = pd.concat({"x": frame(6, seed=7)})
    first = SlidingWindow(3, 1).fit(train).transform(X)
    again = pd.concat({name: train.loc[name] for name in names[::-1]})
    pd.testing.assert_frame_equal(SlidingWindow(3, 1).fit(again).transform(X), first)
    expected = train.groupby(level=0).mean().mean()
    np.testing.assert_allclose(first.iloc[0, [0, 3]], expected)


def test_series_off_the_grid_keep_their_own_mean():
    """The rows of a known series at half past are still rows of that series."""
    train = panel()
    names = ["a", "b", "c"]
    X = pd.concat({name: frame(5, "2024-01-01 00:30", seed=3) for name in names})
    out = SlidingWindow(3, 1).fit(train).transform(X)
    for name in names:
        mean = train.loc[name].mean().to_numpy()
        expected = naive(list(X.loc[name].to_numpy()), 3, 1, mean)
        np.testing.assert_allclose(out.loc[name].to_numpy(), expected)


def test_a_panel_of_one_series_is_a_panel():
    """The index decides, not the count."""
    X = panel((12,))
    out = SlidingWindow(3, 1).fit(X).transform(X)
    np.testing.assert_array_equal(out, SlidingWindow(3, 1).fit_transform(X.loc["b"]))


# --- among other tools --------------------------------------------------------------------------


def test_ridge_on_windows_learns_an_autoregression():
    """What it is made for: any regressor becomes a forecaster, without and with frames."""
    rng = np.random.default_rng(0)
    y = np.zeros(600)
    for t in range(2, 600):
        y[t] = 1.6 * y[t - 1] - 0.8 * y[t - 2] + rng.normal() * 0.1
    X = pd.DataFrame({"y": y}, index=pd.date_range("2024-01-01", periods=600, freq="h"))
    steps = make_pipeline(StandardScaler(), SlidingWindow(2, lag=1), Ridge(1e-6))
    steps.set_output(transform="pandas").fit(X.iloc[:500], y[:500])
    weights = steps[-1].coef_ / steps[0].scale_
    np.testing.assert_allclose(weights, [-0.8, 1.6], atol=0.05)
    assert steps.score(X.iloc[500:], y[500:]) > 0.9
    scores = cross_val_score(steps, X, y, cv=TimeSeriesSplit(3))
    assert scores.min() > 0.85


def test_the_first_test_row_needs_no_warm_up_in_a_pipeline():
    """Its window is the end of training: one row is forecast as well as many."""
    X = frame(60)
    steps = make_pipeline(SlidingWindow(4, lag=1), Ridge()).fit(
        X.iloc[:50], X["load"].iloc[:50]
    )
    every = steps.predict(X.iloc[50:])
    np.testing.assert_allclose(steps.predict(X.iloc[50:51]), every[:1])


# --- messages -----------------------------------------------------------------------------------


def test_duplicated_times_are_refused():
    """Of two rows at one step nobody knows which one belongs into the window."""
    X = frame(5).set_axis(
        pd.to_datetime(["2024-01-01"] * 3 + ["2024-01-02", "2024-01-03"])
    )
    message = (
        "X.index holds 2 duplicated timestamps, the first 2024-01-01 00:00:00: keep one row a "
        "step, X[~X.index.duplicated()], or label several series by a MultiIndex (series, time). "
        "Naive local time repeats an hour in autumn: "
        "X.index.tz_localize(zone, ambiguous='infer')."
    )
    with raises(ValueError, message):
        SlidingWindow().fit(X)
    with raises(ValueError, message):
        SlidingWindow().fit(frame(5, freq="D")).transform(X)


def test_two_series_may_share_their_times():
    """Only within a series is a time a duplicate."""
    X = pd.concat({"a": frame(5), "b": frame(5)})
    SlidingWindow(2).fit_transform(X)
    with pytest.raises(
        ValueError, match=r"^X\.index holds 10 duplicated timestamps, the first \("
    ):
        SlidingWindow(2).fit(pd.concat([X, X]))


def test_rows_that_go_back_in_time_are_refused_in_training():
    """The stored end must be the end."""
    message = (
        "X.index is not in time order: call X.sort_index() before fit; in cross-validation use "
        "TimeSeriesSplit, which keeps the order."
    )
    with raises(ValueError, message):
        SlidingWindow().fit(frame().iloc[::-1])
    with raises(ValueError, message):
        SlidingWindow().fit(pd.concat({"a": frame(), "b": frame().iloc[::-1]}))


@pytest.mark.parametrize("tz", [None, "Europe/Berlin"])
def test_missing_times_are_refused_in_training(tz):
    """The windows after a gap would be shifted; asfreq says so with NaN."""
    X = frame(20, tz=tz)
    message = (
        f"X.index lacks 3 timestamps, the first {X.index[4]}: X.asfreq('h') adds them with NaN, "
        "which the target may hold; fill the other columns. Naive local time skips an hour in "
        "spring, so name its zone, tz_localize(zone). If closed days or hours are no steps, pass "
        "freq, such as 'B', or number the rows, X.reset_index(drop=True). In cross-validation use "
        "TimeSeriesSplit, whose folds have no gaps."
    )
    with raises(ValueError, message):
        SlidingWindow().fit(X.drop(X.index[[4, 5, 9]]))
    SlidingWindow().fit(X.drop(X.index[[4, 5, 9]]).asfreq("h"))


def test_missing_row_numbers_are_refused_in_training():
    """A filtered frame has kept its old row numbers."""
    X = frame(6).set_axis([0, 1, 2, 4, 5, 6])
    message = (
        "X.index lacks 1 timestamp, the first 3: X.reindex to all steps adds them with NaN, which "
        "the target may hold; fill the other columns. In cross-validation use TimeSeriesSplit, "
        "whose folds have no gaps."
    )
    with raises(ValueError, message):
        SlidingWindow().fit(X)
    SlidingWindow().fit(X.reindex(range(7)))


def test_irregular_times_are_refused():
    """Without a step there is no lag."""
    X = frame(3).set_axis(
        pd.to_datetime(["2024-01-01 00:00", "2024-01-01 01:00", "2024-01-01 02:30"])
    )
    message = (
        "X.index has irregular steps, from 0 days 01:00:00 to 0 days 01:30:00: pass freq= if "
        "they follow a calendar, name the zone whose clock they follow, tz_convert(zone), "
        "resample, X.resample(freq).mean(), or, where each row is one step, number the rows, "
        "X.reset_index(drop=True)."
    )
    with raises(ValueError, message):
        SlidingWindow().fit(X)


def test_series_of_a_panel_must_share_their_grid():
    """One clock counts all series."""
    X = pd.concat({"a": frame(9), "b": frame(5, "2024-01-01 00:30")})
    message = (
        "X.index does not lie on one grid, the 'h' of its longest series: 2024-01-01 00:30:00 of "
        "series 'b' is between two steps. Pass the freq that fits, or resample, "
        "X.groupby(level=0).resample(freq, level=1).mean()."
    )
    with raises(ValueError, message):
        SlidingWindow().fit(X)
    SlidingWindow().fit(X.groupby(level=0).resample("h", level=1).mean())


def test_rows_on_no_grid_of_the_step_are_refused():
    """Rows off the training grid may have their own, not none."""
    X = frame(3).set_axis(
        pd.to_datetime(["2024-01-01 00:00", "2024-01-01 01:00", "2024-01-01 02:30"])
    )
    message = (
        "X.index does not lie on steps of 'h', as the training rows do: 2024-01-01 02:30:00 is "
        "between two steps. Pass rows at such steps, or fit again on rows like these."
    )
    with raises(ValueError, message):
        SlidingWindow().fit(frame()).transform(X)


def test_another_zone_is_the_same_instants():
    """Aware times can be matched whatever zone they are written in."""
    X = frame(40, tz="Europe/Berlin")
    fitted = SlidingWindow(3, 1).fit(X.iloc[:30])
    np.testing.assert_array_equal(
        fitted.transform(X.iloc[30:].tz_convert("UTC")), fitted.transform(X.iloc[30:])
    )


MONTHS = pd.period_range("2024-01", periods=5, freq="M")


DATES = MONTHS.to_timestamp().as_unit("us")


@pytest.mark.parametrize(
    ("fitted", "given", "now", "then"),
    [
        (MONTHS, MONTHS.asfreq("D"), "period[D] labels", "period[M] labels"),
        (MONTHS, DATES, "naive dates", "period[M] labels"),
        (DATES, pd.RangeIndex(5), "whole numbers", "naive dates"),
        (pd.RangeIndex(5), DATES, "naive dates", "whole numbers"),
        (
            DATES,
            DATES.tz_localize("Europe/Berlin"),
            "dates of a time zone",
            "naive dates",
        ),
        (
            DATES.tz_localize("Europe/Berlin"),
            DATES,
            "naive dates",
            "dates of a time zone",
        ),
    ],
)
def test_labels_of_another_kind_are_refused(fitted, given, now, then):
    """Rows whose index was reset cannot be placed, and an hour's shift would look like a value."""
    message = (
        f"X.index holds {now}, but that of the training rows held {then}: pass labels of the same "
        "kind. Of dates tz_localize(zone) names the zone, and tz_convert(zone).tz_localize(None) "
        "drops it."
    )
    with raises(TypeError, message):
        SlidingWindow().fit(frame(5).set_axis(fitted)).transform(
            frame(5).set_axis(given)
        )


def test_rows_must_name_their_series_if_several_were_fitted_and_only_then():
    """Which end they continue cannot be guessed."""
    both = pd.concat({"a": frame(), "b": frame()})
    message = (
        "X does not name the series of its rows, but several were fitted: label the rows by a "
        "MultiIndex (series, time)."
    )
    with raises(ValueError, message):
        SlidingWindow().fit(both).transform(frame())
    message = (
        "X labels its rows by (series, time), but one series was fitted: pass the rows of one, "
        "X.loc[series]."
    )
    with raises(ValueError, message):
        SlidingWindow().fit(frame()).transform(both)


@pytest.mark.parametrize("call", ["fit", "transform"])
def test_a_missing_series_name_is_refused(call):
    """Taken for any fitted series, its rows would get that one's windows."""
    fitted = SlidingWindow(2).fit(pd.concat({"a": frame(5), "b": frame(5)}))
    nameless = pd.MultiIndex.from_arrays([["a", None, None, "b", "b"], frame(5).index])
    message = "X.index holds a missing series name: every row needs its series."
    with raises(ValueError, message):
        getattr(fitted, call)(frame(5).set_axis(nameless))


# --- memory -------------------------------------------------------------------------------------


def peak_of(call):
    """Measure the most memory that a call holds at once, in bytes."""
    tracemalloc.start()
    out = call()
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    return peak, out


def staggered(n_series, n_rows, apart):
    """Make series that begin one after the other, `apart` days each."""
    days = pd.date_range("1900-01-01", periods=n_series * apart + n_rows, freq="D")
    steps = np.add.outer(apart * np.arange(n_series), np.arange(n_rows)).ravel()
    index = pd.MultiIndex.from_arrays(
        [np.repeat(np.arange(n_series), n_rows), days[steps]]
    )
    return pd.DataFrame({"load": np.arange(len(index), dtype=float)}, index=index)


@pytest.mark.parametrize("apart", [0, 60], ids=["together", "one after the other"])
def test_memory_grows_with_the_output_alone(apart):
    """A table of series by time took 2.2 GB for 3,000 series of 60 rows."""
    X = staggered(500, 20, apart)
    window = SlidingWindow(seq_len=30, lag=2).fit(X)
    peak, out = peak_of(lambda: window.transform(X))
    assert peak < 2 * out.to_numpy().nbytes


def test_series_that_begin_at_other_times_get_their_own_windows():
    """What is looked up by series and time must be found for each alone."""
    X = staggered(7, 9, 4)
    out = SlidingWindow(seq_len=3, lag=1).fit_transform(X)
    for series, own in X.groupby(level=0)["load"]:
        expected = naive(own.to_numpy()[:, None], 3, 1, [own.mean()])
        np.testing.assert_array_equal(out.loc[series], expected)


def test_a_row_years_ahead_costs_no_more_than_another():
    """The hours between take neither memory nor time."""
    X = frame(100)
    far = X.set_axis(X.index[:-1].append(X.index[-1:] + pd.Timedelta(days=36_525)))
    window = SlidingWindow(seq_len=4).fit(X)
    peak, out = peak_of(lambda: window.transform(far))
    assert peak < 1e6  # 876,600 hours take 7 MB
    np.testing.assert_array_equal(out[:-1], window.transform(X)[:-1])
    expected = naive(
        [*X.to_numpy()[:99], *[None] * 5, X.to_numpy()[99]], 4, 0, X.mean(), [104]
    )
    np.testing.assert_allclose(out[-1:], expected, rtol=1e-12)


@pytest.mark.filterwarnings("ignore:rows are of Mon-Fri:UserWarning")
def test_the_row_before_an_opening_hour_is_the_last_one_before_closing():
    """A pipeline on lags takes the tables that the regressor takes."""
    hours = pd.date_range("2024-01-01", periods=24 * 28, freq="h")
    is_open = (hours.hour >= 8) & (hours.hour < 18) & (hours.day_of_week < 5)
    X = pd.DataFrame({"load": np.arange(200.0)}, index=hours[is_open])
    window = SlidingWindow(seq_len=3).fit(X[:150])
    found = window.transform(X)
    expected = np.column_stack([np.arange(200.0) - lag for lag in (2, 1, 0)])
    np.testing.assert_array_equal(found[2:], expected[2:])
    X = X.drop(X.index[99])  # a Friday's last hour, once nobody came
    with pytest.warns(
        UserWarning,
        match="there are no rows for 1 time step .frequency 'h'., the first",
    ):
        window = SlidingWindow(seq_len=2).fit(X)
    row = window.transform(X).iloc[99]
    np.testing.assert_allclose(row, [X["load"].mean(), 100.0])


@pytest.mark.parametrize("own_grid", [False, True])
def test_windows_equal_a_search_row_by_row(own_grid):
    """Holes, any order, and rows that the training held, too."""
    rng = np.random.default_rng(0)
    X = staggered(3, 30, 5)
    window = SlidingWindow(seq_len=6, lag=2).fit(X)
    later = staggered(4, 30, 5).sample(60, random_state=0) + 0.5
    if own_grid:
        later = later.set_axis(
            later.index.set_levels(later.index.levels[1] + pd.Timedelta("6h"), level=1)
        )
    known = (
        {}
        if own_grid
        else {label: X.loc[label, "load"] for label in X.groupby(level=0).tail(8).index}
    )
    known.update(later["load"].items())
    means = X.groupby(level=0)["load"].mean()
    out = window.transform(later)
    for series, day in rng.permutation(np.array(later.index, dtype=object)):
        wanted = [
            known.get((series, day - pd.Timedelta(days=k))) for k in range(7, 1, -1)
        ]
        mean = means.get(series, means.mean())
        expected = [mean if value is None else value for value in wanted]
        np.testing.assert_allclose(out.loc[(series, day)], expected)
