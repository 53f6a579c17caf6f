"""Fit each candidate on the training set, count on the validation set (zone: sensitive).

First all candidates are fitted, checked and pickled; then each of them predicts the validation set
once. Whether a fit failed is public; the statistics become a `Sensitive` where they are computed.
Nothing else leaves this module: no message, no exception, and no time, not even of fits. Validation
records that take long to predict slow down the fits beside and after them (caches, memory), by
enough to measure.
"""

from __future__ import annotations

import contextlib
import itertools
import warnings
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property, reduce
from typing import Any, NamedTuple, cast

import numpy as np
from joblib import effective_n_jobs
from numpy.typing import NDArray

from .._data.pickles import fresh, packed
from .._data.split import Problem, Training, split_training
from .._privacy.frames import ClearFrames
from .._privacy.sensitive import InTransit, Sensitive
from ..scoring._queries import Query
from ..scoring._response import Predictions, Responses, method_of
from ..scoring._scorers import PrivateScorer
from .broadcast import Broadcast
from .companions import Companions
from .fit_cache import FitCache
from .fitter import Fitter, Models, fit_model, to_check
from .fitting import FitOptions, fit, without_autologging, without_callbacks
from .model import Model, Reference
from .progress import Progress, as_they_finish, call_hook
from .protected_values import ProtectedTable
from .public import PublicEvaluator
from .row_by_row import RowByRowCheck
from .suppress_output import kept_warning_registries, suppress_all_output, suppress_output

__all__ = ["Evaluation", "Evaluator", "Protected", "counted"]

# How finely predictions are divided among workers, and the size of models up to which one task
# takes several.
_TASKS_PER_WORKER = 4
_CHUNK_BYTES = 2**20


@dataclass(frozen=True)
class Evaluation:
    """What evaluating some candidates gave.

    Parameters
    ----------
    statistics : Sensitive of shape (n_candidates, 1)
        By which they are compared; zero where the fit failed.
    fit_errors : tuple of str or None, length n_candidates
        Why a fit failed; public, as it depends on the training set alone.
    """

    statistics: Sensitive
    fit_errors: tuple[str | None, ...]

    @property
    def fitted(self) -> NDArray[np.intp]:
        """Positions of the candidates whose fit succeeded."""
        return np.flatnonzero([error is None for error in self.fit_errors])


