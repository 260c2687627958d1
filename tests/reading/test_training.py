"""Reading takes values, and leaves the estimator as it was."""

import dataclasses

import numpy as np
import pandas as pd
import pytest
from flat_parameters import with_parts

from skinformer import InformerRegressor
from skinformer.estimators.reading import fitted_rows, reading_settings
from skinformer.reading.prediction import read_prediction
from skinformer.reading.training import read_training

SMALL = {
    "seq_len": 8,
    "pred_len": 2,
    "d_model": 8,
    "n_heads": 2,
    "max_iter": 1,
    "random_state": 0,
}
DAYS = pd.date_range("2024-01-01", periods=50, freq="D")
VALUES = np.random.default_rng(0).normal(size=(50, 3))
FRAME = pd.DataFrame(VALUES, index=DAYS, columns=["price", "load", "flow"])

#: Another value of all that reading is told.
OTHERS = {
    "target": "price",
    "known_future": ["load"],
    "freq": "B",
    "network__embeddings": ("missing",),
    "seq_len": 11,
    "pred_len": 5,
    "early_stopping": True,
}


@pytest.mark.slow
@pytest.mark.parametrize("name", OTHERS)
@pytest.mark.filterwarnings("ignore:past covariates:UserWarning")
def test_parameters_of_reading_are_not_read_again_after_the_fit(name):
    """A set_params between fit and predict would mix two models."""
    model = InformerRegressor(
        **with_parts(**SMALL, target="load", known_future=["price"])
    ).fit(FRAME[:40])
    rows = FRAME[40:].assign(load=np.nan)

    def results():
        return [
            model.predict(FRAME[40:]),
            model.forecast(rows[:2]).to_numpy(),
            np.array([model.score(FRAME[40:])]),
            model.make_future_frame().to_numpy(),
        ]

    before = results()
    model.set_params(**{name: OTHERS[name]})
    for now, then in zip(results(), before, strict=True):
        np.testing.assert_array_equal(now, then)


def test_everything_that_reading_is_told_has_a_row_above():
    """A setting that the test leaves out could be read twice."""
    fields = {
        field.name
        for field in dataclasses.fields(reading_settings(InformerRegressor()))
    }
    assert fields - {"may_miss", "whole_windows", "labels"} | {
        "network__embeddings"
    } == set(OTHERS)


@pytest.mark.parametrize("X", [FRAME, FRAME.to_numpy()], ids=["frame", "array"])
def test_reading_sets_nothing_but_what_scikit_learn_keeps(X):
    """What fit finds is handed over by value."""
    model = InformerRegressor(**with_parts(**SMALL))
    before = dict(vars(model))
    rows = read_training(model, X, None, None, reading_settings(model))
    found = {name: value for name, value in vars(model).items() if name not in before}
    assert set(found) == {"n_features_in_"} | (
        {"feature_names_in_"} if X is FRAME else set()
    )
    assert (rows.series, rows.digest == b"") == (None, X is FRAME)


def test_reading_later_rows_changes_nothing():
    """Two threads may read by one model."""
    model = InformerRegressor(**with_parts(**SMALL)).fit(FRAME[:40])
    before = dict(vars(model))
    fitted = fitted_rows(model)
    assert list(read_prediction(model, FRAME[40:], fitted).steps) == list(range(40, 50))
    assert {name: id(value) for name, value in vars(model).items()} == {
        name: id(value) for name, value in before.items()
    }
    for value in (fitted, reading_settings(model)):
        with pytest.raises(dataclasses.FrozenInstanceError):
            value.may_miss = True
