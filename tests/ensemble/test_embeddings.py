"""Static covariates, learnt vectors of series and of missing values."""

import re

import numpy as np
import pandas as pd
import pytest
from flat_parameters import with_parts

from skinformer import InformerRegressor

SMALL = {
    "seq_len": 8,
    "pred_len": 2,
    "d_model": 8,
    "n_heads": 2,
    "max_iter": 4,
    "learning_rate": 1e-2,
    "random_state": 0,
}


def series(level, size, seed, n=60):
    rng = np.random.default_rng(seed)
    hours = pd.date_range("2024-01-01", periods=n, freq="h", name="time")
    values = {
        "size": float(size),
        "temp": rng.normal(size=n),
        "load": level + rng.normal(size=n),
    }
    return pd.DataFrame(values, index=hours)


@pytest.fixture(scope="module")
def panel():
    parts = {"a": series(0, 1, 0), "b": series(100, 5, 1), "c": series(9, 9, 2, n=40)}
    return pd.concat(parts, names=["sensor", "time"])


@pytest.fixture(scope="module")
def model(panel):
    """Fit the panel, to ask, not to change."""
    return InformerRegressor(**with_parts(**SMALL)).fit(panel)


def test_a_column_constant_in_each_series_is_static_and_scaled_across_them(
    model, panel
):
    """Scaled within a series it would be zero everywhere and say nothing."""
    assert model.roles_.static == ("size",)
    place = (*model.roles_.targets, *model.roles_.past, *model.roles_.known).index(
        "size"
    )
    values = model.timeline_.values[:, place]
    assert len(np.unique(values)) == 3
    assert np.corrcoef(values, panel["size"])[0, 1] == pytest.approx(1)


def test_a_static_column_changes_the_forecast_of_a_series_not_seen(model, panel):
    """It is there to tell series apart."""
    new = panel.loc[["a"]].rename(index={"a": "z"}, level=0)
    assert not np.allclose(model.predict(new), model.predict(new.assign(size=30.0)))


def test_a_fitted_series_keeps_its_static_value(model, panel):
    """A column that was quiet in training must not bring news from the future."""
    with pytest.warns(UserWarning, match="columns") as caught:
        other = model.predict(panel.assign(size=30.0))
    np.testing.assert_array_equal(model.predict(panel), other)
    assert str(caught[0].message) == (
        "columns ['size'] were constant within each series in training and have other "
        "values in X, which are ignored: the training values are used. Name columns "
        "that can change in known_future and fit again."
    )


def test_a_column_named_in_known_future_is_never_static(panel):
    """A price that has not changed yet is a price all the same."""
    model = InformerRegressor(
        **with_parts(known_future=["size"], members=["network"], **SMALL)
    ).fit(panel)
    assert (model.roles_.static, model.roles_.known) == ((), ("size",))
    future = model.make_future_frame()
    with pytest.warns(
        UserWarning, match=r"^future covariates \['size'\] never changed"
    ):
        other = model.forecast(future.assign(size=300.0))
    with pytest.warns(
        UserWarning, match="the effect of their new values in X was not learnt"
    ):
        assert not np.allclose(model.forecast(future.assign(size=1.0)), other)
    with pytest.raises(ValueError, match="'size' has no value"):
        model.forecast()


def test_a_column_that_is_the_same_everywhere_is_not_static(panel):
    """Rain in a dry season: measured, and not known ahead."""
    model = InformerRegressor(**with_parts(**SMALL)).fit(
        panel.assign(rain=0.0)[["rain", "size", "load"]]
    )
    assert model.roles_.past == ("rain",)


def test_static_columns_need_no_value_ahead(model):
    """They never change, so the future rows take them from the past."""
    future = model.make_future_frame()
    assert future["size"].isna().all()
    np.testing.assert_array_equal(model.predict(future), model.forecast()["load"])


