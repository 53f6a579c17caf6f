"""The owner of protected rows: they go in, and sealed counts come out (zone: sensitive).

*Contract.* No method returns a row, nor anything computed of one, but as a `Secret` or `Sensitive`.
There is no accessor, and the owner cannot be copied or stored. What is public of the rows is their
`problem`.
"""

from __future__ import annotations

import weakref
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from functools import partial, reduce
from operator import itemgetter
from typing import Any, NoReturn, Self
from uuid import uuid4

import numpy as np
from joblib import effective_n_jobs

from ..metrics._queries import Query
from ..privacy.frames import ClearFrames
from ..privacy.sensitive import InTransit, Secret, Sensitive
from ..privacy.spending import Spending
from ..privacy.suppress_output import kept_registries, suppress_output, without_autologging
from ..records.divided_table import DividedTable
from ..records.pickles import packed
from ..records.split import Problem, ProtectedRows, Training, hold_out
from .calls import query_for_protected
from .companions import Companions
from .fitting import FitOptions
from .listed.separately import SHARED
from .model import Model
from .progress import in_parallel
from .protected_values import ProtectedTable
from .secret_fits import SecretFit, count_labels, evaluate_in_secret, fit_secretly, in_threads
from .threshold_curve import LabelGains


class PublicFirst:
    """Called before a public question: RuntimeError once a protected row has been predicted."""

    def __init__(self) -> None:
        self.__over = False

    def end(self) -> None:
        """End public questions."""
        self.__over = True

    def __call__(self) -> None:
        if self.__over:
            raise RuntimeError("public questions come first: protected rows have been predicted")


