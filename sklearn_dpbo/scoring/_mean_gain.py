"""Scores that are means of gains, with their sensitivity (zone: sensitive)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .._data.tables import dense
from .._data.units import Units
from . import _gains as gains
from ._scorers import PrivateScorer, scorer_repr

__all__ = ["MeanGain"]

# Steps between a unit's lowest and highest gain; gains are rounded to the nearest step.
_GRID = 2**20


@dataclass(frozen=True, repr=False)
class MeanGain(PrivateScorer):
    """Mean over units of a gain, clipped to [a, b] and rounded to a grid.

    Values of records are integers in {0, ..., _GRID}, or in {0, 1} if every gain is a or b.
    """

    name: str
    gain: gains.Gain
    bounds: tuple[float, float]
    response_method: tuple[str, ...]
    params: dict[str, Any] = field(default_factory=dict)
    prepared: bool = False
    is_mean = True

    @property
    def task(self) -> str | None:
        return self.gain.task

    @property
    def custom(self) -> bool:
        return isinstance(self.gain, gains.Custom)

    @property
    def lipschitz(self) -> float | None:
        return getattr(self.gain, "lipschitz", None)

    @property
    def lowest_at_zero(self) -> bool:
        return isinstance(self.gain, gains.MarginGain) and self.gain.phi(0.0) == self.bounds[0]

    def prepare(self, y_train: Any) -> MeanGain:
        if self.gain.one_output and y_train is not None and dense(y_train).ndim > 1:
            raise ValueError(
                f"scoring={self.name!r} takes one label per record; y has shape "
                f"{dense(y_train).shape}. Use 'accuracy' (all labels right), or "
                "make_private_scorer(gain, bounds=(a, b))"
            )
        gain = self.gain.prepare(y_train)
        bounds = self.bounds if gain.takes_bounds or gain.bounds is None else gain.bounds
        return replace(self, gain=gain, bounds=bounds, prepared=True)

    def record_values(self, y: Any, response: NDArray[Any], classes: Any) -> NDArray[np.int64]:
        """round(G (clip(gain, a, b) - a) / (b - a)); a gain that is not a number counts as a."""
        a, b = self.bounds
        with np.errstate(over="ignore"):  # numbers that overflow are clipped
            gain = self.unclipped(y, response, classes)
            share = np.clip((np.where(np.isnan(gain), a, gain) - a) / (b - a), 0, 1)
        return np.rint(share * self._record_steps).astype(np.int64)

    def unclipped(self, y: Any, response: NDArray[Any], classes: Any) -> NDArray[np.float64]:
        gain: NDArray[np.float64] = np.asarray(self.gain(y, response, classes), dtype=float)
        if gain.shape != (len(response),):
            raise ValueError(
                f"the gain of {self!r} must return one number per record: expected shape "
                f"({len(response)},), found {gain.shape}"
            )
        return gain

    def share_clipped(self, y: Any, response: NDArray[Any], classes: Any) -> float:
        if not self.gain.takes_bounds:
            return 0.0
        with np.errstate(over="ignore"):
            gain, (a, b) = self.unclipped(y, response, classes), self.bounds
        return float(np.mean((gain < a) | (gain > b)))

    def weighted(self, estimator: Any, X: Any, y: Any, sample_weight: Any) -> float:
        return float(np.average(self.record_gains(estimator, X, y), weights=sample_weight))

    def record_gains(self, estimator: Any, X: Any, y: Any = None) -> NDArray[np.float64]:
        values, _ = self._values_and_labels(estimator, X, y)
        a, b = self.bounds
        found: NDArray[np.float64] = a + (b - a) * values / self._record_steps
        return found

    def lowest_values(self, y: Any, n: int) -> NDArray[np.int64]:
        return np.zeros(n, dtype=np.int64)

    @property
    def _record_steps(self) -> int:
        """Largest value of a record."""
        return 1 if self.gain.counts else _GRID

    def _unit_steps(self, units: Units) -> int:
        """Return G: means over groups need the fine grid even if records only count."""
        return _GRID if units.grouped else self._record_steps

    def fine(self, values: NDArray[np.int64], units: Units) -> NDArray[np.int64]:
        """Return the values of records in the steps of means over units.

        Parameters
        ----------
        values : ndarray of shape (n,)
            As returned by `record_values`.
        units : Units
            Which of the n records belong to the same unit.
        """
        return values * (self._unit_steps(units) // self._record_steps)

    def statistics(self, values: NDArray[Any], y: Any, units: Units) -> tuple[int, ...]:
        return (int(units.mean(self.fine(values, units)).sum()),)

    def sensitivity(self, units: Units) -> tuple[int, ...]:
        return (self._unit_steps(units),)

    def largest(self, units: Units) -> int:
        return self._unit_steps(units) * units.m

    def line(self, units: Units) -> tuple[float, float]:
        a, b = self.bounds
        return a, (b - a) / self.largest(units)

    def value(self, statistics: Sequence[int], units: Units) -> float:
        a, b = self.bounds
        share = statistics[0] / self.largest(units)
        return a + (b - a) * min(max(share, 0.0), 1.0)

    def interval(
        self, low: Sequence[int], high: Sequence[int], units: Units
    ) -> tuple[float, float]:
        return self.value(low, units), self.value(high, units)

    def __repr__(self) -> str:
        bounds = {"bounds": self.bounds} if self.gain.takes_bounds else {}
        params = {**bounds, **self.params}
        return scorer_repr(self.name, params)
