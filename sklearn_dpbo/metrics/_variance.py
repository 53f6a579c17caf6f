"""R2 and explained variance (zone: sensitive).

They divide by the variance of the labels, which is the same for all candidates. So the choice uses
the squared error, clipped at a value that is large for a good candidate; where noise is negligible,
at the bound of the score, and for the explained variance, the variance of errors. Sums of errors,
labels and their squares are released and divided.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.metrics import explained_variance_score, r2_score

from ..privacy.noisy_counts import NoisyCounts
from ..records.tables import dense
from ..records.units import Units
from ._errors import Moments
from ._gains import Named
from ._intervals import simulated_interval
from ._metrics import ratio
from ._of_counts import first_of
from ._queries import GRID, MeanOf, Query, in_steps, steps_of_unit
from ._response import Predictions
from ._scorers import UNSET, Given, PrivateScorer, Public, check_one_output, large_error

Floats = NDArray[np.float64]
# Steps for e^2, t^2, t and e. All sums get the same noise: so the shares of epsilon are about .53,
# .40, .04 and .03, near the best for models of all kinds.
_STEPS = (GRID, 3 * GRID // 4, 2 * GRID // 25, 3 * GRID // 50)
# Share of the training labels whose distance from their mean counts fully.
_COUNTED = 0.99
# For guidance: the largest squared error, in variances of the labels.
_ASSUMED = 9.0


class ErrorVariance(Moments):
    """m - V for m units, V = sum e^2 - (sum e)^2 / m with errors clipped to [-1, 1]; in steps.

    If a unit's means of e^2 and e change from (A, a) to (B, b), and S is the sum of the others' e,
    V changes by B - A - (b - a) (2 S + a + b) / m. As a^2 <= A, B <= 1, that is at most 4.
    """

    def statistics(self, values: NDArray[Any], y: Any, units: Units) -> tuple[int, ...]:
        ee, _, _, e = np.array(super().statistics(values, y, units)) / GRID
        return (in_steps(units.m - (ee - e**2 / units.m), 4.0),)

    def sensitivity(self, units: Units) -> int:
        """One more step for rounding e and its square."""
        return steps_of_unit(units) + 1

    def largest(self, units: Units) -> int:
        return GRID * units.m // 4


@dataclass(frozen=True, eq=False, repr=False)
class VarianceExplained(PrivateScorer):
    """R2, or the explained variance: 1 - (squared errors) / (squared deviations of the labels).

    Errors, and the labels' distances from the mean training label, are clipped at public bounds.
    """

    query: Any = UNSET
    counts: Moments = UNSET
    task: str | None = "regression"
    choice_uses_public: bool = True

    @property
    def clipping(self) -> str:
        c, at, apart = (f"{x:.4g}" for x in (self.counts.c_e, self.counts.centre, self.counts.c_y))
        return (
            f"each error above {c} counted as {c}, each distance of a label from {at} above "
            f"{apart} as {apart}"
        )

    def prepare(self, y_train: Any) -> VarianceExplained:
        check_one_output(self.name, y_train)
        y = np.asarray(dense(y_train), dtype=float)
        centre, c = float(np.mean(y)), self.params.get("largest_error")
        if c is None:
            c = float(np.quantile(np.abs(y - centre), _COUNTED, method="higher")) or 1.0
        gain = Named("neg_mean_squared_error", {})
        query = MeanOf(gain, (-(c**2), 0.0))
        counts = Moments(centre, c, c, _STEPS)
        # As if the labels' variance were a ninth of c squared.
        return replace(self, query=query, counts=counts, ends=(1 - _ASSUMED, 1.0))

    def faithful(self, units: Units) -> Iterator[VarianceExplained]:
        c: float = self.counts.c_e
        query: Query = self.query
        if self._centred:
            query = ErrorVariance(self.counts.centre, c, c, (GRID,) * 4)
        else:
            query = replace(self.query, bounds=(-(c**2), 0.0))
        yield replace(self, query=query, ends=(1 - _ASSUMED, 1.0))

    def choice(self, public: Predictions) -> VarianceExplained:
        """Most errors of a good candidate are far smaller than c, and so is the noise then."""
        c = self.counts.c_e
        whole = replace(self.query, bounds=(-(c**2), 0.0))
        large = large_error(whole, public)
        query = replace(whole, bounds=(-(large**2), 0.0))
        return replace(self, query=query, ends=(1 - _ASSUMED * (large / c) ** 2, 1.0))

    def release(
        self, public: Public = None, m: int = 1, epsilon: float = 1.0, given: Given = None
    ) -> VarianceExplained:
        return replace(self, counts=first_of(given, Moments) or self.counts)

    @property
    def _centred(self) -> bool:
        return self.name == "explained_variance"

    @property
    def _scale(self) -> float:
        """Squared errors in units of the labels' squares."""
        return (self.counts.c_e / self.counts.c_y) ** 2

    def raw(self, counts: Floats, units: Units, undefined: float | None = None) -> Floats:
        ee, tt, t, e = self.counts.means(counts, units.m)[:4]
        errors = self._scale * np.maximum(ee - self._centred * e**2, 0.0)
        return 1 - ratio(errors, tt - t**2, 1.0)

    def interval(
        self, noisy: NoisyCounts, units: Units, confidence: float, sampling: float = 0.0
    ) -> tuple[float, float]:
        """The square of a noisy number is too large on average: one end takes a smaller one."""
        nearest = self.counts.within_range(noisy.counts, units)
        _, _, t0, e0 = self.counts.means(nearest, units.m)[:4]

        def compute(counts: Floats, end: float | None) -> Floats:
            ee, tt, t, e = self.counts.means(counts, units.m)[:4]
            small_t, small_e = (
                np.maximum(abs(at) - abs(x - at), 0) ** 2 for at, x in ((t0, t), (e0, e))
            )
            if end == -math.inf:
                return 1 - ratio(self._scale * (ee - self._centred * small_e), tt - t**2, math.inf)
            return 1 - ratio(self._scale * (ee - self._centred * e**2), tt - small_t, 0.0)

        return simulated_interval(
            compute, self.counts, noisy, units, confidence, self.bounds, sampling
        )

    def exact(self, public: Predictions, sample_weight: Any = None) -> float:
        compute = explained_variance_score if self._centred else r2_score
        error, y = self.counts.clipped(public.y, public.response)
        return float(compute(y, y - error, sample_weight=sample_weight))

    def _without_learnt_bounds(self) -> VarianceExplained:
        if "largest_error" in self.params:
            return self
        return replace(self, counts=replace(self.counts, c_y=math.inf, c_e=math.inf))
