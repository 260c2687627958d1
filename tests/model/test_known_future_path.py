import torch

from skinformer.model.known_future_path import KnownFuturePath


def test_path_starts_at_zero_and_leaves_it_with_the_first_gradient():
    path = KnownFuturePath(n_known=2, n_targets=3)
    known = torch.randn(4, 6, 2)
    assert not path(known).any()
    path(known).sum().backward()
    torch.testing.assert_close(path.weight.grad, known.sum((0, 1)).expand(3, 2))


def test_each_step_sees_its_own_covariates_only():
    path = KnownFuturePath(n_known=2, n_targets=1)
    torch.nn.init.ones_(path.weight)
    known = torch.zeros(1, 6, 2)
    known[0, 3, 1] = 1.0
    assert path(known).flatten().tolist() == [0, 0, 0, 1, 0, 0]


def test_path_is_float32_under_autocast():
    path = KnownFuturePath(n_known=1, n_targets=1)
    torch.nn.init.ones_(path.weight)
    with torch.autocast("cpu", torch.bfloat16):
        out = path(torch.full((1, 1, 1), 1.001))
    assert out.dtype == torch.float32
    assert out.item() == torch.tensor(1.001).item()
