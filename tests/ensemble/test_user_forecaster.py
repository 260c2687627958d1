"""Forecasters that users bring as members."""

import pickle
import time
import warnings

import numpy as np
import pandas as pd
import pytest
from blends import base_blend
from flat_parameters import with_parts
from sklearn.base import BaseEstimator, clone
from sklearn.model_selection import GridSearchCV, TimeSeriesSplit

import skinformer
from skinformer import InformerRegressor
from skinformer.ensemble.history_forecaster import History, HistoryForecaster
from skinformer.evaluation import backtest, explain

QUICK = {"max_iter": 1, "d_model": 8, "n_heads": 2, "random_state": 0}
MONTHS = {"seq_len": 24, "pred_len": 6} | QUICK


def repeat_season(history, horizon):
    """Repeat the last twelve rows."""
    return np.stack([np.resize(rows[-12:], horizon) for rows in history])


def average_seasons(history, horizon):
    """Average the last three seasons."""
    seasons = [np.resize(rows[-36:], (3, 12)).mean(axis=0) for rows in history]
    return np.stack([np.resize(season, horizon) for season in seasons])


def noise(history, horizon):
    """Draw from the history, another value for each step."""
    rng = np.random.default_rng(0)
    return np.stack([rng.choice(rows[~np.isnan(rows)], horizon) for rows in history])


class Level(BaseEstimator):
    """The mean of the last rows."""

    def __init__(self, n_rows=3):
        self.n_rows = n_rows

    def predict(self, history, horizon):
        means = [np.nanmean(rows[-self.n_rows :]) for rows in history]
        return np.repeat(np.array(means)[:, None], horizon, axis=1)

    def to_config(self):
        return {"n_rows": self.n_rows}

    @classmethod
    def from_config(cls, config):
        return cls(**config)


class Recorded:
    """The last value; keeps what it was given."""

    def __init__(self, **attributes):
        self.asked, self.fits = [], []
        vars(self).update(attributes)

    def __deepcopy__(self, memo):
        return self

    def predict(self, history, horizon):
        self.asked.append((history, horizon))
        return np.array(
            [np.full(horizon, rows[~np.isnan(rows)][-1]) for rows in history]
        )


class Learning(Recorded):
    """Keeps what it is fitted to, too."""

    def fit(self, series):
        self.fits.append(series)


@pytest.fixture
def months():
    """Five years with a season and little noise, in units far from standard ones."""
    rng = np.random.default_rng(0)
    index = pd.date_range("2019-01-01", periods=60, freq="MS")
    y = 5000 + 1000 * np.sin(np.arange(60) * np.pi / 6) + 30 * rng.normal(size=60)
    return pd.DataFrame({"y": y}, index)


@pytest.fixture
def hours():
    """Weeks of hours: enough for ridges and stretches."""
    rng = np.random.default_rng(0)
    index = pd.date_range("2024-01-01", periods=1200, freq="h")
    y = 20 + 5 * np.sin(np.arange(1200) * np.pi / 12) + rng.normal(size=1200)
    return pd.DataFrame({"y": y}, index)


def panel_of(frame, n_series=8):
    """Make several series of one, each in a size of its own."""
    rng = np.random.default_rng(1)
    parts = {
        f"s{i}": frame * 10.0**i + rng.normal(size=frame.shape) for i in range(n_series)
    }
    return pd.concat(parts, names=["series", "time"])


def share_of(model, name):
    return float(model.ensemble_.weights_of(name)[:-1].mean())


# --- what it is given, and where its forecasts go ---------------------------------------------


def test_alone_its_forecast_is_the_forecast(months):
    model = InformerRegressor("y", **with_parts(members=[repeat_season], **MONTHS)).fit(
        months
    )
    expected = months["y"].iloc[-12:-6]
    np.testing.assert_allclose(model.forecast()["y"], expected, rtol=1e-6)
    further = model.forecast(horizon=18)["y"]
    np.testing.assert_allclose(
        further, np.resize(months["y"].iloc[-12:], 18), rtol=1e-6
    )


