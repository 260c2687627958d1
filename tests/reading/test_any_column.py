"""Columns of names, and columns with holes: each row of the guide's table of what happens.

What a fit makes of a column is compared with what a user would have prepared by hand: forecasts
are the same numbers.
"""

import pickle

import numpy as np
import pandas as pd
import pytest
from flat_parameters import with_parts
from sklearn.base import clone
from sklearn.linear_model import Ridge
from sklearn.model_selection import TimeSeriesSplit, cross_val_score
from sklearn.pipeline import make_pipeline

import skinformer
from skinformer import (
    CalendarFeatures,
    InformerClassifier,
    InformerRegressor,
    MaskFuture,
)
from skinformer.evaluation import SeasonalNaive, backtest, explain

SMALL = {
    "seq_len": 12,
    "pred_len": 4,
    "d_model": 8,
    "n_heads": 2,
    "n_encoder_layers": 1,
    "max_iter": 1,
    "random_state": 0,
}
N_TRAIN, N_ALL = 96, 112
SERIES = ["a", "b", "c"]
MEMBERS = {
    "ridges": ["ridges"],
    "features": ["ridges", Ridge()],
    "classical": ["classical"],
    "network": ["ridges", "network"],
}
filled = pytest.mark.filterwarnings("ignore:columns have missing values:UserWarning")
empty = pytest.mark.filterwarnings("ignore:.* have no values, and no:UserWarning")
held = pytest.mark.filterwarnings("ignore:.* have no values at :UserWarning")

LEVELS = ["fog", "rain", "sun"]


def hours(n=N_ALL, seed=0):
    """Return hours of a wave, and of a column whose names move it."""
    rng = np.random.default_rng(seed)
    place = rng.integers(0, 3, n)
    wave = np.sin(2 * np.pi * np.arange(n) / 12)
    load = 10 + seed + wave + 2 * place + rng.normal(0, 0.1, n)
    time = pd.date_range("2024-01-01", periods=n, freq="h")
    return pd.DataFrame({"kind": place, "load": load}, time)


def stacked(parts):
    return pd.concat(parts, names=["shop", "time"])


def table(shape, role):
    """Return rows whose column "kind" holds the places of levels, in one role."""
    if shape == "table":
        return hours()
    parts = {name: hours(seed=i) for i, name in enumerate(SERIES)}
    if role == "static":
        parts = {
            name: part.assign(kind=i) for i, (name, part) in enumerate(parts.items())
        }
    return stacked(parts)


def split(df):
    """Split the last rows off each series."""
    if df.index.nlevels == 1:
        return df[:N_TRAIN], df[N_TRAIN:]
    is_late = df.groupby(level=0).cumcount() >= N_TRAIN
    return df[~is_late], df[is_late]


def replaced(df, **columns):
    """Put columns in the place of "kind"."""
    new = pd.DataFrame(columns, df.index)
    return pd.concat([new, df.drop(columns="kind")], axis=1)


def as_text(place):
    return place.map(dict(enumerate(LEVELS)))


def indicators(place):
    return {f"kind={name}": (place == i).astype(float) for i, name in enumerate(LEVELS)}


def two(place):
    return place.map({0: "no", 1: "yes", 2: "yes"})


def without_some(place):
    return as_text(place).mask(np.arange(len(place)) % 5 == 0)


def with_missing_level(place):
    is_missing = np.arange(len(place)) % 5 == 0
    columns = {
        name: column.mask(is_missing, 0.0) for name, column in indicators(place).items()
    }
    return columns | {"kind is missing": is_missing.astype(float)}


#: A column as it comes, and what a user would make of it by hand.
KINDS = {
    "text": (as_text, indicators),
    "object": (lambda place: as_text(place).astype(object), indicators),
    "category": (lambda place: as_text(place).astype("category"), indicators),
    "category of numbers": (
        lambda place: place.astype("category"),
        lambda place: {f"kind={i}": (place == i).astype(float) for i in range(3)},
    ),
    "two names": (two, lambda place: {"kind=yes": (place > 0).astype(float)}),
    "bool": (
        lambda place: place > 0,
        lambda place: {"kind": (place > 0).astype(float)},
    ),
    "ordered": (
        lambda place: pd.Series(
            pd.Categorical(
                as_text(place), ["fog", "rain", "sun", "hail"], ordered=True
            ),
            place.index,
        ),
        lambda place: {"kind": place.astype(float)},
    ),
    "text with missing names": (without_some, with_missing_level),
}


