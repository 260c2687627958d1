"""The network: alone, or as it corrects ridges."""

from __future__ import annotations

import copy
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from scipy.special import log_softmax

from skinformer.ensemble.ensemble import Ensemble
from skinformer.ensemble.member import Member
from skinformer.ensemble.names import NETWORK, RIDGES
from skinformer.ensemble.predicting import predict_windows
from skinformer.ensemble.windows import Windows
from skinformer.model.corrected import Corrected
from skinformer.model.informer import Informer
from skinformer.timeline.arrays import Float32Array


@dataclass(frozen=True)
class NetworkMember(Member):
    """An Informer: its forecasts have the axes of all outputs that the head has.

    base: the member that it corrects.
    groups: columns of the classes of each target, whose logits become logs of probabilities.
    """

    network: Informer
    base: str | None = None
    groups: tuple[slice, ...] = ()

    name = NETWORK

    @property
    def largest_product(self) -> int:
        """Products of two numbers in its largest product of matrices for one window."""
        return self.network.largest_product

    def forecast(
        self, windows: Windows, base: Float32Array | None = None
    ) -> Float32Array:
        """Forecast windows, see `Member.forecast`."""
        outputs = predict_windows(
            self.network, windows.buffer.source, windows.origins, base
        )
        if not self.groups:
            return outputs
        logits = outputs.astype(np.float64)
        logs = [log_softmax(logits[..., group], axis=-1) for group in self.groups]
        return np.concatenate(logs, axis=-1).astype(np.float32)

    def export(self) -> Informer:
        """Return the network."""
        return self.network

    def on_device(self, device: str) -> NetworkMember:
        """Copy the weights."""
        return replace(self, network=copy.deepcopy(self.network).to(device).eval())


def network_of(module: Informer | Corrected) -> Informer:
    """Return the network of a module, without what it corrects."""
    return module.network if isinstance(module, Corrected) else module


def module_of(ensemble: Ensemble) -> Informer | Corrected:
    """Return the network, with the ridges that it corrects if there are any, as a torch module."""
    ridges: Any = ensemble.members.get(RIDGES)
    member: Any = ensemble.members[NETWORK]
    network: Informer = member.network
    if ridges is None:
        return network
    return Corrected(ridges.path, network).train(network.training)
