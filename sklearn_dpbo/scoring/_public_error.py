"""By how much what is released differs from a score, on public records (zone: sensitive).

Bins hide the order within them, and bounds cut off large losses. The difference is estimated on
records that the candidate was not fitted on, for samples as large as the validation set.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

import numpy as np

from .._data.units import Units

if TYPE_CHECKING:
    from ._scorers import PrivateScorer
    from ._statistics import Predictions

__all__ = ["public_error"]

_N_SAMPLES = 40


def public_error(
    scorer: PrivateScorer,
    public: Predictions,
    m: int,
    value: Callable[[tuple[int, ...], Units], float] | None = None,
) -> tuple[float, float]:
    """Return (what to add to the score of counts, how far off it may be then).

    The second number is the size of the first one, and twice the standard deviation.

    Parameters
    ----------
    scorer : PrivateScorer
        Whose `counts` are set.
    public : Predictions
        Of records that the candidate was not fitted on.
    m : int
        Number of protected units.
    value : callable or None, default=None
        From counts to the score that is made of them; None is ``scorer.value``.
    """
    value = scorer.value if value is None else value
    rng, errors = np.random.default_rng(0), []
    classes = np.unique(public.y) if public.classes is not None else ()
    for _ in range(_N_SAMPLES):
        rows = rng.integers(len(public.response), size=m)
        y, response = public.y[rows], public.response[rows]
        if len(classes) and len(np.unique(y)) < len(classes):
            continue  # there are areas and shares that are not defined without a class
        units = Units.of(m)
        values = scorer.counts.record_values(y, response, public.classes)
        counts = scorer.counts.statistics(values, y, units)
        errors.append(float(scorer.exact(y, response, public.classes)) - value(counts, units))
    errors = [error for error in errors if np.isfinite(error)] or [0.0]
    shift = float(np.mean(errors))
    return shift, abs(shift) + 2 * float(np.std(errors))
