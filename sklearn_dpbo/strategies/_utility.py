"""Warnings of noise that hides the differences between candidates (zone: released).

They use public and released facts only.
"""

from __future__ import annotations

import warnings
from collections.abc import Sequence

import numpy as np

from .._data.units import Units
from ..exceptions import LowUtilityWarning
from ..scoring._scorers import PrivateScorer

__all__ = ["noise_hints", "warn_of_low_utility"]

# With fewer public scores than this, differences between candidates are assumed to be a share of
# the largest possible one.
_FEWEST, _ASSUMED_SPREAD = 3, 0.1
# What the reader should conclude.
_CONSEQUENCES = {
    "choice": "best_params_ may be hardly better than a candidate picked at random",
    "score": "best_score_ does not rank them: best_score_interval_ says how good it is",
}
# A larger factor than this is not told: nobody has so many more records.
_MOST_TIMES = 1000
# Half the width of an interval of 95 %, in standard deviations.
_HALF_WIDTH = 1.96


def warn_of_low_utility(hints: Sequence[str], stacklevel: int = 3) -> None:
    """Warn once results are set: a user may turn warnings into errors."""
    for hint in hints:
        warnings.warn(hint, LowUtilityWarning, stacklevel=stacklevel)


def noise_hints(
    scorer: PrivateScorer,
    units: Units,
    public_scores: Sequence[float],
    *,
    epsilon: float | None = None,
    interval: tuple[float, float] = (0.0, 0.0),
) -> tuple[str, ...]:
    """Say if noise hides differences: of a choice at epsilon, or of a score in its interval."""
    what, noise = "score", (interval[1] - interval[0]) / 2 / _HALF_WIDTH
    if epsilon is not None:
        what, noise = (
            "choice",
            2 * scorer.query.sensitivity(units) * scorer.line(units)[1] / epsilon,
        )
    known = np.array([score for score in public_scores if np.isfinite(score)])
    spread = _ASSUMED_SPREAD * scorer.line(units)[1] * scorer.query.largest(units)
    how = "assumed: a tenth of the score's range, as too few scores are public"
    if len(known) >= _FEWEST:
        spread = float(np.std(known))
        how = f"measured: {len(known)} scores within the training set"
    if noise <= spread:
        return ()
    size = f"a standard deviation of {noise:.2g}" if np.isfinite(noise) else "no known limit"
    # Noise is in proportion to 1 / (epsilon m).
    times = noise / max(spread, 1e-300)
    much = f" (about {times:.2g} times as much of either)" if times < _MOST_TIMES else ""
    return (
        f"The noise of the {what} is larger than the differences between candidates, so "
        f"{_CONSEQUENCES[what]}. In units of {scorer.name} the noise has {size}, and "
        f"candidates differ by {spread:.2g} ({how}). If that matters, use more (validation) "
        f"records, of a rare class especially, or a larger epsilon{much}; plan_search computes how "
        "many",
    )
