"""Two ranks of torch.distributed, started by torchrun, beside one process."""

import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
import torch
from torch import nn

from skinformer import ranks
from skinformer.model.dropout import Dropout
from skinformer.training.batch import Batch
from skinformer.training.parallel import own_windows

sys.path.insert(0, str(Path(__file__).parent))
from ranks_fit import FITS, model, outcome, rows

ROOT = Path(__file__).resolve().parents[2]

#: Of the largest value; sums in another order. torch computes Muon's steps in bfloat16, whose last
#: digit is a thousandth: micro-batches in one process move them as much. So does precision="bf16".
TOLERANCE = {"muon": 1e-2, "bf16": 1e-2}
FLOAT32 = 1e-6

pytestmark = [
    pytest.mark.slow,
    pytest.mark.filterwarnings("ignore:the validation rows are forecast with"),
]


@pytest.fixture(scope="module")
def started(tmp_path_factory):
    """Give what each rank found, and what both printed."""
    folder = tmp_path_factory.mktemp("ranks")
    command = ["-m", "torch.distributed.run", "--nproc-per-node", "2", "--rdzv-backend", "c10d"]
    command += ["--rdzv-endpoint", "localhost:0", str(Path(__file__).with_name("ranks_fit.py"))]
    done = subprocess.run(
        [sys.executable, *command, str(folder)],
        env={**os.environ, "PYTHONPATH": str(ROOT), "OMP_NUM_THREADS": "1"},
        capture_output=True,
        text=True,
        check=False,
        timeout=300,
    )
    assert done.returncode == 0, done.stderr
    return [dict(np.load(folder / f"rank{i}.npz")) for i in (0, 1)], done.stdout


@pytest.fixture
def found(started):
    return started[0]


@pytest.mark.parametrize("name", FITS)
def test_two_ranks_give_the_numbers_of_one_process(found, name):
    """Batches that are not even, a last short one, one with a window for one rank alone."""
    for key, alone in outcome(model(**FITS[name]).fit(rows())).items():
        if key != "weights":  # some have no gradient but rounding, and AdamW steps by its sign
            together = found[0][f"{name}/{key}"]
            largest = np.nanmax(np.abs(alone), axis=0, initial=0.0)
            np.testing.assert_array_less(
                np.nan_to_num(np.abs(together - alone)),
                TOLERANCE.get(name, FLOAT32) * np.broadcast_to(largest, alone.shape) + 1e-300,
            )


def test_both_end_with_the_same_model(found):
    """Bit for bit: also with random_state=None, of which each would draw another seed."""
    for name in [*FITS, "drawn"]:
        assert np.array_equal(found[0][f"{name}/weights"], found[1][f"{name}/weights"])


def test_ridges_trees_and_judging_are_the_same_on_both(found):
    """They are fitted on each: nothing but training is shared."""
    alone = model(members="auto").fit(rows()).forecast()["load"].to_numpy()
    for each in found:
        np.testing.assert_allclose(each["hybrid/forecast"], alone, rtol=FLOAT32)


def test_the_first_rank_alone_writes_warns_shows_and_calls_back(started):
    """Two would say all twice; and both stop where a callback of the first wants it."""
    found, printed = started
    assert np.array_equal(*[each["resumed/seconds"] for each in found])
    assert [int(each["warned"]) for each in found] == [1, 0]
    assert [int(each["stopped"]) for each in found] == [1, 0]
    assert printed.count("[InformerRegressor] epoch") == 1


def test_ranks_with_other_rows_or_parameters_are_refused_on_all(found):
    """A shard for each, as data loaders give it, would train on a part, unnoticed."""
    for each in found:
        assert str(each["refused"]) == (
            "rank 1 of torch.distributed fits with another data than rank 0: ranks of a process "
            "group train one model together, each on its part of every batch. Give all ranks the "
            "same rows and parameters; to fit a model on each, call fit before "
            "init_process_group, or after destroy_process_group."
        )
        assert "fits with another batch_size than rank 0" in str(each["other size"])


@pytest.mark.parametrize("count", [2, 3, 5])
def test_parts_of_a_batch_make_the_whole(count):
    """Every window once; a rank without one draws what all draw, and counts nothing."""
    n, whole = 4, Dropout(0.5)
    inputs, target = torch.ones(n, 1000), torch.arange(n * 3.0).reshape(n, 3, 1)
    batch = Batch((inputs, None), target, None)
    expected, after = whole(inputs), whole.generator.get_state()
    dropped, targets = [], []
    for rank in range(count):
        token = ranks._PLACE.set(ranks._Place(rank, count))
        try:
            layer = Dropout(0.5)
            with own_windows(nn.Sequential(layer), batch) as own:
                output = layer(own.inputs[0])
        finally:
            ranks._PLACE.reset(token)
        assert torch.equal(layer.generator.get_state(), after)
        if own.weight is None:
            dropped.append(output)
            targets.append(own.target)
        else:
            assert not own.weight.any()
    assert torch.equal(torch.cat(dropped), expected)
    assert torch.equal(torch.cat(targets), target)
