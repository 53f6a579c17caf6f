"""Which candidates the sites' votes name, and how many of these are counted (zone: released).

All of it is computed from released votes and public numbers of units.
"""

from __future__ import annotations

import math
from collections.abc import Mapping

__all__ = ["n_finalists", "ranked"]

# More than two finalists may bring this noise of a difference, as a share of the score's range.
_NOISE = 0.002
# Two finalists cost little, and nothing if all sites vote for the same candidate.
_FEWEST = 2


def ranked(votes: Mapping[str, int], m: Mapping[str, int], weights: str) -> list[int]:
    """Return the candidates that have a vote, the one with the most votes first.

    Ties: see `weights` of `PrivateFederatedSearch`.
    """
    units: dict[int, int] = {}
    sites: dict[int, int] = {}
    for site, candidate in votes.items():
        units[candidate] = units.get(candidate, 0) + m[site]
        sites[candidate] = sites.get(candidate, 0) + 1
    weight = units if weights == "units" else sites
    return sorted(units, key=lambda candidate: (-weight[candidate], -units[candidate], candidate))


def n_finalists(k: int, steps: float, epsilon: float) -> int:
    """Return how many candidates to count, at most.

    The sums of k sites for two of t finalists differ by noise of deviation
    ``2 sqrt(k) t D / epsilon``: 2, or more while it stays within 0.002 of the score's range.
    """
    return max(_FEWEST, int(min(_NOISE * steps * epsilon / (2 * math.sqrt(k)), 2**31)))
