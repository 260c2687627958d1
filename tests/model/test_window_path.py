import torch

from skinformer.model.window_path import WindowPath


def test_the_last_value_is_repeated_until_something_is_learnt():
    path = WindowPath(seq_len=4, pred_len=3)
    past = torch.randn(2, 4, 5)
    torch.testing.assert_close(path(past), past[:, -1:].expand(2, 3, 5))
    path(past).sum().backward()
    assert path.weight.grad.any()
    assert path.bias.grad.tolist() == [10.0] * 3


def test_each_target_is_mapped_by_its_own_window_and_follows_its_level():
    path = WindowPath(seq_len=4, pred_len=3)
    torch.nn.init.normal_(path.weight)
    torch.nn.init.normal_(path.bias)
    past = torch.randn(1, 4, 2)
    expected = (
        (past - past[:, -1:])[0].T @ path.weight.T + path.bias + past[0, -1][:, None]
    )
    torch.testing.assert_close(path(past)[0].T, expected)
    torch.testing.assert_close(path(past + 7), path(past) + 7)


def test_a_level_is_whole_under_autocast():
    with torch.autocast("cpu", torch.bfloat16):
        out = WindowPath(seq_len=2, pred_len=1)(torch.full((1, 2, 1), 1.001))
    assert out.dtype == torch.float32
    assert out.item() == torch.tensor(1.001).item()


def test_a_network_adds_it_in_the_units_of_its_window(informer):
    """To every quantile alike; whatever the window's mean and deviation are."""
    network = informer(n_targets=2, outputs=(3,), window_path=True).eval()
    torch.nn.init.normal_(network.window_path.weight)
    without = informer(n_targets=2, outputs=(3,)).eval()
    without.load_state_dict(network.state_dict(), strict=False)
    past, future = 5 + 3 * torch.randn(4, 48, 2), torch.zeros(4, 6, 2)
    gained = network(past, future) - without(past, future)
    expected = network.window_path(past) - past.mean(dim=1, keepdim=True)
    torch.testing.assert_close(
        gained, expected[..., None].expand(4, 6, 2, 3), rtol=0, atol=1e-3
    )
