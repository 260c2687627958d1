"""A fit whose disk is full from the second epoch on: ``python full_disk_fit.py CHECKPOINT``."""

import dataclasses
import os
import resource
import signal
import sys
import warnings

import torch

from skinformer.training.batch import Batch
from skinformer.training.trainer import train


def main(checkpoint):
    from conftest import SETTINGS, Toy, toy_groups

    signal.signal(signal.SIGXFSZ, signal.SIG_IGN)  # an error, not the end
    batches = [Batch((torch.randn(8, 5),), torch.randn(8, 3, 1), None)] * 4
    module = Toy()

    def on_epoch(so_far, module):
        # A little less each time: header, first records, tensors, the end.
        if so_far.n_iter > 1:
            room = (so_far.n_iter - 2) * os.path.getsize(checkpoint) // 40
            resource.setrlimit(resource.RLIMIT_FSIZE, (room, resource.RLIM_INFINITY))

    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        record = train(
            module, training=batches, validation=None, groups=toy_groups(module), on_epoch=on_epoch,
            settings=dataclasses.replace(SETTINGS, max_iter=41), checkpoint=checkpoint,
            fingerprint={},
        )  # fmt: skip
    assert record.stopped == "max_iter", record.stopped
    (warning,) = caught
    assert "could not be written: [Errno 27] File too large." in str(warning.message), (
        warning
    )


if __name__ == "__main__":
    main(*sys.argv[1:])
