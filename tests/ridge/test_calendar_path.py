"""The calendar beside the ridges of an estimator: taken where it helps, the same for everyone."""

import copy
import pickle

import numpy as np
import pandas as pd
import pytest
from blends import judged_members
from flat_parameters import with_parts
from sklearn.base import clone
from sklearn.model_selection import GridSearchCV, TimeSeriesSplit
from sklearn.tree import DecisionTreeRegressor

import skinformer
from skinformer import InformerRegressor
from skinformer.judging.trial import NetworkTrial
from skinformer.ridge.linear_path import LinearPath
from skinformer.training import checkpoint as checkpoints

SEQ, PRED, WEEK, TRAIN = 24, 6, 168, 1600
SIZES = {
    "seq_len": SEQ,
    "pred_len": PRED,
    "d_model": 8,
    "n_heads": 2,
    "max_iter": 1,
    "max_windows": 64,
    "members": ["classical", "ridges", "network"],
    "device": "cpu",
    "random_state": 0,
}

pytestmark = pytest.mark.usefixtures("long_tables")


def make_frame(n=TRAIN + 200, *, seed=0, start="2024-01-01", tz=None):
    """Make a week of hours below a level that moves, and holidays whose mornings are quiet."""
    hours = pd.date_range(start, periods=n, freq="h", tz=tz)
    week = np.random.default_rng(9).normal(size=WEEK)
    noise, days = (
        np.random.default_rng(seed).normal(size=(2, n)),
        pd.Series(hours.day_of_year),
    )
    holiday = (days.to_numpy() * 7919 % 61 < 8).astype(float)
    load = (
        100
        + 10 * week[24 * hours.day_of_week + hours.hour]
        + 0.3 * noise[0].cumsum()
        + noise[1]
    )
    load = load - 15 * holiday * np.exp(-((hours.hour.to_numpy() - 9) ** 2) / 20)
    return pd.DataFrame({"holiday": holiday, "load": load}, index=hours)


def fit(df, **changes):
    return InformerRegressor(
        **with_parts(**{"target": "load", **SIZES, **changes})
    ).fit(df)


def effect(model):
    return model.module_.path.calendar


def known(df, **changes):
    """Fit with the holidays."""
    return fit(df, known_future=["holiday"], **changes)


def flat(model):
    """Leave the network out of it."""
    model.ensemble_ = model.ensemble_.with_network_share(0.0)
    return model


@pytest.fixture(scope="module")
def df():
    return make_frame()


@pytest.fixture(scope="module")
def fits(df, long_tables):
    """Give a model of the calendar alone, and one that knows the holidays."""
    alone, both = fit(df[["load"]][:TRAIN]), known(df[:TRAIN])
    assert effect(alone).known.shape[1] == 0
    assert effect(both).known.shape == (24, 1, 1)
    return {"calendar": (alone, df[["load"]]), "holidays": (both, df)}


@pytest.fixture(params=["calendar", "holidays"])
def fitted(fits, request):
    """Give a model and all its rows; the model is a copy."""
    model, rows = fits[request.param]
    return copy.deepcopy(model), rows


@pytest.fixture
def all_speak(monkeypatch):
    """Give everybody a share, whatever they prove on these rows."""
    monkeypatch.setattr("skinformer.judging.weights.mean_log_share", lambda *_, **__: 8)


# --- the choice -------------------------------------------------------------------------------


def test_a_week_is_known_by_who_looks_a_day_back(df):
    """24 rows say nothing of what a Monday is after a Sunday."""
    rows = df[["load"]]
    errors = [
        np.abs(fit(rows[:TRAIN], calendar=calendar).predict(rows) - rows["load"])[
            TRAIN:
        ].mean()
        for calendar in ("auto", None)
    ]
    assert errors[0] < 0.4 * errors[1]


