"""What a fit's forecasters count, as tests look at it."""

from skinformer.ensemble.names import NETWORK, RIDGES
from skinformer.judging.proof import Proof


def trust(model):
    """Return the mean weight of the network in forecasts of the fitted series."""
    return model.ensemble_.trust


def base_blend(model):
    """Return mean weights of all that is fitted without the network, as if this were its base."""
    ensemble = model.ensemble_
    others = [name for name in ensemble.members if name != NETWORK]
    if not others:
        return {}
    base = ensemble.with_network_share(0.0) if RIDGES in ensemble.members else ensemble
    base = base.without(NETWORK)
    blend = {}
    for name in others:
        share = base.weights_of(name)[:-1].mean()
        for candidate, weight in ensemble.members[name].blend.items():
            added = blend.get(candidate, 0.0) + share * weight
            blend[candidate] = round(float(added), 4)
    return blend


def judged_members(monkeypatch):
    """Return members by name as they are judged by fits to come, before they learn all rows."""
    judged = {}
    add = Proof.add

    def note(proof, member):
        judged[member.name] = member
        return add(proof, member)

    monkeypatch.setattr(Proof, "add", note)
    return judged
