"""No forecast looks at its own step or a later one."""

import os

import numpy as np
import pandas as pd
import pytest
from hypothesis import Phase, given, settings
from hypothesis import strategies as st
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.linear_model import Ridge

from skinformer.evaluation import backtest
from skinformer.judging import weights

pytestmark = pytest.mark.filterwarnings("ignore:.* is (taken|replaced) :UserWarning")

# The first counterexample is shown as it is: shrinking it would take minutes of forecasts.
QUICK = settings(
    deadline=None, derandomize=True, phases=[Phase.explicit, Phase.generate]
)

#: What both estimators promise.
both = pytest.mark.parametrize("truths", ["numbers", "classes"], indirect=True)

N_TRAIN, N_ALL = 60, 76
#: Clocks that stand for every kind of index, and modes in which X holds the target: what `predict`
#: does with it goes by X alone, and `test_modes.py` holds that both modes forecast the same.
CASES = [
    ("hours", "frame"),
    ("hours", "both"),
    ("days through spring", "frame"),
    ("month ends", "frame"),
    ("monthly periods", "frame"),
    ("every tenth integer", "both"),
]


def blocks_from(origin_block, *, pred_len=4):
    """Give the rows whose block starts at or before a block's origin, anchored at N_TRAIN."""
    rows = np.arange(N_ALL)
    origins = N_TRAIN + (rows - N_TRAIN) // pred_len * pred_len
    return origins <= origin_block, origins


def index_of(kind):
    from_ = {
        "hours": pd.date_range("2024-01-01", periods=N_ALL, freq="h"),
        "days through spring": pd.date_range(
            "2024-02-01", periods=N_ALL, freq="D", tz="America/New_York"
        ),
        "month ends": pd.date_range("2015-01-31", periods=N_ALL, freq="ME"),
        "monthly periods": pd.period_range("2015-01", periods=N_ALL, freq="M"),
        "every tenth integer": pd.Index(1000 + 10 * np.arange(N_ALL)),
    }
    return from_[kind]


def follow(history, horizon, *, past, known):
    """Forecast by all that a forecaster of the user's is given."""
    found = []
    for rows, before, ahead in zip(history, past, known, strict=True):
        level = np.nanmean(rows) + 0.1 * np.nanmean(before)
        found.append(level + 0.2 * ahead[len(rows) :].sum(axis=1))
    return np.stack(found)


def equally(proof, *, n_series, **_):
    """Believe all forecasters the same."""
    n_members = len(proof.forecasts)
    return np.full((n_series + 1, 1, proof.y.shape[2], n_members), 1 / n_members)


@pytest.fixture(scope="module", params=CASES, ids="-".join)
def case(request, frame, modes, truths):
    """Fit where X holds the target; in "features" mode it holds none at all."""
    kind, mode = request.param
    df = frame(index_of(kind))
    trees = HistGradientBoostingClassifier(max_iter=5, min_samples_leaf=2)
    # All forecasters speak, one on features among them.
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(weights, "weigh_series", equally)
        patch.setattr("skinformer.judging.classes.minimax_share", lambda _: 2)  # a half
        classes_ = ["classes", trees, "network"]
        numbers = ["classical", "ridges", Ridge(), follow, "network"]
        chosen = numbers if truths == "numbers" else classes_
        estimator = modes.fit(mode, df[:N_TRAIN], members=chosen)
    return kind, mode, df, estimator, estimator.predict(modes.X(mode, df))


@pytest.mark.slow
@both
@settings(QUICK, max_examples=9)
@given(position=st.integers(0, N_ALL - 1), factor=st.floats(-100, 100), data=st.data())
def test_no_target_from_a_blocks_origin_on_changes_its_forecast(
    case, modes, far, position, factor, data
):
    """A forecast that moves with its own truth is a leak, the worst error a forecaster has."""
    kind, mode, df, estimator, before = case
    # Training rows with other values are refused there.
    if kind == "every tenth integer":
        position = max(position, N_TRAIN)
    last = data.draw(st.integers(position, N_ALL - 1))
    changed = df.copy()
    changed.iloc[position : last + 1, 2] = far(factor)
    after = estimator.predict(modes.X(mode, changed))
    reached, _ = blocks_from(position)
    np.testing.assert_array_equal(after[reached], before[reached])


@pytest.mark.slow
@both
@settings(QUICK, max_examples=5)
@given(position=st.integers(0, N_ALL - 1))
def test_a_missing_target_from_a_blocks_origin_on_changes_nothing(
    case, modes, position
):
    """Whether the truth is there or not must not matter to the forecast of it."""
    _kind, mode, df, estimator, before = case
    changed = df.copy()
    changed.iloc[position:, 2] = np.nan
    after = estimator.predict(modes.X(mode, changed))
    # Stored history stays where X says nothing, so only later blocks can change.
    reached, _ = blocks_from(max(position, N_TRAIN))
    np.testing.assert_array_equal(after[reached], before[reached])