def test_a_holiday_is_known_where_its_hours_differ(df, fits):
    """A plain effect takes as much from the night as from the morning."""
    days = (df["holiday"] > 0) & (np.arange(len(df)) >= TRAIN)
    assert days.sum() > 20
    errors = []
    for name in ("calendar", "holidays"):
        model, rows = fits[name]
        errors.append(np.abs(model.predict(rows) - df["load"])[days].mean())
    assert errors[1] < 0.6 * errors[0]


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("kind", ["walk", "noise"])
def test_nothing_is_taken_where_the_calendar_says_nothing(kind, seed):
    """168 numbers fit any noise; later rows tell."""
    noise = np.random.default_rng(seed).normal(size=(1500, 2))
    hours = pd.date_range("2024-01-01", periods=1500, freq="h")
    load = noise[:, 0].cumsum() if kind == "walk" else noise[:, 0]
    rows = pd.DataFrame({"price": noise[:, 1], "load": load}, index=hours)
    assert effect(fit(rows[["load"]])) is None
    assert effect(fit(rows, known_future=["price"])) is None


def test_rows_without_dates_have_none(df):
    """Nobody knows when they were."""
    assert effect(fit(df.reset_index(drop=True))) is None
    values = InformerRegressor(**with_parts(**SIZES)).fit(df[["load"]].to_numpy())
    assert values.module_.path.calendar is None


@pytest.mark.parametrize(
    ("fields", "n_cells"), [(None, None), (["hour"], 24), (["day"], None)]
)
def test_the_user_says_which_calendar_there_is(df, fields, n_cells):
    """And whether there is one."""
    day = np.sin(df.index.hour * np.pi / 12) + 0.1 * np.random.default_rng(0).normal(
        size=len(df)
    )
    rows = pd.DataFrame({"load": np.roll(day, 7) + 20.0}, index=df.index)
    found = effect(fit(rows[:1000], calendar=fields, seq_len=3))
    assert (None if found is None else len(found.level)) == n_cells


# --- leaks ------------------------------------------------------------------------------------


@pytest.mark.filterwarnings("ignore:.* is taken as missing:UserWarning")
@pytest.mark.parametrize("position", [TRAIN, TRAIN + 3, TRAIN + 11])
def test_no_forecast_moves_with_truths_after_its_origin(fitted, position):
    """What the calendar did to them is taken off those of the past alone."""
    model, rows = fitted
    flat(model)
    changed = rows[: TRAIN + 18].copy()
    changed.iloc[position:, changed.columns.get_loc("load")] += 77.0
    before, after = (
        model.predict(each)[TRAIN:] for each in (rows[: TRAIN + 18], changed)
    )
    origins = TRAIN + np.arange(18) // PRED * PRED
    reached = origins > position
    np.testing.assert_array_equal(after[~reached], before[~reached])
    assert (after[reached] != before[reached]).all()


def test_a_holiday_moves_its_own_hour_alone(fits):
    """By what it does at that hour; one that is more than a holiday is one."""
    model, rows = fits["holidays"]
    model = flat(copy.deepcopy(model))
    rows = rows[TRAIN : TRAIN + PRED].assign(holiday=0.0)
    before = model.predict(rows)
    for step in range(PRED):
        other = rows.copy()
        other.iloc[step, 0] = 1.0
        moved = model.predict(other) - before
        assert np.flatnonzero(moved).tolist() == [step]
        hour, scale = other.index[step].hour, model.scaler_.scale[0]
        expected = float(effect(model).known[hour, 0, 0]) * scale[0] / scale[1]
        assert moved[step] == pytest.approx(expected, rel=1e-3, abs=1e-4)
        other.iloc[step, 0] = 10.0
        np.testing.assert_array_equal(model.predict(other) - before, moved)


