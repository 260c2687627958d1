"""The members that there are, by the names that users choose: one more is a line here."""

from skinformer.ensemble.classes import Classes
from skinformer.ensemble.classical import Classical
from skinformer.ensemble.member import Member
from skinformer.ensemble.names import CLASSICAL, NETWORK, RIDGES, TREES
from skinformer.ensemble.network import NetworkMember
from skinformer.ensemble.own import OwnRidges
from skinformer.ensemble.ridges import Ridges
from skinformer.ensemble.tabular import Tabular
from skinformer.ensemble.user_forecaster import UserForecaster

#: Members beside ridges and network.
MEMBERS: dict[str, type[Member]] = {
    CLASSICAL: Classical,
    OwnRidges.name: OwnRidges,
    TREES: Tabular,
}
#: Names of the members that forecast numbers, and of those that forecast classes. The first is
#: there but for a network, classical forecasters or forecasters of the user's alone.
NAMES = (RIDGES, *MEMBERS, NETWORK)
CLASS_NAMES = (Classes.name, TREES, NETWORK)
#: All that files hold.
ALL_KINDS = (*MEMBERS.values(), Classes, Ridges, NetworkMember, UserForecaster)
