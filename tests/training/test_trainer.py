import math

import pytest
import torch
from torch import nn

from skinformer.training import trainer
from skinformer.training.batch import Batch
from skinformer.training.losses import absolute_error, huber_error
from skinformer.training.schedule import learning_rate_multiplier
from skinformer.training.trainer import train


@pytest.fixture
def fit(toy, data, settings):
    """Return a function: train the toy and return module and record."""

    def run(*, on_epoch=None, training=None, validation=True, module=None, **changes):
        torch.manual_seed(7)
        toy_module, groups = toy() if module is None else module
        batches, held_out = data()
        record = train(
            toy_module,
            training=batches if training is None else training,
            validation=held_out if validation is True else validation,
            settings=settings(**changes),
            groups=groups,
            on_epoch=on_epoch,
            checkpoint=None,
            fingerprint={},
        )
        return toy_module, record

    return run


def same(first, second):
    return all(torch.equal(a, b) for a, b in zip(first, second, strict=True))


def validation_losses(record):
    return [row.validation_loss for row in record.rows]


def loss_of(module, batches):
    errors = torch.cat([module(*b.inputs) - b.target for b in batches])
    return float(errors.detach().square().mean())


@pytest.mark.slow
@pytest.mark.parametrize(
    "changes",
    [
        {},
        {"optimizer": "muon"},
        {"precision": "bf16"},
        {"accumulate": 2},
        {"loss": absolute_error},
        {"loss": huber_error},
        {"max_grad_norm": None},
    ],
    ids=lambda changes: next(iter(changes), "default"),
)
def test_every_way_of_training_learns(fit, changes):
    """Each setting reaches a third of the first epoch's validation loss."""
    _, record = fit(max_iter=40, n_iter_no_change=40, **changes)
    losses = validation_losses(record)
    assert min(losses) < losses[0] / 3


@pytest.mark.cuda
@pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a CUDA device")
@pytest.mark.parametrize("precision", ["fp32", "bf16", "fp16"])
@pytest.mark.parametrize("optimizer", ["adamw", "muon"])
def test_every_precision_learns_on_cuda(fit, toy, precision, optimizer):
    """The fused kernels, the scaler and the skipping without a read are CUDA's own."""
    module, _ = toy()
    module = module.cuda()
    groups = {
        "matrix": [module.hidden.weight],
        "decayed": [module.out.weight],
        "plain": [module.hidden.bias, module.out.bias],
    }
    _, record = fit(
        module=(module, groups),
        max_iter=60,
        n_iter_no_change=60,
        precision=precision,
        optimizer=optimizer,
    )
    losses = validation_losses(record)
    assert min(losses) < losses[0] / 3


def test_a_short_fit_reaches_its_peak_learning_rate(fit):
    """With 2000 steps of warm-up 48 steps end at 2.4 % of it."""
    _, record = fit()
    assert max(row.learning_rate for row in record.rows) > 0.95 * 1e-2


def test_the_same_seed_gives_the_same_bits(fit):
    """Fused kernels and threads must not make a fit unrepeatable."""
    (first, one), (second, two) = fit(), fit()
    assert same(first.parameters(), second.parameters())
    assert validation_losses(one) == validation_losses(two)


def test_the_fit_stops_when_validation_no_longer_improves(fit, data):
    """After n_iter_no_change epochs, with the weights of the best one."""
    module, record = fit(max_iter=500, n_iter_no_change=4, tol=0.05)
    losses = validation_losses(record)
    assert record.stopped == "converged"
    assert record.n_iter < 500
    assert (record.best_loss, record.best_iter) == (
        min(losses),
        losses.index(min(losses)) + 1,
    )
    assert loss_of(module, data()[1]) == pytest.approx(record.best_loss, rel=1e-5)


def test_the_best_weights_are_restored_when_the_epochs_run_out(fit, data, monkeypatch):
    """The last epochs of a fit may have made it worse."""
    monkeypatch.setattr(trainer, "learning_rate_multiplier", lambda *_, **__: 1.0)
    module, record = fit(max_iter=12, n_iter_no_change=50, learning_rate=0.3)
    losses = validation_losses(record)
    assert record.stopped == "max_iter"
    assert record.best_loss == min(losses) < losses[-1]
    assert loss_of(module, data()[1]) == pytest.approx(record.best_loss, rel=1e-5)


def test_without_validation_the_last_weights_stay(fit):
    """There is nothing to judge them by, and nothing to stop for."""
    seen = []
    module, record = fit(
        validation=None,
        max_iter=9,
        n_iter_no_change=1,
        tol=100.0,
        on_epoch=lambda so_far, module: seen.append(
            [p.detach().clone() for p in module.parameters()]
        ),
    )
    assert (record.stopped, record.n_iter, record.best_iter) == ("max_iter", 9, 9)
    assert record.best_loss == record.rows[-1].loss
    assert all(math.isnan(v) for v in validation_losses(record))
    assert same(module.parameters(), seen[-1])


