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
# Of the candidates that are validated, the share that are the best explored; and how far promising
# ones keep from each other, as a share of the distance between as many that fill the space evenly.
_EXPLORED_SHARE, _APART = 0.5, 0.5
# Share that fills the space, and finds what the training set does not show.
_FILL_SHARE = 0.25
# Scores are modelled down to this many times the distance of the best and the median one.
_FLOOR = 10.0


@dataclass(frozen=True, eq=False)
class Domain:
    """The finite set of distinct points at which a surrogate is evaluated; `index` by identity."""

    space: SearchSpace
    points: Points
    features: NDArray[np.float64]
    index: dict[bytes, int]

    @classmethod
    def of(cls, space: SearchSpace, several: list[Points]) -> Domain:
        """Gather points, each once, in order."""
        points = Points.concatenate(several)
        index: dict[bytes, int] = {}
        first: list[int] = []
        for i, key in enumerate(points.identities()):
            if key not in index:
                index[key] = len(first)
                first.append(i)
        points = points.take(np.array(first, dtype=int))
        return cls(space, points, space.features(points), index)

    def find(self, points: Points) -> list[int]:
        """Return the positions of points of the domain."""
        return [self.index[key] for key in points.identities()]

    def within(self, radius: float, index: int) -> NDArray[np.bool_]:
        """Return which points are nearer than this to one of them, as the surrogate sees them."""
        squares = (self.features - self.features[index]) ** 2
        near: NDArray[np.bool_] = squares.sum(axis=1) < radius**2
        return near

    @staticmethod
    def around(space: SearchSpace, center: Points, rng: np.random.Generator) -> list[Points]:
        """Return points in the neighbourhood of one."""
        return [space.near(center, radius, _POINTS_PER_RADIUS, rng) for radius in _RADII]


def choose_batch(
    model: Surrogate,
    n: int,
    taken: list[int],
    near: Callable[[int], NDArray[np.bool_]] | None = None,
) -> list[int]:
    """Return at most n positions by the upper confidence bound, neither `taken` nor `near` others.

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
        """Choose kernel parameters by marginal likelihood.

        A fit failed where a score is not finite. Some score must be.
        """
        failed = ~np.isfinite(scores)
        scores = _floored(np.where(failed, -np.inf, scores))
        kernel, noise, prior_mean = fit_kernel(space.features(points), scores, KERNEL, space.owner)
        return cls(space, points, scores, failed, kernel, noise, prior_mean)

    def on(self, domain: Domain, capacity: int) -> Surrogate:
        """Return the posterior on a domain that has all the points."""
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

    def domain(self, others: list[Points], rng: np.random.Generator) -> Domain:
        """Return the scored points, others, and points around the best."""
        near = Domain.around(self.space, self.best(), rng)
        return Domain.of(self.space, [self.points, *others, *near])


def _floored(scores: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return scores with those that are far worse than the others raised.

    Candidates that diverge would hide the differences between all others from the surrogate.
    """
    known = scores[np.isfinite(scores)]
    best, middle = known.max(), np.median(known)
    floor = known.min() if best == middle else best - _FLOOR * (best - middle)
    floored: NDArray[np.float64] = np.maximum(scores, max(floor, known.min()))
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
    """Return n points to validate: those to try first, the best explored, promising ones, fillers.

    Promising points have high upper confidence bounds and keep a distance, as public scores are
    often wrong about a whole region. Without a model, the rest of `pool` fills the space.
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
    # Points without an evaluation come first.
    seen = {*chosen, *domain.find(model.points)}
    fillers = sorted(set(domain.find(pool)) - set(chosen), key=lambda i: (i in seen, i))
    return domain.points.take(np.array(chosen + fillers[: n - len(chosen)], dtype=int))
