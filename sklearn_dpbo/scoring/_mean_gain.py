"""Scores that are means of gains, with their sensitivity (zone: sensitive)."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .._data.tables import dense
from .._data.units import Units
from .._privacy.noisy_counts import NoisyCounts
from . import _gains as gains
from ._public_error import public_error
from ._scorers import PrivateScorer, computing, scorer_repr
from ._statistics import Predictions

__all__ = ["MeanGain"]

# Steps between a unit's lowest and highest gain; gains are rounded to the nearest step.
_GRID = 2**20


@dataclass(frozen=True, eq=False, repr=False)
class MeanGain(PrivateScorer):
    """Mean over units of a gain, clipped to [a, b] and rounded to a grid.

    Values of records are integers in {0, ..., _GRID}, or in {0, 1} if every gain is a or b.

    Parameters
    ----------
    name : str
        Of the score.
    gain : Gain
        Of each record.
    bounds : tuple of float
        That gains are clipped to.
    response_method : tuple of str
        Methods of the estimator; the first that it has is called.
    params : dict
        Of `make_private_scorer`, as given.
    learns_bounds : bool, default=False
        Whether bounds come from the training labels. What they cut off is estimated then.
    shift, allowance : float, default=0.0
        By how much the score is more than that of clipped gains, and how uncertain that is; set by
        `releasing_at`.
    """

    name: str
    gain: gains.Gain
    bounds: tuple[float, float]
    response_method: tuple[str, ...]
    params: dict[str, Any] = field(default_factory=dict)
    learns_bounds: bool = False
    prepared: bool = False
    shift: float = 0.0
    allowance: float = 0.0
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
        if self.gain.one_output and y_train is not None:
            self._check_one_output(y_train)
        gain = self.gain.prepare(y_train)
        bounds = self.bounds
        if self.learns_bounds:
            bounds = self._learn_bounds(y_train)
            if not np.isfinite(bounds).all():
                raise ValueError(
                    f"scoring={self.name!r}: the training labels are so large that the loss of "
                    "their median exceeds the range of floats. Rescale the labels"
                )
        elif not gain.takes_bounds and gain.bounds is not None:
            bounds = gain.bounds
        return replace(self, gain=gain, bounds=bounds, prepared=True)

    def _check_one_output(self, y_train: Any) -> None:
        if dense(y_train).ndim > 1:
            raise ValueError(
                f"scoring={self.name!r} takes one label per record; y has shape "
                f"{dense(y_train).shape}. Use 'accuracy' (all labels right), "
                "'neg_mean_squared_error', or make_private_scorer(gain, bounds=(a, b))"
            )

    def _learn_bounds(self, y_train: Any) -> tuple[float, float]:
        """Return bounds for training labels like these."""
        return self.gain.bounds_from(y_train)

    def without_public(self) -> MeanGain:
        return replace(self, learns_bounds=False)

    def selecting_at(self, public: Predictions, linear: bool = False) -> MeanGain:
        return self

    def record_values(self, y: Any, response: NDArray[Any], classes: Any) -> NDArray[np.int64]:
        """round(G (clip(gain, a, b) - a) / (b - a)); a gain that is not a number counts as a."""
        a, b = self.gain_bounds
        with np.errstate(all="ignore"):  # numbers that overflow are clipped
            gain = self.unclipped(y, response, classes)
            share = np.clip((np.where(np.isnan(gain), a, gain) - a) / (b - a), 0, 1)
        share = np.where(share > 0, share, 0.0)  # no number at all would become a huge integer
        return np.rint(share * self._record_steps).astype(np.int64)

    def unclipped(self, y: Any, response: NDArray[Any], classes: Any) -> NDArray[np.float64]:
        gain = self._numbers(self.gain(y, response, classes))
        if gain.shape != (len(response),):
            raise ValueError(
                f"the gain of {self!r} must return one number per record: expected shape "
                f"({len(response)},), found {gain.shape}"
            )
        return gain

    def _numbers(self, found: Any) -> NDArray[np.float64]:
        """Return gains as floats; a complex number, a time or a text is none."""
        try:
            array = np.asarray(found)
            if array.dtype.kind in "biufO":
                return array.astype(float)
            what = f"an array of {array.dtype}"
        except (TypeError, ValueError):
            what = f"an object of type {type(found).__name__} that is no array of numbers"
        raise ValueError(f"the gain of {self!r} must return one number per record; found {what}")

    def share_clipped(self, y: Any, response: NDArray[Any], classes: Any) -> float:
        if not self.gain.takes_bounds:
            return 0.0
        with np.errstate(over="ignore"):
            gain, (a, b) = self.unclipped(y, response, classes), self.gain_bounds
        return float(np.mean((gain < a) | (gain > b)))

    def exact(
        self, y: Any, response: NDArray[Any], classes: Any, sample_weight: Any = None
    ) -> float:
        gains_of = self.unclipped if self.learns_bounds else self._gains
        return float(np.average(gains_of(y, response, classes), weights=sample_weight))

    def record_gains(self, estimator: Any, X: Any, y: Any = None) -> NDArray[np.float64]:
        found = self.predictions(estimator, X, y)
        with computing(self):
            return self._gains(found.y, found.response, found.classes)

    def _gains(self, y: Any, response: NDArray[Any], classes: Any) -> NDArray[np.float64]:
        a, b = self.gain_bounds
        steps = self.record_values(y, response, classes)
        found: NDArray[np.float64] = a + (b - a) * (steps / self._record_steps)
        return found

    def lowest_values(self, y: Any, n: int) -> NDArray[np.int64]:
        return np.zeros(n, dtype=np.int64)

    @property
    def gain_bounds(self) -> tuple[float, float]:
        """What gains are clipped to."""
        return self.bounds

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

    def sensitivity(self, units: Units) -> int:
        return self._unit_steps(units)

    def largest(self, units: Units) -> int:
        return self._unit_steps(units) * units.m

    def line(self, units: Units) -> tuple[float, float]:
        a, b = self.bounds
        return a, (b - a) / self.largest(units)

    def value(self, counts: Sequence[int], units: Units) -> float:
        a, b = self.gain_bounds
        share = counts[0] / self.largest(units)
        return self._score(a + (b - a) * min(max(share, 0.0), 1.0)) + self.shift

    def _score(self, mean: float) -> float:
        """Return the score of a mean of gains; an increasing function."""
        return mean

    def interval(self, noisy: NoisyCounts, units: Units, confidence: float) -> tuple[float, float]:
        (ends,) = noisy.interval(confidence)
        low, high = (self.value((end,), units) for end in ends)
        return low - self.allowance, high + self.allowance

    @property
    def releases_at(self) -> bool:
        return self.learns_bounds

    def releasing_at(
        self, public: Predictions, m: int, epsilon: float, shared: bool = False
    ) -> MeanGain:
        shift, allowance = public_error(replace(self, shift=0.0, allowance=0.0), public, m)
        # A few public records hold all that is cut off: another set of them has others.
        deviation = (allowance - abs(shift)) * math.sqrt(1 + m / len(public.response))
        return replace(self, shift=shift, allowance=abs(shift) + deviation)

    @property
    def definition(self) -> tuple[Any, ...]:
        return *super().definition, self._given_bounds, getattr(self.gain, "function", None)

    @property
    def _given_bounds(self) -> dict[str, tuple[float, float]]:
        given = self.gain.takes_bounds and not self.learns_bounds
        return {"bounds": self.bounds} if given else {}

    def __repr__(self) -> str:
        return scorer_repr(self.name, {**self._given_bounds, **self.params})
