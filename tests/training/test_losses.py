import math
from functools import partial

import pytest
import torch
from torch.nn import functional as F

from skinformer.training.losses import (
    LOSSES,
    absolute_error,
    cross_entropy,
    huber_error,
    quantile_error,
    squared_error,
    total_weight,
    weighted_mean,
)


@pytest.mark.parametrize(
    ("loss", "oracle"),
    [
        (squared_error, F.mse_loss),
        (absolute_error, F.l1_loss),
        (huber_error, F.huber_loss),
    ],
)
def test_pointwise_losses_equal_torchs(loss, oracle):
    """Torch is the oracle."""
    output, target = torch.randn(4, 6, 2), torch.randn(4, 6, 2)
    torch.testing.assert_close(
        loss(output, target), oracle(output, target, reduction="none")
    )


@pytest.mark.parametrize(
    ("loss", "shape"),
    [
        (squared_error, (4, 6, 2)),
        (absolute_error, (4, 6, 2)),
        (huber_error, (4, 6, 2)),
        (partial(quantile_error, levels=[0.1, 0.5, 0.9]), (4, 6, 2, 3)),
        (partial(cross_entropy, label_smoothing=0.1, z_weight=1e-4), (4, 6, 2, 3)),
    ],
)
def test_losses_are_float32_for_bf16_outputs(loss, shape):
    """bfloat16 has 8 bits: a mean over hundreds of values would be rounded away."""
    errors = loss(torch.randn(shape).bfloat16(), torch.ones(4, 6, 2))
    assert errors.dtype == torch.float32
    assert errors.shape == (4, 6, 2)


def test_each_quantile_lands_on_its_side():
    """With the branches of the chapter swapped, level 0.9 lands at -1.28 on N(0, 1)."""
    levels = [0.1, 0.5, 0.9]
    y = torch.randn(20_000, generator=torch.Generator().manual_seed(0))
    q = torch.zeros(3, requires_grad=True)
    optimizer = torch.optim.Adam([q], lr=0.05)
    for _ in range(150):
        optimizer.zero_grad()
        quantile_error(q.expand(len(y), 3), y, levels=levels).mean().backward()
        optimizer.step()
    torch.testing.assert_close(
        q.detach(), torch.tensor([-1.2816, 0.0, 1.2816]), atol=0.04, rtol=0
    )


def test_quantile_loss_equals_a_naive_loop():
    """Tau below the truth, 1 - tau above it, mean over the levels."""
    levels, output, target = [0.2, 0.7], torch.randn(3, 4, 2), torch.randn(3, 4)
    got = quantile_error(output, target, levels=levels)
    for i in range(3):
        for j in range(4):
            errors = [float(target[i, j] - output[i, j, k]) for k in range(2)]
            parts = [
                t * e if e > 0 else (t - 1) * e
                for t, e in zip(levels, errors, strict=True)
            ]
            assert float(got[i, j]) == pytest.approx(sum(parts) / 2, abs=1e-6)


def test_cross_entropy_without_extras_is_torchs():
    """Torch is the oracle; its class axis is the second."""
    logits, target = torch.randn(4, 6, 5), torch.randint(5, (4, 6))
    got = cross_entropy(logits, target, label_smoothing=0.0, z_weight=0.0)
    expected = F.cross_entropy(logits.transpose(1, 2), target, reduction="none")
    torch.testing.assert_close(got, expected)


def test_label_smoothing_gives_the_other_classes_equal_shares():
    """Eps / (K - 1) each, as in the transformer notes; torch's own gives eps / K to all."""
    logits, target = torch.randn(7, 5), torch.randint(5, (7,))
    got = cross_entropy(logits, target, label_smoothing=0.1, z_weight=0.0)
    probability = torch.full((7, 5), 0.1 / 4).scatter(1, target[:, None], 0.9)
    torch.testing.assert_close(
        got, F.cross_entropy(logits, probability, reduction="none")
    )


def test_z_loss_is_the_squared_log_normaliser():
    """It depends on the size of the logits, which cross-entropy does not see."""
    logits, target = 30 * torch.randn(7, 5), torch.randint(5, (7,))
    plain = cross_entropy(logits, target, label_smoothing=0.0, z_weight=0.0)
    got = cross_entropy(logits, target, label_smoothing=0.0, z_weight=1e-4)
    naive = [
        1e-4 * math.log(sum(math.exp(v) for v in row)) ** 2
        for row in logits.double().tolist()
    ]
    torch.testing.assert_close(got - plain, torch.tensor(naive), atol=1e-5, rtol=1e-4)


def test_missing_values_do_not_count():
    """The mean is over what is present, whatever stands in the gaps."""
    target = torch.tensor([[1.0, 123.0, 3.0]])
    weight = torch.tensor([[1.0, 0.0, 2.0]])
    total = total_weight(target, weight=weight)
    mean = weighted_mean(
        squared_error(torch.zeros(1, 3), target), weight=weight, total=total
    )
    assert float(mean) == pytest.approx((1 * 1 + 2 * 9) / 3)


def test_a_batch_without_any_value_has_zero_loss_and_gradient():
    """0 / 0 would turn all weights into NaN."""
    output = torch.randn(2, 3, 1, requires_grad=True)
    target, weight = torch.zeros(2, 3, 1), torch.zeros(2, 3, 1)
    total = total_weight(target, weight=weight)
    mean = weighted_mean(squared_error(output, target), weight=weight, total=total)
    mean.backward()
    assert float(mean.detach()) == 0
    assert torch.equal(output.grad, torch.zeros_like(output))


def test_no_weight_means_one_everywhere():
    """None spares the memory of a tensor of ones."""
    target = torch.randn(2, 3, 1)
    ones = torch.ones_like(target)
    assert total_weight(target, weight=None) == total_weight(target, weight=ones) == 6


def test_losses_have_the_names_of_the_estimators():
    """The median is that of the absolute error, the mean that of the squared one."""
    assert LOSSES["mse"] is squared_error
    assert LOSSES["mae"] is absolute_error
    assert float(LOSSES["huber"](torch.tensor(4.0), torch.tensor(0.0))) == 3.5
