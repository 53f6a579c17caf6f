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
from ._proposals import Domain

__all__ = ["Start", "check_initial_points", "is_fitted_search"]

# Of an earlier search, how many of the candidates with the best public scores are tried again.
_N_BEST = 4


@dataclass(frozen=True, eq=False)
class Start:
    """Points to try first, and what an earlier search has explored, with public scores."""

    points: Points
    explored: Points
    scores: NDArray[np.float64]

    @classmethod
    def of(
        cls, space: SearchSpace, given: Any, own: Mapping[str, Any], n_iter: int, scorer: Any
    ) -> Start:
        """Return where to start: at `initial_points`, and at the estimator's own parameters.

        Public scores of an earlier search are used if it had the same score.
        """
        explored, scores = space.none, np.empty(0)
        if is_fitted_search(given):
            explored, scores = _public_scores(space, given)
            best = explored.take(np.argsort(-scores, kind="stable")[:_N_BEST])
            first = Domain.of(space, [space.find(given.best_params_), best]).points
            if not len(first):
                raise ValueError(
                    "no candidate of the search in initial_points lies in param_grid: leave "
                    "initial_points out"
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
            first = Domain.of(space, [space.none, *map(space.locate, given or ())]).points
            if len(first) > n_iter:
                raise ValueError(
                    f"initial_points has {len(first)} candidates, more than n_iter={n_iter}: "
                    "increase n_iter, or leave some out"
                )
        points = Domain.of(space, [first, space.own_points(own)]).points
        return cls(points.take(slice(n_iter)), explored, scores)

    def level(self, points: Points, scores: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the earlier scores, shifted by the mean difference of candidates in both."""
        earlier = dict(zip(self.explored.identities(), self.scores, strict=True))
        both = zip(points.identities(), scores, strict=True)
        moved = [score - earlier[key] for key, score in both if key in earlier]
        moved = [each for each in moved if not np.isnan(each)]
        return self.scores + (np.mean(moved) if moved else 0.0)


def is_fitted_search(given: Any) -> bool:
    """Whether this is a private search that has been fitted and has chosen a candidate."""
    columns = getattr(given, "cv_results_", ())
    chosen = isinstance(getattr(given, "best_params_", None), Mapping)
    return chosen and isinstance(columns, Mapping) and "public_score" in columns


def check_initial_points(given: Any) -> None:
    """Raise ValueError unless these are candidates, a fitted private search, or None."""
    is_list = isinstance(given, list | tuple) and all(isinstance(each, Mapping) for each in given)
    if given is not None and not is_list and not is_fitted_search(given):
        raise ValueError(
            "initial_points is a list of dicts, or a fitted PrivateBayesSearchCV (call its fit "
            "first). Of another search, fitted on public records, pass [search.best_params_]; "
            f"found {type(given).__name__}"
        )


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
    scores: NDArray[np.float64] = np.ma.filled(
        np.ma.asarray(columns["public_score"], dtype=float), np.nan
    )
    points = [space.find(params) for params in columns["params"]]
    known = [i for i, each in enumerate(points) if len(each) and np.isfinite(scores[i])]
    return Points.concatenate([space.none, *(points[i] for i in known)]), scores[known]
