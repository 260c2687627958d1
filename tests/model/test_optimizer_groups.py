"""Who steps a parameter: Muon, AdamW with decay, or AdamW without."""

from itertools import islice, product

import pytest
from torch import nn

from skinformer.model.optimizer_groups import parameter_groups
from skinformer.model.projection import HiddenLinear

KINDS = list(
    product(
        ["gelu", "swiglu"], ["layer", "zc_rms"], ["sinusoidal", "continuous", "learned"]
    )
)


@pytest.mark.slow
@pytest.mark.parametrize(
    "number", range(len(KINDS)), ids=lambda number: "-".join(KINDS[number])
)
def test_groups_partition_the_parameters(informer, number):
    """A parameter in two optimisers is stepped twice, one in none never learns.

    Each kind of layers has a twelfth of all combinations of the rest, each another twelfth.
    """
    activation, norm, position = KINDS[number]
    names = (
        "bias",
        "qk_norm",
        "output_gate",
        "mask_embedding",
        "null_embedding",
        "distil",
        "n_known",
        "calendar",
    )
    for chosen in islice(
        product([True, False], repeat=len(names)), number, None, len(KINDS)
    ):
        options = dict(zip(names, chosen, strict=True))
        options["calendar_sizes"] = (24, 7) if options.pop("calendar") else ()
        options["n_known"] = int(options["n_known"])
        model = informer(
            activation=activation,
            norm=norm,
            position=position,
            d_model=4,
            n_heads=2,
            **options,
        )
        groups = parameter_groups(model)
        sorted_ones = [id(p) for group in groups.values() for p in group]
        assert len(sorted_ones) == len(set(sorted_ones))
        assert set(sorted_ones) == {id(p) for p in model.parameters()}
        assert all(p.ndim == 2 for p in groups["matrix"])
        assert all(p.ndim >= 2 for p in groups["decayed"])


def test_group_of_each_kind_of_layer(informer):
    model = informer(
        n_known=1,
        calendar_sizes=(24,),
        position="learned",
        mask_embedding=True,
        null_embedding=True,
        qk_norm=True,
        output_gate=True,
    )
    groups = {
        name: {id(p) for p in group} for name, group in parameter_groups(model).items()
    }
    layer = model.encoder.layers[0]
    matrices = [m.weight for m in model.modules() if isinstance(m, HiddenLinear)]
    assert groups["matrix"] == {id(p) for p in matrices}
    # 5 in an attention with a gate, 2 in a feed-forward: 2 encoder layers, 1 decoder layer.
    assert len(matrices) == 2 * 7 + 12
    decayed = [
        model.projection.weight,
        model.known_path.weight,
        model.encoder.gaps[0].conv.weight,
        model.encoder_embedding.values.weight,
        model.decoder_embedding.calendar.hidden.weight,
    ]
    assert {id(p) for p in decayed} <= groups["decayed"]
    plain = [
        model.projection.bias,
        model.decoder_embedding.mask.weight,
        model.encoder_embedding.position.weight,
        model.encoder_embedding.calendar.tables[0].weight,
        layer.attention.qk_norm.tau,
        layer.attention.query.bias,
        layer.attention_residual.norm.weight,
    ]
    assert {id(p) for p in plain} <= groups["plain"]


def test_groups_do_not_depend_on_names():
    class Renamed(nn.Module):
        def __init__(self):
            super().__init__()
            self.embedding_bias = HiddenLinear(2, 2, bias=True)

    assert {k: len(v) for k, v in parameter_groups(Renamed()).items()} == {
        "matrix": 1,
        "decayed": 0,
        "plain": 1,
    }
