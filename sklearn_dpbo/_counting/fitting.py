"""Fits of candidates, what is said of those that fail, and public scores (zone: public).

The validation set is not within reach of this module.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Generator, Iterable, Sequence
from contextlib import closing
from copy import deepcopy
from dataclasses import dataclass, field
from functools import partial
from inspect import signature
from typing import Any, NamedTuple, TypeAlias

import numpy as np
from sklearn.base import clone
from sklearn.exceptions import FitFailedWarning

from .._data.fit_parameters import unmarked
from .._data.pickles import packed
from .._data.split import Training
from .._data.tables import copied, copy_rows
from .._privacy.accounting import uncounted
from .._privacy.warn import warn
from ..exceptions import BatchDependentError
from ..scoring._response import Responses
from .progress import Progress, in_parallel
from .suppress_output import without_autologging

__all__ = [
    "Fit", "FitOptions", "PublicEvaluator", "check_prediction", "explore", "fit", "fit_all",
    "fit_one", "report_failures", "set_candidate", "without_callbacks", "without_side_effects",
]  # fmt: skip

# Methods of an estimator: of each tuple, the first that it has is called.
Asked: TypeAlias = tuple[tuple[str, ...], ...]


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
    """Why a fit failed or None, how many seconds it took, and what was made of its result.

    Within the training set, also what it answered to rows that it was not fitted on.
    """

    error: str | None
    seconds: float
    result: Any
    answers: Responses | None = None

    @property
    def score(self) -> float:
        """The result, or its mean over records; NaN if the fit failed."""
        return np.nan if self.error else float(np.mean(self.result))


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


def report_failures(errors: tuple[str | None, ...]) -> None:
    """Warn of candidates that failed; ValueError if all did."""
    failed = [error for error in errors if error is not None]
    if not failed:
        return
    first = f"The first failed with {failed[0]}"
    if len(failed) == len(errors):
        raise ValueError(
            f"All {len(errors)} candidates failed on the training set; nothing was released and "
            f"no privacy was spent. {first}"
        )
    warn(
        f"{len(failed)} of {len(errors)} candidates failed on the training set and cannot be "
        f"chosen; cv_results_['fit_error'] says why. {first}",
        FitFailedWarning,
    )


# ---------------------------------------------------------------------- public scores
@dataclass(frozen=True, eq=False)
class PublicEvaluator:
    """The public oracle: candidates in, fits with scores out; the scorer is prepared.

    `asked` are the methods whose answers to the test rows are kept.
    """

    options: FitOptions
    training: Training
    test: Training
    scorer: Any
    progress: Progress = field(default_factory=Progress)
    asked: Asked = ()

    def __call__(
        self, candidate_params: tuple[dict[str, Any], ...], *, by_record: bool = False
    ) -> list[Fit]:
        """Fit candidates on one part of the training set, score them on the other, in parallel."""
        return explore([self], candidate_params, by_record=by_record)[0]

    def _use(self, by_record: bool) -> Callable[[Any], Any]:
        """Return what scores a fitted candidate; it has nothing but the test rows."""
        score = self.scorer.record_gains if by_record else self.scorer
        return partial(_score, score, self.test, self.asked)


def explore(
    oracles: Sequence[PublicEvaluator],
    candidate_params: tuple[dict[str, Any], ...],
    *,
    by_record: bool = False,
) -> list[list[Fit]]:
    """Score candidates on several cuts of the training set, all in parallel.

    The results are scores, or what each record adds to the mean if that is asked for.
    """
    options, progress = oracles[0].options, oracles[0].progress
    jobs = [
        (params, oracle.training, oracle._use(by_record))
        for oracle in oracles
        for params in candidate_params
    ]
    progress.expect(len(jobs))
    explored: list[Fit] = []
    with without_autologging(), closing(fit_all(options, jobs)) as fits:
        for (params, _, _), (error, seconds, result, _) in zip(jobs, fits, strict=True):
            progress.fitted(params, error, "explored within the training set")
            explored.append(Fit(error, seconds, *([None] if error else result)))
    n = len(candidate_params)
    return [explored[k * n : (k + 1) * n] for k in range(len(oracles))]


def _score(
    score: Callable[..., Any], test: Training, asked: Asked, estimator: Any
) -> tuple[Any, Responses | None]:
    """Return the score of a fitted candidate, and what it answers."""
    answers = Responses.of(estimator, test.X, test.y, asked) if asked else None
    return score(estimator, test.X, test.y), answers