def known_ahead(role, df):
    return [c for c in df if c.startswith("kind")] if role == "known" else None


def informer(known=None, members=("ridges",), **changes):
    return InformerRegressor(
        "load",
        known_future=known,
        **with_parts(**SMALL | {"members": list(members)} | changes),
    )


#: Members are given what was read, however it came: other members than ridges see two kinds.
KINDS_AND_MEMBERS = [
    *((kind, "ridges") for kind in KINDS),
    *(
        (kind, members)
        for kind in ("text", "text with missing names")
        for members in list(MEMBERS)[1:]
    ),
]


@pytest.mark.parametrize(
    ("shape", "role"),
    [
        ("table", "past"),
        ("table", "known"),
        ("panel", "past"),
        ("panel", "known"),
        ("panel", "static"),
    ],
)
@pytest.mark.parametrize(("kind", "members"), KINDS_AND_MEMBERS)
def test_a_column_of_names_is_what_it_is_by_hand(kind, shape, role, members):
    """Whoever prepares columns gains nothing by it."""
    if kind == "text with missing names" and role == "static":
        pytest.skip("a series has one name: see the test of static columns")
    make, by_hand = KINDS[kind]
    df = table(shape, role)
    raw = replaced(df, kind=make(df["kind"]))
    prepared = replaced(df, **by_hand(df["kind"]))
    train, later = split(raw)
    model = informer(known_ahead(role, raw), MEMBERS[members]).fit(train)
    train_by_hand, later_by_hand = split(prepared)
    same = informer(known_ahead(role, prepared), MEMBERS[members]).fit(train_by_hand)
    np.testing.assert_array_equal(model.predict(later), same.predict(later_by_hand))
    assert list(model.feature_names_in_) == ["kind", "load"]
    if role == "static":
        assert set(model.roles_.sources_of(model.roles_.static)) == {"kind"}


@filled
@held
@pytest.mark.parametrize("members", MEMBERS)
@pytest.mark.parametrize(
    ("shape", "role"),
    [
        ("table", "past"),
        ("table", "known"),
        ("panel", "past"),
        ("panel", "known"),
        ("panel", "static"),
    ],
)
def test_holes_are_filled_from_the_past_of_their_column(shape, role, members):
    """By hand it is `ffill`, series by series."""
    df = table(shape, role)
    place = df["kind"].astype(float)
    number = np.arange(len(df)) % N_ALL
    is_hole = np.isin(number, [20, 21, 22, 50, N_TRAIN + 2, N_TRAIN + 9])
    raw = replaced(df, kind=place.mask(is_hole))
    filled = raw["kind"]
    filled = filled.ffill() if shape == "table" else filled.groupby(level=0).ffill()
    train, later = split(raw)
    model = informer(known_ahead(role, raw), MEMBERS[members]).fit(train)
    train_by_hand, later_by_hand = split(replaced(df, kind=filled))
    same = informer(known_ahead(role, raw), MEMBERS[members]).fit(train_by_hand)
    np.testing.assert_array_equal(model.predict(later), same.predict(later_by_hand))
    np.testing.assert_array_equal(
        model.update(later).forecast(_ahead(model, role)),
        same.update(later_by_hand).forecast(_ahead(same, role)),
    )


def _ahead(model, role):
    return model.make_future_frame().assign(kind=1.0) if role == "known" else None


def test_the_warning_of_holes_names_columns_and_shares_once():
    """What was done to measurements is said, in one sentence."""
    df = hours()[:N_TRAIN].assign(kind=np.arange(N_TRAIN, dtype=float))
    df.insert(0, "wind", 1.0 + np.arange(N_TRAIN) % 7)
    df.loc[df.index[:24], "wind"] = np.nan
    df.loc[df.index[5:11], "kind"] = np.nan
    with pytest.warns(UserWarning, match="columns have missing values") as caught:
        informer(["kind"]).fit(df)
    assert [str(warning.message) for warning in caught] == [
        "columns have missing values: 'wind' (25.0%), 'kind' (6.2%). Each is filled by "
        "the last value before it in its series; fill them yourself if you know better values."
    ]