@pytest.mark.parametrize("validation", [True, None])
def test_the_module_evaluates_where_callbacks_see_it(fit, validation):
    """A callback that forecasts in training mode would draw masks."""
    modes = []
    fit(
        max_iter=2,
        validation=validation,
        on_epoch=lambda _, module: modes.append(module.training),
    )
    assert modes == [False, False]


def test_the_rows_tell_the_course_of_the_fit(fit, settings):
    """One row an epoch; the last step has 10 % of the peak."""
    _, record = fit(max_iter=5)
    assert [row.epoch for row in record.rows] == [1, 2, 3, 4, 5]
    assert record.rows[-1].learning_rate == pytest.approx(
        0.1 * settings().learning_rate
    )
    assert all(row.gradient_norm > 0 and row.seconds > 0 for row in record.rows)


def test_the_training_loss_is_the_mean_over_all_present_values(toy, settings):
    """Steps with few values count little, and the last, short step as what it is."""
    module, groups = toy()
    module.dropout.p = 0.0
    weight = torch.ones(20, 3, 1)
    weight[3:9], weight[10:18, :2] = 0, 0.5
    x, y = torch.randn(20, 5), torch.randn(20, 3, 1)
    parts = zip(x.split(8), y.split(8), weight.split(8), strict=True)
    batches = [Batch((a,), b, w) for a, b, w in parts]
    error = (module(x) - y).detach().square()
    expected = float((weight * error).sum() / weight.sum())
    record = train(
        module, training=batches, validation=None, groups=groups, on_epoch=None, checkpoint=None,
        fingerprint={}, settings=settings(max_iter=1, learning_rate=1e-30, accumulate=2),
    )  # fmt: skip
    assert record.rows[0].loss == pytest.approx(expected, rel=1e-6)


def test_an_epoch_without_any_target_has_loss_zero(fit, toy):
    """A series may end in a gap as long as an epoch."""
    gap = [Batch((torch.randn(4, 5),), torch.zeros(4, 3, 1), torch.zeros(4, 3, 1))]
    module, record = fit(training=gap, validation=None, max_iter=2, weight_decay=0.0)
    assert [row.loss for row in record.rows] == [0.0, 0.0]
    assert same(module.parameters(), toy()[0].parameters())


def test_a_callback_sees_each_epoch_and_can_stop(fit):
    """In evaluation mode, so that it may predict; None and False mean: go on."""
    seen = []

    def on_epoch(so_far, module):
        seen.append((so_far.n_iter, module.training))
        return so_far.n_iter == 3

    module, record = fit(on_epoch=on_epoch)
    assert seen == [(1, False), (2, False), (3, False)]
    assert (record.stopped, record.n_iter) == ("callback", 3)
    assert not module.training


class Interrupting:
    """Batches that play the user who presses Ctrl-C in one epoch."""

    def __init__(self, batches, epoch):
        self.batches, self.epoch, self.seen = batches, epoch, 0

    def __len__(self):
        return len(self.batches)

    def __iter__(self):
        self.seen += 1
        for i, batch in enumerate(self.batches):
            if self.seen == self.epoch and i == 2:
                raise KeyboardInterrupt
            yield batch


@pytest.mark.parametrize(
    ("validated", "message"),
    [
        (
            True,
            "training interrupted after 3 epochs; the best weights so far are kept.",
        ),
        (False, "training interrupted after 3 epochs; the current weights are kept."),
    ],
)
def test_ctrl_c_warns_and_keeps_the_model(fit, data, validated, message):
    """As scikit-learn's own networks do."""
    training, validation = data()
    with pytest.warns(UserWarning, match=r"^" + message + "$"):
        module, record = fit(
            training=Interrupting(training, 4),
            validation=validation if validated else None,
            learning_rate=0.3,
        )
    assert (record.stopped, record.n_iter) == ("interrupted", 3)
    assert not module.training
    if validated:
        assert loss_of(module, validation) == pytest.approx(
            min(validation_losses(record))
        )


@pytest.mark.parametrize("validation", [True, None])
def test_ctrl_c_in_the_first_epoch_ends_the_fit(fit, toy, data, validation):
    """Nothing was learnt that could be kept: the module has the weights it came with."""
    module, groups = toy()
    training, _ = data()
    with pytest.raises(KeyboardInterrupt):
        fit(
            training=Interrupting(training, 1),
            validation=validation,
            module=(module, groups),
        )
    assert not module.training
    assert same(module.parameters(), toy()[0].parameters())


class Spoilt:
    """Batches whose `bad` one, counted over all epochs, has another target."""

    def __init__(self, batches, bad, value):
        self.batches, self.bad, self.value, self.n = batches, bad, value, 0

    def __len__(self):
        return len(self.batches)

    def __iter__(self):
        for batch in self.batches:
            bad = self.n in self.bad
            self.n += 1
            yield batch._replace(target=batch.target + self.value) if bad else batch


