"""Sites that keep their validation records to themselves, and choose together (zone: boundary).

Each site votes for a candidate and counts for those with the most votes, with noise of its own; a
coordinator adds up what they released.
"""

from ._coordinator import FederatedCoordinator
from ._site import FederatedSite

__all__ = ["FederatedCoordinator", "FederatedSite"]
