"""What an entry point holds: a budget, protected rows, and all that is public (zone: boundary).

Public questions come first. Then protected rows are counted, into sealed tables, and these are
released by the mechanisms, which charge before they draw.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from ..metrics._queries import Query
from ..metrics._response import Responses
from ..privacy.report._report import PrivacyReport, report_of
from ..privacy.sensitive import Secret, Sensitive
from ..privacy.spending import Spending
from ..records.public_rows import spread_rows
from ..records.split import Training
from ..records.tables import take_rows
from ..records.units import Units
from .candidates import Candidates
from .fitting import FitOptions, without_callbacks
from .model import Model
from .progress import worth_handing_over
from .record_owner import RecordOwner, TableOwner
from .rehearsal import require_same

# So many public rows at most say how counts are designed, and how wide intervals will be.
_MOST_ROWS = 2**12


class Session(RecordOwner):
    """One budget for one validation set; `candidates` are those of a search."""

    candidates: Candidates

    @classmethod
    def of_table(
        cls, table: TableOwner, spending: Spending, frequent: Any, rng: np.random.Generator
    ) -> Session:
        """Return the session of both parts of a table, whose labels are about so frequent."""
        session: Session = table.owner(cls, spending, table.problem(frequent, rng))
        return session

    # ------------------------------------------------------------ public
    @property
    def training(self) -> Training:
        """The public rows."""
        return self.problem.training

    @property
    def units(self) -> Units:
        """How many protected units there are, and whether these are groups."""
        return self.problem.units

    def answers_of(self, estimator: Any, methods: Iterable[tuple[str, ...]]) -> Responses:
        """Return what a fitted model answers to (some of) the public rows."""
        self.require_public()
        X, y = self.training.X, self.training.y
        rows = spread_rows(X, y, _MOST_ROWS)
        given = take_rows(X, rows), take_rows(y, rows)
        return Responses.of(without_callbacks(estimator), *given, methods)

    def ask(self, estimator: Any, *queries: Query, prediction: str) -> Model:
        """Check, on public rows, that a fitted model can be counted for these queries.

        ValueError if public rows get something else in the place of protected ones. What is counted
        later is this model: nothing that the estimator learns from protected rows changes it.
        """
        self.require_public()
        options = FitOptions(estimator, prediction=prediction)
        model = Candidates(options, self.problem, (), report=queries).make_model()(estimator)
        require_same(model)
        return model

    def search(self, options: FitOptions, scorers: Sequence[Any], **how: Any) -> Candidates:
        """Return the candidates of a search by these scores, fitted on the public rows."""
        self.candidates = Candidates(options, self.problem, tuple(scorers), **how)
        self.candidates.before_fits = self.require_public
        return self.candidates

    # ------------------------------------------------------------ protected
    def counts(self, params: dict[str, Any], query: Query) -> Sensitive:
        """Count a fitted candidate's predictions for a query, as a table of one row."""
        return self.count(self.candidates.asked(params, query), query)

    def compare(self, fitted: Sequence[dict[str, Any]], query: Query) -> Sensitive:
        """Return the statistics of fitted candidates, one a row; they predict in parallel."""
        models = [self.candidates.asked(params, query) for params in fitted]
        seconds = self.units.m * sum(model.seconds for model in models)
        n_jobs = self.candidates.options.n_jobs if worth_handing_over(seconds) else 1
        return self.count_each(models, query, n_jobs)

    def in_secret(self) -> Secret:
        """Return, sealed, what fits a candidate that is itself secret, and counts its score.

        It takes parameters, and returns the statistic of the score that selects; None for a fit
        that fails, which is not reported.
        """
        candidates = self.candidates
        make_model, query = candidates.make_model(), candidates.scorer.query
        return self.evaluating(candidates.options, make_model, query)

    # ------------------------------------------------------------ released
    def report(self, **facts: Any) -> PrivacyReport:
        """Return the report of what was released of the validation set; facts are others."""
        return report_of(
            self.spent,
            unit=self.units.name,
            m=self.units.m,
            data="validation set",
            protected=self.problem.protected,
            **facts,
        )
