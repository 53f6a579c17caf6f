"""Fit each candidate on the training set, count on the validation set (zone: sensitive).

First all candidates are fitted, checked and pickled; then they predict the validation set. Whether
a fit failed is public; the statistics become a `Sensitive` where they are computed. Nothing else
leaves this module: no message, no exception, and no time, not even of fits. Validation records that
take long to predict slow down the fits beside and after them (caches, memory), by enough to
measure.
"""

from __future__ import annotations

import weakref
from collections.abc import Callable, Sequence
from contextlib import closing
from dataclasses import dataclass, field, replace
from functools import cached_property, partial, reduce
from typing import Any
from uuid import uuid4

import numpy as np
from joblib import effective_n_jobs

from .._data.pickles import fresh
from .._data.split import Problem, Training
from .._privacy.frames import ClearFrames
from .._privacy.sensitive import InTransit, Sensitive
from .._privacy.suppress_output import (
    drop_errors,
    hold_interrupts,
    kept_registries,
    suppress_output,
    without_autologging,
)
from ..scoring._queries import Query
from .companions import Companions
from .fitting import FitOptions, fit, fit_all, without_callbacks
from .model import Model, Models
from .progress import Progress, call_hook, in_parallel
from .protected_values import ProtectedTable
from .separately import SHARED

__all__ = ["Evaluator", "counted", "counted_jointly"]


