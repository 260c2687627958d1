import math

import pytest
import torch
from torch import nn

from skinformer.model.known_future_path import KnownFuturePath
from skinformer.model.projection import InputLinear, ResidualOutput
from skinformer.model.stack import Stack

OPTIONS = {
    "d_model": 64,
    "d_ff": 128,
    "n_known": 2,
    "calendar_sizes": (24, 7),
    "position": "learned",
    "mask_embedding": True,
    "null_embedding": True,
    "output_gate": True,
    "qk_norm": True,
    "n_decoder_layers": 2,
}


def weights_of(model, kind):
    return [module.weight for module in model.modules() if isinstance(module, kind)]


def hidden_weights(model):
    """Return the weights that follow ``init``."""
    return [
        module.weight
        for module in model.modules()
        if isinstance(module, nn.Linear | nn.Conv1d)
        and not isinstance(module, InputLinear | KnownFuturePath)
    ]


def is_xavier(weight):
    receptive = weight[0, 0].numel()
    bound = math.sqrt(6 / ((weight.shape[0] + weight.shape[1]) * receptive))
    return 0.85 * bound < weight.abs().max() <= bound


def test_normal_reaches_convolutions_and_every_linear(informer):
    for weight in hidden_weights(informer(init="normal", **OPTIONS)):
        assert weight.std().item() == pytest.approx(0.02, rel=0.3)


def test_xavier_is_drawn_for_each_projection_by_itself(informer):
    """Bounds of a fused QKV matrix would be √2 too small."""
    for weight in hidden_weights(informer(init="xavier", **OPTIONS)):
        assert is_xavier(weight)


@pytest.mark.parametrize("init", ["normal", "xavier", "scaled"])
def test_rules_that_hold_for_every_init(informer, init):
    model = informer(init=init, **OPTIONS)
    assert all(is_xavier(weight) for weight in weights_of(model, InputLinear))
    assert not any(weight.any() for weight in weights_of(model, KnownFuturePath))
    for weight in weights_of(model, nn.Embedding):
        assert weight.std().item() == pytest.approx(0.02, rel=0.5)
    for name, parameter in model.named_parameters():
        if name.endswith("bias"):
            assert not parameter.any(), name
    for weight in weights_of(model, nn.LayerNorm):
        assert weight.eq(1).all()
    assert model.encoder.layers[0].attention.qk_norm.tau.eq(4.0).all()


def test_scaled_divides_by_the_root_of_the_counted_sublayers(informer):
    """Two sublayers in an encoder layer and three in a decoder layer, two layers each."""
    models = [informer(init=init, **OPTIONS) for init in ("xavier", "scaled")]
    expected = {}
    for stack in models[0].modules():
        if isinstance(stack, Stack):
            n_sublayers = 4 if stack is models[0].encoder else 6
            for module in stack.modules():
                if isinstance(module, ResidualOutput):
                    expected[id(module.weight)] = n_sublayers**-0.5
    assert len(expected) == 4 + 6
    for plain, scaled in zip(
        models[0].parameters(), models[1].parameters(), strict=True
    ):
        torch.testing.assert_close(scaled, plain * expected.get(id(plain), 1.0))


def test_weights_depend_on_the_seed_alone(informer):
    """Fits in threads draw at the same time; none may read or move what others draw from."""
    before = torch.get_rng_state()
    models = [informer(seed=seed, **OPTIONS) for seed in (5, 5, 6)]
    assert torch.equal(torch.get_rng_state(), before)
    weights = [
        torch.nn.utils.parameters_to_vector(model.parameters()) for model in models
    ]
    assert torch.equal(weights[0], weights[1])
    assert not torch.equal(weights[0], weights[2])


def test_no_weight_is_left_undefined(informer, monkeypatch):
    """Layers are built without draws: a weight that nobody sets holds what was in the memory."""
    empty = torch.empty
    monkeypatch.setattr(torch, "empty", lambda *a, **k: empty(*a, **k).fill_(torch.nan))
    model = informer(**OPTIONS)
    assert any(weight.numel() for weight in model.parameters())
    assert all(weight.isfinite().all() for weight in model.parameters())


def test_unknown_rule_is_refused(informer):
    with pytest.raises(KeyError, match="orthogonal"):
        informer(init="orthogonal")
