"""Widths of the intervals of released scores, and warnings of wide ones (zone: released).

Before a release, the width is estimated from public predictions.
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

# Warn of intervals that are wider than this share of the score's range.
_WIDE = 0.2
# Mean gain, as a share of its range, if there are no predictions: the width hardly depends on it.
_ASSUMED_MEAN = 0.8
# The search for a factor starts at the first number, as twice as much is nearly enough. It gives up
# above the second: nobody has so many more records.
_USUAL_TIMES = 2.5
_MOST_TIMES = 1000.0
# Bisections of the factor's logarithm, which find it to a fifth.
_N_HALVINGS = 3
_N_RESAMPLES = 200


class Width(NamedTuple):
    """Width of the interval of the score called `name`, and the range of the score.

    The range of a loss without a largest value is taken as twice the score.
    """

    name: str
    width: float
    range: float
    of_loss: bool = False

    @classmethod
    def of(cls, scorer: PrivateScorer, score: Score) -> Width:
        """Return the width of a score's interval."""
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
        """The width, and its share of the range, in words."""
        if self.of_loss:
            times = f"{2 * self.share:.0%} of" if self.share < 5 else "many times"
            return f"about {self.width:.2g}, {times} the score"
        if self.share >= 1:
            return "its whole range"
        return f"about {self.width:.2g}, {self.share:.0%} of its range"


@ignore_float_errors()
def expected_counts(query: Query, public: Predictions, units: Units) -> tuple[int, ...]:
    """Compute the statistics of m units of one record each, predicted as the public records."""
    sample = _scaled(public, units.m)
    one_record_each = Units(units.m, np.arange(units.m) if units.grouped else None)
    values = query.record_values(sample.y, sample.response, sample.classes)
    return query.statistics(values, sample.y, one_record_each)


def expected_width(
    scorer: PrivateScorer, public: Public, units: Units, scale: float, gaussian: bool = False
) -> Width:
    """Estimate the width of the interval of a score that is released with noise of this scale.

    A mean of gains with fixed bounds needs no public predictions.
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
    """Estimate the standard deviation of the score of one record, by the bootstrap.

    For the score of n records, divide it by the square root of n.
    """
    rng = np.random.default_rng(0)
    scores = []
    n = len(public.response)
    labels = np.unique(public.y)
    for _ in range(_N_RESAMPLES):
        sample = public.take(rng.integers(n, size=n))
        # The area under the ROC curve is undefined if a class is missing.
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
    """Warn, before anything is charged, if an interval will be wide; return True if so.

    ``expect(epsilon)`` returns a function per score that estimates its width, if all releases
    together cost epsilon. `assumed` names, in words, the records that the estimates assume.
    """
    widths = [estimate() for estimate in expect(epsilon)]
    if not (wide := _wide(widths)):
        return False
    remedy = ""
    for width in wide:
        target = min(width.width, width.range) / 2
        times = _times_for(expect, widths.index(width), epsilon, target)
        if times is not None:
            m, more = (float(f"{number * times:.2g}") for number in (units.m, epsilon))
            remedy = f"About {m:,.0f} such {units.name}s, or epsilon={more:g}, would halve "
            remedy += f"that of {width.name}. "
            break
    warn(
        f"With {units.m:,} {units.name}s and epsilon={epsilon:g}, released scores will say little, "
        f"as their intervals will be wide ({_in_words(wide)}){assumed}. {remedy}"
        "Nothing has been charged yet",
        LowUtilityWarning,
    )
    return True


def wide_hint(released: Sequence[Width]) -> str:
    """Return a sentence that names the wide intervals; an empty text if none is wide."""
    wide = _wide(released)
    if not wide:
        return ""
    return (
        f"Released scores say little, as their intervals are wide ({_in_words(wide)}). If "
        "that matters, use more records, of a rare class especially, or a larger epsilon; "
        "plan_search computes how many"
    )


def _wide(widths: Sequence[Width]) -> list[Width]:
    """Return the wide ones, the widest first."""
    ordered = sorted(widths, key=lambda width: -width.share)
    return [width for width in ordered if width.share > _WIDE]


def _in_words(wide: Sequence[Width]) -> str:
    return "; ".join(f"{width.name}: {width.in_words}" for width in wide)


def _times_for(
    expect: Callable[[float], Sequence[Callable[[], Width]]], i: int, epsilon: float, target: float
) -> float | None:
    """Find the factor of epsilon with which the i-th width is `target`; None if it is too large.

    The same factor of the number of records does so, too: the error is about in proportion to
    1 / (epsilon m).
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
    """Take m of n predictions, each about m / n times, evenly over the classes."""
    n = len(public.response)
    # Sorted by class, and within a class by the response or its last column.
    keys = [np.atleast_2d(values.T)[-1] for values in (public.response, public.y)]
    order = np.lexsort(keys)
    return public.take(order[(2 * np.arange(m) + 1) * n // (2 * m)])
