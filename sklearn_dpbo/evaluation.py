"""Fit each candidate on the training set, count on the validation set (zone: sensitive).

One fit and one prediction per candidate. Whether a fit failed is public; the statistics become a
`Sensitive` as soon as they arrive, and nothing else leaves this module: no message, no exception,
and no time, not even of fits. Validation records that take long to predict slow down the fits
beside and after them (caches, memory), by enough to tell.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np
from sklearn.base import clone

from .exploration import PublicEvaluator
from .fit_cache import FitCache
from .fitting import announce, fit, set_candidate, timed, timed_fit, without_traces
from .handover import Handover, in_threads
from .holdout import Problem, split_training
from .privacy import Sensitive
from .quiet import quiet, unheard
from .rowwise import RowByRowCheck, protected_rows
from .scorers import PrivateScorer

__all__ = ["Evaluation", "Evaluator"]


@dataclass(frozen=True)
class Evaluation:
    """What evaluating some candidates gave.

    Parameters
    ----------
    statistics : Sensitive of shape (n_candidates, n_statistics)
    fit_errors : tuple of str or None, length n_candidates
        Why a fit failed; public, as it depends on the training set alone.
    """

    statistics: Sensitive
    fit_errors: tuple[str | None, ...]

    @property
    def fitted(self) -> np.ndarray:
        """Positions of the candidates whose fit succeeded."""
        return np.array([i for i, e in enumerate(self.fit_errors) if e is None], dtype=int)


@dataclass
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
    accept : callable or None
        Of a fitted estimator and the problem; raises if the fit is to count as failed. It must
        look at the training side only.
    memory : None, str, path or joblib.Memory
        Where fits that end before the validation set is first predicted are kept.
    """

    estimator: object
    problem: Problem
    scorer: PrivateScorer
    error_score: object
    n_jobs: int | None = None
    pre_dispatch: object = "2*n_jobs"
    verbose: int = 0
    accept: Callable | None = None
    memory: object = None
    _began: bool = field(default=False, init=False, repr=False)

    def __call__(self, settings: tuple[dict, ...]) -> Evaluation:
        """Evaluate settings, in parallel.

        Raises
        ------
        BatchDependentError
            If the predictions of any fitted candidate are not made row by row.
        """
        if self.verbose > 0:
            units = self.problem.units
            print(f"Evaluating {len(settings)} candidates on {units.m} protected {units.name}s")
        try:
            return self._map(settings, self._fit_all(settings))
        except BaseException as error:
            cause, error.__context__ = error.__cause__, None
            raise error.with_traceback(_forget(error.__traceback__)) from cause

    def secretly(self, setting: dict) -> tuple[int, ...] | None:
        """Return the raw statistics of a setting that itself depends on protected records.

        To be called from within a `Secret`. In this process, in silence, leaving no traces, and
        without a word about failure: all of that would tell the setting. None if it failed.
        """
        with unheard():
            try:
                return _evaluate(self._task, setting, "", 0, None, secret=True)[1]
            except KeyboardInterrupt:
                raise KeyboardInterrupt from None
            except BaseException:
                # Also SystemExit, and the panics of native extensions, which are no Exceptions.
                return None

    def public(self, cv, rng: np.random.Generator) -> PublicEvaluator:
        """Return an oracle that scores on a part of the training set, and costs no privacy."""
        split = split_training(self.problem, self.estimator, cv, rng)
        return PublicEvaluator(
            self.estimator,
            split,
            self.scorer,
            self.error_score,
            self.n_jobs,
            self.pre_dispatch,
            self.verbose,
            self.memory,
        )

    @cached_property
    def cache(self) -> FitCache:
        """What was fitted on the whole training set."""
        return FitCache.of(self.memory, self.problem)

    @cached_property
    def _task(self) -> Handover:
        check = RowByRowCheck.on(self.problem.X_train, self.problem.y_train)
        task = _Task(
            self.estimator,
            self.problem,
            self.scorer,
            check,
            self.error_score,
            self.accept,
            self.cache,
        )
        return Handover(task)

    def _fit_all(self, settings) -> list:
        """Fit and keep all settings before the first of them is predicted on the validation set.

        Return why each failed, or None. Nothing is fitted here if nothing is kept, or later on.
        """
        if self._began or not self.cache.keeps:
            return [None] * len(settings)
        self._began = True
        calls = ((setting,) for setting in settings)
        return self._task.run(_fit_and_keep, calls, self.n_jobs, self.pre_dispatch)

    def _map(self, settings, failed) -> Evaluation:
        n = len(settings)
        calls = (
            (setting, f"{i + 1}/{n}", self.verbose, error)
            for i, (setting, error) in enumerate(zip(settings, failed, strict=True))
        )
        # Fits run beside predictions in threads, which share one silence.
        with quiet() if in_threads(self.n_jobs) else contextlib.nullcontext():
            outcomes = self._task.run(_evaluate, calls, self.n_jobs, self.pre_dispatch)
        errors, statistics = zip(*outcomes, strict=True)
        sensitivity = self.scorer.sensitivity(self.problem.units)
        blank = (0,) * len(sensitivity)
        return Evaluation(Sensitive([s or blank for s in statistics], sensitivity), errors)


@dataclass(frozen=True)
class _Task:
    """What every evaluation needs, handed to each worker once."""

    estimator: object
    problem: Problem
    scorer: PrivateScorer
    check: RowByRowCheck
    error_score: object
    accept: Callable | None
    cache: FitCache

    def fit(self, setting: dict, secret: bool):
        """Return (why it failed or None, (fitted estimator, its responses to the probes)).

        What is secret leaves no traces.
        """
        estimator, fitter = set_candidate(clone(self.estimator), setting), self.cache.find
        if secret:
            estimator, fitter = without_traces(estimator), timed
        return timed_fit(estimator, self.problem, self.error_score, self._probe, fitter)[1:]

    def _probe(self, estimator):
        if self.accept is not None:
            self.accept(estimator, self.problem)
        return estimator, self.check.predictions(estimator, self.scorer)


def _fit_and_keep(task: Handover, setting: dict):
    """Return why the fit failed, or None."""
    task: _Task = task.value
    estimator = set_candidate(clone(task.estimator), setting)
    return timed_fit(estimator, task.problem, task.error_score, id, task.cache.fit)[1]


def _evaluate(task: Handover, setting: dict, position: str, verbose: int, failed, secret=False):
    """Return (error or None, statistics or None) of one candidate.

    One that has failed already is not fitted again.
    """
    task: _Task = task.value
    problem, scorer = task.problem, task.scorer
    error, found = (failed, None) if failed else task.fit(setting, secret)
    announce(verbose, position, setting, error)
    if error:
        return error, None
    estimator, response = found
    task.check.check_gain(scorer, response, getattr(estimator, "classes_", None))
    with quiet():
        rows = protected_rows(estimator, scorer, problem.X_val, problem.y_val, problem.units)
        return None, scorer.statistics(rows, problem.y_val, problem.units)


def _forget(traceback):
    """Clear what frames above the estimator's fit remember; return the traceback from there on.

    They hold the statistics of other candidates, and debuggers keep and show frames.
    """
    while traceback is not None and traceback.tb_frame.f_code is not fit.__code__:
        with contextlib.suppress(RuntimeError):  # of a frame that is still running: the caller
            traceback.tb_frame.clear()
        traceback = traceback.tb_next
    return traceback
