"""How a score ranks candidates on the validation set: what is released first (zone: boundary).

Class shares, and how often a good candidate errs, may differ from the training set. Where a tenth
of the choice's epsilon shows them, they are released, and the choice relies on nothing public.
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

# Share of the choice's epsilon for what is released first; and the number of units of the rarest
# class, times epsilon, from which on it pays.
_SHARE, _ENOUGH = Fraction(1, 10), 200


@dataclass(frozen=True, eq=False)
class PreparedChoice:
    """The scorer whose query ranks candidates, and epsilon for the choice.

    `counts` are those released for it, in units with noise; None if none were. `unknown` says how
    many records have unknown labels, if these counts show it.
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
    """Decide how candidates are ranked; `count` counts what a good candidate predicts.

    Nothing is released if candidates can be ranked by the score itself without it, if there are too
    few records, or if there is no choice.
    """
    plain, first = scorer.for_choice(units, n_candidates, epsilon), scorer.first
    enough = first is not None and min(scorer.shares) * units.m * epsilon >= _ENOUGH
    if first is None or plain is not scorer or n_candidates == 1 or not enough:
        return PreparedChoice(plain, epsilon)
    part, left = divide(epsilon, _SHARE)
    noisy = spending.release(count(first), part, purpose=f"{first.what}, to compare candidates by")
    adapted = scorer.adapt(noisy, units).for_choice(units, n_candidates, left)
    known = np.array(noisy.counts)[~first.are_unknown].reshape(len(scorer.shares), -1)
    shown = known.squeeze() / unit_weight(units)  # a row for each class
    return PreparedChoice(adapted, left, shown, unknown_hint(first, noisy, units))
