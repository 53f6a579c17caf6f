"""What a strategy returns, and what it is given (zone: boundary)."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from sklearn.base import BaseEstimator

from ..evaluation import Evaluator
from ..mechanisms import Noise
from ..privacy import Budget
from ..space import Candidates, SearchSpace

__all__ = ["Release", "Strategy"]


@dataclass(frozen=True)
class Release:
    """The outcome of a search: released values and public facts, nothing else.

    Parameters
    ----------
    candidates : Candidates
        The settings evaluated, in order.
    fit_times, fit_errors
        As in `Evaluation`.
    validated : ndarray of bool, shape (n_candidates,)
        False for settings that were only explored, within the training set.
    public_scores : ndarray of shape (n_candidates,)
        Scores within the training set of settings that were explored; else NaN.
    best_index : int
        Which was chosen, privately.
    best_score : float
        Its validation score with noise, within the scorer's bounds.
    interval : tuple of float
        Where its validation score without noise lies, with probability 95 %.
    """

    candidates: Candidates
    fit_times: np.ndarray
    fit_errors: tuple[str | None, ...]
    validated: np.ndarray
    public_scores: np.ndarray
    best_index: int
    best_score: float
    interval: tuple[float, float]


class Strategy(BaseEstimator):
    """Base of strategies; their parameters are scikit-learn parameters.

    Attributes
    ----------
    assumption : str or None
        What the guarantee rests on; None for a worst-case guarantee.
    """

    assumption: str | None = None

    def check(self) -> None:
        """Raise ValueError if a parameter makes no sense; called before anything is fitted."""

    def run(
        self,
        space: SearchSpace,
        oracle: Evaluator,
        *,
        n_iter: int,
        rng: np.random.Generator,
        budget: Budget,
        noise: Noise,
    ) -> Release:
        """Search the space.

        Parameters
        ----------
        space : SearchSpace
        oracle : Evaluator
            Evaluates settings; its statistics are sensitive.
        n_iter : int
            The most settings to evaluate.
        rng : numpy.random.Generator
            For public randomness only.
        budget : Budget
            Each draw is charged to it.
        noise : Noise
        """
        raise NotImplementedError
