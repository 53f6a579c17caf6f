"""The difference between a released value and the score, on public records (zone: sensitive).

Bins hide the order within them, and bounds clip large losses. The difference is estimated on
records that the candidate was not fitted on, for samples as large as the validation set.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

import numpy as np
from scipy.special import stdtrit

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
    """Return (a correction of the score of counts, and how far off it may be then).

    The second number is the size of the first one, and the standard deviation times the quantile of
    Student's distribution for as many records as the rarest public class has: about twice. Both
    samples vary, the m protected records and the n public ones: as one of m n / (m + n) does.

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
    rng, errors, n = np.random.default_rng(0), [], len(public.response)
    units = Units.of(max(1, round(m * n / (m + n))))
    classes, sizes = (
        np.unique(public.y, return_counts=True) if public.classes is not None else ((), (n,))
    )
    for _ in range(_N_SAMPLES):
        rows = rng.integers(n, size=units.m)
        y, response = public.y[rows], public.response[rows]
        if len(classes) and len(np.unique(y)) < len(classes):
            continue  # there are areas and shares that are not defined without a class
        values = scorer.counts.record_values(y, response, public.classes)
        counts = scorer.counts.statistics(values, y, units)
        errors.append(float(scorer.exact(y, response, public.classes)) - value(counts, units))
    errors = [error for error in errors if np.isfinite(error)] or [0.0]
    shift = float(np.mean(errors))
    times = float(stdtrit(max(1, min(sizes) - 1), 0.975))
    return shift, abs(shift) + times * float(np.std(errors))
