"""Data-parallel training: each rank its part of every batch, and all the same step.

What one process computes on a batch is a sum over its windows, divided by the weight of all. The
parts of that sum are computed by the ranks and added up; so batches, learning rates and numbers of
steps stay those of one process, and so do the numbers, but for the order of a sum. What is drawn –
masks of dropout, keys of sparse attention – is drawn for the whole batch on every rank: all have
the same states, and a checkpoint goes on with any number of ranks.
"""

from collections.abc import Iterator
from contextlib import contextmanager

import torch
from torch import Tensor, nn

from skinformer import ranks
from skinformer.model.dropout import draws_of_batch
from skinformer.training.batch import Batch
from skinformer.training.stopping import copy_state


@contextmanager
def own_windows(module: nn.Module, batch: Batch) -> Iterator[Batch]:
    """Give this rank's windows of a batch, and let dropout draw those of all inside the context.

    A rank for which there is no window gets the first one with weight 0: it has to draw what all
    draw.
    """
    if ranks.size() == 1:
        yield batch
        return
    n = len(batch.target)
    first, end = ranks.own_part(n)
    own = batch.each(lambda part: part[first:end])
    if first == end:
        first, own = 0, batch.each(lambda part: part[:1])
        own = own._replace(weight=torch.zeros_like(own.target, dtype=torch.float32))
    with draws_of_batch(module, first=first, n=n):
        yield own


def add_up_gradients(module: nn.Module, mean: Tensor) -> Tensor:
    """Replace gradients, and the mean loss that is returned, by those of the whole batch."""
    gradients = [p.grad for p in module.parameters() if p.grad is not None]
    ranks.add_up([mean, *gradients])
    return mean


def share_state(module: nn.Module) -> None:
    """Let all ranks start from the first one's weights and generators."""
    if ranks.size() > 1:
        module.load_state_dict(ranks.from_first(lambda: copy_state(module, device="cpu")))
