"""Warnings of noise that hides the differences between candidates (zone: released).

They use public and released facts only.
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Sequence

import numpy as np

from .._data.units import Units
from ..exceptions import LowUtilityWarning
from ..scoring._scorers import PrivateScorer

__all__ = ["warn_of_noise_of_choice", "warn_of_noise_of_score"]

# With fewer public scores than this, the differences between candidates are not known.
_FEWEST = 3
# Taken then: a share of the largest possible difference of scores.
_ASSUMED_SPREAD = 0.1

# What follows for the reader.
_CONSEQUENCES = {
    "choice": "best_params_ may be hardly better than a candidate picked at random",
    "score": "best_score_ says little: look at best_score_interval_",
}
# Half the width of an interval of 95 %, in standard deviations.
_HALF_WIDTH = 1.96


def warn_of_noise_of_choice(
    scorer: PrivateScorer,
    units: Units,
    epsilon: float,
    public_scores: Sequence[float],
    stacklevel: int = 5,
) -> None:
    """Warn if the noise of the choice is larger than the differences between candidates.

    Parameters
    ----------
    scorer : PrivateScorer
        That selects.
    units : Units
        Of the validation set.
    epsilon : float
        Of the choice.
    public_scores : sequence of float
        Scores of candidates within the training set; NaN where there is none.
    stacklevel : int
        Which frame is warned of, counted from where the warning is raised.
    """
    _, slope = scorer.line(units)
    noise = 2 * scorer.sensitivity(units) * slope / epsilon
    spread, known = _spread(public_scores, slope * scorer.largest(units))
    _warn("choice", scorer.name, noise, spread, known, stacklevel)


def warn_of_noise_of_score(
    scorer: PrivateScorer,
    units: Units,
    interval: tuple[float, float],
    public_scores: Sequence[float],
    stacklevel: int = 5,
) -> None:
    """Warn if the noise of the released score is larger than the differences between candidates.

    Parameters
    ----------
    scorer, units, public_scores, stacklevel
        As in `warn_of_noise_of_choice`.
    interval : tuple of float
        Released with the score.
    """
    low, high = interval
    _, slope = scorer.line(units)
    spread, known = _spread(public_scores, slope * scorer.largest(units))
    _warn("score", scorer.name, (high - low) / 2 / _HALF_WIDTH, spread, known, stacklevel)


def _spread(public_scores: Sequence[float], largest: float) -> tuple[float, str]:
    """Return how much candidates differ (a standard deviation), and how that is known."""
    known = np.array([score for score in public_scores if math.isfinite(score)])
    if len(known) < _FEWEST:
        return (
            _ASSUMED_SPREAD * largest,
            "assumed: a tenth of the score's range, as too few scores are public",
        )
    return float(np.std(known)), f"measured: {len(known)} scores within the training set"


def _warn(what: str, name: str, noise: float, spread: float, known: str, stacklevel: int) -> None:
    if noise > spread:
        size = f"a standard deviation of {noise:.2g}" if math.isfinite(noise) else "no known limit"
        warnings.warn(
            f"The noise of the {what} is larger than the differences between candidates, so "
            f"{_CONSEQUENCES[what]}. In units of {name} the noise has {size}, and candidates "
            f"differ by {spread:.2g} ({known}). Use more (validation) records, of a rare class "
            "especially, or a larger epsilon; plan_search computes how many",
            LowUtilityWarning,
            stacklevel=stacklevel,
        )
