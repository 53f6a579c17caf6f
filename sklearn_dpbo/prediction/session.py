"""Session of an entry point: a budget, protected rows, and public facts (zone: boundary).

Public questions come first. Then protected rows are counted in sealed tables, which mechanisms
release; they charge before they draw noise.
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

# Largest number of public rows from which counts are designed and widths of intervals estimated.
_MOST_ROWS = 2**12


class Session(RecordOwner):
    """Budget and records of one validation set; a search also sets its `candidates`."""

    candidates: Candidates

    @classmethod
    def of_table(
        cls, table: TableOwner, spending: Spending, frequent: Any, rng: np.random.Generator
    ) -> Session:
        """Make the session of both parts of a table; `frequent`: as in `TableOwner.problem`."""
        session: Session = table.owner(cls, spending, table.problem(frequent, rng))
        return session

    # ------------------------------------------------------------ public
    @property
    def training(self) -> Training:
        """Public rows."""
        return self.problem.training

    @property
    def units(self) -> Units:
        """Number and kind (records or groups) of the protected units."""
        return self.problem.units

    def answers_of(self, estimator: Any, methods: Iterable[tuple[str, ...]]) -> Responses:
        """Compute the responses of a fitted model to (some of) the public rows."""
        self.require_public()
        X, y = self.training.X, self.training.y
        rows = spread_rows(X, y, _MOST_ROWS)
        return Responses.of(
            without_callbacks(estimator), take_rows(X, rows), take_rows(y, rows), methods
        )

    def ask(self, estimator: Any, *queries: Query, prediction: str) -> Model:
        """Make the model of a fitted estimator for these queries, and check it on public rows.

        ValueError if public rows get other predictions in the place of protected ones. The model
        that is counted later is this one: it does not change if the estimator does.
        """
        self.require_public()
        options = FitOptions(estimator, prediction=prediction)
        model = Candidates(options, self.problem, (), report=queries).make_model()(estimator)
        require_same(model)
        return model

    def search(self, options: FitOptions, scorers: Sequence[Any], **settings: Any) -> Candidates:
        """Begin a search by these scores: set and return `candidates`, fitted on public rows."""
        self.candidates = Candidates(options, self.problem, tuple(scorers), **settings)
        self.candidates.before_fits = self.require_public
        return self.candidates

    # ------------------------------------------------------------ protected
    def counts(self, params: dict[str, Any], query: Query) -> Sensitive:
        """Count a fitted candidate's predictions for a query, as a table of one row."""
        return self.count(self.candidates.asked(params, query), query)

    def compare(self, fitted: Sequence[dict[str, Any]], query: Query) -> Sensitive:
        """Count fitted candidates' predictions, in parallel: a table with a row for each."""
        models = [self.candidates.asked(params, query) for params in fitted]
        seconds = self.units.m * sum(model.seconds for model in models)
        n_jobs = self.candidates.options.n_jobs if worth_handing_over(seconds) else 1
        return self.count_each(models, query, n_jobs)

    def in_secret(self) -> Secret:
        """Return a sealed function that fits and counts a candidate that is itself secret.

        The function takes parameters, and returns the statistic of the score that selects. It
        returns None for a fit that fails, which is not reported.
        """
        candidates = self.candidates
        return self.evaluating(candidates.options, candidates.make_model(), candidates.scorer.query)

    # ------------------------------------------------------------ released
    def report(self, **facts: Any) -> PrivacyReport:
        """Report the releases of the validation set, with other `facts` for the report."""
        return report_of(
            self.spent,
            unit=self.units.name,
            m=self.units.m,
            data="validation set",
            protected=self.problem.protected,
            **facts,
        )
