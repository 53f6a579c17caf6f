"""Fit each candidate on the training set, count on the validation set (zone: sensitive).

One fit and one prediction per candidate. What a worker reports of the training side (time,
failure) is public; the statistics of the validation side become a `Sensitive` as soon as they
arrive, and nothing else of the validation side leaves this module: no message, no time, no
exception.
"""

from __future__ import annotations

import time
import warnings
from dataclasses import dataclass

import numpy as np
from joblib import Parallel, delayed
from sklearn.base import clone
from sklearn.exceptions import FitFailedWarning
from sklearn.utils import _safe_indexing

from .gains import dense
from .handover import Handover
from .holdout import Problem
from .privacy import Sensitive
from .quiet import quiet
from .scoring import PrivateScorer, respond
from .units import n_rows

__all__ = ["Evaluation", "Evaluator", "fit_candidate"]

# Training records that predictions are repeated on, and how many of them one by one.
_N_PROBES, _N_APART = 16, 3
# Relative difference by which floating-point sums may vary with the size of the batch.
_TOLERANCE = 1e-4


class BatchDependentError(ValueError):
    """Predictions for a record depend on the records beside it."""


@dataclass(frozen=True)
class Evaluation:
    """What evaluating some candidates gave.

    Parameters
    ----------
    statistics : Sensitive of shape (n_candidates, n_statistics)
    fit_times : ndarray of shape (n_candidates,), in seconds
        On the training set: public.
    fit_errors : tuple of str or None, length n_candidates
        Why a fit failed; public, as it depends on the training set alone.
    """

    statistics: Sensitive
    fit_times: np.ndarray
    fit_errors: tuple[str | None, ...]

    @property
    def fitted(self) -> np.ndarray:
        """Positions of the candidates whose fit succeeded."""
        return np.array([i for i, e in enumerate(self.fit_errors) if e is None], dtype=int)


@dataclass(frozen=True)
class Evaluator:
    """The sensitive oracle: settings in, `Evaluation` out.

    Parameters
    ----------
    estimator : estimator
    problem : Problem
    scorer : PrivateScorer
        Prepared for the problem.
    error_score : "raise" or float
        What a failed fit does. Whatever its value, a failed candidate is never chosen.
    n_jobs, pre_dispatch
        As joblib takes them.
    verbose : int
        From 2, a line per fit (training side only).
    """

    estimator: object
    problem: Problem
    scorer: PrivateScorer
    error_score: object
    n_jobs: int | None = None
    pre_dispatch: object = "2*n_jobs"
    verbose: int = 0

    def __call__(self, settings: tuple[dict, ...]) -> Evaluation:
        """Evaluate settings, in parallel.

        Raises
        ------
        BatchDependentError
            If the predictions of any fitted candidate are not made row by row.
        ValueError
            If all fits fail.
        """
        probes = _Probes.of(self.problem)
        task = _Task(self.estimator, self.problem, self.scorer, probes, self.error_score)
        if self.verbose > 0:
            units = self.problem.units
            print(f"Evaluating {len(settings)} candidates on {units.m} protected {units.name}s")
        try:
            outcomes = self._map(Handover(task), settings)
        except BaseException as error:
            # Frames below hold the other candidates' statistics, and debuggers keep frames.
            raise error.with_traceback(_frames_of_fit(error.__traceback__)) from error.__cause__
        times, errors, statistics = zip(*outcomes, strict=True)
        del outcomes
        _report_failures(errors)
        sensitivity = self.scorer.sensitivity(self.problem.units)
        blank = (0,) * len(sensitivity)
        return Evaluation(
            Sensitive([s or blank for s in statistics], sensitivity), np.array(times), errors
        )

    def _map(self, task: Handover, settings) -> list:
        parallel = Parallel(n_jobs=self.n_jobs, pre_dispatch=self.pre_dispatch)
        n = len(settings)
        return parallel(
            delayed(_evaluate)(task, setting, f"{i + 1}/{n}", self.verbose)
            for i, setting in enumerate(settings)
        )


@dataclass(frozen=True)
class _Task:
    """What every evaluation needs, handed to each worker once."""

    estimator: object
    problem: Problem
    scorer: PrivateScorer
    probes: _Probes
    error_score: object


def _evaluate(task: Handover, setting: dict, position: str, verbose: int):
    """Return (fit time, error or None, statistics or None) of one candidate."""
    task: _Task = task.value
    problem, scorer = task.problem, task.scorer
    start = time.perf_counter()
    error = None
    estimator = set_candidate(clone(task.estimator), setting)
    try:
        _fit(estimator, problem.X_train, problem.y_train, problem.fit_params)
        fit_time = time.perf_counter() - start
        task.probes.check(estimator, scorer)
    except BatchDependentError:
        raise
    except Exception as exception:
        if task.error_score == "raise":
            raise
        fit_time = time.perf_counter() - start
        error = f"{type(exception).__name__}: {exception}"
    if verbose > 1:
        state = "failed" if error else f"fitted in {fit_time:.2f} s"
        print(f"[{position}] {setting}: {state}", flush=True)
    if error:
        return fit_time, error, None
    with quiet():
        rows = _rows(estimator, scorer, problem)
        return fit_time, None, scorer.statistics(rows, problem.y_val, problem.units)


