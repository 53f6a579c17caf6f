"""Where a score lies in the population, in spite of a choice (zone: released).

The best of T candidates was chosen on the same records, for being lucky on them, among others. Each
candidate's interval misses its own score below with probability alpha / 2; whatever chooses, that
of the chosen one does so with probability T alpha / 2 at most. So the lower end is that of an
interval that misses with alpha / (2 T). The upper end needs no such correction: luck raises it. Nor
does noise, which is fresh: it joins sampling error in quadrature.
"""

from __future__ import annotations

from scipy.special import ndtri

from ..privacy.noisy_counts import NoisyCounts
from ..records.units import Units
from ._scorers import CONFIDENCE, PrivateScorer, score_and_interval


def luck_of(n_compared: float) -> float:
    """Return how many times the sampling error counts after a choice among so many candidates.

    1 without a choice; 1.7 for 64 candidates. For a normal error, the union bound.
    """
    outside = (1 - CONFIDENCE) / 2
    return float(ndtri(outside / n_compared) / ndtri(outside))


def population_interval(
    scorer: PrivateScorer,
    units: Units,
    noisy: NoisyCounts,
    n_compared: float | None,
    selects: bool = True,
) -> tuple[float, float] | None:
    """Return where the score of the population lies, which the records are a random sample of.

    `n_compared` candidates, which did not depend on the records, were compared on them, and this
    is the best one. None if their number is not known. If other scores than this one `selects`,
    luck may have moved it either way.
    """
    if n_compared is None:
        return None

    def end(i: int, sampling: float) -> float:
        return score_and_interval(scorer, units, noisy, CONFIDENCE, sampling)[1][i]

    luck = luck_of(n_compared)
    low = min(end(0, sampling) for sampling in (0.0, luck))
    return low, max(end(1, sampling) for sampling in (0.0, 1.0 if selects else luck))
