"""Operations and allocations of hot paths: counted, so the same on every machine and every run.

Times are measured by `examples/benchmarks`; a count that grows shows a regress without noise.
"""

import math
import subprocess
import sys

import numpy as np
import pytest
import torch
from flat_parameters import with_parts
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_leaves
from torch.utils.flop_counter import FlopCounterMode

from skinformer import InformerRegressor
from skinformer.ensemble.fitting import FitRows, window_batches
from skinformer.estimators.settings import read_settings
from skinformer.judging.cutoffs import cut_windows
from skinformer.model.optimizer_groups import parameter_groups
from skinformer.model.probsparse import ProbSparseAttention
from skinformer.training import step as steps
from skinformer.training.optimizers import make_optimizers
from skinformer.training.precision import make_scaler

SIZE_A = {
    "seq_len": 96,
    "label_len": 48,
    "pred_len": 24,
    "d_model": 64,
    "n_heads": 4,
    "dropout": 0.05,
    "batch_size": 32,
    "attention": "probsparse",
    "members": ["network"],
    "patch_len": 1,
    "calendar": None,
    "precision": "fp32",
    "device": "cpu",
}


class Count(TorchDispatchMode):
    """Count torch's operations and the bytes of new storage that they return."""

    def __init__(self):
        super().__init__()
        self.operations, self.bytes = 0, 0

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        out = func(*args, **(kwargs or {}))
        seen = {
            x.untyped_storage().data_ptr()
            for x in tree_leaves(args)
            if torch.is_tensor(x)
        }
        self.operations += 1
        for result in tree_leaves(out):
            if (
                torch.is_tensor(result)
                and result.untyped_storage().data_ptr() not in seen
            ):
                self.bytes += result.untyped_storage().nbytes()
        return out


@pytest.fixture(scope="module")
def wave():
    return np.sin(np.arange(400) * 2 * np.pi / 24)[:, None]


@pytest.fixture(scope="module")
def fitted(wave):
    model = InformerRegressor(
        **with_parts(max_iter=1, max_windows=32, early_stopping=False, **SIZE_A)
    )
    return model.set_params(random_state=0).fit(wave)


def training_batches(fitted):
    timeline, sizes = fitted.timeline_, fitted.sizes_
    settings = read_settings(fitted, fitted.head_, requested="cpu")
    training, validation = cut_windows(timeline, sizes, None)
    rows = FitRows(timeline, sizes, fitted.scaler_, None, validation, None, seed=0)
    return window_batches(rows, training, settings).training


@pytest.fixture
def training_step(fitted):
    """Give one training step of size A: gathering, forward, backward, clipping, optimiser."""
    settings, module = (
        read_settings(fitted, fitted.head_, requested="cpu"),
        fitted.module_,
    )
    batches = training_batches(fitted)
    optimizers = make_optimizers(parameter_groups(module), settings.trainer)
    parameters = list(module.parameters())
    scaler = make_scaler("fp32", device=torch.device("cpu"))

    def once():
        module.train()
        how = {
            "loss": settings.trainer.loss,
            "precision": "fp32",
            "device": torch.device("cpu"),
        }
        steps.accumulate_gradients(module, [next(iter(batches))], scaler=scaler, **how)
        steps.clip_and_step(
            optimizers, parameters=parameters, max_norm=1.0, scaler=scaler
        )

    with torch.random.fork_rng():
        once()  # optimisers make their state in the first step
        yield once


def test_operations_of_a_training_step(training_step):
    """Size A has 2.05 GFLOP a step in its matrix products; more is work that no one asked for."""
    with FlopCounterMode(display=False) as counter:
        training_step()
    assert counter.get_total_flops() / 1e9 == pytest.approx(2.05, rel=0.03)


def test_small_steps_of_a_training_step(training_step):
    """At this size a third of the time goes into small steps: 838, and 108 MB of new storage."""
    with Count() as count:
        training_step()
    assert count.operations < 850
    assert count.bytes < 110e6


def test_a_batch_costs_its_own_rows_only(fitted):
    """Windows are gathered from the one copy of the series, however long it is."""
    costs = []
    for n in (500, 5000):
        wave = np.zeros((n, 1), dtype=np.float32)
        source = training_batches(fitted).source
        longer = type(source)(**{**vars(source), "values": torch.from_numpy(wave)})
        with Count() as count:
            longer.inputs(torch.arange(100, 132))
        costs.append((count.operations, count.bytes))
    assert costs[0] == costs[1]


def attention(length, *, causal):
    with torch.random.fork_rng():
        torch.manual_seed(0)
        q, k, v = (torch.randn(1, 2, length, 16, requires_grad=True) for _ in range(3))
    kernel = ProbSparseAttention(causal=causal, factor=5.0, seed=0)
    keys = kernel.draw_keys(length, q.device)
    return lambda: kernel(q, k, v, keys=keys, n_last=length).sum().backward()


@pytest.mark.parametrize("causal", [False, True])
def test_operations_of_probsparse_grow_as_l_ln_l(causal):
    """Its name promises it: four times the length, 4.8 times the operations and the bytes."""
    flops, allocated = [], []
    for length in (768, 3072):
        once = attention(length, causal=causal)
        with FlopCounterMode(display=False) as counter:
            once()
        flops.append(counter.get_total_flops())
        with Count() as count:
            once()
        allocated.append(count.bytes)
    expected = 4 * math.log(3072) / math.log(768)
    assert flops[1] / flops[0] == pytest.approx(expected, rel=0.03)
    assert allocated[1] / allocated[0] < expected * 1.03


@pytest.mark.slow
def test_a_fit_leaves_the_compiler_of_torch_alone():
    """Its import takes longer than a small fit; torch's own optimisers import it."""
    script = """
import sys
import numpy as np
from skinformer import InformerRegressor, Network, Training
training = Training(max_iter=1, optimizer="muon")
small = dict(seq_len=8, pred_len=2, network=Network(d_model=8, n_heads=2), training=training)
InformerRegressor(**small).fit(np.sin(np.arange(60.0))[:, None]).forecast()
print("torch._dynamo" in sys.modules)
"""
    run = [sys.executable, "-W", "ignore", "-c", script]
    assert (
        subprocess.run(run, capture_output=True, check=True, text=True).stdout
        == "False\n"
    )
