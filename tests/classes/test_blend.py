"""Weights of a mixture, and temperatures."""

import numpy as np

from skinformer.classes.blend import log_losses, mixture_weights


def test_the_weights_are_those_of_the_lowest_log_loss():
    """A grid says the same, where truths are so many that nothing else is believed."""
    rng = np.random.default_rng(0)
    likelihood = rng.random((2, 400, 1))
    found = mixture_weights(likelihood, np.ones((400, 1)), 1e9, np.full(2, 0.5))[0]
    grid = np.linspace(0.001, 0.999, 999)
    mixed = (
        grid[:, None] * likelihood[0, :, 0] + (1 - grid[:, None]) * likelihood[1, :, 0]
    )
    best = grid[np.log(mixed).sum(axis=1).argmax()]
    assert abs(found[0] - best) < 0.02


def test_few_truths_leave_what_is_believed():
    """Two hundred are as good as the beliefs."""
    likelihood = np.stack([np.full((10, 3), 0.9), np.full((10, 3), 0.1)])
    believed = np.array([0.2, 0.8])
    few, many = (
        mixture_weights(likelihood, np.ones((10, 3)), n, believed)[:, 0]
        for n in (5.0, 5000.0)
    )
    assert (np.abs(few - 0.2) < 0.05).all()
    assert (many > 0.9).all()


def test_a_truth_of_weight_zero_says_nothing():
    """It is missing."""
    rng = np.random.default_rng(0)
    likelihood, weight = (
        rng.random((2, 50, 2)),
        (rng.random((50, 2)) < 0.5).astype(float),
    )
    changed = likelihood.copy()
    changed[:, weight == 0] = 1.0
    one, other = (
        mixture_weights(each, weight, 500.0, np.full(2, 0.5))
        for each in (likelihood, changed)
    )
    np.testing.assert_allclose(one, other)


def test_steps_ahead_have_weights_of_their_own():
    """Who is right about the next step may be wrong about the day after."""
    near = np.where(np.arange(24) < 4, 0.9, 0.2)
    likelihood = np.stack([np.tile(near, (100, 1)), np.full((100, 24), 0.5)])
    found = mixture_weights(likelihood, np.ones((100, 24)), 5000.0, np.full(2, 0.5))[
        :, 0
    ]
    assert found[0] > 0.9 > 0.1 > found[-1]


def test_log_losses_are_those_of_a_loop():
    """Weighted, for each target."""
    rng = np.random.default_rng(0)
    logits, weight = (
        rng.normal(size=(4, 2, 5)),
        np.repeat(rng.random((4, 2, 1)), 5, axis=2),
    )
    groups = [slice(0, 3), slice(3, 5)]
    truth = np.concatenate(
        [
            np.eye(3)[rng.integers(3, size=(4, 2))],
            np.eye(2)[rng.integers(2, size=(4, 2))],
        ],
        axis=2,
    )
    expected = np.zeros(4)
    for group in groups:
        scaled = np.exp(logits[..., group])
        came = (scaled * truth[..., group]).sum(axis=-1) / scaled.sum(axis=-1)
        expected -= (weight[..., 0] * np.log(came)).sum(axis=1)
    np.testing.assert_allclose(log_losses(logits, truth, weight, groups), expected)