@dataclass(eq=False)
class Evaluator:
    """The sensitive oracle: candidates in, `Sensitive` statistics out.

    Of the `scorers`, prepared for the problem, the first selects; what each counts is its `query`.
    `accept` raises if a fit is to count as failed. `report` is what a report of the candidate
    chosen needs of predictions. `design` returns, for a fitted candidate and the training set, what
    `Model.design` is: how its scores will be released. `rehearsal` is the class that tries models
    on public rows first, see `rehearsal`.
    """

    options: FitOptions
    problem: Problem
    scorers: tuple[Any, ...]
    accept: Callable[[Any, Training], None] | None = None
    progress: Progress = field(default_factory=Progress)
    report: tuple[Query, ...] = ()
    releases_all: bool = False
    design: Callable[[Any, Training], Any] | None = None
    rehearsal: Any = None
    _models: Models = field(default_factory=Models, init=False, repr=False)
    _warned: bool = field(default=False, init=False, repr=False)

    def fit_candidates(
        self, candidate_params: tuple[dict[str, Any], ...]
    ) -> tuple[str | None, ...]:
        """Fit candidates on the training set, in parallel; return why fits failed, or None.

        That is public, as it depends on the training set alone.
        """
        with ClearFrames(fit.__code__, call_hook.__code__), without_autologging():
            self._fit(candidate_params)
            errors = tuple(self._models.error(params) for params in candidate_params)
            fitted = [p for p, error in zip(candidate_params, errors, strict=True) if error is None]
            if fitted and self.rehearsal is not None:
                self.rehearsal.report(self, fitted, warns=not self._warned)
                self._warned = True
        return errors

    def compare(self, fitted: Sequence[dict[str, Any]], query: Query) -> Sensitive:
        """Return the statistics of fitted candidates, one a row; they predict in parallel."""
        with ClearFrames(fit.__code__, call_hook.__code__), without_autologging():
            # A task takes several models, as the table goes with each task.
            n_jobs, workers = self.options.n_jobs, effective_n_jobs(self.options.n_jobs)
            size = -(-len(fitted) // (4 * workers))
            models = [self._asked(params, query) for params in fitted]
            tasks = ((models[i : i + size], self.table, query) for i in range(0, len(models), size))
            # Around all of them is faster than around each, which is enough for several workers:
            # then other threads lose nothing. But these may be threads of this process.
            with suppress_output() if workers == 1 else kept_registries():
                rows = [sealed.content for sealed in in_parallel(count, tasks, n_jobs, 1)]
            joined: Sensitive = reduce(Sensitive.followed_by, rows)
            return joined

    def _asked(self, params: dict[str, Any], query: Query) -> Model:
        """Return the model for this query; a user's gain is not computed again."""
        model = self.model(params)
        known = [k for k, own in enumerate(self._queries) if own is query]
        if not known:
            return model.asked(query)
        k = known[0]
        return replace(model, values=(model.values[k],), clipped=(model.clipped[k],))

    def counts(self, params: dict[str, Any], query: Query) -> Sensitive:
        """Count an evaluated candidate's predictions for a query, as a table of one row."""
        return counted(self.table, self._asked(params, query), query)

    def add(self, params: dict[str, Any], model: Model) -> None:
        """Take a model, public or released, as the one that these parameters were fitted to."""
        self._models.add(params, model)

    def select_by(self, scorer: Any) -> None:
        """Replace the score that selects by the same one, prepared further."""
        self.scorers = (scorer, *self.scorers[1:])

    def fitted(self, params: dict[str, Any]) -> Any:
        """Return a candidate, fitted on the training set: as it was evaluated, if it was.

        The error if it cannot be unpickled is always the same: a class may remember records.
        """
        if params not in self._models:
            return fit(self.options.candidate(params), self.problem.training)
        with suppress_output(), hold_interrupts(), drop_errors():
            return fresh(self.model(params).pickled)
        raise ValueError("the candidate chosen cannot be unpickled any more")

    def model(self, params: dict[str, Any]) -> Model:
        """Return a candidate that was fitted, as it was before it predicted anything protected."""
        return self._models[params]

    @property
    def condition(self) -> str:
        """The condition of the guarantee on how the models predict, in words."""
        return self._models.parts.condition(self.options.prediction, self.problem.units.name)

    @property
    def scorer(self) -> Any:
        """The score that selects."""
        return self.scorers[0]

    @cached_property
    def companions(self) -> Companions:
        return Companions.of(self.problem)

    @cached_property
    def table(self) -> ProtectedTable:
        table = replace(ProtectedTable.of(self.problem, self.companions), name=uuid4().hex)
        weakref.finalize(table, SHARED.forget, table.name)
        return table

    @property
    def _queries(self) -> tuple[Query, ...]:
        return (*(scorer.query for scorer in self.scorers), *self.report)

    @cached_property
    def _rehearse(self) -> Any:
        of = None if self.rehearsal is None else self.rehearsal.of
        return of and of(self.problem, self.companions, self.options.prediction)

    def make_model(self, check: bool = True) -> Callable[[Any], Model]:
        """Return a function that makes models of fitted candidates: it has no validation set."""
        public = self._queries, self.companions, self.options.prediction, self.problem.training
        rehearse = self._rehearse if check else None
        rehearse = rehearse and replace(rehearse, timed=not self._warned)
        return partial(_make_model, *public, rehearse, self.accept, self.design)

    def _fit(self, candidate_params: tuple[dict[str, Any], ...]) -> None:
        """Fit those candidates that have not been fitted yet, and keep the models."""
        pending = tuple(params for params in candidate_params if params not in self._models)
        make_model = self.make_model()
        jobs = ((params, self.problem.training, make_model) for params in pending)
        self.progress.expect(len(pending))
        with closing(fit_all(self.options, jobs)) as fits:
            for params, fitted in zip(pending, fits, strict=True):
                self._models.add(params, fitted.error or fitted.result)
                self.progress.fitted(params, fitted.error, "fitted to be validated")


def _make_model(
    queries: tuple[Query, ...],
    companions: Companions,
    prediction: str,
    training: Training,
    rehearse: Callable[..., Model] | None,
    accept: Callable[[Any, Training], None] | None,
    design: Callable[[Any, Training], Any] | None,
    estimator: Any,
) -> Model:
    """Return the model of a fitted candidate; raises what `accept` and `rehearse` do."""
    if accept is not None:
        accept(estimator, training)
    estimator = without_callbacks(estimator)
    model = Model.of(estimator, queries, companions, prediction)
    if rehearse is not None:
        model = rehearse(model, estimator, queries)
    return model if design is None else replace(model, design=design(estimator, training))


def count(models: Sequence[Model], table: ProtectedTable, query: Query) -> InTransit[Sensitive]:
    """Count models' predictions, a row each, sealed for the way back: workers call this."""
    with suppress_output(registries=False):
        statistics = [table.statistics(model, query) for model in models]
        return InTransit(Sensitive(statistics, query.sensitivity(table.units)))


def counted(table: ProtectedTable, model: Model, query: Query) -> Sensitive:
    """Count one model's predictions for a query, as a table of one row."""
    with ClearFrames(), suppress_output():
        return count([model], table, query).content


def counted_jointly(models: Sequence[tuple[ProtectedTable, Model]], query: Any) -> Sensitive:
    """Return what is released of several models' predictions of the same records, without noise.

    Each model predicts all records by itself, for its own part of the query.
    """
    with ClearFrames(), suppress_output():
        each = zip(models, query.parts, strict=True)
        parts = [own.values(model, part).reshape(-1) for (own, model), part in each]
        y, units = models[0][0].y, models[0][0].units
        values = query.record_values(y, np.stack(parts, axis=1), None)
        return Sensitive(query.statistics(values, y, units), query.sensitivity(units))
