"""A toy that trains in milliseconds: three values ahead from five columns."""

import dataclasses

import pytest
import torch
from torch import nn

from skinformer.model.dropout import Dropout
from skinformer.training.batch import Batch
from skinformer.training.losses import squared_error
from skinformer.training.record import TrainerSettings

SETTINGS = TrainerSettings(
    max_iter=8,
    n_iter_no_change=3,
    tol=0.0,
    learning_rate=1e-2,
    muon_learning_rate=0.02,
    weight_decay=0.1,
    optimizer="adamw",
    warmup_fraction=0.05,
    max_grad_norm=1.0,
    accumulate=1,
    precision="fp32",
    loss=squared_error,
)


class Toy(nn.Module):
    """Five columns -> three values; dropout draws from a generator of its own."""

    def __init__(self):
        super().__init__()
        self.hidden, self.out = nn.Linear(5, 16), nn.Linear(16, 3)
        self.dropout = Dropout(0.1)

    def forward(self, x):
        hidden = self.dropout(nn.functional.gelu(self.hidden(x)))
        return self.out(hidden).unsqueeze(-1)  # (batch, 3, 1)


class Shuffled:
    """Batches in an order of their own generator, as the windows of a timeline come."""

    def __init__(self, batches, seed):
        self.batches, self.generator = batches, torch.Generator().manual_seed(seed)

    def __len__(self):
        return len(self.batches)

    def __iter__(self):
        order = torch.randperm(len(self), generator=self.generator).tolist()
        return iter([self.batches[i] for i in order])

    def get_state(self):
        return self.generator.get_state()

    def set_state(self, state):
        self.generator.set_state(state)


def toy_groups(module):
    """Matrices to Muon but the last; biases plain."""
    return {
        "matrix": [module.hidden.weight],
        "decayed": [module.out.weight],
        "plain": [module.hidden.bias, module.out.bias],
    }


@pytest.fixture(autouse=True)
def _own_random_state():
    """No test may see what another left in torch's global generator."""
    with torch.random.fork_rng():
        torch.manual_seed(0)
        yield


@pytest.fixture
def settings():
    """Return a function: settings with changes."""
    return lambda **changes: dataclasses.replace(SETTINGS, **changes)


@pytest.fixture
def toy():
    """Return a function: a toy module and its groups, the same each time."""

    def make():
        torch.manual_seed(1)
        module = Toy()
        return module, toy_groups(module)

    return make


@pytest.fixture
def data():
    """Return a function: shuffled training batches and validation batches, learnable."""

    def make(n=256, size=32):
        generator = torch.Generator().manual_seed(2)
        x = torch.randn(n, 5, generator=generator)
        y = (x @ torch.randn(5, 3, generator=generator)).unsqueeze(-1)
        y = y + 0.1 * torch.randn(y.shape, generator=generator)
        batches = [
            Batch((a,), b, None)
            for a, b in zip(x.split(size), y.split(size), strict=True)
        ]
        return Shuffled(batches[:-2], seed=3), batches[-2:]

    return make
