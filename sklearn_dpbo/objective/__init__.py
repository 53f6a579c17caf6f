"""A party that holds records answers questions about candidates, and pays (zone: boundary).

`PrivateObjective` gives any optimiser scores with noise, one candidate at a time. At several sites,
each votes for a candidate and counts for those with the most votes, with noise of its own; a
coordinator adds up what they released.
"""

from ._coordinator import FederatedCoordinator
from ._objective import Best, Call, PrivateObjective
from ._site import FederatedSite

__all__ = ["Best", "Call", "FederatedCoordinator", "FederatedSite", "PrivateObjective"]
