"""A step that is recorded once and replayed trains as one that Python takes."""

import pytest
import torch
from torch import nn

from skinformer.model.dropout import Dropout
from skinformer.model.generators import drawing_from
from skinformer.model.key_sampler import KeySampler
from skinformer.training import trainer
from skinformer.training.batch import Batch
from skinformer.training.recorded_step import N_EAGER, RecordedStep, can_record
from skinformer.training.trainer import train


class Repeated:
    """In place of a CUDA graph: what is recorded is called at each replay, on the same tensors."""

    def __init__(self, network, generator, *, fails=False):
        self.network, self.generator, self.fails = network, generator, fails
        self.n_recorded, self.is_closed = 0, False

    def run(self, function):
        return function()

    def record(self, function):
        if self.fails:
            raise torch.OutOfMemoryError("CUDA out of memory.")
        self.n_recorded += 1
        self.function, self.result = function, torch.zeros(3)
        return self.result

    def replay(self):
        with drawing_from(self.network, self.generator):
            self.result.copy_(self.function())

    def close(self):
        self.is_closed = True


class Noisy(nn.Module):
    """A toy whose dropout draws."""

    def __init__(self, seed):
        super().__init__()
        torch.manual_seed(seed)
        self.hidden, self.out, self.dropout = (
            nn.Linear(4, 8),
            nn.Linear(8, 4),
            Dropout(0.3),
        )

    def forward(self, past):
        return self.out(self.dropout(self.hidden(past).relu()))

    def groups(self):
        plain = [self.hidden.bias, self.out.bias]
        return {
            "matrix": [self.hidden.weight, self.out.weight],
            "decayed": [],
            "plain": plain,
        }


def recorded_on_cpu(monkeypatch, steps, **how):
    """Let fits record their steps here, where no device is."""

    def make(take_step, network, *, device):
        assert device.type == "cpu"
        generator = torch.Generator(device)
        recorder = Repeated(network, generator, **how)
        steps.append(
            RecordedStep(take_step, network, generator=generator, recorder=recorder)
        )
        return steps[-1]

    monkeypatch.setattr(trainer, "can_record", lambda network, *, device: True)
    monkeypatch.setattr(RecordedStep, "on_cuda", make)


def batches(n_batches=7, n_last=3):
    """Make batches, the last of them short."""
    generator = torch.Generator().manual_seed(0)
    sizes = [5] * (n_batches - 1) + [n_last]
    past = [torch.randn(n, 2, 4, generator=generator) for n in sizes]
    return [Batch((x,), x.flip(-1), None) for x in past]


def trained(settings, n_batches=7, *, dropout=0.0, **changes):
    """Train a toy, and return its last loss and its weights."""
    module = Noisy(3)
    module.dropout.p = dropout
    record = train(
        module,
        training=batches(n_batches),
        validation=None,
        settings=settings(**{"max_iter": 3} | changes),
        groups=module.groups(),
    )
    return record.rows[-1].loss, *(p.detach() for p in module.parameters())


@pytest.mark.parametrize("optimizer", ["adamw", "muon"])
def test_replayed_steps_train_as_steps_that_are_taken_one_by_one(
    monkeypatch, settings, optimizer
):
    """On new batches each, at the rates of the schedule; the short last ones are not replayed."""
    steps = []
    plain = trained(settings, optimizer=optimizer)
    recorded_on_cpu(monkeypatch, steps)
    torch.testing.assert_close(
        trained(settings, optimizer=optimizer), plain, rtol=1e-6, atol=1e-7
    )
    [step] = steps
    n_full = 3 * 6
    assert step.recorder.n_recorded == 1
    assert (step.n_eager, step.n_replayed) == (N_EAGER, n_full - N_EAGER)
    assert step.recorder.is_closed
    assert step.batches == []


@pytest.mark.parametrize("n_batches", [2, 4])
def test_the_short_batch_of_an_epoch_is_never_the_one_that_is_recorded(
    monkeypatch, settings, n_batches
):
    """The fourth step of all was, and every full batch was then launched kernel by kernel."""
    steps = []
    recorded_on_cpu(monkeypatch, steps)
    trained(settings, n_batches, max_iter=9)
    assert steps[0].n_replayed == 9 * (n_batches - 1) - N_EAGER


def test_where_a_step_cannot_be_recorded_steps_are_taken_one_by_one(
    monkeypatch, settings
):
    """The memory may suffice for one step, and not for the copy that is recorded."""
    steps = []
    plain = trained(settings)
    recorded_on_cpu(monkeypatch, steps, fails=True)
    torch.testing.assert_close(trained(settings), plain)
    assert steps[0].n_replayed == 0
    assert not steps[0].may_record


def test_replayed_steps_draw_the_masks_of_those_that_are_not(monkeypatch, settings):
    """So that a resumed fit, whose first steps are taken one by one, draws what others drew."""
    steps, fits = [], []
    for fails in (False, True):
        with monkeypatch.context() as patch:
            recorded_on_cpu(patch, steps, fails=fails)
            fits.append(trained(settings, dropout=0.3))
    assert [step.n_replayed > 0 for step in steps] == [True, False]
    torch.testing.assert_close(*fits, rtol=0, atol=0)


def test_each_step_draws_masks_of_its_own(settings):
    """From a seed that the network's own generator gives, whose state a checkpoint holds."""
    module = Noisy(3).train()
    generator = torch.Generator()

    def loss(group):
        return module(*group[0].inputs).square().mean().detach().expand(3)

    recorder = Repeated(module, generator)
    step = RecordedStep(loss, module, generator=generator, recorder=recorder)
    state = module.dropout.generator.get_state()
    first = [float(step([batches()[0]])[0]) for _ in range(6)]
    assert len(set(first)) == 6
    module.dropout.generator.set_state(state)
    assert [float(step([batches()[0]])[0]) for _ in range(6)] == first


def test_one_generator_draws_all_masks_and_keys_while_a_step_is_recorded():
    """Those of the modules stand still, and draw again afterwards."""
    network = nn.ModuleList([Dropout(0.5), KeySampler(seed=1)]).train()
    before = [module.generator.get_state() for module in network]
    keys, masks = [], []
    for seed in (0, 0, 1):
        with drawing_from(network, torch.Generator().manual_seed(seed)):
            keys.append(network[1](length=50, n_keys=20, device=torch.device("cpu")))
            masks.append(network[0](torch.ones(100)))
    for drawn in (keys, masks):
        assert torch.equal(drawn[0], drawn[1])
        assert not torch.equal(drawn[0], drawn[2])
    assert len(set(keys[0].tolist())) == 20
    assert all(
        torch.equal(m.generator.get_state(), b)
        for m, b in zip(network, before, strict=True)
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
