"""Fits on public records, timed, and what is said of those that fail (zone: public)."""

from __future__ import annotations

import contextlib
import gc
import sys
import time
import warnings
from collections.abc import Callable, Iterator
from copy import deepcopy
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.base import clone
from sklearn.exceptions import FitFailedWarning

from .._data.fit_parameters import unmarked
from .._data.pickles import copied
from .._data.split import Training
from .._data.tables import copy_rows
from .._privacy.interrupts import uninterrupted
from ..exceptions import BatchDependentError
from .advice import advice_on
from .shared_context import SharedContext

__all__ = [
    "FitOptions",
    "announce",
    "fit",
    "report_failures",
    "set_candidate",
    "timed",
    "timed_fit",
    "without_autologging",
    "without_callbacks",
    "without_side_effects",
]


@dataclass(frozen=True, eq=False)
class FitOptions:
    """How candidates are fitted, whatever they are scored on.

    Parameters
    ----------
    estimator : estimator
        What candidates are parameters of.
    error_score : "raise" or float, default=np.nan
        Whether a failed fit raises. Whatever its value, a failed candidate is never chosen.
    n_jobs, pre_dispatch
        As joblib takes them.
    verbose : int, default=0
        From 2 on, a line is printed per fit; what it says is public.
    memory : None, str, path or joblib.Memory, default=None
        Where fits that end before the validation set is first predicted are kept.
    prediction : {"auto", "together", "separate"}, default="together"
        Whether each protected unit is predicted by itself; see `predicts_separately`.
    fit_timeout : float or None, default=None
        Seconds after which a fit is ended with its process, as long as nothing protected has been
        predicted.
    """

    estimator: Any
    error_score: Any = np.nan
    n_jobs: int | None = None
    pre_dispatch: Any = "2*n_jobs"
    verbose: int = 0
    memory: Any = None
    prediction: str = "together"
    fit_timeout: float | None = None

    def candidate(self, params: dict[str, Any]) -> Any:
        """Return the estimator with these parameters, not fitted."""
        return set_candidate(clone(self.estimator), params)


def timed(estimator: Any, training: Training) -> tuple[Any, float]:
    """Return (fitted estimator, seconds)."""
    start = time.perf_counter()
    with _no_collection():
        return fit(estimator, training), time.perf_counter() - start


def timed_fit(
    estimator: Any,
    training: Training,
    error_score: Any,
    then: Callable[[Any], Any],
    fitter: Callable[[Any, Training], tuple[Any, float]] = timed,
) -> tuple[float, str | None, Any]:
    """Return (seconds of the fit, why it or `then` failed or None, what `then` returned).

    Parameters
    ----------
    estimator : estimator
        Not fitted yet.
    training : Training
        What it is fitted on.
    error_score : "raise" or float
        Whether failures raise.
    then : callable
        Called with the fitted estimator.
    fitter : callable, default=timed
        What fits: `timed`, or a method of a `FitCache`.
    """
    start, fit_time = time.perf_counter(), None
    try:
        fitted, fit_time = fitter(estimator, training)
        return fit_time, None, then(fitted)
    except BatchDependentError:
        raise
    except Exception as error:
        if error_score == "raise":
            if advice := advice_on(str(error)):
                error.add_note(advice)
            raise
        seconds = time.perf_counter() - start if fit_time is None else fit_time
        return seconds, f"{type(error).__name__}: {error}", None


@uninterrupted
def _no_collection() -> Iterator[None]:
    """Keep Python's garbage collector from walking through validation data in a timed fit."""
    enabled = gc.isenabled()
    try:
        gc.disable()
        yield
    finally:
        if enabled:
            gc.enable()


def announce(
    verbose: int,
    position: str,
    params: dict[str, Any],
    error: str | None,
    fit_time: float | None = None,
) -> None:
    """Print a line about a fit, if that is wanted; with its time only if that is public."""
    if verbose > 1:
        took = "" if fit_time is None else f" in {fit_time:.2f} s"
        state = "failed" if error else f"fitted{took}"
        # In one piece, so that lines of several workers do not mix.
        print(f"[{position}] {params}: {state}\n", end="", flush=True)


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
        if type(part).__module__.startswith("catboost"):  # which writes how each fit went
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


def fit(estimator: Any, training: Training) -> Any:
    """Fit the estimator on copies of the rows, with fit parameters that are no longer marked."""
    X, y, fit_params = training.X, training.y, unmarked(training.fit_params)
    X = copied(X, training.copies)
    fitted = estimator.fit(X, *(() if y is None else (copy_rows(y),)), **fit_params)
    return estimator if fitted is None else fitted


def report_failures(errors: tuple[str | None, ...]) -> None:
    """Warn of candidates that failed.

    Raises
    ------
    ValueError
        If all did.
    """
    failed = [error for error in errors if error is not None]
    advice = next((f". {advice}" for error in failed if (advice := advice_on(error))), "")
    if len(failed) == len(errors):
        raise ValueError(
            f"All {len(errors)} candidates failed on the training set; nothing was released and "
            f"no privacy was spent. The first failed with {failed[0].rstrip('.')}{advice}"
        )
    if failed:
        warnings.warn(
            f"{len(failed)} of {len(errors)} candidates failed on the training set and cannot be "
            f"chosen; cv_results_['fit_error'] says why. The first failed with "
            f"{failed[0].rstrip('.')}{advice}",
            FitFailedWarning,
            stacklevel=4,
        )


def _suspend_autologging(stack: contextlib.ExitStack) -> None:
    mlflow = sys.modules.get("mlflow.utils.autologging_utils")
    # MLflow's own suspension ends with the first that leaves: do not touch that of a user.
    if mlflow is not None and not getattr(mlflow, "_AUTOLOGGING_GLOBALLY_DISABLED", False):
        stack.enter_context(mlflow.disable_autologging())


# Suspends what MLflow's autologging does with fits and predictions, if it is loaded.
without_autologging = SharedContext(_suspend_autologging)
