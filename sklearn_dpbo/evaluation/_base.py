"""Base class of evaluations: numbers with intervals, and how they are shown (zone: released)."""

from __future__ import annotations

import json
import math
import textwrap
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from .._data.units import Units
from .._privacy.noisy_counts import NoisyCounts
from ..report._report import PrivacyReport
from ..scoring._intervals import Compute, draws, likely, simulated_interval
from ..scoring._precision import Width, expected_counts
from ..scoring._response import Responses
from ..scoring._scorers import CONFIDENCE, UNSET, PrivateScorer, score_and_interval

__all__ = ["Estimate", "Evaluation"]


Floats = NDArray[np.float64]


class Estimate(NamedTuple):
    """A number with noise, and an interval for the number without noise.

    Parameters
    ----------
    value : float
        The number with noise.
    low, high : float
        Interval that contains the exact number for these records with probability 95 %. It does not
        cover how the records were sampled.
    """

    value: float
    low: float
    high: float

    def __float__(self) -> float:
        return self.value

    def __neg__(self) -> Estimate:
        return Estimate(-self.value, -self.high, -self.low)

    def __repr__(self) -> str:
        value, low, high = (f"{number:.4g}" for number in self)
        return f"{value} (95 %: {low} to {high})"


@dataclass(frozen=True, eq=False, repr=False)
class Evaluation:
    """Base of evaluations: what is counted, then the released counts, and all that follows."""

    # Each is released with the same share of epsilon; the first has the labels, the last bins.
    _parts: tuple[Any, ...]
    # Scores that are computed from a part, as a search releases them.
    _scorers: dict[str, PrivateScorer]
    # Mean and mean square of the probabilities in each bin, per score.
    _moments: tuple[Floats, ...] | None = None
    _noisy: tuple[NoisyCounts, ...] = ()
    _units: Units = UNSET
    privacy_: PrivacyReport = UNSET

    def _released(
        self, noisy: tuple[NoisyCounts, ...], units: Units, privacy: PrivacyReport
    ) -> Self:
        """Return the evaluation with the noisy counts of each part; nothing else of the units."""
        known = Units(units.m, np.empty(0, dtype=np.intp) if units.grouped else None)
        return replace(self, _noisy=noisy, _units=known, privacy_=privacy)

    def _expected(self, public: Responses, units: Units, epsilon: float) -> Self:
        """Return the evaluation of records that are predicted as public ones are, without luck."""
        noisy = []
        for part in self._parts:
            counts = expected_counts(part, public(part.response_method), units)
            noisy.append(NoisyCounts(counts, part.sensitivity(units) * len(self._parts) / epsilon))
        return self._released(tuple(noisy), units, UNSET)

    @property
    def clipping(self) -> str:
        """What values beyond public bounds count as, in words; empty if nothing is clipped."""
        return ""

    @property
    def m(self) -> int:
        """Number of protected records, or groups."""
        return self._units.m

    def scores(self) -> dict[str, Estimate]:
        """Return the main numbers by name.

        Returns
        -------
        scores : dict of str to Estimate
        """
        return {name: self.score(name) for name in self._names}

    def score(self, name: str) -> Estimate:
        """Return a number by name."""
        raise NotImplementedError

    def _clipped_hint(self) -> str:
        """Say if released counts say that many errors count as less than they are."""
        return ""

    def _labels_hint(self) -> str:
        """Say if numbers of labels are not those of the model's own predictions."""
        return ""

    @property
    def _names(self) -> list[str]:
        """Names of the main numbers."""
        raise NotImplementedError

    def _width(self, name: str) -> Width:
        """Return the width of the interval of a main number."""
        _, low, high = self.score(name)
        return Width(name, high - low, self._range(name))

    def _range(self, name: str) -> float:
        """Return the largest difference of values of a main number."""
        raise NotImplementedError

    def to_dict(self) -> dict[str, Any]:
        """Return the evaluation as numbers, texts, and lists and dicts of them.

        Returns
        -------
        evaluation : dict
            With the keys "m", "unit", "scores" (each with "value", "low" and "high"; None stands
            for infinity) and "privacy"; of a classifier also "classes" and "confusion_matrix" (also
            with "value", "low" and "high").
        """
        return {
            "m": self.m,
            "unit": self.privacy_.unit,
            "scores": {
                name: {key: x if math.isfinite(x) else None for key, x in score._asdict().items()}
                for name, score in self.scores().items()
            },
            "privacy": self.privacy_.to_dict(),
        }

    def to_json(self) -> str:
        """Return `to_dict` as JSON."""
        return json.dumps(self.to_dict(), indent=2, ensure_ascii=False, allow_nan=False)

    def _repr_html_(self) -> str:
        rows = [(name, [text]) for name, text in self._shown().items()]
        rows += [("Clipping", [self.clipping])] if self.clipping else []
        return self.privacy_._card(rows)

    def __repr__(self) -> str:
        unit, epsilon = self.privacy_.unit, self.privacy_.epsilon
        private = "" if self.privacy_.secure else ", NOT PRIVATE: seeded noise"
        units = f"{self.m:,} {unit}s{' (of the same weight each)' * self._units.grouped}"
        lines = [f"{type(self).__name__} on {units}, epsilon = {epsilon:g}{private}"]
        lines += [f"  {name:<26}{text}" for name, text in self._shown().items()]
        lines += textwrap.wrap(self.clipping, 100, initial_indent="  ", subsequent_indent="  ")
        return "\n".join(lines)

    def _shown(self) -> dict[str, str]:
        """Return the lines that are printed, by name."""
        return {name: str(score) for name, score in self.scores().items()}

    def _score(self, scorer: PrivateScorer, part: int = -1) -> Estimate:
        """Return a score of the counts of one part, as a search releases it."""
        value, interval = score_and_interval(scorer, self._units, self._noisy[part])
        return Estimate(value, *interval)

    def _estimate(
        self, compute: Compute, part: int = -1, bounds: tuple[float, float] = (0.0, 1.0)
    ) -> Estimate:
        """Return a number within these bounds that is computed from the counts of one part."""
        value = float(compute(self._counts(part), None)[0])
        query, noisy = self._parts[part], self._noisy[part]
        low, high = simulated_interval(compute, query, noisy, self._units, CONFIDENCE, bounds)
        return Estimate(value, min(low, value), max(high, value))

    def _band(self, compute: Callable[[Floats, float], Floats], part: int = -1) -> Any:
        """Return where each of several numbers lies without noise, each by itself."""
        counts = draws(self._parts[part], self._noisy[part], self._units)
        outside = (1 - CONFIDENCE) / 2
        low = np.quantile(compute(counts, 0.0), outside, axis=0)
        return low, np.quantile(compute(counts, 1.0), 1 - outside, axis=0)

    def _counts(self, part: int = -1) -> Floats:
        """Return the counts of one part, in one row; no number of records is negative."""
        return likely(self._parts[part], self._noisy[part].counts, self._units)
