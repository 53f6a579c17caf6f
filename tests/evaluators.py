"""Sessions of tests: both sides of a validation set, and what is counted of fitted candidates."""

from dataclasses import dataclass
from functools import reduce
from types import SimpleNamespace
from typing import Any

from sklearn_dpbo.prediction.session import Session
from sklearn_dpbo.privacy.accounting import Budget
from sklearn_dpbo.privacy.noise import SeededNoise
from sklearn_dpbo.privacy.sensitive import Sensitive
from sklearn_dpbo.privacy.spending import Spending
from sklearn_dpbo.records.split import Problem, ProtectedRows, hold_out


@dataclass
class HeldOut:
    """What is public of a validation set, and its rows, which tests may see."""

    problem: Problem
    rows: ProtectedRows

    @classmethod
    def given(cls, training, X, y, units):
        return cls(Problem(training, units.schema, "a test"), ProtectedRows(X, y, units))

    @classmethod
    def by_arguments(cls, *args, **kwargs):
        return cls(*hold_out(*args, **kwargs))

    @property
    def X_val(self) -> Any:
        return self.rows.X

    @property
    def y_val(self) -> Any:
        return self.rows.y

    @property
    def units(self) -> Any:
        return self.rows.units

    @property
    def training(self) -> Any:
        return self.problem.training

    @property
    def sample(self) -> Any:
        return self.problem.sample

    def session(self, options, scorers, **how):
        """Return a session that may fit candidates again, after it has counted others."""
        session = Session(Spending(Budget(1.0), SeededNoise(0)), self.problem, self.rows)
        session.search(options, scorers, **how)
        return session


def evaluated(session, params, scorer=None):
    """Fit candidates and compare them; 0 for those that could not be fitted."""
    query = (scorer or session.candidates.scorer).query
    errors = session.candidates.fit(tuple(params))
    fitted = [i for i, error in enumerate(errors) if error is None]
    nothing = Sensitive([[0]], query.sensitivity(session.units))
    rows = iter(range(len(fitted)))
    found = session.compare([params[i] for i in fitted], query) if fitted else None
    each = (nothing if error else found.take(next(rows)) for error in errors)
    return SimpleNamespace(
        statistics=reduce(Sensitive.followed_by, each), fit_errors=errors, fitted=fitted
    )