class RecordOwner(Spending):
    """A budget with the protected rows that it is spent on.

    All that is public has to be asked for before the first count (`require_public`): how long
    predictions of protected rows take, and what they leave in caches, would be seen by what comes
    after them.
    """

    def __init__(
        self,
        spending: Spending,
        problem: Problem,
        rows: ProtectedRows,
        training: Training | None = None,
    ) -> None:
        super().__init__(spending._budget, spending._samplers)
        self.problem, self.companions = problem, Companions.of(problem)
        table = replace(ProtectedTable.of(rows, self.companions), name=uuid4().hex)
        weakref.finalize(table, SHARED.forget, table.name)
        self.__table, self.__training = table, training
        self.require_public = PublicFirst()

    @classmethod
    def holding(cls, spending: Spending, *data: Any, copies: bool = False, **split: Any) -> Self:
        """Take protected rows, or hold them out: for the arguments of `hold_out`.

        Warns of a weak guarantee; ValueError if rows do not fit together. Nothing is charged. Of
        `copies`, later changes of the caller's arrays have no effect.
        """
        problem, rows = hold_out(*data, **split)
        spending.warn_if_weak(problem.units.m, problem.units.name)
        return cls(spending, problem, rows.copied() if copies else rows)

    def of_other_records(self) -> NoReturn:
        """Refuse: these records have one budget."""
        raise TypeError("the records of a session have one budget, and this is it")

    def count(self, model: Model, query: Query) -> Sensitive:
        """Count what a model predicts of the protected rows, as a table of one row."""
        return self.count_each([model], query, 1)

    @ClearFrames()
    def count_each(self, models: Sequence[Model], query: Query, n_jobs: int | None) -> Sensitive:
        """Count what each of several models predicts, a row each; they predict in parallel."""
        self.require_public.end()
        if any(model.cut for model in models):
            counted = partial(self.__table.counted, query=query)
            values = self.__values(models, query, n_jobs)
            with suppress_output():  # a user's gain is copied
                return values.measured(
                    lambda of_models: list(map(counted, of_models)),
                    query.sensitivity(self.__table.units),
                )
        # A task takes several models, as the table goes with each task.
        size = -(-len(models) // (4 * effective_n_jobs(n_jobs)))
        tasks = [(models[i : i + size], self.__table, query) for i in range(0, len(models), size)]
        joined: Sensitive = reduce(Sensitive.followed_by, _in_workers(_rows_of, tasks, n_jobs))
        return joined

    def __values(self, models: Sequence[Model], query: Query, n_jobs: int | None) -> Secret:
        """Predict with models of which parts are called on one unit at a time: an array for each.

        Worker processes share the units, as models share most of what these parts return. Threads
        would restore generators that others draw from.
        """
        n = 1 if in_threads() else min(effective_n_jobs(n_jobs), self.__table.units.m)
        parts = [self.__table.part(k, n) for k in range(n)]
        values = _in_workers(_values_of, [(models, part, query) for part in parts], n_jobs)
        order = np.argsort(np.concatenate([part.rows for part in parts]))
        return Secret.gathered(values).then(
            lambda of_parts: [np.concatenate(each)[order] for each in zip(*of_parts, strict=True)]
        )

    @ClearFrames()
    def count_jointly(self, models: Sequence[Model], query: Any) -> Sensitive:
        """Count what several models predict of the same rows, each by its part of the query."""
        self.require_public.end()
        with suppress_output():
            query = query_for_protected(packed(query))
            each = zip(models, query.parts, strict=True)
            parts = [self.__table.values(model, part).reshape(-1) for model, part in each]
            y, units = self.__table.y, self.__table.units
            values = query.record_values(y, np.stack(parts, axis=1), None)
            return Sensitive(query.statistics(values, y, units), query.sensitivity(units))

    def curve(self, model: Model, gains: LabelGains) -> Curve:
        """Predict each row once, to count the labels that any threshold gives."""
        self.require_public.end()
        return Curve(self.__table, gains, self.__values([model], gains, 1).then(itemgetter(0)))

    def evaluating(self, fits: FitOptions, make_model: Any, query: Query) -> Secret:
        """Return, sealed, what fits and counts a candidate that is itself secret.

        It takes parameters, and returns the one statistic of the query; None for a failure.
        """
        self.require_public.end()
        table = replace(self.__table, name="")  # to find what is kept takes less time
        training = self.problem.training
        return Secret(partial(evaluate_in_secret, fits, training, make_model, table, query))

    def fit_secretly(
        self, fits: Sequence[SecretFit], options: FitOptions, query: Query
    ) -> tuple[Secret, Sensitive]:
        """Fit models on the first part of a table, and count what they predict of the second.

        Returns each member of each fit, in order, and what they are compared by: 0, the lowest, for
        one that failed. How many fits there are may be secret, too.
        """
        self.require_public.end()
        if self.__training is None:
            raise ValueError("no protected rows to fit on")
        made_up, table = self.problem.training, replace(self.__table, name="")
        return fit_secretly(fits, options, self.__training, made_up, table, query)

    # ------------------------------------------------------------ not readable
    def __repr__(self) -> str:
        units = self.problem.units
        return f"<{type(self).__name__} of {units.m} {units.name}s: rows withheld>"

    def __dir__(self) -> list[str]:
        return [name for name in super().__dir__() if not name.startswith("_")]

    def _refuse(self, *_args: object, **_kwargs: object) -> NoReturn:
        raise TypeError("this holds protected rows, and cannot be copied or stored")

    __copy__ = __deepcopy__ = __reduce__ = __reduce_ex__ = __getstate__ = _refuse


class Curve:
    """What either label of each protected row counts as: counts for any thresholds."""

    def __init__(self, table: ProtectedTable, gains: LabelGains, values: Secret) -> None:
        self.__table, self.__gains, self.__values = table, gains, values

    @ClearFrames()
    def at(self, thresholds: Iterable[float], query: Query) -> Sensitive:
        """Count for a query the labels that each threshold gives: a row of integers for each.

        A unit's values say what it adds to the counts, so their sensitivity is that of `counts`.
        """
        y, units = self.__table.y, self.__table.units
        with suppress_output():  # a user's gain is copied
            query = query_for_protected(packed(query))
            count = partial(self.__gains.statistics_at, thresholds, y=y, units=units, query=query)
            return self.__values.measured(count, query.sensitivity(units))

    def __repr__(self) -> str:
        return "<Curve: values withheld>"

    __copy__ = __deepcopy__ = __reduce__ = __reduce_ex__ = __getstate__ = RecordOwner._refuse


class TableOwner:
    """Both parts of one protected table; `schema` has what is public of it."""

    def __init__(self, table: DividedTable) -> None:
        self.__table = table
        self.schema = table.schema

    @classmethod
    def dividing(cls, *data: Any, name: str | None = None, **how: Any) -> Self:
        """Cut a table at random: for the arguments of `DividedTable.divide`.

        Groups are an argument of this name of the models' `fit`.
        """
        table = DividedTable.divide(*data, **how)
        return cls(table if name is None else table.grouped(name))

    def count_labels(self) -> Sensitive:
        """Count the labels of the second part, or numbers by the nearest of the labels."""
        return count_labels(self.__table)

    def problem(self, frequent: Any, rng: np.random.Generator) -> Problem:
        """Make what is public of the second part, with made-up rows for public ones."""
        return self.__table.problem(frequent, rng)

    @ClearFrames()
    def owner(self, kind: type[RecordOwner], spending: Spending, problem: Problem) -> Any:
        """Return the owner of both parts: models are fitted on one, and counted on the other."""
        table = self.__table
        rows = ProtectedRows(table.X_val, table.y_val, table.units_val)
        return kind(spending, problem, rows, table.training)

    __copy__ = __deepcopy__ = __reduce__ = __reduce_ex__ = __getstate__ = RecordOwner._refuse


def _in_workers(
    function: Callable[..., Any], tasks: Sequence[Any], n_jobs: int | None
) -> list[Any]:
    """Return what is sealed for each task; one alone is done in this process."""
    # Silence around all of them is faster than around each, which is enough for several workers:
    # then other threads lose nothing. But these may be threads of this process.
    alone = effective_n_jobs(n_jobs) == 1 or len(tasks) == 1
    with without_autologging(), suppress_output() if alone else kept_registries():
        if alone:
            return [function(*task).content for task in tasks]
        return [sealed.content for sealed in in_parallel(function, tasks, n_jobs, 1)]


def _rows_of(models: Sequence[Model], table: ProtectedTable, query: Query) -> InTransit[Sensitive]:
    """Count models' predictions, a row each, sealed for the way back: workers call this."""
    with suppress_output(registries=False):
        statistics = [table.statistics(model, query) for model in models]
        return InTransit(Sensitive(statistics, query.sensitivity(table.units)))


def _values_of(models: Sequence[Model], part: ProtectedTable, query: Query) -> InTransit[Secret]:
    """Return models' predictions, an array each, sealed for the way back: workers call this."""
    with suppress_output(registries=False):
        return InTransit(Secret([part.values(model, query) for model in models]))
