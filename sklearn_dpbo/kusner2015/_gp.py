"""What Algorithms 1 and 2 of Kusner et al. (ICML 2015) have in common (zone: boundary).

The path of both algorithms depends on protected scores and is *not* released. So all of it happens
inside a `Secret`, and its fits are neither timed nor reported. Both release a candidate, drawn over
the posterior mean of a finite domain, and one score.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from numbers import Real
from typing import Any

import numpy as np

from .._evaluation.evaluator import Evaluator
from .._evaluation.public import PublicEvaluation
from .._gp.likelihood import fit_kernel
from .._gp.surrogate import KERNEL_SHAPES, Kernel, Surrogate
from .._params import is_finite
from .._privacy.accounting import Budget, Purpose
from .._privacy.mechanisms import Mechanisms
from .._privacy.noisy_counts import NoisyCounts
from .._privacy.sensitive import Secret
from .._space.space import Candidates, Points, SearchSpace
from ..scoring._scorers import score_and_interval
from ..strategies._base import Release, Strategy, all_masked, positive
from ._dataset_kernel import LOG_GRID, estimate_dataset_kernel, neighbouring_scores
from ._in_secret import begin_on_table, first_of_path

__all__ = [
    "ASSUMPTION_1",
    "ASSUMPTION_1_ON_TABLE",
    "GPStrategy",
    "Model",
    "Trace",
    "assemble",
]

ASSUMPTION_1 = (
    "Assumption 1 of Kusner et al. (2015): the scores of all validation sets are one draw of a "
    "Gaussian process with a known kernel k1 x k2. Average case over the GP prior: for each pair "
    "of neighbouring validation sets the loss is at most epsilon for all draws of the prior but a "
    "share delta; for scores that are not such a draw nothing is promised"
)
ASSUMPTION_1_ON_TABLE = (
    "Assumption 1 of Kusner et al. (2015), with the kernel of training sets that their conclusion "
    "suggests and does not work out: the scores of all pairs of a training and a validation set "
    "are one draw of a Gaussian process with a known kernel k0 x k1 x k2, of training sets, of "
    "validation sets and of candidates. Average case over the GP prior: for each pair of "
    "neighbouring tables the loss is at most epsilon for all draws of the prior but a share delta; "
    "for scores that are not such a draw nothing is promised, and accuracies of support vector "
    "machines were measured to be none: what one training record changes has longer tails. "
    "Kernel, noise and prior are as you gave them, and must not have been found from this table"
)
# Number of neighbouring pairs of public data sets from which k1 is estimated.
_N_PAIRS = 100
_LEARNT = ("length_scale", "k1", "prior_mean", "prior_scale", "noise")
_GIVEN_ON_TABLE = ("k0", *_LEARNT)
# Lower bound of the learnt noise, in units of the prior's standard deviation.
_LEAST_NOISE = 1e-3
# Integer steps in the sensitivity of a posterior mean; rounding adds one step to it.
_STEPS = 2**24


@dataclass(frozen=True)
class Explored:
    """Candidates that were scored within the training set.

    Parameters
    ----------
    positions : ndarray of int, shape (n,)
        Their positions among all candidates.
    found : PublicEvaluation
        Their scores, fit times and failures, in the same order.
    """

    positions: np.ndarray
    found: PublicEvaluation

    @property
    def scores(self) -> np.ndarray:
        """Public scores; NaN where the fit or the score failed."""
        return self.found.scores

    @property
    def scored(self) -> np.ndarray:
        """Indices into `positions` of the candidates that have a score."""
        return np.flatnonzero(~np.isnan(self.scores))


@dataclass(frozen=True)
class Model:
    """What is known or assumed before the validation set is used; all of it is public.

    Parameters
    ----------
    candidates : Candidates
        The finite domain Lambda.
    features : ndarray of shape (n_candidates, n_features)
        Places of the candidates, in the unit cube.
    kernel : Kernel
        k2, of variance 1.
    noise : float
        Standard deviation of an observation, in units of prior_scale.
    k1 : float
        Correlation of the scores of neighbouring validation sets, in [-1, 1]; of neighbouring
        tables, if all records are protected.
    prior_mean, prior_scale : float
        ``(score - prior_mean) / prior_scale`` has prior mean 0 and variance 1.
    line : tuple (a, b) of float
        ``score = a + b statistic``.
    explored : Explored or None
        Candidates that were scored within the training set, if anything had to be learnt.
    """

    candidates: Candidates
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
        """Number of fits that were used within the training set."""
        return 0 if self.explored is None else len(self.explored.positions)

    def standardised(self, statistic: int) -> float:
        """Return a score in units of the process."""
        a, b = self.line
        return (a + b * statistic - self.prior_mean) / self.prior_scale

    def steps(self, sensitivity: float) -> int:
        """Return a change of the process in steps of the statistic, rounded up."""
        return max(1, math.ceil(sensitivity * self.prior_scale / self.line[1]))


@dataclass(frozen=True)
class Trace:
    """A path and the observations on it: kept inside a `Secret`.

    Parameters
    ----------
    model : Model
        What is known before the path begins.
    oracle : Evaluator
        Evaluates candidates on the validation set.
    posterior : Surrogate
        The Gaussian process given the observations.
    statistics : tuple of int
        The observations, in the order of ``posterior.picked``.
    """

    model: Model
    oracle: Evaluator
    posterior: Surrogate
    statistics: tuple[int, ...] = ()

    def evaluate(self, index: int) -> Trace:
        """Return the trace after one more evaluation; a failed fit gets the lowest score."""
        found = self.oracle.secretly(self.model.candidates.params[index])
        return self.observe(index, 0 if found is None else found[0])

    def observe(self, index: int, statistic: int) -> Trace:
        """Return the trace after one more observation."""
        posterior = self.posterior.condition(index, self.model.standardised(statistic))
        return Trace(self.model, self.oracle, posterior, (*self.statistics, statistic))

    def mean_in(self, unit: float) -> np.ndarray:
        """Return the posterior mean in multiples of a unit, rounded, shape (n_candidates, 1)."""
        return np.rint(np.clip(self.posterior.mean / unit, -(2.0**60), 2.0**60))[:, None]


class GPStrategy(Strategy):
    """Base of both algorithms; parameters as in `GPNoisy`."""

    assumption = ASSUMPTION_1
    assumption_on_table: str | None = ASSUMPTION_1_ON_TABLE
    # Parameters of both subclasses; as in scikit-learn, `check` validates them.
    k1: Any
    noise: Any
    kernel: Any
    length_scale: Any
    prior_mean: Any
    prior_scale: Any
    public_share: Any
    public_cv: Any
    k0: Any
    # Which score is released.
    score_released: Purpose = Purpose.BEST_SCORE_SEEN

    @property
    def released(self) -> str:
        """What of the search may be published, in words."""
        rest = (
            "Models are not released."
            if self.protects == "all"
            else "Everything else that the search keeps, such as best_estimator_, follows from "
            "these and from the training set."
        )
        return (
            f"best_params_, best_index_, best_score_, best_score_interval_. best_score_ is the "
            f"{self.score_released}, not that of best_params_. Which candidates were evaluated is "
            f"not released: cv_results_ lists all from which best_params_ was drawn. {rest}"
        )

    def check(self, budget: Budget) -> None:
        """Raise ValueError if a parameter makes no sense."""
        if not budget.delta >= 1e-300:
            raise ValueError(
                f"{type(self).__name__} needs delta > 0, the probability that its assumption "
                f"yields no bound, e.g. delta=0.05; found delta={budget.delta!r}. "
                "strategy='worst_case' needs none"
            )
        if self.kernel not in tuple(KERNEL_SHAPES):
            raise ValueError(f"kernel is one of {tuple(KERNEL_SHAPES)}; found {self.kernel!r}")
        self._check("k1", "in [-1, 1]", lambda v: -1 <= v <= 1, optional=True)
        self._check("prior_mean", "a number", optional=True)
        self._check("prior_scale", "positive", positive, optional=True)
        scales = np.ravel(1.0 if self.length_scale is None else self.length_scale).tolist()
        if not scales or not all(
            isinstance(v, Real) and is_finite(v) and float(v) > 0 for v in scales
        ):
            raise ValueError(f"length_scale is None or positive; found {self.length_scale!r}")
        self._check("public_share", "strictly between 0 and 1", lambda v: 0 < v < 1)
        self._check("k0", "in [-1, 1]", lambda v: -1 <= v <= 1, optional=True)
        lacking = [name for name in _GIVEN_ON_TABLE if getattr(self, name) is None]
        if self.protects == "all" and lacking:
            raise ValueError(
                f'protect="all" leaves no public records to learn {lacking} from. Give them, as in '
                f"{type(self).__name__}({lacking[0]}=...), from what you know without this table; "
                "estimate_dataset_kernel finds them from pairs of public data sets"
            )

    # ------------------------------------------------------------ public
    def _model(
        self,
        points: Points,
        space: SearchSpace,
        oracle: Evaluator,
        n_iter: int,
        rng: np.random.Generator,
    ) -> Model:
        """Collect the parameters that are given; learn the others within the training set."""
        candidates, features = space.candidates(points), space.features(points)
        known, explored = {name: getattr(self, name) for name in _LEARNT}, None
        if lacking := [name for name in _LEARNT if known[name] is None]:
            explored = self._explore(candidates, oracle, n_iter, rng)
            scores = explored.scores[explored.scored]
            one_record = np.ptp(oracle.scorer.bounds) / oracle.problem.units.m
            if len(scores) < 3 or np.std(scores) < one_record:
                raise ValueError(
                    f"{len(scores)} candidates could be scored within the training set, too few "
                    f"to learn {lacking} from, or their scores are all the same. Increase n_iter, "
                    f"or give the values, as in {type(self).__name__}({lacking[0]}=...)"
                )
            m = oracle.problem.units.m
            known = self._learn(known, features, space.owner, explored, m, rng)
        if np.size(known["length_scale"]) not in (1, features.shape[1]):
            raise ValueError(
                f"length_scale is one number, or one for each of {features.shape[1]} features; "
                f"found {self.length_scale!r}"
            )
        if self.protects == "all":  # a record is in one of the two sets
            known["k1"] = min(known["k1"], self.k0)
        return Model(
            candidates,
            features,
            Kernel(self.kernel, known.pop("length_scale")),
            line=oracle.scorer.line(oracle.problem.units),
            explored=explored,
            **known,
        )

    def _explore(
        self, candidates: Candidates, oracle: Evaluator, n_iter: int, rng: np.random.Generator
    ) -> Explored:
        """Score some candidates within the training set."""
        n = max(0, min(math.ceil(self.public_share * n_iter), n_iter - 2, len(candidates)))
        rows = rng.choice(len(candidates), n, replace=False)
        public = oracle.public(self.public_cv, rng)
        return Explored(rows, public(tuple(candidates.params[i] for i in rows), by_record=True))

    def _learn(
        self,
        known: dict[str, Any],
        features: np.ndarray,
        owner: np.ndarray,
        explored: Explored,
        m: int,
        rng: np.random.Generator,
    ) -> dict[str, Any]:
        """Fill in parameters: the kernel's by marginal likelihood, k1 by that of public pairs."""

        def first(name: str, value: Any) -> Any:
            return value if known[name] is None else known[name]

        ok = explored.scored
        X, scores = features[explored.positions[ok]], explored.scores[ok]
        kernel, variance, mean = fit_kernel(X, scores, self.kernel, owner)
        scale = first("prior_scale", math.sqrt(kernel.variance))
        found = {
            "length_scale": first("length_scale", kernel.length_scale),
            "prior_mean": first("prior_mean", mean),
            "prior_scale": scale,
            "noise": first("noise", max(math.sqrt(variance) / scale, _LEAST_NOISE)),
        }
        if known["k1"] is not None:
            return {**found, "k1": known["k1"]}
        ours, theirs = neighbouring_scores([explored.found.gains[i] for i in ok], m, _N_PAIRS, rng)
        estimate = estimate_dataset_kernel(
            ours, theirs, X, kernel=self.kernel, grid=LOG_GRID, **found
        )
        return {**found, "k1": estimate.k1}

    # ------------------------------------------------------------ sensitive
    def _begin(self, model: Model, oracle: Evaluator, index: int, budget: Budget) -> Secret:
        """Begin the trace with a candidate that depends on no score."""
        if self.protects == "all":
            begin_on_table(model.candidates, oracle, budget)
        prior = Surrogate.on(model.features, model.kernel, model.noise**2)
        return first_of_path(model.candidates.params[index], oracle).then(
            lambda statistic: Trace(model, oracle, prior).observe(index, statistic or 0)
        )

    # ------------------------------------------------------------ released
    def _draw(self, trace: Secret, sensitivity: float, mechanisms: Mechanisms) -> int:
        """Draw a candidate, ``P(l)`` proportional to ``exp(epsilon mean(l) / (2 sensitivity))``."""
        unit = sensitivity / _STEPS
        mean = trace.measured(lambda trace: trace.mean_in(unit), _STEPS + 1)
        return mechanisms.draw_exponentially(
            mean, purpose=Purpose.CANDIDATE, **self._half(mechanisms.budget)
        )

    def _score(
        self,
        trace: Secret,
        value: Callable[[tuple[int, ...]], int],
        steps: int,
        mechanisms: Mechanisms,
    ) -> NoisyCounts:
        """Release ``value(statistics)``, of sensitivity `steps`, with Laplace noise."""
        score = trace.measured(lambda trace: [value(trace.statistics)], steps)
        return mechanisms.release_counts(
            score, purpose=self.score_released, **self._half(mechanisms.budget)
        )

    def _half(self, budget: Budget) -> dict[str, Any]:
        """Return the half that each of the two releases spends: Corollaries 1 and 2 compose."""
        half = {"epsilon": budget.epsilon / 2, "delta": budget.delta / 2}
        return {**half, "assumption": self.assumption}


def assemble(model: Model, oracle: Evaluator, chosen: int, noisy: NoisyCounts) -> Release:
    """Return the release; it contains nothing of the path."""
    n = len(model)
    score, interval = score_and_interval(oracle.scorer, oracle.problem.units, noisy)
    scores, times = np.full((2, n), np.nan)
    errors = np.full(n, None)
    if model.explored is not None:
        rows, found = model.explored.positions, model.explored.found
        scores[rows], times[rows], errors[rows] = found.scores, found.fit_times, found.fit_errors
    return Release(
        params=model.candidates.params,
        fit_times=times,
        fit_errors=tuple(errors.tolist()),
        validated=all_masked(n),
        public_scores=scores,
        best_index=chosen,
        best_score=score,
        interval=interval,
    )
