"""Fits on public records, timed, and what is said of those that fail (zone: public)."""

from __future__ import annotations

import contextlib
import gc
import time
import warnings
from copy import deepcopy

from sklearn.base import clone
from sklearn.exceptions import FitFailedWarning

from .._data.tables import copy_rows
from ..exceptions import BatchDependentError

__all__ = [
    "announce",
    "fit",
    "report_failures",
    "set_candidate",
    "timed",
    "timed_fit",
    "unwatched",
    "without_traces",
]


def timed(estimator, data):
    """Return (fitted estimator, seconds)."""
    start = time.perf_counter()
    with _no_collection():
        fitted = fit(estimator, data.X_train, data.y_train, data.fit_params)
        return fitted, time.perf_counter() - start


def timed_fit(estimator, data, error_score, then, fitter=timed):
    """Return (seconds of the fit, why it or `then` failed or None, what `then` returned).

    Parameters
    ----------
    estimator : estimator
    data : Problem or PublicSplit
    error_score : "raise" or float
    then : callable
        Of the fitted estimator.
    fitter : callable
        What fits: `timed`, or a `FitCache`.
    """
    start, fit_time = time.perf_counter(), None
    try:
        fitted, fit_time = fitter(estimator, data)
        return fit_time, None, then(fitted)
    except BatchDependentError:
        raise
    except Exception as error:
        if error_score == "raise":
            raise
        seconds = time.perf_counter() - start if fit_time is None else fit_time
        return seconds, f"{type(error).__name__}: {error}", None


@contextlib.contextmanager
def _no_collection():
    """Keep Python's garbage collector from walking through validation data in a timed fit."""
    enabled = gc.isenabled()
    try:
        gc.disable()
        yield
    finally:
        if enabled:
            gc.enable()


def announce(verbose: int, position: str, setting: dict, error, fit_time=None, stream=None) -> None:
    """Print a line about a fit, if that is wanted; with its time only if that is public."""
    if verbose > 1:
        took = "" if fit_time is None else f" in {fit_time:.2f} s"
        state = "failed" if error else f"fitted{took}"
        # In one piece, so that lines of several workers do not mix.
        print(f"[{position}] {setting}: {state}\n", end="", file=stream, flush=True)


def set_candidate(estimator, setting: dict):
    """Return the estimator with this setting (and copies of any estimators in it)."""
    return estimator.set_params(**{k: clone(v, safe=False) for k, v in setting.items()})


def without_traces(estimator):
    """Return the estimator with nothing in it that keeps or shows what it is fitted with.

    Caches on disk, verbosity, worker processes and callbacks, at any depth.
    """
    silent = {"memory": None, "n_jobs": None, "verbose": False}
    params = estimator.get_params(deep=True)
    leaves = {name: name.rpartition("__")[2] for name in params}
    estimator.set_params(**{name: silent[leaf] for name, leaf in leaves.items() if leaf in silent})
    for part in _parts(estimator):
        vars(part).pop("_skl_callbacks", None)
    return estimator


def unwatched(estimator):
    """Return the estimator or, if callbacks may have kept it, a copy without callbacks.

    What predictions leave on the copy is kept by nobody, and they tell nobody of what they see.
    """
    callbacks = [vars(part).get("_skl_callbacks") for part in _parts(estimator)]
    # Clones within it share these lists, and so have the empty one too.
    memo: dict[int, list] = {id(several): [] for several in callbacks if several is not None}
    return deepcopy(estimator, memo) if memo else estimator


def _parts(estimator) -> list:
    """Return the estimator and all that are parameters of it, at any depth."""
    inside = estimator.get_params(deep=True).values() if hasattr(estimator, "get_params") else ()
    parts = [p for p in inside if hasattr(p, "get_params") and not isinstance(p, type)]
    return [part for part in (estimator, *parts) if hasattr(part, "__dict__")]


def fit(estimator, X, y, fit_params):
    """Fit the estimator on copies of these rows."""
    if y is None:
        return estimator.fit(copy_rows(X), **fit_params)
    return estimator.fit(copy_rows(X), copy_rows(y), **fit_params)


def report_failures(errors: tuple[str | None, ...]) -> None:
    """Warn of candidates that failed.

    Raises
    ------
    ValueError
        If all did.
    """
    failed = [error for error in errors if error is not None]
    if len(failed) == len(errors):
        raise ValueError(
            f"All {len(errors)} candidates failed on the training set; nothing was released and "
            f"no privacy was spent. The first failed with {failed[0]}"
        )
    if failed:
        warnings.warn(
            f"{len(failed)} of {len(errors)} candidates failed on the training set and cannot be "
            f"chosen; cv_results_['fit_error'] says why. The first failed with {failed[0]}",
            FitFailedWarning,
            stacklevel=4,
        )
