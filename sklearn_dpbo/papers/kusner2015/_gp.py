"""Common base of Algorithms 1 and 2 of Kusner et al. (ICML 2015) (zone: boundary).

The path of both algorithms depends on protected scores and is *not* released. So all of it is
computed inside a `Secret`, and its fits are neither timed nor reported. Both algorithms release a
candidate, drawn by the posterior mean on a finite domain, and one score unless its share is 0.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

from ...metrics._released import ReleasedScore
from ...prediction.candidates import Candidates
from ...prediction.session import Session
from ...privacy.accounting import CHOICE
from ...privacy.checks import check_number
from ...privacy.noisy_counts import NoisyCounts
from ...privacy.rounding import divide
from ...privacy.sensitive import Secret
from ...search._explore import PublicEvaluator
from ...search._likelihood import fit_kernel
from ...search._space import Points
from ...search._strategy import Candidate, Release, Strategy, Task
from ...search._surrogate import KERNEL_SHAPES, Kernel, Surrogate
from ._dataset_kernel import LOG_GRID, estimate_dataset_kernel, neighbouring_scores
from ._in_secret import first_of_path
from ._trace import Explored, SearchModel, Trace

ASSUMPTION_1 = (
    "Assumption 1 of Kusner et al. (2015): the scores of all validation sets are one draw of a "
    "Gaussian process with a known kernel k1 x k2. The guarantee is average-case over the GP "
    "prior: for each pair of neighbouring validation sets the privacy loss is at most epsilon for "
    "all draws of the prior except a share delta. For scores that are not such a draw there is no "
    "guarantee"
)
# Number of neighbouring pairs of public data sets from which k1 is estimated.
_N_PAIRS = 100
_LEARNT = ("length_scale", "k1", "prior_mean", "prior_scale", "noise")
# Lower bound of the learnt noise, in units of the prior's standard deviation.
_LEAST_NOISE = 1e-3
# Smallest delta of a release for which bounds can be computed.
_LEAST_DELTA = 5e-301
# Integer steps in the sensitivity of a posterior mean; rounding adds one step to it.
_STEPS = 2**24


class GPStrategy(Strategy):
    """Base of both algorithms; parameters as in `GPNoisy`."""

    _assumption = ASSUMPTION_1
    # Parameters of both subclasses; as in scikit-learn, `check` validates them.
    k1: Any
    noise: Any
    kernel: Any
    length_scale: Any
    prior_mean: Any
    prior_scale: Any
    public_share: Any
    public_cv: Any
    score_share: Any
    # Description of the score that is released.
    score_released: str = "best score seen"

    @property
    def assumption(self) -> str | None:  # type: ignore[override]
        """Assumption of the guarantee; without a score, Assumption 1 is enough."""
        return ASSUMPTION_1 if self.score_share == 0 else self._assumption

    @property
    def releases_score(self) -> bool:
        return bool(self.score_share)

    @property
    def released(self) -> str:
        score = "best_params_, best_index_. No score is released. "
        if self.releases_score:
            score = (
                "best_params_, best_index_, best_score_, best_score_interval_. best_score_ is the "
                f"{self.score_released}, not that of best_params_. "
            )
        return (
            f"{score}Which candidates were evaluated is not released: cv_results_ lists all "
            "from which best_params_ was selected. Everything else that the search keeps, such as "
            "best_estimator_, follows from these and from the training set."
        )

    def check(self, epsilon: float, delta: float) -> None:
        self._check("score_share", "in [0, 1)", lambda v: 0 <= v < 1)
        (_, candidate_delta), (_, score_delta) = self._parts(epsilon, delta)
        if not min(candidate_delta, score_delta if self.score_share else 1.0) >= _LEAST_DELTA:
            raise ValueError(
                f"{type(self).__name__} needs delta > 0, the probability that its bounds fail; "
                f"found delta={delta!r}. Pass delta=0.05, for example, or use "
                "strategy='worst_case', which needs no delta"
            )
        if self.kernel not in tuple(KERNEL_SHAPES):
            raise ValueError(f"kernel must be one of {tuple(KERNEL_SHAPES)}; found {self.kernel!r}")
        self._check("k1", "in [-1, 1]", lambda v: -1 <= v <= 1, optional=True)
        self._check("prior_mean", "a number", optional=True)
        self._check("prior_scale", "positive", lambda v: v > 0, optional=True)
        length_scale = 1.0 if self.length_scale is None else self.length_scale
        for scale in np.ravel(length_scale).tolist() or [length_scale]:
            check_number("length_scale", scale, "None or positive", lambda v: v > 0)
        self._check("public_share", "strictly between 0 and 1", lambda v: 0 < v < 1)

    # ------------------------------------------------------------ public
    def _model(self, points: Points, task: Task) -> SearchModel:
        """Collect the parameters that are set; learn the others within the training set."""
        scorer = task.candidates.scorer
        units = task.session.units
        candidate_params = task.space.params(points)
        features = task.space.features(points)
        parameters = {name: getattr(self, name) for name in _LEARNT}
        explored = None
        if missing := [name for name in _LEARNT if parameters[name] is None]:
            explored = self._explore(candidate_params, task)
            scores = explored.scores[explored.scored]
            effect_of_a_record = np.ptp(scorer.bounds) / units.m
            if len(scores) < 3 or np.std(scores) < effect_of_a_record:
                raise ValueError(
                    f"{missing} cannot be learnt: {len(scores)} candidates could be scored within "
                    "the training set, which are too few, or their scores are all equal. Increase "
                    f"n_iter, or pass the values, as in {type(self).__name__}({missing[0]}=...)"
                )
            parameters = self._learn(parameters, features, explored, task)
        if np.size(parameters["length_scale"]) not in (1, features.shape[1]):
            raise ValueError(
                f"length_scale must be one number or {features.shape[1]}, one per feature; "
                f"found {self.length_scale!r}"
            )
        return SearchModel(
            candidate_params,
            features,
            Kernel(self.kernel, parameters.pop("length_scale")),
            line=scorer.line(units),
            explored=explored,
            **parameters,
        )

    def _explore(self, candidates: tuple[dict[str, Any], ...], task: Task) -> Explored:
        """Score some candidates within the training set."""
        share = math.ceil(self.public_share * task.n_iter)
        n = max(0, min(share, task.n_iter - 2, len(candidates)))
        rows = task.rng.choice(len(candidates), n, replace=False)
        public = PublicEvaluator.of(task.candidates, self.public_cv, task.rng)
        params = tuple(candidates[i] for i in rows)
        return Explored(rows, public(params, by_record=True))

    def _learn(
        self, parameters: dict[str, Any], features: np.ndarray, explored: Explored, task: Task
    ) -> dict[str, Any]:
        """Replace parameters that are None by maximum likelihood estimates.

        The kernel's parameters are learnt from the scores, k1 from pairs of public data sets.
        """

        def set_or(name: str, estimate: Any) -> Any:
            return estimate if parameters[name] is None else parameters[name]

        ok = explored.scored
        X = features[explored.positions[ok]]
        kernel, variance, mean = fit_kernel(X, explored.scores[ok], self.kernel, task.space.owner)
        scale = set_or("prior_scale", math.sqrt(kernel.variance))
        learnt = {
            "length_scale": set_or("length_scale", kernel.length_scale),
            "prior_mean": set_or("prior_mean", mean),
            "prior_scale": scale,
            "noise": set_or("noise", max(math.sqrt(variance) / scale, _LEAST_NOISE)),
        }
        if parameters["k1"] is not None:
            return {**learnt, "k1": parameters["k1"]}
        gains = [explored.fits[i].result for i in ok]
        scores, neighbour_scores = neighbouring_scores(
            gains, task.session.units.m, _N_PAIRS, task.rng
        )
        estimate = estimate_dataset_kernel(
            scores, neighbour_scores, X, kernel=self.kernel, grid=LOG_GRID, **learnt
        )
        return {**learnt, "k1": estimate.k1}

    # ------------------------------------------------------------ sensitive
    def _begin(self, model: SearchModel, session: Session, index: int) -> Secret:
        """Begin the trace with a candidate that depends on no score."""
        prior = Surrogate.on(model.features, model.kernel, model.noise**2)
        first = first_of_path(model.candidates[index], session)
        return Secret.gathered([session.in_secret(), first]).then(
            partial(_begun, model=model, prior=prior, index=index)
        )

    # ------------------------------------------------------------ released
    def _draw(self, trace: Secret, sensitivity: float, session: Session) -> int:
        """Draw a candidate, ``P(l)`` proportional to ``exp(epsilon mean(l) / (2 sensitivity))``."""
        unit = sensitivity / _STEPS
        mean = trace.measured(partial(Trace.mean_in, unit=unit), _STEPS + 1)
        (epsilon, delta), _ = self._parts(session.epsilon, session.delta)
        return session.draw_exponentially(
            mean, epsilon, purpose=CHOICE, delta=delta, assumption=self.assumption
        )

    def _score(
        self,
        trace: Secret,
        value: Callable[[tuple[int, ...]], int],
        steps: int,
        session: Session,
    ) -> NoisyCounts:
        """Release ``value(statistics)``, of sensitivity `steps`, with Laplace noise."""
        score = trace.measured(partial(_value_of, value=value), steps)
        _, (epsilon, delta) = self._parts(session.epsilon, session.delta)
        return session.release(
            score, epsilon, purpose=self.score_released, delta=delta, assumption=self.assumption
        )

    def _parts(self, epsilon: float, delta: float) -> list[tuple[float, float]]:
        """Divide (epsilon, delta) between the candidate and the score: Corollaries 1 and 2."""
        score_epsilon, candidate_epsilon = divide(epsilon, float(self.score_share))
        score_delta, candidate_delta = divide(delta, float(self.score_share))
        return [(candidate_epsilon, candidate_delta), (score_epsilon, score_delta)]


def _begun(counted: list[Any], model: SearchModel, prior: Surrogate, index: int) -> Trace:
    count, statistic = counted
    return Trace(model, count, prior).observe(index, statistic)


def _value_of(trace: Trace, value: Callable[[tuple[int, ...]], int]) -> list[int]:
    return [value(trace.statistics)]


def assemble(
    model: SearchModel, candidates: Candidates, chosen: int, noisy: NoisyCounts | None
) -> Release:
    """Build the release, which contains nothing of the path."""
    tried = [Candidate(params, validated=None) for params in model.candidates]
    if model.explored is not None:
        for i, fit in zip(model.explored.positions, model.explored.fits, strict=True):
            params = model.candidates[i]
            tried[i] = Candidate(params, None, fit.score, fit.seconds, fit.error)
    scores = []
    if noisy is not None:
        scores = [ReleasedScore(candidates.scorer, noisy, candidates.problem.units)]
    return Release(tuple(tried), chosen, scores)
