"""Candidates worth evaluating, from what is public or already released (zone: public)."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from .._gp.likelihood import default_kernel, fit_kernel
from .._gp.surrogate import Kernel, Surrogate
from .._space.space import Points, SearchSpace

__all__ = ["Domain", "PublicModel", "choose_batch"]

# A neighbourhood is looked at on three scales, of this many points each.
_RADII = (0.2, 0.05, 0.01)
_POINTS_PER_RADIUS = 200
# Of a kernel that nothing was learnt for, in units of its variance.
_UNKNOWN_LEVEL, _NOISE = 10.0, 1e-2


@dataclass(frozen=True)
class Domain:
    """The finite set of points that a surrogate is asked about.

    Parameters
    ----------
    space : SearchSpace
    points : Points
        Distinct.
    features : ndarray of shape (n_points, n_features)
    index : dict
        Where in it a point is, by `Points.identities`.
    """

    space: SearchSpace
    points: Points
    features: np.ndarray
    index: dict

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

    @staticmethod
    def around(space: SearchSpace, center: Points, rng) -> list[Points]:
        """Return points in the neighbourhood of one."""
        return [space.near(center, radius, _POINTS_PER_RADIUS, rng) for radius in _RADII]


def choose_batch(model: Surrogate, acquisition, n: int, taken: list[int]) -> list[int]:
    """Return n positions by the acquisition, each as if the earlier ones had met the mean.

    Hallucinating observations at the mean shrinks the variance around them and so spreads the
    batch: GP-BUCB (Desautels, Krause and Burdick, JMLR 2014).

    Parameters
    ----------
    model : Surrogate
    acquisition : callable
    n : int
    taken : list of int
        Positions that are not to be chosen.
    """
    taken, batch = list(taken), []
    best = model.mean[list(model.picked)].max() if model.picked else model.mean.max()
    for _ in range(min(n, len(model.mean) - len(set(taken)))):
        value = np.array(acquisition(model.mean, model.std, best), dtype=float)
        value[taken] = -np.inf
        index = int(np.argmax(value))
        batch.append(index)
        taken.append(index)
        model = model.condition(index)
    return batch


@dataclass(frozen=True)
class PublicModel:
    """What public scores say about the whole space.

    Parameters
    ----------
    space : SearchSpace
    points : Points
        Where scores were had.
    scores : ndarray of shape (n_points,)
        NaN where there was none: such points count as the worst that was seen.
    kernel : Kernel
    noise : float
    prior_mean : float
    """

    space: SearchSpace
    points: Points
    scores: np.ndarray
    kernel: Kernel
    noise: float
    prior_mean: float

    @classmethod
    def learn(cls, space, points, scores, shape: str) -> PublicModel:
        """Choose kernel parameters by marginal likelihood."""
        scores = np.where(np.isnan(scores), np.nanmin(scores), scores)
        kernel, noise, prior_mean = fit_kernel(space.features(points), scores, shape, space.owner)
        return cls(space, points, scores, kernel, noise, prior_mean)

    @classmethod
    def ignorant(cls, space: SearchSpace, shape: str, std: float) -> PublicModel:
        """Return what is assumed when nothing is public: the kernel, and a level yet unknown."""
        kernel = default_kernel(shape, space.owner, std**2)
        kernel = replace(kernel, bias=_UNKNOWN_LEVEL * std**2)
        nothing = space.fill(0, np.random.default_rng(0))
        return cls(space, nothing, np.empty(0), kernel, _NOISE * std**2, 0.0)

    def on(self, domain: Domain, capacity: int) -> Surrogate:
        """Return the posterior on a domain that has all the points."""
        prior = Surrogate.on(
            domain.features, self.kernel, self.noise, self.prior_mean, capacity=capacity
        )
        return prior.condition_all(domain.find(self.points), self.scores)

    def best(self) -> Points:
        """Return the point of the highest posterior mean among those that were scored."""
        domain = Domain.of(self.space, [self.points])
        model = self.on(domain, len(self.points))
        return domain.points.take([int(np.argmax(model.mean))])

    def domain(self, others: list[Points], rng) -> Domain:
        """Return the scored points, others, and points around the best."""
        near = Domain.around(self.space, self.best(), rng)
        return Domain.of(self.space, [self.points, *others, *near])
