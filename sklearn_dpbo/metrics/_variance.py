"""R2 and explained variance (zone: sensitive).

Both divide by the variance of the labels, which is the same for all candidates. So candidates are
ranked by the squared error, clipped at a separate bound; for the explained variance, by the
variance of errors if noise is negligible. The score is computed from released sums of errors,
labels and their squares.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.metrics import explained_variance_score, r2_score

from ..privacy.float_errors import ignore_float_errors
from ..privacy.noisy_counts import NoisyCounts
from ..records.tables import dense
from ..records.units import Units
from . import _bounds
from ._errors import Moments
from ._gains import Named
from ._intervals import simulated_interval
from ._metrics import ratio
from ._of_counts import first_of
from ._queries import GRID, MeanOf, in_steps, numbers, steps_of_unit
from ._response import Predictions
from ._scorers import UNSET, Given, PrivateScorer, Public, check_one_output

Floats = NDArray[np.float64]
# Steps for e^2, t^2, t and e. As all sums get the same noise, the shares of epsilon are about .53,
# .40, .04 and .03. This is near the best for models of all kinds.
_STEPS = (GRID, 3 * GRID // 4, 2 * GRID // 25, 3 * GRID // 50)


class ErrorVariance(Moments):
    """m - V for m units, in steps, where V = sum e^2 - (sum e)^2 / m.

    Errors e are clipped to [-1, 1]. If a unit's means of e^2 and e change from (A, a) to (B, b),
    and S is the sum of e over the other units, V changes by B - A - (b - a) (2 S + a + b) / m. As
    a^2 <= A, B <= 1, that is at most 4.
    """

    def statistics(self, values: NDArray[Any], y: Any, units: Units) -> tuple[int, ...]:
        ee, _, _, e = np.array(super().statistics(values, y, units)) / GRID
        return (in_steps(units.m - (ee - e**2 / units.m), 4.0),)

    def sensitivity(self, units: Units) -> int:
        """Add one step, for rounding e and its square, to that of the exact value."""
        return steps_of_unit(units) + 1

    def largest(self, units: Units) -> int:
        return GRID * units.m // 4


@dataclass(frozen=True, eq=False, repr=False)
class VarianceExplained(PrivateScorer):
    """R2, or the explained variance: 1 - (squared errors) / (squared deviations of the labels).

    Errors, and the labels' distances from the mean training label, are clipped at public bounds.
    `most` is the largest such distance of a training label, and `label_variance` their variance.
    """

    query: Any = UNSET
    counts: Moments = UNSET
    task: str | None = "regression"
    most: float = math.inf
    label_variance: float = 1.0

    @property
    def clipping(self) -> str:
        numbers = (self.counts.c_e, self.counts.centre, self.counts.c_y)
        error, centre, distance = (f"{x:.4g}" for x in numbers)
        return (
            f"each error above {error} counted as {error}, each distance of a label from {centre} "
            f"above {distance} as {distance}"
        )

    def prepare(self, y_train: Any) -> VarianceExplained:
        check_one_output(self.name, y_train)
        y = np.asarray(dense(y_train), dtype=float)
        centre = float(np.mean(y))
        most = float(np.max(np.abs(y - centre))) or 1.0
        if not math.isfinite(most * most):
            raise ValueError(
                f"scoring={self.name!r}: the squares of the training labels exceed the range of "
                "floats. Rescale the labels"
            )
        c = self.params.get("largest_error") or _bounds.of_distances(y - centre, 1.0)
        counts = Moments(centre, c, c, _STEPS)
        label_variance = float(np.var(y)) or 1.0
        scorer = replace(self, counts=counts, most=most, label_variance=label_variance)
        return scorer._compared_by(c**2)

    def _compared_by(self, loss: float) -> VarianceExplained:
        """Return the scorer that ranks candidates by squared errors clipped at `loss`."""
        query = MeanOf(Named("neg_mean_squared_error", {}), (-loss, 0.0))
        return replace(self, query=query, ends=(1 - loss / self.label_variance, 1.0))

    def faithful(self, units: Units) -> Iterator[VarianceExplained]:
        if self._centred:
            c = math.sqrt(-self.query.bounds[0])
            yield replace(self, query=ErrorVariance(self.counts.centre, c, c, (GRID,) * 4))

    @property
    def learns_bounds(self) -> bool:
        return "largest_error" not in self.params

    @ignore_float_errors()
    def with_bounds(
        self, y_train: Any, public: Sequence[Predictions], choice: float, score: float
    ) -> VarianceExplained:
        centre = self.counts.centre
        train_distances = np.asarray(dense(y_train), dtype=float) - centre
        if public:
            distances = numbers(public[0].y) - centre
            errors = np.array([numbers(candidate.y) - candidate.response for candidate in public])
            errors = np.where(np.isfinite(errors**2), errors, self.most)
        else:
            distances = train_distances
            errors = train_distances[None]
        squares = errors**2
        best = int(np.argmin(squares.mean(axis=1)))
        if c := self.params.get("largest_error"):
            highest = c**2
        else:
            # A few public rows do not show the tail. So the bound is at least that of all labels.
            least = _bounds.of_distances(train_distances, score)
            c = max(least, self._bound(errors[best], distances, score))
            highest = _bounds.highest_of_choice(squares, train_distances**2, choice)
        scorer = replace(self, counts=replace(self.counts, c_y=c, c_e=c))
        return scorer._compared_by(_bounds.of_choice(squares, highest, choice))

    def _bound(self, errors: Floats, distances: Floats, reach: float) -> float:
        """Choose the bound of errors and of labels' distances, by public records."""
        sensitivity = self.counts.sensitivity(Units.of(1)) / GRID
        steps = _STEPS[0] / GRID, _STEPS[1] / GRID
        return _bounds.of_ratio(errors, distances, sensitivity, steps, reach)

    def share_cut_off(self, public: Predictions) -> float:
        clipped, whole = (
            scorer.counts.clipped(public.y, public.response)[0]
            for scorer in (self, self.without_learnt_bounds())
        )
        return 1 - float((clipped**2).sum() / (whole**2).sum()) if whole.any() else 0.0

    def for_public(self) -> VarianceExplained:
        c = _bounds.MOST_IN_PUBLIC * self.most
        return replace(self, counts=replace(self.counts, c_y=c, c_e=c))

    def release(
        self, public: Public = None, m: int = 1, epsilon: float = 1.0, given: Given = None
    ) -> VarianceExplained:
        return replace(self, counts=first_of(given, Moments) or self.counts)

    @property
    def _centred(self) -> bool:
        return self.name == "explained_variance"

    @property
    def _scale(self) -> float:
        """Unit of squared errors, in units of the labels' squares."""
        return (self.counts.c_e / self.counts.c_y) ** 2

    def raw(self, counts: Floats, units: Units, undefined: float | None = None) -> Floats:
        ee, tt, t, e = self.counts.means(counts, units.m)[:4]
        errors = self._scale * np.maximum(ee - self._centred * e**2, 0.0)
        return 1 - ratio(errors, tt - t**2, 1.0)

    def interval(
        self, noisy: NoisyCounts, units: Units, confidence: float, sampling: float = 0.0
    ) -> tuple[float, float]:
        """Simulate an interval, with smaller squares of noisy means in one of its ends.

        The square of a noisy mean is too large on average. So each end replaces the square of one
        mean: the lower end that of e, the upper end that of t.
        """
        nearest = self.counts.within_range(noisy.counts, units)
        _, _, t0, e0 = self.counts.means(nearest, units.m)[:4]

        def smaller_square(estimate: Floats, simulated: Floats) -> Floats:
            return np.asarray(np.maximum(abs(estimate) - abs(simulated - estimate), 0) ** 2)

        def compute(counts: Floats, end: float | None) -> Floats:
            ee, tt, t, e = self.counts.means(counts, units.m)[:4]
            if end == -math.inf:
                centring = self._centred * smaller_square(e0, e)
                return 1 - ratio(self._scale * (ee - centring), tt - t**2, math.inf)
            centring = self._centred * e**2
            return 1 - ratio(self._scale * (ee - centring), tt - smaller_square(t0, t), 0.0)

        return simulated_interval(
            compute, self.counts, noisy, units, confidence, self.bounds, sampling
        )

    def exact(self, public: Predictions, sample_weight: Any = None) -> float:
        compute = explained_variance_score if self._centred else r2_score
        error, y = self.counts.clipped(public.y, public.response)
        return float(compute(y, y - error, sample_weight=sample_weight))

    def without_learnt_bounds(self) -> VarianceExplained:
        if not self.learns_bounds:
            return self
        return replace(self, counts=replace(self.counts, c_y=math.inf, c_e=math.inf))
