"""Random numbers from generators of the network's own, apart from torch's global ones."""

from collections.abc import Iterator
from contextlib import contextmanager

import numpy as np
import torch
from torch import Tensor, nn


def make_generator(*entropy: int) -> torch.Generator:
    """Make a generator on the CPU from several numbers, at least 0; any others make another one.

    >>> make_generator(0, 1).initial_seed() == make_generator(0, 2).initial_seed()
    False
    """
    # torch's CPU generator uses the low 32 bits of its seed; SeedSequence mixes all the bits
    # of all the numbers into them.
    mixed = np.random.SeedSequence(entropy).generate_state(1)
    return torch.Generator().manual_seed(int(mixed[0]))


class RandomModule(nn.Module):
    """Base of modules that draw from a generator of their own.

    `generator`, on the CPU whatever the device, has its state in the state dict, so that a resumed
    training repeats. `device_generator` draws in its place where a training step is recorded.
    >>> module = RandomModule()
    >>> module.generator = make_generator(0)
    >>> list(module.state_dict())
    ['_extra_state']
    """

    generator: torch.Generator
    device_generator: torch.Generator | None = None

    def get_extra_state(self) -> Tensor:
        """Return the generator's state, (n_bytes,), uint8, for the state dict."""
        return self.generator.get_state()

    def set_extra_state(self, state: Tensor) -> None:
        """Put the generator back to a state from a state dict."""
        # A checkpoint loaded with map_location="cuda" brings the state on the wrong device.
        self.generator.set_state(state.cpu())


@contextmanager
def drawing_from(network: nn.Module, generator: torch.Generator) -> Iterator[None]:
    """Let one generator of a device draw all masks and keys of a network."""
    _set_device_generator(network, generator)
    try:
        yield
    finally:
        _set_device_generator(network, None)


def _set_device_generator(
    network: nn.Module, generator: torch.Generator | None
) -> None:
    for module in network.modules():
        if isinstance(module, RandomModule):
            module.device_generator = generator
