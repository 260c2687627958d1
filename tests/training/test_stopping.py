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


def feed(best, module, losses):
    for epoch, loss in enumerate(losses, 1):
        module.weight.data.fill_(epoch)
        best.update(module, epoch=epoch, loss=loss)


def test_the_copy_is_that_of_the_lowest_loss():
    """Not of the latest improvement by more than tol."""
    module = Counting()
    best = BestWeights(module, tol=0.5, n_iter_no_change=10)
    feed(best, module, [1.0, 0.9, 0.7, 0.8])
    assert (best.epoch, best.loss, float(best.weights["weight"])) == (3, 0.7, 3.0)


def test_improvements_up_to_tol_do_not_prolong_the_fit():
    """Otherwise a loss that creeps down by 1e-9 an epoch never stops."""
    module = Counting()
    best = BestWeights(module, tol=0.1, n_iter_no_change=3)
    feed(best, module, [1.0, 0.95, 0.90])
    assert not best.exhausted
    feed(best, module, [0.85])
    assert best.exhausted


def test_a_real_improvement_starts_the_wait_anew():
    """n_iter_no_change counts epochs in a row."""
    module = Counting()
    best = BestWeights(module, tol=0.1, n_iter_no_change=2)
    feed(best, module, [1.0, 1.0, 0.5, 0.6])
    assert (best.n_waited, best.exhausted) == (1, False)


def test_a_copy_does_not_follow_the_module():
    """state_dict() hands out the parameters themselves, and extra state by reference."""
    module = Counting()
    state = copy_state(module)
    module.weight.data.fill_(7.0)
    module.calls[0] = 7
    assert float(state["weight"]) == 0
    assert state["_extra_state"] == {"calls": [0]}


def test_a_stored_state_continues():
    """A resumed fit must stop in the same epoch."""
    module = Counting()
    best = BestWeights(module, tol=0.0, n_iter_no_change=2)
    feed(best, module, [1.0, 2.0])
    resumed = BestWeights(Counting(), tol=0.0, n_iter_no_change=2)
    resumed.load_state_dict(best.state_dict())
    resumed.update(module, epoch=3, loss=2.0)
    assert (resumed.exhausted, resumed.epoch, resumed.loss) == (True, 1, 1.0)