def test_histories_are_in_units_and_missing_where_nothing_was_observed(months):
    months = months.copy()
    months.iloc[:4] = np.nan
    months.iloc[40] = np.nan
    forecaster = Recorded()
    model = InformerRegressor("y", **with_parts(members=[forecaster], **MONTHS)).fit(
        months
    )
    forecaster.asked.clear()
    model.forecast()
    (((history,), horizon),) = forecaster.asked
    np.testing.assert_allclose(history, months["y"].iloc[4:], rtol=1e-6)
    assert horizon == 6


@pytest.mark.parametrize(
    "sizes", [{"seq_len": 24, "pred_len": 6}, {"seq_len": 6, "pred_len": 2}]
)
def test_no_history_holds_what_it_is_judged_by(months, sizes):
    forecaster = Recorded()
    members = ["ridges", "classical", forecaster]
    InformerRegressor("y", **with_parts(members=members, **{**QUICK, **sizes})).fit(
        months
    )
    place = {float(np.float32(value)): i for i, value in enumerate(months["y"])}
    for histories, horizon in forecaster.asked:
        for history in histories:
            last = place[
                min(place, key=lambda value, end=history[-1]: abs(value - end))
            ]
            np.testing.assert_allclose(history, months["y"].iloc[: last + 1], rtol=1e-5)
            assert last + horizon < len(months)  # the truth follows it


def test_a_context_and_a_horizon_of_its_own_are_kept(months):
    forecaster = Recorded(max_context=9, max_horizon=4, batch_size=5)
    model = InformerRegressor(
        "y", **with_parts(members=["classical", forecaster], **MONTHS)
    ).fit(months)
    model.forecast(coverage=0.8)
    given = [(rows, horizon) for asked, horizon in forecaster.asked for rows in asked]
    assert {horizon for _, horizon in given} == {4, 2}
    assert max(len(rows) for rows, horizon in given if horizon == 4) == 9
    assert max(len(rows) for rows, horizon in given if horizon == 2) == 9 + 4
    assert max(len(asked) for asked, _ in forecaster.asked) <= 5


def test_columns_come_in_their_units(months):
    rng = np.random.default_rng(2)
    months = months.assign(
        stock=500 + rng.normal(size=60), price=100 + 7 * rng.normal(size=60)
    )
    seen = []

    def look(history, horizon, *, past=None, known=None):
        seen.append((history, past, known))
        return repeat_season(history, horizon)

    options = {"known_future": ["price"], **MONTHS}
    model = InformerRegressor("y", **with_parts(members=[look], **options)).fit(
        months[["stock", "price", "y"]]
    )
    seen.clear()
    ahead = model.make_future_frame().assign(price=np.arange(6.0) + 95)
    model.predict(ahead)
    (history,), (past,), (known,) = seen[-1]
    assert past.shape == (len(history), 1)
    assert known.shape == (len(history) + 6, 1)
    np.testing.assert_allclose(
        past[:, 0], months["stock"].iloc[-len(history) :], rtol=1e-5
    )
    np.testing.assert_allclose(known[-6:, 0], np.arange(6.0) + 95, rtol=1e-5)


def test_fit_sees_the_rows_before_the_split_and_then_all(months):
    forecaster = Learning()
    InformerRegressor(
        "y", **with_parts(members=["classical", forecaster], **MONTHS)
    ).fit(panel_of(months, 3))
    assert [len(series) for series in forecaster.fits] == [3] * len(forecaster.fits)
    lengths = {len(series[0]) for series in forecaster.fits}
    assert len(lengths) == 2
    assert max(lengths) == 60
    assert min(lengths) <= 54
    final = next(series for series in forecaster.fits if len(series[0]) == 60)
    np.testing.assert_allclose(final[1], panel_of(months, 3).loc["s1", "y"], rtol=1e-6)


def test_several_targets_are_histories_of_their_own(months):
    frame = months.assign(z=months["y"] / 100)
    forecast = (
        InformerRegressor(["y", "z"], **with_parts(members=[repeat_season], **MONTHS))
        .fit(frame)
        .forecast()
    )
    np.testing.assert_allclose(forecast, frame.iloc[-12:-6], rtol=1e-5)


def test_the_same_histories_are_asked_for_once(months):
    forecaster = Recorded()
    model = InformerRegressor(
        "y", **with_parts(members=["classical", forecaster], **MONTHS)
    ).fit(months)
    first = model.forecast()
    n_asked = len(forecaster.asked)
    pd.testing.assert_frame_equal(model.forecast(), first)
    assert len(forecaster.asked) == n_asked


