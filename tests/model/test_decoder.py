from types import SimpleNamespace

import pytest
import torch
from torch import nn

from skinformer.model.stack import Stack


def make_decoder(*layers):
    settings = SimpleNamespace(d_model=16, norm="layer", gradient_checkpointing=False)
    return Stack(layers, settings, distil=False)


def copy_attention(ours, prefix):
    parts = (ours.query, ours.key, ours.value)
    return {
        f"{prefix}.in_proj_weight": torch.cat([part.weight for part in parts]),
        f"{prefix}.in_proj_bias": torch.cat([part.bias for part in parts]),
        f"{prefix}.out_proj.weight": ours.output.weight,
        f"{prefix}.out_proj.bias": ours.output.bias,
    }


@pytest.mark.parametrize("norm_first", [True, False])
def test_layer_equals_torch_with_the_same_weights(decoder_layer, norm_first):
    ours = decoder_layer(norm_first=norm_first)
    theirs = nn.TransformerDecoderLayer(
        16,
        4,
        32,
        dropout=0.0,
        activation="gelu",
        batch_first=True,
        norm_first=norm_first,
    )
    residuals = (
        ours.attention_residual,
        ours.cross_residual,
        ours.feed_forward_residual,
    )
    norms = {
        f"norm{i}.{name}": value
        for i, residual in enumerate(residuals, start=1)
        for name, value in residual.norm.state_dict().items()
    }
    ff = {
        "linear1.weight": ours.feed_forward.inner.weight,
        "linear1.bias": ours.feed_forward.inner.bias,
        "linear2.weight": ours.feed_forward.outer.weight,
        "linear2.bias": ours.feed_forward.outer.bias,
    }
    attention = copy_attention(ours.attention, "self_attn")
    cross = copy_attention(ours.cross_attention, "multihead_attn")
    theirs.load_state_dict(norms | ff | attention | cross)
    x, memory = torch.randn(2, 18, 16), torch.randn(2, 7, 16)
    mask = nn.Transformer.generate_square_subsequent_mask(18)
    for n_last in (18, 5):
        torch.testing.assert_close(
            ours(x, None, memory, n_last=n_last),
            theirs(x, memory, tgt_mask=mask, tgt_is_causal=True)[:, -n_last:],
            atol=1e-5,
            rtol=1e-5,
        )


@pytest.mark.parametrize("attention", ["dense", "probsparse"])
@pytest.mark.parametrize("norm_first", [True, False])
def test_last_steps_are_those_of_the_whole(decoder_layer, attention, norm_first):
    """Skipping the rows that nobody reads must not change the ones that are read."""
    layer = decoder_layer(attention=attention, norm_first=norm_first, factor=2).eval()
    x, memory = torch.randn(2, 40, 16), torch.randn(2, 7, 16)
    keys = layer.draw_keys(x)
    whole = layer(x, keys, memory, n_last=40)
    torch.testing.assert_close(layer(x, keys, memory, n_last=9), whole[:, -9:])


def test_steps_never_see_a_later_input(decoder_layer):
    layers = [decoder_layer() for _ in range(2)]
    decoder = make_decoder(*layers).eval()
    x, memory = torch.randn(1, 20, 16), torch.randn(1, 7, 16)
    before = decoder(x, memory, n_last=20)
    for t in (1, 10, 19):
        changed = x.clone()
        changed[:, t:] += torch.randn(16) * 5
        after = decoder(changed, memory, n_last=20)
        torch.testing.assert_close(after[:, :t], before[:, :t], atol=1e-6, rtol=1e-6)
        assert not torch.isclose(after[:, t:], before[:, t:]).all(-1).any()


def test_every_step_sees_the_whole_memory(decoder_layer):
    decoder = make_decoder(decoder_layer()).eval()
    x, memory = torch.randn(1, 20, 16), torch.randn(1, 7, 16)
    before = decoder(x, memory, n_last=6)
    memory[:, -1] += 5
    assert not torch.isclose(decoder(x, memory, n_last=6), before).all(-1).any()


@pytest.mark.parametrize("norm_first", [True, False])
def test_output_is_normalised(decoder_layer, norm_first):
    decoder = make_decoder(decoder_layer(norm_first=norm_first))
    out = decoder(torch.randn(2, 20, 16) * 9, torch.randn(2, 7, 16), n_last=6)
    assert out.shape == (2, 6, 16)
    torch.testing.assert_close(out.mean(-1), torch.zeros(2, 6), atol=1e-5, rtol=0)
    torch.testing.assert_close(
        out.std(-1, correction=0), torch.ones(2, 6), atol=1e-3, rtol=0
    )
