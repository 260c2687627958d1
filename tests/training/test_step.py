import math

import pytest
import torch
from torch import nn

from skinformer.training.batch import Batch
from skinformer.training.losses import squared_error
from skinformer.training.optimizers import make_optimizers
from skinformer.training.step import accumulate_gradients, clip_and_step, mean_loss

CPU = torch.device("cpu")
UNSCALED = torch.amp.GradScaler("cpu", enabled=False)
HOW = {"loss": squared_error, "precision": "fp32", "device": CPU}


@pytest.fixture
def make(settings):
    """Return a function: optimisers of groups."""
    return lambda groups, optimizer: make_optimizers(
        groups, settings(optimizer=optimizer, learning_rate=1e-3)
    )


def full_and_quarters(weighted):
    """One batch of 32, and the same as four of 8 with very different numbers of gaps."""
    x, y = torch.randn(32, 5), torch.randn(32, 3, 1)
    weight = torch.rand(32, 3, 1) + 0.5
    for i, present in enumerate((1.0, 0.7, 0.2, 0.0)):
        weight[8 * i : 8 * i + 8] *= torch.rand(8, 3, 1) < present
    weights = [weight] if weighted else [None]
    quarters = weight.split(8) if weighted else [None] * 4
    full = [Batch((x,), y, weights[0])]
    return full, [
        Batch((a,), b, w)
        for a, b, w in zip(x.split(8), y.split(8), quarters, strict=True)
    ]


def gradients(module, batches, **changes):
    module.eval()
    result = accumulate_gradients(
        module, batches, scaler=UNSCALED, **{**HOW, **changes}
    )
    return result, [p.grad.clone() for p in module.parameters()]


@pytest.mark.parametrize("weighted", [True, False])
def test_four_quarter_batches_equal_one_full_batch(toy, weighted):
    """Also with 24, 17, 5 and 0 values in the quarters: the mean is over values, not batches."""
    module, _ = toy()
    full, quarters = full_and_quarters(weighted)
    (mean, total), expected = gradients(module, full)
    (mean_4, total_4), got = gradients(module, quarters)
    torch.testing.assert_close((mean_4, total_4), (mean, total))
    for a, b in zip(got, expected, strict=True):
        torch.testing.assert_close(a, b, atol=1e-7, rtol=1e-5)


def test_gradients_equal_those_of_the_naive_mean(toy):
    """sum(w * e**2) / sum(w), written out."""
    module, _ = toy()
    ((batch,), quarters) = full_and_quarters(weighted=True)
    _, got = gradients(module, quarters)
    module.zero_grad()
    error = (module(*batch.inputs) - batch.target) ** 2
    ((batch.weight * error).sum() / batch.weight.sum()).backward()
    for a, p in zip(got, module.parameters(), strict=True):
        torch.testing.assert_close(a, p.grad, atol=1e-7, rtol=1e-5)


def test_old_gradients_are_dropped(toy):
    """A second call must not add to the first."""
    module, _ = toy()
    full, _ = full_and_quarters(weighted=False)
    _, first = gradients(module, full)
    _, second = gradients(module, full)
    assert all(torch.equal(a, b) for a, b in zip(first, second, strict=True))


def test_gradients_accumulate_in_float32_under_bf16(toy):
    """Sums of many small terms would stop growing in bfloat16."""
    module, _ = toy()
    full, quarters = full_and_quarters(weighted=True)
    (mean, _), got = gradients(module, quarters, precision="bf16")
    assert mean.dtype == torch.float32
    assert {g.dtype for g in got} == {torch.float32}
    _, expected = gradients(module, full)
    for a, b in zip(got, expected, strict=True):
        torch.testing.assert_close(a, b, atol=0.03, rtol=0.05)


def test_a_group_without_any_value_gives_zero_gradients(toy):
    """A long gap in the series is no reason for NaN."""
    module, _ = toy()
    batch = Batch((torch.randn(4, 5),), torch.zeros(4, 3, 1), torch.zeros(4, 3, 1))
    (mean, total), got = gradients(module, [batch, batch])
    assert float(mean) == float(total) == 0
    assert all(torch.equal(g, torch.zeros_like(g)) for g in got)


class FakeScaler:
    """Stands in for CUDA's scaler: what matters is the order of the calls."""

    def __init__(self):
        self.calls = []

    def scale(self, loss):
        return 8 * loss

    def unscale_(self, optimizer):
        self.calls.append("unscale")
        for group in optimizer.param_groups:
            for p in group["params"]:
                p.grad /= 8

    def update(self):
        self.calls.append("update")


