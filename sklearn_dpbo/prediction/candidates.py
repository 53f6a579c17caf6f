"""Candidates, fitted on the training set, and their models (zone: boundary).

First all candidates are fitted, checked and pickled; then they predict the validation set, which is
not within reach of this module. Whether a fit failed is public. Validation records that take long
to predict slow down the fits beside and after them (caches, memory), by enough to measure: so
nobody fits once they have been predicted (`before_fits`).
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
    """Fits candidates, and keeps their models.

    Of the `scorers`, prepared for the problem, the first selects; what each counts is its `query`.
    `report` is what a report of the candidate chosen needs of predictions. `accept` raises if a fit
    is to count as failed. `design` returns, for a fitted candidate and the training set, what
    `Model.design` is: how its scores will be released. `before_fits` raises if it
    is too late.
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
        """Fit candidates on the training set, in parallel; return why fits failed, or None.

        That is public, as it depends on the training set alone.
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
        """Return the model of a candidate for this query; a user's gain is not computed again."""
        model = self.model(params)
        known = [k for k, own in enumerate(self._queries) if own is query]
        if not known:
            return model.asked(query)
        k = known[0]
        return replace(model, values=(model.values[k],), clipped=(model.clipped[k],))

    def add(self, params: dict[str, Any], model: Model) -> None:
        """Take a model, public or released, as the one that these parameters were fitted to."""
        self._models.add(params, model)

    def select_by(self, *scorers: Any) -> None:
        """Replace the score that selects, or the first scores, by the same, prepared further."""
        self.scorers = (*scorers, *self.scorers[len(scorers) :])

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
        """Return a function that makes models of fitted candidates: it has no validation set."""
        public = self._queries, self._companions, self.options.prediction, self.problem.training
        rehearse = replace(self._rehearsal, timed=not self._warned) if check else None
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
    """Return the model of a fitted candidate; raises what `accept` and `rehearse` do."""
    if accept is not None:
        accept(estimator, training)
    estimator = without_callbacks(estimator)
    model = Model.of(estimator, queries, companions, prediction)
    if rehearse is not None:
        model = rehearse(model, estimator, queries)
    return model if design is None else replace(model, design=design(estimator, training))