@held
def test_an_empty_column_says_nothing():
    """As tables of spreadsheets have them."""
    df = hours()
    with pytest.warns(UserWarning, match=r"columns \['empty'\] have no values"):
        model = informer(["kind"]).fit(
            df.assign(empty=np.nan)[["empty", *df]][:N_TRAIN]
        )
    same = informer(["kind"]).fit(df[:N_TRAIN])
    later = df[N_TRAIN:]
    np.testing.assert_allclose(
        model.predict(later.assign(empty=np.nan)[["empty", *df]]), same.predict(later)
    )


@empty
@pytest.mark.parametrize("shape", ["table", "panel"])
def test_an_empty_column_known_ahead_needs_no_values(shape, tmp_path):
    """It has no effect: neither its values nor rows for them are asked for, nor warned of."""
    train, later = split(table(shape, "known")[["load"]])
    future = later.groupby(level=0).head(4) if shape == "panel" else later[:4]
    future = future.assign(load=np.nan)
    of_zeros = informer(["empty"]).fit(train.assign(empty=0.0))
    expected = of_zeros.forecast(future.assign(empty=0.0))
    model = informer(["empty"]).fit(train.assign(empty=np.nan))
    for X in (future.assign(empty=np.nan), future, None):
        np.testing.assert_allclose(model.forecast(X), expected)
    predicted = model.predict(future.assign(empty=np.nan))
    np.testing.assert_allclose(predicted, expected["load"])
    path = tmp_path / "model.skinformer"
    model.save(path)
    np.testing.assert_allclose(skinformer.load(path).forecast(), expected)


@empty
def test_an_empty_column_excuses_no_other():
    df = hours().assign(kind=lambda d: d["kind"].astype(float), empty=np.nan)
    model = informer(["empty", "kind"]).fit(df[:N_TRAIN])
    for future in (None, model.make_future_frame()):
        with pytest.raises(ValueError, match="'kind' has no value at 4 of the steps"):
            model.forecast(future)


@filled
@pytest.mark.parametrize("n_missing", [1, 3, 4])
def test_a_column_known_ahead_that_ends_is_an_error_that_names_the_first_step(
    n_missing,
):
    """A price that nobody filled in is no price."""
    df = hours().assign(kind=lambda d: d["kind"].astype(float))
    model = informer(["kind"]).fit(df[:N_TRAIN])
    future = model.make_future_frame()
    future.iloc[: 4 - n_missing, 0] = 1.0
    sentence = (
        f"future covariate 'kind' has no value at {n_missing} of the steps to forecast, "
        f"the first {future.index[4 - n_missing]}: "
    )
    for call in (model.predict, model.forecast):
        with pytest.raises(ValueError, match=sentence):
            call(future)


@filled
@held
def test_a_hole_at_the_end_is_none_but_where_training_held_as_long_ones():
    """A sensor that skips rows skips the last ones, too."""
    df = hours().assign(kind=lambda d: d["kind"].astype(float))
    df.loc[df.index[[20, 21]], "kind"] = np.nan
    model = informer(["kind"]).fit(df[:N_TRAIN])
    future = model.make_future_frame().assign(kind=[1.0, 2.0, np.nan, np.nan])
    by_hand = future.assign(kind=[1.0, 2.0, 2.0, 2.0])
    pd.testing.assert_frame_equal(model.forecast(future), model.forecast(by_hand))
    with pytest.raises(ValueError, match="no value at 3 of the steps"):
        model.forecast(future.assign(kind=[1.0, np.nan, np.nan, np.nan]))
    with pytest.raises(ValueError, match="no value at 4 of the steps"):
        model.forecast(future.assign(kind=np.nan))


@held
def test_a_hole_between_known_values_is_filled_and_said():
    """Nothing from behind the hole is used: it might not be known when its step is forecast."""
    df = hours().assign(kind=lambda d: d["kind"].astype(float))
    model = informer(["kind"]).fit(df[:N_TRAIN])
    future = model.make_future_frame().assign(kind=[2.0, np.nan, np.nan, 0.0])
    with pytest.warns(
        UserWarning, match=r"future covariates \['kind'\] have no values at 2"
    ):
        forecast = model.forecast(future)
    by_hand = model.forecast(future.assign(kind=[2.0, 2.0, 2.0, 0.0]))
    pd.testing.assert_frame_equal(forecast, by_hand)


