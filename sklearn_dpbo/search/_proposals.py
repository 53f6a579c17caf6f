"""Proposals of candidates from public or already released values (zone: public)."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

import numpy as np
from numpy.typing import NDArray

from ._likelihood import fit_kernel
from ._space import Points, SearchSpace
from ._surrogate import Kernel, Surrogate, single_threaded

# The acquisition function for promising candidates, and the kernel of the surrogate.
KERNEL = "matern52"

# Neighbourhoods are sampled on three scales, with this many points each.
_RADII = (0.2, 0.05, 0.01)
_POINTS_PER_RADIUS = 200
# Share of the validated candidates that are the best explored.
_EXPLORED_SHARE = 0.5
# Smallest distance between promising candidates, as a share of the distance between as many
# candidates that fill the space evenly.
_APART = 0.5
# Share that fills the space, and finds what the training set does not show.
_FILL_SHARE = 0.25
# Scores below the best by more than this many times (best - median) are raised to that.
_FLOOR = 10.0


@dataclass(frozen=True, eq=False)
class Domain:
    """The finite set of distinct points at which a surrogate is evaluated.

    `index` has the position of each point by its identity.
    """

    space: SearchSpace
    points: Points
    features: NDArray[np.float64]
    index: dict[bytes, int]

    @classmethod
    def of(cls, space: SearchSpace, point_lists: list[Points]) -> Domain:
        """Gather points in order, without copies."""
        points = Points.concatenate(point_lists)
        index: dict[bytes, int] = {}
        first: list[int] = []
        for i, key in enumerate(points.identities()):
            if key not in index:
                index[key] = len(first)
                first.append(i)
        points = points.take(np.array(first, dtype=int))
        return cls(space, points, space.features(points), index)

    def find(self, points: Points) -> list[int]:
        """List the positions of points of the domain."""
        return [self.index[key] for key in points.identities()]

    def within(self, radius: float, index: int) -> NDArray[np.bool_]:
        """Mark the points within `radius` of point `index`, in features; shape (n_points,)."""
        squares = (self.features - self.features[index]) ** 2
        near: NDArray[np.bool_] = squares.sum(axis=1) < radius**2
        return near

    @staticmethod
    def around(space: SearchSpace, center: Points, rng: np.random.Generator) -> list[Points]:
        """Sample points in the neighbourhood of one."""
        return [space.near(center, radius, _POINTS_PER_RADIUS, rng) for radius in _RADII]


def choose_batch(
    model: Surrogate,
    n: int,
    taken: list[int],
    near: Callable[[int], NDArray[np.bool_]] | None = None,
) -> list[int]:
    """Choose at most n positions by the upper confidence bound; none is `taken` or `near` another.

    Each is chosen as if the earlier ones had met the mean: GP-BUCB (Desautels, Krause and Burdick,
    JMLR 2014).
    """
    batch: list[int] = []
    free = np.ones(len(model.mean), dtype=bool)
    free[taken] = False
    while len(batch) < n and free.any():
        index = int(np.argmax(np.where(free, model.mean + model.std, -np.inf)))
        batch.append(index)
        free[index] = False
        if near is not None:
            free &= ~near(index)
        model = model.condition(index)
    return batch


@dataclass(frozen=True, eq=False)
class PublicModel:
    """A model of public scores over the whole space; a fit that failed has the lowest score."""

    space: SearchSpace
    points: Points
    scores: NDArray[np.float64]
    failed: NDArray[np.bool_]
    kernel: Kernel
    noise: float
    prior_mean: float

    @classmethod
    def learn(cls, space: SearchSpace, points: Points, scores: NDArray[np.float64]) -> PublicModel:
        """Fit the kernel to public scores by marginal likelihood.

        A score that is not finite is that of a fit that failed. At least one must be finite.
        """
        failed = ~np.isfinite(scores)
        scores = _floored(np.where(failed, -np.inf, scores))
        kernel, noise, prior_mean = fit_kernel(space.features(points), scores, KERNEL, space.owner)
        return cls(space, points, scores, failed, kernel, noise, prior_mean)

    def on(self, domain: Domain, capacity: int) -> Surrogate:
        """Compute the posterior on a domain that has all the points."""
        prior = Surrogate.on(
            domain.features, self.kernel, self.noise, self.prior_mean, capacity=capacity
        )
        return prior.condition_all(domain.find(self.points), self.scores)

    def best(self, n: int = 1) -> Points:
        """Return the n points of the highest posterior means among those that could be fitted."""
        points = Domain.of(self.space, [self.points.take(~self.failed)]).points
        return points.take(np.argsort(-self.mean(points), kind="stable")[:n])

    def mean(self, points: Points) -> NDArray[np.float64]:
        """Return the posterior means at some points, shape (n_points,)."""
        domain = Domain.of(self.space, [self.points, points])
        mean: NDArray[np.float64] = self.on(domain, len(self.points)).mean[domain.find(points)]
        return mean

    def domain(self, points: list[Points], rng: np.random.Generator) -> Domain:
        """Gather the scored points, these points, and points around the best."""
        near = Domain.around(self.space, self.best(), rng)
        return Domain.of(self.space, [self.points, *points, *near])


def _floored(scores: NDArray[np.float64]) -> NDArray[np.float64]:
    """Raise scores that are far worse than the others.

    Candidates that diverge would hide the differences between all others from the surrogate.
    """
    finite = scores[np.isfinite(scores)]
    worst = finite.min()
    best = finite.max()
    median = np.median(finite)
    floor = worst if best == median else best - _FLOOR * (best - median)
    floored: NDArray[np.float64] = np.maximum(scores, max(floor, worst))
    return floored


@single_threaded
def validation_batch(
    space: SearchSpace,
    model: PublicModel | None,
    start: Points,
    pool: Points,
    n: int,
    rng: np.random.Generator,
) -> Points:
    """Choose n points to validate: `start`, the best explored, promising points, and fillers.

    Promising points have high upper confidence bounds and keep a distance, as public scores are
    often wrong about a whole region. Fillers, from `pool`, fill the space; without a model, these
    are all but `start`.
    """
    if model is None:
        return Domain.of(space, [start, pool]).points.take(slice(n))
    domain = model.domain([start, pool], rng)
    chosen = domain.find(start)[:n]
    n_guided = n - len(chosen) - int(_FILL_SHARE * n)
    if n_guided > 0:
        posterior = model.on(domain, len(model.points) + n)
        explored = [i for i in domain.find(model.best(len(model.points))) if i not in chosen]
        best = explored[: min(int(_EXPLORED_SHARE * n), n_guided)]
        radius = _APART * n ** (-1 / (space.owner.max(initial=0) + 1))
        near = partial(domain.within, radius)
        chosen += best + choose_batch(posterior, n_guided - len(best), chosen + best, near)
    # Fillers that were not explored come first.
    seen = {*chosen, *domain.find(model.points)}
    fillers = sorted(set(domain.find(pool)) - set(chosen), key=lambda i: (i in seen, i))
    return domain.points.take(np.array(chosen + fillers[: n - len(chosen)], dtype=int))
