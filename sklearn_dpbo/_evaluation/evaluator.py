"""Fit each candidate on the training set, count on the validation set (zone: sensitive).

One fit and one prediction per candidate. Whether a fit failed is public; the statistics become a
`Sensitive` as soon as they arrive, and nothing else leaves this module: no message, no exception,
and no time, not even of fits. Validation records that take long to predict slow down the fits
beside and after them (caches, memory), by enough to call_hook.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cached_property, reduce

import numpy as np
from sklearn.base import clone

from .._data.split import Problem, split_training
from .._privacy.sensitive import Sensitive
from ..scoring._scorers import PrivateScorer
from .broadcast import Broadcast, in_threads
from .fit_cache import FitCache
from .fitting import announce, fit, set_candidate, timed, timed_fit, unwatched, without_traces
from .progress import Progress, as_they_finish, call_hook
from .public import PublicEvaluator
from .row_by_row import RowByRowCheck, protected_values
from .suppress_output import suppress_all_output, suppress_output, visible_stdout

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
    others : tuple of PrivateScorer
        More scores: their statistics come after those of `scorer`.
    progress : Progress
        What is listener of candidates that finish.
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
    others: tuple[PrivateScorer, ...] = ()
    progress: Progress = field(default_factory=Progress)
    _began: bool = field(default=False, init=False, repr=False)

    def __call__(self, settings: tuple[dict, ...]) -> Evaluation:
        """Evaluate settings, in parallel.

        Raises
        ------
        BatchDependentError
            If the predictions of any fitted candidate are not made row by row.
        """
        what = f"Evaluating {{}} on {self.problem.units.m} protected {self.problem.units.name}s"
        try:
            listener = self.progress.candidates(settings, "candidate-evaluation", what)
            return self._map(settings, self._fit_all(settings, listener), listener)
        except BaseException as error:
            cause, error.__context__ = error.__cause__, None
            raise error.with_traceback(_forget(error.__traceback__)) from cause

    def secretly(self, setting: dict) -> tuple[int, ...] | None:
        """Return the raw statistics of a setting that itself depends on protected records.

        To be called from within a `Secret`. In this process, in silence, leaving no traces, and
        without a word about failure: all of that would tell the setting. None if it failed.
        """
        with suppress_all_output():
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
            self.progress,
        )

    @property
    def scorers(self) -> tuple[PrivateScorer, ...]:
        """All scores, the one that selects first."""
        return (self.scorer, *self.others)

    @cached_property
    def cache(self) -> FitCache:
        """What was fitted on the whole training set."""
        return FitCache.of(self.memory, self.problem)

    @cached_property
    def _task(self) -> Broadcast:
        check = RowByRowCheck.on(self.problem.X_train, self.problem.y_train)
        task = _Task(
            self.estimator,
            self.problem,
            self.scorers,
            check,
            self.error_score,
            self.accept,
            self.cache,
        )
        return Broadcast(task)

    def _fit_all(self, settings, listener) -> list:
        """Fit and keep all settings before the first of them is predicted on the validation set.

        Return why each failed, or None. Nothing is fitted here if nothing is kept, or later on.
        """
        failed = [None] * len(settings)
        if self._began or not self.cache.keeps:
            return failed
        self._began = True
        with self._results(_fit_and_keep, [(self._task, setting) for setting in settings]) as found:
            for i, failed[i] in found:
                listener.finished(i, failed[i])
        return failed

    @contextlib.contextmanager
    def _results(self, function, tasks):
        finished = as_they_finish(function, tasks, self.n_jobs, self.pre_dispatch)
        with self._task.sent(), contextlib.closing(finished):
            yield finished

    def _map(self, settings, failed, listener) -> Evaluation:
        n = len(settings)
        errors: list[str | None] = [None] * n
        statistics: dict[int, Sensitive] = {}
        tasks = [
            (self._task, setting, f"{i + 1}/{n}", self.verbose, error)
            for i, (setting, error) in enumerate(zip(settings, failed, strict=True))
        ]
        # Fits run beside predictions in threads, which share one silence.
        silence = suppress_output() if in_threads(self.n_jobs) else contextlib.nullcontext()
        with silence, self._results(_evaluate, tasks) as found:
            for i, errors[i], statistics[i] in map(self._sealed, found):
                listener.finished(i, errors[i])
        in_order = (statistics[i] for i in range(n))
        return Evaluation(reduce(Sensitive.followed_by, in_order), tuple(errors))

    def _sealed(self, found):
        """Shut statistics as they arrive: who is listener of a candidate may look at the frames."""
        i, (error, statistics) = found
        units = self.problem.units
        sensitivity = tuple(D for scorer in self.scorers for D in scorer.sensitivity(units))
        return i, error, Sensitive([statistics or (0,) * len(sensitivity)], sensitivity)


@dataclass(frozen=True)
class _Task:
    """What every evaluation needs, handed to each worker once."""

    estimator: object
    problem: Problem
    scorers: tuple[PrivateScorer, ...]
    check: RowByRowCheck
    error_score: object
    accept: Callable | None
    cache: FitCache

    def fit(self, setting: dict, secret: bool):
        """Return (why it failed or None, (fitted estimator, its responses for each score)).

        What is secret leaves no traces.
        """
        estimator, fitter = set_candidate(clone(self.estimator), setting), self.cache.find
        if secret:
            estimator, fitter = without_traces(estimator), timed
        return timed_fit(estimator, self.problem, self.error_score, self._probe, fitter)[1:]

    def _probe(self, estimator):
        if self.accept is not None:
            self.accept(estimator, self.problem)
        responses = [self.check.predictions(estimator, scorer) for scorer in self.scorers]
        return unwatched(estimator), responses


def _fit_and_keep(handed: Broadcast, setting: dict):
    """Return why the fit failed, or None."""
    task: _Task = handed.value
    estimator = set_candidate(clone(task.estimator), setting)
    return timed_fit(estimator, task.problem, task.error_score, id, task.cache.fit)[1]


def _evaluate(handed: Broadcast, setting: dict, position: str, verbose: int, failed, secret=False):
    """Return (error or None, statistics or None) of one candidate.

    One that has failed already is not fitted again.
    """
    task: _Task = handed.value
    if not failed:
        failed, found = task.fit(setting, secret)
    announce(verbose, position, setting, failed, stream=visible_stdout())
    if failed:
        return failed, None
    estimator, responses = found
    classes = getattr(estimator, "classes_", None)
    for scorer, response in zip(task.scorers, responses, strict=True):
        task.check.check_gain(scorer, response, classes)
    with suppress_output():
        return None, _statistics(estimator, task.problem, task.scorers)


def _statistics(estimator, problem: Problem, scorers: tuple[PrivateScorer, ...]) -> tuple[int, ...]:
    """Return the statistics of all scores, one after another."""
    found: tuple[int, ...] = ()
    for scorer in scorers:
        rows = protected_values(estimator, scorer, problem.X_val, problem.y_val, problem.units)
        found += tuple(scorer.statistics(rows, problem.y_val, problem.units))
    return found


def _forget(traceback):
    """Clear what frames above the estimator's fit, or a callback, remember; return the rest.

    They hold the statistics of other candidates, and debuggers keep and show frames.
    """
    public = (fit.__code__, call_hook.__code__)
    while traceback is not None and traceback.tb_frame.f_code not in public:
        with contextlib.suppress(RuntimeError):  # of a frame that is still running: the caller
            traceback.tb_frame.clear()
        traceback = traceback.tb_next
    return traceback