# --- weights -----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "members",
    [["classical"], ["ridges", "classical"], ["ridges", "network"]],
    ids="-".join,
)
@pytest.mark.parametrize("data", ["months", "hours", "panel"])
@pytest.mark.filterwarnings("ignore:forecasters in members .* are left out")
def test_noise_counts_for_nothing(months, hours, members, data):
    frame = {"months": months, "hours": hours, "panel": panel_of(months)}[data]
    sizes = MONTHS if data != "hours" else {"seq_len": 48, "pred_len": 24} | QUICK
    if data == "months" and "classical" not in members:
        sizes = sizes | {"seq_len": 12, "pred_len": 3}
    model = InformerRegressor(
        "y", **with_parts(members=[*members, noise], **sizes)
    ).fit(frame)
    assert share_of(model, "noise") <= 0.02
    plain = InformerRegressor("y", **with_parts(members=members, **sizes)).fit(frame)
    spread = np.ptp(frame["y"])
    np.testing.assert_allclose(
        model.forecast()["y"], plain.forecast()["y"], atol=0.01 * spread
    )


@pytest.mark.parametrize("data", ["months", "hours", "panel"])
def test_one_that_knows_the_future_counts_for_nearly_all(months, hours, data):
    frame = {"months": months, "hours": hours, "panel": panel_of(months)}[data]
    series = [part["y"].to_numpy() for _, part in frame.groupby(level=0)]
    series = series if data == "panel" else [frame["y"].to_numpy()]

    def prophet(history, horizon):
        found = []
        for rows in history:
            own = min(series, key=lambda each, first=rows[0]: abs(each[0] / first - 1))
            ahead = own[len(rows) : len(rows) + horizon]
            found.append(np.append(ahead, np.full(horizon - len(ahead), rows[-1])))
        return np.stack(found)

    sizes = MONTHS if data != "hours" else {"seq_len": 48, "pred_len": 24} | QUICK
    model = InformerRegressor(
        "y", **with_parts(members=["ridges", "classical", prophet], **sizes)
    ).fit(frame)
    assert share_of(model, "prophet") > 0.9


def test_it_does_not_count_where_nothing_shows_what_it_is_worth(months):
    """Of two horizons of rows none are left to judge by."""
    short = months.iloc[:11]
    model = InformerRegressor(
        "y", **with_parts(members=["classical", repeat_season], **MONTHS)
    )
    with pytest.warns(
        UserWarning,
        match=r"\(repeat_season\) are left out: there are too few validation rows",
    ):
        model.fit(short)
    assert list(model.ensemble_.members) == ["classical", "network"]


# --- where estimators go -----------------------------------------------------------------------


def test_it_is_drawn_explained_backtested_and_has_ranges(months):
    model = InformerRegressor(
        "y", **with_parts(members=["classical", Level(24), average_seasons], **MONTHS)
    )
    model.fit(months)
    assert 0 < share_of(model, "average_seasons") < 1
    assert "average_seasons" in base_blend(model)
    assert "average_seasons" in repr(model)
    assert "average_seasons" in model._repr_html_()
    forecast = model.forecast(coverage=0.8)
    assert (forecast["y_0.1"] < forecast["y"]).all()
    assert (forecast["y"] < forecast["y_0.9"]).all()
    reasons = explain(model)
    np.testing.assert_allclose(
        reasons.groupby("time")["contribution"].sum(), forecast["y"]
    )
    assert len(backtest(clone(model).fit(months[:40]), months[40:])) > 0
    ahead = pd.date_range("2024-01-01", periods=3, freq="MS")
    model.update(pd.DataFrame({"y": [5000.0, 5500, 6000]}, ahead))
    assert model.forecast().index[0] == pd.Timestamp("2024-04-01")


