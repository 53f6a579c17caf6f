"""Parameters of searches, checked before anything is fitted (zone: released)."""

from __future__ import annotations

import inspect
import math
import re
from collections.abc import Callable, Iterable
from functools import wraps
from numbers import Integral, Real
from typing import Any, NamedTuple, ParamSpec

import numpy as np
from sklearn.base import clone

from ..exceptions import GuaranteeAssumptionWarning, InvalidParameterError
from ..metrics._make import resolve_scorers
from ..metrics._scorers import PrivateScorer
from ..prediction.fitting import FitOptions, set_candidate
from ..prediction.session import Session
from ..privacy.checks import as_floats, is_number
from ..privacy.spending import Spending
from ..privacy.warn import warn
from ..records.units import unit_name
from ._space import SearchSpace
from ._strategy import Strategy
from ._worst_case import WorstCase

# Candidates that are fitted in a space with distributions, if n_iter is None.
_N_ITER = 64
# Largest grid that is evaluated completely if n_iter is None.
_LARGEST_GRID = 100_000
# Largest n_iter.
_MOST_FITS = 1_000_000
# Names of parameters in searches of other libraries, with those here.
_NAMES_OF_OTHERS = {
    "param_distributions": "param_grid",  # scikit-learn, Optuna
    "search_spaces": "param_grid",  # scikit-optimize
    "n_trials": "n_iter",
}
_P = ParamSpec("_P")
RESPONSE_METHODS = {
    "auto": ("predict_proba", "decision_function"),
    "predict_proba": ("predict_proba",),
    "decision_function": ("decision_function",),
}
_BOOL = (bool, np.bool_)
# Other names of a validation set: records passed by these names would not be protected.
_NAMES_OF_VALIDATION = re.compile(
    "[xy]_?(val|valid|validation|test|holdout|hold_out|dev|eval)", re.IGNORECASE
)


def _one_of(*texts: str) -> tuple[Callable[[Any], bool], str]:
    """Make the constraint that a parameter is one of these texts, with words for it."""
    words = ", ".join(f'"{text}"' for text in texts[:-1]) + f' or "{texts[-1]}"'
    return lambda value: isinstance(value, str) and value in texts, words


def _are_thresholds(thresholds: Any) -> bool:
    """Return True if `thresholds` is a list of numbers, or the number of thresholds to place."""
    if np.ndim(thresholds) == 0:
        return is_number(lambda n: 4 <= n <= 2**16, Integral)(thresholds)
    values = as_floats(thresholds)
    return values is not None and values.ndim == 1 and len(values) >= 2


# A check of each parameter, by name, and words for it. An estimator need not have all of them.
_CONSTRAINTS: dict[str, tuple[Callable[[Any], bool], str]] = {
    "estimator": (
        lambda e: hasattr(e, "fit") and hasattr(e, "get_params") and not isinstance(e, type),
        "an object with a fit method, and with get_params as BaseEstimator has it",
    ),
    "epsilon": (is_number(lambda e: e >= 1e-9), "a finite number from 1e-9 up"),
    "delta": (is_number(lambda d: 0 <= d < 1), "in [0, 1)"),
    "score_share": (is_number(lambda s: 0 < s <= 1 - 1e-6), "in (0, 1)"),
    "test_size": (is_number(lambda s: 0 < s < 1, optional=True), "None or a share in (0, 1)"),
    "n_iter": (
        is_number(lambda n: 1 <= n <= _MOST_FITS, Integral, optional=True),
        f"None or a whole number from 1 to {_MOST_FITS:,}",
    ),
    "timeout": (is_number(lambda t: t > 0, optional=True), "None or a positive number of seconds"),
    "n_fits": (
        is_number(lambda n: 1 <= n <= 10_000, Integral, optional=True),
        "None or a whole number from 1 to 10,000",
    ),
    "n_jobs": (is_number(kind=Integral, optional=True), "None or a whole number"),
    "refit": (
        lambda refit: isinstance(refit, (str, *_BOOL)),
        "True or False, or the name of the score that selects (a rule would need all scores)",
    ),
    "verbose": (lambda v: isinstance(v, _BOOL) or is_number(lambda v: v >= 0)(v), "0 or more"),
    "error_score": (
        lambda e: is_number(finite=False)(e) or (isinstance(e, str) and e == "raise"),
        '"raise" or a number',
    ),
    "prediction": _one_of("auto", "together", "separate"),
    "release": _one_of("best", "evaluation", "all"),
    "response_method": _one_of(*RESPONSE_METHODS),
    "thresholds": (_are_thresholds, "a whole number, 4 to 2**16, or two finite numbers or more"),
}


