"""An exported network takes batches of any size: no shape of the example is frozen into it."""

import numpy as np
import pytest
import torch
from torch import nn
from torch.export import Dim, export

from skinformer.model.corrected import Corrected
from skinformer.ridge.linear_fit import LinearFit
from skinformer.ridge.linear_path import LinearPath

DEFAULT = {"attention": "dense", "patch_len": 4, "decoder_patch_len": 4, "seq_len": 50}
DEFAULT |= {"label_len": 20, "calendar_sizes": (24, 7), "n_past": 1}
KNOWN = {"n_known": 2, "decoder_patch_len": 1}
MODERN = {
    "activation": "swiglu",
    "norm": "zc_rms",
    "qk_norm": True,
    "output_gate": True,
}
MODERN |= {"bias": False, "mask_embedding": True, "null_embedding": True}
CONTINUOUS = {"position": "continuous", "window_norm": False, "n_decoder_layers": 2}


def path(options):
    """Make a linear path whose maps are not zero."""
    n_known = options.get("n_known", 0)
    rng = np.random.default_rng(0)
    own, effect = rng.normal(size=(1, 50, 6)), rng.normal(size=(n_known, 1))
    mixed = rng.normal(size=(9 * (2 + n_known) + 1, 6))
    return LinearPath(LinearFit(own, mixed, 8, effect, {}))


@pytest.mark.slow
@pytest.mark.parametrize(
    ("options", "linear"),
    [({}, True), (KNOWN | MODERN, True), (CONTINUOUS, False)],
    ids=["default", "modern and known ahead", "continuous, alone"],
)
def test_an_exported_network_forecasts_batches_of_any_size(
    informer, batch, options, linear
):
    """A network is deployed for batches that its example did not have."""
    options = DEFAULT | options
    model = informer(**options, forecasts_distance=linear, reads_forecast=linear).eval()
    nn.init.normal_(model.projection.weight)  # a distance starts at 0
    model = Corrected(path(options), model) if linear else model
    arguments = batch(batch_size=3, **options)
    names = [
        "past",
        "future",
        "past_calendar",
        "future_calendar",
        "past_time",
        "future_time",
    ]
    dynamic = {name: {0: Dim("batch")} for name in names[: len(arguments)]}
    program = export(model, arguments, dynamic_shapes=dynamic).module()
    for size in (1, 2, 7, 32):
        inputs = batch(batch_size=size, **options)
        torch.testing.assert_close(program(*inputs), model(*inputs))
