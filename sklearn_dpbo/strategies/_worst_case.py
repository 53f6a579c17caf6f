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
from .._privacy.accounting import CHOICE, Budget
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

    Candidates are scored on the validation set. One is chosen by permute-and-flip, and its score
    is released with discrete Laplace noise. If the space has more than `n_iter` points, *guidance*
    decides which candidates are scored:

    * ``"none"``: a scrambled Sobol sequence.
    * ``"public"``: a third of the evaluations explore *within the training set*. Models are fitted
      on four fifths of it and scored on the rest, and Bayesian optimisation of those scores
      proposes what to try next. Then the best candidates, others with high upper confidence
      bounds, and some that fill the space for safety, are fitted on the whole training set and
      scored on the validation set. If the noise of the choice is large (epsilon m below 30 times
      the number of candidates), fewer are validated; the best explored ones are scored on four
      more splits of the training set instead. This guidance does not use the validation set, so it
      costs no privacy.
    * ``"private"``: Bayesian optimisation of the validation scores. After a Sobol sequence,
      candidates are selected with noise by their upper confidence bound, and more are placed
      around them. There are as many selections as `guidance_share` pays for with little noise. If
      it cannot pay for one, there is no guidance and nothing is spent on it.
    * ``"both"``: as ``"public"``, followed by ``"private"`` selections where the validation scores
      differ from the public ones.

    The estimator's own parameters are always among the candidates if they lie in the space.

    With ``protect="all"`` there are no public records, and ``WorstCase()`` is the same as
    ``OneTable()`` with its `score_share`.

    Parameters
    ----------
    guidance : {"public", "none", "private", "both"}, default="public"
        How candidates are found, as above.
    score_share : float, default=0.4
        Share of epsilon, strictly between 0 and 1, for the released score, or for all of several
        scores together. With ``release="evaluation"``, the evaluation gets half of it, or all of
        it if the scores follow from its counts.
    guidance_share : float, default=0.15
        Share of epsilon for private guidance, in (0, 1 - score_share). The choice of the candidate
        gets the rest. It is not spent if there are no private selections.
    public_share : float, default=1/3
        Share of the evaluations that explore within the training set.
    fill_share : float, default=0.25
        Share of the evaluations after the exploration that fill the space. They find what the
        training set does not show.
    batch_size : int, default=8
        Candidates evaluated before the surrogate is fitted again. The result depends on it, but not
        on `n_jobs`.
    public_cv : splitter or iterable of one (train, test) pair, default=None
        How to split the training set for the exploration; must make one split. None holds out a
        fifth of its rows.
    kernel : {"matern52", "matern32", "squared_exponential"}, default="matern52"
        Kernel of the surrogate.
    acquisition : callable, default=None
        Acquisition function of the public exploration; see `sklearn_dpbo.acquisition`. None is
        ``UpperConfidenceBound(kappa)``.
    kappa : float, default=1.0
        Weight of the standard deviation in the upper confidence bounds.
    initial_points : list of dict or fitted search, default=None
        Candidates to try first. Each must lie in the search space; all are scored on the validation
        set. From a fitted `PrivateBayesSearchCV` these are its `best_params_` and the four
        candidates with the best public scores, and the exploration continues from all its public
        scores. No record that is protected now may have been a training record of that search, so
        X_val is required. This search is charged in full.
    patience : int, default=None
        The exploration ends after this many batches without a better public score, and the rest of
        the search is shortened in proportion.
    tol : float, default=0.0
        How much a public score must improve to count as better, for `patience`.
    prior_weight : float, default=None
        The choice is made by the validation score plus this times the public score (its posterior
        mean), so that public scores help where the noise is large; 0 leaves them out. None is
        ``min(2, 150 / (epsilon m))``. This costs no privacy, because public scores are the same
        whatever the validation set is. Without exploration there are none.
    timeout : float, default=None
        Seconds that all fits together should take, summed over workers. The clock is not read once
        the validation set is in use, because it could reveal something about it. The exploration
        ends after its share of the time; then as many candidates are evaluated (one batch at least)
        as fit into the rest at the average time so far. Without exploration, four candidates are
        fitted first to measure the time.

    Notes
    -----
    With n candidates and m units whose gains lie in [a, b], the chosen candidate is within
    ``2 (b - a) / (m epsilon_select) (ln n + t)`` of the best one's validation score with
    probability ``1 - e^-t``, and the error of the released score exceeds
    ``(b - a) t / (m epsilon_score)`` with probability ``e^-t`` (up to one grid step). With a prior,
    the first bound holds for the sum of validation score and prior. The proofs are in the
    documentation, "The guarantee"; measurements of each guidance are in "Benchmarks".
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
        """Return itself; if every record of one table is protected, the equivalent `OneTable`."""
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
                'protect="all" leaves no public records to learn from, so of the parameters of '
                f"WorstCase it takes only score_share. Leave out {other}, or use OneTable, which "
                "has parameters for this case"
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
        """Results of the search that may be published, in words."""
        if not is_fitted_search(self.initial_points):
            return super().released
        return (
            f"{super().released} It began with the results of an earlier search, from which the "
            "evaluated candidates also follow. For validation records that both searches used, the "
            "privacy losses of the two searches add up"
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
            purpose=CHOICE,
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
