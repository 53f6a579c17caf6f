"""Answers of sites, read by one who need not trust them (zone: released)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Self

import numpy as np

from .._data.tables import dense, take_rows
from .._data.units import Units
from .._privacy.noisy_counts import NoisyCounts
from ..papers.kharkovskii2020._offers import MessageError
from ..scoring._scorers import PrivateScorer
from ._messages import different_numbers, field
from ._plan import Plan, units_of
from ._reports import Spent

__all__ = ["Counts", "Vote"]

# Largest number of units of a site, and largest count, that is believed.
_MOST_UNITS, _LARGEST_COUNT = 2**40, 2**62
# Tolerance for a scale of noise: it is computed in floating point from a rounded epsilon.
_TOLERANCE = 1e-6


@dataclass(frozen=True)
class Vote:
    """One site's vote, the candidates that failed there, and its protected units."""

    candidate: int
    failed: frozenset[int]
    units: Units

    @classmethod
    def read(cls, message: dict[str, Any], n: int) -> Self:
        candidate = field(message, "candidate", f"from 0 to {n - 1}", lambda c: 0 <= c < n)
        m = field(message, "m", f"from 1 to {_MOST_UNITS}", lambda m: 1 <= m <= _MOST_UNITS)
        failed = different_numbers(message.get("failed"), "failed candidates", n, or_none=True)
        unit = message.get("unit")
        if candidate in failed or unit not in ("record", "group"):
            raise MessageError(
                "a vote must be for a candidate that could be fitted, of a site whose unit is "
                f"'record' or 'group'; found {message!r:.200}"
            )
        return cls(candidate, frozenset(failed), units_of(m, unit == "group"))


@dataclass(frozen=True)
class Counts:
    """What one site released of the finalists (by candidate), and what it spent in all."""

    noisy: dict[int, NoisyCounts]
    spent: Spent

    @classmethod
    def read(
        cls,
        message: dict[str, Any],
        vote: Vote,
        plan: Plan,
        scorer: PrivateScorer,
        y: Any,
        finalists: list[int],
    ) -> Self:
        if message.get("candidates") != finalists:
            found = message.get("candidates")
            raise MessageError(
                f"counts of {finalists} were asked for; found those of {found!r:.100}"
            )
        rows, t, q = message.get("counts"), len(finalists), _n_counts(scorer, y)
        if not isinstance(rows, list) or len(rows) != t or not all(_are(row, q) for row in rows):
            raise MessageError(f"expected {t} lists of {q} integers; found {rows!r:.200}")
        # If only one candidate was left, there was no vote, and counts get all of epsilon.
        choice = len(plan.candidates) - len(vote.failed) > 1
        epsilon = plan.epsilon * (plan.score_share if choice else 1.0)
        scale = field(message, "scale", "a positive number", lambda s: s > 0, float)
        expected = t * scorer.counts.sensitivity(vote.units) / epsilon
        if abs(scale / expected - 1) > _TOLERANCE:
            raise MessageError(f"noise of scale {expected!r} was expected; found {scale!r}")
        noisy = (NoisyCounts(tuple(row), scale) for row in rows)
        return cls(dict(zip(finalists, noisy, strict=True)), Spent.from_message(message))


def _are(row: Any, q: int) -> bool:
    whole = isinstance(row, list) and all(type(count) is int for count in row)
    return whole and len(row) == q and all(abs(count) < _LARGEST_COUNT for count in row)


def _n_counts(scorer: PrivateScorer, y: Any) -> int:
    """Return how many integers are released of a candidate: those of one public record."""
    one = None if y is None else dense(take_rows(y, np.arange(1)))
    counts = scorer.counts
    return len(counts.statistics(counts.lowest_values(one, 1), one, Units(1)))