@pytest.mark.parametrize("bad", [8, 2])
def test_a_non_finite_loss_stops_the_fit_and_says_where(fit, toy, data, bad):
    """Step, norm, learning rate, and what to try; the best weights so far are back."""
    seen = [[p.detach().clone() for p in toy()[0].parameters()]]
    module = toy()

    def on_epoch(so_far, module):
        seen.append([p.detach().clone() for p in module.parameters()])

    training, _ = data()
    message = (
        rf"^training diverged at step {bad + 1} of 48: loss=inf, gradient norm=(nan|inf), "
        r"learning_rate=0.0[01]\d*. Lower learning_rate, "
        "set precision='fp32', or check the scale of the data.$"
    )
    with pytest.raises(FloatingPointError, match=message):
        # Fmt: skip.
        fit(
            training=Spoilt(training, {bad}, math.inf), module=module, on_epoch=on_epoch
        )
    assert not module[0].training
    assert same(module[0].parameters(), seen[-1])


def test_a_non_finite_validation_loss_stops_the_fit(fit, data):
    """NaN is never better, so the fit would go on to no end."""
    _, validation = data()
    message = "validation loss=inf, gradient norm=[0-9.]+, "
    with pytest.raises(FloatingPointError, match=message):
        fit(validation=Spoilt(validation, {5}, math.inf))


class Overflowing(nn.Module):
    """A loss that is finite with a gradient that is not: sqrt at 0."""

    def __init__(self, at):
        super().__init__()
        self.weight, self.at, self.n = nn.Parameter(torch.ones(1)), at, -1

    def forward(self, x):
        self.n += self.training
        zero = (self.weight * 0).abs()
        return x * self.weight + (
            zero.sqrt() if self.training and self.n in self.at else 0
        )


def overflowing_fit(settings, at, n_batches):
    module = Overflowing(at)
    x = torch.ones(2, 3, 1)
    record = train(
        module,
        training=[Batch((x,), 2 * x, None)] * n_batches,
        validation=None,
        settings=settings(max_iter=3, weight_decay=0.0, warmup_fraction=0.0),
        groups={"matrix": [], "decayed": [], "plain": [module.weight]},
        on_epoch=None,
        checkpoint=None,
        fingerprint={},
    )
    return module, record


def test_steps_with_a_non_finite_gradient_are_skipped(settings):
    """Four in a row and some more cost four steps and some more, not the fit."""
    spoilt, record = overflowing_fit(settings, {1, 2, 3, 4, 6}, n_batches=5)
    whole, _ = overflowing_fit(settings, set(), n_batches=5)
    assert record.n_iter == 3
    assert all(math.isfinite(row.gradient_norm) for row in record.rows)
    # Ten steps instead of fifteen; Adam's steps towards 2 are of about the learning rate.
    rates = [
        0.01 * learning_rate_multiplier(i, total_steps=15, warmup=0) for i in range(15)
    ]
    left = sum(rate for i, rate in enumerate(rates) if i not in (1, 2, 3, 4, 6))
    assert float(spoilt.weight.detach()) == pytest.approx(1 + left, abs=5e-3)
    assert float(whole.weight.detach()) == pytest.approx(1 + sum(rates), abs=5e-3)


@pytest.mark.parametrize("n_batches", [3, 8])
def test_five_skipped_steps_in_a_row_stop_the_fit(settings, n_batches):
    """Nothing more will come; the row is counted across epochs."""
    message = (
        r"^training diverged at step 6 of \d+: loss=0.9\d+, gradient norm=(nan|inf), "
    )
    with pytest.raises(FloatingPointError, match=message):
        overflowing_fit(settings, {1, 2, 3, 4, 5}, n_batches=n_batches)


def test_a_precision_that_the_device_lacks_is_refused_before_training(fit):
    """The estimators check all other settings."""
    with pytest.raises(ValueError, match=r"^precision='fp16' needs a CUDA device"):
        fit(precision="fp16")


class Sampling(nn.Module):
    """Draws from a generator of its own, as sampled attention does."""

    def __init__(self):
        super().__init__()
        self.weight = nn.Parameter(torch.zeros(1))
        self.generator = torch.Generator().manual_seed(0)

    def forward(self, x):
        return x * self.weight * torch.rand(1, generator=self.generator)

    def get_extra_state(self):
        return self.generator.get_state()

    def set_extra_state(self, state):
        self.generator.set_state(state)


def test_a_module_with_a_generator_resumes_where_it_was(settings, tmp_path):
    """Extra state is stored with the weights."""
    x = torch.ones(2, 3, 1)

    def run(checkpoint, stop_at):
        module = Sampling()
        train(
            module, training=[Batch((x,), x, None)] * 3, validation=None, fingerprint={},
            settings=settings(max_iter=6), checkpoint=checkpoint,
            groups={"matrix": [], "decayed": [], "plain": [module.weight]},
            on_epoch=lambda so_far, _: 1 / (so_far.n_iter - stop_at) > 2,
        )  # fmt: skip
        return module

    whole = run(None, 99)
    with pytest.raises(ZeroDivisionError):
        run(tmp_path / "fit.pt", 4)
    resumed = run(tmp_path / "fit.pt", 99)
    assert torch.equal(whole.weight, resumed.weight)
    assert torch.equal(whole.get_extra_state(), resumed.get_extra_state())