@pytest.mark.parametrize("kind", ["text", "two names", "category", "ordered"])
@pytest.mark.parametrize("role", ["past", "known"])
def test_an_unseen_name_is_other_with_one_warning(role, kind):
    """A new kind of weather ends no service."""
    df = hours()
    df["kind"] = KINDS[kind][0](df["kind"])
    train, later = split(df)
    model = informer(known_ahead(role, df)).fit(train)
    new = later.astype({"kind": object})
    new.loc[new.index[-2:], "kind"] = "snow"
    sentence = r"column 'kind' holds 'snow', which fit did not see \(2 rows"
    for call in (model.predict, model.score, model.update):
        with pytest.warns(UserWarning, match=sentence) as caught:
            call(new)
        assert len(caught) == 1
    known = model.make_future_frame().assign(kind=new["kind"].iloc[0])
    assert np.isfinite(model.forecast(known)).all(axis=None)
    if role == "known":
        with pytest.warns(UserWarning, match=r"holds 'snow'"):
            model.forecast(known.assign(kind="snow"))


@filled
def test_a_missing_name_ahead_is_an_error_but_where_training_held_such_rows():
    """A day without the name of a holiday is no holiday; weather that is not filled in is none."""
    df = hours()
    df["kind"] = as_text(df["kind"])
    model = informer(["kind"]).fit(df[:N_TRAIN])
    with pytest.raises(ValueError, match="future covariate 'kind' has no"):
        model.forecast(model.make_future_frame())
    df["kind"] = df["kind"].mask(df["kind"] == "fog")
    model = informer(["kind"]).fit(df[:N_TRAIN])
    assert np.isfinite(model.forecast(model.make_future_frame())).all(axis=None)


@pytest.mark.parametrize("shape", ["table", "panel"])
def test_many_names_share_one_column(shape):
    """A column for each of them would cost more than it tells."""
    rng = np.random.default_rng(0)
    df = table(shape, "known")
    place = rng.integers(0, 14, len(df))
    df["kind"] = [f"event {i}" for i in place]
    df["load"] += place
    train, later = split(df)
    model = informer(["kind"]).fit(train)
    assert model.roles_.known == ("kind",)
    [encoding] = model.roles_.categories
    effects = dict(zip(encoding.levels, encoding.numbers[:-2, 0], strict=True))
    assert effects["event 13"] > effects["event 7"] > effects["event 0"]
    blind = informer().fit(train.drop(columns="kind"))
    errors = [
        np.abs(model.predict(later) - later["load"]).mean(),
        np.abs(blind.predict(later[["load"]]) - later["load"]).mean(),
    ]
    assert errors[0] < 0.8 * errors[1]


def test_an_id_is_refused_by_name():
    """What comes once cannot be learnt."""
    df = hours().assign(kind=[f"order {i}" for i in range(N_ALL)])
    with pytest.raises(ValueError, match="column 'kind' holds 112 different values in"):
        informer().fit(df)
    with pytest.raises(ValueError, match=r"X.drop\(columns=\['kind'\]\)"):
        informer().fit(df.astype({"kind": "category"}))


@pytest.mark.filterwarnings("ignore:column 'kind' holds:UserWarning")
def test_the_first_fold_of_a_cross_validation_takes_as_many_names():
    """Rows of a fold are fewer; it holds names that the others do not, and they others."""
    rng = np.random.default_rng(0)
    df = hours(120).assign(kind=[f"event {i}" for i in rng.integers(0, 15, 120)])
    scores = cross_val_score(
        informer(["kind"]), df, df["load"], cv=TimeSeriesSplit(3), error_score="raise"
    )
    assert np.isfinite(scores).all()


@pytest.mark.parametrize("kind", ["text", "category"])
def test_names_as_a_target_are_refused_by_a_regressor(kind):
    """They are what a classifier forecasts."""
    df = hours()
    df["load"] = KINDS[kind][0](df["kind"])
    with pytest.raises(ValueError, match="could not convert column 'load'"):
        informer().fit(df)


def test_a_classifier_takes_columns_of_names():
    """Its target and its columns may be text."""
    df = hours()
    df["kind"] = as_text(df["kind"])
    df["load"] = np.where(df["load"] > df["load"].median(), "high", "low")
    model = InformerClassifier("load", known_future=["kind"], **with_parts(**SMALL))
    model.fit(df[:N_TRAIN])
    assert set(model.predict(df[N_TRAIN:])) <= {"high", "low"}
    assert model.score(df[N_TRAIN:]) > 0.6


