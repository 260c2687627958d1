"""Targets are transformed before they are standardised, and forecasts are back in their units."""

import copy
import pickle

import numpy as np
import pandas as pd
import pytest
from flat_parameters import with_parts
from sklearn.base import clone
from sklearn.model_selection import GridSearchCV, TimeSeriesSplit
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer, PowerTransformer, StandardScaler

from skinformer import InformerRegressor

P = {
    "seq_len": 24,
    "pred_len": 6,
    "d_model": 16,
    "n_heads": 2,
    "max_iter": 1,
    "random_state": 0,
    "max_windows": 64,
}
LOG1P = FunctionTransformer(np.log1p, np.expm1)
TRANSFORMS = ["log", LOG1P, PowerTransformer()]


def growing(n=400, *, seed=0, level=1.0, noise=0.15):
    """Make growth by a constant factor, with a season and noise that grow as well."""
    t = np.arange(n)
    noise = noise * np.random.default_rng(seed).normal(size=n)
    return level * np.exp(0.01 * t + np.sin(t * np.pi / 6) + noise)


def steady(n=400, *, seed=0, level=100.0):
    """Make a season and noise that stay as they are."""
    wave = 20 * np.sin(np.arange(n) * np.pi / 6)
    return level + wave + 5 * np.random.default_rng(seed).normal(size=n)


def dated(**columns):
    n = len(next(iter(columns.values())))
    return pd.DataFrame(columns, index=pd.date_range("2024-01-01", periods=n, freq="h"))


def panel(**series):
    return pd.concat({name: dated(y=values) for name, values in series.items()})


def make(transform=None, **parameters):
    return InformerRegressor(**with_parts(**P | parameters, target_transform=transform))


def logs(model):
    """Tell by series where logarithms are taken."""
    return model.scaler_.targets.logs[:, 0].tolist()


# ----------------------------------------------------------------------------------- units


@pytest.mark.slow
@pytest.mark.parametrize("transform", [*TRANSFORMS, None], ids=str)
def test_forecasts_are_in_units_in_all_three_modes(transform):
    """What is done to targets is undone wherever the truth comes from."""
    y = growing(level=1000)
    df = dated(x=np.arange(400.0) % 12, y=y)
    truth = df["y"][-6:].mean()
    ridges = {"members": ["ridges"]}
    frame = make(transform, **ridges).fit(df[:-6]).predict(df[-6:])
    np.testing.assert_allclose(frame.mean(), truth, rtol=0.3)
    both = make_pipeline(StandardScaler(), make(transform, target="y", **ridges))
    both.set_output(transform="pandas").fit(df[:-6], df["y"][:-6])
    np.testing.assert_allclose(both.predict(df[-6:]), frame, rtol=2e-3)
    features = make(transform, **ridges).fit(df[["x"]][:-6], df["y"][:-6])
    np.testing.assert_allclose(features.predict(df[["x"]][-6:]).mean(), truth, rtol=0.3)


@pytest.mark.slow
@pytest.mark.parametrize("transform", TRANSFORMS, ids=str)
def test_other_columns_are_untouched(transform):
    """A covariate below zero has no logarithm, and needs none."""
    df = dated(x=steady(level=0), y=growing())
    plain, other = (
        make(each, members=["ridges"]).fit(df) for each in (None, transform)
    )
    np.testing.assert_array_equal(
        plain.timeline_.values[:, 1], other.timeline_.values[:, 1]
    )
    assert (plain.timeline_.values[:, 0] != other.timeline_.values[:, 0]).any()


def test_a_transform_is_that_of_the_values_transformed_before():
    """`target_transform=t` forecasts the inverse of what it would forecast of t's values."""
    df = dated(y=steady())
    root = FunctionTransformer(np.sqrt, np.square)
    # Without classical forecasters, which look at values in units.
    members = ["ridges", "network"]
    inside = make(root, members=members).fit(df).forecast(horizon=15)
    roots = make(None, members=members).fit(np.sqrt(df)).forecast(horizon=15)
    outside = roots**2
    np.testing.assert_allclose(inside, outside, rtol=1e-6)


def test_recursion_and_updates_go_the_same_way_in():
    """`update` with the truth, and rows of X that bring it, are the same history."""
    df = dated(y=growing())
    model = make("log").fit(df[:-30])
    told = copy.deepcopy(model).update(df[-30:-12]).forecast(horizon=12)
    np.testing.assert_allclose(model.forecast(df[-30:-12], horizon=12), told, rtol=1e-5)
    far = model.forecast(horizon=30)["y"]  # five forecasts, each fed by the one before
    assert (far > 0).all()
    np.testing.assert_allclose(far.mean(), df["y"][-30:].mean(), rtol=0.3)


