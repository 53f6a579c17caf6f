"""Algorithm 2 of Kusner et al. (ICML 2015): observations without noise (zone: boundary)."""

from __future__ import annotations

import itertools
import math
from dataclasses import replace
from numbers import Real

import numpy as np

from .._space.axes import Distribution
from ..strategies._base import Release, positive, require_mean_gain
from ._branch_and_bound import branch_and_bound
from ._gp import ASSUMPTION_1, GPStrategy, Trace, assemble
from .bounds import NoiseFreeBounds

__all__ = ["GPNoiseFree"]

# Settings of the finest lattice, if its level is not given.
_MOST_CANDIDATES = 2048
# Settings that a lattice can have at all.
_MOST_POINTS = 100_000
# Variance of an observation, in units of the prior's: keeps kernel matrices invertible.
_NUGGET = 1e-10


class GPNoiseFree(GPStrategy):
    """Private Bayesian optimisation under a Gaussian process assumption: Algorithm 2.

    Branch and bound (de Freitas, Smola and Zoghi, 2012) runs on the validation scores, in secret.
    The score seen last is released with Laplace noise of scale ``(Omega + c) / epsilon``, where
    ``Omega = A exp(-T tau / (ln T)^(d/4))`` is what the search is *assumed* to be from the optimum.
    A setting is drawn over the posterior mean as in `GPNoisy`.

    **Not worst case**: see `assumption`. Besides the Gaussian process, it takes A and tau, which
    depend on the scores near their maximum, to be known. Too small ones give no privacy.

    Parameters
    ----------
    A, tau : float
        Of the regret bound, A in units of prior_scale; both positive. There is no default: no
        published value exists, and none could hold for all problems.
    k1 : float, default=None
        Correlation, in [-1, 1], of the scores of validation sets that differ in one record.
    kernel : {"squared_exponential", "matern52", "matern32"}, default="squared_exponential"
    length_scale : float or array-like of shape (n_features,), default=None
        In the unit cube.
    prior_mean, prior_scale : float, default=None
        Mean and standard deviation of scores under the prior.

        What is None, of all these, is learnt within the training set, as in `GPNoisy`.
    version : {"icml", "arxiv"}, default="icml"
        The arXiv text releases the best of the scores seen from the second on, and takes Omega at
        T = 2.
    max_level : int, default=None
        The finest lattice has ``2**max_level + 1`` points a parameter. None is the largest level
        with at most 2,048 in all.
    public_share : float, default=1/3
        Share of the evaluations to learn from, if anything is to be learnt.
    public_cv : splitter or iterable of one (train, test) pair, default=None
        How the training set is cut to learn in it, as in `WorstCase`.

    Notes
    -----
    The space is one dict of continuous distributions. If the search ends early, because no point
    of the lattice is left that could be the best, the best one stands for the rest. For failing
    fits see `GPNoisy`.

    References
    ----------
    Kusner, Gardner, Garnett and Weinberger, "Differentially Private Bayesian Optimization", ICML
    2015, Algorithm 2, Theorems 5 and 6. What we found in it: the documentation, "Algorithms".
    """

    assumption = (
        f"{ASSUMPTION_1}. Also, the scores satisfy the assumptions of de Freitas, Smola and Zoghi "
        "(2012), with the A and tau that were given"
    )
    noise = math.sqrt(_NUGGET)

    @property
    def score_released(self) -> str:
        """Which score is released."""
        return "score seen last" if self.version == "icml" else "best score seen from the second on"

    def __init__(
        self,
        A=None,
        tau=None,
        k1=None,
        kernel="squared_exponential",
        length_scale=None,
        prior_mean=None,
        prior_scale=None,
        version="icml",
        max_level=None,
        public_share=1 / 3,
        public_cv=None,
    ) -> None:
        self.A = A
        self.tau = tau
        self.k1 = k1
        self.kernel = kernel
        self.length_scale = length_scale
        self.prior_mean = prior_mean
        self.prior_scale = prior_scale
        self.version = version
        self.max_level = max_level
        self.public_share = public_share
        self.public_cv = public_cv

    def check(self, budget) -> None:
        """Raise ValueError if a parameter makes no sense."""
        if self.A is None or self.tau is None:
            raise ValueError(
                "GPNoiseFree needs A and tau, of the regret bound A exp(-t tau / (ln t)^(d/4)) of "
                "de Freitas, Smola and Zoghi (2012): they depend on the scores near their maximum, "
                "no value is published, and the noise, and so the privacy, rests on them. If you "
                "do not know them, use strategy='worst_case'"
            )
        super().check(budget)
        self._number("A", Real, positive, "is positive")
        self._number("tau", Real, positive, "is positive")
        self._number("max_level", int, lambda v: v >= 0, "is None or 0 and up", optional=True)

    def run(self, space, oracle, *, n_iter, rng, budget, noise) -> Release:
        """Run Algorithm 2; comments give its lines."""
        require_mean_gain(oracle.scorer, type(self).__name__)
        d, level = self._lattice(space)
        lattice = _points(d, level)
        model = self._model(space.at(lattice), space, oracle, n_iter, rng)
        T, Lambda = n_iter - model.n_explored, len(model)
        if T < 2:
            raise ValueError(f"GPNoiseFree needs 2 evaluations or more; n_iter leaves {T}")
        bounds = NoiseFreeBounds(
            T, Lambda, budget.delta / 2, model.k1, d, self.A, self.tau, self.version
        )

        def observe_all(trace: Trace) -> Trace:
            return _branch_and_bound(trace, d, level, T, bounds.beta(T))

        trace = self._begin(model, oracle, 0).then(observe_all)  # 2
        paid = {"budget": budget, "noise": noise}
        chosen = self._draw(trace, bounds.sensitivity_of_mean, paid)  # as in Algorithm 1
        value = _last if self.version == "icml" else _best_from_the_second_on
        noisy = self._score(trace, value, model.steps(bounds.sensitivity), paid)  # 3-5
        return assemble(model, oracle, chosen, noisy)

    def _lattice(self, space) -> tuple[int, int]:
        """Return the dimension and the level of the finest lattice."""
        axes = list(space.subspaces[0].values())
        continuous = [isinstance(axis, Distribution) and not axis.discrete for axis in axes]
        if len(space.subspaces) > 1 or not all(continuous) or not axes:
            raise ValueError(
                "GPNoiseFree searches one dict of continuous distributions, such as "
                "scipy.stats.loguniform; param_grid has lists, whole numbers or several dicts. "
                "GPNoisy and WorstCase take any space"
            )
        d, level = len(axes), self.max_level
        if level is None:
            level = max((k for k in range(1, 12) if (2**k + 1) ** d <= _MOST_CANDIDATES), default=1)
        if (2**level + 1) ** d > _MOST_POINTS:
            raise ValueError(
                f"max_level={level} makes a lattice of {(2**level + 1) ** d:,} settings in {d} "
                f"parameters, of which {_MOST_POINTS:,} are the most: use a smaller one"
            )
        return d, level


def _points(d: int, level: int) -> np.ndarray:
    """Return the finest lattice of the unit cube, shape (n_points, d)."""
    return np.array(list(itertools.product(range(2**level + 1), repeat=d))) / 2**level


def _branch_and_bound(trace: Trace, d: int, level: int, T: int, beta: float) -> Trace:
    """Return the trace after T evaluations, of which the first has been made."""
    side = (2**level + 1) ** np.arange(d)[::-1]

    def function(x) -> float:
        nonlocal trace
        index = int(np.rint(x * 2**level).astype(int) @ side)
        if index != 0:  # which comes first, and only once
            trace = trace.evaluate(index)
        return trace.model.standardised(trace.statistics[-1])

    branch_and_bound(function, d, n_iter=T, kernel=trace.model.kernel, beta=beta, max_level=level)
    # If no point is left that could be better, the best one stands for the rest.
    rest = T - len(trace.statistics)
    return replace(trace, statistics=trace.statistics + rest * (max(trace.statistics),))


def _last(statistics: tuple[int, ...]) -> int:
    return statistics[-1]


def _best_from_the_second_on(statistics: tuple[int, ...]) -> int:
    return max(statistics[1:])
