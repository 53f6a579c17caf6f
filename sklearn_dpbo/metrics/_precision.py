"""How wide the interval of a released score is, and will be (zone: released).

Uses public predictions before a release, and released intervals after it.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np

from ..exceptions import LowUtilityWarning
from ..privacy.float_errors import ignore_float_errors
from ..privacy.noisy_counts import NoisyCounts
from ..privacy.warn import warn
from ..records.units import Units
from ._queries import Query
from ._response import Predictions
from ._scorers import PrivateScorer, Public, Score, score_and_interval

# Intervals wider than this share of a score's range are warned of.
_WIDE = 0.2
# The mean gain, as a share of its range, where predictions are not known: in a mean, the width of
# an interval hardly depends on it.
_ASSUMED_MEAN = 0.8
# Where the search for a factor starts: twice as much is nearly enough. A larger one than the second
# is not told: nobody has so many more records. Halvings of its logarithm find it to a fifth.
_USUAL_TIMES, _MOST_TIMES, _N_HALVINGS = 2.5, 1000.0, 3
_N_RESAMPLES = 200


class Width(NamedTuple):
    """The width of the interval of a score with this name, and the range of the score.

    That of a loss, which has no largest value, is twice the score.
    """

    name: str
    width: float
    range: float
    of_loss: bool = False

    @classmethod
    def of(cls, scorer: PrivateScorer, score: Score) -> Width:
        """Return that of a score with its interval."""
        value, (low, high) = score
        if scorer.is_loss:
            return cls(scorer.name, high - low, max(2 * abs(value), 1e-300), of_loss=True)
        return cls(scorer.name, high - low, scorer.score_range)

    @property
    def share(self) -> float:
        """The width as a share of the range."""
        return self.width / self.range

    @property
    def in_words(self) -> str:
        """The width, and what that is of the range."""
        if self.of_loss:
            times = f"{2 * self.share:.0%} of" if self.share < 5 else "many times"
            return f"about {self.width:.2g}, {times} the score"
        if self.share >= 1:
            return "its whole range"
        return f"about {self.width:.2g}, {self.share:.0%} of its range"


@ignore_float_errors()
def expected_counts(query: Query, public: Predictions, units: Units) -> tuple[int, ...]:
    """Count m records (or groups of one record) that are predicted as public ones are."""
    sample = _scaled(public, units.m)
    alone = Units(units.m, np.arange(units.m) if units.grouped else None)
    values = query.record_values(sample.y, sample.response, sample.classes)
    return query.statistics(values, sample.y, alone)


def expected_width(
    scorer: PrivateScorer, public: Public, units: Units, scale: float, gaussian: bool = False
) -> Width:
    """Return the width of the interval if noise of this scale happens to be 0.

    A mean with known bounds needs no public predictions.
    """
    query: Query = scorer.counts
    if public is not None and (scorer.learns_bounds or not scorer.is_mean):
        counts = expected_counts(query, public(query.response_method), units)
        noisy = NoisyCounts(counts, scale, gaussian)
        return Width.of(scorer, score_and_interval(scorer, units, noisy))
    noisy = NoisyCounts((round(_ASSUMED_MEAN * query.largest(units)),), scale, gaussian)
    _, (low, high) = score_and_interval(scorer, units, noisy)
    return Width(scorer.name, high - low, scorer.score_range)


@ignore_float_errors()
def sampling_deviation(scorer: PrivateScorer, public: Predictions) -> float:
    """Return the bootstrap deviation of the score of n records, times the square root of n."""
    rng, scores = np.random.default_rng(0), []
    n, labels = len(public.response), np.unique(public.y)
    for _ in range(_N_RESAMPLES):
        sample = public.take(rng.integers(n, size=n))
        # AUC is not defined without a class.
        if public.classes is None or np.array_equal(np.unique(sample.y), labels):
            scores.append(scorer.exact(sample))
    return float(np.std(scores) * math.sqrt(n)) if scores else math.nan


@ignore_float_errors()
def warn_of_expected_width(
    expect: Callable[[float], Sequence[Callable[[], Width]]],
    units: Units,
    epsilon: float,
    assumed: str = "",
) -> bool:
    """Warn, before anything is charged, if an interval will be wide; return whether it will.

    `expect` returns, for an epsilon of all that is released, what computes each width; `assumed`
    says of which records.
    """
    widths = [width() for width in expect(epsilon)]
    if not (wide := _wide(widths)):
        return False
    better = ""
    for each in wide:
        target = min(each.width, each.range) / 2
        times = _times_for(expect, widths.index(each), epsilon, target)
        if times is not None:
            m, more = (float(f"{number * times:.2g}") for number in (units.m, epsilon))
            better = f"About {m:,.0f} such {units.name}s, or epsilon={more:g}, would halve "
            better += f"that of {each.name}. "
            break
    warn(
        f"With {units.m:,} {units.name}s and epsilon={epsilon:g}, released scores will say little, "
        f"as their intervals will be wide ({_in_words(wide)}){assumed}. {better}"
        "Nothing has been charged yet",
        LowUtilityWarning,
    )
    return True


def wide_hint(released: Sequence[Width]) -> str:
    """Say which released intervals are wide; an empty text if none is."""
    wide = _wide(released)
    return bool(wide) * (
        f"Released scores say little, as their intervals are wide ({_in_words(wide)}). If "
        "that matters, use more records, of a rare class especially, or a larger epsilon; "
        "plan_search computes how many"
    )


def _wide(widths: Sequence[Width]) -> list[Width]:
    """Return those that are wide, the widest first."""
    ordered = sorted(widths, key=lambda each: -each.share)
    return [each for each in ordered if each.share > _WIDE]


def _in_words(wide: Sequence[Width]) -> str:
    return "; ".join(f"{each.name}: {each.in_words}" for each in wide)


def _times_for(
    expect: Callable[[float], Sequence[Callable[[], Width]]], i: int, epsilon: float, target: float
) -> float | None:
    """Return how many times as much epsilon makes the i-th width this; None if it takes too much.

    As many times the records do it, too: noise matters in proportion to 1 / (epsilon m).
    """

    def enough(times: float) -> bool:
        return expect(times * epsilon)[i]().width <= target

    low, high = 1.0, _USUAL_TIMES
    while not enough(high):
        low, high = high, 4 * high
        if high > _MOST_TIMES:
            return None
    for _ in range(_N_HALVINGS):
        middle = math.sqrt(low * high)
        low, high = (low, middle) if enough(middle) else (middle, high)
    return high


def _scaled(public: Predictions, m: int) -> Predictions:
    """Return m of these predictions: each about m / n times, evenly from class to class."""
    n = len(public.response)
    # By class, and within each by the response or its last column.
    keys = [np.atleast_2d(values.T)[-1] for values in (public.response, public.y)]
    order = np.lexsort(keys)
    return public.take(order[(2 * np.arange(m) + 1) * n // (2 * m)])