@pytest.mark.parametrize("transform", TRANSFORMS, ids=str)
def test_holes_are_filled_in_transformed_units(transform):
    """A missing target is a forecast away, in `fit`, `update` and `predict`."""
    df = dated(y=growing(level=50))
    holed = df.copy()
    holed.iloc[[5, 100, 101, 102, 330, 390]] = np.nan
    model = make(transform).fit(holed[:350])
    assert np.isfinite(model.timeline_.values).all()
    near = model.update(holed[350:]).forecast()["y"].mean()
    np.testing.assert_allclose(near, df["y"][-12:].mean(), rtol=0.5)
    assert np.isfinite(model.predict(holed)).all()


# --------------------------------------------------------------------------------- asked for


@pytest.mark.slow
def test_growth_by_a_factor_is_forecast_by_logarithms():
    """Out of sample they are clearly better."""
    errors = {None: [], "log": []}
    for seed, loss in enumerate(["mse", "mae"]):
        df = dated(y=growing(500, seed=seed))
        for transform, found in errors.items():
            model = make(transform, loss=loss).fit(df[:400])
            found.append(np.abs(model.predict(df[400:]) / df["y"][400:] - 1).mean())
    assert np.mean(errors["log"]) < 0.85 * np.mean(errors[None])


def test_nothing_is_transformed_unasked():
    """Logarithms are the user's to ask for, however a series grows."""
    assert logs(make().fit(dated(y=growing()))) == [False]
    assert logs(make("log").fit(panel(a=growing(), b=steady()))) == [True, True]


# ----------------------------------------------------------------------------- zeros, bounds


def test_log_refuses_what_has_no_logarithm():
    """Word for word, with the way out."""
    df = dated(y=np.r_[0.0, steady()])
    with pytest.raises(ValueError, match="target_transform='log'") as refused:
        make("log").fit(df)
    assert str(refused.value) == (
        "target_transform='log' needs targets above 0, but 'y' falls to 0: that has no logarithm. "
        "Make such rows NaN, or pass target_transform=None or "
        "FunctionTransformer(np.log1p, np.expm1)."
    )
    with pytest.raises(ValueError, match=r"but 'y' of series 'b' falls to -\d"):
        make("log").fit(panel(a=growing(), b=steady(level=0)))


def test_a_later_zero_counts_as_a_hundredth_of_the_least_value():
    """Sales that stop are no reason to stop forecasting; what is forecast is above zero."""
    df = dated(y=steady())
    model = make("log").fit(df[:350])
    later = df[350:].copy()
    later.iloc[-2:] = [[0.0], [-5.0]]
    least = later.copy()
    least.iloc[-2:] = df["y"][:350].min() / 100
    np.testing.assert_allclose(model.forecast(later), model.forecast(least))
    told = copy.deepcopy(model).update(later).forecast()
    np.testing.assert_allclose(told, copy.deepcopy(model).update(least).forecast())
    assert (told > 0).all(axis=None)


@pytest.mark.slow
@pytest.mark.parametrize("members", [["ridges", "network"], ["network"]])
def test_what_never_was_below_zero_is_not_forecast_there(members):
    """Counts that die out: whichever path speaks."""
    y = np.maximum(200 - np.arange(400.0), 0) + 0.5
    df = panel(a=y, b=y - 50)
    forecast = make(None, members=members).fit(df[:]).forecast(horizon=40)["y"]
    assert (forecast["a"] >= 0).all()
    falling = dated(y=np.linspace(300, 3, 100))
    for level, bounded in ((0, True), (10, False)):
        model = make(None, members=members).fit(falling - level)
        low = model.forecast(horizon=48)["y"].min()
        assert (low >= 0) == bounded


def test_a_bound_goes_where_a_later_row_breaks_it():
    """A series that has been below zero may be there again, from the next `update` on."""
    falling = dated(y=np.linspace(300, 3, 100))
    later = dated(y=np.linspace(300, -21, 108))[100:]
    model = make(None).fit(falling)
    assert model.forecast(horizon=24)["y"].min() == 0
    # What X shows is no part of the fit.
    assert model.forecast(later, horizon=24)["y"].min() == 0
    assert model.update(later).forecast(horizon=24)["y"].min() < -21


@pytest.mark.slow
def test_a_series_that_training_did_not_hold_is_as_most_are():
    """Logarithms, bounds and scale are those of the others."""
    df = panel(a=growing(seed=1), b=growing(seed=2), c=growing(seed=4))
    model = make("log").fit(df)
    new = panel(z=growing(seed=3))
    forecast = model.forecast(new)["y"]
    assert (forecast > 0).all()
    np.testing.assert_allclose(forecast.mean(), new["y"][-12:].mean(), rtol=0.4)


# ------------------------------------------------------------------------------------ means