def own_names(init: Callable[_P, None]) -> Callable[_P, None]:
    """Make an `__init__` that answers other libraries' names of parameters with the names here."""

    @wraps(init)
    def checked(*args: _P.args, **params: _P.kwargs) -> None:
        for foreign, name in _NAMES_OF_OTHERS.items():
            if foreign in params:
                raise TypeError(
                    f"{type(args[0]).__name__} calls {foreign} {name}: write {name}=..."
                )
        init(*args, **params)

    return checked


class Setup(NamedTuple):
    """The checked parameters of a search; the scorer that selects comes first."""

    scorers: dict[str, PrivateScorer]
    space: SearchSpace
    n_iter: int
    strategy: Strategy
    spending: Spending
    options: FitOptions


def setup_of(search: Any, groups: Any) -> Setup:
    """Check the parameters of a search, and set up what it needs; nothing is fitted or charged."""
    check_parameters(search)
    scorers = scorers_of(search)
    space = space_of(search.param_grid, search.estimator)
    strategy = _resolve_strategy(search.strategy)
    strategy.check(search.epsilon, search.delta)
    _check_strategy(search, strategy, scorers)
    n_iter = n_iter_of(search, space, strategy)
    name = type(strategy).__name__
    spending = Spending.begin(
        search.ledger,
        search.epsilon,
        search.delta,
        what="choice and score of a candidate",
        mechanism=f"{type(search).__name__}, {name}",
        unit=unit_name(groups),
        assumption=strategy.assumption,
        estimator=search.estimator,
    )
    if strategy.assumption is not None:
        warn(
            f"The privacy of {name} rests on an assumption: {strategy.assumption}.",
            GuaranteeAssumptionWarning,
        )
    options = FitOptions(search.estimator, search.error_score, search.n_jobs, search.prediction)
    return Setup(scorers, space, n_iter, strategy, spending, options)


def check_parameters(estimator: Any) -> None:
    """Raise ValueError for a parameter that makes no sense by itself."""
    check_values(estimator.get_params(deep=False))


def check_values(params: dict[str, Any]) -> None:
    """Raise ValueError for a value, by name of the parameter, that makes no sense by itself."""
    for name, value in params.items():
        holds, expected = _CONSTRAINTS.get(name, (lambda _: True, ""))
        if not holds(value):
            hint = f". Pass an object: {name}={value.__name__}()" if isinstance(value, type) else ""
            error = ValueError if isinstance(value, Real) else InvalidParameterError
            raise error(
                f"{name} must be {expected}; found {value!r} ({type(value).__name__}){hint}"
            )


def scorers_of(search: Any) -> dict[str, PrivateScorer]:
    """Return the scorers by name, the one that selects first."""
    named = search.refit if isinstance(search.refit, str) else None
    scorers = resolve_scorers(search.scoring, search.estimator, named)
    if len(scorers) > 1 and search.refit and named is None:
        raise ValueError(
            f"scoring has several scores, {list(scorers)}: name the one that selects, as in "
            f"refit={next(iter(scorers))!r}"
        )
    return scorers


def prepare_scorer(scorer: PrivateScorer, session: Session) -> PrivateScorer:
    """Prepare a scorer for the training labels, and for the noise of this session."""
    y = session.training.y
    epsilon_m = session.epsilon * session.units.m
    if y is None and not scorer.custom:
        raise ValueError(
            f"scoring={scorer.name!r} compares predictions with y, and y is None: pass y, or a "
            "gain of your own (make_private_scorer)"
        )
    fields = getattr(getattr(y, "dtype", None), "names", None)
    if fields and not scorer.custom:
        raise ValueError(
            f"scoring={scorer.name!r} takes one label per record, and y has the fields {fields}: "
            "pass scoring=make_private_scorer(gain, bounds=(a, b)), whose gain takes such labels"
        )
    return scorer.prepare(y).with_bounds(y, (), epsilon_m, epsilon_m)


