import os
import random
import re
import subprocess
import sys
import time
from pathlib import Path

import pytest
import torch

import skinformer
from skinformer.training.checkpoint import load
from skinformer.training.trainer import train

HERE = Path(__file__).parent


class StopError(Exception):
    """Raised by a callback to break a fit off."""


def fit(toy, data, settings, *, checkpoint, break_after=None, fingerprint=None):
    """Fit the toy, breaking it off in the callback of an epoch if asked to."""
    module, groups = toy()
    training, validation = data()

    def on_epoch(so_far, module):
        if break_after is not None and so_far.n_iter > break_after:
            raise StopError

    torch.manual_seed(7)
    record = train(
        module,
        training=training,
        validation=validation,
        settings=settings,
        groups=groups,
        on_epoch=on_epoch,
        checkpoint=checkpoint,
        fingerprint={"data": "a"} if fingerprint is None else fingerprint,
    )
    return module, record


def without_seconds(record):
    return [row._replace(seconds=0) for row in record.rows]


@pytest.mark.slow
@pytest.mark.parametrize(
    "changes",
    [
        {},
        {"optimizer": "muon"},
        {"precision": "bf16"},
        {"accumulate": 4},
        {"max_iter": 60, "n_iter_no_change": 2, "tol": 0.01},
    ],
    ids=["adamw", "muon", "bf16", "accumulate", "converged"],
)
@pytest.mark.parametrize("break_after", [1, 5])
def test_a_resumed_fit_ends_with_the_same_bits(
    toy, data, settings, tmp_path, changes, break_after
):
    """Weights, moments, schedule, dropout, shuffling and early stopping all go on."""
    settings = settings(**changes)
    module, record = fit(toy, data, settings, checkpoint=None)
    path = tmp_path / "fit.pt"
    with pytest.raises(StopError):
        fit(toy, data, settings, checkpoint=path, break_after=break_after)
    torch.randn(100)  # a new process has another generator state
    resumed, resumed_record = fit(toy, data, settings, checkpoint=path)
    assert without_seconds(resumed_record) == without_seconds(record)
    assert (resumed_record.stopped, resumed_record.best_iter) == (
        record.stopped,
        record.best_iter,
    )
    for a, b in zip(resumed.parameters(), module.parameters(), strict=True):
        assert torch.equal(a, b)


@pytest.mark.parametrize("max_iter", [3, 60])
def test_a_finished_fit_is_not_trained_again(toy, data, settings, tmp_path, max_iter):
    """Whether it converged or ran out of epochs, it has the weights it ended with."""
    settings = settings(max_iter=max_iter, n_iter_no_change=1, tol=0.05)
    path = tmp_path / "fit.pt"
    module, record = fit(toy, data, settings, checkpoint=path)
    again, again_record = fit(toy, data, settings, checkpoint=path, break_after=0)
    assert again_record == record
    for a, b in zip(again.parameters(), module.parameters(), strict=True):
        assert torch.equal(a, b)


@pytest.mark.slow
def test_a_killed_fit_resumes_to_the_same_bits(tmp_path):
    """SIGKILL at a random instant, in the middle of a write perhaps, as a spot machine does."""
    paths = str(HERE), str(Path(skinformer.__file__).parent.parent)
    environment = {
        **os.environ,
        "PYTHONPATH": os.pathsep.join(paths),
        "OMP_NUM_THREADS": "1",
    }

    def start(name):
        command = [sys.executable, str(HERE / "killed_fit.py"), tmp_path / f"{name}.pt"]
        return subprocess.Popen(
            [*command, tmp_path / f"{name}.weights"], env=environment
        )

    whole, killed = start("whole"), start("killed")
    while not (tmp_path / "killed.pt").exists():
        assert killed.poll() is None
        time.sleep(0.01)
    time.sleep(random.uniform(0, 0.5))
    killed.kill()
    assert killed.wait() == -9
    assert not (tmp_path / "killed.weights").exists()
    epochs = len(load(tmp_path / "killed.pt", fingerprint={"data": "toy"})["rows"])
    assert 1 <= epochs < 40
    assert start("killed").wait() == 0
    assert whole.wait() == 0
    expected, got = (torch.load(tmp_path / f"{n}.weights") for n in ("whole", "killed"))
    assert all(torch.equal(got[key], expected[key]) for key in expected)


def test_another_fit_is_refused_by_name(toy, data, settings, tmp_path):
    """Continuing with other data or parameters would give a model that nobody asked for."""
    path = tmp_path / "fit.pt"
    fit(toy, data, settings(max_iter=1), checkpoint=path)
    message = (
        rf"^checkpoint={re.escape(repr(str(path)))} was written by another fit: "
        "data, parameters differ. Delete the file, or give another checkpoint, to start afresh.$"
    )
    with pytest.raises(ValueError, match=message):
        fit(
            toy,
            data,
            settings(max_iter=1),
            checkpoint=path,
            fingerprint={"data": "b", "parameters": "c"},
        )
