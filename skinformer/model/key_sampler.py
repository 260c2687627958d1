"""Which keys ProbSparse attention looks at to rank its queries."""

import torch
from torch import Tensor

from skinformer.model.generators import RandomModule, make_generator


class KeySampler(RandomModule):
    """Draw a set of key positions: a new one per call in training, a fixed one otherwise.

    In training a generator of this module draws. In evaluation the set depends on nothing but the
    seed and the length, so that a prediction repeats whatever ran before.

    Drawing is apart from attending: where a layer runs a second time (gradient checkpointing),
    it gets the same keys again.

    seed: start of the generator, at least 0.

    Positions are drawn without replacement by ``torch.randperm``; O(length).

    **Shape**: returns ``(n_keys,)``, int64.

    Zhou et al. (2021), Informer: query sparsity measurement.
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
        #: By length; kept, as a graph that is exported has them as constants, and draws nothing.
        self._fixed: dict[int, Tensor] = {}

    def forward(self, *, length: int, n_keys: int, device: torch.device) -> Tensor:
        """Draw ``n_keys`` distinct positions in [0, length), int64."""
        if not self.training:
            if length not in self._fixed:
                generator = make_generator(self.seed, length)
                self._fixed[length] = torch.randperm(length, generator=generator)
            order = self._fixed[length]
        elif self.device_generator is None:
            order = torch.randperm(length, generator=self.generator)
        else:
            draws = torch.rand(length, generator=self.device_generator, device=device)
            return draws.topk(n_keys).indices
        # PERF: drawn on the CPU and copied (some 300 bytes), so that every device sees the same
        # keys and drawing needs no synchronisation.
        return order[:n_keys].to(device, non_blocking=True)
