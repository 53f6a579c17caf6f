"""The interface of strategies: their task, and the release they return (zone: boundary)."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
from sklearn.base import BaseEstimator

from ..metrics._released import ReleasedScore
from ..metrics._scorers import PrivateScorer
from ..prediction.candidates import Candidates
from ..prediction.session import Session
from ..privacy.checks import check_number
from ._space import SearchSpace

# The scores of one candidate.
Scores: TypeAlias = Sequence[ReleasedScore]

# Text of privacy reports on what is released. `also_released` begins it with what only some
# searches release: `evaluation_`, `choice_counts_`, and scores of several metrics or of all
# candidates.
_SCORES = "best_score_, best_score_population_interval_, best_score_interval_, "
_RELEASED = (
    "best_params_, best_index_, {}and which candidates were evaluated (in cv_results_; determined "
    "by the training set, except for draws of candidates that are listed below). What else the "
    "search keeps, such as best_estimator_, follows from these and from the training set."
)


@dataclass(frozen=True, eq=False)
class Candidate:
    """Public facts about one candidate.

    `validated` is False if it was only explored within the training set, and None if that is
    secret. `public_score` is its score within the training set, and `fit_time` the seconds that a
    fit of it took there; both are NaN if it was not explored. `fit_error` says why a fit failed.
    """

    params: dict[str, Any]
    validated: bool | None = True
    public_score: float = math.nan
    fit_time: float = math.nan
    fit_error: str | None = None


@dataclass(frozen=True, eq=False)
class Release:
    """The outcome of a search: released values and public facts, nothing else.

    Parameters
    ----------
    candidates : tuple of Candidate
        Candidates that were explored or validated, in order; if it is secret which, all that could
        be chosen.
    best_index : int or None
        Position of the privately chosen candidate; None if only a score is released.
    scores : sequence of ReleasedScore
        Validation scores of the chosen candidate, with noise. The score that chose it comes first.
        Empty if none is released.
    report : callable or None, default=None
        ``report(units, privacy_report)`` makes the evaluation of the chosen candidate, the
        `evaluation_` of a search, with the privacy report of the search; None if none is released.
    all_scores : dict of int to sequence of ReleasedScore, or None, default=None
        Scores of all validated candidates, by position of the candidate, if they are released.
    hints : tuple of str, default=()
        Texts of warnings, to be issued after the results are set.
    choice_counts : ndarray or None, default=None
        Counts that were released before the choice, with noise, in numbers of units.
    scorers : tuple of PrivateScorer, default=()
        Scorers as prepared for the release of `scores`; empty if they are those of the search.
    """

    candidates: tuple[Candidate, ...]
    best_index: int | None
    scores: Scores = ()
    report: Callable[..., Any] | None = None
    all_scores: Mapping[int, Scores] | None = None
    hints: tuple[str, ...] = ()
    choice_counts: Any = None
    scorers: tuple[PrivateScorer, ...] = ()


@dataclass(frozen=True, eq=False)
class Task:
    """The task of a strategy: what to search, with what.

    Parameters
    ----------
    space : SearchSpace
        The search space.
    session : Session
        Its public part, ``session.candidates``, fits candidates. It counts their predictions for
        the validation set, which stay sealed, and releases results with noise.
    n_iter : int
        Largest number of candidates to evaluate.
    rng : numpy.random.Generator
        For public randomness only.
    timeout : float or None, default=None
        Seconds after which nothing more is explored within the training set.
    """

    space: SearchSpace
    session: Session
    n_iter: int
    rng: np.random.Generator
    timeout: float | None = None

    @property
    def candidates(self) -> Candidates:
        """The public part of the session: fits of candidates, and scorers."""
        return self.session.candidates


class Strategy(BaseEstimator):
    """Base of strategies; their parameters are scikit-learn parameters.

    Attributes
    ----------
    assumption : str or None
        What the guarantee assumes about the data; None if nothing.
    """

    assumption: str | None = None
    # Values of the parameter `release` of a search that the strategy supports.
    releases: tuple[str, ...] = ("best",)
    # True if it ends its exploration as `Task.timeout` says.
    takes_timeout: bool = False

    @property
    def released(self) -> str:
        """Results of the search that may be published, in words."""
        if self.releases_score:
            return _RELEASED.format(_SCORES)
        return _RELEASED.format("") + " No score is released."

    @property
    def releases_candidate(self) -> bool:
        """True if a candidate is released, not only a score."""
        return True

    @property
    def releases_score(self) -> bool:
        """True if a score is released, not only a candidate."""
        return True

    def check(self, epsilon: float, delta: float) -> None:
        """Raise ValueError if a parameter makes no sense; called before anything is fitted."""

    def _check(self, name: str, *args: Any, **kwargs: Any) -> None:
        """Check a parameter that is a number, as `check_number` does."""
        check_number(name, getattr(self, name), *args, **kwargs)

    def run(self, task: Task) -> Release:
        """Search the space, and release the result."""
        raise NotImplementedError
