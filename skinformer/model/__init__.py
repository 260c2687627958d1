"""The network, in torch; it knows no frames, units or timestamps."""

from skinformer.model.informer import Informer
from skinformer.model.roles import parameter_roles

__all__ = ["Informer", "parameter_roles"]
