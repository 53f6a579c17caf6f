"""The worst-case strategy: guide, evaluate, select, release a score (zone: boundary)."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from numbers import Integral, Real
from typing import Any

import numpy as np
from sklearn.base import clone

from .._evaluation.evaluator import Evaluator
from .._evaluation.fitting import report_failures
from .._gp.surrogate import KERNEL_SHAPES
from .._privacy.accounting import Budget, Purpose
from .._privacy.mechanisms import Mechanisms
from .._space.space import SearchSpace
from ._base import Release, Strategy, positive
from ._guidance import Guidance
from ._one_table import OneTable
from ._proposals import Acquisition
from ._release import count_scores, release_all_scores
from ._utility import warn_of_noise_of_choice, warn_of_noise_of_score
from ._warm_start import is_fitted_search

__all__ = ["WorstCase"]

_GUIDANCE = ("none", "public", "private", "both")
# Parameters that may be given under protect="all"; of guidance, the values that need no records.
_ON_TABLE = ("guidance", "score_share")


class WorstCase(Strategy):
    """Pure epsilon-DP (or (epsilon, delta)) with no assumption about estimator, scores or data.

    Candidates are evaluated on the validation set; one is chosen by permute-and-flip; its score is
    released with discrete Laplace noise. *Guidance* says which candidates are evaluated, out of a
    space of more than `n_iter` points:

    * ``"none"``: a scrambled Sobol sequence.
    * ``"public"``: a third of the evaluations explores *within the training set*: models are
      fitted on four fifths of it and scored on the rest, and Bayesian optimisation of those
      scores says what to try next. Then the best of those, others with high upper confidence
      bounds, and for safety some that fill the space, are fitted on the whole training set and
      scored on the validation set. Where the noise of the choice is large (epsilon m below 30 times
      the number of candidates), fewer are validated, and the best explored ones are scored on four
      other cuts of the training set instead. The validation set has no part in the guidance, which
      costs no privacy.
    * ``"private"``: Bayesian optimisation of the validation scores: after a Sobol sequence,
      candidates are drawn by their upper confidence bound, and more are placed around them. As many
      draws are made as `guidance_share` pays for with little noise; if it cannot pay for one,
      there is no guidance, and nothing is spent on it.
    * ``"both"``: as ``"public"``, and then ``"private"`` draws for what the validation scores say
      differently.

    The estimator's own parameters are always among the candidates if they lie in the space.

    Under ``protect="all"`` there are no public records for any of this, and ``WorstCase()`` is the
    same as ``OneTable()``, with its `score_share`.

    Parameters
    ----------
    guidance : {"public", "none", "private", "both"}, default="public"
        How candidates are found, as above.
    score_share : float, default=0.4
        Share of epsilon, strictly between 0 and 1, that the released score is given; of several
        scores, all together. With a report (``report=True``), half of it is the report's, and all
        of it if the scores follow from the report's counts.
    guidance_share : float, default=0.15
        Share of epsilon for private draws, in (0, 1 - score_share); the choice of the candidate
        gets the rest. Not spent without draws.
    public_share : float, default=1/3
        Share of the evaluations that explore within the training set.
    fill_share : float, default=0.25
        After exploring, the share of the remaining evaluations that fill the space: what the
        training set knows nothing of is found by these.
    batch_size : int, default=8
        Candidates evaluated between two looks at the surrogate. The result depends on it, and does
        not depend on `n_jobs`.
    public_cv : splitter or iterable of one (train, test) pair, default=None
        How the training set is cut to explore in it; must make one split. None holds out a fifth
        of its rows.
    kernel : {"matern52", "matern32", "squared_exponential"}, default="matern52"
        Of the surrogate.
    acquisition : callable, default=None
        For public exploration; see `sklearn_dpbo.acquisition`. None is
        ``UpperConfidenceBound(kappa)``.
    kappa : float, default=1.0
        Of the upper confidence bounds.
    initial_points : list of dict or fitted search, default=None
        Candidates to try first. Each must lie in the search space; all are evaluated on the
        validation set. Of a fitted `PrivateBayesSearchCV`, these are `best_params_` and the four
        candidates with the best public scores; and exploring goes on from all its public scores.
        None of the records that are protected now may have been among that search's training
        records; so X_val must be given. What this search releases is charged as ever.
    patience : int, default=None
        After this many batches without a better public score exploring ends, and the rest of the
        search is shortened in proportion: fewer candidates are fitted.
    tol : float, default=0.0
        How much better a public score must be, for `patience`, to count as better.
    prior_weight : float, default=None
        The choice is made by the validation score plus this times the public score (its posterior
        mean), so that public scores count where noise hides the others; 0 leaves them out. None is
        ``min(2, 150 / (epsilon m))``. It costs no privacy, as it is the same whatever the
        validation set is. Without exploring there are no public scores.
    timeout : float, default=None
        Seconds that all fits together, summed over workers, should take. No clock is looked at
        once the validation set is in use, as that would tell something about it: exploring ends
        after its share of the time, and then as many candidates are evaluated (a batch at least) as
        there is time for, if each takes as long as the average so far. Without exploring, four
        candidates are fitted once more, beforehand, to see.

    Notes
    -----
    With n candidates and m units whose gains lie in [a, b], the candidate chosen is within
    ``2 (b - a) / (m epsilon_select) (ln n + t)`` of the best one's validation score with
    probability ``1 - e^-t``, and the error of the released score exceeds
    ``(b - a) t / (m epsilon_score)`` with probability ``e^-t`` (up to one grid step). With a prior,
    the first holds for the sum of validation score and prior. Proofs in the documentation, "The
    guarantee"; what each guidance gave, in "Benchmarks".
    """

    def __init__(
        self,
        guidance: str = "public",
        score_share: float = 0.4,
        guidance_share: float = 0.15,
        public_share: float = 1 / 3,
        fill_share: float = 0.25,
        batch_size: int = 8,
        public_cv: Any = None,
        kernel: str = "matern52",
        acquisition: Acquisition | None = None,
        kappa: float = 1.0,
        initial_points: Any = None,
        patience: int | None = None,
        tol: float = 0.0,
        prior_weight: float | None = None,
        timeout: float | None = None,
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
        self.tol = tol
        self.prior_weight = prior_weight
        self.timeout = timeout

    several_scores = True
    reports = True
    evaluates_grids = True

    def protecting(self, protect: str) -> Strategy:
        """Return itself; for every record of one table, the `OneTable` that it stands for."""
        if protect != "all":
            return super().protecting(protect)
        defaults = WorstCase().get_params()
        params = self.get_params(deep=False)
        given = [name for name, value in params.items() if not _same(value, defaults[name])]
        other = [name for name in given if name not in _ON_TABLE]
        if self.guidance not in ("public", "none"):
            other.insert(0, "guidance")
        if other:
            raise ValueError(
                'protect="all" leaves no public records to learn from; of the parameters of '
                f"WorstCase it takes score_share alone. Leave out {other}, or use OneTable, which "
                "has parameters for this"
            )
        return OneTable(score_share=self.score_share)

    def check(self, budget: Budget) -> None:
        """Raise ValueError if a parameter makes no sense."""
        for name, choices in (("guidance", _GUIDANCE), ("kernel", tuple(KERNEL_SHAPES))):
            if getattr(self, name) not in choices:
                raise ValueError(f"{name} is one of {choices}; found {getattr(self, name)!r}")
        for name in ("score_share", "guidance_share", "public_share"):
            self._check(name, "strictly between 0 and 1", lambda v: 0 < v < 1)
        self._check("fill_share", "in [0, 1]", lambda v: 0 <= v <= 1)
        self._check("batch_size", "1 or more", lambda v: v >= 1, Integral)
        self._check("kappa", "a number from 0 up", lambda v: v >= 0)
        self._check("patience", "1 or more", lambda v: v >= 1, Integral, optional=True)
        self._check("tol", "a number from 0 up", lambda v: v >= 0)
        self._check("prior_weight", "a number from 0 up", lambda v: v >= 0, optional=True)
        self._check("timeout", "finite seconds above 0", positive, optional=True)
        left = 1 - self.guidance_share - self.score_share
        if self.guidance in ("private", "both") and left < 1e-6:
            raise ValueError(
                f"guidance_share={self.guidance_share!r} and score_share={self.score_share!r} "
                "leave nothing of epsilon for the choice of the candidate: make their sum less "
                "than 1"
            )
        if self.acquisition is not None and not callable(self.acquisition):
            raise ValueError(
                "acquisition is a callable of (mean, std, best), such as ExpectedImprovement(); "
                f"found {self.acquisition!r}"
            )
        if not is_fitted_search(self.initial_points):
            _check_points(self.initial_points)

    def __sklearn_clone__(self) -> WorstCase:
        """Return a copy for another fit: a search in `initial_points` stays fitted."""
        params = {
            name: value if is_fitted_search(value) else clone(value, safe=False)
            for name, value in self.get_params(deep=False).items()
        }
        return type(self)(**params)

    @property
    def released(self) -> str:
        """What of the search may be published, in words."""
        if not is_fitted_search(self.initial_points):
            return super().released
        return (
            f"{super().released} It began with the results of an earlier search, from which the "
            "candidates that were evaluated follow, too. For records that both searches validated "
            "on, the two searches' losses add up"
        )

    def run(
        self,
        space: SearchSpace,
        oracle: Evaluator,
        *,
        n_iter: int,
        rng: np.random.Generator,
        mechanisms: Mechanisms,
    ) -> Release:
        """Guide and evaluate, select, release."""
        guidance = Guidance(self, space, oracle, n_iter, rng, mechanisms)
        history = guidance.run()
        report_failures(tuple(history.fit_errors))

        epsilon, units = mechanisms.budget.epsilon_beside(self.score_share), oracle.problem.units
        if len(history.fitted) > 1:
            warn_of_noise_of_choice(oracle.scorer, units, epsilon, guidance.public_scores)
        chosen = mechanisms.select(
            history.statistics.plus(guidance.prior()),
            epsilon,
            purpose=Purpose.CANDIDATE,
            detail=guidance.prior_in_words,
        )
        best_index, params = history.fitted[chosen], history.candidates.params
        report, all_scores, model = None, None, guidance.public_model
        if oracle.releases_all:
            validated = {i: params[i] for i in history.fitted}
            all_scores = release_all_scores(validated, oracle, mechanisms, model)
            scores = all_scores[best_index]
        else:
            statistic, left = history.statistics.take(chosen), mechanisms.budget.epsilon_left
            counted = count_scores(params[best_index], statistic, oracle, left, model)
            scores, report = counted.release(units, mechanisms)
        if len(history.fitted) > 1:
            _, interval = scores[0]
            warn_of_noise_of_score(oracle.scorer, units, interval, guidance.public_scores)
        return history.release(best_index, scores, report, all_scores)


def _same(value: Any, default: Any) -> bool:
    """Whether a parameter has its default value, which is a number, a text or None."""
    return value is default or (isinstance(value, Real | str) and bool(value == default))


def _check_points(points: Any) -> None:
    """Raise ValueError unless these are candidates, or None."""
    is_list = isinstance(points, Iterable) and not isinstance(points, Mapping | str | Iterator)
    if points is None or (is_list and all(isinstance(point, Mapping) for point in points)):
        return
    hint = ""
    if hasattr(points, "best_params_"):
        hint = (
            ". Of another search pass [search.best_params_], if it was fitted on public records: "
            "its choice is not private"
        )
    elif hasattr(points, "get_params"):
        hint = ": call its fit first"
    elif isinstance(points, Mapping):
        hint = ": write [candidate] for one"
    elif hasattr(points, "to_dict"):
        hint = ': write table.to_dict("records")'
    raise ValueError(
        "initial_points is a list of dicts, or a fitted PrivateBayesSearchCV; found "
        f"{type(points).__name__}{hint}"
    )
