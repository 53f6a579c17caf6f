"""Fits of candidates (zone: public).

The validation set is not within reach of this module.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Generator, Iterable
from copy import deepcopy
from dataclasses import dataclass
from inspect import signature
from typing import Any, NamedTuple

import numpy as np
from sklearn.base import clone

from ..exceptions import BatchDependentError
from ..privacy.accounting import uncounted
from ..privacy.float_errors import ignore_float_errors
from ..records.fit_parameters import unmarked
from ..records.pickles import packed
from ..records.split import Training
from ..records.tables import copied, copy_rows
from .progress import in_parallel


@dataclass(frozen=True, eq=False)
class FitOptions:
    """How candidates are fitted, whatever they are scored on, and predict (`Model.of`).

    Whatever `error_score`, a failed candidate is never chosen.
    """

    estimator: Any
    error_score: Any = np.nan
    n_jobs: int | None = None
    prediction: str = "together"

    def candidate(self, params: dict[str, Any]) -> Any:
        """Return the estimator with these parameters, not fitted."""
        return set_candidate(clone(self.estimator), params)


def check_prediction(prediction: Any) -> None:
    """Raise ValueError unless this says how the validation set is predicted."""
    if prediction not in ("auto", "together", "separate"):
        raise ValueError(f'prediction is "auto", "together" or "separate"; found {prediction!r}')


class Fit(NamedTuple):
    """Why a fit failed or None, how many seconds it took, and what was made of its result."""

    error: str | None
    seconds: float
    result: Any


def fit_all(
    options: FitOptions, jobs: Iterable[tuple[dict[str, Any], Training, Callable[[Any], Any]]]
) -> Generator[Fit, None, None]:
    """Yield the fit of each job in order, in parallel: parameters, training set, use."""
    packed(options.estimator)  # raises what a Dask cluster would wait for without an end
    tasks = (
        (options.candidate(params), training, options.error_score, use)
        for params, training, use in jobs
    )
    return in_parallel(fit_one, tasks, options.n_jobs)


def fit_one(estimator: Any, training: Training, error_score: Any, use: Callable[[Any], Any]) -> Fit:
    """Fit one candidate and use it, by `use`, where a failure counts as one of the fit."""
    start, seconds = time.perf_counter(), None
    try:
        fitted = fit(estimator, training)
        seconds = time.perf_counter() - start
        with ignore_float_errors():  # unlike the fit, this is done with protected records, too
            return Fit(None, seconds, use(fitted))
    except BatchDependentError:
        raise
    except Exception as error:
        if error_score == "raise":
            raise
        seconds = time.perf_counter() - start if seconds is None else seconds
        return Fit(f"{type(error).__name__}: {error}", seconds, None)


def fit(estimator: Any, training: Training) -> Any:
    """Fit the estimator on copies of the rows, with fit parameters that are no longer marked."""
    X, y, fit_params = training.X, training.y, unmarked(training.fit_params)
    with uncounted():
        fitted = estimator.fit(copied(X), *(() if y is None else (copy_rows(y),)), **fit_params)
    return estimator if fitted is None else fitted


def set_candidate(estimator: Any, params: dict[str, Any]) -> Any:
    """Return the estimator with these parameters (and copies of any estimators in them)."""
    # FrozenEstimator.set_params returns None.
    estimator.set_params(**{k: clone(v, safe=False) for k, v in params.items()})
    return estimator


def without_side_effects(estimator: Any) -> Any:
    """Return the estimator with nothing in it that keeps or shows what it is fitted with.

    Caches on disk, verbosity, worker processes and callbacks, at any depth.
    """
    silent = {"memory": None, "n_jobs": None, "verbose": False}
    params = estimator.get_params(deep=True)
    leaves = {name: name.rpartition("__")[2] for name in params}
    estimator.set_params(**{name: silent[leaf] for name, leaf in leaves.items() if leaf in silent})
    for part in _parts(estimator):
        vars(part).pop("_skl_callbacks", None)
        if "allow_writing_files" in signature(type(part)).parameters:  # CatBoost's checkpoints
            part.set_params(allow_writing_files=False)
    return estimator


def without_callbacks(estimator: Any) -> Any:
    """Return the estimator or, if callbacks may have kept it, a copy without callbacks.

    What predictions leave on the copy is kept by nobody, and they tell nobody of what they see.
    """
    callbacks = [vars(part).get("_skl_callbacks") for part in _parts(estimator)]
    # Clones within it share these lists, and so have the empty one too.
    memo: dict[int, list[Any]] = {id(several): [] for several in callbacks if several is not None}
    return deepcopy(estimator, memo) if memo else estimator


def _parts(estimator: Any) -> list[Any]:
    """Return the estimator and all that are parameters of it, at any depth."""
    inside = estimator.get_params(deep=True).values() if hasattr(estimator, "get_params") else ()
    parts = [p for p in inside if hasattr(p, "get_params") and not isinstance(p, type)]
    return [part for part in (estimator, *parts) if hasattr(part, "__dict__")]