def space_of(param_grid: Any, estimator: Any) -> SearchSpace:
    """Make the search space; raise ValueError if the estimator has not its parameters."""
    space = SearchSpace(param_grid)
    for params in space.examples():
        try:
            set_candidate(clone(estimator), params)
        except (AttributeError, ValueError) as error:  # AttributeError: "a__b", a is no estimator
            raise ValueError(f"param_grid cannot be set on the estimator: {error}") from None
    return space


def n_listed(space: SearchSpace) -> int:
    """Return the number of candidates to consider: all of a grid that is not huge."""
    return int(space.n_points) if space.n_points <= _LARGEST_GRID else _N_ITER


def n_iter_of(search: Any, space: SearchSpace, strategy: Strategy) -> int:
    """Return `n_iter` or, if it is None, the default: all candidates of a grid."""
    is_grid = math.isfinite(space.n_points) and strategy.assumption is None
    n_iter = int(search.n_iter or (n_listed(space) if is_grid else _N_ITER))
    if is_grid and n_iter < space.n_points:
        warn(
            f"param_grid has {space.n_points:,} candidates; with n_iter={n_iter:,} fits, the "
            f"search tries only some of them. Without n_iter it tries all, up to {_LARGEST_GRID:,}",
        )
    return n_iter


def _resolve_strategy(strategy: Any) -> Strategy:
    """Return the strategy object; "worst_case" stands for `WorstCase()`."""
    if isinstance(strategy, str) and strategy == "worst_case":
        return WorstCase()
    if isinstance(strategy, Strategy):
        return strategy
    passed = strategy.__name__ + ", a class" if isinstance(strategy, type) else repr(strategy)
    raise InvalidParameterError(
        "strategy must be 'worst_case' or a strategy object, such as WorstCase(guidance='none'); "
        f"found {passed}"
    )


def _check_strategy(search: Any, strategy: Strategy, scorers: dict[str, PrivateScorer]) -> None:
    """Raise ValueError if a strategy does not support what the search asks for."""
    name = type(strategy).__name__
    assumes = strategy.assumption is not None
    if search.refit and not strategy.releases_candidate:
        raise ValueError(f"{name} releases a score and no candidate: pass refit=False")
    if not strategy.releases_score and (len(scorers) > 1 or search.release != "best"):
        raise ValueError(
            f"score_share=0 releases no score: pass one metric, and release='best'; found "
            f"{list(scorers)} and {search.release!r}. Or give scores a share of epsilon"
        )
    if assumes and len(scorers) > 1:
        raise ValueError(f"{name} releases one score; scoring has {list(scorers)}")
    if search.timeout is not None and not strategy.takes_timeout:
        raise ValueError(f"{name} has no exploration that timeout= could end: leave it out")
    if search.release not in strategy.releases:
        raise ValueError(
            f"{name} releases one candidate's score: leave out release={search.release!r}"
        )


def check_named(estimator: Any, fit_params: Iterable[str]) -> None:
    """Raise TypeError if protected records were given to `fit` by another name.

    Names that the `fit` of ``estimator.estimator`` takes are passed on to it.
    """
    names = [name for name in fit_params if _NAMES_OF_VALIDATION.fullmatch(name)]
    if names and not fit_takes(estimator.estimator, names):
        raise TypeError(
            f"{type(estimator).__name__}.fit was given {names}: the protected records are called "
            "X_val, y_val and groups_val here"
        )


def fit_takes(estimator: Any, names: Iterable[str]) -> bool:
    """Return True if the `fit` of an estimator has parameters of all these names."""
    try:
        return set(names) <= set(inspect.signature(estimator.fit).parameters)
    except (AttributeError, TypeError, ValueError):
        return False