def test_the_target_may_be_bool():
    """As numbers: 1 and 0."""
    df = hours().assign(load=lambda d: d["load"] > d["load"].median())
    assert np.isfinite(informer(["kind"]).fit(df[:N_TRAIN]).predict(df[N_TRAIN:])).all()


def test_features_of_names_and_y():
    """The mode of scikit-learn: all of X is known ahead."""
    df = hours()
    X = as_text(df["kind"]).to_frame()
    y = df["load"]
    model = InformerRegressor(**with_parts(**SMALL, members=["ridges"]))
    model.fit(X[:N_TRAIN], y[:N_TRAIN])
    assert model.score(X[N_TRAIN:], y[N_TRAIN:]) > 0.9


def messy(shape):
    """Return rows with one column of each kind."""
    df = table(shape, "known")
    rng = np.random.default_rng(1)
    place = df["kind"]
    df = df.assign(
        kind=as_text(place),
        mood=without_some(pd.Series(rng.integers(0, 3, len(df)), df.index)),
        size=KINDS["ordered"][0](place),
        open=rng.random(len(df)) > 0.3,
        temp=pd.Series(rng.normal(size=len(df)), df.index).mask(
            rng.random(len(df)) < 0.1
        ),
    )
    return df[["kind", "mood", "size", "open", "temp", "load"]]


@filled
@held
@pytest.mark.parametrize("shape", ["table", "panel"])
def test_a_fitted_model_of_names_is_saved_copied_explained_and_tested(shape, tmp_path):
    """Everything that takes a model takes one of any table."""
    train, later = split(messy(shape))
    model = informer(["kind", "temp", "open"], MEMBERS["features"]).fit(train)
    expected = model.predict(later)
    model.save(tmp_path / "model")
    loaded = skinformer.load(tmp_path / "model")
    for other in (loaded, pickle.loads(pickle.dumps(model))):
        np.testing.assert_array_equal(other.predict(later), expected)
    again = clone(model).fit(train)
    np.testing.assert_array_equal(again.predict(later), expected)
    reasons = explain(model, later.drop(columns="load"), n_permutations=2)
    assert set(reasons["source"]) == {"baseline", *later}
    assert list(model.make_future_frame()) == list(train)
    forecasts = backtest(model, later, horizon=4)
    assert np.isfinite(forecasts["forecast"]).all()
    loaded.update(later)
    model.update(later)
    np.testing.assert_array_equal(loaded.timeline_.values, model.timeline_.values)
    with pytest.raises(
        ValueError, match=(r"columns of text or categories, .*, cannot be exported")
    ):
        model.export_program()


@pytest.mark.parametrize("shape", ["table", "panel"])
def test_what_stands_beside_a_model_takes_names(shape):
    """A baseline, a calendar before it, and a mask: none of them reads other columns."""
    df = table(shape, "known")
    df["kind"] = as_text(df["kind"])
    train, later = split(df)
    numbers = train.assign(kind=0.0)
    naive = SeasonalNaive(12, target="load").fit(train)
    same = SeasonalNaive(12, target="load").fit(numbers)
    np.testing.assert_array_equal(
        naive.predict(later), same.predict(later.assign(kind=0.0))
    )
    with pytest.raises(ValueError, match="could not convert column 'kind'"):
        SeasonalNaive(12, target="kind").fit(train)
    before = CalendarFeatures(["hour"]).fit(train)
    assert before.transform(train)["kind"].equals(train["kind"])
    model = make_pipeline(CalendarFeatures(["hour"]), informer(["kind"])).fit(train)
    assert np.isfinite(model.predict(later)).all()
    assert len(backtest(model, later, horizon=4))
    assert len(backtest(naive, later, horizon=4))
    masked = MaskFuture("load", pred_len=4).fit_transform(train)
    assert masked["kind"].isna().sum() == 4 * (1 if shape == "table" else 3)
    masked = MaskFuture("load", pred_len=4, known_future=["kind"]).fit_transform(train)
    assert masked["kind"].equals(train["kind"])


