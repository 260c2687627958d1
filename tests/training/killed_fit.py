"""A fit that a test kills: ``python killed_fit.py CHECKPOINT WEIGHTS``."""

import dataclasses
import sys
import time

import torch

from skinformer.training.batch import Batch
from skinformer.training.trainer import train


def main(checkpoint, weights):
    from conftest import SETTINGS, Shuffled, Toy, toy_groups

    torch.manual_seed(0)
    x = torch.randn(256, 5)
    y = torch.sin(x[:, :3]).unsqueeze(-1)
    batches = [
        Batch((a,), b, None) for a, b in zip(x.split(16), y.split(16), strict=True)
    ]
    module = Toy()
    train(
        module,
        training=Shuffled(batches[:-4], seed=1),
        validation=batches[-4:],
        settings=dataclasses.replace(SETTINGS, max_iter=40, n_iter_no_change=40),
        groups=toy_groups(module),
        on_epoch=lambda so_far, module: bool(
            time.sleep(0.02)
        ),  # long enough to be killed
        checkpoint=checkpoint,
        fingerprint={"data": "toy"},
    )
    torch.save(module.state_dict(), weights)


if __name__ == "__main__":
    main(*sys.argv[1:])