def test_a_forecast_is_the_same_whatever_rows_are_asked_with_it(fitted):
    """Bit for bit: rows before, after, in another order, one block alone."""
    model, rows = fitted
    later = rows[TRAIN:]
    whole = model.predict(later)
    for n in (1, PRED, 50, 199):
        np.testing.assert_array_equal(model.predict(later[:n]), whole[:n])
    np.testing.assert_array_equal(model.predict(later[::-1]), whole[::-1])
    np.testing.assert_array_equal(model.predict(rows)[TRAIN:], whole)
    for begin in (PRED, 17 * PRED):
        one = later.copy()
        one.loc[one.index[begin] :, "load"] = np.nan
        block = slice(begin, begin + PRED)
        np.testing.assert_array_equal(
            model.predict(one[: begin + PRED])[block], whole[block]
        )


# --- far ahead --------------------------------------------------------------------------------


@pytest.mark.slow
@pytest.mark.parametrize("tz", [None, "Europe/Berlin"])
def test_weeks_ahead_have_the_hours_of_their_week(tz):
    """A recursion of a hundred blocks, through daylight saving."""
    rows = make_frame(tz=tz)[["load"]]
    model = flat(fit(rows[:TRAIN]))
    ahead = model.forecast(horizon=4 * WEEK)["load"]
    hours = ahead.index
    week = np.random.default_rng(9).normal(size=WEEK)
    expected = 10 * week[24 * hours.day_of_week + hours.hour]
    assert np.corrcoef(ahead, expected)[0, 1] > 0.95
    assert np.abs(ahead.diff() - np.diff(expected, prepend=np.nan)).mean() < 3


@pytest.mark.slow
def test_the_steps_of_a_recursion_are_those_of_a_longer_one(fitted):
    """How far is asked changes no nearer step."""
    model, rows = fitted
    plan = rows[["holiday"]][TRAIN:] if "holiday" in rows else None
    some, more = (
        model.forecast(horizon=n) if plan is None else model.forecast(plan[:n])
        for n in (20, 150)
    )
    pd.testing.assert_frame_equal(some, more[:20], check_exact=True)


# --- copies, and fits that go on --------------------------------------------------------------


@pytest.mark.slow
@pytest.mark.parametrize("way", ["file", "context", "pickle", "copy", "clone"])
def test_copies_forecast_the_same_bit_for_bit(fitted, way, tmp_path):
    """The tables are a part of the state."""
    model, rows = fitted
    if way in ("file", "context"):
        model.save(tmp_path / "model", history="all" if way == "file" else "context")
        again = skinformer.load(tmp_path / "model")
    elif way == "clone":
        again = clone(model).fit(rows[:TRAIN])
    else:
        again = (
            pickle.loads(pickle.dumps(model))
            if way == "pickle"
            else copy.deepcopy(model)
        )
    for (name, one), (_, two) in zip(
        effect(model).named_buffers(), effect(again).named_buffers(), strict=True
    ):
        np.testing.assert_array_equal(one, two, err_msg=name)
    later = rows[TRAIN:]
    np.testing.assert_array_equal(again.predict(later), model.predict(later))
    for each in (model, again):
        each.update(later[:50])
    plan = later[["holiday"]][50:90] if "holiday" in later else None
    one, two = (
        each.forecast(horizon=40) if plan is None else each.forecast(plan)
        for each in (model, again)
    )
    pd.testing.assert_frame_equal(one, two, check_exact=True)


def test_an_update_goes_on_with_the_hours_of_the_new_rows(fitted):
    """A forecast after it is the one that `predict` makes of the same rows."""
    model, rows = fitted
    n = 5 * PRED
    expected = model.predict(rows[TRAIN : TRAIN + n + PRED])[n:]
    model.update(rows[TRAIN : TRAIN + n])
    np.testing.assert_array_equal(
        model.predict(rows[TRAIN + n : TRAIN + n + PRED]), expected
    )