@filled
@held
@pytest.mark.parametrize("members", MEMBERS)
@pytest.mark.parametrize("shape", ["table", "panel"])
def test_no_row_behind_a_block_changes_its_forecasts(shape, members):
    """Neither names nor holes let the future in."""
    train, later = split(messy(shape))
    model = informer(["kind", "temp"], MEMBERS[members]).fit(train)
    before = model.predict(later)
    number = (
        later.groupby(level=0).cumcount()
        if shape == "panel"
        else pd.Series(np.arange(len(later)), later.index)
    )
    for last in (3, 7):
        behind = (number > last).to_numpy()
        changed = later.copy()
        changed.loc[behind, "kind"] = "fog"
        changed.loc[behind, "mood"] = "sun"
        changed.loc[behind, "size"] = "hail"
        changed.loc[behind, "temp"] = 3.0
        changed.loc[behind, "load"] += 1.0
        np.testing.assert_array_equal(model.predict(changed)[~behind], before[~behind])
        missing = changed.copy()
        missing.loc[behind, ["mood", "temp"]] = np.nan
        np.testing.assert_array_equal(model.predict(missing)[~behind], before[~behind])
    # Columns that are not known ahead do not even count in the block itself.
    first = (number > 0).to_numpy()
    changed = later.copy()
    changed.loc[first, ["mood", "size"]] = ["fog", "hail"]
    block = (number < 4).to_numpy()
    np.testing.assert_array_equal(model.predict(changed)[block], before[block])


def test_the_order_of_rows_with_names_does_not_matter():
    """Codes belong to names, not to places."""
    df = hours()
    df["kind"] = as_text(df["kind"])
    train, later = split(df)
    model = informer(["kind"]).fit(train)
    shuffled = later.sample(frac=1, random_state=0)
    found = pd.Series(model.predict(shuffled), shuffled.index)
    np.testing.assert_array_equal(found[later.index], model.predict(later))
    as_category = later.astype({"kind": "category"})
    np.testing.assert_array_equal(model.predict(as_category), model.predict(later))


@filled
@pytest.mark.parametrize("shape", ["table", "panel"])
def test_rows_that_are_missing_have_no_level_of_their_own(shape):
    """Their names are those before them, as other covariates are."""
    df = table(shape, "known")
    df["kind"] = as_text(df["kind"])
    df.insert(0, "wind", np.arange(len(df)) % 7.0)
    df.loc[df.index[40], "wind"] = np.nan
    number = np.arange(len(df)) % N_ALL
    train, later = split(df[~np.isin(number, [30, 31, 60])])
    with pytest.warns(UserWarning, match="there are no rows for") as caught:
        model = informer(["kind"]).fit(train)
    sentences = " ".join(str(warning.message) for warning in caught)
    assert "'wind' (" in sentences
    assert model.roles_.known == ("kind=fog", "kind=rain", "kind=sun")
    assert np.isfinite(model.predict(later)).all()


def test_a_series_without_a_static_value_is_like_the_others():
    """One shop whose size nobody noted."""
    df = table("panel", "static")
    raw = replaced(df, kind=as_text(df["kind"]), area=df["kind"].astype(float))
    raw.loc["c", "area"] = np.nan
    raw.loc[("a", raw.loc["a"].index[:5]), "kind"] = None
    train, later = split(raw)
    with pytest.warns(UserWarning, match="'area' .33.3%."):
        model = informer().fit(train)
    assert set(model.roles_.sources_of(model.roles_.static)) == {"kind", "area"}
    assert model.roles_.categories[0].levels == tuple(LEVELS)
    assert np.isfinite(model.predict(later)).all()
    left_out = later.drop(columns=["kind", "area"])
    np.testing.assert_array_equal(model.predict(left_out), model.predict(later))


def test_an_array_in_place_of_names_is_refused():
    """Its numbers would be taken for levels."""
    df = hours()
    model = informer(["kind"]).fit(df.assign(kind=as_text(df["kind"]))[:N_TRAIN])
    with pytest.raises(ValueError, match="X is an array"):
        model.predict(df.to_numpy()[:4])


def test_a_column_with_the_name_of_a_level_is_refused():
    """Two columns would be one."""
    df = hours()
    df = df.assign(kind=as_text(df["kind"])).rename(columns={"load": "kind=sun"})
    with pytest.raises(ValueError, match="X has a column 'kind=sun'"):
        InformerRegressor(**with_parts(**SMALL)).fit(df)
