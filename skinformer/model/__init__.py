"""The network, in torch: of standardised tensors, without frames, units or timestamps."""

from skinformer.model.informer import Informer
from skinformer.model.optimizer_groups import parameter_groups

__all__ = ["Informer", "parameter_groups"]
