"""GP-UCB on validation scores, where noise draws each next candidate (zone: boundary).

The posterior mean is a linear map of the scores, with weights that depend on locations only. The
locations are released as they are drawn; given them, the map's sensitivity is a number.
"""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from .._evaluation.evaluator import Evaluator
from .._privacy.mechanisms import Price
from .._privacy.sensitive import Sensitive
from .._space.space import Points, SearchSpace
from ._history import History
from ._likelihood import uninformed
from ._proposals import UCB, Domain
from ._surrogate import single_threaded

__all__ = ["PrivateGuide", "affordable_draws", "linear_scores"]

# A draw's noise must stay within this share of the score's range; otherwise fewer candidates are
# drawn, or none.
_TOLERANCE = 0.01
# Share of the evaluations that may be drawn.
_DRAWN_SHARE = 0.5
# Bits that a statistic may have, so that weights have room for about 20.
_BITS = 40


def affordable_draws(n: int, most: int, epsilon: float, delta: float, step: float) -> Price | None:
    """Return as many of n evaluations' draws as are accurate enough for (epsilon, delta), or None.

    One unit can change a score by `step`, as a share of the score's range.
    """
    for k in range(min(int(_DRAWN_SHARE * n), most), 0, -1):
        price = Price.shared(k, epsilon, delta)
        if price.scale_of_choice(step) <= _TOLERANCE:
            return price
    return None


def linear_scores(
    statistics: Sensitive,
    weights: NDArray[np.float64],
    offsets: NDArray[np.float64],
    line: tuple[float, float],
    largest: int,
) -> Sensitive:
    """Return ``offset(l) + sum_j w_j(l) score_j`` as integers, on a public scale.

    ``score = a + b statistic`` is the `line`. Subtracting a vector c from all w(l) changes the
    result by ``sum_j c_j score_j``, the same for all l, and so not which is the largest. But the
    sensitivity becomes ``max_l |w(l) - c|_1`` instead of ``max_l |w(l)|_1``.
    """
    a, b = line
    shift = max(0, largest.bit_length() - _BITS)
    offsets = (offsets + a * weights.sum(axis=0)) / (b * 2**shift)
    offsets = offsets - np.median(offsets)
    centred = min(
        (weights - c for c in (0.0, np.median(weights, axis=1, keepdims=True))),
        key=lambda w: np.abs(w).sum(axis=0).max(),
    )
    furthest = np.abs(centred).sum(axis=0).max() * (largest >> shift) + np.abs(offsets).max()
    scale = 2.0 ** (60 - math.ceil(math.log2(furthest + len(weights))))
    return statistics.linear(
        np.rint(centred.T * scale).astype(np.int64),
        np.rint(offsets * scale).astype(np.int64),
        largest=largest,
        shift=shift,
    )


class PrivateGuide:
    """Draws what to evaluate next over the upper confidence bound, by `select`."""

    def __init__(
        self,
        space: SearchSpace,
        oracle: Evaluator,
        pool: Points,
        select: Callable[[Sensitive], int],
        rng: np.random.Generator,
    ) -> None:
        self._space, self._pool, self._select, self._rng = space, pool, select, rng
        units = oracle.problem.units
        self._line, self._largest = oracle.scorer.line(units), oracle.scorer.query.largest(units)
        self._near: list[Points] = []

    @single_threaded
    def propose(self, history: History, n: int) -> Points:
        """Draw n points to evaluate next, each as if the earlier ones had met the mean (GP-BUCB).

        The next ones may also lie around the last one.
        """
        domain = Domain.of(self._space, [history.points, self._pool, *self._near])
        taken = domain.find(history.points)
        prior = uninformed(domain.features, self._space.owner, self._line[1] * self._largest)
        posterior = prior.condition_all([taken[i] for i in history.fitted])
        weights, statistics, drawn = posterior.weights(), history.statistics, list[int]()
        for _ in range(n):
            free = np.setdiff1d(np.arange(len(domain.points)), taken + drawn)
            # mean = w' score, as the prior mean is 0: this is the part without the score.
            bound = UCB(np.zeros(len(free)), posterior.std[free], None)
            scores = linear_scores(statistics, weights[:, free], bound, self._line, self._largest)
            drawn.append(int(free[self._select(scores)]))
            posterior = posterior.condition(drawn[-1])
        points = domain.points.take(drawn)
        self._near = Domain.around(self._space, points.take([-1]), self._rng)
        return points
