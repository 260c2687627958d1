"""Which keys ProbSparse attention looks at to rank its queries."""

import numpy as np
import torch
from torch import Tensor, nn


class KeySampler(nn.Module):
    """Draw a set of key positions: a new one per call in training, a fixed one otherwise.

    In training the draws come from a generator of this module, on the CPU and apart from
    torch's global one; its state is part of the state dict, so that a resumed training
    repeats. In evaluation the set depends on nothing but the seed and the length, so that a
    prediction repeats whatever ran before.

    Where a training step is recorded, `device_generator` draws the keys on the device.

    Drawing is kept apart from attending: whoever runs a layer a second time (gradient
    checkpointing) passes the same keys again.

    seed: start of the generator, at least 0.

    Positions are drawn without replacement by ``torch.randperm``; O(length).

    **Shape**: returns ``(n_keys,)``, int64.

    Note on the Informer (N), section 4.1.
    >>> sampler = KeySampler(seed=0).eval()
    >>> keys = sampler(length=96, n_keys=22, device=torch.device("cpu"))
    >>> again = sampler(length=96, n_keys=22, device=torch.device("cpu"))
    >>> keys.shape, torch.equal(keys, again)
    (torch.Size([22]), True)
    """

    device_generator: torch.Generator | None = None

    def __init__(self, *, seed: int) -> None:
        super().__init__()
        self.seed = seed
        self.generator = make_generator(seed)
        #: By length; kept, as a graph that is exported has them as constants, and draws nothing.
        self._fixed: dict[int, Tensor] = {}

    def get_extra_state(self) -> Tensor:
        """Return the generator's state, (n_bytes,), uint8, for the state dict."""
        return self.generator.get_state()

    def set_extra_state(self, state: Tensor) -> None:
        """Put the generator back to a state from a state dict."""
        # A checkpoint loaded with map_location="cuda" brings the state on the wrong device.
        self.generator.set_state(state.cpu())

    def forward(self, *, length: int, n_keys: int, device: torch.device) -> Tensor:
        """Draw ``n_keys`` distinct positions in [0, length), int64."""
        if not self.training:
            order = self._fixed_order(length)
        elif self.device_generator is None:
            order = torch.randperm(length, generator=self.generator)
        else:
            draws = torch.rand(length, generator=self.device_generator, device=device)
            return draws.topk(n_keys).indices
        # PERF: drawn on the CPU and copied (some 300 bytes), so that every device sees the same
        # keys and drawing needs no synchronisation.
        return order[:n_keys].to(device, non_blocking=True)

    def _fixed_order(self, length: int) -> Tensor:
        if length not in self._fixed:
            generator = make_generator(self.seed, length)
            self._fixed[length] = torch.randperm(length, generator=generator)
        return self._fixed[length]


def make_generator(*entropy: int) -> torch.Generator:
    """Make a generator on the CPU from several numbers, at least 0; any others give other draws.

    >>> make_generator(0, 1).initial_seed() == make_generator(0, 2).initial_seed()
    False
    """
    # torch's CPU generator uses the low 32 bits of its seed; SeedSequence mixes all the bits
    # of all the numbers into them.
    mixed = np.random.SeedSequence(entropy).generate_state(1)
    return torch.Generator().manual_seed(int(mixed[0]))
