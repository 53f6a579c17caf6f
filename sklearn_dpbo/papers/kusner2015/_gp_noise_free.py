"""Algorithm 2 of Kusner et al. (ICML 2015): observations without noise (zone: boundary)."""

from __future__ import annotations

import itertools
import math
from dataclasses import replace
from functools import partial
from numbers import Integral
from typing import Any

import numpy as np

from ...search._axes import Distribution
from ...search._space import SearchSpace
from ...search._strategy import Release, Task
from ._branch_and_bound import branch_and_bound
from ._gp import ASSUMPTION_1, GPStrategy, assemble
from ._in_secret import require_mean
from ._trace import Trace
from .bounds import CandidateBounds, NoiseFreeBounds

_REGRET = (
    "Also, the scores satisfy the assumptions of de Freitas, Smola and Zoghi (2012), with the A "
    "and tau that were given"
)
# Largest number of candidates of the finest lattice, if its level is not given.
_MOST_CANDIDATES = 2048
# Largest number of points that a lattice may have.
_MOST_POINTS = 100_000
# Variance of an observation, in units of the prior variance: keeps kernel matrices invertible.
_NUGGET = 1e-10


class GPNoiseFree(GPStrategy):
    """Private Bayesian optimisation under a Gaussian process assumption: Algorithm 2.

    Branch and bound (de Freitas, Smola and Zoghi, 2012) runs on the validation scores, in secret.
    The last score is released with Laplace noise of scale ``(Omega + c) / epsilon``, where ``Omega
    = A exp(-T tau / (ln T)^(d/4))`` is the *assumed* distance of the search from the optimum. A
    candidate is selected by its posterior mean, as in `GPNoisy`.

    **The guarantee is not worst-case**: see `assumption`. Besides the Gaussian process, the noise
    on the score assumes that A and tau are known. If A is too small or tau too large, there is no
    privacy. See the documentation, "Kusner et al. (2015)".

    Parameters
    ----------
    A, tau : float
        Constants of the regret bound, A in units of prior_scale; both positive. There is no
        default, because they depend on the scores near their maximum. Not needed if no score is
        released (``score_share=0``).
    k1, kernel, length_scale, prior_mean, prior_scale : float, str or array-like, default=None
        As in `GPNoisy`.
    max_level : int, default=None
        The finest lattice has ``2**max_level + 1`` points per parameter; 0 or more. None is the
        largest level with at most 2,048 points in total.
    public_share, public_cv : float, splitter
        As in `GPNoisy`.
    score_share : float, default=0.5
        Share of epsilon and of delta for the score, in [0, 1).

    Notes
    -----
    The space must be one dict of continuous distributions. The search ends early if no remaining
    point of the lattice can be the best; the best score then counts as the last score.
    """

    _assumption = f"{ASSUMPTION_1}. {_REGRET}"
    _bounds_type: type[NoiseFreeBounds] = NoiseFreeBounds
    noise = math.sqrt(_NUGGET)
    score_released = "score seen last"

    def __init__(
        self,
        A: Any = None,
        tau: Any = None,
        k1: Any = None,
        kernel: Any = "squared_exponential",
        length_scale: Any = None,
        prior_mean: Any = None,
        prior_scale: Any = None,
        max_level: Any = None,
        public_share: Any = 1 / 3,
        public_cv: Any = None,
        score_share: Any = 0.5,
    ) -> None:
        self.A = A
        self.tau = tau
        self.k1 = k1
        self.kernel = kernel
        self.length_scale = length_scale
        self.prior_mean = prior_mean
        self.prior_scale = prior_scale
        self.max_level = max_level
        self.public_share = public_share
        self.public_cv = public_cv
        self.score_share = score_share

    def check(self, epsilon: float, delta: float) -> None:
        without_score = self.score_share == 0
        if not without_score and (self.A is None or self.tau is None):
            raise ValueError(
                f"{type(self).__name__} needs A and tau, of the regret bound "
                "A exp(-t tau / (ln t)^(d/4)) of de Freitas, Smola and Zoghi (2012): they depend "
                "on the scores near their maximum, no value is published, and the noise on the "
                "score, and so its privacy, rests on them. If you do not know them, release no "
                "score (score_share=0), or use strategy='worst_case'"
            )
        super().check(epsilon, delta)
        self._check("A", "positive", lambda v: v > 0, optional=without_score)
        self._check("tau", "positive", lambda v: v > 0, optional=without_score)
        self._check("max_level", "0 or more", lambda v: v >= 0, Integral, optional=True)

    def run(self, task: Task) -> Release:
        """Run Algorithm 2; comments give its lines."""
        session = task.session
        candidates = task.candidates
        require_mean(candidates.scorer, type(self).__name__)
        d, level = self._lattice(task.space)
        lattice = _points(d, level)
        model = self._model(task.space.at(lattice), task)
        T = task.n_iter - model.n_explored
        Lambda = len(model)
        if T < 2 and self.score_share:
            raise ValueError(
                f"{type(self).__name__} needs 2 evaluations or more; n_iter leaves {T}"
            )
        (_, delta), (_, score_delta) = self._parts(session.epsilon, session.delta)
        candidate_bounds = CandidateBounds(T, Lambda, delta, model.k1)
        beta = replace(candidate_bounds, delta=score_delta or delta).beta(T)

        trace = self._begin(model, session, 0).then(
            partial(_branch_and_bound, d=d, level=level, T=T, beta=beta)
        )  # 2
        sensitivity = candidate_bounds.sensitivity_of_mean
        chosen = self._draw(trace, sensitivity, session)  # as in Algorithm 1
        if not self.score_share:
            return assemble(model, candidates, chosen, None)
        bounds = self._bounds_type(T, Lambda, score_delta, model.k1, d, self.A, self.tau)
        steps = model.steps(bounds.sensitivity)
        noisy = self._score(trace, self._released_of, steps, session)
        return assemble(model, candidates, chosen, noisy)  # 3-5

    @staticmethod
    def _released_of(statistics: tuple[int, ...]) -> int:
        return statistics[-1]

    def _lattice(self, space: SearchSpace) -> tuple[int, int]:
        """Return the dimension and the level of the finest lattice."""
        axes = list(space.subspaces[0].values())
        continuous = [isinstance(axis, Distribution) and not axis.discrete for axis in axes]
        if len(space.subspaces) > 1 or not all(continuous) or not axes:
            raise ValueError(
                f"{type(self).__name__} searches one dict of continuous distributions, such as "
                "scipy.stats.loguniform; param_grid has lists, whole numbers or several dicts. "
                "Use GPNoisy or WorstCase, which take any space"
            )
        d = len(axes)
        level = self.max_level
        if level is None:
            level = max((k for k in range(1, 12) if (2**k + 1) ** d <= _MOST_CANDIDATES), default=1)
        if (2**level + 1) ** d > _MOST_POINTS:
            raise ValueError(
                f"max_level={level} makes a lattice of {(2**level + 1) ** d:,} points for {d} "
                f"parameters; it may have at most {_MOST_POINTS:,}: use a smaller max_level"
            )
        return d, level


def _points(d: int, level: int) -> np.ndarray:
    """Return the finest lattice of the unit cube, shape (n_points, d)."""
    steps = np.array(list(itertools.product(range(2**level + 1), repeat=d)))
    return np.asarray(steps / 2**level)


def _branch_and_bound(trace: Trace, d: int, level: int, T: int, beta: float) -> Trace:
    """Return the trace after T evaluations; the first has been made."""
    side = (2**level + 1) ** np.arange(d)[::-1]

    def function(x: np.ndarray) -> float:
        nonlocal trace
        index = int(np.rint(x * 2**level).astype(int) @ side)
        if index != 0:  # the first one has been evaluated
            trace = trace.evaluate(index)
        return trace.model.standardised(trace.statistics[-1])

    branch_and_bound(function, d, n_iter=T, kernel=trace.model.kernel, beta=beta, max_level=level)
    # If no remaining point can be better, the best score counts for the evaluations not made.
    n_unused = T - len(trace.statistics)
    best_repeated = (max(trace.statistics),) * n_unused
    return replace(trace, statistics=trace.statistics + best_repeated)