@pytest.mark.filterwarnings("ignore:X begins .* too far:UserWarning")
def test_a_learnt_series_vector_tells_series_apart(panel):
    """The same context under another name gives another forecast."""
    panel = panel.drop(columns="size")
    alone = {"members": ["network"], **SMALL}  # the linear path knows no series
    model = InformerRegressor(**with_parts(embeddings=["series"], **alone)).fit(panel)
    plain = InformerRegressor(**with_parts(**alone)).fit(panel)
    a = panel.loc[["a"]]
    late = a.set_index(
        a.index.set_levels(a.index.levels[1] + pd.Timedelta("5000D"), level=1)
    )
    renamed = late.rename(index={"a": "b"}, level=0)

    def in_deviations(estimator, rows, code):
        return (estimator.predict(rows) - estimator.scaler_.mean[code, 0]) / (
            estimator.scaler_.scale[code, 0]
        )

    codes = {name: code for code, name in enumerate(model.series_)}
    # The rows are their own timeline; equal raw values are scaled by another series' scale.
    scale = {
        name: (model.scaler_.mean[c], model.scaler_.scale[c])
        for name, c in codes.items()
    }
    moved = renamed.copy()
    for j, column in enumerate(["load", "temp"]):
        z = (late[column] - scale["a"][0][j]) / scale["a"][1][j]
        moved[column] = (z * scale["b"][1][j] + scale["b"][0][j]).to_numpy()
    same = (
        in_deviations(plain, late, codes["a"]),
        in_deviations(plain, moved, codes["b"]),
    )
    np.testing.assert_allclose(*same, atol=1e-4)
    told = (
        in_deviations(model, late, codes["a"]),
        in_deviations(model, moved, codes["b"]),
    )
    assert np.abs(told[0] - told[1]).max() > 1e-3


def test_an_unseen_series_gets_the_mean_vector(panel):
    """A vector that was never trained would be noise."""
    model = InformerRegressor(**with_parts(embeddings=["series"], **SMALL)).fit(panel)
    table = model.module_.network.encoder_embedding.calendar.tables[-1].weight
    np.testing.assert_allclose(
        table[-1].tolist(), table[:-1].mean(0).tolist(), rtol=1e-5
    )
    new = panel.loc[["a"]].rename(index={"a": "z"}, level=0)
    assert np.isfinite(model.predict(new)).all()


def test_missing_covariates_are_filled_unless_embedded(panel):
    """Nothing is filled silently."""
    holey = panel.copy()
    holey.iloc[3:9, holey.columns.get_loc("temp")] = np.nan
    with pytest.warns(UserWarning, match=r"'temp' \(.*%\).* filled by the last value"):
        InformerRegressor(**with_parts(**SMALL)).fit(holey)
    model = InformerRegressor(**with_parts(embeddings=["missing"], **SMALL)).fit(holey)
    assert np.isfinite(model.predict(holey)).all()
    assert np.isfinite(model.forecast()).all(axis=None)


def test_a_missing_covariate_is_told_from_the_mean(panel):
    """The learnt vector, not a zero, stands for what is missing."""
    holey = panel.copy()
    rng = np.random.default_rng(0)
    holey.loc[rng.random(len(holey)) < 0.4, "temp"] = np.nan
    model = InformerRegressor(**with_parts(embeddings=["missing"], **SMALL)).fit(holey)
    null = model.module_.network.encoder_embedding.null.weight
    assert null[1].abs().max() > 0
    later = panel.copy()
    later.loc[("a", slice("2024-01-02", None)), "temp"] = np.nan
    rows = panel.index.get_level_values(0) == "a"
    assert not np.allclose(
        model.predict(panel)[rows][-8:], model.predict(later)[rows][-8:]
    )


@pytest.mark.parametrize("labelled", [True, False])
def test_one_series_is_not_told_apart_and_that_is_said(panel, labelled):
    """A vector for the only series would be one more bias, and perhaps its label was forgotten."""
    one = panel.loc[["a"]] if labelled else panel.loc["a"]
    model = InformerRegressor(**with_parts(**SMALL, embeddings=["series", "mask"]))
    sentence = (
        "embeddings=['series', 'mask'] asks for a vector per series, but X has only "
        "one series, so none is learnt. Label the rows of several series by a "
        "MultiIndex (series, time), or leave 'series' out."
    )
    with pytest.warns(UserWarning, match=f"^{re.escape(sentence)}$") as caught:
        model.fit(one)
    assert caught[0].filename == __file__
    without = InformerRegressor(**with_parts(**SMALL, embeddings=["mask"])).fit(one)
    np.testing.assert_array_equal(model.predict(one), without.predict(one))
    assert model.module_.state_dict().keys() == without.module_.state_dict().keys()
