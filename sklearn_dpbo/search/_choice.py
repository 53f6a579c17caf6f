"""Choose the query that ranks candidates, and release counts for it (zone: boundary).

To rank candidates, some scores need the class shares, or the confusion matrix of a good candidate.
Those of the training set may not fit the validation set. So they are counted on the validation set
and released first, with noise, if a tenth of the choice's epsilon suffices for that.
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

# Share of the choice's epsilon that pays for the counts released first.
_SHARE = Fraction(1, 10)
# They are released only if the choice's epsilon times the number of units of the rarest class, as
# its share of the training labels lets expect it, is at least this.
_ENOUGH = 200


@dataclass(frozen=True, eq=False)
class PreparedChoice:
    """The scorer whose `query` ranks candidates, and the epsilon left for the choice.

    `counts` are those released first, with noise, in numbers of units: a confusion matrix with a
    row for each true class, or the size of each class; None if none were. `unknown` is a warning of
    unknown labels, if these counts show any, or "".
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
    # A query that ranks exactly as the score does, with negligible noise, needs no counts.
    is_faithful = ranking is not scorer
    if first is None or is_faithful or n_candidates == 1 or not enough:
        return PreparedChoice(ranking, epsilon)
    first_epsilon, choice_epsilon = divide(epsilon, _SHARE)
    purpose = f"{first.what}, to compare candidates by"
    noisy = spending.release(count(first), first_epsilon, purpose=purpose)
    adapted = scorer.adapt(noisy, units).for_choice(units, n_candidates, choice_epsilon)
    by_class = np.array(noisy.counts)[~first.are_unknown].reshape(len(scorer.shares), -1)
    n_units = by_class.squeeze() / unit_weight(units)
    return PreparedChoice(adapted, choice_epsilon, n_units, unknown_hint(first, noisy, units))