def test_ranges_are_wide_where_its_quantiles_lie_far_apart():
    """A forecaster may know which days are wild before they come."""
    rng = np.random.default_rng(0)
    size = np.repeat(rng.choice([1.0, 8.0], 120), 8)  # of days of eight rows
    index = pd.date_range("2024-01-01", periods=len(size), freq="3h")
    frame = pd.DataFrame({"y": 100 + size * rng.normal(size=len(size))}, index)

    def knowing(history, horizon, *, levels=None):
        ends = [
            int(np.abs(frame["y"].to_numpy() - rows[-1]).argmin()) + 1
            for rows in history
        ]
        ahead = np.stack([np.resize(size[end:], horizon) for end in ends])
        if levels is None:
            return np.full(ahead.shape, 100.0)
        return 100 + ahead[..., None] * 2.5 * (np.array(levels) - 0.5)

    options = {"loss": [0.1, 0.5, 0.9], "seq_len": 16, "pred_len": 8, **QUICK}
    model = InformerRegressor("y", **with_parts(members=[knowing], **options)).fit(
        frame[:640]
    )
    low, high = model.predict_interval(frame[640:], coverage=0.8).T
    wild = size[640:] > 1
    assert (high - low)[wild].mean() > 4 * (high - low)[~wild].mean()
    inside = (low <= frame["y"][640:]) & (frame["y"][640:] <= high)
    assert 0.7 < inside.mean() < 0.9


def test_a_search_chooses_among_forecasters_and_their_parameters(months):
    grid = {"members": [[Level()], [repeat_season]]}
    model = InformerRegressor("y", **with_parts(members=[Level()], **MONTHS))
    search = GridSearchCV(model, grid, cv=TimeSeriesSplit(2, test_size=6)).fit(months)
    assert search.best_params_ == {"members": [repeat_season]}
    grid = {"members__level__n_rows": [1, 24]}
    search = GridSearchCV(model, grid, cv=TimeSeriesSplit(2, test_size=6)).fit(months)
    assert search.best_estimator_.members[0].n_rows in (1, 24)
    several = InformerRegressor("y", members=[Level(2), repeat_season, Level(24)])
    several.set_params(**{"members__level-2__n_rows": 5})
    assert [several.members[0].n_rows, several.members[2].n_rows] == [2, 5]


def test_clones_and_pickles_forecast_the_same(months):
    model = InformerRegressor(
        "y", **with_parts(members=["classical", Level(), repeat_season], **MONTHS)
    )
    forecast = model.fit(months).forecast()
    pd.testing.assert_frame_equal(clone(model).fit(months).forecast(), forecast)
    pd.testing.assert_frame_equal(
        pickle.loads(pickle.dumps(model)).forecast(), forecast
    )


def test_a_file_holds_what_its_class_builds_again(months, tmp_path):
    path = tmp_path / "model"
    model = InformerRegressor("y", **with_parts(members=[Level(24)], **MONTHS)).fit(
        months
    )
    model.save(path)
    with pytest.raises(skinformer.ModelFileError, match=r"forecasters=\[Level\]"):
        skinformer.load(path)
    for given in ([Level], [Level(2), Level(24)]):
        loaded = skinformer.load(path, forecasters=given)
        pd.testing.assert_frame_equal(loaded.forecast(), model.forecast())


def test_a_file_refuses_a_function(months, tmp_path):
    model = InformerRegressor("y", **with_parts(members=[repeat_season], **MONTHS)).fit(
        months
    )
    with pytest.raises(ValueError, match="to_config"):
        model.save(tmp_path / "model")


def test_a_graph_refuses_it(months):
    model = InformerRegressor("y", **with_parts(members=[repeat_season], **MONTHS)).fit(
        months
    )
    with pytest.raises(ValueError, match="repeat_season"):
        model.export_program()


# --- what is wrong with it ---------------------------------------------------------------------


def test_a_wrong_shape_is_named(months):
    def flat(history, horizon):
        return np.zeros(horizon)

    with pytest.raises(ValueError, match=r"'flat'.*\(6,\).*\(\d+, 6\)"):
        InformerRegressor("y", **with_parts(members=["classical", flat], **MONTHS)).fit(
            months
        )


def test_no_number_is_the_last_value_and_a_warning(months):
    def lost(history, horizon):
        return np.full((len(history), horizon), np.nan)

    model = InformerRegressor("y", **with_parts(members=[lost], **MONTHS))
    with pytest.warns(UserWarning, match="'lost'.*NaN"):
        forecast = model.fit(months).forecast()
    np.testing.assert_allclose(forecast["y"], months["y"].iloc[-1], rtol=1e-6)


