"""The owner of protected rows: it takes rows, and returns sealed counts (zone: sensitive).

*Contract.* Methods return rows, and anything computed from rows, only as a `Secret` or `Sensitive`.
There is no accessor, and the owner cannot be copied or stored. The public facts about the rows are
their `problem`.
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
    """Check before a public question: RuntimeError once a protected row has been predicted."""

    def __init__(self) -> None:
        self.__over = False

    def end(self) -> None:
        """End public questions."""
        self.__over = True

    def __call__(self) -> None:
        if self.__over:
            raise RuntimeError("public questions come first: protected rows have been predicted")


class RecordOwner(Spending):
    """A budget, and the protected rows on which it is spent.

    Public questions have to come before the first count (`require_public`), because later ones
    could observe how long predictions of protected rows take, and what they leave in caches.
    """

    def __init__(
        self,
        spending: Spending,
        problem: Problem,
        rows: ProtectedRows,
        training: Training | None = None,
    ) -> None:
        super().__init__(spending._budget, spending._samplers)
        self.problem = problem
        self.companions = Companions.of(problem)
        self.__table = replace(ProtectedTable.of(rows, self.companions), name=uuid4().hex)
        self.__training = training
        weakref.finalize(self.__table, SHARED.forget, self.__table.name)
        self.require_public = PublicFirst()

    @classmethod
    def holding(cls, spending: Spending, *data: Any, copies: bool = False, **split: Any) -> Self:
        """Take protected rows, or hold them out, with the arguments of `hold_out`.

        Warns of a weak guarantee; ValueError if rows do not fit together. Nothing is charged. With
        `copies`, later changes of the caller's arrays have no effect.
        """
        problem, rows = hold_out(*data, **split)
        spending.warn_if_weak(problem.units.m, problem.units.name)
        return cls(spending, problem, rows.copied() if copies else rows)

    def of_other_records(self) -> NoReturn:
        """Raise TypeError, because these records have one budget."""
        raise TypeError("the records of a session have one budget, and this is it")

    def count(self, model: Model, query: Query) -> Sensitive:
        """Count a model's predictions for the protected rows, as a table of one row."""
        return self.count_each([model], query, 1)

    @ClearFrames()
    def count_each(self, models: Sequence[Model], query: Query, n_jobs: int | None) -> Sensitive:
        """Count the predictions of several models, in parallel: a table with a row for each."""
        self.require_public.end()
        if any(model.cut for model in models):
            count = partial(self.__table.counted, query=query)
            values = self.__values(models, query, n_jobs)
            sensitivity = query.sensitivity(self.__table.units)
            with suppress_output():  # a user's gain is copied
                return values.measured(lambda arrays: list(map(count, arrays)), sensitivity)
        # A task takes several models, as the table is sent with each task.
        size = -(-len(models) // (4 * effective_n_jobs(n_jobs)))
        tasks = [(models[i : i + size], self.__table, query) for i in range(0, len(models), size)]
        joined: Sensitive = reduce(Sensitive.followed_by, _in_workers(_rows_of, tasks, n_jobs))
        return joined

    def __values(self, models: Sequence[Model], query: Query, n_jobs: int | None) -> Secret:
        """Predict with models of which parts are called on one unit at a time: an array for each.

        The units, not the models, are divided between worker processes, because models share most
        outputs of such parts. There is one task in threads: several would each restore generators
        from which the others draw.
        """
        n = 1 if in_threads() else min(effective_n_jobs(n_jobs), self.__table.units.m)
        parts = [self.__table.part(k, n) for k in range(n)]
        values = _in_workers(_values_of, [(models, part, query) for part in parts], n_jobs)
        order = np.argsort(np.concatenate([part.rows for part in parts]))
        return Secret.gathered(values).then(
            lambda parts: [np.concatenate(arrays)[order] for arrays in zip(*parts, strict=True)]
        )

    @ClearFrames()
    def count_jointly(self, models: Sequence[Model], query: Any) -> Sensitive:
        """Count several models' predictions for the same rows, each by its part of the query."""
        self.require_public.end()
        with suppress_output():
            query = query_for_protected(packed(query))
            pairs = zip(models, query.parts, strict=True)
            parts = [self.__table.values(model, part).reshape(-1) for model, part in pairs]
            y, units = self.__table.y, self.__table.units
            values = query.record_values(y, np.stack(parts, axis=1), None)
            return Sensitive(query.statistics(values, y, units), query.sensitivity(units))

    def curve(self, model: Model, gains: LabelGains) -> Curve:
        """Predict each row once, to count the labels at any threshold."""
        self.require_public.end()
        return Curve(self.__table, gains, self.__values([model], gains, 1).then(itemgetter(0)))

    def evaluating(self, fits: FitOptions, make_model: Any, query: Query) -> Secret:
        """Return a sealed function that fits and counts a candidate that is itself secret.

        The function takes parameters, and returns the statistic of the query, or None for a
        failure.
        """
        self.require_public.end()
        table = replace(self.__table, name="")  # no cache, as its hits would take less time
        training = self.problem.training
        return Secret(partial(evaluate_in_secret, fits, training, make_model, table, query))

    def fit_secretly(
        self, fits: Sequence[SecretFit], options: FitOptions, query: Query
    ) -> tuple[Secret, Sensitive]:
        """Fit models on the first part of a table, and count their predictions for the second.

        Returns the members of all fits, in order, and the statistics of each; those of a failed fit
        are 0, the lowest. The number of fits may be secret, too.
        """
        self.require_public.end()
        if self.__training is None:
            raise ValueError("there are no protected rows to fit on")
        table = replace(self.__table, name="")
        return fit_secretly(fits, options, self.__training, self.problem.training, table, query)

    # ------------------------------------------------------------ not readable
    def __repr__(self) -> str:
        units = self.problem.units
        return f"<{type(self).__name__} of {units.m} {units.name}s: rows withheld>"

    def __dir__(self) -> list[str]:
        return [name for name in super().__dir__() if not name.startswith("_")]

    def _refuse(self, *_args: object, **_kwargs: object) -> NoReturn:
        raise TypeError("this object has protected rows, and cannot be copied or stored")

    __copy__ = __deepcopy__ = __reduce__ = __reduce_ex__ = __getstate__ = _refuse


class Curve:
    """Sealed gains of both labels of each protected row, for counts at any thresholds."""

    def __init__(self, table: ProtectedTable, gains: LabelGains, values: Secret) -> None:
        self.__table = table
        self.__gains = gains
        self.__values = values

    @ClearFrames()
    def at(self, thresholds: Iterable[float], query: Query) -> Sensitive:
        """Count the labels at each threshold by a query: a row of integers for each threshold.

        A unit adds only its own values to the counts, so the sensitivity is that of the query.
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
    """Both parts of one protected table; `schema` has its public facts."""

    def __init__(self, table: DividedTable) -> None:
        self.__table = table
        self.schema = table.schema

    @classmethod
    def dividing(cls, *data: Any, name: str | None = None, **how: Any) -> Self:
        """Divide a table at random, with the arguments of `DividedTable.divide`.

        The models' `fit` gets the groups as an argument of this name.
        """
        table = DividedTable.divide(*data, **how)
        return cls(table if name is None else table.grouped(name))

    def count_labels(self) -> Sensitive:
        """Count the labels of the second part; numbers count as the nearest label."""
        return count_labels(self.__table)

    def problem(self, frequent: Any, rng: np.random.Generator) -> Problem:
        """Make the problem of the second part, with made-up rows in the place of public ones."""
        return self.__table.problem(frequent, rng)

    @ClearFrames()
    def owner(self, kind: type[RecordOwner], spending: Spending, problem: Problem) -> Any:
        """Make the owner of both parts: models are fitted on the first, counted on the second."""
        table = self.__table
        rows = ProtectedRows(table.X_val, table.y_val, table.units_val)
        return kind(spending, problem, rows, table.training)

    __copy__ = __deepcopy__ = __reduce__ = __reduce_ex__ = __getstate__ = RecordOwner._refuse


def _in_workers(run: Callable[..., Any], tasks: Sequence[Any], n_jobs: int | None) -> list[Any]:
    """Run tasks, each with a sealed result, in workers; a single task runs in this process."""
    # In this process, output is suppressed once around all tasks, which is faster. Workers suppress
    # it in each task, so other threads of this process keep their output. But workers may be
    # threads of this process, so registries are kept.
    here = effective_n_jobs(n_jobs) == 1 or len(tasks) == 1
    with without_autologging(), suppress_output() if here else kept_registries():
        if here:
            return [run(*task).content for task in tasks]
        return [sealed.content for sealed in in_parallel(run, tasks, n_jobs, 1)]


def _rows_of(models: Sequence[Model], table: ProtectedTable, query: Query) -> InTransit[Sensitive]:
    """Count models' predictions, a row each, sealed for the pickle; called by workers."""
    with suppress_output(registries=False):
        statistics = [table.statistics(model, query) for model in models]
        return InTransit(Sensitive(statistics, query.sensitivity(table.units)))


def _values_of(models: Sequence[Model], part: ProtectedTable, query: Query) -> InTransit[Secret]:
    """Compute models' values, an array each, sealed for the pickle; called by workers."""
    with suppress_output(registries=False):
        return InTransit(Secret([part.values(model, query) for model in models]))
