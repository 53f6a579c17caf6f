"""What is wrong with the parameters of a search, before anything is fitted (zone: released)."""

from __future__ import annotations

import difflib
import math
import warnings
from numbers import Integral
from typing import Any

import numpy as np
from sklearn.base import clone

from .._evaluation.fitting import set_candidate
from .._evaluation.own_code import check_prediction
from .._params import check_number
from .._space.space import SearchSpace
from ..scoring._make import resolve_scorers
from ..scoring._scorers import PrivateScorer
from ..strategies._base import Strategy
from ..strategies._warm_start import is_fitted_search

__all__ = [
    "check_parameters",
    "check_strategy",
    "n_iter_of",
    "prepared",
    "refuse_earlier_search",
    "resolve_strategy",
    "scorers_of",
    "space_of",
]

# Candidates that are fitted in a space with distributions, if n_iter is None.
_N_ITER = 64
# Candidates of a grid above which n_iter must be given.
_LARGEST_GRID = 100_000
# As many points as can be drawn in seconds, and held.
_MOST_FITS = 1_000_000


def check_parameters(search: Any) -> None:
    """Raise ValueError for a parameter that makes no sense by itself."""
    check_number("epsilon", search.epsilon, "a number from 1e-9 up", lambda e: e >= 1e-9)
    check_number("delta", search.delta, "in [0, 1)", lambda d: 0 <= d < 1)
    check_number(
        "n_iter", search.n_iter, "a whole number from 1 up", _from_1_up, Integral, optional=True
    )
    check_number("n_jobs", search.n_jobs, "a whole number", kind=Integral, optional=True)
    if not isinstance(search.verbose, bool | np.bool_):
        check_number("verbose", search.verbose, "0 or more", lambda v: v >= 0)
    if not (hasattr(search.estimator, "fit") and hasattr(search.estimator, "get_params")):
        raise ValueError(
            "estimator has a fit method, and get_params as BaseEstimator gives it; found "
            f"{search.estimator!r}"
        )
    if search.error_score != "raise":
        check_number("error_score", search.error_score, '"raise" or a number', finite=False)
    check_prediction(search.prediction)
    if search.release not in ("best", "evaluation", "all"):
        raise ValueError(f'release is "best", "evaluation" or "all"; found {search.release!r}')
    if search.protect not in ("validation", "all"):
        raise ValueError(f'protect is "validation" or "all"; found {search.protect!r}')


def _from_1_up(n: int) -> bool:
    return n >= 1


def scorers_of(search: Any) -> dict[str, PrivateScorer]:
    """Return the scorers by name, the one that selects first."""
    named = isinstance(search.refit, str)
    if not named and not isinstance(search.refit, bool | np.bool_):
        raise ValueError(
            f"refit is True or False, or the name of the score that selects; found "
            f"{search.refit!r}. There is no table of scores that a rule could choose from"
        )
    scorers = resolve_scorers(search.scoring, search.estimator, search.refit if named else None)
    if len(scorers) > 1 and not named and search.refit:
        raise ValueError(
            f"scoring has several scores, {list(scorers)}: name the one that selects, as in "
            f"refit={next(iter(scorers))!r}"
        )
    return scorers


def prepared(scorer: PrivateScorer, y: Any) -> PrivateScorer:
    """Return a scorer that knows the training labels."""
    if y is None and not scorer.custom:
        raise ValueError(
            f"scoring={scorer.name!r} compares predictions with y, and y is None: pass y, or a "
            "gain of your own (make_private_scorer)"
        )
    return scorer.prepare(y)


def space_of(search: Any) -> SearchSpace:
    """Return the search space, whose parameters the estimator has."""
    space = SearchSpace(search.param_grid)
    for params in space.examples():
        try:
            set_candidate(clone(search.estimator), params)
        except (AttributeError, ValueError) as error:
            if hint := _did_you_mean(params, search.estimator):
                raise ValueError(f"param_grid: {hint}") from None
            if isinstance(error, ValueError):
                raise
            raise ValueError(  # "a__b" where a is no estimator
                f"param_grid: {params!r} cannot be set on {search.estimator!r}: {error}"
            ) from None
        # XGBoost takes any name, and ignores those that it does not know.
        doubtful = {k: v for k, v in params.items() if not _is_of_a_part(k, search.estimator)}
        if hint := _did_you_mean(doubtful, search.estimator, alike=0.85):
            warnings.warn(f"param_grid: {hint}", UserWarning, stacklevel=4)
    _warn_of_ranges(space)
    return space


def _did_you_mean(params: dict[str, Any], estimator: Any, alike: float = 0.6) -> str:
    """Return which parameter may have been meant by the first that the estimator does not have."""
    known = list(estimator.get_params(deep=True))
    for name in (name for name in params if name not in known):
        # A parameter of a step has the step's name before it.
        near = [other for other in known if other.endswith(f"__{name.rpartition('__')[2]}")]
        near = near or [other for other in known if other.lower() == name.lower()]
        if near := near or difflib.get_close_matches(name, known, n=1, cutoff=alike):
            meant = " or ".join(map(repr, near))
            return f"{type(estimator).__name__} has no parameter {name!r}; did you mean {meant}?"
    return ""


