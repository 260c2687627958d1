from types import SimpleNamespace

import pytest
import torch
from torch import nn
from torch.utils.checkpoint import checkpoint

from skinformer.model.stack import Stack


def naive_layer_norm(norm, x):
    centred = x - x.mean()
    return centred / (centred.square().mean() + 1e-5).sqrt() * norm.weight + norm.bias


@pytest.mark.parametrize("norm_first", [True, False])
def test_layer_equals_the_formula_step_by_step(encoder_layer, norm_first):
    layer = encoder_layer(attention="dense", norm_first=norm_first)
    x = torch.randn(1, 7, 16)
    norms = [layer.attention_residual.norm, layer.feed_forward_residual.norm]
    for norm in norms:
        nn.init.normal_(norm.weight)
        nn.init.normal_(norm.bias)

    def each(norm, states):
        return torch.stack(
            [naive_layer_norm(norm, state) for state in states[0]]
        ).unsqueeze(0)

    if norm_first:
        h = x + layer.attention(each(norms[0], x))
        expected = h + layer.feed_forward(each(norms[1], h))
    else:
        h = each(norms[0], x + layer.attention(x))
        expected = each(norms[1], h + layer.feed_forward(h))
    torch.testing.assert_close(layer(x, None, None), expected, atol=1e-5, rtol=1e-5)


@pytest.mark.parametrize("norm_first", [True, False])
@pytest.mark.parametrize("activation", ["gelu", "relu"])
def test_layer_equals_torch_with_the_same_weights(
    encoder_layer, norm_first, activation
):
    ours = encoder_layer(
        attention="dense", norm_first=norm_first, activation=activation
    )
    theirs = nn.TransformerEncoderLayer(
        16,
        4,
        32,
        dropout=0.0,
        activation=activation,
        batch_first=True,
        norm_first=norm_first,
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
            **{
                f"norm1.{k}": v
                for k, v in ours.attention_residual.norm.state_dict().items()
            },
            **{
                f"norm2.{k}": v
                for k, v in ours.feed_forward_residual.norm.state_dict().items()
            },
        }
    )
    x = torch.randn(2, 20, 16)
    torch.testing.assert_close(ours(x, None, None), theirs(x), atol=1e-5, rtol=1e-5)


def make_encoder(encoder_layer, n_layers=3, distil=True, norm="layer", **options):
    layers = [encoder_layer(seed=i, **options) for i in range(n_layers)]
    settings = SimpleNamespace(d_model=16, norm=norm, gradient_checkpointing=False)
    return Stack(layers, settings, distil=distil)


@pytest.mark.parametrize(
    ("distil", "lengths"), [(True, [96, 48, 24]), (False, [96, 96, 96])]
)
def test_lengths_that_the_layers_see(encoder_layer, distil, lengths):
    encoder = make_encoder(encoder_layer, distil=distil)
    seen = []
    for layer in encoder.layers:
        layer.register_forward_pre_hook(lambda _, args: seen.append(args[0].shape[1]))
    assert encoder(torch.randn(2, 96, 16)).shape == (2, lengths[-1], 16)
    assert seen == lengths


def test_memory_is_halved_and_rounded_up_at_each_gap_for_every_length(encoder_layer):
    encoder = make_encoder(encoder_layer, n_layers=4).eval()
    with torch.no_grad():
        for length in range(1, 201):
            expected = length
            for _ in range(3):
                expected = (expected + 1) // 2
            out = encoder(torch.randn(1, length, 16))
            assert out.shape == (1, expected, 16)
            assert out.isfinite().all()


@pytest.mark.parametrize("norm_first", [True, False])
def test_output_is_normalised(encoder_layer, norm_first):
    """N leaves the final norm out; the decoder would look at a sum of raw branches."""
    out = make_encoder(encoder_layer, norm_first=norm_first)(torch.randn(2, 96, 16) * 9)
    torch.testing.assert_close(out.mean(-1), torch.zeros(2, 24), atol=1e-5, rtol=0)
    torch.testing.assert_close(
        out.std(-1, correction=0), torch.ones(2, 24), atol=1e-3, rtol=0
    )


def test_rerun_layer_repeats_with_the_same_keys(encoder_layer):
    """Gradient checkpointing runs a layer twice; keys drawn inside it would differ."""
    layer = encoder_layer(factor=1)
    x = torch.randn(2, 96, 16, requires_grad=True)
    keys = layer.draw_keys(x)
    (plain,) = torch.autograd.grad(layer(x, keys, None).square().sum(), x)
    saved = checkpoint(layer, x, keys, None, use_reentrant=False)
    (rerun,) = torch.autograd.grad(saved.square().sum(), x)
    assert torch.equal(plain, rerun)


@pytest.mark.parametrize("length", [1, 2, 3, 8, 10])
@pytest.mark.parametrize("attention", ["probsparse", "dense"])
def test_tiny_windows(encoder_layer, length, attention):
    out = make_encoder(encoder_layer, attention=attention)(torch.randn(2, length, 16))
    assert out.shape == (2, -(-length // 4), 16)
    assert out.isfinite().all()


@pytest.mark.parametrize("length", [1, 2, 8, 10, 96])
def test_numbers_of_keys_and_queries_follow_each_distilled_length(
    encoder_layer, length, monkeypatch
):
    """Counted from the window's own length, a layer would sample far more than it needs."""
    n_keys, n_queries = [], []
    dense = nn.functional.scaled_dot_product_attention

    def counted(q, *args, **kwargs):
        n_queries.append(q.shape[-2])
        return dense(q, *args, **kwargs)

    monkeypatch.setattr(nn.functional, "scaled_dot_product_attention", counted)
    encoder = make_encoder(encoder_layer)
    for layer in encoder.layers:
        layer.register_forward_pre_hook(lambda _, args: n_keys.append(len(args[1])))
    encoder(torch.randn(2, length, 16))
    expected = {
        1: ([1, 1, 1], [1, 1, 1]),
        2: ([2, 1, 1], [2, 1, 1]),
        8: ([8, 4, 2], [8, 4, 2]),
        10: ([10, 5, 3], [10, 5, 3]),
        96: ([22, 19, 15], [22, 19, 15]),
    }
    assert (n_keys, n_queries) == expected[length]
