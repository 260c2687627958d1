"""A step that is recorded once and replayed trains as one that Python takes."""

import pytest
import torch
from torch import nn

from skinformer.model.dropout import Dropout, drawing_from
from skinformer.model.key_sampler import KeySampler
from skinformer.training import trainer
from skinformer.training.batch import Batch
from skinformer.training.recorded_step import N_EAGER, RecordedStep, can_record
from skinformer.training.trainer import train


class Repeated:
    """In place of a CUDA graph: what is recorded is called at each replay, on the same tensors."""

    def __init__(self):
        self.n_recorded = 0

    def run(self, function):
        return function()

    def record(self, function):
        self.n_recorded += 1
        self.function, self.result = function, torch.zeros(3)
        return self.result

    def replay(self):
        self.result.copy_(self.function())


class Noisy(nn.Module):
    """A toy whose dropout draws."""

    def __init__(self, seed):
        super().__init__()
        torch.manual_seed(seed)
        self.hidden, self.out, self.dropout = nn.Linear(4, 8), nn.Linear(8, 4), Dropout(0.3)

    def forward(self, past):
        return self.out(self.dropout(self.hidden(past).relu()))

    def groups(self):
        plain = [self.hidden.bias, self.out.bias]
        return {"matrix": [self.hidden.weight, self.out.weight], "decayed": [], "plain": plain}


def recorded_on_cpu(monkeypatch, recorders):
    """Let fits record their steps here, where no device is."""

    def make(take_step, network, *, device):
        assert device.type == "cpu"
        recorders.append(Repeated())
        generator = torch.Generator(device)
        recorders[-1].step = RecordedStep(
            take_step, network, generator=generator, recorder=recorders[-1]
        )
        return recorders[-1].step

    monkeypatch.setattr(trainer, "can_record", lambda network, *, device: True)
    monkeypatch.setattr(RecordedStep, "on_cuda", make)


def batches(n_batches=7, n_last=3):
    """Make batches, the last of them short."""
    generator = torch.Generator().manual_seed(0)
    sizes = [5] * (n_batches - 1) + [n_last]
    past = [torch.randn(n, 2, 4, generator=generator) for n in sizes]
    return [Batch((x,), x.flip(-1), None) for x in past]


@pytest.mark.parametrize("optimizer", ["adamw", "muon"])
def test_replayed_steps_train_as_steps_that_are_taken_one_by_one(monkeypatch, settings, optimizer):
    """On new batches each, at the rates of the schedule; the short last ones are not replayed."""
    recorders = []
    fits = []
    for is_recorded in (False, True):
        module = Noisy(3)
        module.dropout.p = 0.0
        with monkeypatch.context() as patch:
            if is_recorded:
                recorded_on_cpu(patch, recorders)
            record = train(
                module,
                training=batches(),
                validation=None,
                settings=settings(optimizer=optimizer, max_iter=3),
                groups=module.groups(),
            )
        fits.append((record.rows[-1].loss, *(p.detach() for p in module.parameters())))
    torch.testing.assert_close(fits[1], fits[0], rtol=1e-6, atol=1e-7)
    [recorder] = recorders
    assert recorder.n_recorded == 1
    n_full, n_short = 3 * 6, 3
    assert recorder.step.n_replayed == n_full - N_EAGER
    assert recorder.step.n_eager == N_EAGER + n_short


def test_masks_go_by_the_number_of_a_step():
    """So that a resumed fit, whose first steps are taken one by one, draws what others drew."""
    losses = []
    for n_eager in (0, N_EAGER):
        module = Noisy(3)
        recorder, generator = Repeated(), torch.Generator()

        def loss(group, module=module):
            module.train()
            return (module(*group[0].inputs) - group[0].target).square().mean().detach().expand(3)

        step = RecordedStep(loss, module, generator=generator, recorder=recorder)
        step.n_eager = n_eager
        losses.append([float(step([batches()[0]], number)[0]) for number in range(4)])
    assert losses[0] == losses[1]
    assert len(set(losses[0])) == 4


def test_one_generator_draws_all_masks_and_keys_while_a_step_is_recorded():
    """Those of the modules stand still, and draw again afterwards."""
    network = nn.ModuleList([Dropout(0.5), KeySampler(seed=1)]).train()
    before = [module.generator.get_state() for module in network]
    drawn = []
    for seed in (0, 0, 1):
        with drawing_from(network, torch.Generator().manual_seed(seed)):
            drawn.append(network[1](length=50, n_keys=20, device=torch.device("cpu")))
    assert torch.equal(drawn[0], drawn[1])
    assert not torch.equal(drawn[0], drawn[2])
    assert len(set(drawn[0].tolist())) == 20
    assert all(
        torch.equal(m.generator.get_state(), b) for m, b in zip(network, before, strict=True)
    )
    assert all(module.device_generator is None for module in network)
    network[1](length=50, n_keys=20, device=torch.device("cpu"))
    assert not torch.equal(network[1].generator.get_state(), before[1])


def test_steps_are_recorded_on_cuda_alone_and_not_where_layers_run_twice():
    """The second run of a layer would draw other masks than the first."""
    network = nn.ModuleList([Dropout(0.5)])
    assert can_record(network, device=torch.device("cuda"))
    assert not can_record(network, device=torch.device("cpu"))
    network[0].recompute = True
    assert not can_record(network, device=torch.device("cuda"))
