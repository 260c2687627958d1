import pytest
import torch

from skinformer.model.checkpointing import run_layer

# Dropout and keys sampled anew for each call: what a second run could draw differently.
RANDOM = {"dropout": 0.3, "factor": 1, "n_encoder_layers": 3, "n_decoder_layers": 2}


def twins(informer, **options):
    """Return a model without and one with checkpointing, of equal weights and generators."""
    plain = informer(gradient_checkpointing=False, **options)
    recomputed = informer(gradient_checkpointing=True, **options)
    recomputed.load_state_dict(plain.state_dict())
    return plain, recomputed


def count_draws(model):
    draws = []
    for layer in [*model.encoder.layers, *model.decoder.layers]:
        kernel = layer.attention.kernel
        if hasattr(kernel, "sampler"):
            kernel.sampler.register_forward_hook(lambda _, __, keys: draws.append(keys))
    return draws


def saved_bytes(run):
    """Return the output of a forward pass and the memory kept for its backward pass."""
    sizes = {}

    def pack(x):
        sizes[x.untyped_storage().data_ptr()] = x.untyped_storage().nbytes()
        kept.append(x)  # else a freed tensor's address could be counted for the next
        return x

    kept = []
    with torch.autograd.graph.saved_tensors_hooks(pack, lambda x: x):
        out = run()
    return out, sum(sizes.values())


@pytest.mark.parametrize("attention", ["dense", "probsparse"])
@pytest.mark.parametrize("autocast", [False, True])
def test_outputs_and_gradients_are_those_without_it(
    informer, batch, attention, autocast
):
    """Dropout masks and sampled keys of the second run are those of the first, bit for bit."""
    options = RANDOM | {"attention": attention, "decoder_attention": attention}
    arguments = batch()
    outputs, states = [], []
    models = twins(informer, **options)
    for model in models:
        torch.manual_seed(7)
        with torch.autocast("cpu", torch.bfloat16, enabled=autocast):
            out = model(*arguments)
        out.square().mean().backward()
        outputs.append(out)
        states.append(torch.get_rng_state())
    assert torch.equal(*outputs)
    assert torch.equal(*states)
    for one, other in zip(*(model.parameters() for model in models), strict=True):
        assert one.grad.any()
        assert torch.equal(one.grad, other.grad)


def test_keys_are_drawn_once_and_replayed(informer, batch):
    """Keys drawn inside a layer would be drawn again by its second run."""
    options = RANDOM | {"decoder_attention": "probsparse"}
    plain, recomputed = twins(informer, **options)
    arguments = batch()
    draws = [count_draws(model) for model in (plain, recomputed)]
    for model in (plain, recomputed):
        model(*arguments).sum().backward()
    assert len(draws[0]) == len(draws[1]) == 5
    assert all(torch.equal(*keys) for keys in zip(*draws, strict=True))


def test_training_goes_on_alike(informer, batch):
    """A generator left in another state would show in the second step."""
    arguments = batch()
    models = twins(informer, **RANDOM)
    for model in models:
        torch.manual_seed(7)
        optimizer = torch.optim.AdamW(model.parameters(), lr=1e-2)
        for _ in range(3):
            optimizer.zero_grad()
            model(*arguments).square().mean().backward()
            optimizer.step()
    for one, other in zip(*(model.parameters() for model in models), strict=True):
        assert torch.equal(one, other)


@pytest.mark.parametrize("attention", ["dense", "probsparse"])
def test_less_memory_is_kept_for_the_backward_pass(informer, batch, attention):
    options = {"attention": attention, "n_encoder_layers": 4, "n_decoder_layers": 2}
    options |= {"distil": False, "dropout": 0.1}
    arguments = batch(batch_size=16)
    kept = [
        saved_bytes(lambda: model(*arguments))[1]  # noqa: B023
        for model in twins(informer, **options)
    ]
    assert kept[1] < 0.35 * kept[0]


def test_a_layer_more_keeps_no_more_than_its_input(informer, batch):
    """The activations of a layer, which are many times as large, are not kept."""
    arguments = batch(batch_size=64)
    kept = []
    for n_layers in (1, 2, 3):
        options = {
            "n_encoder_layers": n_layers,
            "distil": False,
            "gradient_checkpointing": True,
        }
        model = informer(**options)
        kept.append(saved_bytes(lambda: model(*arguments))[1])  # noqa: B023
    states = 64 * 48 * 16 * 4
    keys = 100 * 8
    assert states <= kept[1] - kept[0] <= states + keys
    assert states <= kept[2] - kept[1] <= states + keys


@pytest.mark.parametrize("mode", ["evaluation", "no_grad"])
def test_nothing_is_run_twice_without_training_or_gradients(informer, batch, mode):
    plain, recomputed = twins(informer)
    if mode == "evaluation":
        plain.eval()
        recomputed.eval()
    arguments = batch()
    with torch.set_grad_enabled(mode == "evaluation"):
        first, kept_plain = saved_bytes(lambda: plain(*arguments))
        second, kept = saved_bytes(lambda: recomputed(*arguments))
    assert torch.equal(first, second)
    assert kept == kept_plain


def test_a_layer_is_run_twice_in_training_and_once_otherwise():
    runs = []

    class Layer(torch.nn.Linear):
        def forward(self, x):
            runs.append(x)
            return super().forward(x)

    layer, x = Layer(3, 3), torch.randn(2, 3)
    for training, recompute, expected in (
        (True, True, 2),
        (True, False, 1),
        (False, True, 1),
    ):
        runs.clear()
        layer.train(training)
        run_layer(layer, x, recompute=recompute).sum().backward()
        assert len(runs) == expected