@pytest.mark.slow
def test_means_are_back_transformed_without_bias():
    """The exponential of a mean of logarithms is a median: 20 % too low at a deviation of .67."""
    y = np.exp(0.67 * np.random.default_rng(0).normal(size=3000))
    df = dated(y=y)
    mean, median = (
        make("log", loss=loss, members=["ridges"]).fit(df[:2000])
        for loss in ("mse", "mae")
    )
    np.testing.assert_allclose(mean.predict(df[2000:]).mean(), y.mean(), rtol=0.06)
    np.testing.assert_allclose(
        median.predict(df[2000:]).mean(), np.median(y), rtol=0.08
    )
    assert not median.scaler_.targets.smear.any()
    assert not make("log", loss=0.9).fit(df[:500]).scaler_.targets.smear.any()


def test_a_short_split_is_enough_for_means():
    """Its rows say how noisy a series is, not each whole forecast: sums fell 14 % short."""
    noise = [np.exp(0.6 * np.random.default_rng(i).normal(size=200)) for i in range(20)]
    rows = panel(**{f"s{i:02}": y for i, y in enumerate(noise)})
    mean, median = (
        make("log", members=["ridges"], loss=loss, max_windows=None)
        .fit(rows)
        .forecast()["y"]
        .mean()
        for loss in ("mse", "mae")
    )
    assert mean / median == pytest.approx(np.exp(0.18), rel=0.05)


def test_a_factor_for_means_is_bounded():
    """One window of garbage must not double what is forecast ever after."""
    y = steady(300)
    y[-8:] *= 1e4
    smear = make("log").fit(dated(y=y)).scaler_.targets.smear
    assert 0 <= smear.max() <= np.log(2)


@pytest.mark.slow
def test_noisy_series_raise_no_forecast_of_one_that_hardly_errs():
    """A factor of others makes a repeated day too high by a tenth."""
    t = np.arange(400)
    repeated = 10 + 3 * np.sin(2 * np.pi * t / 24)
    noise = [np.exp(0.6 * np.random.default_rng(i).normal(size=400)) for i in range(5)]
    rows = panel(a=repeated, **dict(zip("bcdef", noise, strict=True)))
    model = make("log", members=["ridges"]).fit(rows)
    smear = model.scaler_.targets.smear[:, 0]
    assert smear[0] < 0.003
    assert smear[1:].min() > 0.01


# ------------------------------------------------------------------------------ transformers


def test_a_transformer_is_cloned_and_fitted_before_the_tail():
    """The user's own stays as it is; the validation rows are not looked at."""
    given, y = PowerTransformer(), growing()
    model = make(given).fit(dated(y=y))
    assert not hasattr(given, "lambdas_")
    [fitted] = model.scaler_.targets.transformers
    later = y.copy()
    later[-6:] *= 100
    [other] = make(given).fit(dated(y=later)).scaler_.targets.transformers
    assert fitted.transformer.lambdas_ == other.transformer.lambdas_


@pytest.mark.slow
def test_series_share_a_transformer_and_targets_do_not():
    """A series that training did not hold has one as well."""
    df = panel(a=growing(), b=steady())
    model = make(PowerTransformer(), members=["ridges"]).fit(df)
    assert len(model.scaler_.targets.transformers) == 1
    assert np.isfinite(model.forecast(panel(z=steady(seed=5)))).all(axis=None)
    wide = make(PowerTransformer(), target=["a", "b"], members=["ridges"]).fit(
        dated(a=growing(), b=steady())
    )
    one, other = wide.scaler_.targets.transformers
    assert one.transformer.lambdas_ != other.transformer.lambdas_


def test_a_transformer_has_to_give_values_back():
    """Forecasts would be off by as much; word for word."""
    df = dated(y=np.arange(1.0, 201))
    with pytest.raises(ValueError, match="does not restore") as refused:
        make(FunctionTransformer(np.log, np.expm1, check_inverse=False)).fit(df)
    assert str(refused.value) == (
        "target_transform=FunctionTransformer(check_inverse=False, func=<ufunc 'log'>,\n"
        "                    inverse_func=<ufunc 'expm1'>) "
        "does not restore the training values of target 'y': inverse_transform(transform(y)) is "
        "off by 1, and forecasts would be, too. Pass a transformer with the inverse that belongs "
        "to it, or target_transform=None."
    )


def test_a_transformer_that_cannot_be_fitted_is_named():
    """With the values that it was given."""
    df = dated(y=np.arange(-20.0, 180))
    message = (
        r"target_transform=PowerTransformer\(method='box-cox'\) cannot be fitted to target 'y', "
        r"which lies in -20 … \d+: .*strictly positive.* Choose one that is defined there, or "
        r"target_transform=None\."
    )
    with pytest.raises(ValueError, match=message):
        make(PowerTransformer(method="box-cox")).fit(df)


