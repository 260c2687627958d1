import pytest
import torch
from torch import nn
from torch.utils.checkpoint import checkpoint

from skinformer.model.encoder import Encoder


@pytest.mark.parametrize("norm_first", [True, False])
@pytest.mark.parametrize("activation", ["gelu", "relu"])
def test_layer_equals_torch_with_the_same_weights(encoder_layer, norm_first, activation):
    ours = encoder_layer(attention="dense", norm_first=norm_first, activation=activation)
    theirs = nn.TransformerEncoderLayer(
        16, 4, 32, dropout=0.0, activation=activation, batch_first=True, norm_first=norm_first
    )
    attention, ff = ours.attention, ours.feed_forward
    parts = (attention.query, attention.key, attention.value)
    theirs.load_state_dict(
        {
            "self_attn.in_proj_weight": torch.cat([part.weight for part in parts]),
            "self_attn.in_proj_bias": torch.cat([part.bias for part in parts]),
            "self_attn.out_proj.weight": attention.output.weight,
            "self_attn.out_proj.bias": attention.output.bias,
            "linear1.weight": ff.inner.weight,
            "linear1.bias": ff.inner.bias,
            "linear2.weight": ff.outer.weight,
            "linear2.bias": ff.outer.bias,
            **{f"norm1.{k}": v for k, v in ours.attention_residual.norm.state_dict().items()},
            **{f"norm2.{k}": v for k, v in ours.feed_forward_residual.norm.state_dict().items()},
        }
    )
    x = torch.randn(2, 20, 16)
    torch.testing.assert_close(ours(x, None), theirs(x), atol=1e-5, rtol=1e-5)


def make_encoder(encoder_layer, n_layers=3, distil=True, norm="layer", **options):
    layers = [encoder_layer(seed=i, **options) for i in range(n_layers)]
    return Encoder(layers=layers, d_model=16, distil=distil, norm=norm)


@pytest.mark.parametrize(("distil", "lengths"), [(True, [96, 48, 24]), (False, [96, 96, 96])])
def test_lengths_that_the_layers_see(encoder_layer, distil, lengths):
    encoder = make_encoder(encoder_layer, distil=distil)
    seen = []
    for layer in encoder.layers:
        layer.register_forward_pre_hook(lambda _, args: seen.append(args[0].shape[1]))
    assert encoder(torch.randn(2, 96, 16)).shape == (2, lengths[-1], 16)
    assert seen == lengths


@pytest.mark.parametrize("norm_first", [True, False])
def test_output_is_normalised(encoder_layer, norm_first):
    """N leaves the final norm out; the decoder would look at a sum of raw branches."""
    out = make_encoder(encoder_layer, norm_first=norm_first)(torch.randn(2, 96, 16) * 9)
    torch.testing.assert_close(out.mean(-1), torch.zeros(2, 24), atol=1e-5, rtol=0)
    torch.testing.assert_close(out.std(-1, correction=0), torch.ones(2, 24), atol=1e-3, rtol=0)


def test_rerun_layer_repeats_with_the_same_keys(encoder_layer):
    """Gradient checkpointing runs a layer twice; keys drawn inside it would differ."""
    layer = encoder_layer(factor=1)
    x = torch.randn(2, 96, 16, requires_grad=True)
    keys = layer.draw_keys(x)
    (plain,) = torch.autograd.grad(layer(x, keys).square().sum(), x)
    saved = checkpoint(layer, x, keys, use_reentrant=False)
    (rerun,) = torch.autograd.grad(saved.square().sum(), x)
    assert torch.equal(plain, rerun)


@pytest.mark.parametrize("length", [1, 2, 3, 8, 10])
@pytest.mark.parametrize("attention", ["probsparse", "dense"])
def test_tiny_windows(encoder_layer, length, attention):
    out = make_encoder(encoder_layer, attention=attention)(torch.randn(2, length, 16))
    assert out.shape == (2, -(-length // 4), 16)
    assert out.isfinite().all()
