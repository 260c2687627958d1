"""What a network is built to see: where it corrects ridges, forecasts alone, or is a paper's."""

import numpy as np
import pandas as pd
import pytest

from skinformer import InformerClassifier, InformerRegressor
from skinformer.ensemble import building
from skinformer.ensemble.members import network_of

ALONE = {"members": ["network"]}


def network(model=InformerRegressor, *, n_targets=2, **options):
    times = pd.date_range("2024-01-01", periods=200, freq="h")
    rows = np.random.default_rng(0).normal(size=(200, n_targets))
    df = pd.DataFrame(rows, times, [f"y{i}" for i in range(n_targets)])
    df = df if model is InformerRegressor else (df > 0).astype(int)
    small = {"d_model": 8, "n_heads": 2, "max_iter": 1, "random_state": 0}
    fitted = model(list(df), seq_len=48, pred_len=4, **small, **options).fit(df)
    return network_of(fitted.module_)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("options", "n_apart", "season", "path"),
    [
        (ALONE, 2, 24, True),
        (ALONE | {"n_targets": 17}, 1, 24, True),  # too many to be samples of their own
        ({"members": ["ridges", "network"]}, 1, 0, False),
        (ALONE | {"window_norm": False}, 1, 0, False),  # as the papers have it
        (ALONE | {"model": InformerClassifier}, 1, 0, False),  # logits are in no unit
    ],
)
def test_a_network_alone_sees_each_target_its_usual_day_and_a_path(options, n_apart, season, path):
    built = network(**options)
    assert (built.n_apart, built.season) == (n_apart, season)
    assert (built.window_path is not None) == path


@pytest.mark.slow
@pytest.mark.parametrize(
    ("given", "least", "epochs"),
    [
        ({"members": ["network"]}, 0, 3),
        ({"members": ["network"], "max_windows": 99}, 0, 6),  # of 197 windows that there are
        ({"members": ["network"]}, 5 * 197, 5),
        ({"members": ["network"]}, 99 * 197, 10),
        ({"members": ["network"], "max_iter": 7}, 0, 7),
        ({"members": ["network"], "window_norm": False}, 0, 10),  # as the papers have it
        ({"members": ["ridges", "network"]}, 0, 5),
    ],
)
def test_a_network_alone_sees_each_window_three_times(given, least, epochs, monkeypatch):
    """The rate falls to its end by then; in more epochs windows would be known by heart."""
    monkeypatch.setattr(building, "_LEAST_LEARNT", least)
    rows = np.sin(np.arange(200.0) / 3)[:, None]
    small = {"d_model": 8, "n_heads": 2, "n_encoder_layers": 1, "early_stopping": False}
    model = InformerRegressor(seq_len=3, pred_len=1, random_state=0, **small, **given).fit(rows)
    assert model.n_iter_ == epochs
