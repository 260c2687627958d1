import torch
from torch import nn

from skinformer.training.stopping import BestWeights, copy_state


class Counting(nn.Module):
    """A module with state that is no tensor, as a sampling generator's is."""

    def __init__(self):
        super().__init__()
        self.weight = nn.Parameter(torch.zeros(1))
        self.calls = [0]

    def get_extra_state(self):
        return {"calls": self.calls}

    def set_extra_state(self, state):
        self.calls = state["calls"]


def feed(losses, *, tol):
    """Show the losses of some epochs, in which the weight is the number of the epoch."""
    module, best = Counting(), BestWeights(copy_state(Counting()))
    for epoch, loss in enumerate(losses, 1):
        module.weight.data.fill_(epoch)
        best = best.after(module, epoch=epoch, loss=loss, tol=tol)
    return best


def test_the_copy_is_that_of_the_lowest_loss():
    """Not of the latest improvement by more than tol."""
    best = feed([1.0, 0.9, 0.7, 0.8], tol=0.5)
    assert (best.epoch, best.loss, float(best.weights["weight"])) == (3, 0.7, 3.0)


def test_improvements_up_to_tol_do_not_prolong_the_fit():
    """Otherwise a loss that creeps down by 1e-9 an epoch never stops."""
    assert feed([1.0, 0.95, 0.90], tol=0.1).n_waited == 2
    assert feed([1.0, 0.95, 0.90, 0.85], tol=0.1).n_waited == 3


def test_a_real_improvement_starts_the_wait_anew():
    """n_iter_no_change counts epochs in a row."""
    assert feed([1.0, 1.0, 0.5, 0.6], tol=0.1).n_waited == 1


def test_a_copy_does_not_follow_the_module():
    """state_dict() hands out the parameters themselves, and extra state by reference."""
    module = Counting()
    state = copy_state(module)
    module.weight.data.fill_(7.0)
    module.calls[0] = 7
    assert float(state["weight"]) == 0
    assert state["_extra_state"] == {"calls": [0]}
