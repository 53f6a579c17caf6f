"""Fits on public records, timed, and what is said of those that fail (zone: public)."""

from __future__ import annotations

import contextlib
import gc
import time
import warnings

from sklearn.base import clone
from sklearn.exceptions import FitFailedWarning

from .exceptions import BatchDependentError
from .quiet import audible
from .rowwise import copy_rows

__all__ = [
    "announce",
    "fit",
    "fit_candidate",
    "report_failures",
    "set_candidate",
    "timed_fit",
    "without_traces",
]


def timed_fit(estimator, data, error_score, then):
    """Return (seconds of the fit, why it or `then` failed or None, what `then` returned)."""
    start, fit_time = time.perf_counter(), None
    try:
        with _no_collection():
            fit(estimator, data.X_train, data.y_train, data.fit_params)
            fit_time = time.perf_counter() - start
        return fit_time, None, then()
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


def announce(verbose: int, position: str, setting: dict, error, fit_time=None) -> None:
    """Print a line about a fit, if that is wanted; with its time only if that is public."""
    if verbose > 1:
        took = "" if fit_time is None else f" in {fit_time:.2f} s"
        state = "failed" if error else f"fitted{took}"
        print(f"[{position}] {setting}: {state}", file=audible(), flush=True)


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
    for part in (estimator, *estimator.get_params(deep=True).values()):
        if hasattr(part, "get_params") and not isinstance(part, type):
            vars(part).pop("_skl_callbacks", None)
    return estimator


def fit_candidate(estimator, setting: dict, data):
    """Fit a clone of the estimator, with this setting, on the training set alone."""
    estimator = set_candidate(clone(estimator), setting)
    return fit(estimator, data.X_train, data.y_train, data.fit_params)


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