class _Fits(NamedTuple):
    """Candidates, why each failed or None, and the numbers of the others' models."""

    candidate_params: tuple[dict[str, Any], ...]
    errors: list[str | None]
    models: dict[int, int]


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
    report : tuple of Query, default=()
        What a report of the candidate chosen needs of predictions; () if there is to be none.
    releases_all : bool, default=False
        Whether the scores of all candidates are to be released.
    on_protected : Training or None, default=None
        Protected records that candidates are fitted on, in secret. The problem then has made-up
        ones in place of a training set.
    """

    options: FitOptions
    problem: Problem
    scorers: tuple[PrivateScorer, ...]
    accept: Callable[[Any, Training], None] | None = None
    progress: Progress = field(default_factory=Progress)
    report: tuple[Query, ...] = ()
    releases_all: bool = False
    on_protected: Training | None = None
    _models: Models = field(default_factory=Models, init=False, repr=False)
    _validation_set_used: bool = field(default=False, init=False, repr=False)
    _shared: _Fits | None = field(default=None, init=False, repr=False)

    def __call__(self, candidate_params: tuple[dict[str, Any], ...]) -> Evaluation:
        """Evaluate candidates, in parallel: fit all, and then let all predict.

        Raises
        ------
        BatchDependentError
            If the predictions of a fitted candidate are not made row by row.
        """
        units = self.problem.units
        what = f"Evaluating {{}} on {units.m} protected {units.name}s"
        with ClearFrames(fit.__code__, call_hook.__code__), without_autologging():
            listener = self.progress.candidates(candidate_params, "candidate-evaluation", what)
            errors, models = self._fit_all(candidate_params)
            for i, error in enumerate(errors):
                if error is not None:
                    listener.finished(i, error)
            self._warn_of_bounds([self._models.references(n) for n in models.values()])
            self._warn_of_own_code()
            self._validation_set_used = True
            statistics = {i: self._nothing() for i, e in enumerate(errors) if e is not None}
            tasks = (
                ([(i, self._models[models[i]]) for i in chunk], self._protected)
                for chunk in self._chunks(models)
            )
            with (
                kept_warning_registries(),
                self._results(_count, tasks, self._protected) as found,
            ):
                for i, sealed in itertools.chain.from_iterable(found):
                    statistics[i] = sealed.content
                    listener.finished(i, None)
            in_order = (statistics[i] for i in range(len(errors)))
            return Evaluation(reduce(Sensitive.followed_by, in_order), tuple(errors))

    def secretly(self, params: dict[str, Any]) -> tuple[int, ...] | None:
        """Return the raw statistic of a candidate that itself depends on protected records.

        To be called from within a `Secret`. It runs in this process, without output, and keeps no
        state; a failure is not reported, but gives None: all of that could tell the candidate.
        """
        # On protected records there is no check: on made-up ones it has been made before.
        checked = self.on_protected is None
        with suppress_all_output(), without_autologging():
            try:
                fitter = replace(self.fitter, training=self.trained_on)
                _, model = fitter.model(params, checked=checked, keep=False, secret=True)
                return None if model is None else self._protected.value.statistics(model)
            except KeyboardInterrupt:
                raise KeyboardInterrupt from None
            except BaseException:
                # Also SystemExit, and the panics of native extensions, which are no Exceptions.
                return None

    def counts(self, params: dict[str, Any], counts: Query) -> Sensitive:
        """Return what is released of a candidate, without noise yet, in a table of one row.

        Parameters
        ----------
        params : dict
            A candidate that was evaluated.
        counts : Query
            What is released.
        """
        model = self._evaluated(params)
        asked = (each.response_method for each in self.fitter.scorers)
        reference = model.references[list(asked).index(counts.response_method)]
        reference = reference.of_counts(counts, self.companions)
        return counted(self._table, replace(model, references=(reference,)), counts)

    def adopt(self, params: dict[str, Any], estimator: Any) -> int:
        """Take a model, public or released, as the one that these parameters were fitted to."""
        needs = self.fitter.scorers
        model = Model.of(without_callbacks(estimator), needs, self.companions)
        return self._models.add(params, model)

    def share_fits(
        self, candidate_params: tuple[dict[str, Any], ...], others: Sequence[Evaluator]
    ) -> None:
        """Fit candidates, for this validation set and for others beside the same training set.

        To be called before any of them is predicted: then no fit comes after protected predictions.

        Parameters
        ----------
        candidate_params : tuple of dict
            The candidates; each evaluator finds these very objects when it is called.
        others : sequence of Evaluator
            With the same options and scorers.
        """
        errors, models = self._fit_all(candidate_params)
        self._shared = _Fits(candidate_params, errors, models)
        for other in others:
            theirs = {
                i: other.adopt(candidate_params[i], fresh(self._models[number].pickled))
                for i, number in models.items()
            }
            other._shared = _Fits(candidate_params, errors, theirs)

    def select_at(self, public: Predictions) -> None:
        """Prepare the score that selects, before anything is evaluated; see `PrivateScorer`."""
        self.scorers = (self.scorer.choice(public), *self.scorers[1:])
        vars(self).pop("fitter", None)  # was made for the scorers before, if at all

    def public(self, cv: Any, rng: np.random.Generator) -> PublicEvaluator:
        """Return an oracle that scores on a part of the training set, and costs no privacy."""
        split = split_training(self.problem.training, self.options.estimator, cv, rng)
        return PublicEvaluator(self.options, split, self.scorer, self.progress)

    def fitted(self, params: dict[str, Any]) -> Any:
        """Return a candidate, fitted on the training set: as it was evaluated, if it was.

        Raises
        ------
        ValueError
            If it was evaluated, and cannot be unpickled. The text is always the same: a class may
            remember protected records.
        """
        model = self._models.find(params)
        if model is None:
            return self.fitter.refit(params)
        with suppress_all_output():
            try:
                return fresh(model.pickled)
            except KeyboardInterrupt:
                raise KeyboardInterrupt from None
            except BaseException:
                pass
        raise ValueError("the candidate chosen cannot be unpickled any more")

    def classes(self, params: dict[str, Any]) -> Any:
        """Return the `classes_` that a candidate had before it predicted anything protected."""
        model = self._evaluated(params)
        return model.references[0].classes

    def remembered(self, params: dict[str, Any]) -> Responses:
        """Return what a candidate answered to the companions at first.

        Parameters
        ----------
        params : dict
            A candidate that was evaluated.
        """
        model = self._evaluated(params)
        estimator = fresh(model.pickled)
        responses = {
            method_of(estimator, scorer.response_method): reference.response
            for scorer, reference in zip(self.fitter.scorers, model.references, strict=True)
        }
        return Responses.given(estimator, self.companions.y, responses)

    def close(self) -> None:
        """Forget the fitted candidates."""
        self._models.close()

    def _evaluated(self, params: dict[str, Any]) -> Model:
        """Return the model of a candidate that was evaluated."""
        return cast(Model, self._models.find(params))

    @property
    def scorer(self) -> PrivateScorer:
        """The score that selects."""
        return self.scorers[0]

    @property
    def trained_on(self) -> Training:
        """What candidates are fitted on, protected or not."""
        return self.problem.training if self.on_protected is None else self.on_protected

    @cached_property
    def fitter(self) -> Fitter:
        """Fits candidates; it has no access to the validation set."""
        training, companions = self.problem.training, self.companions
        check = RowByRowCheck.on(companions, self.problem)
        cache = FitCache.of(self.options.memory, training)
        needs = (*self.scorers, *self.report)
        return Fitter(self.options, training, needs, companions, check, self.accept, cache)

    @cached_property
    def companions(self) -> Companions:
        return Companions.of(self.problem)

    @cached_property
    def _table(self) -> ProtectedTable:
        return ProtectedTable.of(self.problem, self.companions, self.options.prediction)

    @property
    def protected(self) -> Protected:
        """The protected table, and what is counted of each candidate."""
        return Protected.of(self._table, self.scorer)

    @cached_property
    def _public(self) -> Broadcast:
        return Broadcast(self.fitter)

    @cached_property
    def _protected(self) -> Broadcast:
        return Broadcast(self.protected)

    def _fit_all(
        self, candidate_params: tuple[dict[str, Any], ...]
    ) -> tuple[list[str | None], dict[int, int]]:
        """Return why each candidate failed or None; and the numbers of the others' models."""
        if self._shared is not None and self._shared.candidate_params is candidate_params:
            return self._shared.errors, self._shared.models
        n, keep = len(candidate_params), not self._validation_set_used
        errors: list[str | None] = [None] * n
        models: dict[int, int] = {}
        checked = to_check(candidate_params)
        tasks = (
            (i, self._public, params, f"{i + 1}/{n}", i in checked, keep)
            for i, params in enumerate(candidate_params)
        )
        # No clock decides what happens once protected records may have slowed down fits.
        limit = self.options.fit_timeout if keep else None
        with self._results(fit_model, tasks, self._public, limit) as found:
            for i, errors[i], model in found:
                if model is not None:
                    models[i] = self._models.add(candidate_params[i], model)
        return errors, dict(sorted(models.items()))

    def _chunks(self, models: dict[int, int]) -> Iterator[list[int]]:
        """Yield the numbers of candidates that one task counts: several if their models are small.

        What is sent with a task, and the wait for it, cost more than a small prediction.
        """
        workers = effective_n_jobs(self.options.n_jobs)
        most = 1 if workers == 1 else -(-len(models) // (_TASKS_PER_WORKER * workers))
        chunk: list[int] = []
        size = 0
        for i, number in models.items():
            chunk.append(i)
            size += self._models.size(number)
            if len(chunk) >= most or size > _CHUNK_BYTES:
                yield chunk
                chunk, size = [], 0
        if chunk:
            yield chunk

    def _warn_of_bounds(self, found: list[tuple[Reference, ...]]) -> None:
        """Warn, once, of bounds that clip most gains of training records."""
        if self._validation_set_used or not found:
            return
        for k, scorer in enumerate(self.scorers):
            clipped = float(np.mean([references[k].clipped for references in found]))
            if clipped > 1 / 2:
                warnings.warn(
                    f"The bounds of {scorer!r} clip the gains of {clipped:.0%} of the training "
                    "records looked at, so that the score hardly tells candidates apart. Choose "
                    "wider bounds, by what is known without the validation data",
                    UserWarning,
                    stacklevel=6,
                )

    def _warn_of_own_code(self) -> None:
        """Say, once, why predictions take long."""
        own = self._models.own_code
        if own and self.options.prediction == "auto" and not self._validation_set_used:
            warnings.warn(
                f"The model contains {own}, which belongs to no library that is known to predict "
                f"row by row. So each of the {self.problem.units.m} validation "
                f"{self.problem.units.name}s is predicted by a call of its own, which takes "
                'longer. Pass prediction="together" to predict them at once, if you know that this '
                "code treats each record independently of the others, or "
                'prediction="separate" to keep the calls without this warning',
                UserWarning,
                stacklevel=6,
            )

    def _nothing(self) -> Sensitive:
        """Return the statistics of a candidate that could not be fitted."""
        return self.protected.as_sensitive([(0,)])

    @contextlib.contextmanager
    def _results(
        self,
        function: Callable[..., Any],
        tasks: Iterable[tuple[Any, ...]],
        sent: Broadcast,
        limit: float | None = None,
    ) -> Iterator[Iterator[Any]]:
        n_jobs, pre_dispatch = self.options.n_jobs, self.options.pre_dispatch
        finished = as_they_finish(function, tasks, n_jobs, pre_dispatch, sent, limit=limit)
        with sent.sent(), contextlib.closing(finished):
            yield finished


@dataclass(frozen=True)
class Protected:
    """What counting takes: the protected table, and what is counted, also pickled."""

    table: ProtectedTable
    scorer: Query
    pickled: bytes

    @classmethod
    def of(cls, table: ProtectedTable, scorer: Query) -> Protected:
        """Pickle what is counted."""
        return cls(table, scorer, packed(scorer, by_value=True))

    def statistics(self, model: Model) -> tuple[int, ...]:
        """Return the raw statistics of a model; its first reference is that of the scorer."""
        values = self.table.values(model, self.pickled)
        return tuple(self.scorer.statistics(values, self.table.y, self.table.units))

    def as_sensitive(self, statistics: Any) -> Sensitive:
        """Return statistics of models, one row for each."""
        return Sensitive(statistics, self.scorer.sensitivity(self.table.units))


def counted(table: ProtectedTable, model: Model, counts: Query) -> Sensitive:
    """Return what is released of one model, without noise yet, in a table of one row.

    Parameters
    ----------
    table : ProtectedTable
        What is predicted.
    model : Model
        With one reference, which is that of `counts`.
    counts : Query
        What is released.
    """
    protected = Protected.of(table, counts)
    with (
        ClearFrames(),
        without_autologging(),
        kept_warning_registries(),
        suppress_output(),
    ):
        return protected.as_sensitive([protected.statistics(model)])


def _count(
    models: list[tuple[int, Model]], sent: Broadcast
) -> list[tuple[int, InTransit[Sensitive]]]:
    """Return each candidate's number and its statistics, sealed."""
    protected: Protected = sent.value
    found = []
    for i, model in models:
        with suppress_output():
            found.append((i, InTransit(protected.as_sensitive([protected.statistics(model)]))))
    return found
