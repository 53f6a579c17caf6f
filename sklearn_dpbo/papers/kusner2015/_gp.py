"""What Algorithms 1 and 2 of Kusner et al. (ICML 2015) have in common (zone: boundary).

The path of both algorithms depends on protected scores and is *not* released. So all of it happens
inside a `Secret`, and its fits are neither timed nor reported. Both release a candidate, drawn over
the posterior mean of a finite domain, and one score unless its share is 0.
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
    # Which score is released.
    score_released: str = "best score seen"

    @property
    def assumption(self) -> str | None:  # type: ignore[override]
        """What the guarantee rests on; of a candidate alone, on Assumption 1 and nothing else."""
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
        (_, part), (_, score_part) = self._parts(epsilon, delta)
        if not min(part, score_part if self.score_share else 1.0) >= _LEAST_DELTA:
            raise ValueError(
                f"{type(self).__name__} needs delta > 0, the probability that its bounds fail, for "
                f"example delta=0.05; found delta={delta!r}. strategy='worst_case' needs "
                "no delta"
            )
        if self.kernel not in tuple(KERNEL_SHAPES):
            raise ValueError(f"kernel must be one of {tuple(KERNEL_SHAPES)}; found {self.kernel!r}")
        self._check("k1", "in [-1, 1]", lambda v: -1 <= v <= 1, optional=True)
        self._check("prior_mean", "a number", optional=True)
        self._check("prior_scale", "positive", lambda v: v > 0, optional=True)
        given = 1.0 if self.length_scale is None else self.length_scale
        for scale in np.ravel(given).tolist() or [given]:
            check_number("length_scale", scale, "None or positive", lambda v: v > 0)
        self._check("public_share", "strictly between 0 and 1", lambda v: 0 < v < 1)

    # ------------------------------------------------------------ public
    def _model(self, points: Points, task: Task) -> SearchModel:
        """Collect the parameters that are given; learn the others within the training set."""
        space, own, m = task.space, task.candidates, task.session.units.m
        candidates, features = space.params(points), space.features(points)
        known, explored = {name: getattr(self, name) for name in _LEARNT}, None
        if lacking := [name for name in _LEARNT if known[name] is None]:
            explored = self._explore(candidates, task)
            scores = explored.scores[explored.scored]
            one_record = np.ptp(own.scorer.bounds) / m
            if len(scores) < 3 or np.std(scores) < one_record:
                raise ValueError(
                    f"{len(scores)} candidates could be scored within the training set: too few "
                    f"to learn {lacking} from, or their scores are all equal. Increase n_iter, or "
                    f"pass the values as in {type(self).__name__}({lacking[0]}=...)"
                )
            known = self._learn(known, features, explored, task)
        if np.size(known["length_scale"]) not in (1, features.shape[1]):
            raise ValueError(
                f"length_scale must be one number or {features.shape[1]}, one per feature; "
                f"found {self.length_scale!r}"
            )
        return SearchModel(
            candidates,
            features,
            Kernel(self.kernel, known.pop("length_scale")),
            line=own.scorer.line(task.session.units),
            explored=explored,
            **known,
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
        self, known: dict[str, Any], features: np.ndarray, explored: Explored, task: Task
    ) -> dict[str, Any]:
        """Fill in parameters: the kernel's by marginal likelihood, k1 by that of public pairs."""

        def first(name: str, value: Any) -> Any:
            return value if known[name] is None else known[name]

        ok = explored.scored
        X, scores = features[explored.positions[ok]], explored.scores[ok]
        kernel, variance, mean = fit_kernel(X, scores, self.kernel, task.space.owner)
        scale = first("prior_scale", math.sqrt(kernel.variance))
        found = {
            "length_scale": first("length_scale", kernel.length_scale),
            "prior_mean": first("prior_mean", mean),
            "prior_scale": scale,
            "noise": first("noise", max(math.sqrt(variance) / scale, _LEAST_NOISE)),
        }
        if known["k1"] is not None:
            return {**found, "k1": known["k1"]}
        gains, m = [explored.found[i].result for i in ok], task.session.units.m
        ours, theirs = neighbouring_scores(gains, m, _N_PAIRS, task.rng)
        estimate = estimate_dataset_kernel(
            ours, theirs, X, kernel=self.kernel, grid=LOG_GRID, **found
        )
        return {**found, "k1": estimate.k1}

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
        """Return (epsilon, delta) of the candidate and of the score: Corollaries 1 and 2."""
        epsilons, deltas = (divide(whole, float(self.score_share)) for whole in (epsilon, delta))
        return [(epsilons[1], deltas[1]), (epsilons[0], deltas[0])]


def _begun(counted: list[Any], model: SearchModel, prior: Surrogate, index: int) -> Trace:
    count, statistic = counted
    return Trace(model, count, prior).observe(index, statistic)


def _value_of(trace: Trace, value: Callable[[tuple[int, ...]], int]) -> list[int]:
    return [value(trace.statistics)]


def assemble(
    model: SearchModel, candidates: Candidates, chosen: int, noisy: NoisyCounts | None
) -> Release:
    """Return the release; it contains nothing of the path."""
    tried = [Candidate(params, validated=None) for params in model.candidates]
    if model.explored is not None:
        for i, fit in zip(model.explored.positions, model.explored.found, strict=True):
            facts = fit.score, fit.seconds, fit.error
            tried[i] = Candidate(model.candidates[i], None, *facts)
    scorer, units = candidates.scorer, candidates.problem.units
    scores = [] if noisy is None else [ReleasedScore(scorer, noisy, units)]
    return Release(tuple(tried), chosen, scores)