@pytest.mark.slow
@pytest.mark.parametrize("order", ["found", "lost", "other"])
def test_a_warm_start_has_the_effect_of_its_own_rows(df, order):
    """Whether there is one may have changed, and with it what the module holds."""
    noise = df.assign(load=np.random.default_rng(0).normal(size=len(df)))[["load"]]
    week, other = df[["load"]], df[["load"]] * [-1.0]
    first, second = {
        "found": (noise, week),
        "lost": (week, noise),
        "other": (week, other),
    }[order]
    warm = fit(first[:1500], warm_start=True)
    assert (effect(warm) is None) == (order == "found")
    warm.fit(second[:1500])
    cold = fit(second[:1500])
    assert (effect(warm) is None) == (effect(cold) is None) == (order == "lost")
    for (name, one), (_, two) in zip(
        warm.module_.path.named_buffers(),
        cold.module_.path.named_buffers(),
        strict=True,
    ):
        np.testing.assert_array_equal(one, two, err_msg=name)
    assert np.isfinite(warm.predict(second[1500:])).all()


@pytest.mark.slow
def test_a_fit_that_was_stopped_ends_like_one_that_was_not(df, tmp_path, monkeypatch):
    """The effect is found again; what the checkpoint holds of it has to fit."""
    monkeypatch.setattr(NetworkTrial, "should_stop", lambda *_: False)
    rows, settings = df[:1500], {"max_iter": 3, "n_iter_no_change": 9}
    whole = known(rows, **settings)
    assert effect(whole) is not None
    save, written = checkpoints.save, []

    def save_and_stop(*args):
        save(*args)
        written.append(1)
        if len(written) == 2:
            raise MemoryError("the machine is gone")

    monkeypatch.setattr(checkpoints, "save", save_and_stop)
    with pytest.raises(MemoryError, match="the machine is gone"):
        known(rows, checkpoint=tmp_path / "fit.pt", **settings)
    monkeypatch.undo()
    resumed = known(rows, checkpoint=tmp_path / "fit.pt", **settings)
    expected = whole.module_.state_dict()
    assert resumed.module_.state_dict().keys() == expected.keys()
    for name, values in resumed.module_.state_dict().items():
        np.testing.assert_array_equal(values, expected[name], err_msg=name)


@pytest.mark.slow
def test_a_search_compares_calendars(df):
    """Each of its fits finds its own."""
    search = GridSearchCV(
        InformerRegressor("load", **with_parts(**SIZES)),
        {"calendar": [None, ["hour"], "auto"]},
        cv=TimeSeriesSplit(2, test_size=300),
        scoring="neg_mean_absolute_error",
        error_score="raise",
        refit=False,
    )
    search.fit(df[["load"]], df["load"])
    assert search.best_params_ == {"calendar": "auto"}
    scores = search.cv_results_["mean_test_score"]
    assert scores[2] > 0.6 * scores[0]


# --- what rows may be -------------------------------------------------------------------------


def make_panel():
    """Make series of different size, length and begin, each ten times the one before."""
    begins = {
        "a": (1500, "2024-01-01"),
        "b": (1200, "2024-01-20 05:00"),
        "c": (900, "2024-01-03"),
    }
    parts = {
        name: make_frame(n, seed=i, start=start)[["load"]] * 10**i
        for i, (name, (n, start)) in enumerate(begins.items())
    }
    panel = pd.concat(parts, names=["site", "time"])
    train = panel.groupby("site", group_keys=False).head(850)
    return train, panel.drop(train.index)


def test_series_of_a_panel_have_no_week_in_common():
    """It would be told in deviations, and nobody knows those of a new series."""
    train, _ = make_panel()
    model = flat(fit(train))
    assert effect(model) is None
    new = pd.concat({"new": make_frame(300, seed=8)[["load"]]}, names=["site", "time"])
    plain = flat(fit(train, calendar=None)).predict(new)
    np.testing.assert_allclose(model.predict(new), plain, rtol=0.01)


def test_holes_in_truths_and_holidays_leave_forecasts_finite(df):
    """A week that nobody counted, and a day that nobody knows of."""
    rows = df[:TRAIN].copy()
    rows.iloc[500:640, 1] = np.nan
    rows.iloc[1000:1024, 0] = np.nan
    model = known(rows, embeddings=["missing"])
    assert effect(model) is not None
    later = df[TRAIN:].copy()
    later.iloc[5:30, 0] = np.nan
    assert np.isfinite(model.predict(later)).all()


