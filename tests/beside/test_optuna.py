"""Optuna prunes fits epoch by epoch, and leaves nothing behind."""

import logging

import numpy as np
import pandas as pd
import pytest
from flat_parameters import with_parts

from skinformer import InformerRegressor

optuna = pytest.importorskip("optuna")

SMALL = {"seq_len": 12, "pred_len": 4, "d_model": 8, "n_heads": 2, "random_state": 0}


@pytest.fixture(scope="module")
def example(run_example):
    return run_example("optuna_pruning.py")


def test_the_example_prunes_some_trials_and_completes_others(example):
    """A pruner that never or always prunes shows nothing."""
    states = [trial.state.name for trial in example["study"].trials]
    assert set(states) == {"PRUNED", "COMPLETE"}
    assert example["model"].n_iter_ > 0


def test_each_epoch_is_reported_once_and_the_best_is_the_value(example):
    """Else the pruner compares other epochs than it says."""
    for trial in example["study"].trials:
        steps = list(trial.intermediate_values)
        assert steps == list(range(1, len(steps) + 1))
        if trial.state.name == "COMPLETE":
            assert min(trial.intermediate_values.values()) == trial.value


def test_a_pruned_fit_leaves_the_estimator_unfitted_and_no_setting_changed(example):
    """What a search throws away must not look like a model."""
    hours = pd.date_range("2024-01-01", periods=120, freq="h")
    df = pd.DataFrame({"load": np.sin(np.arange(120) / 4)}, index=hours)
    trial = optuna.create_study(pruner=optuna.pruners.ThresholdPruner(upper=-1.0)).ask()
    model = InformerRegressor("load", **with_parts(**SMALL)).set_callbacks(
        example["PruneEpochs"](trial)
    )
    before, level = set(vars(model)), logging.getLogger().level
    own = optuna.logging.get_verbosity()
    with pytest.raises(optuna.TrialPruned):
        model.fit(df)
    assert set(vars(model)) == before
    assert (logging.getLogger().level, optuna.logging.get_verbosity()) == (level, own)
    assert not hasattr(model, "module_")