def _is_of_a_part(name: str, estimator: Any) -> bool:
    """Whether this is "a__b" with a parameter a that is no estimator: only its owner knows b.

    skorch takes "module__hidden" for the argument `hidden` of the class `module`, for example.
    """
    known, owner = estimator.get_params(deep=True), name
    while "__" in owner:
        owner = owner.rpartition("__")[0]
        if owner in known:
            return isinstance(known[owner], type) or not hasattr(known[owner], "get_params")
    return False


def _warn_of_ranges(space: SearchSpace) -> None:
    """Warn of a tuple of two numbers: GridSearchCV has two candidates in it, skopt a range."""
    for name, (low, high), as_range in space.perhaps_ranges:
        warnings.warn(
            f"param_grid[{name!r}]=({low!r}, {high!r}) lists two candidates, as in GridSearchCV. "
            f"If you mean the range between them, write {as_range}; if the tuple is one value, "
            f"[({low!r}, {high!r})]; if you do mean two candidates, [{low!r}, {high!r}]",
            UserWarning,
            stacklevel=5,
        )


def n_iter_of(search: Any, space: SearchSpace, strategy: Strategy) -> int:
    """Return the most candidates to fit: unless it was given, all of a grid."""
    is_grid = math.isfinite(space.n_points) and strategy.assumption is None
    if search.n_iter is None and is_grid and space.n_points > _LARGEST_GRID:
        raise ValueError(
            f"param_grid has {space.n_points:,} candidates: say how many may be fitted, as in "
            f"n_iter={_N_ITER}"
        )
    if search.n_iter is None:
        return int(space.n_points) if is_grid else _N_ITER
    n_iter = int(search.n_iter)
    if min(n_iter, space.n_points) > _MOST_FITS:
        raise ValueError(
            f"n_iter={n_iter:,} is more candidates than can be listed ({_MOST_FITS:,}): fit fewer"
        )
    if is_grid and n_iter < space.n_points <= _LARGEST_GRID and strategy.protects == "validation":
        warnings.warn(
            f"param_grid has {space.n_points:,} candidates; with n_iter={n_iter:,} fits, the "
            "search tries only some of them. Leave n_iter out to try all, as GridSearchCV does",
            UserWarning,
            stacklevel=3,
        )
    return n_iter


def refuse_earlier_search(strategy: Strategy) -> None:
    """Raise ValueError if a search that holds out by itself begins where another one ended."""
    if is_fitted_search(getattr(strategy, "initial_points", None)):
        raise ValueError(
            "initial_points is a search, and what it found follows from the records that it was "
            "fitted on. Some of these could be held out, and be protected, here: hold out by "
            "yourself records that are not among them, as X_val"
        )


def resolve_strategy(strategy: Any, by_name: dict[str, type[Strategy]]) -> Strategy:
    """Return the strategy of this name, or this one."""
    if isinstance(strategy, str) and strategy in by_name:
        return by_name[strategy]()
    if isinstance(strategy, Strategy):
        return strategy
    if strategy in ("compose", "repeat", "auto"):
        raise ValueError(f"pass strategy=OneTable({strategy!r}); found {strategy!r}")
    hint = f"; did you mean {strategy.__name__}()?" if isinstance(strategy, type) else ""
    raise ValueError(
        f"strategy is one of {sorted(by_name)} or a strategy object, such as WorstCase(); "
        f"found {strategy!r}{hint}"
    )


def check_strategy(search: Any, strategy: Strategy, scorers: dict[str, PrivateScorer]) -> None:
    """Raise ValueError if a strategy does not do what a search is to do."""
    name = type(strategy).__name__
    if getattr(strategy, "initial_points", None) is search:
        raise ValueError(
            "initial_points is this very search, which would forget what it is to begin with: let "
            "clone(search) begin where search ended"
        )
    if search.refit and strategy.protects == "all" and strategy.assumption is not None:
        raise ValueError(
            f"{name} releases no model, since it fits models that are not private, and with "
            'protect="all" best_estimator_ would be one of protected records: pass refit=False'
        )
    if len(scorers) > 1 and strategy.assumption is not None:
        raise ValueError(
            f"{name} releases one score, and scoring has {list(scorers)}. Use "
            "strategy='worst_case' for several"
        )
    if search.refit and not strategy.releases_candidate:
        raise ValueError(
            f"{strategy!r} releases a score and no candidate, so there is nothing to refit with: "
            "pass refit=False, or let it release a candidate (candidate_share=0.5)"
        )
    reports = strategy.protects == "validation" and strategy.assumption is None
    if search.release != "best" and not reports:
        other = ", or use strategy='worst_case'" * (search.protect == "validation")
        raise ValueError(
            f"{name} releases one candidate's score: leave out release={search.release!r}{other}"
        )