@both
@pytest.mark.parametrize("position", [N_TRAIN, N_TRAIN + 5, N_TRAIN + 11])
def test_a_past_only_value_from_a_blocks_origin_on_changes_nothing(
    case, modes, position
):
    """What is measured later is not known when the forecast is made."""
    _, mode, df, estimator, before = case
    changed = df.copy()
    changed.iloc[position:, 0] = -99.0
    after = estimator.predict(modes.X(mode, changed))
    reached, _ = blocks_from(position)
    np.testing.assert_array_equal(after[reached], before[reached])


@both
@pytest.mark.parametrize("position", [N_TRAIN, N_TRAIN + 5])
def test_history_does_reach_later_blocks(case, modes, truths, position):
    """A rolling origin uses what was observed before it; otherwise the tests above are empty."""
    _, mode, df, estimator, before = case
    changed = df.copy()
    if truths == "numbers":
        changed.iloc[position, 2] += 500.0
    else:
        changed.iloc[position, 2] = "low" if df.iloc[position, 2] == "high" else "high"
    after = estimator.predict(modes.X(mode, changed))
    _, origins = blocks_from(position)
    assert (after[origins > position] != before[origins > position]).all()


@pytest.mark.slow
@both
def test_a_row_before_the_first_full_context_is_not_shown_its_own_value(
    frame, modes, mode, far
):
    """The first rows have no context; filling it from X's first row would show the answer."""
    df = frame(60)
    estimator = modes.fit(mode, df)
    if mode == "features":
        return
    changed = df.copy()
    changed.iloc[0, 2] = far(-4) if df.iloc[0, 2] != far(-4) else far(4)
    before, after = (estimator.predict(modes.X(mode, part)) for part in (df, changed))
    np.testing.assert_array_equal(after[:4], before[:4])
    assert (after[4:12] != before[4:12]).all()


@pytest.mark.filterwarnings(
    "ignore:X holds .* forecast as a separate series:UserWarning"
)
def test_no_forecast_of_another_timeline_looks_ahead(frame, modes):
    """X off the training grid brings its own context; the same rule holds there."""
    estimator = modes.fit("frame", frame(60))
    index = pd.date_range("2023-05-05 00:30", periods=40, freq="h")
    df = frame(index, seed=1)
    before = estimator.predict(df)
    for position in range(0, 40, 3):
        changed = df.copy()
        changed.iloc[position:, 2] *= -3
        after = estimator.predict(changed)
        reached = np.arange(40) // 4 * 4 <= position
        np.testing.assert_array_equal(after[reached], before[reached])
        assert (after[~reached] != before[~reached]).any() or reached.all()


@pytest.mark.filterwarnings("ignore:X begins .* steps after the history:UserWarning")
@pytest.mark.parametrize("gap", [5, 30])
def test_no_forecast_after_a_gap_looks_ahead(frame, small, gap):
    """Neither the value of a later truth nor its presence may move a forecast."""
    estimator = small().fit(frame(60)[["load"]])
    df = frame(60 + gap + 20)[["load"]][60 + gap :]
    before = estimator.predict(df)
    rows = 60 + gap + np.arange(20)
    origins = (rows - 60) // 4 * 4 - gap
    for position in range(0, 20, 3):
        for value in (9999.0, np.nan):
            changed = df.copy()
            changed.iloc[position:] = value
            after = estimator.predict(changed)
            reached = origins <= position
            np.testing.assert_array_equal(after[reached], before[reached])


def test_no_filler_looks_ahead(frame, small):
    """A gap is filled from what lies before it, in fit, update and forecast."""
    df = frame(80)[["load"]]
    runs = [45, 46, 47, 48, 49, 50, 63, 66, 67]
    df.iloc[runs] = np.nan
    # The same weights, mean and deviation: the later rows are shuffled, training hardly moves.
    changed = df.copy()
    changed.iloc[51:60] = df.iloc[51:60].to_numpy()[::-1]
    still = {"learning_rate": 1e-30, "members": ["network"], "early_stopping": False}
    one, two = (small(**still).fit(part[:60]) for part in (df, changed))
    np.testing.assert_array_equal(one.timeline_.values[:51], two.timeline_.values[:51])
    assert (one.timeline_.values[51:] != two.timeline_.values[51:]).any()
    later = df[60:].copy()
    later.iloc[8:] += 500
    fillers = [
        small(**still).fit(df[:60]).update(rows).timeline_.values[60:68]
        for rows in (df[60:], later)
    ]
    np.testing.assert_array_equal(*fillers)


