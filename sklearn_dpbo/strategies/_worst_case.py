"""The worst-case strategy: guide, evaluate, select, release a score (zone: boundary)."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from fractions import Fraction
from numbers import Integral, Real

import numpy as np

from .._evaluation.evaluator import Evaluator
from .._evaluation.fitting import report_failures
from .._gp.surrogate import KERNEL_SHAPES
from .._privacy.accounting import Budget
from .._privacy.mechanisms import release_counts, select
from .._privacy.rounding import round_down
from .._privacy.sensitive import Sensitive
from ._base import Release, Strategy, positive, score_and_interval
from ._guidance import Guidance

__all__ = ["WorstCase"]

_GUIDANCE = ("none", "public", "private", "both")


class WorstCase(Strategy):
    """Pure epsilon-DP (or (epsilon, delta)) with no assumption about estimator, scores or data.

    Settings are evaluated on the validation set; one is chosen by permute-and-flip; its score is
    released with discrete Laplace noise. *Guidance* says which settings are evaluated, out of a
    space of more than `n_iter` points:

    * ``"none"``: a scrambled Sobol sequence.
    * ``"public"``: a third of the evaluations explores *within the training set*: models are
      fitted on four fifths of it and scored on the rest, and Bayesian optimisation of those
      scores says what to try next. Then the settings with the highest upper confidence bounds,
      and for safety some that fill the space, are fitted on the whole training set and scored on
      the validation set. The validation set has no part in the guidance, which costs no privacy.
    * ``"private"``: Bayesian optimisation of the validation scores: after a Sobol sequence,
      settings are drawn by their upper confidence bound, and more are placed around them. As many
      draws are made as `guidance_share` pays for with little noise; if it cannot pay for one,
      there is no guidance, and nothing is spent on it.
    * ``"both"``: as ``"public"``, and then ``"private"`` draws for what the validation scores say
      differently.

    Parameters
    ----------
    guidance : {"public", "none", "private", "both"}, default="public"
    score_share : float, default=0.4
        Share of epsilon, strictly between 0 and 1, that the released score is given; of several
        scores, all together.
    guidance_share : float, default=0.15
        Share of epsilon for private draws, in (0, 1 - score_share); the choice of the setting
        gets the rest. Not spent without draws.
    public_share : float, default=1/3
        Share of the evaluations that explore within the training set.
    fill_share : float, default=0.25
        After exploring, the share of the remaining evaluations that fill the space: what the
        training set knows nothing of is found by these.
    batch_size : int, default=8
        Settings evaluated between two looks at the surrogate. The result depends on it, and does
        not depend on `n_jobs`.
    public_cv : splitter or iterable of one (train, test) pair, default=None
        How the training set is cut to explore in it; must make one split. None holds out a fifth
        of its rows.
    kernel : {"matern52", "matern32", "squared_exponential"}, default="matern52"
        Of the surrogate.
    acquisition : callable, default=None
        For public exploration; see `sklearn_dpbo.acquisition`. None is
        ``UpperConfidenceBound(kappa)``.
    kappa : float, default=2.0
        Of the upper confidence bounds.
    initial_points : list of dict, default=None
        Settings to try first. Each must lie in the search space; all are evaluated on the
        validation set.
    patience : int, default=None
        Stop exploring after this many batches without a better public score.
    timeout : float, default=None
        Seconds that all fits together, summed over workers, should take. No clock is looked at
        once the validation set is in use, as that would tell something about it: exploring ends
        after its share of the time, and then as many settings are evaluated (a batch at least) as
        there is time for, if each takes as long as the average so far. Without exploring, four
        settings are fitted once more, beforehand, to see.

    Notes
    -----
    With n candidates and m units whose gains lie in [a, b], the setting chosen is within
    ``2 (b - a) / (m epsilon_select) (ln n + t)`` of the best one's validation score with
    probability ``1 - e^-t``, and the error of the released score exceeds
    ``(b - a) t / (m epsilon_score)`` with probability ``e^-t`` (up to one grid step). Proofs in
    the documentation, "The guarantee"; what each guidance gave, in "Benchmarks".
    """

    def __init__(
        self,
        guidance="public",
        score_share=0.4,
        guidance_share=0.15,
        public_share=1 / 3,
        fill_share=0.25,
        batch_size=8,
        public_cv=None,
        kernel="matern52",
        acquisition=None,
        kappa=2.0,
        initial_points=None,
        patience=None,
        timeout=None,
    ) -> None:
        self.guidance = guidance
        self.score_share = score_share
        self.guidance_share = guidance_share
        self.public_share = public_share
        self.fill_share = fill_share
        self.batch_size = batch_size
        self.public_cv = public_cv
        self.kernel = kernel
        self.acquisition = acquisition
        self.kappa = kappa
        self.initial_points = initial_points
        self.patience = patience
        self.timeout = timeout

    several_scores = True

    def check(self, budget) -> None:
        """Raise ValueError if a parameter makes no sense."""
        for name, choices in (("guidance", _GUIDANCE), ("kernel", tuple(KERNEL_SHAPES))):
            if getattr(self, name) not in choices:
                raise ValueError(f"{name} is one of {choices}; found {getattr(self, name)!r}")
        for name in ("score_share", "guidance_share", "public_share"):
            self._number(name, Real, lambda v: 0 < v < 1, "lies strictly between 0 and 1")
        self._number("fill_share", Real, lambda v: 0 <= v <= 1, "lies in [0, 1]")
        self._number("batch_size", Integral, lambda v: v >= 1, "is 1 or more")
        self._number("kappa", Real, lambda v: v >= 0, "is a number from 0 up")
        self._number("patience", Integral, lambda v: v >= 1, "is None or 1 or more", optional=True)
        self._number("timeout", Real, positive, "is None or finite seconds above 0", optional=True)
        left = 1 - self.guidance_share - self.score_share
        if self.guidance in ("private", "both") and left < 1e-6:
            raise ValueError(
                f"guidance_share={self.guidance_share!r} and score_share={self.score_share!r} "
                "leave nothing of epsilon for the choice of the setting; make their sum less than 1"
            )
        if self.acquisition is not None and not callable(self.acquisition):
            raise ValueError(
                "acquisition is a callable of (mean, std, best), such as ExpectedImprovement(); "
                f"found {self.acquisition!r}"
            )
        points = self.initial_points
        if points is not None and (
            isinstance(points, Mapping | str)
            or not isinstance(points, Iterable)
            or not all(isinstance(point, Mapping) for point in points)
        ):
            raise ValueError(f"initial_points is a list of dicts; found {points!r}")

    def run(self, space, oracle, *, n_iter, rng, budget, noise) -> Release:
        """Guide and evaluate, select, release."""
        history = Guidance(self, space, oracle, n_iter, rng, budget, noise).run()
        if not history.fitted:
            report_failures(tuple(np.array(history.fit_errors)[history.validated]))
        report_failures(tuple(history.fit_errors))

        chosen = select(
            history.statistics.column(0),
            budget.epsilon_beside(self.score_share),
            budget=budget,
            noise=noise,
            release="choice of the setting",
        )
        (score, interval), *others = _release_scores(
            history.statistics.take(chosen), oracle, budget, noise
        )
        return Release(
            candidates=history.candidates,
            fit_times=np.array(history.fit_times),
            fit_errors=tuple(history.fit_errors),
            validated=np.array(history.validated),
            public_scores=np.array(history.public_scores),
            best_index=history.fitted[chosen],
            best_score=score,
            interval=interval,
            others=others,
        )


def _release_scores(statistics: Sensitive, oracle: Evaluator, budget: Budget, noise) -> list:
    """Release all scores of one setting, each with the same share of what is left."""
    released, first, scorers = [], 0, oracle.scorers
    for i, scorer in enumerate(scorers):
        last = first + len(scorer.sensitivity(oracle.problem.units))
        noisy = release_counts(
            statistics.columns(first, last),
            round_down(Fraction(budget.epsilon_left) / (len(scorers) - i)),
            budget=budget,
            noise=noise,
            release="score of the chosen setting" + f", {scorer.name}" * (len(scorers) > 1),
        )
        released.append(score_and_interval(scorer, oracle.problem.units, *noisy))
        first = last
    return released