def test_later_values_outside_a_transformers_domain_are_refused():
    """There is no floor that would fit every transformer."""
    df = dated(y=steady())
    model = make(LOG1P).fit(df[:-20])
    later = df[-20:].copy()
    later.iloc[3] = -2
    message = (
        r"target_transform=FunctionTransformer\(.*\) has no finite answer to a target among -2 … "
        "-2: it was fitted on other values. Make such a target NaN, or choose a transformer that "
        "is defined there."
    )
    for call in (model.update, model.forecast, model.predict):
        with pytest.raises(ValueError, match=message):
            call(later)
    boxed = make(PowerTransformer(method="box-cox")).fit(df[:-20])
    with pytest.raises(ValueError, match="has no finite answer"):
        boxed.update(later)


def test_a_quantile_needs_a_transformer_that_rises():
    """Through one that falls, .9 becomes .1; a mean does not mind."""
    falls = FunctionTransformer(np.reciprocal, np.reciprocal)
    df = dated(y=steady())
    message = (
        "decreases where target 'y' increases: with a quantile as loss it would forecast "
        "the opposite quantile. Pass an increasing transformer, or another loss."
    )
    with pytest.raises(ValueError, match=message):
        make(falls, loss=0.9).fit(df)
    assert np.isfinite(make(falls).fit(df).forecast()).all(axis=None)


def test_forecasts_outside_an_inverses_domain_are_those_of_the_range():
    """A root has an end: beyond it stands the nearest training value, not NaN."""
    model = make(FunctionTransformer(np.square, np.sqrt)).fit(dated(y=steady()))
    [fitted] = model.scaler_.targets.transformers
    np.testing.assert_array_equal(
        fitted.inverse(np.array([-1.0, 4.0])), [fitted.low**0.5, 2.0]
    )


def test_a_class_or_another_name_is_refused():
    """An instance is what is cloned."""
    df = dated(y=steady())
    with pytest.raises(
        TypeError, match="provide an instance of scikit-learn estimator instead"
    ):
        make(PowerTransformer).fit(df)
    with pytest.raises(ValueError, match="The 'target_transform' parameter"):
        make("auto").fit(df)


# -------------------------------------------------------------------- short series, scikit-learn


@pytest.mark.slow
@pytest.mark.parametrize("transform", TRANSFORMS, ids=str)
def test_classical_forecasters_work_on_transformed_values(transform):
    """What the user asks for holds on short series, too, and takes no second logarithm."""
    df = panel(a=growing(40, level=10), b=steady(40), c=growing(30, seed=2))
    with pytest.warns(UserWarning, match="parameters of the network"):
        model = make(transform).fit(df)
    forecast = model.forecast(horizon=9)["y"]
    for name in "abc":
        assert 0.3 < forecast[name].mean() / df["y"][name][-12:].mean() < 3
    assert not model.ensemble_.members["classical"].fit.never_negative.any()
    with pytest.warns(UserWarning, match="parameters of the network"):
        plain = make(None).fit(df)
    assert (forecast != plain.forecast(horizon=9)["y"]).any()


@pytest.mark.slow
@pytest.mark.parametrize("transform", [*TRANSFORMS, None], ids=str)
def test_copies_forecast_the_same_bits(transform):
    """Cloned, pickled and fitted again."""
    df = panel(a=growing(), b=steady())
    model = make(transform, members=["classical", "ridges", "network"]).fit(df)
    assert repr(clone(model).target_transform) == repr(transform)
    for other in (pickle.loads(pickle.dumps(model)), clone(model).fit(df)):
        np.testing.assert_array_equal(other.forecast(), model.forecast())


@pytest.mark.slow
def test_searches_choose_among_transforms():
    """As any other parameter, and those of a transformer by its name."""
    df = dated(y=growing(500))
    grid = {"target_transform": [None, "log"]}
    ridges = make(members=["ridges"])
    search = GridSearchCV(ridges, grid, cv=TimeSeriesSplit(2, test_size=24)).fit(
        df, df["y"]
    )
    assert search.cv_results_["mean_test_score"].shape == (2,)
    assert np.isfinite(search.cv_results_["mean_test_score"]).all()
    model = make(PowerTransformer()).set_params(target_transform__method="box-cox")
    assert model.get_params()["target_transform__method"] == "box-cox"


def test_logarithms_hold_at_the_end_of_double_precision():
    """1e306 came back as 1e304."""
    df = pd.DataFrame({"y": steady(90) / steady(90).mean() * 1e306})
    forecast = make("log").fit(df).forecast()["y"]
    assert forecast.between(0.2e306, 5e306).all()
