import pytest
import torch

from skinformer.model.window_norm import WindowNorm

NO_KNOWN = {"n_targets": 1, "n_past": 1, "may_miss": False}


def test_targets_and_past_columns_get_mean_0_and_deviation_1_and_known_stay():
    past = torch.randn(4, 30, 4) * 7 + 3
    z, _ = WindowNorm(n_targets=2, n_past=1, may_miss=False)(past)
    torch.testing.assert_close(z[..., :3].mean(1), torch.zeros(4, 3), atol=1e-6, rtol=0)
    torch.testing.assert_close(z[..., :3].std(1, correction=0), torch.ones(4, 3))
    assert torch.equal(z[..., 3:], past[..., 3:])


def test_missing_values_stay_missing_and_do_not_count():
    past = torch.randn(4, 30, 3)
    norm = WindowNorm(n_targets=1, n_past=1, may_miss=True)
    torch.testing.assert_close(norm(past)[0], WindowNorm(**NO_KNOWN)(past)[0])
    past[1, 20:, 1] = torch.nan
    z, _ = norm(past)
    torch.testing.assert_close(
        z[1, :20, 1].mean(), torch.tensor(0.0), atol=1e-6, rtol=0
    )
    assert torch.equal(z.isnan(), past.isnan())


def test_undo_gives_the_targets_back():
    past = torch.randn(4, 30, 3) * 7 + 3
    norm = WindowNorm(n_targets=2, n_past=1, may_miss=False)
    z, statistics = norm(past)
    torch.testing.assert_close(norm.undo(z[..., :2], statistics), past[..., :2])


@pytest.mark.parametrize("level", [0.0, 0.1, 1e6 + 0.5, -3.3e4])
def test_constant_window_becomes_zeros_and_comes_back(level):
    """A mean rounded in float32 must not pass for a deviation."""
    past = torch.full((2, 97, 1), level)
    norm = WindowNorm(n_targets=1, n_past=0, may_miss=False)
    z, statistics = norm(past)
    assert not z.any()
    torch.testing.assert_close(
        norm.undo(torch.ones(2, 3, 1), statistics), past[:, :3] + 1e-5
    )


def test_constant_window_has_finite_gradients():
    past = torch.full((1, 9, 1), 2.0, requires_grad=True)
    z, statistics = WindowNorm(n_targets=1, n_past=0, may_miss=False)(past)
    (z.sum() + statistics.scale.sum()).backward()
    assert past.grad.isfinite().all()


def test_single_row_becomes_zero():
    z, statistics = WindowNorm(n_targets=1, n_past=0, may_miss=False)(
        torch.full((1, 1, 1), 5.0)
    )
    assert z.item() == 0.0
    assert statistics.mean.item() == 5.0


def test_statistics_are_float32_for_a_bf16_window():
    norm = WindowNorm(n_targets=1, n_past=0, may_miss=False)
    past = torch.randn(2, 50, 1).bfloat16()
    with torch.autocast("cpu", torch.bfloat16):
        z, statistics = norm(past)
    assert {z.dtype, statistics.mean.dtype, statistics.scale.dtype} == {torch.float32}
    assert torch.equal(z, norm(past.float())[0])


def test_a_forecast_that_is_read_is_told_by_its_window():
    """In the window's own deviations from its mean, whatever level and spread are; others stay."""
    past, future = torch.randn(4, 30, 3), torch.randn(4, 6, 3)
    norm = WindowNorm(n_targets=1, n_past=1, may_miss=False)
    z, statistics = norm(past)
    own = norm.normalise_forecast(past[:, :6], statistics)
    torch.testing.assert_close(own[..., :1], z[:, :6, :1])
    before = norm.normalise_forecast(future, statistics)
    assert torch.equal(before[..., 1:], future[..., 1:])
    units = torch.tensor([7.0, 1.0, 1.0])
    _, moved = norm(past * units + 40)
    after = norm.normalise_forecast(future * units + torch.tensor([40.0, 0, 0]), moved)
    torch.testing.assert_close(after, before, atol=1e-5, rtol=1e-5)


def test_a_forecast_far_from_a_window_that_stands_still_is_bounded():
    """Its distance in deviations has no bound, and would drown whatever else is embedded."""
    norm = WindowNorm(n_targets=1, n_past=0, may_miss=False)
    _, statistics = norm(torch.full((2, 30, 1), 3.0))
    future = torch.tensor([[[3.0], [4.0], [-90.0]]]).expand(2, -1, -1)
    assert norm.normalise_forecast(future, statistics)[0].flatten().tolist() == [
        0.0,
        10.0,
        -10.0,
    ]
