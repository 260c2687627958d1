import torch

from skinformer.training.batch import Batch, to_device


def test_a_batch_moves_with_inputs_that_are_absent():
    """Optional inputs (no calendar, no covariates) stay None."""
    batch = Batch((torch.zeros(2, 5), None), torch.zeros(2, 3, 1), torch.ones(2, 3, 1))
    moved = to_device(batch, device=torch.device("meta"))
    assert moved.inputs[1] is None
    assert {t.device.type for t in (moved.inputs[0], moved.target, moved.weight)} == {
        "meta"
    }


def test_a_batch_that_is_there_is_not_copied():
    """A copy per step would cost as much as the gather."""
    batch = Batch((torch.zeros(2, 5),), torch.zeros(2, 3, 1), None)
    moved = to_device(batch, device=torch.device("cpu"))
    assert moved.inputs[0] is batch.inputs[0]
    assert moved.target is batch.target
    assert moved.weight is None
