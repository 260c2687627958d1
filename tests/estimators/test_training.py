"""What a fit tells of its course, which rows teach, and whose line its warnings name."""

import warnings

import numpy as np
import pandas as pd
import pytest
import sklearn
from flat_parameters import with_parts

from skinformer import CalendarFeatures, InformerRegressor

SMALL = {
    "seq_len": 8,
    "pred_len": 2,
    "d_model": 8,
    "n_heads": 2,
    "max_iter": 2,
    "random_state": 0,
}


@pytest.fixture(scope="module")
def df():
    hours = pd.date_range("2024-01-01", periods=90, freq="h")
    rng = np.random.default_rng(0)
    return pd.DataFrame(
        {"temp": rng.normal(size=90), "load": np.sin(np.arange(90))}, index=hours
    )


def test_the_course_of_training_is_one_table(df):
    """loss_curve_ and validation_scores_ are columns of it, by their usual names."""
    model = InformerRegressor(**with_parts(**SMALL)).fit(df)
    assert list(model.history_) == [
        "epoch",
        "loss",
        "validation_loss",
        "learning_rate",
        "gradient_norm",
        "seconds",
    ]
    assert model.loss_curve_ == model.history_["loss"].tolist()
    assert model.validation_scores_ == (-model.history_["validation_loss"]).tolist()
    assert model.best_loss_ == model.history_["validation_loss"].min()
    blind = InformerRegressor(**with_parts(early_stopping=False, **SMALL)).fit(df)
    assert blind.validation_scores_ is None


@pytest.mark.filterwarnings("ignore:a frame of polars has no index:UserWarning")
def test_polars_frames_are_rows_with_names(df):
    """Another frame library, the same numbers; it has no index, so rows count."""
    polars = pytest.importorskip("polars")
    frame = polars.DataFrame({name: df[name].to_numpy() for name in df})
    model = InformerRegressor("load", **with_parts(**SMALL)).fit(frame)
    assert list(model.feature_names_in_) == ["temp", "load"]
    plain = InformerRegressor(1, **with_parts(**SMALL)).fit(df.to_numpy())
    np.testing.assert_array_equal(model.predict(frame), plain.predict(df.to_numpy()))
    y = InformerRegressor(**with_parts(**SMALL)).fit(
        frame.select("temp"), frame["load"]
    )
    assert y.roles_.mode == "features"


def test_sample_weight_is_routed(df):
    """Meta-estimators pass weights on only to those who ask."""
    with sklearn.config_context(enable_metadata_routing=True):
        model = InformerRegressor(**with_parts(**SMALL)).set_fit_request(
            sample_weight=True
        )
        assert model.get_metadata_routing().fit.requests["sample_weight"] is True


def test_a_row_of_weight_zero_teaches_nothing(df):
    """sample_weight multiplies a row's loss: with weight 0 its truth does not matter."""
    y, swapped = df["load"], df["load"].copy()
    # The last two rows are context of nothing, and swapping them keeps mean and deviation.
    swapped.iloc[[-1, -2]] = y.iloc[[-2, -1]].to_numpy()
    weight = np.ones(len(df))

    def losses(truth, weights):
        model = InformerRegressor(**with_parts(early_stopping=False, **SMALL))
        return model.fit(df[["temp"]], truth, weights).loss_curve_

    assert losses(y, weight) != losses(swapped, weight)
    weight[-2:] = 0
    np.testing.assert_allclose(losses(y, weight), losses(swapped, weight), rtol=1e-5)


def test_warnings_point_at_the_users_line(df):
    """A line inside a library tells nobody which of his calls was meant."""
    calls = [
        lambda: InformerRegressor(**with_parts(embeddings=["series"], **SMALL)).fit(df),
        lambda: InformerRegressor(
            **with_parts(members=["ridges", "network"], **SMALL)
        ).fit(df[["temp"]], df["temp"].rename("y")),
        lambda: InformerRegressor(**with_parts(**SMALL)).fit(df).predict(df.to_numpy()),
        lambda: CalendarFeatures().fit(df.to_numpy()),
    ]
    for call in calls:
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            call()
        ours = [w for w in caught if "valid feature names" not in str(w.message)]
        assert {warning.filename for warning in ours} == {__file__}
