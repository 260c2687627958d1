"""What a network is built to see: where it corrects ridges, forecasts alone, or is a paper's."""

import numpy as np
import pandas as pd
import pytest
from flat_parameters import with_parts

from skinformer import InformerClassifier, InformerRegressor
from skinformer.ensemble.network import network_of

ALONE = {"members": ["network"]}


def network(model=InformerRegressor, *, n_targets=2, **options):
    times = pd.date_range("2024-01-01", periods=200, freq="h")
    rows = np.random.default_rng(0).normal(size=(200, n_targets))
    df = pd.DataFrame(rows, times, [f"y{i}" for i in range(n_targets)])
    df = df if model is InformerRegressor else (df > 0).astype(int)
    small = {"d_model": 8, "n_heads": 2, "max_iter": 1, "random_state": 0}
    fitted = model(
        list(df), **with_parts(seq_len=48, pred_len=4, **small, **options)
    ).fit(df)
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
def test_a_network_alone_sees_each_target_its_usual_day_and_a_path(
    options, n_apart, season, path
):
    built = network(**options)
    assert (built.n_apart, built.layout.season) == (n_apart, season)
    assert (built.window_path is not None) == path


@pytest.mark.slow
@pytest.mark.parametrize(
    ("given", "n", "epochs"),
    [
        ({"members": ["network"]}, 8403, 3),
        (
            {"members": ["network"], "max_windows": 4200},
            8403,
            6,
        ),  # of 8400 that there are
        ({"members": ["network"]}, 5003, 5),
        ({"members": ["network"]}, 200, 10),
        ({"members": ["network"], "max_iter": 7}, 8403, 7),
        (
            {"members": ["network"], "window_norm": False},
            8403,
            10,
        ),  # as the papers have it
        ({"members": ["ridges", "network"]}, 8403, 5),
    ],
)
def test_a_network_alone_sees_each_window_three_times_and_25_000_in_all(
    given, n, epochs
):
    """The rate falls to its end by then; in more epochs windows would be known by heart."""
    rows = np.sin(np.arange(float(n)) / 3)[:, None]
    small = {"d_model": 8, "n_heads": 2, "n_encoder_layers": 1, "early_stopping": False}
    small |= {"batch_size": 1024, "random_state": 0} | given
    assert (
        InformerRegressor(**with_parts(seq_len=3, pred_len=1, **small))
        .fit(rows)
        .n_iter_
        == epochs
    )