@pytest.mark.slow
@both
def test_later_rows_change_no_earlier_forecast_when_the_future_is_appended(
    fitted, frame, mode
):
    """A forecast made today is the one that a longer frame gives tomorrow for the same rows."""
    df = frame(100)
    X = df if mode != "features" else df[["flow", "price"]]
    estimator = fitted(mode)
    whole = estimator.predict(X)
    for stop in (61, 64, 70, 99):
        np.testing.assert_array_equal(estimator.predict(X[:stop]), whole[:stop])


@pytest.mark.slow
@both
@settings(QUICK, max_examples=10)
@given(
    mode=st.sampled_from(["frame", "features"]),
    seq_len=st.integers(6, 12),
    pred_len=st.integers(2, 9),
    patch_len=st.integers(2, 9),
    label_len=st.sampled_from([None, 0, 3, 6]),
    random_state=st.integers(0, 100),
    members=st.sampled_from([["network"], "auto"]),
    window_norm=st.booleans(),
    embeddings=st.sampled_from([(), ("mask",), ("mask", "missing")]),
    position=st.sampled_from(["sinusoidal", "learned", "continuous"]),
)
def test_a_value_known_ahead_changes_no_earlier_forecast(
    frame, modes, mode, **parameters
):
    """A token of several steps would show the whole of it to the forecast of its first step."""
    df = frame(N_ALL)
    estimator = modes.fit(mode, df[:N_TRAIN], **parameters, early_stopping=False)
    later = modes.X(mode, df)[N_TRAIN:]
    whole = estimator.predict(later)
    # In the first block, and into the second; those behind are made alike.
    for stop in range(1, parameters["pred_len"] + 2):
        np.testing.assert_array_equal(estimator.predict(later[:stop]), whole[:stop])
    changed = later.copy()
    changed.iloc[-1, changed.columns.get_loc("price")] += 40
    np.testing.assert_array_equal(estimator.predict(changed)[:-1], whole[:-1])
    assert (estimator.predict(changed)[-1] != whole[-1]).any()


def test_validation_rows_do_not_reach_the_scaler_or_the_weights(frame, small):
    """The scaler must not see the validation split, or early stopping judges on seen data.

    The linear path's choices are made on the split, and so it is off here.
    """
    df = frame(60)
    changed = df.copy()
    changed.iloc[54:] = changed.iloc[54:].to_numpy() * 7
    one, two = (
        small(target="load", early_stopping=True, max_iter=1, members=["network"]).fit(
            part
        )
        for part in (df, changed)
    )
    np.testing.assert_array_equal(one.scaler_.mean, two.scaler_.mean)
    np.testing.assert_array_equal(one.scaler_.scale, two.scaler_.scale)
    for name, weight in one.module_.state_dict().items():
        np.testing.assert_array_equal(
            weight.numpy(), two.module_.state_dict()[name].numpy(), name
        )


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::UserWarning")
@settings(QUICK, max_examples=int(os.environ.get("SKINFORMER_FUZZ_CASES", "6")))
@given(
    n=st.integers(9, 70),
    kind=st.sampled_from(["wave", "constant", "zeros", "one wild value"]),
    missing=st.sampled_from([0.0, 0.1, 0.4]),
    pred_len=st.integers(1, 5),
    horizon=st.integers(1, 9),
    step=st.integers(1, 5),
    since=st.integers(0, 15),
    value=st.sampled_from([-1.0, 0.0, 1e6, -1e6, np.nan]),
    seed=st.integers(0, 99),
)
def test_no_quantile_looks_ahead(
    frame, small, n, kind, missing, pred_len, horizon, step, since, value, seed
):
    """Short series, constants, missing truths, wild values: by `predict` and from any origin."""
    df, generator = frame(n + 16, seed=seed)[["load"]], np.random.default_rng(seed)
    if kind in ("constant", "zeros"):
        df["load"] = 5.0 * (kind == "constant")
    elif kind == "one wild value":
        df.iloc[generator.integers(n + 16), 0] *= 1000
    df.loc[generator.random(n + 16) < missing, "load"] = np.nan
    df.iloc[1], df.iloc[n // 2] = 1000.0, 1001.0  # something is known
    model = small(pred_len=pred_len).fit(df[:n])
    levels = [0.1, 0.5, 0.9] if model.intervals_ is not None else None
    changed = df.copy()
    changed.iloc[n + since :] = value
    tables = [
        backtest(model, part[n:], horizon=horizon, step=step, levels=levels)
        for part in (df, changed)
    ]
    early = tables[0]["origin"] <= df.index[n + since]
    first, second = (table[early].drop(columns="actual") for table in tables)
    pd.testing.assert_frame_equal(first, second, check_exact=True)
    assert np.isfinite(first.filter(regex="forecast|^q")).all(axis=None)
    if levels is not None:
        told = [model.predict_quantiles(part[n:], levels) for part in (df, changed)]
        same = np.arange(16) < since // pred_len * pred_len + pred_len
        np.testing.assert_array_equal(told[0][same], told[1][same])