def test_what_would_take_too_long_is_refused_with_the_seconds(months):
    def slow(history, horizon):
        time.sleep(0.05 * len(history))
        return repeat_season(history, horizon)

    slow.max_seconds = 0.2
    with pytest.raises(ValueError, match=r"'slow'.* s each.*max_seconds"):
        InformerRegressor("y", **with_parts(members=["classical", slow], **MONTHS)).fit(
            panel_of(months, 8)
        )


@pytest.mark.parametrize(
    ("members", "match"),
    [
        ([Level], "Level'>, which is no member of a regressor"),
        (["ridges", len], "len"),
        (["network", repeat_season], "lacks 'ridges'"),
    ],
)
def test_what_is_no_forecaster_is_refused(months, members, match):
    with pytest.raises(ValueError, match=match):
        InformerRegressor("y", **with_parts(members=members, **MONTHS)).fit(months)


def test_alone_it_is_not_judged_and_yet_refused_where_it_is_slow(months):
    """There is nothing to weigh; a forecast of each series costs its seconds all the same."""
    forecaster = Recorded()
    InformerRegressor("y", **with_parts(members=[forecaster], **MONTHS)).fit(
        panel_of(months, 20)
    )
    assert sum(len(histories) for histories, _ in forecaster.asked) <= 9

    def slow(history, horizon):
        time.sleep(0.05 * len(history))
        return repeat_season(history, horizon)

    slow.max_seconds = 0.2
    short = panel_of(months[:14], 8)
    with pytest.raises(ValueError, match=r"'slow'.* s each.*max_seconds"):
        InformerRegressor("y", **with_parts(members=["classical", slow], **MONTHS)).fit(
            short
        )


@pytest.mark.parametrize("n_series", [1, 2])
def test_a_slow_one_alone_is_refused(months, n_series):
    """Its first forecast of a series is kept; the time of another one, or this one, counts."""

    def slow(history, horizon):
        time.sleep(0.1 * len(history))
        return repeat_season(history, horizon)

    slow.max_seconds = 0.15
    data = months if n_series == 1 else panel_of(months, n_series)
    with pytest.raises(ValueError, match=r"'slow'.* s each.*max_seconds"):
        InformerRegressor("y", **with_parts(members=[slow], **MONTHS)).fit(data)


def test_forecasts_of_batches_before_a_failure_are_kept():
    n_asked = []

    def fails_at_first(history, horizon):
        n_asked.append(len(history))
        if len(n_asked) == 3:
            raise RuntimeError
        return repeat_season(history, horizon)

    fails_at_first.batch_size = 4
    source = HistoryForecaster(fails_at_first, "fails")
    histories = [History(np.arange(24.0) + i, {}) for i in range(12)]
    with pytest.raises(RuntimeError):
        source.forecast(histories, 3)
    source.forecast(histories, 3)
    assert n_asked == [4, 4, 4, 4]


def test_names_are_unlike_those_of_other_members(months):
    level = Level()
    level.name = "ridges"
    with pytest.raises(ValueError, match="named 'ridges'"):
        InformerRegressor(
            "y", **with_parts(members=["classical", level], **MONTHS)
        ).fit(months)
    model = InformerRegressor(
        "y", **with_parts(members=[Level(2), Level(24)], **MONTHS)
    ).fit(months)
    assert set(model.ensemble_.members) <= {"Level", "Level 2", "network"}


def test_a_classifier_takes_none():
    with pytest.raises(ValueError, match="InformerRegressor"):
        skinformer.InformerClassifier("y", members=["classes", repeat_season]).fit(
            pd.DataFrame({"y": ["a", "b"] * 100})
        )


def test_nothing_is_warned_of_where_all_is_well(months):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        model = InformerRegressor(
            "y", **with_parts(members=["classical", repeat_season], **MONTHS)
        ).fit(months)
        model.forecast(coverage=0.8)


def test_weights_of_members_add_up_to_one(months):
    """In each series and step."""
    model = InformerRegressor(
        "y", **with_parts(members=["classical", repeat_season, Level(24)], **MONTHS)
    )
    model.fit(panel_of(months))
    np.testing.assert_allclose(model.ensemble_.weights.sum(axis=-1), 1)
