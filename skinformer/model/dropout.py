"""Dropout with a generator of its own, whose masks are cheap on a CPU."""

from collections.abc import Iterator
from contextlib import contextmanager

import torch
from torch import Tensor, nn

from skinformer.model.generators import RandomModule, make_generator


class Dropout(RandomModule, nn.Dropout):
    """Zero elements at random in training and scale up the others.

    A drop-in for ``nn.Dropout`` that leaves torch's global generators alone, so that fits in
    threads repeat.

    p: probability of dropping an element; on a CPU rounded to a multiple of 2⁻¹⁶.

    `generator` is where masks are drawn from, on the CPU whatever the device. Its state is part of
    the state dict, so that a resumed training repeats. `initialize` seeds it.

    ``x ⊙ m / (1 - p)``, m = 0 with probability p and 1 otherwise. On other devices than a CPU the
    generator gives the seed of each mask, which is drawn there; where a training step is recorded,
    `device_generator` draws all of them.

    PERF: torch draws each element of a CPU mask by itself; here one 64-bit draw decides four
    elements by 16 bits each: 0.6 for 1.4 ms, forward and backward, on 200 000 elements, and 3 of
    the 55 ms of a training step at width 64.

    **Shape**: input and output of any one shape.

    Srivastava et al. (2014), Dropout.
    >>> Dropout(0.25)(torch.ones(100, 100)).unique()
    tensor([0.0000, 1.3333])
    """

    def __init__(self, p: float) -> None:
        super().__init__(p)
        self.generator = make_generator(0)

    def forward(self, x: Tensor) -> Tensor:
        """Drop elements of ``x``; outside training return ``x`` itself."""
        n_levels = 2**16
        n_dropped = round(self.p * n_levels)
        if not self.training or n_dropped == 0:
            return x
        if x.device.type != "cpu":
            generator = self._generator_on(x.device)
            if x.is_cuda:
                # PERF: one kernel each way, where draws, masks and products take six.
                return torch._fused_dropout(x, 1 - self.p, generator)[0]
            draws = torch.rand(x.shape, generator=generator, device=x.device)
            kept = x * (draws >= self.p)
            return kept.mul_(1 / (1 - self.p))
        # PERF: compared in place, and scaled before the product: booleans convert slowly, and the
        # way back is one product. 2.7 for 4.0 ms, forward and backward, on 200 000 elements.
        draws = self._random_int16(x.shape)
        is_kept = draws.ge_(n_dropped - n_levels // 2)
        scale = n_levels / (n_levels - n_dropped)
        mask = is_kept.float().mul_(scale)
        return (x * mask).to(x.dtype)

    def _generator_on(self, device: torch.device) -> torch.Generator | None:
        """Return the generator of one mask on a device."""
        if self.device_generator is not None:
            return self.device_generator
        seed = int(torch.randint(2**62, (), generator=self.generator))
        if device.type == "meta":  # of torch.export: without values, nor a generator
            return None
        return torch.Generator(device).manual_seed(seed)

    def _random_int16(self, shape: torch.Size) -> Tensor:
        """Return integers spread evenly over the range of int16."""
        n_draws = shape.numel()
        four_each = torch.empty(-(-n_draws // 4), dtype=torch.int64)
        generator = self.device_generator or self.generator
        end_of_int64 = None
        four_each.random_(-(2**63), end_of_int64, generator=generator)
        draws = four_each.view(torch.int16)
        return draws[:n_draws].view(shape)


@contextmanager
def repeated_draws(layer: nn.Module, states: list[Tensor]) -> Iterator[None]:
    """Let the dropout of a layer draw again what it drew before.

    states: of the generators; noted if the list is empty, else the draws start from them, and go on
    afterwards as if they had not been repeated.

    >>> dropout, states, masks = Dropout(0.5), [], []
    >>> for _ in range(2):
    ...     with repeated_draws(dropout, states):
    ...         masks.append(dropout(torch.ones(100)))
    >>> torch.equal(*masks)
    True
    """
    generators = [dropout.generator for dropout in _dropouts(layer)]
    now = [generator.get_state() for generator in generators]
    if not states:
        states.extend(now)
        yield
        return
    for generator, state in zip(generators, states, strict=True):
        generator.set_state(state)
    try:
        yield
    finally:
        for generator, state in zip(generators, now, strict=True):
            generator.set_state(state)


def reseed(network: nn.Module, seed: int) -> None:
    """Set for each dropout a generator of its own, at the start of sequence ``seed``."""
    for i, dropout in enumerate(_dropouts(network), start=1):
        dropout.generator = make_generator(seed, i)


def _dropouts(network: nn.Module) -> list[Dropout]:
    return [module for module in network.modules() if isinstance(module, Dropout)]