def test_clipping_sees_unscaled_gradients(make, toy):
    """Scaled gradients are thousands of times too long and would all be clipped."""
    results = []
    for scaler in (UNSCALED, FakeScaler()):
        module, groups = toy()
        module.eval()
        optimizers = make(groups, optimizer="muon")
        torch.manual_seed(5)
        full, _ = full_and_quarters(weighted=False)
        accumulate_gradients(module, full, scaler=scaler, **HOW)
        norm = clip_and_step(
            optimizers, parameters=module.parameters(), max_norm=0.1, scaler=scaler
        )
        results.append((norm, [p.detach() for p in module.parameters()]))
    assert scaler.calls == ["unscale", "unscale", "update"]
    torch.testing.assert_close(results[0], results[1])


class Fp16:
    """Muon and AdamW under torch's own scaler, which works on a CPU, too."""

    def __init__(self, toy, make, *, scaled=True):
        self.module, groups = toy()
        self.module.eval()
        self.optimizers = make(groups, optimizer="muon")
        options = {"init_scale": 8.0, "growth_interval": 1}
        self.scaler = torch.amp.GradScaler("cpu", **options, enabled=scaled)
        torch.manual_seed(5)
        self.batches, _ = full_and_quarters(weighted=False)

    def step(self, *, overflow=None):
        accumulate_gradients(self.module, self.batches, scaler=self.scaler, **HOW)
        if overflow is not None:
            overflow.grad.view(-1)[0] = math.inf
        parameters = self.module.parameters()
        how = {"parameters": parameters, "max_norm": 1.0, "scaler": self.scaler}
        return clip_and_step(self.optimizers, **how)

    def state(self):
        """Give copies of weights, moments and step counts."""
        moments = [
            x for o in self.optimizers for s in o.state.values() for x in s.values()
        ]
        return [x.detach().clone() for x in [*self.module.parameters(), *moments]]


@pytest.mark.parametrize("overflow", ["hidden.weight", "out.weight", "out.bias"])
def test_an_overflow_of_one_gradient_holds_back_every_optimiser(toy, make, overflow):
    """Muon's matrices without AdamW's rest, or the reverse, would take half a step."""
    fit = Fp16(toy, make)
    assert math.isfinite(float(fit.step()))  # so that there are moments
    before, scale = fit.state(), fit.scaler.get_scale()
    assert not math.isfinite(
        float(fit.step(overflow=fit.module.get_parameter(overflow)))
    )
    assert all(torch.equal(a, b) for a, b in zip(fit.state(), before, strict=True))
    assert fit.scaler.get_scale() == scale / 2  # whichever overflowed
    fit.step()
    assert not any(torch.equal(a, b) for a, b in zip(fit.state(), before, strict=True))


def test_steps_under_a_scale_are_those_without(toy, make):
    """Scaling is to change what fp16 can hold, not what is learnt; without overflow it grows."""
    scaled, plain = Fp16(toy, make), Fp16(toy, make, scaled=False)
    for _ in range(3):
        scaled.step()
        plain.step()
    assert scaled.scaler.get_scale() == 64.0
    torch.testing.assert_close(scaled.state(), plain.state())


def test_the_mean_loss_weighs_values_not_batches():
    """The last validation batch is often short."""
    zeros = torch.zeros(3, 1, 1)
    batches = [
        Batch((zeros,), zeros + 1, None),
        Batch((zeros[:1],), zeros[:1] + 3, torch.full((1, 1, 1), 2.0)),
    ]
    assert mean_loss(nn.Identity(), batches, **HOW) == pytest.approx(
        (3 * 1 + 2 * 9) / 5
    )


def test_the_mean_loss_of_nothing_is_an_error():
    """A loss of 0 would be the best of all epochs, NaN would look like a divergence."""
    batch = Batch((torch.zeros(1, 1, 1),), torch.zeros(1, 1, 1), torch.zeros(1, 1, 1))
    message = "the validation batches hold no target value: all are missing."
    with pytest.raises(ValueError, match=r"^" + message + "$"):
        mean_loss(nn.Identity(), [batch], **HOW)


def test_the_norm_of_non_finite_gradients_is_not_finite(make, toy):
    """That is how the trainer learns of them."""
    module, groups = toy()
    before = [p.detach().clone() for p in module.parameters()]
    optimizers = make(groups, optimizer="adamw")
    for p in module.parameters():
        p.grad = torch.ones_like(p)
    module.out.bias.grad[1] = math.inf
    norm = clip_and_step(
        optimizers, parameters=module.parameters(), max_norm=1.0, scaler=UNSCALED
    )
    assert not math.isfinite(float(norm))
    assert all(
        torch.equal(p, b) for p, b in zip(module.parameters(), before, strict=True)
    )
