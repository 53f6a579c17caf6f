"""Algorithm 3 of Kusner et al. (ICML 2015): Lipschitz gains, convex training (zone: boundary)."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np

from ...metrics._released import ReleasedScore
from ...metrics._scorers import PrivateScorer
from ...prediction.candidates import Candidates
from ...prediction.session import Session
from ...privacy.sensitive import Secret
from ...records.tables import n_rows
from ...search._likelihood import default_kernel
from ...search._strategy import Candidate, Release, Strategy, Task
from ...search._surrogate import Surrogate
from ._acquisition import ExpectedImprovement
from ._in_secret import (
    check_acquisition,
    first_of_path,
    next_candidate,
    require_mean,
)
from ._linear import TOLERANCE, check_converged, check_estimator
from .bounds import LipschitzBounds

_ASSUMPTION_2 = (
    "Assumption 2 of Kusner et al. (2015): each model is the exact minimiser of a convex, "
    "1-Lipschitz, L2-regularised training loss, and a record's gain is Lipschitz in the model. "
    "Checked: estimator, penalty, loss, no intercept, two classes, rows of norm at most 1, one "
    "regularisation parameter within its bounds, and the gradient of logistic regressions at the "
    "solver's solution. Not checked: that the solver of hinge losses converged"
)
_RELEASED_SCORE = (
    "best_score_ and best_score_interval_: the best score seen. Neither the candidate that has it "
    "nor which candidates were evaluated is released."
)
# Number of candidates that the search considers.
_N_CANDIDATES = 256
# Prior of the scores if only their range is known: the standard deviation over the space, as a
# share of the range, and the variances of the mean level and of observations, as shares of the
# variance over the space.
_STD = 0.1
_LEVEL = 10.0
_NUGGET = 1e-2


class LipschitzConvex(Strategy):
    """Pure epsilon-DP release of a regularised linear classifier's best score: Algorithm 3.

    Bayesian optimisation runs on the validation scores, in secret. The best score seen is released
    with Laplace noise of scale ``Delta / epsilon``,

        Delta = (lmax - lmin) L / (lmax lmin) + G / m

    with ``G = min(g*, L / lmin)`` if the gain of w = 0 is the lowest, as for the ramp, else
    ``G = g*``. This holds for models that minimise ``lambda / 2 |w|^2 + 1/n sum_i loss_i(w)`` with
    lambda in [lmin, lmax] and a convex, 1-Lipschitz loss, and for gains in an interval of length g*
    that are L-Lipschitz in w, whatever candidates are evaluated. See the documentation,
    "Kusner et al. (2015)".

    The estimator must be ``LogisticRegression`` or ``LinearSVC(loss="hinge")``, with
    ``penalty="l2"`` and ``fit_intercept=False``, in a pipeline after
    `sklearn_dpbo.papers.kusner2015.UnitBall`. The space has one parameter, C:
    ``lambda = 1 / (n C)`` for n training rows. The metric is "ramp", "normalized_sigmoid", or
    your own gain.

    Parameters
    ----------
    g_star : float, default=None
        Length of the interval in which gains lie; positive. None means the scorer's bounds.
    lipschitz : float, default=None
        L, positive. None means the scorer's: 1 for "ramp", a quarter of the slope for
        "normalized_sigmoid". Required for your own gain.
    lambda_bounds : tuple (lmin, lmax) of float, default=None
        Range of lambda in which the candidates lie, ``0 < lmin <= lmax``. None means the range of
        the candidates.
    acquisition : ExpectedImprovement or UpperConfidenceBound, default=None
        Other classes are refused, because they would see secret scores. None means
        ``ExpectedImprovement()``.

    Notes
    -----
    Solvers must converge: use a small ``tol`` (1e-8) and a large ``max_iter``. A logistic
    regression whose gradient has a norm above 1e-6 counts as a failed fit. Fits that fail in secret
    are left out and not reported.
    """

    def __init__(
        self,
        g_star: Any = None,
        lipschitz: Any = None,
        lambda_bounds: Any = None,
        acquisition: Any = None,
    ) -> None:
        self.g_star = g_star
        self.lipschitz = lipschitz
        self.lambda_bounds = lambda_bounds
        self.acquisition = acquisition

    assumption = _ASSUMPTION_2
    released = _RELEASED_SCORE
    releases_candidate = False
    _bounds_type: type[LipschitzBounds] = LipschitzBounds

    def check(self, epsilon: float, delta: float) -> None:
        self._check("g_star", "positive", lambda v: v > 0, optional=True)
        self._check("lipschitz", "positive", lambda v: v > 0, optional=True)
        check_acquisition(self.acquisition)
        if self.lambda_bounds is not None:
            low_high = np.ravel(self.lambda_bounds)
            if not (len(low_high) == 2 and 0 < low_high[0] <= low_high[1] < math.inf):
                raise ValueError(
                    f"lambda_bounds must be (lmin, lmax) with 0 < lmin <= lmax; found "
                    f"{self.lambda_bounds!r}"
                )

    def run(self, task: Task) -> Release:
        """Run Algorithm 3; comments give its lines."""
        space = task.space
        session = task.session
        scorer = task.candidates.scorer
        require_mean(scorer, type(self).__name__)
        name = check_estimator(task.candidates.options.estimator, session.training)
        task.candidates.accept = check_converged
        for axes in space.subspaces:
            if set(axes) != {name}:
                raise ValueError(
                    f"{type(self).__name__} searches {name!r} alone; param_grid has "
                    f"{sorted(axes)}. Search other parameters with WorstCase"
                )
        points = space.fill(_N_CANDIDATES, task.rng)
        candidate_params = space.params(points)
        C = np.array([params[name] for params in candidate_params], dtype=float)
        bounds = self._bounds(task.candidates, 1 / (n_rows(session.training.X) * C))
        path = self._search(
            space.features(points), space.owner, candidate_params, session, task.n_iter
        )
        steps = _steps(task.candidates, bounds.sensitivity)
        best = path.measured(_best, steps)  # 3-4
        noisy = session.release(
            best,
            purpose="best score seen",
            assumption=self.assumption,
        )  # 5-6
        score = ReleasedScore(scorer, noisy, session.units)
        tried = tuple(Candidate(params, None) for params in candidate_params)
        return Release(tried, None, [score])

    def _bounds(self, candidates: Candidates, lambdas: np.ndarray) -> LipschitzBounds:
        scorer = candidates.scorer
        constants = {"ramp": 1.0, "normalized_sigmoid": scorer.params.get("slope", 1.0) / 4}
        scorer_L = None if scorer.custom else constants.get(scorer.name)
        L = scorer_L if self.lipschitz is None else self.lipschitz
        if L is None or not (scorer.custom or scorer_L):
            raise ValueError(
                f"how much the gain of scoring={scorer.name!r} changes with the model is not known "
                "(accuracy jumps at the decision boundary): use scoring='ramp' or "
                "'normalized_sigmoid', or a gain of your own, of which you know lipschitz="
            )
        lowest, highest = scorer.bounds
        g_star = highest - lowest if self.g_star is None else self.g_star
        for name, value, least in (
            ("g_star", g_star, highest - lowest),
            ("lipschitz", L, scorer_L),
        ):
            if least is not None and value < least * (1 - 1e-9):
                raise ValueError(
                    f"{name}={value!r} is less than the {least:g} of scoring={scorer!r}, and would "
                    "not protect records; leave it out"
                )
        low, high = self.lambda_bounds or (lambdas.min(), lambdas.max())
        if not (low * (1 - 1e-9) <= lambdas.min() and lambdas.max() <= high * (1 + 1e-9)):
            raise ValueError(
                f"param_grid has lambda = 1 / (n C) from {lambdas.min():g} to {lambdas.max():g}, "
                f"beyond lambda_bounds={self.lambda_bounds!r}"
            )
        return self._bounds_type(
            candidates.problem.units.m,
            (float(low), float(high)),
            float(L),
            float(g_star),
            # A margin of 0 has the lowest gain, as has a record that cannot be predicted.
            lowest_at_zero=scorer.name == "ramp" and not scorer.custom,
            tolerance=TOLERANCE,
        )

    # ------------------------------------------------------------ in secret
    def _search(
        self,
        features: np.ndarray,
        owner: np.ndarray,
        candidate_params: tuple[dict[str, Any], ...],
        session: Session,
        n_iter: int,
    ) -> Secret:
        """Run Bayesian optimisation (line 2); the first candidate depends on no score."""
        first = first_of_path(candidate_params[0], session)
        scorer = session.candidates.scorer
        line = scorer.line(session.units)
        low, high = scorer.bounds
        prior = _uninformed(features, owner, high - low)
        acquisition = self.acquisition or ExpectedImprovement()
        counted = Secret.gathered([session.in_secret(), first])
        path = counted.then(partial(_begun, prior=prior, params=candidate_params, line=line))
        for _ in range(min(n_iter, len(candidate_params)) - 1):
            path = path.then(partial(_evaluate_next, acquisition=acquisition))
        return path


def _uninformed(features: np.ndarray, owner: np.ndarray, score_range: float) -> Surrogate:
    """Return a surrogate on a domain, for scores of which only the range is known."""
    variance = (_STD * score_range) ** 2
    kernel = replace(default_kernel("matern52", owner, variance), bias=_LEVEL * variance)
    return Surrogate.on(features, kernel, _NUGGET * variance)


@dataclass(frozen=True, eq=False)
class _SecretPath:
    """A path and the observations on it: kept inside a `Secret`.

    `count` fits a candidate and returns its statistic, None if the fit fails; the score is
    ``a + b statistic`` with (a, b) the `line`.
    """

    count: Callable[[dict[str, Any]], int | None]
    params: tuple[dict[str, Any], ...]
    line: tuple[float, float]
    posterior: Surrogate
    statistics: tuple[int, ...] = ()

    def add(self, index: int, statistic: int | None) -> _SecretPath:
        """Return the path after one more evaluation; a failed one has no statistic."""
        if statistic is None:
            return replace(self, posterior=self.posterior.condition(index))
        posterior = self.posterior.condition(index, self.line[0] + self.line[1] * statistic)
        return replace(self, posterior=posterior, statistics=(*self.statistics, statistic))


def _begun(counted: list[Any], prior: Surrogate, **public: Any) -> _SecretPath:
    count, statistic = counted
    return _SecretPath(count, posterior=prior, **public).add(0, statistic)


def _evaluate_next(path: _SecretPath, acquisition: Any) -> _SecretPath:
    index = next_candidate(path.posterior, acquisition)
    return path.add(index, path.count(path.params[index]))


def _best(path: _SecretPath) -> list[int]:
    return [max(path.statistics)]


def _steps(candidates: Candidates, sensitivity: float) -> int:
    """Convert a sensitivity of the score to steps of its statistic, rounded up.

    Rounding a unit's gain, and a group's mean once more, adds one step for each unit.
    """
    units = candidates.problem.units
    scorer: PrivateScorer = candidates.scorer
    _, b = scorer.line(units)
    return min(math.ceil(sensitivity / b) + 2 * units.m, scorer.query.largest(units))
