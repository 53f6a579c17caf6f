"""Choose the query that ranks candidates, and release counts for it (zone: boundary).

Some scores need class shares, or the errors of a good candidate, to rank others. Those within the
training set may be wrong for the validation set. If a tenth of the choice's epsilon is enough, they
are counted on the validation set and released first; the choice then relies on nothing public.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from ..metrics._queries import Query, unit_weight
from ..metrics._scorers import PrivateScorer
from ..metrics._unknown import unknown_hint
from ..privacy.rounding import divide
from ..privacy.sensitive import Sensitive
from ..privacy.spending import Spending
from ..records.units import Units

# Share of the choice's epsilon for the counts that are released first.
_SHARE = Fraction(1, 10)
# These are released if epsilon times the number of units of the rarest class is at least this.
_ENOUGH = 200


@dataclass(frozen=True, eq=False)
class PreparedChoice:
    """The scorer whose query ranks candidates, and the epsilon left for the choice.

    `counts` were released first, with noise, in numbers of units; None if none were. `unknown` is a
    warning of unknown labels, if these counts show any, or "".
    """

    scorer: PrivateScorer
    epsilon: float
    counts: NDArray[np.float64] | None = None
    unknown: str = ""


def prepare_choice(
    scorer: PrivateScorer,
    n_candidates: int,
    units: Units,
    epsilon: float,
    count: Callable[[Query], Sensitive],
    spending: Spending,
) -> PreparedChoice:
    """Choose the query that ranks candidates; `count` counts predictions of a good candidate.

    Nothing is released if the score ranks candidates without counts, if there are too few records,
    or if there is only one candidate.
    """
    ranking = scorer.for_choice(units, n_candidates, epsilon)
    first = scorer.first
    enough = first is not None and min(scorer.shares) * units.m * epsilon >= _ENOUGH
    if first is None or ranking is not scorer or n_candidates == 1 or not enough:
        return PreparedChoice(ranking, epsilon)
    first_epsilon, choice_epsilon = divide(epsilon, _SHARE)
    purpose = f"{first.what}, to compare candidates by"
    noisy = spending.release(count(first), first_epsilon, purpose=purpose)
    adapted = scorer.adapt(noisy, units).for_choice(units, n_candidates, choice_epsilon)
    counts = np.array(noisy.counts)[~first.are_unknown].reshape(len(scorer.shares), -1)
    n_units = counts.squeeze() / unit_weight(units)  # a row for each class
    return PreparedChoice(adapted, choice_epsilon, n_units, unknown_hint(first, noisy, units))
