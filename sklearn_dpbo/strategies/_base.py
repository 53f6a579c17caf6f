"""What a strategy returns, and what it is given (zone: boundary)."""

from __future__ import annotations

from copy import copy
from dataclasses import dataclass, field
from typing import Any, Self, TypeAlias

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator

from .._evaluation.evaluator import Evaluator
from .._params import check_number
from .._privacy.accounting import Budget
from .._privacy.mechanisms import Mechanisms
from .._space.space import SearchSpace
from ..evaluation._counted import Counted
from ..scoring._scorers import PrivateScorer, Score

__all__ = [
    "Release",
    "Scores",
    "Strategy",
    "all_masked",
    "positive",
    "require_mean_gain",
]

# Several scores of one candidate.
Scores: TypeAlias = list[Score]

RELEASED = (
    "best_params_, best_index_, best_score_, best_score_interval_, and which candidates were "
    "evaluated (in cv_results_; a matter of the training set alone, unless draws of which "
    "candidates to evaluate next are listed below). What else the search keeps (best_estimator_, "
    "say) follows from these and from the training set."
)


@dataclass(frozen=True, eq=False)
class Release:
    """The outcome of a search: released values and public facts, nothing else.

    Parameters
    ----------
    params : tuple of dict
        Parameters of the candidates evaluated, in order; if these are not released, of all
        candidates that could be chosen.
    fit_times : ndarray of shape (n_candidates,), in seconds
        Times of fits within the training set before the validation set was used; else NaN.
    fit_errors : tuple of str or None, length n_candidates
        As in `Evaluation`.
    validated : ndarray of bool, shape (n_candidates,)
        False for candidates that were only explored within the training set. Masked if it is not
        released.
    public_scores : ndarray of shape (n_candidates,)
        Scores of explored candidates within the training set; else NaN.
    best_index : int or None
        Which candidate was chosen, privately; None if only a score is released.
    best_score : float or None
        A validation score with noise, within the scorer's bounds; None if no score is released.
    interval : tuple of float or None
        Interval that contains that score without noise with probability 95 %.
    others : list of (float, tuple of float)
        The other scores of the chosen candidate, with their intervals.
    report : Counted or None
        Counts for a report of the chosen candidate, with noise.
    all_scores : dict of int to list of (float, tuple of float), or None
        All scores with their intervals, by number of the candidate, if they are released.
    """

    params: tuple[dict[str, Any], ...]
    fit_times: NDArray[Any]
    fit_errors: tuple[str | None, ...]
    validated: NDArray[Any]
    public_scores: NDArray[Any]
    best_index: int | None
    best_score: float | None
    interval: tuple[float, float] | None
    others: Scores = field(default_factory=list)
    report: Counted | None = None
    all_scores: dict[int, Scores] | None = None


class Strategy(BaseEstimator):
    """Base of strategies; their parameters are scikit-learn parameters.

    Attributes
    ----------
    assumption : str or None
        Assumption of the guarantee; None for a worst-case guarantee.
    several_scores : bool
        Whether it can release other scores beside the one that selects.
    reports : bool
        Whether it can release a report of the chosen candidate, or the scores of all.
    protects : {"validation", "all"}
        Which records it protects: `protect` of the search.
    assumption_on_table : str or None
        Assumption of the guarantee if it protects every record of one table; None if it cannot.
    releases_model : bool
        Whether the fitted model is released, too, if it protects every record.
    evaluates_grids : bool
        Whether it evaluates a grid completely if n_iter allows.
    observes_scores : bool
        Whether it computes scores that are not means of gains exactly, in secret.
    """

    assumption: str | None = None
    several_scores: bool = False
    reports: bool = False
    protects: str = "validation"
    assumption_on_table: str | None = None
    releases_model: bool = False
    evaluates_grids: bool = False
    observes_scores: bool = False

    @property
    def released(self) -> str:
        """Results of the search that may be published, in words."""
        return RELEASED

    @property
    def releases_candidate(self) -> bool:
        """Whether a candidate is released, or a score only."""
        return True

    def protecting(self, protect: str) -> Strategy:
        """Return the strategy with these parameters that protects these records.

        Parameters
        ----------
        protect : {"validation", "all"}
            As the search has it.

        Raises
        ------
        ValueError
            If there is none.
        """
        if protect == self.protects:
            return self
        if protect == "all" and self.assumption_on_table is not None:
            return self._on_table()
        raise ValueError(
            f"{type(self).__name__} works with protect={self.protects!r}; found protect={protect!r}"
        )

    def _on_table(self) -> Self:
        found = copy(self)
        found.protects, found.assumption = "all", self.assumption_on_table
        return found

    def check(self, budget: Budget) -> None:
        """Raise ValueError if a parameter makes no sense; called before anything is fitted."""

    def _check(self, name: str, *args: Any, **kwargs: Any) -> None:
        """Check a parameter that is a number, as `check_number` does."""
        check_number(name, getattr(self, name), *args, **kwargs)

    def run(
        self,
        space: SearchSpace,
        oracle: Evaluator,
        *,
        n_iter: int,
        rng: np.random.Generator,
        mechanisms: Mechanisms,
    ) -> Release:
        """Search the space.

        Parameters
        ----------
        space : SearchSpace
            The search space.
        oracle : Evaluator
            Evaluates candidates; its statistics are sensitive.
        n_iter : int
            Largest number of candidates to evaluate.
        rng : numpy.random.Generator
            For public randomness only.
        mechanisms : Mechanisms
            Release whatever depends on the validation set.
        """
        raise NotImplementedError


def positive(value: Any) -> bool:
    """Whether a number is positive."""
    return bool(value > 0)


def all_masked(n: int) -> np.ma.MaskedArray:
    """Return n masked truth values. (`masked_all` would keep whatever was in memory before.)"""
    return np.ma.array(np.zeros(n, dtype=bool), mask=True)


def require_mean_gain(scorer: PrivateScorer, who: str) -> None:
    """Raise ValueError unless the score is a mean of gains, on a line with one statistic."""
    if not scorer.is_mean:
        raise ValueError(
            f"{who} needs a mean over records, and scoring={scorer.name!r} is not one. Use "
            "'accuracy' or 'neg_brier_score', for example, or strategy='worst_case'"
        )
