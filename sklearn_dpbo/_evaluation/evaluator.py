"""Fit each candidate on the training set, count on the validation set (zone: sensitive).

One fit and one prediction per candidate. Whether a fit failed is public; the statistics become a
`Sensitive` at once. Nothing else leaves this module: no message, no exception, and no time, not
even of fits. Validation records that take long to predict slow down the fits beside and after them
(caches, memory), by enough to measure.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import cached_property, reduce
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .._data.split import Problem, Training, split_training
from .._privacy.frames import ClearFrames
from .._privacy.sensitive import Sensitive
from ..scoring._scorers import PrivateScorer
from .broadcast import Broadcast, in_threads
from .fit_cache import FitCache
from .fitting import (
    FitOptions,
    announce,
    fit,
    timed,
    timed_fit,
    without_callbacks,
    without_side_effects,
)
from .progress import Listener, Progress, as_they_finish, call_hook
from .public import PublicEvaluator
from .row_by_row import RowByRowCheck, protected_values
from .suppress_output import suppress_all_output, suppress_output, visible_stdout

__all__ = ["Evaluation", "Evaluator", "Fitter"]


@dataclass(frozen=True)
class Evaluation:
    """What evaluating some candidates gave.

    Parameters
    ----------
    statistics : Sensitive of shape (n_candidates, n_statistics)
        Those of all scores; zeros where the fit failed.
    fit_errors : tuple of str or None, length n_candidates
        Why a fit failed; public, as it depends on the training set alone.
    """

    statistics: Sensitive
    fit_errors: tuple[str | None, ...]

    @property
    def fitted(self) -> NDArray[np.intp]:
        """Positions of the candidates whose fit succeeded."""
        return np.flatnonzero([error is None for error in self.fit_errors])


@dataclass
class Evaluator:
    """The sensitive oracle: candidates in, `Evaluation` out.

    Parameters
    ----------
    options : FitOptions
        How candidates are fitted.
    problem : Problem
        What is trained on, and what is protected.
    scorers : tuple of PrivateScorer
        Prepared for the problem; the first one selects.
    accept : callable or None, default=None
        Called with a fitted estimator and the training set; raises if the fit is to count as
        failed.
    progress : Progress
        Hears of candidates that finish.
    """

    options: FitOptions
    problem: Problem
    scorers: tuple[PrivateScorer, ...]
    accept: Callable[[Any, Training], None] | None = None
    progress: Progress = field(default_factory=Progress)
    _cached_fits_done: bool = field(default=False, init=False, repr=False)

    def __call__(self, candidate_params: tuple[dict[str, Any], ...]) -> Evaluation:
        """Evaluate candidates, in parallel.

        Raises
        ------
        BatchDependentError
            If the predictions of any fitted candidate are not made row by row.
        """
        what = f"Evaluating {{}} on {self.problem.units.m} protected {self.problem.units.name}s"
        with ClearFrames(fit.__code__, call_hook.__code__):
            listener = self.progress.candidates(candidate_params, "candidate-evaluation", what)
            errors = self._fit_all(candidate_params, listener)
            tasks = [
                (i, self._task, params, f"{i + 1}/{len(errors)}", errors[i])
                for i, params in enumerate(candidate_params)
            ]
            statistics: dict[int, Sensitive] = {}
            # In threads, fits run beside predictions: suppress the output of both.
            threads = in_threads(self.options.n_jobs)
            with (
                suppress_output() if threads else contextlib.nullcontext(),
                self._results(_evaluate, tasks) as found,
            ):
                for i, errors[i], statistics[i] in map(self._sealed, found):
                    listener.finished(i, errors[i])
            in_order = (statistics[i] for i in range(len(errors)))
            return Evaluation(reduce(Sensitive.followed_by, in_order), tuple(errors))

    def secretly(self, params: dict[str, Any]) -> tuple[int, ...] | None:
        """Return the raw statistics of a candidate that itself depends on protected records.

        To be called from within a `Secret`. It runs in this process, without output, and keeps no
        state; a failure is not reported, but gives None: all of that could tell the candidate.
        """
        with suppress_all_output():
            try:
                return _evaluate(0, self._task, params, None, None, secret=True)[2]
            except KeyboardInterrupt:
                raise KeyboardInterrupt from None
            except BaseException:
                # Also SystemExit, and the panics of native extensions, which are no Exceptions.
                return None

    def public(self, cv: Any, rng: np.random.Generator) -> PublicEvaluator:
        """Return an oracle that scores on a part of the training set, and costs no privacy."""
        split = split_training(self.problem.training, self.options.estimator, cv, rng)
        return PublicEvaluator(self.options, split, self.scorer, self.progress)

    @property
    def scorer(self) -> PrivateScorer:
        """The score that selects."""
        return self.scorers[0]

    @cached_property
    def fitter(self) -> Fitter:
        """Fits candidates; it has no access to the validation set."""
        training = self.problem.training
        check = RowByRowCheck.on(training.X, training.y)
        cache = FitCache.of(self.options.memory, training)
        return Fitter(self.options, training, self.scorers, check, self.accept, cache)

    @cached_property
    def _task(self) -> Broadcast:
        return Broadcast((self.fitter, self.problem))

    def _fit_all(
        self, candidate_params: tuple[dict[str, Any], ...], listener: Listener
    ) -> list[str | None]:
        """Fit and keep all candidates before the first of them predicts the validation set.

        Return why each failed, or None. Does nothing without a cache, and after the first call.
        """
        errors: list[str | None] = [None] * len(candidate_params)
        if self._cached_fits_done or not self.fitter.cache.keeps:
            return errors
        self._cached_fits_done = True
        tasks = [(i, self._task, params) for i, params in enumerate(candidate_params)]
        with self._results(_fit_and_keep, tasks) as found:
            for i, errors[i] in found:
                listener.finished(i, errors[i])
        return errors

    @contextlib.contextmanager
    def _results(
        self, function: Callable[..., Any], tasks: list[tuple[Any, ...]]
    ) -> Iterator[Iterator[Any]]:
        options = self.options
        finished = as_they_finish(function, tasks, options.n_jobs, options.pre_dispatch)
        with self._task.sent(), contextlib.closing(finished):
            yield finished

    def _sealed(
        self, found: tuple[int, str | None, tuple[int, ...] | None]
    ) -> tuple[int, str | None, Sensitive]:
        """Wrap statistics immediately: callbacks can inspect stack frames."""
        i, error, statistics = found
        units = self.problem.units
        sensitivity = tuple(D for scorer in self.scorers for D in scorer.sensitivity(units))
        return i, error, Sensitive([statistics or (0,) * len(sensitivity)], sensitivity)


@dataclass(frozen=True)
class Fitter:
    """Fits candidates on the training set, and checks how they predict its rows.

    Parameters
    ----------
    options : FitOptions
        How candidates are fitted.
    training : Training
        What they are fitted on.
    scorers : tuple of PrivateScorer
        Prepared; what they need of a prediction is checked.
    check : RowByRowCheck
        Training rows on which predictions are repeated.
    accept : callable or None
        As in `Evaluator`.
    cache : FitCache
        Fits that are kept.
    """

    options: FitOptions
    training: Training
    scorers: tuple[PrivateScorer, ...]
    check: RowByRowCheck
    accept: Callable[[Any, Training], None] | None
    cache: FitCache

    def evaluable(self, params: dict[str, Any], secret: bool = False) -> tuple[str | None, Any]:
        """Return (why the candidate failed or None, the fitted estimator).

        With `secret`, nothing is cached, printed or reported to callbacks.
        """
        estimator, fit_with = self.options.candidate(params), self.cache.find
        if secret:
            estimator, fit_with = without_side_effects(estimator), timed
        error_score = self.options.error_score
        error, found = timed_fit(
            estimator, self.training, error_score, self._check_predictions, fit_with
        )[1:]
        if error is not None:
            return error, None
        estimator, responses = found
        classes = getattr(estimator, "classes_", None)
        for scorer, response in zip(self.scorers, responses, strict=True):
            self.check.check_gain(scorer, response, classes)
        return None, estimator

    def keep(self, params: dict[str, Any]) -> str | None:
        """Fit a candidate and keep it; return why that failed, or None."""
        estimator, error_score = self.options.candidate(params), self.options.error_score
        return timed_fit(estimator, self.training, error_score, id, self.cache.fit)[1]

    def refit(self, params: dict[str, Any]) -> Any:
        """Return the fitted candidate, from the cache if it is there."""
        return self.cache.find(self.options.candidate(params), self.training)[0]

    def _check_predictions(self, estimator: Any) -> tuple[Any, list[NDArray[Any]]]:
        if self.accept is not None:
            self.accept(estimator, self.training)
        responses = [self.check.predictions(estimator, scorer) for scorer in self.scorers]
        return without_callbacks(estimator), responses


def _fit_and_keep(i: int, sent: Broadcast, params: dict[str, Any]) -> tuple[int, str | None]:
    """Return the candidate's number, and why the fit failed or None."""
    fitter: Fitter = sent.value[0]
    return i, fitter.keep(params)


def _evaluate(
    i: int,
    sent: Broadcast,
    params: dict[str, Any],
    position: str | None,
    error: str | None,
    secret: bool = False,
) -> tuple[int, str | None, tuple[int, ...] | None]:
    """Return the candidate's number, and either its error or the statistics of all scores.

    A candidate that has failed already is not fitted again.
    """
    fitter: Fitter
    problem: Problem
    fitter, problem = sent.value
    if error is None:
        error, estimator = fitter.evaluable(params, secret)
    if position is not None:
        announce(fitter.options.verbose, position, params, error, stream=visible_stdout())
    if error is not None:
        return i, error, None
    statistics: tuple[int, ...] = ()
    X, y, units = problem.X_val, problem.y_val, problem.units
    with suppress_output():
        for scorer in fitter.scorers:
            values = protected_values(estimator, scorer, X, y, units)
            statistics += tuple(scorer.statistics(values, y, units))
    return i, None, statistics
