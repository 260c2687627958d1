from types import SimpleNamespace

import pytest
import torch

from skinformer.model.residual import Residual


def make(**options):
    defaults = {"d_model": 8, "dropout": 0.0, "norm": "layer", "norm_first": True}
    return Residual(SimpleNamespace(**defaults | options))


def test_pre_norm_formula():
    residual, x = make(norm_first=True), torch.randn(2, 5, 8)
    torch.testing.assert_close(residual(x, torch.sin), x + residual.norm(x).sin())


def test_post_norm_formula():
    residual, x = make(norm_first=False), torch.randn(2, 5, 8)
    torch.testing.assert_close(residual(x, torch.sin), residual.norm(x + x.sin()))


@pytest.mark.parametrize("norm_first", [True, False])
def test_sublayer_that_returns_the_last_steps_is_added_to_those(norm_first):
    residual, x = make(norm_first=norm_first), torch.randn(2, 5, 8)
    last = residual(x, lambda states: states[:, -2:].sin())
    torch.testing.assert_close(last, residual(x, torch.sin)[:, -2:])


@pytest.mark.parametrize("norm_first", [True, False])
def test_dropout_is_on_the_branch_and_in_training_only(norm_first):
    residual, x = make(norm_first=norm_first, dropout=0.5), torch.randn(2, 50, 8)
    assert not torch.equal(residual(x, torch.sin), residual(x, torch.sin))
    residual.eval()
    assert torch.equal(residual(x, torch.sin), residual(x, torch.sin))


def test_dropout_never_touches_the_stream():
    residual, x = make(dropout=0.9), torch.randn(2, 50, 8)
    assert torch.equal(residual(x, torch.zeros_like), x)
