"""What all evaluations share: numbers with intervals, and how they are shown (zone: released)."""

from __future__ import annotations

import json
import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from .._data.units import Units
from .._privacy.noisy_counts import NoisyCounts
from ..report._report import PrivacyReport
from ..scoring._intervals import nearest_counts, simulated_interval

__all__ = ["CONFIDENCE", "Estimate", "Evaluation"]

CONFIDENCE = 0.95
_N_DRAWS = 1000
# Of numbers whose name is written otherwise.
_LABELS = {"f1": "F1", "r2": "R2", "roc_auc": "ROC AUC", "brier_score": "Brier score"}

Floats = NDArray[np.float64]


class Estimate(NamedTuple):
    """A number with noise, and where it lies without.

    Parameters
    ----------
    value : float
        With noise.
    low, high : float
        Where the number that these very records have lies, with probability 95 %. How they were
        sampled is not in it.
    """

    value: float
    low: float
    high: float

    def __float__(self) -> float:
        return self.value

    def __str__(self) -> str:
        value, low, high = (f"{number:.4g}" for number in self)
        return f"{value} (95 %: {low} to {high})"

    def __repr__(self) -> str:
        return str(self)


@dataclass(frozen=True, eq=False, repr=False)
class Evaluation:
    """Base of evaluations: released counts, and all that follows from them."""

    _noisy: tuple[NoisyCounts, ...]
    m: int
    _weight: int
    _grouped: bool
    privacy_: PrivacyReport

    @property
    def _units(self) -> Units:
        """As many units as there were: of several records each if they were groups."""
        return Units(self.m, np.empty(0, dtype=np.intp) if self._grouped else None)

    def scores(self) -> dict[str, Estimate]:
        """Return the main numbers by name.

        Returns
        -------
        scores : dict of str to Estimate
        """
        raise NotImplementedError

    def to_dict(self) -> dict[str, Any]:
        """Return the evaluation as numbers, texts, and lists and dicts of them.

        Returns
        -------
        evaluation : dict
            With the keys "m", "unit", "scores" (each with "value", "low" and "high"; None is an
            end at infinity), what the figures show, and "privacy".
        """
        return {
            "m": self.m,
            "unit": self.privacy_.unit,
            "scores": {name: _finite(score) for name, score in self.scores().items()},
            **self._figures(),
            "privacy": self.privacy_.to_dict(),
        }

    def to_json(self) -> str:
        """Return `to_dict` as JSON."""
        return json.dumps(self.to_dict(), indent=2, ensure_ascii=False, allow_nan=False)

    def to_html(self) -> str:
        """Return numbers and privacy report as a self-contained HTML fragment."""
        return self.privacy_._card([(name, [str(s)]) for name, s in self._labelled().items()])

    _repr_html_ = to_html

    def __repr__(self) -> str:
        unit, epsilon = self.privacy_.unit, self.privacy_.epsilon
        private = "" if self.privacy_.secure else ", NOT PRIVATE: seeded noise"
        lines = [f"{type(self).__name__} on {self.m:,} {unit}s, epsilon = {epsilon:g}{private}"]
        lines += [f"  {name:<26}{score}" for name, score in self._labelled().items()]
        return "\n".join(lines)

    def _labelled(self) -> dict[str, Estimate]:
        return {
            _LABELS.get(name, name.replace("_", " ")): score
            for name, score in self.scores().items()
        }

    def _figures(self) -> dict[str, Any]:
        """Return what figures show, as lists."""
        raise NotImplementedError

    def _estimate(
        self,
        compute: Callable[[NDArray[Any], bool, float], Floats],
        part: int = -1,
        bounds: tuple[float, float] = (0.0, 1.0),
    ) -> Estimate:
        """Return a number with its interval.

        Parameters
        ----------
        compute : callable
            Takes rows of counts, whether to make them not negative before, and a value for what is
            undefined; returns a number per row.
        part : int, default=-1
            Which counts it takes.
        bounds : tuple of float, default=(0, 1)
            Lowest and highest possible number, which are also what is undefined in the worst case.
        """
        noisy = self._noisy[part]

        def ends(counts: Floats) -> tuple[Floats, Floats]:
            return compute(counts, False, bounds[0]), compute(counts, False, bounds[1])

        low, high = simulated_interval(ends, noisy, CONFIDENCE, bounds)
        value = float(compute(self._counts(part), True, 0.0)[0])
        return Estimate(min(max(value, low), high), low, high)

    def _with_total(
        self, counts: NDArray[Any], clean: bool, released: NDArray[Any], part: int = -1
    ) -> Floats:
        """Return counts of all units, each once, adjusted to their known sum.

        Clean ones are not negative; others are what the noise left of them.

        Parameters
        ----------
        counts : ndarray of shape (n, n_counts)
            As released, or simulated.
        clean : bool
            Whether to make them not negative.
        released : ndarray of shape (n_counts,)
            As released.
        part : int, default=-1
            Of which release they are.
        """
        total = self.m * self._weight
        if clean:
            return nearest_counts(counts, total)
        found: Floats = counts - (counts.sum(axis=-1, keepdims=True) - total) / counts.shape[-1]
        return found

    def _counts(self, part: int = -1) -> NDArray[np.int64]:
        """Return the counts of one part, in one row."""
        return np.array([self._noisy[part].counts])

    def _band(
        self, compute: Callable[[NDArray[Any], float], Floats], part: int = -1
    ) -> tuple[Floats, Floats]:
        """Return where each of several numbers lies without noise, each by itself.

        Parameters
        ----------
        compute : callable
            Takes rows of counts, and a value for what is undefined; returns numbers per row.
        part : int, default=-1
            Which counts it takes.
        """
        noisy = self._noisy[part]
        noise = noisy.noise(_N_DRAWS, np.random.default_rng(0))
        draws, outside = np.array(noisy.counts) - noise, (1 - CONFIDENCE) / 2
        low = np.quantile(compute(draws, 0.0), outside, axis=0)
        return low, np.quantile(compute(draws, 1.0), 1 - outside, axis=0)


def _finite(score: Estimate) -> dict[str, float | None]:
    """Return the estimate for JSON, which has no infinity."""
    return {key: x if math.isfinite(x) else None for key, x in score._asdict().items()}
