"""Where a search begins: candidates to try first, scores of an earlier search (zone: public)."""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .._data.pickles import packed
from .._space.space import Points, SearchSpace
from ._proposals import Domain, initial_points

__all__ = ["Start", "is_fitted_search"]

# Of an earlier search, how many of the candidates with the best public scores are tried again.
_N_BEST = 4


@dataclass(frozen=True, eq=False)
class Start:
    """What is known before a search.

    Parameters
    ----------
    points : Points
        To try first; all are validated.
    explored : Points
        That an earlier search scored within its training set.
    scores : ndarray of shape (n_explored,)
        These public scores.
    """

    points: Points
    explored: Points
    scores: NDArray[np.float64]

    @classmethod
    def of(
        cls,
        space: SearchSpace,
        given: Any,
        own: Mapping[str, Any],
        n_iter: int,
        scorer: Any,
    ) -> Start:
        """Return where to start.

        Parameters
        ----------
        space : SearchSpace
            What is searched.
        given : list of dict, fitted search or None
            As `WorstCase` takes its `initial_points`.
        own : dict
            The estimator's own parameters: they are also tried if they lie in the space.
        n_iter : int
            The most candidates.
        scorer : PrivateScorer
            The score that selects. Public scores of an earlier search are used if that search has
            the same.
        """
        explored, scores = space.none, np.empty(0)
        if is_fitted_search(given):
            explored, scores = _public_scores(space, given)
            best = explored.take(np.argsort(-scores, kind="stable")[:_N_BEST])
            first = Domain.of(space, [_located(space, given.best_params_), best]).points
            if not len(first):
                raise ValueError(
                    "no candidate of the search in initial_points lies in param_grid: that search "
                    f"has the parameters {sorted(given.best_params_)}, this one {space.names}, "
                    "perhaps with other values. Leave initial_points out"
                )
            if not _same_score(given, scorer):
                warnings.warn(
                    "The search in initial_points used another metric: its best candidates are "
                    "tried first, but its public scores are not used",
                    UserWarning,
                    stacklevel=6,
                )
                explored, scores = space.none, np.empty(0)
        else:
            first = initial_points(space, given or (), n_iter)
        points = Domain.of(space, [first, space.own_points(own)]).points
        return cls(points.take(slice(n_iter)), explored, scores)

    def level(self, points: Points, scores: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the earlier scores, shifted by the mean difference of candidates in both searches.

        Parameters
        ----------
        points : Points
            Scored in this search.
        scores : ndarray of shape (n_points,)
            NaN where a fit failed.
        """
        earlier = dict(zip(self.explored.identities(), self.scores.tolist(), strict=True))
        both = zip(points.identities(), scores.tolist(), strict=True)
        moved = [score - earlier[key] for key, score in both if key in earlier]
        moved = [each for each in moved if not np.isnan(each)]
        return self.scores + (float(np.mean(moved)) if moved else 0.0)


def is_fitted_search(given: Any) -> bool:
    """Whether this is a private search that has been fitted and has chosen a candidate."""
    columns = getattr(given, "cv_results_", ())
    chosen = isinstance(getattr(given, "best_params_", None), Mapping)
    return chosen and isinstance(columns, Mapping) and "public_score" in columns


def _same_score(search: Any, scorer: Any) -> bool:
    """Whether two scores were made from the same arguments; functions are compared by pickling."""
    scorers = search.scorer_
    first = next(iter(scorers.values())) if isinstance(scorers, Mapping) else scorers
    try:
        theirs, ours = ([packed(part) for part in each.definition] for each in (first, scorer))
    except TypeError:  # of what cannot be pickled, nobody knows
        return False
    return theirs == ours


def _public_scores(space: SearchSpace, search: Any) -> tuple[Points, NDArray[np.float64]]:
    """Return which candidates of a search have public scores and lie in the space; the scores."""
    columns = search.cv_results_
    scores: Any = np.ma.asarray(columns["public_score"], dtype=float)
    found = zip(columns["params"], scores.filled(np.nan).tolist(), strict=True)
    located = [(_located(space, params), score) for params, score in found if np.isfinite(score)]
    inside = [(point, score) for point, score in located if len(point)]
    points = Points.concatenate([space.none, *(point for point, _ in inside)])
    return points, np.array([score for _, score in inside])


def _located(space: SearchSpace, params: Mapping[str, Any]) -> Points:
    """Return the point of a candidate, or none if it does not lie in the space."""
    try:
        return space.locate(params)
    except ValueError:
        return space.none
