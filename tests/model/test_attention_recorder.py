"""A network that is watched: it forecasts as before, and its tokens know their steps."""

import pytest
import torch

from skinformer.model.attention import MultiHeadAttention
from skinformer.model.attention_recorder import AttentionRecorder

KINDS = {
    "dense": {"attention": "dense"},
    "probsparse": {
        "attention": "probsparse",
        "decoder_attention": "probsparse",
        "factor": 2,
    },
    "gated": {"qk_norm": True, "output_gate": True, "n_decoder_layers": 2},
    "patches": {"patch_len": 5, "decoder_patch_len": 4, "n_decoder_layers": 2},
    "post-norm": {"norm_first": False, "distil": False},
}


def outputs_of(network, inputs):
    """Run a network, and keep what each attention got and gave."""
    calls, handles = [], []
    for module in network.modules():
        if isinstance(module, MultiHeadAttention):
            hook = lambda *call: calls.append(call)  # noqa: E731
            handles.append(module.register_forward_hook(hook, with_kwargs=True))
    output = network(*inputs)
    for handle in handles:
        handle.remove()
    return output, calls


@torch.no_grad()
@pytest.mark.parametrize("kind", KINDS)
def test_weights_are_those_of_the_forecast(informer, batch, kind):
    """Each layer's output made from its weights by hand, with values, gate and projection."""
    network, inputs = informer(**KINDS[kind]).eval(), batch(**KINDS[kind])
    expected, calls = outputs_of(network, inputs)
    recorder = AttentionRecorder(network, n_kept=3)
    assert torch.equal(recorder(*inputs), expected)
    kept = recorder.kept()
    assert len(kept) == len(calls)
    for each, (module, (x,), options, output) in zip(kept, calls, strict=True):
        memory = options.get("memory")
        v = module.value(x if memory is None else memory)
        v = v.unflatten(-1, (each.weights.shape[1], -1)).transpose(1, 2)
        context = (each.weights @ v).transpose(1, 2).flatten(2)
        if module.gate is not None:
            context = context * module.gate(x[:, -context.shape[1] :]).sigmoid()
        torch.testing.assert_close(module.output(context), output, atol=1e-5, rtol=0)
        assert each.queries.shape == (each.weights.shape[2], 2)
        assert each.keys.shape == (each.weights.shape[3], 2)


@torch.no_grad()
def test_nothing_of_the_network_is_touched(informer, batch):
    """A hook left behind would slow every later forecast, and keep its memory."""
    network, inputs = informer(attention="probsparse").eval(), batch()
    state = {name: value.clone() for name, value in network.state_dict().items()}
    AttentionRecorder(network, n_kept=1)(*inputs)
    assert not any(module._forward_pre_hooks for module in network.modules())
    for name, value in network.state_dict().items():
        assert torch.equal(value, state[name])


@torch.no_grad()
def test_only_the_windows_asked_for_are_kept(informer, batch):
    """Chunks are filled up, and the memory of maps is what bounds a call."""
    network, inputs = informer().eval(), batch(batch_size=5)
    several = AttentionRecorder(network, n_kept=3)
    for part in (slice(2), slice(2, None)):
        several(*(None if x is None else x[part] for x in inputs))
    every = AttentionRecorder(network, n_kept=5)
    every(*inputs)
    for one, other in zip(several.kept(), every.kept(), strict=True):
        torch.testing.assert_close(one.weights, other.weights[:3])
        assert torch.equal(one.selected, other.selected[:3])


@torch.no_grad()
def test_tokens_know_their_steps(informer, batch):
    """By hand: 11 steps in patches of 4, halved; 5 guiding and 6 steps ahead in patches of 4."""
    sizes = {
        "seq_len": 11,
        "label_len": 5,
        "pred_len": 6,
        "patch_len": 4,
        "decoder_patch_len": 4,
    }
    sizes |= {"n_decoder_layers": 2}
    recorder = AttentionRecorder(informer(**sizes).eval(), n_kept=1)
    recorder(*batch(**sizes))
    spans = {
        each[:2]: (each.queries.tolist(), each.keys.tolist())
        for each in recorder.kept()
    }
    patches, halved = [[-11, -9], [-8, -5], [-4, -1]], [[-11, -5], [-4, -1]]
    both = [[-5, -5], [-4, -1], [0, 3], [4, 5]]
    assert spans["encoder", 0] == (patches, patches)
    assert spans["encoder", 1] == (halved, halved)
    assert spans["decoder", 0] == (both, both)
    assert spans["cross", 0] == (both, halved)
    assert spans["decoder", 1] == (
        both[2:],
        both,
    )  # the last layer decodes what is forecast
    assert spans["cross", 1] == (both[2:], halved)


@torch.no_grad()
def test_a_token_holds_the_steps_that_it_says(informer, batch):
    """Another value in a step changes the queries of its token alone, before any mixing."""
    sizes = {"seq_len": 11, "label_len": 5, "patch_len": 4}
    sizes |= {"attention": "dense", "window_norm": False}
    network = informer(**sizes).eval()
    past, *rest = batch(**sizes)
    found = []
    for step in (None, 2, 3, 10):
        recorder, changed = AttentionRecorder(network, n_kept=1), past.clone()
        if step is not None:
            changed[:, step] += 1
        recorder(changed, *rest)
        found.append(recorder.kept()[0])
    ends = found[0].queries + 11
    for step, each in zip((2, 3, 10), found[1:], strict=True):
        token = int(((ends[:, 0] <= step) & (step <= ends[:, 1])).nonzero())
        # Rows of other tokens keep the ratio of their weights of other keys.
        others = [i for i in range(len(ends)) if i != token]
        before, after = (m.weights[0, :, others][..., others] for m in (found[0], each))
        torch.testing.assert_close(
            before / before.sum(-1, keepdim=True), after / after.sum(-1, keepdim=True)
        )
        assert not torch.allclose(
            found[0].weights[0, :, token], each.weights[0, :, token]
        )