def set_candidate(estimator, setting: dict):
    """Return the estimator with this setting (and copies of any estimators in it)."""
    return estimator.set_params(**{k: clone(v, safe=False) for k, v in setting.items()})


def fit_candidate(estimator, setting: dict, problem: Problem):
    """Fit a clone of the estimator, with this setting, on the training set alone."""
    estimator = set_candidate(clone(estimator), setting)
    return _fit(estimator, problem.X_train, problem.y_train, problem.fit_params)


def _fit(estimator, X, y, fit_params):
    return estimator.fit(X, **fit_params) if y is None else estimator.fit(X, y, **fit_params)


def _rows(estimator, scorer: PrivateScorer, problem: Problem) -> np.ndarray:
    """Return the scorer's number for each validation record; the lowest where none can be had.

    All units together first. If that raises, halves, down to single units: since predictions are
    made row by row, a unit gets what it would get alone, and one that fails fails alone.
    """
    X, y, units = problem.X_val, problem.y_val, problem.units
    classes = getattr(estimator, "classes_", None)
    try:
        return scorer.rows(y, respond(estimator, X, scorer.response_method), classes)
    except Exception:
        rows = scorer.lowest(y, n_rows(X))
    halves = _halves(0, units.m)
    while halves:
        first, last = halves.pop()
        index = units.rows(first, last)
        try:
            response = respond(estimator, _safe_indexing(X, index), scorer.response_method)
            rows[index] = scorer.rows(None if y is None else y[index], response, classes)
        except Exception:
            halves += _halves(first, last)
    return rows


def _halves(first: int, last: int) -> list[tuple[int, int]]:
    middle = (first + last) // 2
    return [(first, middle), (middle, last)] if last - first > 1 else []


@dataclass(frozen=True)
class _Probes:
    """Training rows (public) to repeat predictions on: all in one call, and each in its own."""

    together: object
    apart: list
    labels: np.ndarray | None

    @classmethod
    def of(cls, problem: Problem) -> _Probes:
        """Take rows spread evenly over the labels."""
        X, y = problem.X_train, problem.y_train
        n = n_rows(X)
        order = np.arange(n) if y is None or np.ndim(y) > 1 else _argsort(y)
        chosen = order[np.unique(np.linspace(0, n - 1, _N_PROBES).astype(int))]
        return cls(
            _safe_indexing(X, chosen),
            [_safe_indexing(X, chosen[[j]]) for j in range(len(chosen))],
            None if y is None else dense(_safe_indexing(y, chosen)),
        )

    def check(self, estimator, scorer: PrivateScorer) -> None:
        """Raise `BatchDependentError` unless responses and gains are made row by row."""
        together = respond(estimator, self.together, scorer.response_method)
        some = _spread(together)
        alone = np.concatenate(
            [respond(estimator, self.apart[i], scorer.response_method) for i in some]
        )
        if not _agree(alone, together[some], _scale_of(together, estimator, scorer)):
            raise BatchDependentError(
                f"{type(estimator).__name__} predicts a training record differently alone and "
                "beside others. One validation record could then change the predictions of all, "
                "and no noise of size 1/m would hide it. Use an estimator that predicts row by row "
                "and deterministically (no statistics of the batch, no randomness)"
            )
        y, classes = self.labels, getattr(estimator, "classes_", None)
        gains = scorer.rows(y, together, classes)
        if not scorer.custom:
            return
        own = [scorer.rows(None if y is None else y[[i]], together[[i]], classes)[0] for i in some]
        if not np.allclose(own, gains[some], rtol=_TOLERANCE, atol=0):
            raise BatchDependentError(
                f"the gain of {scorer!r} values a record differently alone and beside others: "
                "compute each record's gain from that record alone"
            )


def _argsort(y) -> np.ndarray:
    try:
        return np.argsort(np.asarray(y), kind="stable")
    except TypeError:  # labels that have no order
        return np.arange(len(y))


def _spread(response: np.ndarray) -> np.ndarray:
    """Positions of a few responses that differ as much as can be."""
    first = response.reshape(len(response), -1)[:, 0]
    order = np.argsort(np.unique(first, return_inverse=True)[1], kind="stable")
    return order[np.unique(np.linspace(0, len(order) - 1, _N_APART).astype(int))]


def _scale_of(response: np.ndarray, estimator, scorer: PrivateScorer) -> float:
    """Size of floating-point responses; 0 for labels, which must agree exactly."""
    is_label = hasattr(estimator, "classes_") and "predict" in scorer.response_method
    if is_label or response.dtype.kind != "f":
        return 0.0
    return float(np.abs(response[np.isfinite(response)]).max(initial=0.0))


def _agree(a: np.ndarray, b: np.ndarray, scale: float) -> bool:
    if scale == 0:
        return bool(np.array_equal(a, b))
    return bool(np.allclose(a, b, rtol=0, atol=_TOLERANCE * scale, equal_nan=True))


def _frames_of_fit(traceback):
    """Return the part of a traceback from the estimator's fit on: it saw public data only."""
    while traceback is not None and traceback.tb_frame.f_code is not _fit.__code__:
        traceback = traceback.tb_next
    return traceback


def _report_failures(errors: tuple[str | None, ...]) -> None:
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
            stacklevel=5,
        )
