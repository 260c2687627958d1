"""Which keys ProbSparse attention looks at to rank its queries."""

import numpy as np
import torch
from torch import Tensor, nn

__all__ = ["KeySampler", "make_generator"]


class KeySampler(nn.Module):
    """Draw a set of key positions: a new one per call in training, a fixed one otherwise.

    In training the draws come from a generator of this module, on the CPU and apart from
    torch's global one; its state is part of the state dict, so that a resumed training
    repeats. In evaluation the set depends on nothing but the seed and the length, so that a
    prediction repeats whatever ran before.

    Drawing is kept apart from attending: whoever runs a layer a second time (gradient
    checkpointing) passes the same keys again.

    Parameters
    ----------
    seed : int
        Start of the generator, at least 0.

    Notes
    -----
    Positions are drawn without replacement by ``torch.randperm``; O(length).

    **Shape**: returns ``(n_keys,)``, int64.

    References
    ----------
    Note on the Informer (N), section 4.1.

    Examples
    --------
    >>> import torch
    >>> from skinformer.model.key_sampler import KeySampler
    >>> sampler = KeySampler(seed=0).eval()
    >>> keys = sampler(length=96, n_keys=22, device=torch.device("cpu"))
    >>> again = sampler(length=96, n_keys=22, device=torch.device("cpu"))
    >>> keys.shape, torch.equal(keys, again)
    (torch.Size([22]), True)
    """

    def __init__(self, *, seed: int) -> None:
        super().__init__()
        self.seed = seed
        self.generator = make_generator(seed)

    def get_extra_state(self) -> Tensor:
        """Return the generator's state for the state dict.

        Returns
        -------
        Tensor of shape (n_bytes,), uint8
            State of the generator.
        """
        return self.generator.get_state()

    def set_extra_state(self, state: Tensor) -> None:
        """Put the generator back to a state from a state dict.

        Parameters
        ----------
        state : Tensor of shape (n_bytes,), uint8
            What `get_extra_state` returned.
        """
        # A checkpoint loaded with map_location="cuda" brings the state on the wrong device.
        self.generator.set_state(state.cpu())

    def forward(self, *, length: int, n_keys: int, device: torch.device) -> Tensor:
        """Draw key positions.

        Parameters
        ----------
        length : int
            Number of keys to draw from.
        n_keys : int
            Number of keys to draw, at most ``length``.
        device : torch.device
            Where the result lives.

        Returns
        -------
        Tensor of shape (n_keys,), int64
            Distinct positions in [0, length).
        """
        generator = self.generator if self.training else make_generator(self.seed, length)
        # PERF: drawn on the CPU and copied (some 300 bytes), so that every device sees the same
        # keys and drawing needs no synchronisation.
        return torch.randperm(length, generator=generator)[:n_keys].to(device, non_blocking=True)


def make_generator(*entropy: int) -> torch.Generator:
    """Make a generator on the CPU from several numbers.

    Parameters
    ----------
    *entropy : int
        At least 0 each; any other numbers give other draws.

    Returns
    -------
    torch.Generator
        Freshly seeded.

    Examples
    --------
    >>> from skinformer.model.key_sampler import make_generator
    >>> make_generator(0, 1).initial_seed() == make_generator(0, 2).initial_seed()
    False
    """
    # torch's CPU generator uses the low 32 bits of its seed; SeedSequence mixes all the bits
    # of all the numbers into them.
    seed = int(np.random.SeedSequence(entropy).generate_state(1)[0])
    return torch.Generator().manual_seed(seed)
