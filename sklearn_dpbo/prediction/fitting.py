"""Fits of candidates (zone: public).

This module has no access to the validation set.
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
    """Options of the fits of candidates, and of their predictions (`Model.of`).

    A failed candidate is never chosen, whatever `error_score` is.
    """

    estimator: Any
    error_score: Any = np.nan
    n_jobs: int | None = None
    prediction: str = "together"

    def candidate(self, params: dict[str, Any]) -> Any:
        """Return the estimator with these parameters, not fitted."""
        return set_candidate(clone(self.estimator), params)


def check_prediction(prediction: Any) -> None:
    """Raise ValueError unless this is a way to predict the validation set."""
    if prediction not in ("auto", "together", "separate"):
        raise ValueError(
            f'prediction must be "auto", "together" or "separate"; found {prediction!r}'
        )


class Fit(NamedTuple):
    """Error of a fit or None, its duration in seconds, and the result of its `use`."""

    error: str | None
    seconds: float
    result: Any


def fit_all(
    options: FitOptions, jobs: Iterable[tuple[dict[str, Any], Training, Callable[[Any], Any]]]
) -> Generator[Fit, None, None]:
    """Yield the fit of each job (parameters, training set, use) in order; fit in parallel."""
    packed(options.estimator)  # raises errors for which a Dask cluster would wait forever
    tasks = (
        (options.candidate(params), training, options.error_score, use)
        for params, training, use in jobs
    )
    return in_parallel(fit_one, tasks, options.n_jobs)


def fit_one(estimator: Any, training: Training, error_score: Any, use: Callable[[Any], Any]) -> Fit:
    """Fit one candidate, and call `use` with it; failures of `use` count as failures of the fit."""
    start = time.perf_counter()
    seconds = None
    try:
        fitted = fit(estimator, training)
        seconds = time.perf_counter() - start
        with ignore_float_errors():  # unlike fits, this may involve protected records
            return Fit(None, seconds, use(fitted))
    except BatchDependentError:
        raise
    except Exception as error:
        if error_score == "raise":
            raise
        seconds = time.perf_counter() - start if seconds is None else seconds
        return Fit(f"{type(error).__name__}: {error}", seconds, None)


def fit(estimator: Any, training: Training) -> Any:
    """Fit the estimator on copies of the rows, with fit parameters without their marks."""
    y = () if training.y is None else (copy_rows(training.y),)
    with uncounted():
        fitted = estimator.fit(copied(training.X), *y, **unmarked(training.fit_params))
    return estimator if fitted is None else fitted


def set_candidate(estimator: Any, params: dict[str, Any]) -> Any:
    """Set parameters of the estimator, with copies of any estimators in them, and return it."""
    # FrozenEstimator.set_params returns None.
    estimator.set_params(**{k: clone(v, safe=False) for k, v in params.items()})
    return estimator


def without_side_effects(estimator: Any) -> Any:
    """Remove all that could keep or show training records, at any depth; return the estimator.

    These are caches on disk, verbosity, worker processes and callbacks.
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
    """Return the estimator or, if it has callbacks, a copy without them.

    Callbacks may have kept the estimator, and so would see what predictions leave on it.
    """
    callbacks = [vars(part).get("_skl_callbacks") for part in _parts(estimator)]
    # Clones within it share these lists, and so get the empty list, too.
    memo: dict[int, list[Any]] = {id(shared): [] for shared in callbacks if shared is not None}
    return deepcopy(estimator, memo) if memo else estimator


def _parts(estimator: Any) -> list[Any]:
    """List the estimator and all estimators among its parameters, at any depth."""
    inside = estimator.get_params(deep=True).values() if hasattr(estimator, "get_params") else ()
    parts = [p for p in inside if hasattr(p, "get_params") and not isinstance(p, type)]
    return [part for part in (estimator, *parts) if hasattr(part, "__dict__")]
