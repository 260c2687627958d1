"""A warm start goes on from the weights of the last fit."""

import numpy as np
import pytest
from flat_parameters import with_parts

from skinformer import InformerRegressor

SMALL = {
    "seq_len": 8,
    "pred_len": 2,
    "d_model": 8,
    "n_heads": 2,
    "max_iter": 2,
    "early_stopping": False,
    "random_state": 0,
}
WAVE = np.sin(np.arange(90.0) / 3)[:, None]


def test_a_warm_start_begins_where_the_last_fit_ended():
    """Otherwise its first loss would be that of new weights."""
    alone = {
        "members": ["network"],
        "patch_len": 1,
    }  # a ridge leaves nothing of a wave to learn
    model = InformerRegressor(
        **with_parts(warm_start=True, learning_rate=1e-2, **alone, **SMALL)
    ).fit(WAVE)
    first = model.loss_curve_
    model.fit(WAVE)
    assert model.loss_curve_[:2] == first
    assert model.loss_curve_[2] < first[0]
    assert model.n_iter_ == len(model.loss_curve_) == len(model.history_) == 4


def test_without_it_a_second_fit_starts_anew():
    """A fit forgets: the same data give the same model."""
    model = InformerRegressor(**with_parts(**SMALL)).fit(WAVE)
    first, forecast = model.loss_curve_, model.predict(WAVE)
    model.fit(WAVE)
    assert model.loss_curve_ == first
    np.testing.assert_array_equal(model.predict(WAVE), forecast)


def test_weights_of_another_network_are_refused():
    """Weights of other columns mean nothing."""
    model = InformerRegressor(**with_parts(warm_start=True, **SMALL)).fit(WAVE)
    with pytest.raises(
        ValueError,
        match=r"^warm_start=True cannot continue from the weights of another",
    ):
        model.fit(np.hstack([WAVE, WAVE]))
