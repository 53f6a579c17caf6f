"""State of Algorithms 1 and 2: a public `SearchModel`, and a secret `Trace` (zone: sensitive)."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from ...search._explore import PublicFit
from ...search._surrogate import Kernel, Surrogate


@dataclass(frozen=True, eq=False)
class Explored:
    """Candidates scored within the training set: `positions` among all, and one fit for each."""

    positions: np.ndarray
    fits: list[PublicFit]

    @property
    def scores(self) -> np.ndarray:
        """Public scores; NaN where the fit or the score failed."""
        return np.array([fit.score for fit in self.fits])

    @property
    def scored(self) -> np.ndarray:
        """Indices into `positions` of the candidates that have a score."""
        return np.flatnonzero(~np.isnan(self.scores))


@dataclass(frozen=True, eq=False)
class SearchModel:
    """Public candidates and parameters of the Gaussian process, set before the path begins.

    `features`: places of the candidates in the unit cube; `kernel`: k2, of variance 1; `noise`:
    standard deviation of an observation, in units of prior_scale; `k1`: correlation of the scores
    of neighbours; `line`: (a, b) with ``score = a + b statistic``; `explored`: candidates scored
    within the training set, None if all parameters were set.
    """

    candidates: tuple[dict[str, Any], ...]
    features: np.ndarray
    kernel: Kernel
    noise: float
    k1: float
    prior_mean: float
    prior_scale: float
    line: tuple[float, float]
    explored: Explored | None

    def __len__(self) -> int:
        return len(self.candidates)

    @property
    def n_explored(self) -> int:
        """Number of evaluations that were made within the training set."""
        return 0 if self.explored is None else len(self.explored.positions)

    def standardised(self, statistic: int) -> float:
        a, b = self.line
        return (a + b * statistic - self.prior_mean) / self.prior_scale

    def steps(self, sensitivity: float) -> int:
        """Convert a change of the process to steps of the statistic, rounded up."""
        return max(1, math.ceil(sensitivity * self.prior_scale / self.line[1]))


@dataclass(frozen=True)
class Trace:
    """A path and the observations (`statistics`) on it: kept inside a `Secret`.

    `count` fits a candidate and returns its statistic, None if the fit fails.
    """

    model: SearchModel
    count: Callable[[dict[str, Any]], int | None]
    posterior: Surrogate
    statistics: tuple[int, ...] = ()

    def evaluate(self, index: int) -> Trace:
        """Return the trace after one more evaluation; a failed fit gets the lowest score."""
        statistic = self.count(self.model.candidates[index])
        return self.observe(index, statistic or 0)

    def observe(self, index: int, statistic: int) -> Trace:
        posterior = self.posterior.condition(index, self.model.standardised(statistic))
        return Trace(self.model, self.count, posterior, (*self.statistics, statistic))

    def mean_in(self, unit: float) -> np.ndarray:
        """Return the posterior mean in multiples of a unit, rounded, shape (n_candidates, 1)."""
        return np.rint(np.clip(self.posterior.mean / unit, -(2.0**60), 2.0**60))[:, None]
