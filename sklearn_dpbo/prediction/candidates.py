"""Candidates, fitted on the training set, and their models (zone: boundary).

First all candidates are fitted, checked and pickled. Then they predict the validation set, to which
this module has no access. Failures of fits are public. Validation records that take long to predict
slow down other fits, at the same time or later (caches, memory), by measurable amounts. So no
candidate is fitted once validation records have been predicted (`before_fits`).
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import closing
from dataclasses import dataclass, field, replace
from functools import cached_property, partial
from typing import Any

from ..metrics._queries import Query
from ..privacy.frames import ClearFrames
from ..privacy.suppress_output import (
    drop_errors,
    hold_interrupts,
    suppress_output,
    without_autologging,
)
from ..records.pickles import fresh
from ..records.split import Problem, Training
from .companions import Companions
from .fitting import FitOptions, fit, fit_all, without_callbacks
from .model import Model, Models
from .progress import Progress, call_hook
from .rehearsal import Rehearsal, report_rehearsals


def _nothing() -> None:
    pass


@dataclass(eq=False)
class Candidates:
    """Candidates of a search: fits them, and keeps their models.

    `scorers` are prepared for the problem. The first one selects; each has a `query` that is
    counted. `report` has the queries that a report of the chosen candidate needs in addition.
    `accept` raises if a fit shall count as failed. `design` computes the `Model.design` of a fitted
    candidate from it and the training set. `before_fits` raises if fits are no longer allowed.
    """

    options: FitOptions
    problem: Problem
    scorers: tuple[Any, ...]
    accept: Callable[[Any, Training], None] | None = None
    progress: Progress = field(default_factory=Progress)
    report: tuple[Query, ...] = ()
    releases_all: bool = False
    design: Callable[[Any, Training], Any] | None = None
    before_fits: Callable[[], None] = _nothing
    _models: Models = field(default_factory=Models, init=False, repr=False)
    _warned: bool = field(default=False, init=False, repr=False)

    def fit(self, candidate_params: tuple[dict[str, Any], ...]) -> tuple[str | None, ...]:
        """Fit candidates on the training set, in parallel; return the error of each, or None.

        Errors are public, because they depend on the training set only.
        """
        self.before_fits()
        with ClearFrames(fit.__code__, call_hook.__code__), without_autologging():
            self._fit(candidate_params)
            errors = tuple(self._models.error(params) for params in candidate_params)
            fitted = [p for p, error in zip(candidate_params, errors, strict=True) if error is None]
            if fitted:
                report_rehearsals(self, fitted, warns=not self._warned)
                self._warned = True
        return errors

    def asked(self, params: dict[str, Any], query: Query) -> Model:
        """Return the model of a candidate for one query; a user's gain is not computed again."""
        model = self.model(params)
        positions = [k for k, candidate in enumerate(self._queries) if candidate is query]
        if not positions:
            return model.asked(query)
        k = positions[0]
        return replace(model, values=(model.values[k],), clipped=(model.clipped[k],))

    def add(self, params: dict[str, Any], model: Model) -> None:
        """Add a public or released model as that of these parameters."""
        self._models.add(params, model)

    def select_by(self, *scorers: Any) -> None:
        """Replace the first scorers, of which the first selects, by further prepared ones."""
        self.scorers = (*scorers, *self.scorers[len(scorers) :])

    def fitted(self, params: dict[str, Any]) -> Any:
        """Return a candidate fitted on the training set: the evaluated model, if there is one.

        If it cannot be unpickled, the error is always the same, because a class may remember
        records.
        """
        if params not in self._models:
            return fit(self.options.candidate(params), self.problem.training)
        with suppress_output(), hold_interrupts(), drop_errors():
            return fresh(self.model(params).pickled)
        raise ValueError("the candidate chosen cannot be unpickled any more")

    def model(self, params: dict[str, Any]) -> Model:
        """Return the model of a candidate, as it was before it predicted protected records."""
        return self._models[params]

    @property
    def condition(self) -> str:
        """Condition of the guarantee on the models' predictions, in words."""
        return self._models.parts.condition(self.options.prediction, self.problem.units.name)

    @property
    def scorer(self) -> Any:
        """Scorer that selects."""
        return self.scorers[0]

    @property
    def _queries(self) -> tuple[Query, ...]:
        return (*(scorer.query for scorer in self.scorers), *self.report)

    @cached_property
    def _companions(self) -> Companions:
        return Companions.of(self.problem)

    @cached_property
    def _rehearsal(self) -> Rehearsal:
        return Rehearsal.of(self.problem, self._companions, self.options.prediction)

    def make_model(self, check: bool = True) -> Callable[[Any], Model]:
        """Return a function that makes models of fitted candidates, without the validation set."""
        public = self._queries, self._companions, self.options.prediction, self.problem.training
        rehearse = replace(self._rehearsal, timed=not self._warned) if check else None
        return partial(_make_model, *public, rehearse, self.accept, self.design)

    def _fit(self, candidate_params: tuple[dict[str, Any], ...]) -> None:
        """Fit the candidates that have not been fitted yet, and keep their models."""
        pending = tuple(params for params in candidate_params if params not in self._models)
        make_model = self.make_model()
        jobs = ((params, self.problem.training, make_model) for params in pending)
        self.progress.expect(len(pending))
        with closing(fit_all(self.options, jobs)) as fits:
            for params, fitted in zip(pending, fits, strict=True):
                self._models.add(params, fitted.error or fitted.result)
                self.progress.fitted(params, fitted, "fitted to be validated")


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
    """Make the model of a fitted candidate; raises the errors of `accept` and `rehearse`."""
    if accept is not None:
        accept(estimator, training)
    estimator = without_callbacks(estimator)
    model = Model.of(estimator, queries, companions, prediction)
    if rehearse is not None:
        model = rehearse(model, estimator, queries)
    return model if design is None else replace(model, design=design(estimator, training))
