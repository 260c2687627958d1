import numpy as np
import pytest
import torch

from skinformer.timeline.mask_future import mask_future


def naive(values, n_future, hidden, fill):
    out = np.array(values, copy=True)
    windows = out.reshape(-1, *out.shape[-2:])
    for window in windows:
        for row in range(len(window)):
            for column in hidden:
                if row >= len(window) - n_future:
                    window[row, column] = fill
    return out


@pytest.mark.parametrize("make", [np.asarray, torch.as_tensor], ids=["numpy", "torch"])
@pytest.mark.parametrize("shape", [(5, 3), (2, 5, 3), (2, 4, 5, 3)])
@pytest.mark.parametrize("n_future", [0, 1, 5, 9])
@pytest.mark.parametrize("hidden", [[], [0], [2, 0], [0, 1, 2]])
def test_only_hidden_columns_of_the_last_rows_change(make, shape, n_future, hidden):
    """One value of the future too many is a leak, one too few is lost information."""
    values = np.random.default_rng(0).normal(size=shape)
    masked = mask_future(make(values), n_future=n_future, hidden=hidden, fill=-7.0)
    assert type(masked) is type(make(values))
    np.testing.assert_array_equal(
        np.asarray(masked), naive(values, n_future, hidden, -7.0)
    )


@pytest.mark.parametrize("make", [np.asarray, torch.as_tensor], ids=["numpy", "torch"])
def test_the_input_is_left_alone(make):
    """The window masked here is the truth of the loss."""
    values = make(np.ones((3, 2)))
    mask_future(values, n_future=2, hidden=slice(None), fill=0.0)
    assert (np.asarray(values) == 1).all()


def test_columns_may_be_a_slice():
    """The model hides its first columns, which are targets and past-only ones."""
    values = np.ones((3, 4))
    masked = mask_future(values, n_future=1, hidden=slice(0, 2), fill=np.nan)
    np.testing.assert_array_equal(masked, naive(values, 1, [0, 1], np.nan))


def test_gradients_pass_where_nothing_is_hidden():
    """The mask stands in the middle of the network."""
    values = torch.ones(3, 2, requires_grad=True)
    mask_future(values, n_future=1, hidden=[0], fill=0.0).sum().backward()
    assert values.grad.tolist() == [[1, 1], [1, 1], [0, 1]]
