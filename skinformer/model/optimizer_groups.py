"""Which optimiser rule each parameter falls under, by the class of its owner."""

from torch import nn

from skinformer.model.projection import HiddenLinear


def parameter_groups(module: nn.Module) -> dict[str, list[nn.Parameter]]:
    """Sort the parameters of a module by the rule that optimises them, each into one group.

    "matrix": attention, feed-forward and gate matrices, all two-dimensional (Muon or AdamW, with
    decay). "decayed": other weights of linear maps and convolutions (AdamW with decay). "plain":
    biases, norms, embeddings, temperatures (AdamW without decay).

    NOTE[DIFF]: the specification decays every parameter of two or more dimensions, embedding tables
    included; here they are left out, like norms and biases.

    References: Loshchilov and Hutter (2019), Decoupled Weight Decay Regularization; Jordan et al.
    (2024), Muon.
    """
    groups: dict[str, list[nn.Parameter]] = {"matrix": [], "decayed": [], "plain": []}
    for owner in module.modules():
        for parameter in owner.parameters(recurse=False):
            groups[_group_of(owner, parameter)].append(parameter)
    return groups


def _group_of(owner: nn.Module, parameter: nn.Parameter) -> str:
    if parameter.ndim < 2:
        return "plain"
    if isinstance(owner, HiddenLinear):
        return "matrix"
    if isinstance(owner, nn.Linear | nn.Conv1d):
        return "decayed"
    return "plain"