@pytest.mark.slow
@pytest.mark.parametrize(
    "changes",
    [
        {"target_transform": "log"},
        {"loss": [0.1, 0.5, 0.9]},
        {"loss": "mae"},
        {"early_stopping": False},
        {"early_stopping": True},
        {"position": "continuous"},
        {"target": ["load", "holiday"]},
        {"members": "auto"},
    ],
    ids=str,
)
def test_whatever_else_is_asked_for_the_week_is_known(df, changes):
    """Logarithms, several outputs, targets that have a week and one that has none."""
    model = fit(df[:TRAIN] if "target" in changes else df[["load"]][:TRAIN], **changes)
    assert len(effect(model).level) == WEEK
    forecast = np.asarray(model.predict(df if "target" in changes else df[["load"]]))
    load = forecast.reshape(len(df), -1)[:, 0]
    assert np.abs(load - df["load"])[TRAIN:].mean() < 4


@pytest.mark.slow
@pytest.mark.parametrize("case", ["trees", "logarithms", "quantiles"])
def test_whoever_asks_the_path_tells_it_the_hours(df, case, monkeypatch):
    """Without them it forecasts as if there were none, and is judged by that."""
    forward, requested = LinearPath.forward, []

    def spy(self, past, future, *calendars):
        if self.calendar is not None:
            requested.append([fields is not None for fields in calendars])
        return forward(self, past, future, *calendars)

    monkeypatch.setattr(LinearPath, "forward", spy)
    rows, changes = df[["load"]][:TRAIN], {"max_iter": 2}
    if case == "trees":
        tree = DecisionTreeRegressor(max_depth=4, random_state=0)
        changes["members"] = ["classical", "ridges", tree, "network"]
        monkeypatch.setattr(
            "skinformer.judging.weights.mean_log_share", lambda *_, **__: 8
        )
    if case == "logarithms":
        changes["target_transform"] = "log"
    if case == "quantiles":
        changes["loss"] = [0.1, 0.5, 0.9]
    model = fit(rows, **changes)
    model.forecast()
    assert effect(model) is not None
    assert requested
    assert all(told == [True, True] for told in requested)


@pytest.mark.slow
@pytest.mark.usefixtures("all_speak")
def test_trees_see_what_the_ridges_are_fitted_beside(df, monkeypatch):
    """Who is judged knows nothing of the split, who forecasts has seen its holidays."""
    judged = judged_members(monkeypatch)
    model = known(
        df,
        members=[
            "classical",
            "ridges",
            DecisionTreeRegressor(max_depth=4, random_state=0),
            "network",
        ],
    )
    earlier, final = (
        each["DecisionTreeRegressor"].fit.maker.calendar
        for each in (judged, model.ensemble_.members)
    )
    np.testing.assert_allclose(final.level, effect(model).level, rtol=1e-6)
    np.testing.assert_allclose(final.known, effect(model).known, rtol=1e-6)
    assert not np.allclose(earlier.level, final.level)
    plain = known(
        df,
        members=[
            "classical",
            "ridges",
            DecisionTreeRegressor(max_depth=4, random_state=0),
            "network",
        ],
        calendar=None,
    )
    assert plain.ensemble_.members["DecisionTreeRegressor"].fit.maker.calendar is None


@pytest.mark.slow
@pytest.mark.usefixtures("few_trees", "all_speak")
def test_a_file_holds_what_the_trees_see(df, tmp_path):
    """Their features are made anew from it."""
    model = known(df[:TRAIN], members="auto")
    assert model.ensemble_.members["trees"].fit.maker.calendar is not None
    model.save(tmp_path / "model")
    loaded = skinformer.load(tmp_path / "model")
    later = df[TRAIN : TRAIN + 6].assign(load=np.nan)
    assert loaded.forecast(later).equals(model.forecast(later))
